"""search: where a name is defined, with its kind and signature; or what one file defines."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from assent.core.errors import UsageError
from assent.core.paths import one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.changing.prefixes import numbered
from assent.tools.looking.definitions import Definition, definition
from assent.tools.looking.limits import told
from assent.tools.looking.near import standing
from assent.tools.looking.places import located, looked_at, looking
from assent.tools.looking.searching import Hit, Query, Searched, searched
from assent.tools.tool import Around, Tool

MOST = 100
LONGEST = 200  # characters of a signature


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="empty: all that the file at path defines")] = ""
    path: str = "."


def touches(args: Args, around: Around) -> Sequence[ResourceAccess]:
    return looking((looked_at(around, args.path),), "search", args.name)


def run(args: Args, around: Around) -> ToolOutcome:
    path = located(around, args.path)
    state = standing(around, path)
    name = args.name.strip().replace("::", ".").rpartition(".")[2].removesuffix("()")
    if name:
        return _defined(around, path, name)
    if not isinstance(state, FileState):
        raise UsageError("Give a name, or the path of one file to see what it defines.")
    found = searched(around, Query(r"\w", path))
    lines = [numbered(hit.line, f"{kind} {text}") for hit, kind, text in _outline(found.hits)]
    notes = [] if lines else ["No definition was recognised."]
    return told("\n".join(lines), one_line(path), notes)


def _outline(hits: Sequence[Hit]) -> Iterator[tuple[Hit, str, str]]:
    for hit in hits:
        if found := definition(hit.path, hit.text):
            yield hit, found.kind, hit.text.rstrip()[:LONGEST]


def _defined(around: Around, path: bytes, name: str) -> ToolOutcome:
    whole = searched(around, Query(name, path, literal=True, word=True))
    ranked = sorted(_ranked(whole, name), key=lambda each: each[0])
    lines = [line for _, line in ranked[:MOST]]
    notes = [] if lines else [_nowhere(whole, name)]
    if len(ranked) > MOST:
        notes.append(f"{MOST} of {len(ranked)} definitions; narrow it by path.")
    return told("\n".join(lines), name, [*notes, *whole.notes], count=len(ranked))


def _ranked(found: Searched, name: str) -> Iterator[tuple[tuple[bool, int, bytes, int], str]]:
    """Yields definitions with what orders them: tests come last, then by kind and place."""
    for hit in found.hits:
        what = definition(hit.path, hit.text, name)
        if what is None:
            continue
        yield (b"test" in hit.path.lower(), what.rank, hit.path, hit.line), _line(hit, what)


def _line(hit: Hit, what: Definition) -> str:
    return f"{what.kind} {one_line(hit.path)}:{hit.line} {hit.text.strip()[:LONGEST]}"


def _nowhere(found: Searched, name: str) -> str:
    if not found.hits:
        return f"{name} occurs nowhere."
    first = found.hits[0]
    used = f"{len(found.hits)} lines mention it, first {one_line(first.path)}:{first.line}"
    return f"No definition of {name} was recognised; {used}. grep shows them."


SEARCH = Tool("search", Args, touches, run, action=Action.READ)
