"""Law 9: a file that others could have written widens nothing, and what it narrows still holds."""

import os
from pathlib import Path

import pytest
from tests.config.sources import Sources

from assent.config.loader import RestrictiveSettings, restrictive_settings
from assent.config.paths import AppPaths
from assent.config.permissions import PRESETS, RuleSources, load_policy
from assent.config.settings import ApproveSettings, Settings, ShellSettings

WIDE = {
    "approve": {"without_terminal": True, "independent": False, "expires_s": 0},
    "loops": {"warn": 0, "block": 9, "window": 1},
    "budget": {"steps": 0, "children": 30},
    "tasks": {"depth": 4, "seconds": 601.0},
    "questions": {"expires_s": 0},
    "shell": {"unconfined": True, "timeout_s": 121.0},
    "undo": {"keep_days": 1},
    "keys": {"ada": "ab" * 32},
    "fetch": {"hosts": ["example.org"]},
}
NARROW = {
    "approve": {"independent": ["deletes"], "expires_s": 60},
    "loops": {"warn": 1, "block": 2},
    "budget": {"steps": 5, "children": 1, "dollars": 0.5},
    "tasks": {"together": 1, "seconds": 5.0},
    "questions": {"expires_s": 5, "grants_expire_s": 5},
    "shell": {"timeout_s": 5},
}


def test_what_widens_does_not_count() -> None:
    assert restrictive_settings(WIDE) == RestrictiveSettings()


def test_what_narrows_counts() -> None:
    assert restrictive_settings(NARROW).table == NARROW


def test_what_is_dropped_and_what_holds_is_said(sources: Sources) -> None:
    sources.user.write_bytes(
        b"[approve]\nwithout_terminal = true\nindependent = true\n"
        b"[shell]\ntimeout_s = 9\nunconfined = true\n[undo]\nfile_mb = 1\n"
    )
    sources.user.chmod(0o664)
    loaded = sources.load()
    assert loaded.settings == Settings(
        approve=ApproveSettings(independent=True), shell=ShellSettings(timeout_s=9)
    )
    why = f"others can write to it; fix this with `chmod go-w {sources.user}`"
    assert set(loaded.warnings) == {
        f"{sources.user} sets [undo], which is ignored: {why}.",
        f"{sources.user} sets [approve], of which only this applies: approve.independent ({why}).",
        f"{sources.user} sets [shell], of which only this applies: shell.timeout_s ({why}).",
    }


@pytest.mark.parametrize(("mode", "trusted"), [(0o644, True), (0o664, False)])
def test_a_preset_in_doubt_denies_and_asks_and_allows_nothing(
    sources: Sources, tmp_path: Path, mode: int, trusted: bool
) -> None:
    sources.user.write_bytes(b'preset = "safe"\n')
    sources.user.chmod(mode)
    here = AppPaths(tmp_path / "state", sources.user.parent)
    root = os.fsencode(sources.root)
    policy, _ = load_policy(RuleSources(sources.load(), here, root, str(tmp_path), os.open))
    [layer] = policy.layers
    assert (layer.rules, layer.trusted) == (PRESETS["safe"], trusted)
