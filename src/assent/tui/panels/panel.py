"""The base of every panel: a title, a body and a line with its keys."""

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from assent.tui.key_timing import KeyDebounce
from assent.tui.line_view.view import LineView
from assent.tui.min_size import TooSmallOverlay
from assent.tui.status.line import StatusLine

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

R = TypeVar("R")


class Panel(ModalScreen[R], Generic[R]):
    """Fills the screen, or most of a wide one. Esc closes it and decides nothing.

    Keys that were typed before it opened never reach it: see `TerminalApp.open_panel`.
    """

    DEFAULT_CSS = """
    Panel { align: center middle; }
    Panel > #frame {
        width: 100%; max-width: 160; height: 1fr; border: round $primary; padding: 0 1;
    }
    Panel #panel-title { height: auto; text-style: bold; }
    Panel #panel-keys { height: auto; dock: bottom; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close")]

    heading = ""
    keys = "Esc close"
    ready_at = 0.0  # what was typed before is dropped
    _ending: tuple[R | None] | None = None  # with what it ends, once nothing lies over it
    decides = False  # keys count only after a silence, and not at the prompt when it closed
    left = False  # the person closed it themselves

    def __init__(self) -> None:
        super().__init__()
        self.silence = KeyDebounce()

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield Static(self.heading, id="panel-title", markup=False)
            yield from self.body()
            yield Static(self.keys, id="panel-keys", markup=False)
        yield StatusLine(id="panel-status")
        yield TooSmallOverlay()

    def body(self) -> list[Widget]:
        """Returns what stands between title and keys."""
        return []

    @property
    def terminal(self) -> "TerminalApp":
        """The screen that it lies over."""
        return cast("TerminalApp", self.app)

    def action_leave(self) -> None:
        self.left = True
        self.dismiss(None)

    @property
    def is_over(self) -> bool:
        """Whether it is closed, or closes as soon as nothing lies over it."""
        return self._ending is not None or self not in self.app.screen_stack

    def dismiss(self, result: R | None = None) -> AwaitComplete:
        """Closes it, and nothing else: what lies over it stays, and is closed first.

        Textual would close whatever is on top, also when a thread reports that this one is done
        while a person writes in another, or a second time.
        """
        if not self.is_over:
            self._ending = (result,)
        if self._ending is None or not self.is_active:
            return AwaitComplete()
        return super().dismiss(*self._ending)

    def on_screen_resume(self) -> None:
        if self._ending is not None:
            self.dismiss(*self._ending)
        self._redraw()

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        """Draws papers anew whose end may have been drawn while something lay over them."""
        for paper in self.query(LineView):
            if not paper.reached_end:
                paper.refresh()
