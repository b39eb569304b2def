"""The overlay that covers a screen which is too small to read or decide anything."""

from typing import Final

from rich.text import Text
from textual.events import Event, Key
from textual.geometry import Size
from textual.widget import Widget

MIN_SIZE: Final = Size(40, 12)
WIDTH_BREAKPOINTS: Final = [
    (0, "-tight"),
    (MIN_SIZE.width, "-roomy"),
]  # classes of a screen, by its size
HEIGHT_BREAKPOINTS: Final = [(0, "-low"), (MIN_SIZE.height, "-high")]
LEAVES: Final = "ctrl+c"


class TooSmallOverlay(Widget):
    """Covers a screen while it is too small; keys typed there decide nothing."""

    SCOPED_CSS = False  # the size is said by a class of the screen
    DEFAULT_CSS = """
    TooSmallOverlay {
        layer: small; dock: top; width: 100%; height: 100%; display: none; padding: 0 1;
    }
    .-tight TooSmallOverlay, .-low TooSmallOverlay { display: block; }
    """

    def render(self) -> Text:
        """Returns the text that says which size is needed, and what can be done meanwhile."""
        size = self.app.size
        least = f"{MIN_SIZE.width}x{MIN_SIZE.height}"
        told = f"{size.width}x{size.height} is too small; minimum {least}."
        return Text(f"{told} Make it larger. Nothing was decided. Ctrl+C twice exits.")


def size_classes(size: Size) -> dict[str, bool]:
    """Returns the classes that Textual gives a screen when it learns its size.

    A screen that has them before anything is in it is not styled a second time for them.
    """
    tight, low = size.width < MIN_SIZE.width, size.height < MIN_SIZE.height
    return {"-tight": tight, "-roomy": not tight, "-low": low, "-high": not low}


def is_too_small(size: Size) -> bool:
    """Tells whether the screen is too small."""
    return size.width < MIN_SIZE.width or size.height < MIN_SIZE.height


def is_ignored_input(event: Event, size: Size) -> bool:
    """Tells whether an input is ignored because its screen is too small."""
    return is_too_small(size) and not (isinstance(event, Key) and event.key == LEAVES)
