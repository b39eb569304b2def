"""What stands on a screen that is too small for anything to be read or decided there."""

from typing import Final

from rich.text import Text
from textual.events import Event, Key
from textual.geometry import Size
from textual.widget import Widget

LEAST: Final = Size(40, 12)
ACROSS: Final = [(0, "-tight"), (LEAST.width, "-roomy")]  # classes of a screen, by its size
DOWN: Final = [(0, "-low"), (LEAST.height, "-high")]
LEAVES: Final = "ctrl+c"


class Small(Widget):
    """Covers a screen while it is too small. What is typed there decides nothing."""

    SCOPED_CSS = False  # the size is said by a class of the screen
    DEFAULT_CSS = """
    Small { layer: small; dock: top; width: 100%; height: 100%; display: none; padding: 0 1; }
    .-tight Small, .-low Small { display: block; }
    """

    def render(self) -> Text:
        """Says what is needed, and what can be done meanwhile."""
        size = self.app.size
        least = f"{LEAST.width}x{LEAST.height}"
        told = f"{size.width}x{size.height} is too small; {least} is the least."
        return Text(f"{told} Make it larger. Nothing is decided. Ctrl+C twice leaves.")


def is_small(size: Size) -> bool:
    """Tells whether there is too little room."""
    return size.width < LEAST.width or size.height < LEAST.height


def is_lost(event: Event, size: Size) -> bool:
    """Tells whether an input means nothing because the screen that would get it is too small."""
    return is_small(size) and not (isinstance(event, Key) and event.key == LEAVES)
