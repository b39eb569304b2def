"""The shell of planning, over a process door that records what it is asked to run."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from assent.core.errors import Refused
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
    StderrMode,
)
from assent.sandbox.read_only_shell import MAX_WORDS, LocalReadOnlyShell

HELD = SandboxStatus(SandboxState.HELD)
NONE = SandboxStatus(SandboxState.NONE, "bubblewrap is not installed.")


class Recorder:
    """Implements ports.ProcessRunner: nothing runs; each pipeline ends as the test says."""

    def __init__(self, standing: SandboxStatus = HELD, codes: Sequence[int] = ()) -> None:
        self.ran: list[tuple[bytes, list[list[str]], ProcessLimits]] = []
        self.hidden: tuple[bytes, ...] = ()
        self.last: list[Program] = []
        self._standing = standing
        self._codes = list(codes)

    def sandbox_status(self) -> SandboxStatus:
        return self._standing

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        return None if names[0] == "rg" else b"/usr/bin/" + names[0].encode()

    def home(self) -> bytes:
        return b"/home/ada"

    def visible(self, path: bytes) -> bool:
        return not any(os.path.realpath(path).startswith(hidden) for hidden in self.hidden)

    def chosen(self) -> tuple[bytes, ...]:
        return ()

    def visibility_notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        return ()

    def hidden_below(self, folder: bytes) -> bytes | None:
        return next((path for path in self.hidden if path.startswith(folder)), None)

    def still_running(self) -> str:
        raise NotImplementedError

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        with os.scandir(folder) as found:
            return {entry.name: entry.is_dir() for entry in found}

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        self.last = list(pipeline)
        words = [[os.fsdecode(word) for word in program.argv] for program in pipeline]
        self.ran.append((folder, words, limits))
        yield OutputChunk(b"12345")
        yield ProcessResult(self._codes.pop(0) if self._codes else 0, seconds=1.5)

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise AssertionError("what only reads is never handed to a shell")


def _all(process: Recorder, text: str, folder: Path) -> list[OutputChunk | ProcessResult]:
    return list(LocalReadOnlyShell(process).run(text, os.fsencode(folder)))


def _words(process: Recorder) -> list[list[str]]:
    return [argv for _, words, _ in process.ran for argv in words]


@pytest.mark.parametrize(
    ("text", "codes", "ran"),
    [
        ("ls && cat a", [0], ["ls", "cat"]),
        ("ls && cat a", [1], ["ls"]),
        ("ls || cat a", [0], ["ls"]),
        ("ls || cat a", [1], ["ls", "cat"]),
        ("ls; cat a", [1], ["ls", "cat"]),
        ("ls || cat a && wc b", [0], ["ls", "wc"]),
        ("ls && cat a || wc b", [1], ["ls", "wc"]),
    ],
)
def test_joints_decide_what_runs(
    text: str, codes: list[int], ran: list[str], tmp_path: Path
) -> None:
    process = Recorder(codes=codes)
    _all(process, text, tmp_path)
    assert [argv[0] for argv in _words(process)] == [f"/usr/bin/{name}" for name in ran]


def test_the_last_pipeline_that_ran_gives_the_code(tmp_path: Path) -> None:
    process = Recorder(codes=[0, 3])
    assert _all(process, "ls; ls && true || ls", tmp_path)[-1] == ProcessResult(0, seconds=1.5)
    assert _all(Recorder(codes=[3]), "ls && cat a", tmp_path)[-1] == ProcessResult(3, seconds=1.5)


def test_a_pipe_is_one_run(tmp_path: Path) -> None:
    process = Recorder()
    _all(process, "ls -1 2>/dev/null | sort -r | head -3 2>&1", tmp_path)
    assert _words(process) == [
        ["/usr/bin/ls", "-1"],
        ["/usr/bin/sort", "-r"],
        ["/usr/bin/head", "-3"],
    ]
    assert [program.errors for program in process.last] == [
        StderrMode.DROPPED,
        StderrMode.KEPT,
        StderrMode.MERGED,
    ]
    assert len(process.ran) == 1


def test_wildcards_become_names_and_none_becomes_an_option(tmp_path: Path) -> None:
    for name in ("-o", "b.txt", "a.txt", ".hidden", "--output=x"):
        (tmp_path / name).touch()
    process = Recorder()
    _all(process, "cat *.txt 'b*' ; cat * ; cat *.none", tmp_path)
    assert _words(process) == [
        ["/usr/bin/cat", "a.txt", "b.txt", "b*"],
        ["/usr/bin/cat", "./--output=x", "./-o", "a.txt", "b.txt"],
        ["/usr/bin/cat", "*.none"],
    ]


def test_cd_moves_the_commands_after_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    process = Recorder()
    _all(process, "ls; cd sub && cat * ; cd .. && ls", tmp_path)
    assert [Path(os.fsdecode(folder)) for folder, _, _ in process.ran] == [
        tmp_path,
        tmp_path / "sub",
        tmp_path,
    ]


def test_cd_to_nowhere_stops_what_depends_on_it(tmp_path: Path) -> None:
    process = Recorder()
    *said, ended = _all(process, "cd sub && ls", tmp_path)
    assert (process.ran, ended) == ([], ProcessResult(1))
    assert said == [OutputChunk(b"assent: cd: sub: folder not found or not visible.\n", error=True)]


def test_cd_does_not_enter_what_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "link").symlink_to("keys")
    process = Recorder()
    process.hidden = (os.fsencode(tmp_path / "keys"),)
    assert _all(process, "cd link && ls", tmp_path)[-1] == ProcessResult(1)
    assert process.ran == []


def test_a_missing_program_is_127_and_the_line_goes_on(tmp_path: Path) -> None:
    process = Recorder()
    found = _all(process, "rg x || ls", tmp_path)
    assert found[0] == OutputChunk(b"assent: rg is not installed.\n", error=True)
    assert _words(process) == [["/usr/bin/ls"]]
    assert _all(Recorder(), "rg x 2>/dev/null", tmp_path) == [ProcessResult(127)]


def test_limits_are_for_the_whole_line(tmp_path: Path) -> None:
    process = Recorder()
    list(
        LocalReadOnlyShell(process).run(
            "ls; ls; ls", os.fsencode(tmp_path), ProcessLimits(seconds=2, output=7)
        )
    )
    limits = [(limits.seconds, limits.output) for _, _, limits in process.ran]
    assert limits == [(2, 7), (0.5, 2), (0, 0)]


def test_refused_before_anything_ran(tmp_path: Path) -> None:
    process = Recorder()
    with pytest.raises(Refused, match="rm"):
        LocalReadOnlyShell(process).run("ls; rm -rf x", os.fsencode(tmp_path))
    assert process.ran == []


def test_a_sandbox_that_leaks_turns_the_shell_off(tmp_path: Path) -> None:
    process = Recorder(
        SandboxStatus(SandboxState.OFF, "the probe wrote to the workspace.", "assent doctor")
    )
    with pytest.raises(Refused, match="the probe wrote") as refused:
        LocalReadOnlyShell(process).run("ls", os.fsencode(tmp_path))
    assert (refused.value.next, process.ran) == ("assent doctor", [])


def test_without_a_sandbox_git_is_refused_and_the_rest_runs(tmp_path: Path) -> None:
    process = Recorder(NONE)
    with pytest.raises(Refused, match="sandbox"):
        LocalReadOnlyShell(process).run("git status", os.fsencode(tmp_path))
    _all(process, "ls", tmp_path)
    assert _words(process) == [["/usr/bin/ls"]]


@pytest.mark.parametrize("line", ["cat .env", "cat .e*", "cat link", "cat sub/../.env", "grep x ."])
def test_without_a_sandbox_what_it_would_mask_is_not_read(line: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET=1", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(".env")
    process = Recorder(NONE)
    process.hidden = (os.fsencode(tmp_path / ".env"),)
    line = line.replace("grep", "grep -r")
    lacks = "sandbox" if line.startswith("grep") else ""
    assert _all(process, line, tmp_path)[-1] == ProcessResult(126, lacks=lacks)
    assert process.ran == []


def test_with_a_sandbox_masks_are_its_own_business(tmp_path: Path) -> None:
    process = Recorder()
    process.hidden = (os.fsencode(tmp_path),)
    _all(process, "cat .env", tmp_path)
    assert _words(process) == [["/usr/bin/cat", ".env"]]


def test_what_is_over_ends_the_line(tmp_path: Path) -> None:
    class Slow(Recorder):
        def run(
            self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
        ) -> Iterator[OutputChunk | ProcessResult]:
            self.ran.append((folder, [], limits))
            yield ProcessResult(124, cut="time", seconds=limits.seconds)

    process = Slow()
    assert _all(process, "ls; ls || ls", tmp_path)[-1] == ProcessResult(124, cut="time", seconds=60)
    assert len(process.ran) == 1


def test_words_about_a_missing_program_go_where_its_own_would(tmp_path: Path) -> None:
    assert _all(Recorder(), "rg x 2>/dev/null | wc -l", tmp_path) == [ProcessResult(127)]
    loud = [OutputChunk(b"assent: rg is not installed.\n", error=True), ProcessResult(127)]
    assert _all(Recorder(), "rg x | wc -l 2>/dev/null", tmp_path) == loud
    assert _all(Recorder(), "ls | rg x 2>&1", tmp_path)[0] == OutputChunk(loud[0].content)


def test_more_names_than_fit_are_refused(tmp_path: Path) -> None:
    class Crowded(Recorder):
        def entries(self, folder: bytes) -> dict[bytes, bool]:
            return {b"%d" % number: False for number in range(MAX_WORDS)}

    process = Crowded()
    *said, ended = _all(process, "ls *; ls", tmp_path)
    assert said[0] == OutputChunk(
        b"assent: ls: its wildcards match too many names (5001); name a folder.\n", error=True
    )
    assert (len(process.ran), ended.code) == (1, 0)


def test_a_hidden_file_that_was_named_is_explained(tmp_path: Path) -> None:
    (tmp_path / ".env").touch()
    (tmp_path / "plain").touch()
    process = Recorder(codes=[1, 0, 1])
    process.hidden = (os.fsencode(tmp_path / ".env"),)
    words = OutputChunk(
        f"assent: {tmp_path}/.env is never shown in plan mode.\n".encode(), error=True
    )
    assert words in _all(process, "cat .env", tmp_path)
    assert words not in _all(process, "cat .env", tmp_path)
    assert words not in _all(process, "cat plain", tmp_path)
