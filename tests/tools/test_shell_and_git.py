"""git and shell: command lines that only read, in the sandbox, also in a hostile repository."""

import subprocess
from pathlib import Path

import pytest
from tests.tools.read_harness import Place

from assent.core.errors import Refused, UsageError
from assent.core.permission.mode import Mode
from assent.core.shell.process import OutputChunk, ProcessResult, SandboxState
from assent.core.tool import CommandEffect, PermissionContext, ToolOutcome
from assent.permissions.commands.read_only.classifier import classify_read_only
from assent.sandbox.runner.bubblewrap import sandbox_unavailable
from assent.tools.aliases import translate_arguments
from assent.tools.command_tools import GIT, SHELL
from assent.tools.outcome import DRAFT_NOTE, KEPT_BYTES, collect_output, quote_argument

IDENTITY = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]


def git(place: Place, *words: str) -> None:
    subprocess.run(["git", "-C", str(place.root), *IDENTITY, *words], check=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    place = Place(tmp_path, SandboxState.HELD)
    git(place, "init", "-q", "-b", "main")
    place.put("a.txt", "one\n")
    place.put("it's $odd (name).txt", "x\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "First")
    place.put("a.txt", "two\n")
    return place


def test_f12_git_shows_status_log_diff_show_and_blame(place: Place) -> None:
    assert place.call(GIT, command="status").text == "## main\n M a.txt"
    assert place.call(GIT, command="log").text.endswith("A First")
    assert "-one\n+two" in place.call(GIT, command="diff").text
    assert place.call(GIT, command="show", path="a.txt", rev="HEAD").text == "one"
    assert "First" in place.call(GIT, command="show").text
    assert "two" in place.call(GIT, command="blame", path="a.txt").text
    assert "\n" not in place.call(GIT, command="log", path="a.txt", limit=1).text


def test_git_and_shell_say_that_the_draft_is_not_in_it(place: Place) -> None:
    place.stage("a.txt", "three\n")
    assert place.call(SHELL, command="cat a.txt").text == f"two\n[{DRAFT_NOTE}]"
    assert "First" in place.call(GIT, command="log").text
    assert DRAFT_NOTE not in place.call(GIT, command="log").text
    assert place.call(GIT, command="diff").text.endswith(f"+two\n[{DRAFT_NOTE}]")


def test_git_takes_odd_names_and_is_judged_like_any_command(place: Place) -> None:
    odd = "it's $odd (name).txt"
    assert place.call(GIT, command="show", path=odd).text == "x"
    line, path = place.touched(GIT, command="log", path=odd, rev="HEAD~0")
    assert (classify_read_only(line).read_only, path) == (True, odd)
    assert quote_argument("a'b") == "'a'\"'\"'b'"


@pytest.mark.parametrize("rev", ["--output=x", "-p", "a b", "HEAD:../x", "$(id)", "x;id", "a\nb"])
def test_a_revision_is_never_an_option_or_a_command(place: Place, rev: str) -> None:
    with pytest.raises(UsageError, match="is not a revision"):
        place.call(GIT, command="show", rev=rev)


def test_git_reads_nothing_outside(place: Place) -> None:
    for path in ("../x", "/etc/passwd"):
        with pytest.raises(Refused, match="outside"):
            place.call(GIT, command="blame", path=path)
    with pytest.raises(UsageError, match="needs the path"):
        place.call(GIT, command="blame")


def test_a_hostile_repository_changes_nothing(place: Place) -> None:
    marker = place.root / "pwned"
    evil = place.put("evil.sh", f"#!/bin/sh\ntouch {marker}\ncat\n")
    evil.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv",
                    "filter.x.clean", "core.sshCommand", "pager.log", "alias.status"):  # fmt: skip
        git(place, "config", setting, str(evil))
    place.put(".gitattributes", "* diff=x filter=x\n")
    for command in ("status", "log", "diff", "show"):
        place.call(GIT, command=command)
    assert not marker.exists()


def test_f12_shell_runs_what_reads(place: Place) -> None:
    assert place.call(SHELL, command="cat a.txt | wc -l").text == "1"
    assert place.touched(SHELL, command="cat a.txt") == ["cat a.txt"]
    failed = place.call(SHELL, command="ls nowhere 2>/dev/null")
    assert (failed.failed, failed.text) == (True, "[Exit code 2.]")


@pytest.mark.parametrize(
    "command", ["rm a.txt", "echo x > a.txt", "sed -i s/a/b/ a.txt", "python3 -c 1", "$(id)"]
)
def test_everything_else_is_a_wish_or_refused_and_nothing_runs(place: Place, command: str) -> None:
    outcome = place.call(SHELL, command=command, network=True, stage=True)
    assert outcome.effect == CommandEffect(command, network=True)
    for staging in (True, False):  # the gate refuses it before, with the same reason
        place.posture = PermissionContext("plan", staging=staging)
        with pytest.raises(Refused, match="Only read-only commands run here; nothing was run"):
            place.call(SHELL, command=command, network=True)
    assert place.process.ran == []
    assert (place.root / "a.txt").read_text(encoding="utf-8") == "two\n"


def test_f122_long_output_is_cut_and_the_rest_kept(place: Place) -> None:
    place.put("big.txt", "".join(f"{n:09}\n" for n in range(200_000)))
    outcome = place.call(SHELL, command="cat big.txt")
    cut, *lines, dropped = outcome.text.split("\n")
    assert (len(lines), KEPT_BYTES - 20 < len(outcome.rest) < KEPT_BYTES) == (2000, True)
    assert len(outcome.rest.split(b"\n")[0]) == len("000000000")  # no half line is kept
    assert (lines[0], lines[-1]) == ("000198000", "000199999")
    assert cut.startswith("[Truncated: the last 2000 of ")
    assert dropped == f"[The first {2_000_000 - KEPT_BYTES} bytes were dropped.]"
    assert outcome.rest.endswith(b"\n000199998\n000199999")


def test_output_that_never_ends_is_not_held() -> None:
    pieces: list[OutputChunk | ProcessResult] = [
        OutputChunk(b"x" * KEPT_BYTES),
        OutputChunk(b"yy", error=True),
        ProcessResult(0, "output"),
    ]
    outcome = collect_output(iter(pieces), "x")
    assert (outcome.rest, outcome.failed) == (b"x" * KEPT_BYTES, True)


def test_what_was_dropped_and_how_it_ended_is_told() -> None:
    pieces: list[OutputChunk | ProcessResult] = [
        OutputChunk(b"out\n"),
        OutputChunk(b"err\n", error=True),
        ProcessResult(3, "time"),
    ]
    assert (
        collect_output(iter(pieces), "x").text
        == "out\nerr\n[It was stopped early: time.]\n[Exit code 3.]"
    )
    assert collect_output(iter([ProcessResult(0)]), "x").text == "[No output.]"


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "yolo"])
def test_f79_outside_plan_mode_a_command_that_may_write_is_a_wish(place: Place, mode: Mode) -> None:
    place.posture = PermissionContext(mode)
    place.put("sub/a", "a")
    args = SHELL.args(command="echo a > b", folder="sub", timeout=30, subject="Why.")
    outcome = SHELL.run(args, place.around)
    assert outcome == ToolOutcome(
        "", "echo a > b", effect=CommandEffect("echo a > b", b"sub", 30, "Why.")
    )
    assert place.process.ran == []
    assert not (place.root / "sub/b").exists()


def test_f79_outside_plan_mode_a_reading_line_that_cannot_run_is_no_wish(tmp_path: Path) -> None:
    """Without a sandbox `git log` obeys the repository; nobody was asked, so no shell gets it."""
    bare = Place(tmp_path, SandboxState.NONE)
    bare.posture = PermissionContext("yolo")
    with pytest.raises(Refused, match=r"needs a sandbox.*Nothing was run\.$"):
        SHELL.run(SHELL.args(command="git log"), bare.around)


def test_f79_a_time_limit_of_another_family_is_understood() -> None:
    for sent, seconds in (
        ({"timeout": 5000}, 5),
        ({"timeout": 90}, 90),
        ({"timeout_ms": 500}, 0.5),
    ):
        args = translate_arguments(SHELL, {"command": "make", "description": "Build.", **sent})
        assert args == {"command": "make", "subject": "Build.", "timeout": seconds}
