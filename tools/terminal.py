"""Writes the tables of keys and commands into docs/terminal.md, or checks that they are in step."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from assent.tui.commands.command import GROUPS
from assent.tui.commands.registry import COMMANDS
from assent.tui.keys import KEY_CONTEXTS, rows_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "terminal.md"
BLOCK = re.compile(r"(<!-- terminal: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: list[str]) -> int:
    """Brings the page in step, or with --check only tells whether it is."""
    before = PAGE.read_text(encoding="utf-8")
    after = in_step(before)
    if "--check" not in arguments:
        PAGE.write_text(after, encoding="utf-8")
    return int("--check" in arguments and before != after)


def in_step(text: str) -> str:
    """Returns the page with both tables as the code has them."""
    return BLOCK.sub(_filled, text)


def keys() -> Iterator[str]:
    """Returns every key of the screen, and where it counts."""
    yield "| Key | What it does | Where |"
    yield "|---|---|---|"
    for place in KEY_CONTEXTS:
        for shown, what in rows_of(place):
            yield f"| `{shown}` | {what} | {place} |"


def commands() -> Iterator[str]:
    """Returns every command, by what it is about."""
    yield "| Command | What it does | Also |"
    yield "|---|---|---|"
    for group, words in GROUPS.items():
        yield f"| **{words}** | | |"
        for one in COMMANDS:
            if one.group == group:
                usage = one.usage.replace("|", "\\|")
                yield f"| `{usage}` | {one.about} | {' '.join(f'`{n}`' for n in one.aliases)} |"


def _filled(block: re.Match[str]) -> str:
    opening, name, closing = block.groups()
    return "\n".join([opening.rstrip("\n"), *_TABLES[name](), closing])


_TABLES = {"keys": keys, "commands": commands}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
