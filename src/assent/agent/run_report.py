"""What the model hears about a run: each operation, how commands ended, and one summary."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from assent.core.paths import one_line
from assent.core.plan.operation import Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandStartedEntry,
    FinishedEntry,
    JournalEntry,
    OperationResult,
    RunOutcome,
)
from assent.core.run.results import was_accepted
from assent.core.run.state import UNKNOWN_END, rollback_start
from assent.core.text import counted
from assent.core.text.secrets import redact
from assent.core.text.terminal_codes import without_terminal_codes
from assent.ports import BlobStore
from assent.render.rows import exit_code_text, operation_kind, operation_subject
from assent.runs.journal_summary import journal_summary

MAX_ROWS = 50  # operations or files that one message names
MAX_CAUSES = 3  # that a summary names
MAX_LINES = 30  # of the end of a command's output
MAX_LINE_CHARS = 300
MAX_OUTPUT_CHARS = 12_000  # of all commands of a run; the last ones are shown first


class CommandEnd(msgspec.Struct, frozen=True):
    """How a command of a run ended."""

    code: int | None  # None: that is unknown
    cut: str = ""
    seconds: float | None = None
    output: bytes = b""

    @property
    def text(self) -> str:
        """The end in a few words."""
        if self.code is None:
            return "its end is unknown"
        ended = f"stopped: {self.cut}" if self.cut else f"exit code {exit_code_text(self.code)}"
        return ended if self.seconds is None else f"{ended}, {self.seconds:.1f} s"


class OperationEnd(msgspec.Struct, frozen=True):
    """An operation of a run with its result, numbered as in the review."""

    number: int
    operation: Operation
    result: OperationResult
    command: CommandEnd | None = None


class RunEnd(msgspec.Struct, frozen=True):
    """What became of a run, so far."""

    outcome: RunOutcome
    operations: tuple[OperationEnd, ...] = ()
    accepted: bool = False


def read_run(
    outcome: RunOutcome,
    operations: Sequence[Operation],
    rows: Sequence[tuple[str, JournalEntry]],
    blobs: BlobStore,
) -> RunEnd:
    """Returns what the journal of a run says; `rows` are its entries with their times."""
    entries = [entry for _, entry in rows]
    if not entries:
        return RunEnd(outcome)
    results = journal_summary(Plan(b"", tuple(operations)), entries, blobs).results
    ends = _command_ends(rows[: rollback_start(entries)], blobs)
    found = tuple(
        OperationEnd(at + 1, op, result, ends.get(at))
        for at, (op, result) in enumerate(zip(operations, results, strict=False))
    )
    last = entries[-1]
    accepted = isinstance(last, FinishedEntry) and was_accepted(last, entries)
    return RunEnd(outcome, found, accepted)


def _command_ends(
    rows: Sequence[tuple[str, JournalEntry]], blobs: BlobStore
) -> dict[int, CommandEnd]:
    began: dict[int, str] = {}
    found: dict[int, CommandEnd] = {}
    for at, entry in rows:
        match entry:
            case CommandStartedEntry(index=index):
                began[index], found[index] = at, CommandEnd(None)
            case CommandEndedEntry(index, code, cut, _, output):
                known = None if cut == UNKNOWN_END else code
                said = blobs.read(output) if output and blobs.has(output) else b""
                found[index] = CommandEnd(known, cut, _seconds(began.get(index, ""), at), said)
            case _:
                pass
    return found


def _seconds(began: str, ended: str) -> float | None:
    try:
        took = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except ValueError:
        return None
    return max(took.total_seconds(), 0.0)


def run_text(lead: str, end: RunEnd, *, undone: bool = False) -> str:
    """Reports a run after a lead: its operations, its commands' output, the state it left."""
    rows, summary = [*_operation_rows(end.operations)], _summary(end, undone=undone)
    if all(one.result == "done" for one in end.operations):
        return "\n".join([f"{lead} {summary}", *rows])
    return "\n".join([lead, *rows, summary])


def _operation_rows(ends: Sequence[OperationEnd]) -> Iterator[str]:
    """Yields a line for each operation, with the end of the output of those that are commands."""
    room, shown = MAX_OUTPUT_CHARS, dict[int, str]()
    for one in reversed(ends):
        if one.command and (said := _last_lines(one.command.output)):
            shown[one.number] = said if len(said) <= room else "  (output not shown)"
            room -= len(said)
    named = ends if len(ends) <= MAX_ROWS else [one for one in ends if _stands_out(one)]
    for one in named[:MAX_ROWS]:
        ended = f" ({one.command.text})" if one.command else ""
        subject = f"{operation_kind(one.operation)} {operation_subject(one.operation)}"
        yield f"{one.number}. {one.result}: {subject}{ended}"
        if one.number in shown:
            yield shown[one.number]
    if left := len(ends) - len(named[:MAX_ROWS]):
        yield f"- and {left} more"


def _stands_out(one: OperationEnd) -> bool:
    return one.result != "done" or one.command is not None


def _last_lines(output: bytes) -> str:
    lines = redact(without_terminal_codes(output.decode("utf-8", "replace"))).rstrip().splitlines()
    if not lines:
        return ""
    cut = (
        [f"  … {counted(len(lines) - MAX_LINES, 'line')} before"] if len(lines) > MAX_LINES else []
    )
    last = [one_line(line.expandtabs(4).encode())[:MAX_LINE_CHARS] for line in lines[-MAX_LINES:]]
    return "\n".join([*cut, *[f"  | {line}".rstrip() for line in last]])


def _summary(end: RunEnd, *, undone: bool) -> str:
    odd = [one for one in end.operations if one.result != "done"]
    because = _because(odd)
    match end.outcome:
        case "nothing":
            told = "Nothing needed to be done."
        case "done" if odd:
            whose = "; accepted by the user" if end.accepted else ""
            told = f"Applied except {because}{_not_begun(odd)}{whose}."
        case "done":
            told = "Everything in it was applied."
        case "rolled_back":
            why = f" because of {because}" if because else ""
            told = f"It was rolled back{why}: all files have their previous content and mode."
        case _:
            where = f" at {because}" if because else " halfway"
            told = f"It stopped{where} and needs the user's decision. What came before is applied."
    return f"{told} The user undid it: the files are as they were before." if undone else told


def still_staged(staged: int, ran: int) -> str:
    """Says what is staged after a run was rolled back, so that nothing is staged again."""
    if not staged:
        return ""
    if staged == 1:
        which = "Its operation is" if ran == 1 else "1 operation is"
    else:
        which = f"All {staged} operations are" if staged == ran else f"{staged} operations are"
    return f" {which} still staged; change what is needed and present again."


def _because(odd: Sequence[OperationEnd]) -> str:
    """Names what was not done: what went wrong, else all of it."""
    wrong = [one for one in odd if one.result not in ("not_started", "undone")]
    if not wrong:
        wrong = [one for one in odd if one.command and one.command.code] or list(odd)
    if not wrong:
        return ""
    named = ", ".join(_named(one) for one in wrong[:MAX_CAUSES])
    return named + (f" and {len(wrong) - MAX_CAUSES} more" if len(wrong) > MAX_CAUSES else "")


def _not_begun(odd: Sequence[OperationEnd]) -> str:
    """Says how many operations were not begun, beside those that went wrong."""
    left = sum(one.result == "not_started" for one in odd)
    if not left or left == len(odd):
        return ""
    return f", and {left} that {'was' if left == 1 else 'were'} not started"


def _named(one: OperationEnd) -> str:
    if not isinstance(one.operation, RunCommand):
        return f"operation {one.number} ({one.result.replace('_', ' ')})"
    if one.command is None:
        return f"command {one.number}, which did not run"
    if one.command.code is None or one.command.cut:
        return f"command {one.number} ({one.command.text})"
    failed = "failed with exit" if one.command.code else "ended with exit"
    return f"command {one.number}, which {failed} code {exit_code_text(one.command.code)}"


def undone_text(operations: Iterable[Operation], left: Sequence[str] = ()) -> str:
    """Reports that the user undid changes; `left` says what was not undone, and why."""
    return (
        f"The user undid changes; these files are as they were before{_but(left)}:"
        f"{_files(operations)}{_rest(left)}"
    )


def redone_text(operations: Iterable[Operation], left: Sequence[str] = ()) -> str:
    """Reports that the user took an undo back; commands did not run again."""
    return (
        "The user took their undo back; these files are again as they were before it"
        f"{_but(left)}, and no command ran again:{_files(operations)}{_rest(left)}"
    )


def restored_text(operations: Iterable[Operation], left: Sequence[str] = ()) -> str:
    """Reports that the files went back to before a message; the runs since are not remembered."""
    return (
        "The user went back to an earlier message. What was changed in files after that message "
        f"is undone{_but(left)}. Read a file again before you rely on it."
        f"{_files(operations)}{_rest(left)}"
    )


def _files(operations: Iterable[Operation]) -> str:
    paths = [
        path for op in operations if not isinstance(op, RunCommand) for path, *_ in footprint(op)
    ]
    names = [one_line(path) for path in sorted(set(paths))]
    return "".join(f"\n- {name}" for name in names[:MAX_ROWS]) + more_text(names)


def _but(left: Sequence[str]) -> str:
    return ", except for what was skipped" if left else ""


def _rest(left: Sequence[str]) -> str:
    rows = "".join(f"\n- {reason}" for reason in left[:MAX_ROWS])
    return f"\n\nSkipped:{rows}{more_text(left)}" if left else ""


def more_text(things: Sequence[object]) -> str:
    """Returns how many of a list are not named."""
    left = len(things) - MAX_ROWS
    return f"\n- and {left} more" if left > 0 else ""
