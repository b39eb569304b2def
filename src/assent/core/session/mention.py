"""Mentions: the paths that a user typed after `@`, to attach files to a message."""

import re
from typing import Final

MAX_MENTIONS: Final = 200  # of one message that are looked at

# What comes first wins: a fence, a span of code and a quotation are literal, with every `@` in
# them. An `@` in the middle of a word, an address or a path starts nothing.
_TOKEN: Final = re.compile(
    r"""
    ```.*?(?:```|\Z)
    | (?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)
    | (?<![\w@])"[^"\n]*"
    | (?<![\w@./:`"'+~-])@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"'`<>|;,@]+))
    """,
    re.DOTALL | re.VERBOSE,
)
_AFTER: Final = ".:!?*"  # what ends a sentence or an emphasis, not a path
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}


def mentioned_paths(text: str) -> tuple[str, ...]:
    """Returns the paths after `@` in a text that a user typed, each once, as they were typed."""
    found = [token["quoted"] or _without_end(token["plain"] or "") for token in _tokens(text)]
    return tuple(dict.fromkeys(path for path in found if path))[:MAX_MENTIONS]


def _tokens(text: str) -> list[re.Match[str]]:
    return list(_TOKEN.finditer(text)) if "@" in text else []


def _without_end(path: str) -> str:
    """Returns a path without the punctuation of the sentence that it stands in."""
    while path and (path[-1] in _AFTER or _is_unpaired(path)):
        path = path[:-1]
    return path


def _is_unpaired(path: str) -> bool:
    """Tells whether a path ends with a bracket that was opened before it."""
    opens = _PAIRS.get(path[-1])
    return opens is not None and path.count(opens) < path.count(path[-1])
