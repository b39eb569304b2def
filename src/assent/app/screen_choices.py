"""Remembers how the user last had the screen, in a file that only they can read."""

import msgspec

from assent.config.screen_choices import ScreenChoices, choices_path
from assent.store.private_file import PrivateFile


def write_choices(choices: ScreenChoices) -> None:
    """Remembers choices for the next screen."""
    PrivateFile(choices_path()).write(msgspec.json.encode(choices) + b"\n")
