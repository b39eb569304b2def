"""The system's list of keys: read only where nobody but root could have written it."""

import os
from pathlib import Path

import pytest

from assent.app.composition import open_engine_at
from assent.config.config_file import OTHERS_CAN_WRITE
from assent.config.keyring import KeyringReader, SystemApprove, SystemFile
from assent.config.paths import AppPaths
from assent.core.errors import UsageError
from assent.core.plan.keyring import Keyring, TrustedKey

ADA, BOB, EVE = "ab" * 32, "cd" * 32, "ef" * 32


def opener(path: bytes, flags: int) -> int:
    return os.open(path, flags)


@pytest.fixture
def here(tmp_path: Path) -> AppPaths:
    (tmp_path / "config").mkdir()
    (tmp_path / "workspace").mkdir()
    return AppPaths(tmp_path / "state", tmp_path / "config", tmp_path / "system.toml")


def reader(here: AppPaths, owner: int | None = None) -> KeyringReader:
    root = os.fsencode(here.config.parent / "workspace")
    return KeyringReader(here, root, opener, os.getuid() if owner is None else owner)


def put(path: Path, text: str, mode: int = 0o644) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def test_g14_three_files_list_keys(here: AppPaths) -> None:
    put(here.keys, f'revoked = ["{EVE}"]\n[keys]\nada = "{ADA}"\n', 0o600)
    put(here.system, f'[keys]\neve = "{EVE}"\n')
    ring = reader(here).keyring({"bob": BOB})
    assert ring == Keyring(
        (
            TrustedKey(ADA, "ada", "keys"),
            TrustedKey(BOB, "bob", "user"),
            TrustedKey(EVE, "eve", "system"),
        ),
        (EVE,),
    )
    assert [ring.counts(key) for key in (ADA, BOB, EVE, ADA[:8], "")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_g14_without_files_nobody_is_trusted(here: AppPaths) -> None:
    assert reader(here).keyring({}) == Keyring()


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_g14_a_system_file_that_others_can_write_does_not_count(here: AppPaths, mode: int) -> None:
    put(here.system, f'[keys]\nada = "{ADA}"\n', mode)
    found = reader(here)
    assert found.keyring({}) == Keyring()
    assert OTHERS_CAN_WRITE in found.warnings[0]


def test_g14_a_system_file_of_somebody_else_does_not_count(here: AppPaths) -> None:
    put(here.system, f'[keys]\nada = "{ADA}"\n[approve]\nindependent = true\n')
    found = reader(here, owner=os.getuid() + 1)
    assert found.keyring({}) == Keyring()
    assert "is not owned by root" in found.warnings[0]


@pytest.mark.parametrize(("mode", "foreign"), [(0o666, 0), (0o664, 0), (0o644, 1)])
def test_f59_a_system_file_in_doubt_still_wants_two_people(
    here: AppPaths, mode: int, foreign: int
) -> None:
    put(here.system, f'[keys]\nada = "{ADA}"\n[approve]\nindependent = true\n', mode)
    found = reader(here, owner=os.getuid() + foreign)
    assert found.system() == SystemFile(approve=SystemApprove(independent=True))
    assert found.warnings[0].endswith(
        "approve.independent still applies, because it only restricts."
    )


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_g14_what_a_list_in_doubt_revokes_stays_revoked(here: AppPaths, mode: int) -> None:
    put(here.keys, f'revoked = ["{EVE}"]\n[keys]\nada = "{ADA}"\n', mode)
    found = reader(here)
    ring = found.keyring({"eve": EVE})
    assert (ring.counts(EVE), ring.counts(ADA)) == (False, False)
    assert found.warnings[0].endswith("No key in it is trusted; keys it revokes stay revoked.")


def test_g14_a_system_file_behind_a_symlink_is_refused(here: AppPaths) -> None:
    put(here.config / "other.toml", f'[keys]\nada = "{ADA}"\n')
    here.system.symlink_to(here.config / "other.toml")
    with pytest.raises(UsageError, match="symlink"):
        reader(here).keyring({})


def test_f59_the_system_may_want_two_people(here: AppPaths) -> None:
    put(here.system, '[approve]\nindependent = ["deletes"]\n')
    assert reader(here).system().approve.independent == ("deletes",)


@pytest.mark.parametrize("text", ["[approve]\nwithout_terminal = true\n", "[hooks]\n", "x ="])
def test_a_system_file_says_nothing_else(here: AppPaths, text: str) -> None:
    put(here.system, text)
    with pytest.raises(UsageError, match=r"system\.toml"):
        reader(here).keyring({})


@pytest.mark.parametrize("text", ["x =", "[approve]\nindependent = 1\n", "[hooks]\n"])
def test_f59_a_system_file_that_cannot_be_read_wants_two_people(here: AppPaths, text: str) -> None:
    put(here.system, text)
    root = here.config.parent / "workspace"
    engine, _ = open_engine_at(str(root), here)
    assert engine._config.independent is True
    engine.close()
