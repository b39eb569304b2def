"""How the user last had the screen: theme, sidebar, diffs, and the model of new sessions.

That is state, and no configuration: what the configuration says about the model counts again as
soon as it says something else.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from assent.config.paths import app_paths
from assent.core.decoding import decode_json


class ScreenChoices(msgspec.Struct, frozen=True):
    """What is remembered; empty: nothing was chosen."""

    theme: str = ""
    sidebar: bool = True
    model: str = ""
    configured: str = ""  # the model of the configuration when that one was chosen
    side_by_side: bool = True  # diffs, where the terminal is wide enough


def choices_path() -> Path:
    """Returns the file of the state directory that remembers them."""
    return app_paths(os.environ, Path.home()).state / "screen.json"


def read_choices() -> ScreenChoices:
    """Returns what was remembered; nothing if that cannot be read."""
    with suppress(OSError, msgspec.DecodeError):
        path = choices_path()
        if path.is_file() and not path.is_symlink():
            return decode_json(path.read_bytes(), ScreenChoices)
    return ScreenChoices()
