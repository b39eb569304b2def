"""F67: what a formatter makes of a new content is what is shown, approved and applied."""

from collections.abc import Iterator, Sequence

from assent.agent.formatters import LIMITS, Formatters, formatted_edit
from assent.core.digest import sha256
from assent.core.errors import Refused
from assent.core.plan.operation import DeleteFile, FileState, MoveFile, WriteFile
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.core.tool import EditEffect

UPPER = {"*.txt": ("upper", "--name", "{path}", "-")}


class Formatter:
    """Implements ports.ProcessRunner: what runs turns its input into capitals, or fails as told."""

    def __init__(
        self, *said: OutputChunk | ProcessResult, hold: SandboxState = SandboxState.HELD
    ) -> None:
        self.ran: list[tuple[Program, bytes, ProcessLimits]] = []
        self._said = said
        self._hold = hold

    def sandbox_status(self) -> SandboxStatus:
        return SandboxStatus(
            self._hold, "" if self._hold is SandboxState.HELD else "There is none."
        )

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        assert own
        return b"/bin/" + names[0].encode() if names[0] == "upper" else None

    def home(self) -> bytes:
        raise NotImplementedError

    def visible(self, path: bytes) -> bool:
        raise NotImplementedError

    def chosen(self) -> tuple[bytes, ...]:
        return ()

    def visibility_notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        return ()

    def hidden_below(self, folder: bytes) -> bytes | None:
        raise NotImplementedError

    def still_running(self) -> str:
        raise NotImplementedError

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        raise NotImplementedError

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        (program,) = pipeline
        self.ran.append((program, folder, limits))
        return iter(self._said or (OutputChunk(program.stdin.upper()), ProcessResult(0)))

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise NotImplementedError


def state(content: bytes) -> FileState:
    return FileState(sha256(content), len(content), 0o644)


def edit(path: bytes = b"sub/a.txt", content: bytes = b"one\n", before: bytes = b"") -> EditEffect:
    old = state(before) if before else None
    return EditEffect((WriteFile(path, old, state(content)),), {sha256(content): content})


def test_f67_the_formatted_text_is_the_post_image() -> None:
    process = Formatter()
    assert formatted_edit(edit(), process, UPPER, b"/root") == (edit(content=b"ONE\n"), ())
    program = Program((b"/bin/upper", b"--name", b"sub/a.txt", b"-"), stdin=b"one\n")
    assert process.ran == [(program, b"/root", LIMITS)]


def test_f67_only_new_contents_that_match_are_touched() -> None:
    process = Formatter()
    other = EditEffect(
        (
            WriteFile(b"a.py", None, state(b"x")),
            WriteFile(b"link.txt", None, FileState(sha256(b"t"), 1, 0o777, "link")),
            WriteFile(b"mode.txt", state(b"y"), FileState(sha256(b"y"), 1, 0o755)),
            DeleteFile(b"b.txt", state(b"z")),
            MoveFile(b"c.txt", b"d.txt", state(b"z")),
        ),
        {sha256(b"x"): b"x", sha256(b"t"): b"t"},
    )
    assert formatted_edit(other, process, UPPER, b"/root") == (other, ())
    assert formatted_edit(edit(), process, {}, b"/root") == (edit(), ())
    assert process.ran == []


def test_f67_a_glob_with_a_slash_is_about_the_whole_path() -> None:
    for glob, touched in [("sub/*", True), ("*/a.txt", True), ("other/*", False)]:
        found, _ = formatted_edit(edit(), Formatter(), {glob: ("upper",)}, b"/root")
        assert (found != edit()) == touched


def test_f67_a_change_that_formatting_takes_back_is_none() -> None:
    found, notes = formatted_edit(edit(before=b"ONE\n"), Formatter(), UPPER, b"/root")
    assert (found, notes) == (EditEffect(()), ())


def noted(process: Formatter, formats: Formatters = UPPER) -> str:
    """Returns what the model is told where the text stays as it was."""
    found, (note,) = formatted_edit(edit(), process, formats, b"/root")
    assert found == edit()
    return note


def test_f67_a_failure_leaves_the_text_and_is_told() -> None:
    told = "sub/a.txt was not formatted: upper "
    broken = Formatter(
        OutputChunk(b"half"), OutputChunk(b"bad line\nmore", error=True), ProcessResult(2)
    )
    assert noted(broken) == told + "failed with exit code 2. Output: bad line"
    assert noted(Formatter(ProcessResult(0))) == told + "returned no content."
    assert (
        noted(Formatter(OutputChunk(b"x"), ProcessResult(124, "time")))
        == told + "reached its limit of time."
    )
    missing = {"*.txt": ("lower",)}
    assert noted(Formatter(), missing).endswith("lower is not installed.")


def test_f67_without_a_sandbox_no_formatter_runs() -> None:
    for hold in (SandboxState.NONE, SandboxState.OFF):
        process = Formatter(hold=hold)
        assert noted(process).endswith("upper runs only in a sandbox. There is none.")
        assert process.ran == []


class Refusing(Formatter):
    """A sandbox that is gone by the time it is needed."""

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise Refused("No program runs.")


def test_f67_a_refusal_is_told_too() -> None:
    assert noted(Refusing()).endswith("No program runs.")


def test_f67_an_empty_file_needs_no_formatter() -> None:
    empty = edit(content=b"")
    assert formatted_edit(empty, Formatter(), UPPER, b"/root") == (empty, ())
