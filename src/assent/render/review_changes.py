"""Review changes: how a plan differs from the one last reviewed, as values, lines and JSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from assent.core.plan.operation import FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.diff import LIMIT, NOT_SHOWN, diff_lines, text_diff, unified_diff
from assent.render.lines import BLANK, Line, Style, table_lines, wrapped_lines
from assent.render.rows import (
    Row,
    command_settings,
    operation_row,
    operation_subject,
    operation_verb,
)

SHORT: Final = 12
FIRST_REVIEW: Final = "First review"
NOTHING: Final[Mapping[str, Row]] = {}
OTHER_CONTENT: Final = "Based on different file content than before."

NamedOperation: TypeAlias = tuple[str, Operation]
ReadBlob: TypeAlias = Callable[[str], bytes]  # the content of a digest
DiffShown: TypeAlias = Callable[[str], Iterable[Line]]


class ChangedOperation(msgspec.Struct, frozen=True):
    """An operation that replaces an earlier one on the same path; `diff` compares their results.

    Or a command with the same line as an earlier one; `less` and `more` say how its settings
    differ.
    """

    was: NamedOperation
    now: NamedOperation
    diff: str | None
    less: tuple[tuple[str, str], ...] = ()
    more: tuple[tuple[str, str], ...] = ()


class ReviewChanges(msgspec.Struct, frozen=True):
    """The differences from the plan with that digest, which the user reviewed."""

    digest: str
    text_diff: str | None = ""
    added: tuple[NamedOperation, ...] = ()
    removed: tuple[NamedOperation, ...] = ()
    changed: tuple[ChangedOperation, ...] = ()
    same: tuple[str, ...] = ()
    moved: bool = False  # the same operations, in another order
    declared: tuple[str, ...] = ()  # how scope and relied-on files differ, in words

    @property
    def nothing(self) -> bool:
        """Whether it is exactly the plan that was reviewed."""
        differs = self.text_diff != "" or self.added or self.removed or self.changed
        return not (differs or self.moved or self.declared)


def review_changes(was: Plan, now: Plan, read: ReadBlob) -> ReviewChanges:
    """Compares a plan with the one that the user reviewed last."""
    old, new = dict(_named_of(was)), dict(_named_of(now))
    same = tuple(name for name in new if name in old)
    joined = [pair for pair in new.items() if pair[0] not in old]
    left = [pair for pair in old.items() if pair[0] not in new]
    pairs = _pairs(left, joined)
    paired = {name for one, other in pairs for name in (one[0], other[0])}
    return ReviewChanges(
        was.digest,
        text_diff(was.text, now.text, "last review", "now"),
        tuple(pair for pair in joined if pair[0] not in paired),
        tuple(pair for pair in left if pair[0] not in paired),
        tuple(_changed(one, other, read) for one, other in pairs),
        same,
        same != tuple(name for name in old if name in new),
        tuple(_declared(was, now)),
    )


def since_text(digest: str) -> str:
    """Returns the heading of what changed since a digest was reviewed."""
    return f"Since your last review (digest {digest[:SHORT]}…)"


def changes_text(found: ReviewChanges) -> str:
    """Returns what changed in a few words; nothing if nothing did."""
    counts = [
        (len(found.added), "added"),
        (len(found.removed), "removed"),
        (len(found.changed), "changed"),
    ]
    parts = [f"{count} {word}" for count, word in counts if count]
    parts += ["text edited"] if found.text_diff != "" else []
    parts += ["reordered"] if found.moved else []
    parts += ["scope edited"] if found.declared else []
    return ", ".join(parts)


def review_changes_lines(
    found: ReviewChanges, diff_shown: DiffShown = diff_lines
) -> Iterator[Line]:
    """Renders the differences, to be shown first; `diff_shown` renders a patch."""
    yield Line("heading", since_text(found.digest))
    if found.nothing:
        yield Line("plain", "Nothing changed.")
        yield BLANK
        return
    yield from _named("removed", "removed", found.removed)
    yield from _named("added", "added", found.added)
    for one in found.changed:
        yield from wrapped_lines("hunk", f"changed  {_titled(one.was[1], one.now[1])}")
        yield from _difference(one.diff, diff_shown)
        yield from table_lines("removed", [(f"- {name}", value) for name, value in one.less])
        yield from table_lines("added", [(f"+ {name}", value) for name, value in one.more])
        if _made_on(one.was[1]) != _made_on(one.now[1]):
            yield Line("plain", OTHER_CONTENT)
    if found.moved:
        yield Line("plain", "Operations reordered.")
    for words in found.declared:
        yield from wrapped_lines("plain", words)
    if found.text_diff != "":
        yield Line("plain", "Text edited:")
        yield from _difference(found.text_diff, diff_shown)
    if found.same:
        count = len(found.same)
        noun = "operation is" if count == 1 else "operations are"
        yield Line("plain", f"{count} {noun} unchanged.")
    yield BLANK


def review_changes_row(
    found: ReviewChanges | None, full: Mapping[str, Row] = NOTHING
) -> Row | None:
    """Returns the differences as the object that `--json` has under `since`.

    `full` are the complete rows of operations that the user has not reviewed, by id.
    """
    if found is None:
        return None
    return {
        "digest": found.digest,
        "text_diff": found.text_diff,
        "declared": list(found.declared),
        "operations": {
            "added": [_row(pair, full) for pair in found.added],
            "removed": [operation_row(*pair) for pair in found.removed],
            "changed": [
                {
                    "was": operation_row(*one.was),
                    "now": _row(one.now, full),
                    "diff": one.diff,
                    **({"less": one.less, "more": one.more} if one.less or one.more else {}),
                }
                for one in found.changed
            ],
            "same": list(found.same),
            "moved": found.moved,
        },
    }


def _named_of(plan: Plan) -> Iterator[NamedOperation]:
    return zip(plan.ids, plan.operations, strict=True)


def _row(pair: NamedOperation, full: Mapping[str, Row]) -> Row:
    return full.get(pair[0]) or operation_row(*pair)


def _pairs(
    left: Sequence[NamedOperation], joined: Sequence[NamedOperation]
) -> list[tuple[NamedOperation, NamedOperation]]:
    """Pairs removed and added operations for the same path, or with the same line, in order."""
    known: dict[object, list[NamedOperation]] = {}
    for pair in left:
        known.setdefault(_about(pair[1]), []).append(pair)
    found = []
    for pair in joined:
        if others := known.get(_about(pair[1])):
            found.append((others.pop(0), pair))
    return found


def _about(op: Operation) -> object:
    return (op.argv, op.script) if isinstance(op, RunCommand) else op.path


def _changed(was: NamedOperation, now: NamedOperation, read: ReadBlob) -> ChangedOperation:
    if not isinstance(was[1], RunCommand) or not isinstance(now[1], RunCommand):
        return ChangedOperation(was, now, _diff(was[1], now[1], read))
    old, new = _manner(was[1]), _manner(now[1])
    less = tuple(row for row in old if row not in new)
    return ChangedOperation(was, now, "", less, tuple(row for row in new if row not in old))


def _manner(op: RunCommand) -> list[tuple[str, str]]:
    return [*command_settings(op), ("sandbox", op.profile)]


def _diff(was: Operation, now: Operation, read: ReadBlob) -> str | None:
    """Compares the results of two operations on their path; empty if they are the same."""
    (path, _, one), (_, _, other) = footprint(was)[0], footprint(now)[0]
    if any(state is not None and state.size > LIMIT for state in (one, other)):
        return None
    contents = [None if state is None else read(state.digest) for state in (one, other)]
    diff = unified_diff(contents[0], contents[1], path, path)
    modes = _mode(one), _mode(other)
    if diff is None or modes[0] == modes[1] or None in modes:
        return diff
    return f"old mode {modes[0]}\nnew mode {modes[1]}\n{diff}"


def _mode(state: FileState | None) -> str | None:
    return None if state is None else f"{state.mode:o}"


def _declared(was: Plan, now: Plan) -> Iterator[str]:
    yield from _set("may touch", map(visible_line, was.scope.files), now.scope.files)
    yield from _set("may run", map(visible_line, was.scope.commands), now.scope.commands)
    old = {file.path: file.digest for file in was.relied_on}
    new = {file.path: file.digest for file in now.relied_on}
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            before, after = (found.get(path, "nothing")[:SHORT] for found in (old, new))
            yield f"relies on  {visible_path(path)}  {before} → {after}"


def _set(what: str, was: Iterable[str], now: Iterable[str]) -> Iterator[str]:
    old, new = tuple(was), tuple(map(visible_line, now))
    yield from [f"no longer {what}  {glob}" for glob in old if glob not in new]
    yield from [f"now {what}  {glob}" for glob in new if glob not in old]
    if old != new and set(old) == set(new):
        yield f"{what}: same entries, reordered"


def _named(word: str, style: Style, operations: Sequence[NamedOperation]) -> Iterator[Line]:
    for _, op in operations:
        yield from wrapped_lines(style, f"{word:<7}  {operation_verb(op)} {operation_subject(op)}")


def _made_on(op: Operation) -> FileState | None:
    return None if isinstance(op, RunCommand) else op.before


def _titled(was: Operation, now: Operation) -> str:
    if (operation_verb(was), operation_subject(was)) == (
        operation_verb(now),
        operation_subject(now),
    ):
        return f"{operation_verb(now)} {operation_subject(now)}"
    return (
        f"{operation_verb(was)} {operation_subject(was)} became "
        f"{operation_verb(now)} {operation_subject(now)}"
    )


def _difference(diff: str | None, diff_shown: DiffShown) -> Iterator[Line]:
    if diff is None:
        yield Line("plain", NOT_SHOWN)
    else:
        yield from diff_shown(diff)
