"""search: where a name is defined, with its kind and signature; or what one file defines."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from assent.core.errors import UsageError
from assent.core.paths import one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.definitions import Definition, definition
from assent.tools.line_numbers import numbered
from assent.tools.output_limits import limited_outcome
from assent.tools.path_access import read_access_of, resolve_path, search_accesses
from assent.tools.path_suggestions import existing_state
from assent.tools.text_search import SearchHit, SearchQuery, SearchResult, search_text
from assent.tools.tool import Tool, ToolContext

MAX_DEFINITIONS = 100
MAX_SIGNATURE_CHARS = 200  # characters of a signature


class SearchArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="empty: all that the file at path defines")] = ""
    path: str = "."


def touches(args: SearchArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses((read_access_of(around, args.path),), "search", args.name)


def run(args: SearchArgs, around: ToolContext) -> ToolOutcome:
    path = resolve_path(around, args.path)
    state = existing_state(around, path)
    name = args.name.strip().replace("::", ".").rpartition(".")[2].removesuffix("()")
    if name:
        return _defined(around, path, name)
    if not isinstance(state, FileState):
        raise UsageError("Give a name, or the path of one file to see what it defines.")
    found = search_text(around, SearchQuery(r"\w", path))
    lines = [numbered(hit.line, f"{kind} {text}") for hit, kind, text in _outline(found.hits)]
    notes = [] if lines else ["No definition was recognised."]
    return limited_outcome("\n".join(lines), one_line(path), notes)


def _outline(hits: Sequence[SearchHit]) -> Iterator[tuple[SearchHit, str, str]]:
    for hit in hits:
        if found := definition(hit.path, hit.text):
            yield hit, found.kind, hit.text.rstrip()[:MAX_SIGNATURE_CHARS]


def _defined(around: ToolContext, path: bytes, name: str) -> ToolOutcome:
    whole = search_text(around, SearchQuery(name, path, literal=True, word=True))
    ranked = sorted(_ranked(whole, name), key=lambda each: each[0])
    lines = [line for _, line in ranked[:MAX_DEFINITIONS]]
    notes = [] if lines else [_nowhere(whole, name)]
    if len(ranked) > MAX_DEFINITIONS:
        notes.append(f"{MAX_DEFINITIONS} of {len(ranked)} definitions; narrow it by path.")
    return limited_outcome("\n".join(lines), name, [*notes, *whole.notes], count=len(ranked))


def _ranked(found: SearchResult, name: str) -> Iterator[tuple[tuple[bool, int, bytes, int], str]]:
    """Yields definitions with what orders them: tests come last, then by kind and place."""
    for hit in found.hits:
        what = definition(hit.path, hit.text, name)
        if what is None:
            continue
        yield (b"test" in hit.path.lower(), what.rank, hit.path, hit.line), _line(hit, what)


def _line(hit: SearchHit, what: Definition) -> str:
    return f"{what.kind} {one_line(hit.path)}:{hit.line} {hit.text.strip()[:MAX_SIGNATURE_CHARS]}"


def _nowhere(found: SearchResult, name: str) -> str:
    if not found.hits:
        return f"{name} occurs nowhere."
    first = found.hits[0]
    used = f"{len(found.hits)} lines mention it, first {one_line(first.path)}:{first.line}"
    return f"No definition of {name} was recognised; {used}. grep shows them."


SEARCH = Tool("search", SearchArgs, touches, run, action=Action.READ)
