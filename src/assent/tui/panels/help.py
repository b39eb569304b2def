"""The help panel: every key and every command, from the tables that bind and run them."""

from collections.abc import Iterator, Sequence
from typing import Final

from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines
from assent.tui.commands.registry import COMMANDS, GROUPS, BuiltinCommand
from assent.tui.keymap import KEY_CONTEXTS, rows_of
from assent.tui.panels.lines import LinesPanel
from assent.tui.prompt.completion import Completion

CONTEXT_TITLES: Final = {
    "anywhere": "Keys",
    "prompt": "In the prompt",
    "conversation": "Conversation",
}
HEAD: Final = (
    Line("plain", "Say what should be done. In plan mode the model explores and plans; nothing"),
    Line("plain", "changes before you have read the plan and approved it. A build can be undone."),
)


class HelpPanel(LinesPanel):
    """Shows keys and commands; `/` searches in them."""

    def __init__(self, own: Sequence[Completion] = ()) -> None:
        super().__init__("Help", list(help_lines(own)))


def help_lines(own: Sequence[Completion] = ()) -> Iterator[Line]:
    """Renders all keys by place, and all commands by what they are about."""
    yield from HEAD
    for place in KEY_CONTEXTS:
        yield BLANK
        yield Line("heading", CONTEXT_TITLES[place])
        yield from _rows(list(rows_of(place)))
    for group, words in GROUPS.items():
        yield BLANK
        yield Line("heading", words)
        yield from _rows([_told(one) for one in COMMANDS if one.group == group])
    if own:
        yield BLANK
        yield Line("heading", "Commands of your own")
        yield from _rows([(visible_line(one.text), visible_line(one.about)) for one in own])


def _told(one: BuiltinCommand) -> tuple[str, str]:
    also = f" (also {', '.join(one.aliases)})" if one.aliases else ""
    return one.usage, f"{one.about}{also}"


def _rows(rows: Sequence[tuple[str, str]]) -> Iterator[Line]:
    yield from table_lines("plain", [(f"  {name}", what) for name, what in rows])
