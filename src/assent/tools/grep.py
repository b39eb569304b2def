"""grep: the lines of files that match a regular expression or a plain text."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

import msgspec

from assent.core.paths import one_line, shown
from assent.core.tool import Action, Outcome, Request
from assent.tools.limits import told
from assent.tools.places import located
from assent.tools.searching import Hit, Query, Searched, searched
from assent.tools.tool import Around, Tool

MOST_CONTEXT = 20
MOST = 2000


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    path: str = "."
    include: Annotated[str, msgspec.Meta(description="glob of files")] = ""
    literal: bool = False
    context: Annotated[int, msgspec.Meta(description="lines around a match")] = 0
    limit: int = 100


def touches(args: Args, around: Around) -> Sequence[Request]:
    return (Request(Action.READ, shown(located(around, args.path)) or "."),)


def run(args: Args, around: Around) -> Outcome:
    folder = located(around, args.path)
    context = min(max(0, args.context), MOST_CONTEXT)
    query = Query(args.pattern, folder, literal=args.literal, include=args.include, context=context)
    found = searched(around, query)
    limit = min(max(1, args.limit), MOST)
    matching = sum(not hit.context for hit in found.hits)
    lines = _lines(_first(found.hits, limit))
    notes = _notes(found, matching, limit)
    return told("\n".join(lines), args.pattern, notes, count=matching)


def _first(hits: Sequence[Hit], limit: int) -> Iterator[Hit]:
    """Yields hits until so many of them match."""
    left = limit
    for hit in hits:
        left -= not hit.context
        if left < 0:
            return
        yield hit


def _lines(hits: Iterator[Hit]) -> Iterator[str]:
    for path, each in groupby(hits, key=lambda hit: hit.path):
        yield one_line(path)
        for hit in each:
            yield f"{hit.line}{'-' if hit.context else ':'} {hit.text}"


def _notes(found: Searched, matching: int, limit: int) -> Iterator[str]:
    if not matching:
        yield "No line matches."
    if matching > limit:
        yield f"{limit} of {matching} matching lines; narrow the search or raise limit."
    if found.skipped:
        yield f"{found.skipped} files that may hold secrets were left out."
    if found.note:
        yield found.note


GREP = Tool("grep", Args, touches, run, action=Action.READ)
