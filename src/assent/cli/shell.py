"""`assent shell`: checks and runs read-only command lines, as a planning agent's shell does."""

import base64
import shlex
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Final, TextIO

import click
import msgspec

from assent.app.scratch import drafted, open_scratch, refused_cache_variables
from assent.app.shell import manual_rules, open_shell
from assent.cli.input import stdin
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import Number, examples
from assent.cli.output import CliOutput, VisibleOutput
from assent.cli.scratch_command import command_line
from assent.cli.terminal import silence_stdout
from assent.core.decoding import decode_json
from assent.core.errors import NotReadOnly, Refused, UsageError
from assent.core.shell.process import (
    PLAN_COMMAND_LIMITS,
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    SandboxState,
)
from assent.core.text.hidden_chars import visible_line
from assent.ports.scratch import ScratchCopy
from assent.render.lines import Line, wrapped_lines
from assent.render.scratch import scratch_result_lines, scratch_result_row
from assent.runs.temporary_copy import refuse_denied_commands
from assent.sandbox.read_only_shell import ReadOnlyVerdict, classify_read_only

RUN_HELP = "assent shell run --help"
FULL = ("copy", "disk")  # limits of a copy, which it names in the output itself
COPY = "shell"  # the name of the scratch copy for lines of the user
OUTPUT = 64 << 20  # bytes that a line in a scratch copy may print
MAX_LINE_BYTES = 1 << 20  # bytes of a line of `check --stdin`

Limit = Number(min=0, min_open=True)
UNPARSED = {"ignore_unknown_options": True}  # so that a line without quotes can be told of them


class ShellCheckRequest(msgspec.Struct):
    """A line of `check --stdin`."""

    cmd: str


@click.group(
    epilog=examples(
        "assent shell check 'git log --oneline | head -5'\nassent shell run 'git status --short'"
    )
)
def shell() -> None:
    """Check and run read-only commands, as a planning agent's shell does."""


@shell.command(
    context_settings=UNPARSED,
    epilog=examples(
        "assent shell check 'git log --oneline | head -5'\n"
        """echo '{"cmd": "rm -rf x"}' | assent shell check --stdin\n"""
        "assent shell check --no-sandbox 'git status'"
    ),
)
@click.argument("words", nargs=-1, metavar="CMD")
@click.option("--stdin", "many", is_flag=True, help='Check lines of {"cmd": ...} from stdin.')
@click.option(
    "--no-sandbox", is_flag=True, help="Use the stricter rules that apply without a sandbox."
)
@with_invocation
def check(call: Invocation, words: tuple[str, ...], many: bool, no_sandbox: bool) -> int:
    """Check whether CMD is read-only, by its text alone. The result is the same on every machine.

    Prints {"read_only", "reason"}, or text on a terminal. Always exits with 0.
    """
    if many == bool(words):
        raise UsageError("Pass one command line or --stdin.", "assent shell check --help")
    if many:
        _check_all(sandboxed=not no_sandbox)
        return 0
    found = classify_read_only(_one(words, "check"), sandboxed=not no_sandbox)
    output = CliOutput(as_json=call.output.as_json or not sys.stdout.isatty())
    output.answer(_row(found), shell_check_lines(found.reason, read_only=found.read_only))
    return 0


@shell.command(
    context_settings=UNPARSED,
    epilog=examples(
        "assent shell run 'git status --short'\n"
        "assent shell run 'ls | wc -l' --json\n"
        "assent shell run --scratch 'pytest -q'"
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="CMD")
@click.option(
    "--seconds",
    metavar="N",
    type=Limit,
    default=ProcessLimits().seconds,
    help="Time limit in seconds.",
)
@click.option(
    "--scratch", is_flag=True, help="Run any CMD in a scratch copy, and show what it changed there."
)
@with_invocation
def run(call: Invocation, words: tuple[str, ...], seconds: float, scratch: bool) -> int:
    """Run CMD in the sandbox if it is read-only, as in plan mode.

    With --scratch it can be any command: it runs in a copy of the workspace with the staged changes
    of the current plan, and nothing real changes. Rules that deny CMD, or hide files from commands,
    hold. Exits with the command's exit code, or 7 if the command was refused and did not run.
    """
    line = _one(words, "run")
    if scratch:
        return _run_in_copy(call, command_line([line], RUN_HELP), seconds)
    refuse_denied_commands([manual_rules(call.folder).command_limits(line)])
    opened = open_shell(call.folder)
    try:
        process = opened.run(line, call.working_folder, ProcessLimits(seconds=seconds))
    except NotReadOnly as refused:  # only a model's call has another way on
        raise Refused(refused.message, refused.next) from None
    standing = opened.sandbox_status()
    if standing.hold is not SandboxState.HELD:
        helps = f" What helps: {standing.next}" if standing.next else ""
        call.output.warn([f"No sandbox: {standing.reason}{helps}"])
    ended = _collected(call, process) if call.output.as_json else _streamed(process)
    if ended.cut:
        call.output.warn([LIMIT_MESSAGES[ended.cut]])
    return ended.code


def _run_in_copy(call: Invocation, text: str, seconds: float) -> int:
    """Runs a line in the copy that is kept for lines of the user."""
    limits = msgspec.structs.replace(PLAN_COMMAND_LIMITS, seconds=seconds, output=OUTPUT)
    rules = manual_rules(call.folder)
    refuse_denied_commands([rules.command_limits(text)])
    call.output.warn(refused_cache_variables())
    copy = open_scratch(call.folder).open(COPY, _progress(call), rules.path_limits())
    try:
        copy.apply(*drafted(call.engine, call.plan))
        process = copy.run(CommandSpec(text), call.working_folder, limits)
        if call.output.as_json:
            ended = _collected(call, process, lambda: _scratch_row(copy))
        else:
            ended = _streamed(process)
            call.output.answer({}, scratch_result_lines(copy.changes()))
    finally:
        copy.close()
    if ended.cut and (call.output.as_json or ended.cut not in FULL):  # else it is said already
        call.output.warn([LIMIT_MESSAGES[ended.cut]])
    return ended.code


def _scratch_row(copy: ScratchCopy) -> dict[str, object]:
    return {"scratch": {"backend": copy.describe().name, **scratch_result_row(copy.changes())}}


def _progress(call: Invocation) -> Callable[[int, float], None]:
    """Returns what shows how far a copy is, on a terminal only, and once it takes a while."""

    def tell(files: int, seconds: float) -> None:
        if call.output.shows_progress and seconds > 1:
            count = "1 file" if files == 1 else f"{files} files"
            sys.stderr.write(f"\r\x1b[KCopying: {count}, {seconds:.0f} s")
            sys.stderr.flush()

    return tell


def _one(words: tuple[str, ...], verb: str) -> str:
    if len(words) > 1:
        quoted = shlex.quote(" ".join(words))
        raise UsageError("Put the command line in quotes.", f"assent shell {verb} {quoted}")
    return words[0]


def _check_all(*, sandboxed: bool) -> None:
    stream = stdin()
    while line := stream.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES:
            raise Refused(
                f"A line is {MAX_LINE_BYTES} bytes or longer.", "assent shell check --help"
            )
        try:
            asked = decode_json(line, ShellCheckRequest)
        except (msgspec.MsgspecError, RecursionError) as error:
            answer: dict[str, object] = {"error": f"Not a JSON object with `cmd`: {error}."}
        else:
            answer = _row(classify_read_only(asked.cmd, sandboxed=sandboxed))
        CliOutput(as_json=True).answer(answer)


def _row(found: ReadOnlyVerdict) -> dict[str, object]:
    return {"read_only": found.read_only, "reason": found.reason}


def _collected(
    call: Invocation,
    process: Iterator[OutputChunk | ProcessResult],
    more: Callable[[], dict[str, object]] = dict,
) -> ProcessResult:
    kept: dict[bool, list[bytes]] = {False: [], True: []}
    ended = ProcessResult(0)
    for part in process:
        if isinstance(part, ProcessResult):
            ended = part
        else:
            kept[part.error].append(part.content)
    row = output_row(ended, b"".join(kept[False]), b"".join(kept[True]))
    call.output.answer({**row, **more()})
    return ended


def _streamed(process: Generator[OutputChunk | ProcessResult, None, None]) -> ProcessResult:
    """Passes output on as it comes; a reader that went away, as `head` does, ends the command."""
    ended = ProcessResult(0)
    streams = {False: _ShellOutput(sys.stdout), True: _ShellOutput(sys.stderr)}
    try:
        for part in process:
            if isinstance(part, ProcessResult):
                ended = part
            else:
                streams[part.error].write(part.content)
        for stream in streams.values():
            stream.write(b"", last=True)
    except BrokenPipeError:
        process.close()
        silence_stdout()
    return ended


class _ShellOutput:
    """Where output goes: bytes as they are into a file or pipe, visible text onto a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._visible = VisibleOutput() if stream.isatty() else None

    def write(self, content: bytes, *, last: bool = False) -> None:
        if self._visible is None:
            self._stream.buffer.write(content)
        else:
            self._stream.write(self._visible.text(content, last=last))
        self._stream.flush()


LIMIT_MESSAGES: Final = {
    "time": "The command timed out and was stopped.",
    "output": "The command printed too much and was stopped; the output so far is shown.",
    "processes": "The command started too many processes and was stopped.",
    "memory": "The command used too much memory and was stopped.",
    "copy": "The scratch copy became larger than scratch.max_mb; the command was stopped.",
    "disk": "Less than scratch.reserve_mb, or than 1 % of the files, was free on the disk; the "
    "command was stopped.",
    "start": "The command could not be started.",
    "unknown": "The command was killed from outside; it may not have finished its work.",
}


def shell_check_lines(reason: str, *, read_only: bool) -> Iterator[Line]:
    """Renders a judgement."""
    yield Line("heading", "Read-only.") if read_only else Line("risk", "Not read-only.")
    yield from wrapped_lines("plain", visible_line(reason))


def output_row(ended: ProcessResult, stdout: bytes, stderr: bytes) -> dict[str, object]:
    """Returns what came of a command; bytes that are not UTF-8 come whole in base64 as well."""
    row: dict[str, object] = {"exit_code": ended.code}
    for name, content in (("stdout", stdout), ("stderr", stderr)):
        row[name] = content.decode("utf-8", "replace")
        if row[name] != content.decode("utf-8", "ignore"):
            row[f"{name}_b64"] = base64.b64encode(content).decode()
    if ended.cut:
        row["cut"] = ended.cut
    return row
