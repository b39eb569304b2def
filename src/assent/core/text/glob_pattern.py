"""Glob patterns: the one matcher of wildcards; its dialects differ in what is special.

|              | `SHELL_NAME`     | `FNMATCH`          | `WILDCARD`       | `PATH_TABLE`      |
|--------------|------------------|--------------------|------------------|-------------------|
| used for     | one name: what a | scopes of plans,   | permission rules | tables of files   |
|              | shell or a path  | edit limits of     | and hooks        | that are secret   |
|              | glob finds       | modes, formatters  |                  | or protected      |
| `*`, `?`     | any, and names   | any, also `/`      | any, also `/`    | any but `/`       |
|              | hold no `/`      |                    |                  |                   |
| `[a-c]`      | a set            | a set              | itself           | itself            |
| negated by   | `[!` and `[^`    | `[!`               |                  |                   |
| backslash    | quotes what      | itself             | itself           | itself            |
|              | follows          |                    |                  |                   |

In all of them a newline is a character like any other, both ends are anchored, case counts, and no
text takes long. What is more than a pattern of one text stands where it is used: folders and hidden
names (`core/shell/glob.py`), `**` and braces (`tools/path_patterns.py`), the bare command
(`core/permission/rule.py`). Which files git ignores is asked of git, where it can be.
"""

import enum
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

GLOB_FLAGS: Final = re.DOTALL  # our expressions must be compiled with these

_KEPT = 1024  # compiled patterns


class GlobDialect(msgspec.Struct, frozen=True):
    """What is special in a pattern in addition to `*` and `?`, and what these stand for."""

    any_char: str = "."  # the expression for it
    negation: str = ""  # the characters that negate a set; without any there are no sets
    escapes: bool = False  # by a backslash


SHELL_NAME: Final = GlobDialect(negation="!^", escapes=True)
FNMATCH: Final = GlobDialect(negation="!")
WILDCARD: Final = GlobDialect()
PATH_TABLE: Final = GlobDialect(any_char="[^/]")


class Wild(enum.Enum):
    """A wildcard: one character, or any number of them."""

    CHAR = "?"
    RUN = "*"


_WILD: Final[dict[str, Wild]] = {wild.value: wild for wild in Wild}


class CharSet(msgspec.Struct, frozen=True):
    """A set such as `[a-cx]`, as ranges; one that runs backwards holds nothing and is left out."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool


GlobToken: TypeAlias = str | Wild | CharSet  # a text matches itself


def glob_matches(text: str, pattern: str, dialect: GlobDialect) -> bool:
    """Tells whether a pattern matches a whole text."""
    return compile_glob(pattern, dialect).fullmatch(text) is not None


@lru_cache(_KEPT)
def compile_glob(pattern: str, dialect: GlobDialect) -> re.Pattern[str]:
    """Returns what `fullmatch` can be asked of."""
    return re.compile(glob_expression(pattern, dialect), GLOB_FLAGS)


def glob_expression(pattern: str, dialect: GlobDialect) -> str:
    """Translates a pattern into a regular expression, which can be a part of a larger one.

    Each `*` but the last matches as little as it can and never backtracks, so no text takes long.
    That loses no match: whatever follows is also found further on, as the last `*` can grow.
    """
    runs = [""]  # what stands between the stars
    for token in glob_tokens(pattern, dialect):
        match token:
            case str():
                runs[-1] += re.escape(token)
            case Wild.RUN:
                runs.append("")
            case Wild.CHAR:
                runs[-1] += dialect.any_char
            case CharSet():
                runs[-1] += _set_expression(token)
    first, *middle = runs
    last = f"{dialect.any_char}*{middle.pop()}" if middle else ""
    return first + "".join(f"(?>{dialect.any_char}*?{run})" for run in middle if run) + last


def glob_tokens(pattern: str, dialect: GlobDialect) -> Iterator[GlobToken]:
    """Splits a pattern into texts, wildcards and sets; a set that never closes is not a set."""
    if not (dialect.negation or dialect.escapes):  # as most patterns are, and done much faster
        for piece in re.findall(r"[*?]|[^*?]+", pattern):
            yield _WILD.get(piece, piece)
        return
    chars = glob_chars(pattern, dialect)
    closed = max((at for at, char in enumerate(chars) if char == "]"), default=0)
    at = 0
    while at < len(chars):
        if end := _set_end(chars, at, closed, dialect):
            yield _char_set(chars[at + 1 : end], dialect)
            at = end + 1
            continue
        yield _WILD.get(chars[at], chars[at][-1])
        at += 1


def glob_chars(pattern: str, dialect: GlobDialect) -> list[str]:
    """Splits a pattern into characters, each with the backslash that quotes it."""
    return re.findall(r"\\?.", pattern, re.DOTALL) if dialect.escapes else list(pattern)


def _set_end(chars: Sequence[str], at: int, closed: int, dialect: GlobDialect) -> int:
    """Returns where a set closes; 0 if none opens here, or it never closes.

    `closed` is the last place where one could. What comes first in a set does not close it.
    """
    if chars[at] != "[" or not dialect.negation or closed <= at + 1:
        return 0
    first = at + 1 + (chars[at + 1] in dialect.negation)
    return chars.index("]", first + 1) if first < closed else 0


def _char_set(inner: Sequence[str], dialect: GlobDialect) -> CharSet:
    negated = inner[0] in dialect.negation
    rest = [*inner[:0:-1]] if negated else [*inner[::-1]]
    ranges = []
    while rest:
        low = high = rest.pop()[-1]
        if rest[-1:] == ["-"] and len(rest) > 1:
            rest.pop()
            high = rest.pop()[-1]
        if low <= high:
            ranges.append((low, high))
    return CharSet(tuple(ranges), negated)


def _set_expression(chars: CharSet) -> str:
    if not chars.ranges:
        return "." if chars.negated else "(?!)"
    members = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in chars.ranges)
    return f"[{'^' if chars.negated else ''}{members}]"
