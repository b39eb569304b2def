"""search: finds where a name is defined, or lists what one file defines.

A definition is shown with its lines, its owner and its signature, for the common languages.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from assent.core.digest import sha256
from assent.core.errors import AssentError, UsageError
from assent.core.paths import one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.definitions import Definition, definition
from assent.tools.files import existing_state, read_access_of, resolve_path, search_accesses
from assent.tools.outcome import limited_outcome
from assent.tools.outline import MAX_BYTES, FileSymbols, Symbol, file_symbols, outline_entry
from assent.tools.text_search import SearchHit, SearchQuery, SearchResult, search_text
from assent.tools.tool import Tool, ToolContext

MAX_DEFINITIONS = 100
MAX_SIGNATURE_CHARS = 200  # characters of a signature
MAX_OUTLINED_BYTES = 2 << 20  # of the files whose definitions are looked at, in one search


class SearchArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="empty: outline the file at path")] = ""
    path: Annotated[str, msgspec.Meta(description="file or folder")] = "."


def touches(args: SearchArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses((read_access_of(context, args.path, "search"),), "search", args.name)


def run(args: SearchArgs, context: ToolContext) -> ToolOutcome:
    path = resolve_path(context, args.path)
    state = existing_state(context, path)
    dotted = args.name.strip().replace("::", ".").removesuffix("()")
    if name := dotted.rpartition(".")[2]:
        return _defined(context, path, name, dotted)
    if not isinstance(state, FileState):
        raise UsageError("Give a name, or the path of one file to list its definitions.")
    found = search_text(context, SearchQuery(r"\w", path))
    ranges = _Ranges(context)
    lines = [line for hit in found.hits for line in _entry(hit, ranges)]
    notes = [] if lines else ["No definitions found."]
    return limited_outcome("\n".join(lines), one_line(path), [*notes, *found.notes])


class _Ranges:
    """The lines of definitions in the files that were searched, as far as the work is bounded."""

    def __init__(self, context: ToolContext) -> None:
        self._overlay = context.overlay
        self._room = MAX_OUTLINED_BYTES
        self._known: dict[bytes, tuple[dict[int, Symbol], bool]] = {}

    def symbol(self, hit: SearchHit, name: str) -> Symbol | None:
        """Returns what a line defines, with its range; None if that is not known."""
        found = self._of(hit.path)[0].get(hit.line)
        return found if found and (found.name == name or found.kind == "heading") else None

    def is_parsed(self, hit: SearchHit) -> bool:
        """Tells whether a line without a symbol defines nothing."""
        return self._of(hit.path)[1]

    def _of(self, path: bytes) -> tuple[dict[int, Symbol], bool]:
        if path not in self._known:
            found = self._outlined(path)
            by_line = {each.line: each for each in reversed(found.symbols)}
            self._known[path] = (by_line, found.is_parsed)
        return self._known[path]

    def _outlined(self, path: bytes) -> FileSymbols:
        limit = min(MAX_BYTES, self._room)
        if not limit:
            return FileSymbols()
        try:
            content = self._overlay.content(path, limit)
        except AssentError:  # too long, or gone since it was searched
            self._room -= limit
            return FileSymbols()
        self._room -= len(content)
        return file_symbols(path, content, sha256(content))


def _entry(hit: SearchHit, ranges: _Ranges) -> Iterator[str]:
    """Yields the line of an outline for a line that defines something."""
    what = definition(hit.path, hit.text)
    if what is None:
        return
    if symbol := ranges.symbol(hit, what.name):
        yield outline_entry(symbol)
    elif not ranges.is_parsed(hit):
        yield f"{hit.line}: {hit.text.rstrip()[:MAX_SIGNATURE_CHARS]}"


def _defined(context: ToolContext, path: bytes, name: str, dotted: str) -> ToolOutcome:
    whole = search_text(context, SearchQuery(name, path, literal=True, word=True))
    ranges = _Ranges(context)
    ranked = [
        (hit, what, symbol)
        for hit, what in sorted(_ranked(whole, name), key=_sort_key)
        if (symbol := ranges.symbol(hit, name)) or not ranges.is_parsed(hit)
    ]
    asked = [each for each in ranked if each[2] and _is_asked(each[2], dotted)]
    found = asked or ranked
    lines = [_line(*each) for each in found[:MAX_DEFINITIONS]]
    notes = [] if lines else [_nowhere(whole, name)]
    if len(found) > MAX_DEFINITIONS:
        notes.append(f"{MAX_DEFINITIONS} of {len(found)} definitions shown; narrow it by path.")
    return limited_outcome("\n".join(lines), name, [*notes, *whole.notes], count=len(found))


def _is_asked(symbol: Symbol, dotted: str) -> bool:
    """Tells whether a definition has the owner that was asked for."""
    return "." in dotted and f".{symbol.qualified}".endswith(f".{dotted}")


def _ranked(found: SearchResult, name: str) -> Iterator[tuple[SearchHit, Definition]]:
    for hit in found.hits:
        if what := definition(hit.path, hit.text, name):
            yield hit, what


def _sort_key(found: tuple[SearchHit, Definition]) -> tuple[bool, int, bytes, int]:
    """Sorts tests last, then by kind and position."""
    hit, what = found
    return b"test" in hit.path.lower(), what.rank, hit.path, hit.line


def _line(hit: SearchHit, what: Definition, symbol: Symbol | None) -> str:
    """Renders a definition: its lines, and its first line with the owner before the name."""
    text = hit.text
    owner = symbol.owner if symbol else ""
    if owner and owner not in text[: what.start]:
        text = f"{text[: what.start]}{owner}.{text[what.start :]}"
    span = symbol.span if symbol else hit.line
    return f"{one_line(hit.path)}:{span} {text.strip()[:MAX_SIGNATURE_CHARS]}"


def _nowhere(found: SearchResult, name: str) -> str:
    if not found.hits:
        return f"{name} was not found."
    first = found.hits[0]
    place = f"{one_line(first.path)}:{first.line}"
    if len(found.hits) == 1:
        return f"No definition of {name} found; 1 line mentions it: {place}."
    used = f"{len(found.hits)} lines mention it, first {place}"
    return f"No definition of {name} found; {used}. Use grep to see them."


SEARCH = Tool("search", SearchArgs, touches, run, Action.READ, on_demand="definitions")
