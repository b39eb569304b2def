"""The sidebar widget: plan, operations, todos, context and cost, in tabs.

Keys in it: 1 to 4 or Left and Right choose a part, Enter opens an operation's diff, Tab returns to
the prompt, and closes the sidebar if it covers the prompt. If there is enough height, all parts are
shown below each other. When the plan's file changes, the text follows within half a second, with a
mark before the lines that changed.
"""

from asyncio import TimerHandle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, get_args

import msgspec
from rich.text import Text
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click, Resize
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from assent.core.digest import sha256
from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.record import PlanRecord
from assent.core.plan.steps import OVER, StepState, StepStatus, other_todos
from assent.core.session.event import Todo, TodoStatus
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import (
    fold_long,
    source_line_count,
    visible,
    visible_line,
    visible_path,
)
from assent.core.text.line_diff import line_changes
from assent.core.text.secrets import redact
from assent.render.estimate import token_count_text
from assent.render.lines import BLANK, GUTTER, Line, Style, counted
from assent.render.review import (
    OperationReview,
    operation_detail_lines,
    operation_title,
    staged_lines,
)
from assent.render.status import state_text
from assent.tui.context import AppContext
from assent.tui.line_view import LinePosition, LineView, Section
from assent.tui.panels.panel import Panel
from assent.tui.sidebar.context import context_lines
from assent.tui.sidebar.data import (
    PlanFileText,
    PlanFileWatcher,
    SidebarData,
    UsageLimitsLookup,
    read_sidebar_data,
    unknown_limits,
    usage_limits,
)
from assent.tui.timers import call_after
from assent.tui.workers import run_in_background

if TYPE_CHECKING:
    from assent.app.engine import Engine

# Renders a plan for the sidebar: title, state, digest, and the text of its file.


DIGEST_CHARS: Final = 12
NO_PLAN: Final = "No plan yet. Describe a task."
PLAN_FILE_DELETED: Final = "The plan's file was deleted."
DIFFERS: Final = "The text changed since it was proposed; propose it again to approve."
UNDONE: Final = {"": "", "some": ", partly undone", "all": ", undone"}
_FENCES: Final = ("```", "~~~")


def plan_header_lines(
    plan: PlanRecord, text: bytes | None, *, approved: bool, undone: str = ""
) -> Iterator[Line]:
    """Renders a plan's title, state, how much was undone, digest and file."""
    yield Line("heading", plan_title(plan, text))
    digest = plan.digest[:DIGEST_CHARS]
    state = f"{state_text(plan.state, approved=approved)}{UNDONE[undone]}"
    yield Line("digest" if digest else "plain", state)
    if digest:
        yield Line("digest", f"digest {digest}")
    if plan.path:
        yield Line("dim", visible_path(plan.path))
    if plan.frozen and text is not None and sha256(text) != plan.content_hash:
        yield Line("risk", DIFFERS)


def plan_title(plan: PlanRecord, text: bytes | None) -> str:
    """Returns the first heading of a plan's text, else its name."""
    for line in display_path(text or b"").split("\n"):
        if line.startswith("# ") and line[2:].strip():
            return visible_line(redact(line[2:].strip()))
    return visible_line(plan.name)


def text_lines(text: bytes) -> list[list[Line]]:
    """Renders the lines of a Markdown text with a gutter; a very long line becomes several.

    A row that counts several empty lines is followed by an empty list for each of the others.
    """
    fenced, found = False, []
    for line in visible(redact(display_path(text))).removesuffix("\n").split("\n"):
        fence = line.lstrip().startswith(_FENCES)
        style = _style(line, fenced=fenced or fence)
        fenced ^= fence
        found.append([Line(style, GUTTER + piece) for piece in fold_long(line)])
        found += [[]] * (source_line_count(line) - 1)
    return found


def changed_lines(old: bytes, new: bytes) -> frozenset[int]:
    """Returns the lines that are new or follow removed lines, counted from 0."""
    before, after = _split(old), _split(new)
    last = len(after) - 1
    found: set[int] = set()
    for _, _, start, end in line_changes(before, after):
        found |= set(range(start, end)) if end > start else {min(start, last)}
    return frozenset(found)


def _split(text: bytes) -> list[bytes]:
    return text.removesuffix(b"\n").split(b"\n")


def _style(line: str, *, fenced: bool) -> Style:
    if fenced:
        return "code"
    return "heading" if line.startswith("#") else "plain"


# The tabs of the sidebar: one part is shown; a click chooses another.


SHORT_NAME_CHARS: Final = 4  # letters of a name, where there is room for no more
TAB_PADDING: Final = 4  # columns around a name: its key, blanks and brackets


class SidebarTabs(Static):
    """A row such as ` 1 Plan [2 Operations (3)] 3 Todos`, with the shown part in brackets."""

    DEFAULT_CSS = """
    SidebarTabs { height: 1; width: 1fr; }
    """

    class Selected(Message):
        """A name was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._ends: list[int] = []

    def show(self, names: Sequence[tuple[str, str]], chosen: int) -> None:
        """Shows names with counts, each with its key; shortened if it is narrow."""
        room = self.size.width
        forms = (
            [f"{name} ({told})" if told else name for name, told in names],
            [name for name, _ in names],
            [name[:SHORT_NAME_CHARS] for name, _ in names],
        )
        fitting = [form for form in forms if sum(map(len, form)) + TAB_PADDING * len(form) <= room]
        self._draw(fitting[0] if fitting else forms[-1], chosen)

    def _draw(self, names: Sequence[str], chosen: int) -> None:
        drawn = Text(no_wrap=True, overflow="ellipsis")
        self._ends = []
        for at, name in enumerate(names):
            left, right = "[]" if at == chosen else "  "
            drawn.append(f"{left}{at + 1} {name}{right}", "bold" if at == chosen else "")
            self._ends.append(drawn.cell_len)
        self.update(drawn)

    def on_click(self, event: Click) -> None:
        at = next((at for at, end in enumerate(self._ends) if event.x < end), None)
        if at is not None:
            self.post_message(self.Selected(at))


# Renders todos and steps as lines: a sign and a word say the state of each (F127, F25).


_STATES: Final[dict[TodoStatus, tuple[str, str, Style]]] = {
    "pending": ("○", "", "plain"),
    "in_progress": ("▶", "now: ", "heading"),
    "completed": ("✓", "done: ", "dim"),
    "cancelled": ("✗", "dropped: ", "dim"),
}
_STEP_STATES: Final[dict[StepState, tuple[str, str, Style]]] = {
    "pending": _STATES["pending"],
    "in_progress": _STATES["in_progress"],
    "completed": _STATES["completed"],
    "failed": ("!", "failed: ", "risk"),
    "skipped": ("✗", "skipped: ", "dim"),
}
MAX_STEPS: Final = 500  # that are listed; a text can have very many
NONE: Final = "No todos."
_OVER: Final = ("completed", "cancelled")


def todo_lines(todos: Sequence[Todo], steps: Sequence[StepStatus] = ()) -> Iterator[Line]:
    """Renders the steps of the plan under their groups, then the session's other todos."""
    if not todos and not steps:
        yield Line("dim", NONE)
    section = -1
    for one in steps[:MAX_STEPS]:
        if one.step.section != section and one.step.group:
            yield Line("dim", visible_line(redact(one.step.group)))
        section = one.step.section
        sign, word, style = _STEP_STATES[one.state]
        words = f"{one.step.id} {one.step.title}"
        yield Line(style, f"{sign} {word}{visible_line(redact(words))}")
    if len(steps) > MAX_STEPS:
        yield Line("dim", f"and {counted(len(steps) - MAX_STEPS, 'more step')}")
    for todo in other_todos(todos, steps):
        sign, word, style = _STATES[todo.status]
        yield Line(style, f"{sign} {word}{visible_line(redact(todo.content))}")


def todo_count(todos: Sequence[Todo], steps: Sequence[StepStatus] = ()) -> str:
    """Returns how many steps and other todos are done, of how many; empty if there are none."""
    others = other_todos(todos, steps)
    over = sum(todo.status in _OVER for todo in others) + sum(one.state in OVER for one in steps)
    count = len(others) + len(steps)
    return f"{over}/{count}" if count else ""


Part: TypeAlias = Literal["plan", "operations", "todos", "context"]

PARTS: Final[tuple[Part, ...]] = get_args(Part)
ALL_ROWS: Final = 40  # from this height on all parts are shown at once
HIGHLIGHT_S: Final = 4.0  # for which changed lines are marked
CHANGED: Final = "*"
TITLE, ABOUT, TEXT, LIST = "title", "about", "text", "list"  # keys of sheets
TITLES: Final[dict[Part, str]] = {
    "plan": "Plan",
    "operations": "Operations",
    "todos": "Todos",
    "context": "Context",
}


class Sidebar(Vertical):
    """Shows four parts, as tabs or all at once."""

    DEFAULT_CSS = """
    Sidebar { width: 1fr; height: 1fr; padding: 0 0 0 1; border-left: solid $panel; }
    Sidebar > LineView { height: 1fr; display: none; }
    Sidebar > LineView.shown { display: block; }
    Sidebar.all > #side-plan { min-height: 8; }
    Sidebar.all > #side-operations, Sidebar.all > #side-todos {
        height: auto; max-height: 20%; margin-top: 1;
    }
    Sidebar.all > #side-context { height: auto; max-height: 15; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *[
            Binding(str(at), f"turn('{part}')", part, show=False)
            for at, part in enumerate(PARTS, 1)
        ],
        Binding("left", "step(-1)", "Previous tab", show=False),
        Binding("right", "step(1)", "Next tab", show=False),
        Binding("enter", "open", "Open", show=False),
        Binding("tab", "leave", "Back to the prompt", show=False),
    ]

    class DataLoaded(Message):
        """All data was read again."""

        def __init__(self, values: SidebarData, look: int) -> None:
            super().__init__()
            self.values = values
            self.look = look

    class TextChanged(Message):
        """The file of a plan changed on disk."""

        def __init__(self, plan_id: str, live: PlanFileText) -> None:
            super().__init__()
            self.plan_id = plan_id
            self.live = live

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.values = SidebarData()
        self.part: Part = "plan"
        self.moment = HIGHLIGHT_S
        self._papers = {
            part: LineView(pointing=part == "operations", gutter=True, id=f"side-{part}")
            for part in PARTS
        }
        self._papers["operations"].calm = True
        self._following = PlanFileWatcher(self._heard)
        self._engine: Engine | None = None
        self._marked: TimerHandle | None = None
        self._looks = 0  # how often it was looked, and
        self._shown = 0  # what of that is shown: threads may end in another order

    def compose(self) -> ComposeResult:
        yield SidebarTabs(id="side-tabs")
        yield from self._papers.values()

    def on_mount(self) -> None:
        self._arrange()
        self._draw()

    def on_unmount(self) -> None:
        self._following.stop()

    def refresh_data(
        self,
        engine: "Engine",
        record: SessionRecord | None,
        allowance: UsageLimitsLookup = unknown_limits,
        plan_id: str = "",
    ) -> None:
        """Reads all data again in a thread, and shows it; the plan is the session's or this one."""
        self._engine = engine
        self._looks += 1
        read = partial(read_sidebar_data, engine, record, allowance, plan_id=plan_id)
        run_in_background(partial(self._read, self._looks, read))

    def show(self, values: SidebarData) -> None:
        """Shows values; lines of the same plan that changed are marked for a moment."""
        before, self.values = self.values, values
        self._draw()
        if before.plan and values.plan and before.plan.plan_id == values.plan.plan_id:
            self._mark(before.live, values.live)
        if self._engine is not None:
            self._following.follow(self._engine, values.plan, values.live)

    def turn(self, part: Part) -> None:
        """Shows a part, and focuses it if the sidebar has the focus."""
        self.part = part
        self._arrange()
        if self.has_focus_within:
            self._papers[part].focus()

    def recolor(self, theme: str) -> None:
        for paper in self._papers.values():
            paper.recolor(theme)

    def focus_part(self) -> None:
        """Focuses the part that is shown."""
        self._papers[self.part].focus()

    def on_resize(self, event: Resize) -> None:
        self._arrange()

    def on_sidebar_tabs_selected(self, event: SidebarTabs.Selected) -> None:
        event.stop()
        self.turn(PARTS[event.at])

    def on_sidebar_data_loaded(self, event: DataLoaded) -> None:
        event.stop()
        if event.look > self._shown:
            self._shown = event.look
            self.show(event.values)

    def on_sidebar_text_changed(self, event: TextChanged) -> None:
        event.stop()
        plan, before = self.values.plan, self.values.live
        if plan is None or plan.plan_id != event.plan_id:
            return
        self.values = msgspec.structs.replace(self.values, live=event.live)
        self._draw_plan()
        self._mark(before, event.live)

    def action_turn(self, part: Part) -> None:
        self.turn(part)

    def action_step(self, by: int) -> None:
        self.turn(PARTS[(PARTS.index(self.part) + by) % len(PARTS)])

    async def action_leave(self) -> None:
        """Focuses the prompt, which must be visible."""
        if self.screen.has_class("narrow"):
            await self.run_action("app.toggle_side")
            return
        for _ in self._papers:
            if self.has_focus_within:
                self.screen.focus_next()

    def action_open(self) -> None:
        """Opens the operation that the cursor is on."""
        paper = self._papers["operations"]
        spot = paper.position
        if not paper.has_focus or spot is None or spot.key != LIST:
            raise SkipAction
        if spot.line < len(self.values.operations):
            operation = self.values.operations[spot.line]

            self.app.push_screen(OperationPanel(spot.line + 1, operation, paper.theme_name))

    def _read(self, look: int, read: Callable[[SidebarData], SidebarData]) -> None:
        try:
            values = read(self.values)
        except AssentError as error:
            values = msgspec.structs.replace(self.values, trouble=error.message)
        self._post(self.DataLoaded(values, look))

    def _heard(self, plan_id: str, live: PlanFileText) -> None:
        self._post(self.TextChanged(plan_id, live))

    def _post(self, message: Message) -> None:
        """Posts a message from a thread, without waiting."""
        with suppress(RuntimeError):  # the screen has just been closed
            self.post_message(message)

    def _arrange(self) -> None:
        """Shows one part or all of them, depending on the height."""
        whole = self.size.height >= ALL_ROWS
        turned = whole != self.has_class("all")
        self.set_class(whole, "all")
        self.query_one(SidebarTabs).display = not whole
        for part, paper in self._papers.items():
            paper.set_class(whole or part == self.part, "shown")
        if turned:
            self._draw()
        else:
            self._draw_tabs()

    def _draw(self) -> None:
        self._draw_tabs()
        self._draw_plan()
        values = self.values
        trouble = [Section(ABOUT, (Line("risk", visible_line(values.trouble)),))]
        staged = Section(LIST, tuple(staged_lines(values.operations)))
        self._put("operations", *(trouble if values.trouble else ()), staged)
        self._put("todos", Section(LIST, tuple(todo_lines(values.todos, values.steps))))
        took = context_lines(
            values.took, values.total, values.cost, values.allowance, values.estimate
        )
        self._put("context", Section(LIST, tuple(took)))

    def _draw_tabs(self) -> None:
        names = [(TITLES[part], self._told(part)) for part in PARTS]
        self.query_one(SidebarTabs).show(names, PARTS.index(self.part))

    def _told(self, part: Part) -> str:
        values = self.values
        match part:
            case "operations":
                return str(len(values.operations) or "")
            case "todos":
                return todo_count(values.todos, values.steps)
            case "context":
                return token_count_text(values.took.used) if values.took.used else ""
            case "plan":
                return ""

    def _draw_plan(self) -> None:
        plan, live = self.values.plan, self.values.live
        if plan is None:
            self._put("plan", Section(ABOUT, (Line("dim", NO_PLAN),)))
            return
        about = tuple(
            plan_header_lines(
                plan, live.text, approved=self.values.approved, undone=self.values.undone
            )
        )
        text = (
            text_lines(live.text) if live.text is not None else [[Line("risk", PLAN_FILE_DELETED)]]
        )
        lines = tuple(piece for pieces in text for piece in pieces)
        self._put("plan", Section(ABOUT, (*about, BLANK)), Section(TEXT, lines))

    def _put(self, part: Part, *sheets: Section) -> None:
        told = self._told(part)
        named = f"{TITLES[part]} ({told})" if told else TITLES[part]
        title = [Section(TITLE, (Line("heading", named),))] if self.has_class("all") else []
        paper = self._papers[part]
        paper.renew([*title, *sheets])
        if paper.position is not None and paper.position.key == TITLE:
            paper.cursor += 1  # nothing can be done with a title

    def _mark(self, before: PlanFileText, after: PlanFileText) -> None:
        """Marks the changed lines for a moment, and scrolls to the first of them."""
        if before.text is None or after.text is None or before.text == after.text:
            return
        spots = list(_spots(after.text, changed_lines(before.text, after.text)))
        paper = self._papers["plan"]
        paper.mark(dict.fromkeys(spots, CHANGED))
        if self._marked is not None:
            self._marked.cancel()
        self._marked = call_after(self, self.moment, lambda: paper.mark({}))
        if spots and not paper.has_focus:
            paper.bring(spots[0])


def _spots(text: bytes, changed: frozenset[int]) -> Iterator[LinePosition]:
    """Yields the positions of changed lines in their section: a very long line is several."""
    at = 0
    for number, pieces in enumerate(text_lines(text)):
        if number in changed:
            yield LinePosition(TEXT, at if pieces else at - 1)
        at += len(pieces)


# The operation panel: one operation of a plan in full, read-only.


class OperationPanel(Panel[None]):
    """Shows the diff of an operation, or its command."""

    keys = "↑ ↓ PgUp PgDn scroll   / search   Esc close"

    def __init__(self, number: int, operation: OperationReview, theme: str) -> None:
        super().__init__()
        self.heading = operation_title(number, operation)
        self._paper = LineView(id="operation-paper")
        self._paper.theme_name = theme
        self._operation = operation

    def body(self) -> list[Widget]:
        return [self._paper]

    def on_mount(self) -> None:
        self._paper.show([Section("operation", tuple(operation_detail_lines(self._operation)))])
        self._paper.focus()


# The sidebar in its place next to the conversation.


def draw_sidebar(app: AppContext) -> None:
    """Has the side area show the session as it is; it is mounted when it is first in sight."""
    place = app.screen_stack[0].query_one("#side")
    found = place.query(Sidebar)
    standing = app.status_snapshot
    plan_id = standing.plan.plan_id if standing.plan else ""
    look = (
        app.engine,
        standing.record,
        partial(usage_limits, app.session_controller.work),
        plan_id,
    )
    if found:
        found.first().refresh_data(*look)
        return
    area = Sidebar()
    place.mount(area)
    app.call_after_refresh(area.refresh_data, *look)


def focus_sidebar(app: AppContext) -> None:
    """Gives the keys to the side area."""
    for area in app.screen_stack[0].query(Sidebar):
        area.focus_part()
