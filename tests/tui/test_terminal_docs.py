"""The page about the screen says what the tables say."""

import re

from tools.terminal import PAGE, in_step

from assent.tui.commands.registry import COMMANDS
from assent.tui.keys import KEYS, PANEL_KEYS


def test_the_page_has_every_key_and_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert in_step(text) == text
    assert all(f"| `{row.shown}` | {row.what} |" in text for row in (*KEYS, *PANEL_KEYS))
    assert all(re.search(rf"\| `{re.escape(one.name)}[ `]", text) for one in COMMANDS)
