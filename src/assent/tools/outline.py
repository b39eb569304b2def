"""Outline: what a file defines, with line numbers, so that a model can choose the lines to read.

Python is parsed; other languages are matched line by line. It never fails: a file that cannot be
parsed is matched by lines, too.
"""

import re
import warnings
from _ast import AST, AsyncFunctionDef, ClassDef, FunctionDef, Module, PyCF_ONLY_AST
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from assent.core.paths import base_name
from assent.tools.outcome import numbered
from assent.tools.search import definition

MAX_ENTRIES: Final = 100  # definitions that are shown
MAX_ENTRY_CHARS: Final = 100
MAX_BYTES: Final = 1 << 20  # of a file that is looked at
MAX_PARSED_BYTES: Final = 256 << 10  # of Python; a longer file is matched by lines
MAX_REMEMBERED: Final = 32

_SHOWN_KINDS: Final = ("class", "type", "function", "method", "module", "heading")
# What looks like a definition where a name before a parenthesis is one.
_KEYWORDS: Final = (
    "if", "for", "foreach", "while", "switch", "catch", "return", "else", "do", "with", "match",
    "when", "unless", "until", "sizeof", "synchronized", "using", "lock", "await", "yield", "throw",
    "new", "assert",
)  # fmt: skip
_FLAT: Final = (b"c", b"h", b"cc", b"cpp", b"cxx", b"hpp", b"hh", b"hxx", b"m", b"mm", b"cu")
_MARKDOWN: Final = (b"md", b"markdown", b"mdx")
_PYTHON: Final = (b"py", b"pyi", b"pyw")
_IMPL: Final = re.compile(r"\s*(?:unsafe\s+)?impl\b")  # of Rust; it defines no name of its own
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_PARSED_AS: Final = "<outline>"  # the name of the file in warnings about it

_Entry: TypeAlias = tuple[int, int]  # its line from 1, and how deep it is nested

_remembered: dict[tuple[str, bytes], tuple[str, ...]] = {}


def file_outline(path: bytes, content: bytes, digest: str = "") -> tuple[str, ...]:
    """Returns the lines that define something, numbered; the last one says what is missing.

    The same `digest` stands for the same content, whose outline is made once.
    """
    key = (digest, base_name(path))
    if not digest:
        return _outline(path, content)
    if key not in _remembered:
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        _remembered[key] = _outline(path, content)
    return _remembered.get(key, ())


def _outline(path: bytes, content: bytes) -> tuple[str, ...]:
    text = content[:MAX_BYTES].decode("utf-8", "replace")
    lines = text.split("\n")
    ending = base_name(path).rpartition(b".")[2].lower()
    found = _parsed(text) if ending in _PYTHON and len(content) <= MAX_PARSED_BYTES else None
    if found is None:
        found = list(_matched(path, ending, lines))
    return tuple(_entries(found, lines))


def _entries(found: Sequence[_Entry], lines: Sequence[str]) -> Iterator[str]:
    """Yields the definitions; of too many, those that are not nested, and then the first."""
    shown = list(found)
    if len(shown) > MAX_ENTRIES:
        shown = [entry for entry in found if not entry[1]] or shown
    for line, _ in shown[:MAX_ENTRIES]:
        text = lines[line - 1].rstrip() if line <= len(lines) else ""
        cut = f"{text[:MAX_ENTRY_CHARS]}…" if len(text) > MAX_ENTRY_CHARS else text
        yield numbered(line, cut)
    if more := len(found) - len(shown[:MAX_ENTRIES]):
        yield f"[{more} more definitions]"


def _parsed(text: str) -> list[_Entry] | None:
    """Returns what Python defines; None if this interpreter cannot parse it."""
    # What it warns about is in a file that nobody runs here.
    warnings.filterwarnings("ignore", module=re.escape(_PARSED_AS))
    try:
        tree = compile(text, _PARSED_AS, "exec", PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError, SystemError):
        return None
    return sorted(_defined(tree)) if isinstance(tree, Module) else None


def _defined(tree: Module) -> Iterator[_Entry]:
    """Yields classes and functions, but not what functions define for themselves."""
    waiting: list[tuple[AST, int]] = [(each, 0) for each in tree.body]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, ClassDef | FunctionDef | AsyncFunctionDef):
            yield node.lineno, depth
            if isinstance(node, ClassDef):
                waiting += [(each, depth + 1) for each in node.body]
            continue
        for field in ("body", "orelse", "handlers", "finalbody"):
            below = getattr(node, field, None)
            waiting += [(each, depth) for each in below] if isinstance(below, list) else []


def _matched(path: bytes, ending: bytes, lines: Sequence[str]) -> Iterator[_Entry]:
    """Yields the lines that look like definitions, nested as they are indented."""
    fenced = False
    for number, line in enumerate(lines, 1):
        if ending in _MARKDOWN and _FENCE.match(line):
            fenced = not fenced
        if fenced or not line.strip():
            continue
        if ending == b"rs" and _IMPL.match(line):
            yield number, 0
            continue
        found = definition(path, line[: 4 * MAX_ENTRY_CHARS])
        if found is None or found.kind not in _SHOWN_KINDS or found.name in _KEYWORDS:
            continue
        nested = line[0] in " \t"
        if nested and found.kind == "function" and ending in _FLAT:
            continue  # a call over several lines
        yield number, int(nested or line.startswith("##"))
