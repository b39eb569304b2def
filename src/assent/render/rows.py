"""Rows: plans, operations and runs as plain objects for `--json`, and operations as text."""

import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, assert_never

import msgspec

from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.operation import DeleteFile, MoveFile, Operation, RunCommand, WriteFile
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import OperationResult, ReportedOutcome
from assent.core.session.record import SessionRecord
from assent.core.shell.process import PLAN_COMMAND_LIMITS, script_line, signal_of
from assent.core.text import counted
from assent.core.text.hidden_chars import hidden_kind, visible_line, visible_path, visible_word
from assent.core.text.secrets import redact
from assent.render.lines import Line, table_lines, untrusted_lines, wrapped_lines

if TYPE_CHECKING:
    from assent.core.session.estimate import WorkEstimate

# Redacts secrets in rows and in text that comes in pieces (F92).
#
# What a user decides on, such as a review, a diff or a question on a terminal, stays exact.


Value = TypeVar("Value")

MAX_HELD: Final = 200  # characters of a line that is waited for before it is shown in pieces
KEEP_BACK: Final = 100  # characters at its end that may be the beginning of a secret
CONTEXT_CHARS: Final = 400  # characters on both sides of a cut that are looked at
MAX_KEY_CHARS: Final = 20_000
SMALL: Final = 4096  # characters that may be searched with every piece
FULL: Final = 1 << 20  # characters of a line that is cut although it has no blank
_BEGIN, _END = "-----BEGIN ", "-----END "


def session_title(record: SessionRecord) -> str:
    """Returns a session's title, or its goal, on one line that is safe to print."""
    words = redact(record.title or record.goal or record.slug)
    return visible_line(re.sub(r"[ \t\r\n]+", " ", words).strip())


def redacted_row(value: Value) -> Value:
    """Returns a value, such as a row for JSON, with secrets masked in every text."""
    found: Value = _walked(value)
    return found


class StreamRedactor:
    """Releases text that comes in pieces without secrets: by lines, and long ones at blanks."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size, self._enough = 0, 0

    @property
    def buffered(self) -> str:
        """The text that was taken and not yet released, unmasked."""
        return "".join(self._pieces)

    def take(self, piece: str) -> str:
        """Adds a piece, and returns what can be shown now."""
        self._pieces.append(piece)
        self._size += len(piece)
        # What is long and could not be let go is looked at again when there is twice as much of
        # it: else every piece of a line without an end would have all of it searched once more.
        if self._size < self._enough and "\n" not in piece:
            return ""
        text = "".join(self._pieces)
        at = _end(text)
        self._hold(text[at:])
        return redact(text[:at]) if at else ""

    def rest(self) -> str:
        """Returns the rest at the end of the output."""
        ready = "".join(self._pieces)
        self._hold("")
        return redact(ready)

    def _hold(self, text: str) -> None:
        self._pieces, self._size = [text], len(text)
        self._enough = 2 * self._size if self._size > SMALL else 0


def _end(text: str) -> int:
    """Returns how much of a text can be released without cutting a secret."""
    begin = text.rfind(_BEGIN)
    end = text.find(_END, max(begin, 0))
    whole = end >= 0 and "\n" in text[end:]
    if begin >= 0 and not whole and len(text) - begin < MAX_KEY_CHARS:
        return begin  # a key goes over many lines
    line = text.rfind("\n") + 1
    if len(text) - line <= MAX_HELD:
        return line
    blank = text.rfind(" ", line, len(text) - KEEP_BACK) + 1
    if blank and _is_between(text, line, blank, CONTEXT_CHARS):
        return blank
    middle = len(text) - MAX_KEY_CHARS
    full = len(text) - line > FULL and _is_between(text, line, middle, MAX_KEY_CHARS)
    return middle if full else line


def _is_between(text: str, line: int, at: int, around: int) -> bool:
    """Tells whether a text can be cut at a position without cutting a secret around it."""
    before, after = text[max(line, at - around) : at], text[at : at + around]
    return redact(before) + redact(after) == redact(before + after)


def _walked(value: Any) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {_walked(key): _walked(each) for key, each in value.items()}
        case list():
            return [_walked(each) for each in value]
        case tuple():
            return tuple([_walked(each) for each in value])
        case msgspec.Struct():
            found = {name: _walked(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **found)
        case _:
            return value


Row: TypeAlias = dict[str, object]

RECOVER_WAYS: Final = (
    "assent recover --resume",
    "assent recover --roll-back",
    "assent recover --accept",
)


def plan_row(record: PlanRecord, *, approved: bool) -> Row:
    """Returns a plan as one row; a draft's digest is null.

    `expires_at` of its approval, `imported`, and the label and id of options are only there if they
    have a value.
    """
    until = record.expires_at if approved else ""
    return {
        "plan_id": record.plan_id,
        "session": record.session or None,
        "name": record.name,
        **path_fields("path", record.path or None),
        "state": str(record.state),
        "digest": record.digest or None,
        "approved": approved,
        "created_at": record.created_at,
        "updated_at": record.changed_at,
        **({"expires_at": until} if until else {}),
        **({"imported": record.imported} if record.imported else {}),
        **({"option": record.option, "options": record.options} if record.option else {}),
    }


def warning_rows(warnings: Iterable[str]) -> Row:
    """Returns warnings about the workspace where a plan is built; empty if there are none."""
    found = list(warnings)
    return {"warnings": found} if found else {}


def operation_row(name: str, op: Operation) -> Row:
    """Returns an operation as one row; a command has its arguments instead of a path."""
    row: Row = {"id": name, "kind": operation_kind(op)}
    if isinstance(op, RunCommand):
        return {**row, "path": None, "to": None, **_command(op)}
    to = op.to if isinstance(op, MoveFile) else None
    return {**row, **path_fields("path", op.path), **path_fields("to", to)}


def _command(op: RunCommand) -> Row:
    exact = {
        f"{field}_b64": [b64encode(word).decode() for word in words]
        for field, words in (("argv", op.argv), ("script", (op.script,)), ("undo", op.undo))
        if not all(map(_is_text, words))
    }
    return {
        "argv": [display_path(word) for word in op.argv],
        "script": display_path(op.script),
        "cwd": display_path(op.cwd) or ".",
        "env": {display_path(key): display_path(value) for key, value in op.env},
        "timeout": op.timeout,
        "network": op.network,
        "undo": [display_path(word) for word in op.undo],
        "profile": op.profile,
        **exact,
    }


def _is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def run_row(
    run: str,
    outcome: ReportedOutcome,
    results: Iterable[tuple[str, OperationResult]],
    exits: Sequence[int | None] = (),
    notes: Iterable[str] = (),
) -> Row:
    """Returns a run as one object: its result, that of each operation, and how commands ended.

    `notes` and `next`, the possible next steps, are only there if they have a value.
    """
    operations: list[Row] = [{"id": name, "result": result} for name, result in results]
    for row, code in zip(operations, exits, strict=False):
        row |= {} if code is None else {"exit": code}
    told = [note for note in notes if not note.startswith(RECOVER_WAYS)]
    return {
        "run": run or None,
        "outcome": outcome,
        "operations": operations,
        **({"notes": told} if told else {}),
        **({"next": list(RECOVER_WAYS)} if outcome == "needs_you" else {}),
    }


def still_running_row(found: Iterable[tuple[str, str]]) -> Row:
    """Returns the processes that commands left running, each with its command; else nothing."""
    rows = [{"command": line, "processes": alive} for line, alive in found]
    return {"left_running": redacted_row(rows)} if rows else {}


def path_fields(field: str, path: bytes | None) -> Row:
    """Returns a path under its field, and its exact bytes under another if it is not UTF-8."""
    if path is None:
        return {field: None}
    try:
        return {field: path.decode()}
    except UnicodeDecodeError:
        return {field: display_path(path), f"{field}_b64": b64encode(path).decode()}


def row_path(row: Row, field: str) -> str:
    """Returns a path of a row for display, from its exact bytes if the row has them."""
    exact = row.get(f"{field}_b64")
    if exact is not None:
        return visible_path(b64decode(str(exact)))
    return visible_path(str(row[field] or "").encode())


def operation_kind(op: Operation) -> str:
    """Returns the name of an operation's kind in data: write, delete, move or run."""
    return str(op.__struct_config__.tag)


def operation_verb(op: Operation) -> str:
    """Returns what an operation does, for people: as its kind, and `create` of what is new."""
    new = isinstance(op, WriteFile) and op.before is None
    return "create" if new else operation_kind(op)


def operation_kinds_text(kinds: Iterable[str]) -> str:
    """Returns how many operations of each kind there are, such as `1 delete, 2 writes`."""
    return ", ".join(counted(count, kind) for kind, count in sorted(Counter(kinds).items()))


# The states of a session whose last turn did not end by itself.
_STATES = {each: each for each in ("failed", "interrupted", "paused", "cancelled", "declined")}


def session_row(record: SessionRecord, failure: str = "", missing: str = "") -> Row:
    """Returns a session as JSON data; `failure` says why its last turn failed, if it did.

    `missing` is its custom mode, if that no longer exists.
    """
    row: Row = {
        "session": record.session,
        "slug": record.slug,
        "title": record.title or record.goal,
        "mode": record.mode,
        "custom_mode": record.custom or None,
        "missing_mode": missing or None,
        "agent": record.agent or None,
        "model": record.model or None,
        "plan_id": record.plan_id or None,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "messages": record.messages,
        "turns": record.turns,
        "steps": record.steps,
        "todos": msgspec.to_builtins(record.todos),
        "usage": msgspec.to_builtins(record.usage),
        "cost": record.cost,
        "parent": record.parent or None,
        "fork": record.fork or None,
        "children": record.children,
        "state": session_state(record),
        "failure": failure or None,
    }
    return redacted_row(row)


def session_state(record: SessionRecord) -> str:
    """Returns the name of a session's state."""
    if record.questions:
        return "waiting"
    if record.working:
        return "working"
    return record.halt or _STATES.get(record.ended, "idle")


# Operations as text: a path, two paths, or a whole command, for lists and for the review.


TIMEOUT_LABEL: Final = "limits"
COMMON_LIMITS: Final = (
    f"{PLAN_COMMAND_LIMITS.memory >> 30} GiB memory, {PLAN_COMMAND_LIMITS.processes} processes, "
    f"{PLAN_COMMAND_LIMITS.output >> 30} GiB output"
)
BRIEF_LENGTH: Final = 72  # characters of a command, where all of it stands nearby


def operation_subject(op: Operation) -> str:
    """Returns the subject of an operation on one line: path, path and new path, or command."""
    match op:
        case WriteFile(path) | DeleteFile(path):
            return visible_path(path)
        case MoveFile(path, to):
            return f"{visible_path(path)} → {visible_path(to)}"
        case RunCommand(argv, script):
            return argv_text(argv) if argv else visible_line(script_line(display_path(script)))
        case _:
            assert_never(op)


def operation_brief(op: Operation) -> str:
    """Returns the subject of an operation in short, where the full command is shown nearby."""
    line = operation_subject(op)
    if not isinstance(op, RunCommand) or len(line) <= BRIEF_LENGTH:
        return line
    return f"{line[:BRIEF_LENGTH]}…"


def argv_text(argv: tuple[bytes, ...]) -> str:
    """Returns an argument vector as a shell would read it, with hidden characters visible."""
    return " ".join([quote(visible_word(word)) for word in argv])


def command_lines(op: RunCommand, unheld: str = "") -> Iterator[Line]:
    """Renders a command in full: what runs, where, with which settings, and what undoes it.

    `unheld` says why the sandbox does not work on this machine, if it does not.
    """
    if op.argv:
        yield from wrapped_lines("plain", f"$ {argv_text(op.argv)}")
    if op.script:
        yield from untrusted_lines(display_path(op.script))
    yield from table_lines("dim", [_in_full(*row) for row in command_settings(op)])
    loud = unheld or op.profile == "unconfined"
    yield from wrapped_lines("risk" if loud else "dim", confinement_text(op, unheld))


def command_settings(op: RunCommand) -> list[tuple[str, str]]:
    """Returns how a command runs, in addition to its line: names and values as text."""
    variables = [f"{visible_word(key)}={quote(visible_word(value))}" for key, value in op.env]
    return [
        ("folder", visible_path(op.cwd) or "."),
        *(("variable", variable) for variable in variables),
        (TIMEOUT_LABEL, f"{op.timeout} s"),
        ("network", "allowed" if op.network or op.profile == "unconfined" else "none"),
        ("undo", f"$ {argv_text(op.undo)}" if op.undo else "no undo command"),
    ]


def _in_full(name: str, value: str) -> tuple[str, str]:
    """Adds the limits that are the same for all commands, where one is shown by itself."""
    return name, f"{value}, {COMMON_LIMITS}" if name == TIMEOUT_LABEL else value


def exit_code_text(code: int) -> str:
    """Returns an exit code with the signal that it stands for, if any."""
    signal = signal_of(code)
    return f"{code}, {signal}" if signal else str(code)


def confinement_text(op: RunCommand, unheld: str = "") -> str:
    """Describes what a command can do while it runs."""
    if op.profile == "unconfined":
        return "WITHOUT THE SANDBOX: it can do anything you can."
    if unheld:
        why = visible_line(unheld).rstrip(".")
        return f"No sandbox on this machine ({why}): a build here will not run this command."
    network = "network allowed" if op.network else "no network"
    if op.profile == "commit":
        return (
            "Sandboxed: commits what this run changed. Writes only git objects, refs and the "
            f"index, not git config, hooks or workspace files, {network}."
        )
    return f"Sandboxed: writes only in the workspace, {network}."


def undo_gaps(op: RunCommand, most_mb: int) -> tuple[str, ...]:
    """Returns what an undo of a command does not cover, in any workspace."""
    if op.undo:
        return ("anything its undo command misses",)
    if op.profile == "commit":
        return ("the commit it creates",)
    large = [f"files over {most_mb} MB"] if most_mb else []
    network = ["network effects"] if op.network else []
    metadata = "owners", "extended attributes", "empty folders"
    return ("git-ignored files", *large, *metadata, *network, "anything outside the workspace")


def estimate_row(estimate: "WorkEstimate") -> Row:
    """Returns an estimate as JSON data; the cost is null where the price is unknown."""
    low, high = estimate.cost or (None, None)
    return {
        "steps": estimate.steps,
        "requests": {"low": estimate.requests[0], "high": estimate.requests[1]},
        "tokens": {"low": estimate.tokens[0], "high": estimate.tokens[1]},
        "cost": {"low": low, "high": high} if estimate.cost else None,
    }


# Rows and errors as JSON, as every face sends them.


MAX_ERROR_CHARS: Final = 4000  # of an error; it may contain what was typed, of any length


def encoded(content: object) -> bytes:
    """Returns an object as JSON, with escapes for what is not text in it.

    All hidden characters are written as `\\uXXXX`, so that they do nothing to a terminal or a
    reader, and a parser gets them unchanged.
    """
    try:
        found = msgspec.json.encode(content)
    except UnicodeEncodeError:
        found = msgspec.json.encode(_escaped(msgspec.to_builtins(content)))
    if found.isascii() and b"\x7f" not in found:
        return found
    text = found.decode()
    hiding = [char for char in set(text) if hidden_kind(char) not in (None, "space")]
    table = {ord(char): _json_escape(char) for char in hiding}
    return text.translate(table).encode() if table else found


def _json_escape(char: str) -> str:
    """Returns a character as JSON escapes; one beyond 16 bits is two."""
    units = char.encode("utf-16-be")
    return "".join([f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)])


def _escaped(value: Any) -> Any:
    match value:
        case str():
            return _valid(value)
        case dict():
            return {_valid(name): _escaped(each) for name, each in value.items()}
        case list() | tuple():
            return [_escaped(each) for each in value]
        case _:
            return value


def _valid(text: str) -> str:
    """Returns a text that can be encoded: half of a pair from a file name becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _short(text: str) -> str:
    more = len(text) - MAX_ERROR_CHARS
    return text if more <= 0 else f"{text[:MAX_ERROR_CHARS]}… ({more} more)"


def error_row(error: AssentError) -> Row:
    """Returns an error as JSON has it."""
    message, next = error_words(error)
    told = {"error": error.word, "message": message, "next": next}
    rows = {
        name: [{key: _valid(redact(text)) for key, text in row.items()} for row in rows]
        for name, rows in error.rows.items()
    }
    return {**{key: _valid(text) for key, text in told.items()}, **rows}


def error_words(error: AssentError) -> tuple[str, str]:
    """Returns what happened and what to do next, without secrets and not too long to read."""
    return _short(redact(error.message)), _short(redact(error.next))
