"""The sidebar widget: the plan as its file changes, its operations, the todos, context and cost.

    Sidebar()                                   one widget for the right side of the screen
    sidebar.refresh_data(engine, record, ...)   reads all of it in a thread and shows it
    sidebar.show(values)                        shows values of `data.read_sidebar_data`
    sidebar.recolor(theme)                      "dark", "light" or "plain"
    sidebar.turn("plan")                        shows a part: plan, operations, todos, context

Keys in it: 1 to 4 or Left and Right choose a part, Enter opens an operation's diff, Tab goes back
to the prompt, and closes the sidebar where it covers that. If there is enough height, all parts
are shown below each other. When the plan's file changes, the text follows within half a second,
with a mark before the lines that changed.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, get_args

import msgspec
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.message import Message
from textual.timer import Timer

from assent.core.errors import AssentError
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line
from assent.render.status import staged_lines
from assent.tui.line_view.view import LinePosition, LineView, Section
from assent.tui.sidebar.context import context_lines, token_count_text
from assent.tui.sidebar.data import (
    PlanFileText,
    SidebarData,
    UsageLimitsLookup,
    read_sidebar_data,
    unknown_limits,
)
from assent.tui.sidebar.plan_text import (
    NO_PLAN,
    PLAN_FILE_DELETED,
    changed_lines,
    plan_header_lines,
    text_lines,
)
from assent.tui.sidebar.plan_watcher import PlanFileWatcher
from assent.tui.sidebar.tabs import SidebarTabs
from assent.tui.sidebar.todos import todo_count, todo_lines
from assent.tui.workers.background import run_in_background

if TYPE_CHECKING:
    from assent.app.engine import Engine

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
    """Four parts, by tabs or all at once."""

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
        Binding("left", "step(-1)", "Part before", show=False),
        Binding("right", "step(1)", "Part after", show=False),
        Binding("enter", "open", "Open", show=False),
        Binding("tab", "leave", "Back to the prompt", show=False),
    ]

    class DataLoaded(Message):
        """Everything was read anew."""

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
        self._marked: Timer | None = None
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
        """Reads everything anew in a thread, and shows it; of a plan, the session's own or this."""
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
        """Shows a part, with the keys in it if the side area has them."""
        self.part = part
        self._arrange()
        if self.has_focus_within:
            self._papers[part].focus()

    def recolor(self, theme: str) -> None:
        for paper in self._papers.values():
            paper.recolor(theme)

    def focus_part(self) -> None:
        """Gives the keys to the part that is shown."""
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
        """Gives the keys to whatever comes after all parts: the prompt, which has to be seen."""
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
            from assent.tui.panels.operation import OperationPanel

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
        """Leaves a message from a thread, which waits for nobody."""
        with suppress(RuntimeError):  # the screen has just been closed
            self.post_message(message)

    def _arrange(self) -> None:
        """Shows one part or all of them, as the height allows."""
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
        self._put("todos", Section(LIST, tuple(todo_lines(values.todos))))
        took = context_lines(values.took, values.total, values.cost, values.allowance)
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
                return todo_count(values.todos)
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
        """Marks the lines that changed, for a moment; the first of them comes into sight."""
        if before.text is None or after.text is None or before.text == after.text:
            return
        spots = list(_spots(after.text, changed_lines(before.text, after.text)))
        paper = self._papers["plan"]
        paper.mark(dict.fromkeys(spots, CHANGED))
        if self._marked is not None:
            self._marked.stop()
        self._marked = self.set_timer(self.moment, lambda: paper.mark({}))
        if spots and not paper.has_focus:
            paper.bring(spots[0])


def _spots(text: bytes, changed: frozenset[int]) -> Iterator[LinePosition]:
    """Returns where changed lines of a text stand on its sheet: a very long one is several."""
    at = 0
    for number, pieces in enumerate(text_lines(text)):
        if number in changed:
            yield LinePosition(TEXT, at if pieces else at - 1)
        at += len(pieces)
