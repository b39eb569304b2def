"""F72 and F75: a sandbox that holds programs to rules, tried with programs that do not obey."""

import os
from pathlib import Path

import pytest
from tests.sandbox.profiles import Outcome, gathered, needs_bubblewrap

from assent.core.errors import Refused
from assent.core.permission.rule import PathLimits, PathPredicate
from assent.core.shell.process import (
    CommandSpec,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.profile.profile import MAX_MASKS, ProfileBuilder
from assent.sandbox.selftest.checker import SandboxChecker

ENVIRONMENT = {"PATH": os.defpath}


class Known(SandboxChecker):
    """Stands as it is told, so that no test makes the whole self-test again."""

    def __init__(self, hold: SandboxState) -> None:
        self._told = SandboxStatus(hold)

    def status(self) -> SandboxStatus:
        return self._told


def below(*folders: bytes) -> PathPredicate:
    """A rule for everything in some folders, and for files that end in `.key`."""

    def covers(path: bytes, folder: bool) -> bool:
        inner = path + b"/" if folder else path
        return inner.startswith(tuple(name + b"/" for name in folders)) or (
            not folder and path.endswith(b".key")
        )

    return covers


FENCE = PathLimits(below(b"sec"), below(b"fixed", b"later"), (b"fixed", b"later"))


def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name in ("sec/in/s", "fixed/in/f", "fixed/a.key", "lib/b.key", "open"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("words\n", encoding="utf-8")
    (root / "link").symlink_to("sec/in")
    return root


def process(
    root: Path, fence: PathLimits = FENCE, hold: SandboxState = SandboxState.HELD
) -> LocalProcessRunner:
    sight = ProfileBuilder(os.fsencode(root), os.fsencode(root.parent / "home"), (), ENVIRONMENT)
    return LocalProcessRunner(sight, Known(hold), ENVIRONMENT).with_path_limits(fence)


def perform(root: Path, line: str) -> Outcome:
    parts = process(root).run_command(
        CommandSpec(line), os.fsencode(root), ProcessLimits(seconds=30)
    )
    return gathered(parts)


@needs_bubblewrap
def test_f72_no_program_reads_what_is_hidden(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    line = b"cat sec/in/s; cat link/s; cat lib/b.key; ls sec; cat open"
    program = Program((b"/bin/sh", b"-c", line))
    outcome = gathered(process(root).run((program,), os.fsencode(root), ProcessLimits()))
    assert outcome.output == b"words\n"
    assert perform(root, line.decode()).output == b"words\n"


@pytest.mark.parametrize("hold", [SandboxState.HELD, SandboxState.NONE])
def test_f72_what_is_hidden_is_not_visible_with_a_sandbox_or_without(
    tmp_path: Path, hold: SandboxState
) -> None:
    root = workspace(tmp_path)
    seen = process(root, hold=hold)
    paths = [os.fsencode(root / name) for name in ("sec", "link/s", "lib/b.key", "lib", "open")]
    assert [seen.visible(path) for path in paths] == [False, False, False, True, True]
    assert seen.hidden_below(os.fsencode(root / "lib")) == os.fsencode(root / "lib/b.key")
    assert seen.entries(os.fsencode(root / "sec")) == {}


@needs_bubblewrap
@pytest.mark.parametrize(
    "line",
    ["echo x > fixed/new", "rm -rf fixed", "mv fixed gone", "mv lib gone", "echo x > fixed/in/f",
     "mkdir -p later/deep", "echo x > later", "rm fixed/a.key", "touch later/x", "rm -rf sec",
     "mv sec gone", "ln -s fixed l && echo x > l/in/f", "(cd fixed/in && rm f)"],
)  # fmt: skip
def test_f75_no_program_changes_what_is_kept(tmp_path: Path, line: str) -> None:
    root = workspace(tmp_path)
    kept = ["fixed/in/f", "fixed/a.key", "lib/b.key", "sec/in/s"]
    assert perform(root, f"{line}; touch free").code == 0
    assert [(root / name).read_text(encoding="utf-8") for name in kept] == ["words\n"] * 4
    assert not [name for name in ("later", "gone", "fixed/new") if (root / name).exists()]
    assert (root / "free").exists()


@needs_bubblewrap
def test_the_end_says_what_was_closed(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    *_, ended = process(root).run_command(
        CommandSpec("true"), os.fsencode(root), ProcessLimits(seconds=30)
    )
    assert isinstance(ended, ProcessResult)
    edits, hides = " (a rule denies edits there)", " (a rule hides it)"
    assert ended.closed == (
        ".git", f"fixed{edits}", f"later{edits}", f"lib/b.key{edits}",
        f"fixed/a.key{hides}", f"lib/b.key{hides}", f"sec{hides}", ".opencode",
    )  # fmt: skip


def test_more_than_can_be_kept_is_refused_with_words(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    for number in range(MAX_MASKS + 1):
        (root / f"lib/{number}.key").touch()
    with pytest.raises(Refused, match="or made read-only by rules"):
        process(root).visible(os.fsencode(root))


def test_what_is_new_is_found_and_the_same_fence_lists_no_folder_twice(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    seen = process(root)
    assert seen.visible(os.fsencode(root / "new.key"))
    (root / "new.key").touch()
    assert not process(root).visible(os.fsencode(root / "new.key"))
    seen.sandbox_status()
    assert not seen.visible(os.fsencode(root / "new.key"))


@needs_bubblewrap
def test_repositories_below_the_workspace_keep_their_settings(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    git = root / "lib" / "dep" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text("[core]\n", encoding="utf-8")
    line = "echo x >> lib/dep/.git/config; mv lib/dep lib/other; rm -rf lib/dep/.git; echo y > ok"
    perform(root, line)
    assert (git / "config").read_text(encoding="utf-8") == "[core]\n"
    assert (root / "ok").read_text(encoding="utf-8") == "y\n"
