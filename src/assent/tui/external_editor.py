"""Opens a file in the person's editor, while the terminal UI is suspended."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from assent.core.paths import display_path

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp


def edit_file(app: "TerminalApp", path: bytes) -> None:
    """Waits until the person has closed their editor; the terminal is the editor's meanwhile."""
    trouble: Exception | None = None
    with _out_of_the_way(app):
        try:
            app.host.edit(display_path(path))
        except Exception as error:  # raised in here, it would keep the screen from coming back
            trouble = error
    if trouble is not None:
        raise trouble


def _out_of_the_way(app: "TerminalApp") -> AbstractContextManager[None]:
    driver = app._driver
    return app.suspend() if driver is not None and driver.can_suspend else nullcontext()
