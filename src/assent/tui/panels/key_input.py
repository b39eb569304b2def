"""Takes the API key of a provider: typed or pasted, never drawn, kept nowhere but in the panel."""

from collections.abc import Callable
from typing import Final

from textual.events import Key, Paste
from textual.widget import Widget
from textual.widgets import Static

from assent.core.errors import AssentError
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line
from assent.tui.hints import error_text
from assent.tui.line_view import LineView, Section
from assent.tui.panels.panel import Panel

MAX_CHARS: Final = 8192  # as many as `assent login --stdin` reads
EMPTY: Final = "No key entered yet."
ABOUT: Final = (
    Line("plain", "Type or paste the key. It is not shown, and goes to no model, log or session."),
    Line("dim", "Stored in the system keyring if there is one, else in your credentials file,"),
    Line("dim", "which only you can read; never in a project."),
)
Store = Callable[[str, str], str]  # of a provider its key; says where it is


class KeyInputPanel(Panel[str]):
    """Asks for a key and stores it; its result says where, or is None if the user cancels.

    It has no text area: nothing in it can be selected, copied, undone or drawn.
    """

    DEFAULT_CSS = """
    KeyInputPanel > #frame { height: auto; max-height: 100%; max-width: 90; }
    KeyInputPanel #about { height: 5; margin: 1 0; }
    KeyInputPanel #entered { height: auto; margin: 0 0 1 0; }
    """
    AUTO_FOCUS = None
    keys = "Enter store · Ctrl+U clear · Esc cancel"

    def __init__(self, provider: str, store: Store) -> None:
        super().__init__()
        self.heading = f"API key for {visible_line(provider)}"
        self._provider = provider
        self._store = store
        self._typed = ""
        self._storing = False

    def body(self) -> list[Widget]:
        about = LineView(id="about")
        about.can_focus = False
        return [about, Static(EMPTY, id="entered", markup=False)]

    def on_mount(self) -> None:
        self.query_one("#about", LineView).show([Section("about", ABOUT)])

    def on_key(self, event: Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        match event.key:
            case "enter":
                self._keep()
            case "backspace":
                self._change(self._typed[:-1])
            case "ctrl+u":
                self._change("")
            case _ if event.is_printable and event.character:
                self._change(self._typed + event.character)
            case _:
                pass

    def on_paste(self, event: Paste) -> None:
        event.stop()
        self._change(self._typed + event.text.strip())

    def _change(self, typed: str) -> None:
        if not self._storing:
            self._typed = typed[:MAX_CHARS]
            count = len(self._typed)
            entered = f"{count} character{'' if count == 1 else 's'} entered." if count else EMPTY
            self._tell(entered)

    def _keep(self) -> None:
        """Stores the key in a thread; if that is refused, the reason is shown here."""
        key = self._typed.strip()
        if not key or self._storing:
            return
        self._storing = True
        provider, store = self._provider, self._store

        def failed(error: AssentError) -> None:
            self._storing = False
            if self.is_attached:
                self._change("")
                self._tell(visible_line(error_text(error)))

        def stored(told: str) -> None:
            self._typed = ""
            if self.is_attached:
                self.dismiss(told)

        self.terminal.tasks.run("Storing the key", lambda: store(provider, key), stored, failed)

    def _tell(self, words: str) -> None:
        self.query_one("#entered", Static).update(words)
