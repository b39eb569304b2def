"""Status: the state of plans, staged operations and runs, and what was cleaned up.

The lines come from the same rows that `--json` prints. Cleaned up are leftovers of killed processes
in the workspace.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from shlex import quote
from typing import Final, cast

import msgspec

from assent.core.event import CommandStarted
from assent.core.paths import display_path
from assent.core.plan.comment import Critique
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.record import PlanRecord, PlanState, TextRevision
from assent.core.run.journal import OperationResult, ReportedOutcome
from assent.core.shell.process import script_line
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.core.text.secrets import redact
from assent.core.undo import NOT_COVERED, PUT_BACK, STILL_DIFFERENT
from assent.render.lines import Line, Style, counted, local_time, table_lines, wrapped_lines
from assent.render.rows import Row, exit_code_text, operation_subject, operation_verb, row_path

NAMED_STEPS: Final = 5  # steps that one line names
SHORT: Final = 12  # characters of an id or a digest in a list; whole ones are in --json
_ID: Final = 26  # characters of an id; what a turn of a session is called has other lengths

ROLLED_BACK: Final = "Rolled back: all files are as before."
RESTORED: Final = "Rolled back: all files have their previous content and mode."  # commands ran
RESTORED_EXCEPT: Final = "Rolled back, except as listed below."
PARTIAL: Final = "Partly done; the items below were skipped."
NOTHING: Final = "Nothing to do."
_ENDINGS: Final[dict[ReportedOutcome, tuple[Style, str, str]]] = {
    "done": ("heading", "Done.", "assent undo"),
    "partial": ("risk", PARTIAL, "assent runs list"),
    "nothing": ("heading", NOTHING, "assent status"),
    "rolled_back": (
        "risk",
        f"{ROLLED_BACK} The approval is used up.",
        "assent review",
    ),
    "needs_you": (
        "risk",
        "Stopped: the run needs your decision.",
        "assent recover --resume, or --roll-back, or --accept",
    ),
}
RUN_ENDED: Final[dict[str, str]] = {
    "done": "is done",
    "partial": "is partly done",
    "nothing": "changed nothing",
    "rolled_back": "was rolled back",
}
_WORDS: Final[dict[OperationResult, str]] = {
    "done": "all operations applied",
    "undone": "everything was undone",
}
# A record has contents, modes and links; owners, attributes and empty folders are not in it.
_RECORDED: Final[dict[OperationResult, str]] = {
    **_WORDS,
    "undone": "all recorded changes were undone",
}
_GOOD: Final[frozenset[OperationResult]] = frozenset({"done", "undone", "not_started"})


def short_run(run: str) -> str:
    """Returns as much of a run's name as is enough to name it by; a turn's name is short."""
    return run[:SHORT] if len(run) == _ID and "." not in run else run


def plan_lines(
    row: Row, command: str = "", of: str = "", *, short: bool = False, ids: bool = True
) -> Iterator[Line]:
    """Renders one plan and the next command, unless the caller has a better one.

    `of` names the plan in that command, if it is not the current one; `short` has only the
    beginning of its digest and its id. Without `ids` it has neither: no one types them there.
    """
    steps, size = row.get("progress"), SHORT if short else None
    yield from table_lines(
        "plain",
        [
            ("plan", _text(row["name"])),
            *([("option", _text(row["option"]))] if "option" in row else []),
            ("session", _text(row["session"])),
            ("file", _file(row)),
            ("state", state_text(PlanState(str(row["state"])), approved=bool(row["approved"]))),
            *(
                [("expires", _text(local_time(str(row["expires_at"]))))]
                if "expires_at" in row
                else []
            ),
            *([("steps", progress_text(steps))] if isinstance(steps, dict) else []),
            *([("digest", _text(row["digest"])[:size])] if ids else []),
            *([("id", _text(row["plan_id"])[:size])] if ids else []),
        ],
    )
    yield Line("plain", f"Next: {of_plan(visible_line(command) or _next(row), of)}")


def progress_text(row: Mapping[str, object]) -> str:
    """Returns the progress of a plan's steps on one line."""
    told = [f"{row['completed']} of {row['total']} completed"]
    if row["skipped"]:
        told.append(f"{row['skipped']} skipped")
    ids = cast("Mapping[str, Sequence[str]]", row["ids"])
    for name, word in (("failed", "failed"), ("in_progress", "in progress"), ("next", "next")):
        if ids[name]:
            more = (
                f" and {len(ids[name]) - NAMED_STEPS} more" if len(ids[name]) > NAMED_STEPS else ""
            )
            told.append(f"{word}: {', '.join(ids[name][:NAMED_STEPS])}{more}")
    return visible_line("; ".join(told))


def plan_list_lines(rows: Sequence[Row], when: Callable[[str], str]) -> Iterator[Line]:
    """Renders plans in aligned columns; `when` formats a time."""
    if not rows:
        yield Line("plain", "No plans yet.")
        yield Line("plain", "Next: assent plan new NAME")
        return
    title = ["SESSION", "NAME", "STATE", "CREATED", "UPDATED", "DIGEST", "FILE"]
    cells = [title, *([*_listed(row, when)] for row in rows)]
    if any("option" in row for row in rows):
        labels = ["OPTION", *[_text(row["option"]) if "option" in row else "" for row in rows]]
        cells = [[*one[:2], label, *one[2:]] for one, label in zip(cells, labels, strict=True)]
    first, *rest = table_lines("plain", cells)
    yield Line("heading", first.text)
    yield from rest


def option_rows(options: Sequence[PlanRecord]) -> list[Row]:
    """Returns the plans that a user can choose from, by label."""
    return [
        {"plan": one.plan_id, "label": one.option, "name": one.name, "digest": one.digest}
        for one in options
    ]


def option_lines(rows: Sequence[Row], *, ids: bool = True) -> Iterator[Line]:
    """Renders the plans that a user can choose from; nothing if there is no choice."""
    if not rows:
        return
    yield Line("plain", f"{len(rows)} options are waiting for your decision:")
    cells = [
        (
            f"  {_text(row['label'])}",
            _text(row["name"]),
            *([_text(row["digest"])[:SHORT]] if ids else []),
        )
        for row in rows
    ]
    yield from table_lines("plain", cells)


def critique_row(critique: Critique) -> Row:
    """Returns what is known of a critic's reading of a plan; its findings are comments."""
    return {
        "model": critique.model,
        "state": critique.state,
        "findings": critique.findings,
        "dropped": critique.dropped,
        "unread": critique.unread,
        "warning": redact(critique.words) or None,
        "next": [_ask_again(critique)] if critique.state == "unfinished" else [],
    }


def critique_lines(critique: Critique | None, option: str = "") -> Iterator[Line]:
    """Renders what a user should know of a critique apart from its findings; often nothing."""
    if critique is None:
        return
    about = f" reading option {option}" if option else ""
    for text in critique_texts(critique, about):
        yield from wrapped_lines("said", visible_line(text))
    if critique.state == "unfinished":
        yield Line("said", f"Ask it again: {_ask_again(critique)}")


def critique_texts(critique: Critique, about: str = "") -> Iterator[str]:
    """Says what a user should know of a critique, apart from the findings that they see."""
    who = f"Critic {critique.model}"
    match critique.state:
        case "running":
            yield f"{who} is still reading this plan."
        case "unfinished":
            yield (
                f"The critic did not finish{about}: its process ended before {critique.model} "
                "answered."
            )
        case "finished":
            if critique.words:
                yield f"{who} has no comments on this plan: {redact(critique.words)}"
    if critique.dropped:
        count = "1 more finding" if critique.dropped == 1 else f"{critique.dropped} more findings"
        yield f"{count} of the critic could not be used: repeated, unreadable, or too many."
    if critique.unread:
        yield f"The critic did not get {counted(critique.unread, 'line')}: too long."


def _ask_again(critique: Critique) -> str:
    return f"assent -r {critique.session} -p"


def operation_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders operations in order, one per line, with the start of each id."""
    if not rows:
        yield Line("plain", "Nothing is staged.")
    for row in rows:
        yield from wrapped_lines(
            "plain", f"{_text(row['id'])[:SHORT]}  {row['kind']!s:<6}  {_what(row)}"
        )


def operation_removed_lines(rows: Sequence[Row], remaining: int) -> Iterator[Line]:
    """Renders operations that were removed from a draft, and how many remain."""
    if rows:
        yield Line("heading", f"Removed {_counted(len(rows))}:")
        yield from operation_lines(rows)
    else:
        yield Line("plain", "Nothing is staged; nothing was removed.")
    yield Line("plain", f"Still staged: {_counted(remaining) if remaining else 'nothing'}.")


def _counted(operations: int) -> str:
    return f"{operations} operation{'' if operations == 1 else 's'}"


def history_lines(revisions: Sequence[TextRevision]) -> Iterator[Line]:
    """Renders the versions of a plan's text, oldest first."""
    if not revisions:
        yield Line("plain", "The plan has no text yet.")
    rows = [
        (str(r.n), visible_line(local_time(r.at)), visible_line(r.content_hash[:SHORT]))
        for r in revisions
    ]
    yield from table_lines("plain", rows)


def status_lines(
    plan: Row | None,
    run: Row | None,
    *,
    command: str = "",
    of: str = "",
    asked: bool = False,
    lost: bool = False,
    ids: bool = True,
) -> Iterator[Line]:
    """Renders the state of the current plan and the last run, and the next command.

    Without `ids` neither a run nor a plan is called by its own.
    """
    running = "" if run is None else visible_line(str(run.get("running") or ""))
    unfinished = run is not None and not running and run["outcome"] in (None, "needs_you")
    name = short_run(_text(run["run"])) if run is not None and ids else ""
    if run is not None and running:
        told = f"{f'Run {name}' if name else 'A run is'} in progress: {running}."
        yield from wrapped_lines("plain", told)
    elif run is not None and unfinished:
        state = "needs your decision" if run["outcome"] else "was interrupted"
        yield Line("risk", f"A run {state}: {name}" if name else f"A run {state}.")
    elif run is not None:
        partly = ", then partly undone" if run.get("partly_undone") else ""
        since = ", then undone" if run.get("undone") else partly
        accepted = "was accepted as is" if run.get("accepted") else ""
        ended = (accepted or RUN_ENDED.get(str(run["outcome"]), "ended")) + since
        yield Line("plain", f"Last run: {name} {ended}." if name else f"The last run {ended}.")
    if plan is None:
        yield Line("plain", "No current plan.")
        undone = run is not None and run["outcome"] == "done"
        last = Line("plain", f"Next: assent {'undo' if undone else 'plan new NAME'}")
    else:
        *lines, last = plan_lines(plan, command, of, short=True, ids=ids)
        yield from lines
    if unfinished or asked or lost:
        waits = "recover" if unfinished or lost else "questions list"
        last = Line("plain", f"Next: assent {waits}")
    elif running:
        last = Line("plain", "Next: assent status")
    yield last


def open_item_row(command: CommandStarted | None, holder: str, questions: Sequence[str]) -> Row:
    """Returns other open items: a command that runs or whose end is unknown; and questions."""
    left = None
    if command is not None:
        left = {"line": command.line, "session": command.session, "running": holder or None}
    return {"command": left, "questions": list(questions)}


def open_item_lines(
    command: CommandStarted | None, holder: str, questions: Sequence[str]
) -> Iterator[Line]:
    """Renders what else waits for the user, and the command that `holder` runs, if any."""
    if command is not None and holder:
        words = f"Running now ({visible_line(holder)}): {visible_line(command.line)}"
        yield from wrapped_lines("plain", words)
    elif command is not None:
        line = visible_line(command.line)
        yield from wrapped_lines("risk", f"A command started, but its result is unknown: {line}")
        yield Line("plain", "Check the files before you run it again.")
    if questions:
        several = len(questions) > 1
        yield Line("risk", f"{len(questions)} question{'s' if several else ''} pending.")


def run_lines(
    run: str,
    outcome: ReportedOutcome,
    results: Iterable[tuple[OperationResult, Operation]],
    notes: Iterable[str] = (),
    exits: Sequence[int | None] = (),
    *,
    permitted: bool = False,
) -> Iterator[Line]:
    """Renders the result of a run and of each operation, and the next command.

    A `permitted` run had no plan. `exits` is empty if no command was involved, and has None for
    operations that are not commands.
    """
    style, sentence, command = _ENDINGS[outcome]
    rows = list(results)
    told = list(notes)
    if outcome == "done":
        sentence = done_text([result for result, _ in rows], told, recorded=bool(exits))
    elif outcome == "rolled_back" and any(isinstance(op, RunCommand) for _, op in rows):
        sentence = _back(told)
    elif outcome == "rolled_back" and permitted:
        sentence, command = ROLLED_BACK, "assent -c"
    elif outcome == "needs_you" and not any(note.startswith(NOT_COVERED) for note in told):
        sentence = f"{sentence} Nothing was lost."
    yield Line(style, sentence)
    for (result, op), code in zip_longest(rows, exits[: len(rows)]):
        shade: Style = "plain" if result in _GOOD else "risk"
        ended = "" if code is None else f" (exit {exit_code_text(code)})"
        yield from wrapped_lines(
            shade, f"{result:<11}  {operation_verb(op):<6}  {_told(op)}{ended}"
        )
    for note in told:
        yield from wrapped_lines("risk", visible_line(note))
    if run:
        yield Line("dim", f"run {visible_line(run)}")
    yield Line("plain", f"Next: {command}")


def replace_next_command(lines: Iterable[Line], command: str) -> Iterator[Line]:
    """Yields lines, with another next command at their end."""
    *before, _ = lines
    yield from before
    yield Line("plain", f"Next: {visible_line(command)}")


def stopped_run_lines(lines: Iterable[Line], command: str) -> Iterator[Line]:
    """Yields the lines of a run that could not continue, with the command that resolves it."""
    _, *between, _ = lines
    yield Line("risk", "Stopped: the run could not continue. Nothing was lost.")
    yield from between
    yield Line("plain", f"Next: {command}")


def _told(op: Operation) -> str:
    """Returns the subject of an operation that is no longer to be decided (F92)."""
    return redact(operation_subject(op)) if isinstance(op, RunCommand) else operation_subject(op)


def _back(notes: Sequence[str]) -> str:
    """Returns what rolled back means if commands ran: their record may not have all files."""
    if any(not note.startswith(PUT_BACK) for note in notes):
        return f"{RESTORED_EXCEPT} The approval is used up."
    return f"{RESTORED} The approval is used up."


def done_text(results: Iterable[OperationResult], notes: Sequence[str], *, recorded: bool) -> str:
    """Returns what done means: applied, undone, or as much of it as was possible.

    `recorded`: commands may have done something that can only be undone as far as it is recorded.
    """
    found = set(results)
    if any(note.startswith(STILL_DIFFERENT) for note in notes):
        return "Done, but not everything was restored:"
    if len(found) > 1 or not found <= _WORDS.keys():
        return "Done; see the result of each operation."
    words = (_RECORDED if recorded else _WORDS)[next(iter(found), "done")]
    left = any(note.startswith(NOT_COVERED) for note in notes)
    return f"Done: {words}{', except as listed below' if left else ''}."


def _next(row: Row) -> str:
    state = PlanState(str(row["state"]))
    if row.get("imported") and row["approved"]:
        return f"assent build --plan {_text(row['plan_id'])}"
    return next_command(state, str(row["digest"] or ""), approved=bool(row["approved"]))


def _listed(row: Row, when: Callable[[str], str]) -> tuple[str, ...]:
    return (
        _text(row["session"]),
        _text(row["name"]),
        state_text(PlanState(str(row["state"])), approved=bool(row["approved"])),
        _text(when(str(row["created_at"]))),
        _text(when(str(row["updated_at"]))),
        _text(row["digest"])[:SHORT],
        _file(row),
    )


def _file(row: Row) -> str:
    """Returns where a plan's text is: an imported one has no file."""
    return row_path(row, "path") or ("imported" if row.get("imported") else "none")


def _what(row: Row) -> str:
    if row["kind"] == "run":
        return _command(row)
    to = row_path(row, "to")
    return row_path(row, "path") + (f" → {to}" if to else "")


def _command(row: Row) -> str:
    """Returns a command for a list, with its unusual settings."""
    argv = row["argv"]
    words = " ".join([quote(str(word)) for word in argv]) if isinstance(argv, list) else ""
    odd = [
        *([f"in {row['cwd']}"] if row["cwd"] != "." else []),
        *(["with network"] if row["network"] else []),
        *(["WITHOUT THE SANDBOX"] if row["profile"] == "unconfined" else []),
    ]
    how = f"  ({', '.join(odd)})" if odd else ""
    script = script_line(str(row["script"]))
    return visible_line(f"{script or words}{how}")


def _text(value: object) -> str:
    words = map(str, value) if isinstance(value, list) else [str(value or "none")]
    return visible_line(" ".join(words))


# Removed leftovers: what killed processes had left in the workspace and is gone now.


class RemovedLeftovers(msgspec.Struct, frozen=True):
    """Files of a killed start, and empty folders of a killed command, that were removed."""

    files: tuple[bytes, ...] = ()
    folders: tuple[bytes, ...] = ()


NO_LEFTOVERS = RemovedLeftovers()
_NOTHING_ELSE = "Nothing else to do."


def removed_folders_text(folders: Iterable[bytes]) -> str:
    """Returns which empty folders of a killed command were removed."""
    names = [visible_path(path) for path in folders]
    which = "empty folders" if len(names) > 1 else "an empty folder"
    return f"Removed {which} left by a killed command: {', '.join(names)}."


def removed_leftovers_lines(removed: RemovedLeftovers) -> Iterator[Line]:
    """Renders what was removed."""
    if removed.files:
        names = " and ".join(map(visible_path, removed.files))
        yield from wrapped_lines("plain", f"Removed leftovers of an interrupted start: {names}.")
    if removed.folders:
        yield from wrapped_lines("plain", removed_folders_text(removed.folders))


def with_removed_leftovers(
    row: Row, lines: Iterable[Line], removed: RemovedLeftovers
) -> tuple[Row, list[Line]]:
    """Adds what was removed to an answer, which then does not say that there was nothing to do."""
    told = list(lines)
    gone = [display_path(path) for path in (*removed.files, *removed.folders)]
    if not gone:
        return row, told
    rest = [Line(x.style, _NOTHING_ELSE) if x.text == NOTHING else x for x in told]
    return {**row, "removed": gone}, [*removed_leftovers_lines(removed), *rest]


NEXT: Final[dict[PlanState, str]] = {
    PlanState.DRAFTING: "assent propose",
    PlanState.EXECUTING: "assent recover",
    PlanState.HALTED: "assent recover",
    PlanState.COMPLETED: "assent undo",
    PlanState.DISCARDED: "assent plan new NAME",
}
# Commands that mean the current plan, unless they name another one.
PLAN_COMMANDS: Final = frozenset(
    {"approve", "build", "diff", "propose", "rebase", "reject", "review", "undo"}
)
PLAN_COMMAND_GROUPS: Final = frozenset({"comment", "stage"})
PLAN_SUBCOMMANDS: Final = frozenset({"plan delete", "plan history", "plan show", "plan write"})


def state_text(state: PlanState, *, approved: bool) -> str:
    """Returns the state as text; approval only matters while the plan waits for it."""
    waits = state is PlanState.AWAITING_APPROVAL
    return "Approved, not built" if waits and approved else state.label


def next_command(state: PlanState, digest: str, *, approved: bool) -> str:
    """Returns the user's next command."""
    if state is not PlanState.AWAITING_APPROVAL:
        return NEXT[state]
    return "assent build" if approved else f"assent approve --digest {digest}"


def of_plan(command: str, plan: str) -> str:
    """Returns a command that also names its plan, which is not the current one.

    Nothing is added without a plan, to a command that is not about plans, or that already names
    what it is about: a plan, a run or a file.
    """
    program, *words = command.split(" ")
    if not plan or program != "assent" or not words or not {"--plan", "--help"}.isdisjoint(words):
        return command
    first, both, named = words[0], " ".join(words[:2]), [*words[1:2]]
    if first in PLAN_COMMAND_GROUPS or both in PLAN_SUBCOMMANDS:
        verb, rest = both, words[2:]
    elif first in PLAN_COMMANDS and all(word.startswith("-") for word in named):
        verb, rest = first, words[1:]
    else:
        return command
    return " ".join([program, verb, "--plan", quote(plan), *rest])
