"""Wildcards of rules: `*` is any run of characters, also of `/` and newlines, `?` is one.

Both ends are anchored, and a pattern that ends in ` *` also means the bare command. Nothing else is
special: no `**`, no classes.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

WildcardMatcher: TypeAlias = Callable[[str], object]

_MAX_COMPILED = 4096  # compiled patterns


def wildcard_matches(text: str, pattern: str) -> bool:
    """Tells whether a pattern stands for a text."""
    return bool(wildcard_matcher(pattern)(text))


@lru_cache(_MAX_COMPILED)
def wildcard_matcher(pattern: str) -> WildcardMatcher:
    """Returns what tells whether the pattern stands for a text.

    Most patterns have one `*`, at the end; for those nothing is compiled, which takes long.
    """
    head = pattern.removesuffix("*")
    if "*" in head or "?" in head:
        return _compiled_wildcard(pattern)
    if head == pattern:
        return pattern.__eq__
    if head.endswith(" "):
        return lambda text: text.startswith(head) or text == head[:-1]
    return lambda text: text.startswith(head)


def fixed_prefix(pattern: str) -> str:
    """Returns what every text begins with that a pattern stands for."""
    return re.split(r"[*?]", pattern.removesuffix(" *"), maxsplit=1)[0]


def matches_everything(pattern: str) -> bool:
    """Tells whether a pattern names nothing in particular."""
    return not pattern.strip("*?/ ")


def expand_home(pattern: str, home: str) -> str:
    """Returns a pattern with `~` and `$HOME` at its beginning spelled out."""
    if not home:
        return pattern
    for sign in ("~", "$HOME"):
        if pattern == sign or pattern.startswith(f"{sign}/"):
            return home + pattern.removeprefix(sign)
    return pattern


def _compiled_wildcard(pattern: str) -> WildcardMatcher:
    ways = [_expression(pattern)]
    if pattern.endswith(" *"):
        ways.append(_expression(pattern[:-2]))
    return re.compile("|".join(f"(?:{way})" for way in ways), re.DOTALL).fullmatch


def _expression(pattern: str) -> str:
    """Writes a pattern so that no text, however long, makes the search try things twice."""
    first, *rest = [_piece(piece) for piece in re.split(r"\*+", pattern)]
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>.*?{piece})" for piece in middle) + f".*{last}"


def _piece(text: str) -> str:
    return "".join("." if sign == "?" else re.escape(sign) for sign in text)
