"""The steps of a plan: task items under headings, their order, their state, score and risk.

    ## Backend
    - [ ] 1.1 Add the table in `db/schema.sql`
    - [ ] 1.2 Read it (after 1.1) (op 3)

The heading is the group of its steps. Groups run in order; steps of a group may run in parallel
unless one names another after `after`. The text is never changed: what became of a step follows
from its operations and todos.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.paths import ancestors, display_path
from assent.core.plan.operation import Operation, RunCommand, command_line_text, footprint
from assent.core.plan.plan import HOW_TO_VERIFY
from assent.core.plan.structure import (
    NOT_STEPS,
    SectionLine,
    markdown_lines,
    named_words,
    section_lines,
)
from assent.core.run.journal import OperationResult, RunProgress
from assent.core.session.event import RiskLevel, Todo, TodoStatus

Complexity: TypeAlias = Literal["simple", "medium", "complex"]
StepState: TypeAlias = Literal["pending", "in_progress", "completed", "failed", "skipped"]
STEP_STATES: Final[tuple[StepState, ...]] = (
    "pending", "in_progress", "completed", "failed", "skipped",
)  # fmt: skip
OVER: Final[frozenset[StepState]] = frozenset({"completed", "skipped"})

_TASK: Final = re.compile(
    r"[ \t]*(?:[-*+]|(?P<marker>[0-9]{1,9})[.)])[ \t]+\[(?P<mark>[ xX]?)\][ \t]+"
    r"(?P<words>\S.*)"
)
_ITEM: Final = re.compile(
    r" {0,3}(?:[-*+]|(?P<marker>[0-9]{1,9})[.)])[ \t]+"
    r"(?P<words>(?!\[[ xX]?\][ \t]*$)\S.*)"  # an empty check box says nothing
)
# As texts: `re` compiles each with its first use and keeps it, and a plan without steps needs none.
_ID: Final = r"(?i)[*_]{0,3}(?:step[ \t]+)?([0-9]+(?:\.[0-9]+)*)[.):]?[*_]{0,3}[.):]?(?:[ \t]+|$)"
_AFTER: Final = r"(?i)\((?:after|depends on|needs)\b([^()]*)\)"
_OPERATIONS: Final = r"(?i)\((?:ops?|operations?)\b([^()]*)\)"
_LISTED: Final = r"[\s,;&]+"
_REFERENCE: Final = r"[0-9]+(?:\.[0-9]+)*|s[0-9]+"
_OPERATION: Final = r"#?([0-9]{1,6})(?:-([0-9]{1,6}))?|([0-9a-f]{7,64})"
_FILL_WORDS: Final = ("", "and", "step", "steps")
MAX_LINKS: Final = 100_000  # links of all steps together: many steps may name one folder


class PlanStep(msgspec.Struct, frozen=True):
    """A step as the text has it."""

    id: str
    title: str
    group: str  # the heading above it
    section: int  # counts headings: two with the same text are two groups
    line: int
    text: str  # the whole item, as a todo repeats it
    after: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()  # references as written: numbers, ranges, starts of ids
    marked: bool = False  # its box is checked
    below: str = ""  # indented lines that belong to it


class StepStatus(msgspec.Struct, frozen=True):
    """A step with what is known about it. Score and risk are None until rated."""

    step: PlanStep
    state: StepState
    operations: tuple[int, ...] = ()  # that it stands for, by index
    problems: tuple[str, ...] = ()
    score: int | None = None
    risk: RiskLevel | None = None


MAX_SCORE: Final = 100
SIMPLE_BELOW: Final = 34
COMPLEX_FROM: Final = 67


def complexity(score: int) -> Complexity:
    """Returns the score of a step as a word."""
    if score < SIMPLE_BELOW:
        return "simple"
    return "complex" if score >= COMPLEX_FROM else "medium"


def plan_steps(text: bytes) -> tuple[PlanStep, ...]:
    """Reads the steps of a plan's Markdown: its task items, else the items of its steps section.

    Items of sections about tests, risks, files and the like are no steps.
    """
    lines = [
        line
        for line in section_lines(list(markdown_lines(text)))
        if not line.kinds or line.kinds - NOT_STEPS
    ]
    found = _items(lines, _TASK)
    if not found:
        found = _items([line for line in lines if "steps" in line.kinds], _ITEM)
    return _named(found)


class _Item(msgspec.Struct):
    line: SectionLine
    words: str
    marker: str
    marked: bool
    indent: int
    below: list[str]


def _items(lines: Iterable[SectionLine], form: re.Pattern[str]) -> list[_Item]:
    found: list[_Item] = []
    current: _Item | None = None
    for line in lines:
        bare = line.text.lstrip(" \t")
        indent = len(line.text[: len(line.text) - len(bare)].expandtabs(4))
        if current is not None and line.heading != current.line.heading:
            current = None
        below = current is not None and indent > current.indent
        match = None if below and form is _ITEM else form.match(line.text)
        if match is not None:
            words = match["words"].rstrip()
            marked = (match.groupdict().get("mark") or " ") != " "
            current = _Item(line, words, match["marker"] or "", marked, indent, [])
            if words != HOW_TO_VERIFY:
                found.append(current)
        elif current is not None and bare and below:
            current.below.append(line.text)
        elif bare:
            current = None
    return found


def _named(items: Sequence[_Item]) -> tuple[PlanStep, ...]:
    """Gives every item its id: the one it begins with, else its number in a list, else `s3`."""
    own = [match[1] if (match := re.match(_ID, item.words)) else "" for item in items]
    numbers = [item.marker for item, name in zip(items, own, strict=True) if not name]
    keys = {*map(step_key, filter(None, numbers)), *map(step_key, own)}
    counted = all(numbers) and len(keys) == len(numbers) + len(set(map(step_key, own)))
    return tuple(
        _step(item, name or (item.marker if counted else f"s{at}"), explicit=bool(name))
        for at, (item, name) in enumerate(zip(items, own, strict=True), 1)
    )


def _step(item: _Item, name: str, *, explicit: bool) -> PlanStep:
    match = re.match(_ID, item.words) if explicit else None
    words = item.words[match.end() :] if match else item.words
    after: dict[str, None] = {}
    operations: dict[str, None] = {}

    def take(clause: re.Match[str], form: str, found: dict[str, None]) -> str:
        """Takes a clause out of the title, unless it is only a remark, as in `(after lunch)`."""
        parts = [part for part in re.split(_LISTED, clause[1].lower()) if part not in _FILL_WORDS]
        if not parts or not all(re.fullmatch(form, part) for part in parts):
            return clause[0]
        found.update(dict.fromkeys(parts))
        return " "

    words = re.sub(_AFTER, lambda clause: take(clause, _REFERENCE, after), words)
    words = re.sub(_OPERATIONS, lambda clause: take(clause, _OPERATION, operations), words)
    return PlanStep(
        name,
        " ".join(words.replace("**", "").split()),
        item.line.group,
        item.line.heading,
        item.line.number,
        item.words,
        tuple(after),
        tuple(operations),
        item.marked,
        "\n".join(item.below),
    )


# Links: which operations a step stands for.


class OperationIndex:
    """Finds operations by number, id, path, folder and command line."""

    def __init__(self, ids: Sequence[str], operations: Sequence[Operation]) -> None:
        self._count = len(ids)
        self._ids = sorted(zip(ids, range(len(ids)), strict=True))
        self._named: dict[str, list[int]] = {}
        for at, op in enumerate(operations):
            if isinstance(op, RunCommand):
                self._add(" ".join(command_line_text(op).split()), at)
            for path, _, _ in footprint(op):
                self._add(display_path(path), at)
                for folder in ancestors(path):
                    self._add(f"{display_path(folder)}/", at)

    def _add(self, name: str, at: int) -> None:
        places = self._named.setdefault(name, [])
        if places[-1:] != [at]:
            places.append(at)

    def find(self, reference: str) -> Sequence[int]:
        """Returns the operations that a reference such as `3`, `3-5` or `a0ff714` means."""
        match = re.fullmatch(_OPERATION, reference)
        if match is None:
            return ()
        if match[3]:
            first = bisect_left(self._ids, (match[3], 0))
            same = [at for name, at in self._ids[first : first + 2] if name.startswith(match[3])]
            return same if len(same) == 1 else ()
        first, last = int(match[1]), int(match[2] or match[1])
        return range(first - 1, last) if first >= 1 and last <= self._count else ()

    def mentioned(self, text: str) -> Iterator[int]:
        """Yields the operations whose path, folder or command a text names."""
        words = (" ".join(word.removeprefix("./").split()) for word in named_words(text))
        for name in dict.fromkeys(words):
            yield from self._named.get(name, ())


def step_operations(
    steps: Sequence[PlanStep], index: OperationIndex
) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Returns the operations of each step, and its references that mean none.

    What a step says in `(op 3)` counts alone; else it is what it names.
    """
    found: list[tuple[tuple[int, ...], tuple[str, ...]]] = []
    remaining = MAX_LINKS
    for step in steps:
        places: dict[int, None] = {}
        lost: list[str] = []
        for reference in step.operations:
            meant = index.find(reference)
            if not meant:
                lost.append(reference)
            places.update(dict.fromkeys(meant[:remaining]))
        if not step.operations:
            for at in index.mentioned(f"{step.text}\n{step.below}"):
                if len(places) >= remaining:
                    break
                places[at] = None
        remaining -= len(places)
        found.append((tuple(sorted(places)), tuple(lost)))
    return found


# Order: what is wrong with it, and which steps may start now.


def step_key(name: str) -> str:
    """Returns what makes an id the same as another: `01.2` is `1.2`, as people read it."""
    letter = name[:1] if name[:1] == "s" else ""
    parts = name.removeprefix(letter).split(".")
    return letter + ".".join(part.lstrip("0") or part[-1:] for part in parts)


def step_problems(steps: Sequence[PlanStep], over: Collection[int] = ()) -> list[tuple[str, ...]]:
    """Says of each step what is wrong with its id and its order; usually nothing.

    `over` are the steps that wait for nothing any more, by index: they are done, or skipped.
    """
    first: dict[str, int] = {}
    for at, step in enumerate(steps):
        first.setdefault(step_key(step.id), at)
    stuck = _stuck(steps, first, over)
    found: list[tuple[str, ...]] = []
    for at, step in enumerate(steps):
        same = first[step_key(step.id)]
        as_other = f", also as {steps[same].id}" if steps[same].id != step.id else ""
        told = [f"id {step.id} is used twice{as_other}"] if same != at else []
        for name in step.after:
            before = first.get(step_key(name))
            if before is None:
                told.append(f"after {name}: unknown step")
            elif steps[before].section > step.section:
                told.append(f"after {name}: a step of a later group")
        if at in stuck:
            told.append("can never start: the steps it waits for wait for each other")
        found.append(tuple(told))
    return found


def _stuck(steps: Sequence[PlanStep], first: Mapping[str, int], over: Collection[int]) -> set[int]:
    """Returns the steps that wait for a cycle, by taking away all that can start."""
    waits: list[int] = []
    then: dict[int, list[int]] = {}
    for at, step in enumerate(steps):
        names = () if at in over else map(step_key, step.after)
        before = {first[name] for name in names if name in first}
        waits.append(len(before))
        for one in before:
            then.setdefault(one, []).append(at)
    ready = [at for at, count in enumerate(waits) if not count]
    left = set(range(len(steps)))
    while ready:
        at = ready.pop()
        left.discard(at)
        for one in then.get(at, ()):
            waits[one] -= 1
            if not waits[one]:
                ready.append(one)
    return left


def next_steps(steps: Sequence[StepStatus]) -> tuple[str, ...]:
    """Returns the steps that may start now, in parallel: those of the first open group."""
    over: dict[str, bool] = {}
    for one in steps:
        key = step_key(one.step.id)
        over[key] = over.get(key, True) and one.state in OVER
    section = next((one.step.section for one in steps if one.state not in OVER), None)
    found: dict[str, str] = {}  # an id that is used twice is named once
    for one in steps:
        waits = not all(over.get(step_key(name), False) for name in one.step.after)
        if one.step.section == section and one.state == "pending" and not waits:
            found.setdefault(step_key(one.step.id), one.step.id)
    return tuple(found.values())


def step_counts(steps: Iterable[StepStatus]) -> dict[StepState, int]:
    """Counts steps by state."""
    counts = Counter(one.state for one in steps)
    return {state: counts[state] for state in STEP_STATES}


# State: what became of the operations and todos of a step.


_RESULTS: Final[dict[OperationResult, StepState]] = {
    "done": "completed",
    "undone": "pending",
    "not_started": "pending",
    "failed": "failed",
    "unknown": "failed",
    "conflict": "failed",
    "denied": "failed",
}
_TODOS: Final[dict[TodoStatus, StepState]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "skipped",
}


def operations_state(results: Sequence[OperationResult], run: RunProgress) -> StepState:
    """Returns the state of a step from the results of its operations in the last run."""
    states = {_RESULTS[result] for result in results}
    begun = "completed" in states
    if run == "running" and states >= {"failed"} and {"failed", "conflict"}.isdisjoint(results):
        return "in_progress"  # a command that has begun has no known result yet
    if "failed" in states:
        return "failed"
    if states == {"completed"}:
        return "completed"
    if run in ("running", "halted"):
        return "in_progress" if begun else "pending"
    if run == "rolled_back" or "undone" in results:
        return "pending"
    return "failed" if begun else "skipped"


class TodoIndex:
    """Finds the todo of a step: the same words, else the same title, else the same id."""

    def __init__(self, todos: Iterable[Todo]) -> None:
        self._named: dict[str, Todo] = {}
        for todo in todos:
            self._named.setdefault(" ".join(todo.content.split()), todo)
            if match := re.match(_ID, todo.content):
                self._named.setdefault(f"{step_key(match[1])} ", todo)  # no words end like that

    def todo(self, step: PlanStep) -> Todo | None:
        """Returns the todo of a step; None if it has none."""
        names = (" ".join(step.text.split()), step.title, f"{step_key(step.id)} ")
        return next((self._named[name] for name in names if name in self._named), None)

    def state(self, step: PlanStep) -> StepState | None:
        """Returns the state of a step by its todo; None if it has none."""
        todo = self.todo(step)
        return _TODOS[todo.status] if todo else None


def other_todos(todos: Sequence[Todo], steps: Iterable[StepStatus]) -> list[Todo]:
    """Returns the todos that are no steps of the plan."""
    index = TodoIndex(todos)
    own = {id(todo) for one in steps if (todo := index.todo(one.step))}
    return [todo for todo in todos if id(todo) not in own]
