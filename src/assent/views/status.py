"""Status: where plans, drafts and runs stand, from the same rows that `--json` prints."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assent.core.event import CommandStarted
from assent.core.journal import Outcome, Result
from assent.core.lifecycle import State
from assent.core.operation import Operation
from assent.core.plan import Plan
from assent.core.record import Revision
from assent.core.undo import Inversion
from assent.views.commands import subject
from assent.views.lines import BLANK, Line, Style, table, wrapped
from assent.views.review import next_command, standing
from assent.views.rows import Row, kind, row_path
from assent.views.visible import visible_line

SHORT: Final = 12  # characters of an id or a digest in a list; whole ones are in --json

_ENDINGS: Final[dict[Outcome, tuple[Style, str, str]]] = {
    "done": ("heading", "Done.", "assent undo"),
    "nothing": ("heading", "There was nothing to do.", "assent status"),
    "rolled_back": (
        "risk",
        "Rolled back: every file is as it was before. The approval is spent.",
        "assent review",
    ),
    "needs_you": (
        "risk",
        "Needs you: the run stopped where only a person can decide. No content is lost.",
        "assent recover --resume, or --roll-back, or --accept",
    ),
}
_GOOD: Final[frozenset[Result]] = frozenset({"done", "undone", "not_started"})


def plan_lines(row: Row, command: str = "") -> Iterator[Line]:
    """Renders one plan and what to type next, unless the caller knows better."""
    yield from table(
        "plain",
        [
            ("plan", _text(row["name"])),
            ("session", _text(row["session"])),
            ("file", row_path(row, "path") or "none"),
            ("state", standing(State(str(row["state"])), approved=bool(row["approved"]))),
            ("digest", _text(row["digest"])),
            ("id", _text(row["plan_id"])),
        ],
    )
    yield Line("plain", f"Next: {visible_line(command) or _next(row)}")


def plan_list_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders plans in aligned columns."""
    if not rows:
        yield Line("plain", "There are no plans.")
        yield Line("plain", "Next: assent plan new NAME")
        return
    title = ("SESSION", "NAME", "STATE", "APPROVED", "DIGEST", "FILE")
    first, *rest = table("plain", [title, *map(_listed, rows)])
    yield Line("heading", first.text)
    yield from rest


def operation_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders operations in order, one a line, with the start of each id."""
    if not rows:
        yield Line("plain", "Nothing is staged.")
    for row in rows:
        yield from wrapped("plain", f"{_text(row['id'])[:SHORT]}  {row['kind']!s:<6}  {_what(row)}")


def history_lines(revisions: Sequence[Revision]) -> Iterator[Line]:
    """Renders the versions of a plan's text, oldest first."""
    if not revisions:
        yield Line("plain", "The plan has no text yet.")
    rows = [(str(r.n), visible_line(r.at), visible_line(r.content_hash)) for r in revisions]
    yield from table("plain", rows)


def status_lines(plan: Row | None, run: Row | None, *, asked: bool = False) -> Iterator[Line]:
    """Renders where the current plan and the last run stand, and the one thing to type next."""
    unfinished = run is not None and run["outcome"] in (None, "needs_you")
    if run is not None and unfinished:
        state = "needs you" if run["outcome"] else "was interrupted"
        yield Line("risk", f"A run {state}: {_text(run['run'])}")
    elif run is not None:
        yield Line("plain", f"Last run: {_text(run['run'])} ended as {_text(run['outcome'])}.")
    if plan is None:
        yield Line("plain", "No plan is current.")
        undone = run is not None and run["outcome"] == "done"
        last = Line("plain", f"Next: assent {'undo' if undone else 'plan new NAME'}")
    else:
        *lines, last = plan_lines(plan)
        yield from lines
    if unfinished or asked:
        last = Line("plain", f"Next: assent {'recover' if unfinished else 'questions list'}")
    yield last


def open_row(command: CommandStarted | None, questions: Sequence[str]) -> Row:
    """Returns what else waits: a command whose end nobody knows, and questions."""
    left = {"line": command.line, "session": command.session} if command else None
    return {"command": left, "questions": list(questions)}


def open_lines(command: CommandStarted | None, questions: Sequence[str]) -> Iterator[Line]:
    """Renders what else waits for a person."""
    if command is not None:
        line = visible_line(command.line)
        yield from wrapped("risk", f"A command began, and how it ended is not known: {line}")
        yield Line("plain", "Look at the files before it is run again.")
    if questions:
        several = len(questions) > 1
        yield Line("risk", f"{len(questions)} question{'s wait' if several else ' waits'}.")


def run_lines(
    run: str,
    outcome: Outcome,
    results: Iterable[tuple[Result, Operation]],
    notes: Iterable[str] = (),
) -> Iterator[Line]:
    """Renders what came of a run and of each operation, and what to type next."""
    style, sentence, command = _ENDINGS[outcome]
    rows = list(results)
    yield Line(style, _done({result for result, _ in rows}) if outcome == "done" else sentence)
    for result, op in rows:
        shade: Style = "plain" if result in _GOOD else "risk"
        yield from wrapped(shade, f"{result:<11}  {kind(op):<6}  {subject(op)}")
    for note in notes:
        yield from wrapped("risk", visible_line(note))
    if run:
        yield Line("dim", f"run {visible_line(run)}")
    yield Line("plain", f"Next: {command}")


def _done(results: set[Result]) -> str:
    """Says what done means: applied, taken back, or as much of it as was possible."""
    if results <= {"done"}:
        return "Done: everything was applied."
    if results == {"undone"}:
        return "Done: everything was taken back."
    return "Done, as far as the list says."


def undo_lines(run: str, plan: Plan, ids: Sequence[str], inversion: Inversion) -> Iterator[Line]:
    """Renders what an undo would do, what it would leave alone and why, and its digest."""
    yield Line("heading", f"Undo of run {visible_line(run)}")
    for index, op in inversion.operations:
        yield from wrapped("plain", f"{ids[index][:SHORT]}  {kind(op):<6}  {subject(op)}")
    for index, reason in inversion.conflicts:
        yield from wrapped("risk", f"{ids[index][:SHORT]}  left alone: {visible_line(reason)}")
    yield BLANK
    if not inversion.operations:
        yield Line("plain", "There is nothing left to undo.")
        return
    yield Line("heading", "Digest")
    yield Line("digest", plan.digest)
    yield Line("plain", f"Next: assent undo {visible_line(run)} --digest {plan.digest}")


def _next(row: Row) -> str:
    state = State(str(row["state"]))
    return next_command(state, str(row["digest"] or ""), approved=bool(row["approved"]))


def _listed(row: Row) -> tuple[str, ...]:
    return (
        _text(row["session"]),
        _text(row["name"]),
        _text(row["state"]),
        "yes" if row["approved"] else "no",
        _text(row["digest"])[:SHORT],
        row_path(row, "path") or "none",
    )


def _what(row: Row) -> str:
    if row["kind"] == "run":
        return _text(row["script"] or row["argv"])
    to = row_path(row, "to")
    return row_path(row, "path") + (f" → {to}" if to else "")


def _text(value: object) -> str:
    words = map(str, value) if isinstance(value, list) else [str(value or "none")]
    return visible_line(" ".join(words))
