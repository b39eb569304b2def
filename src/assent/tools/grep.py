"""grep: the lines of files that match a regular expression or a plain text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Literal

import msgspec

from assent.core.errors import UsageError
from assent.core.paths import one_line
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.file_listing import existing_state
from assent.tools.outcome import limited_outcome, numbered
from assent.tools.path_access import read_access_of, resolve_path, search_accesses
from assent.tools.schema import HIDDEN_FIELD
from assent.tools.text_search import SearchHit, SearchQuery, SearchResult, search_text
from assent.tools.tool import Tool, ToolContext

MAX_CONTEXT_LINES = 20
MAX_MATCHES = 2000
# What ripgrep calls the kinds of files that are asked for by kind; others need a glob.
TYPES = {
    "py": "*.{py,pyi}", "python": "*.{py,pyi}", "js": "*.{js,jsx,mjs,cjs,vue}",
    "ts": "*.{ts,tsx,mts,cts}", "typescript": "*.{ts,tsx,mts,cts}", "tsx": "*.tsx",
    "jsx": "*.jsx", "rust": "*.rs", "go": "*.go", "java": "*.java", "kotlin": "*.{kt,kts}",
    "c": "*.{c,h}", "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h,inl}", "csharp": "*.cs", "cs": "*.cs",
    "ruby": "*.{rb,gemspec,rake}", "php": "*.php", "swift": "*.swift", "scala": "*.{scala,sbt}",
    "sh": "*.{sh,bash,zsh}", "lua": "*.lua", "sql": "*.{sql,psql}", "html": "*.{html,htm}",
    "css": "*.{css,scss}", "json": "*.json", "yaml": "*.{yaml,yml}", "toml": "*.toml",
    "xml": "*.{xml,xsd,xsl,xslt}", "md": "*.{md,markdown,mdx}", "markdown": "*.{md,markdown,mdx}",
    "txt": "*.txt",
}  # fmt: skip


class GrepArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str
    path: str = "."
    include: Annotated[str, msgspec.Meta(description="file glob")] = ""
    literal: bool = False
    context: Annotated[int, msgspec.Meta(description="lines around a match")] = 0
    limit: int = 100
    ignore_case: Annotated[bool, HIDDEN_FIELD] = False
    before: Annotated[int, HIDDEN_FIELD] = 0
    after: Annotated[int, HIDDEN_FIELD] = 0
    show: Annotated[Literal["content", "files_with_matches", "count"], HIDDEN_FIELD] = "content"
    file_type: Annotated[str, HIDDEN_FIELD] = ""
    exclude: Annotated[str, HIDDEN_FIELD] = ""


def touches(args: GrepArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses((read_access_of(around, args.path),), "grep", args.pattern)


def run(args: GrepArgs, around: ToolContext) -> ToolOutcome:
    folder = resolve_path(around, args.path)
    existing_state(around, folder)
    found = search_text(around, _query(args, folder))
    limit = min(max(1, args.limit), MAX_MATCHES)
    matching = Counter(hit.path for hit in found.hits if not hit.context)
    lines = [*_lines(_first(found.hits, limit))]
    count, what = matching.total(), "matching lines"
    if args.show != "content":
        rows = [one_line(path) + _count(n, args.show) for path, n in matching.items()]
        lines, count, what = rows[:limit], len(rows), "files"
    notes = _notes(found, f"{limit} of {count} {what}" if count > limit else "")
    return limited_outcome("\n".join(lines), args.pattern, notes, count=count)


def _query(args: GrepArgs, folder: bytes) -> SearchQuery:
    if args.file_type and args.file_type not in TYPES:
        raise UsageError(f"Unknown file type {args.file_type!a}; use include, such as *.py.")
    globs = (args.include, TYPES.get(args.file_type, ""))
    return SearchQuery(
        args.pattern,
        folder,
        literal=args.literal,
        ignore_case=args.ignore_case,
        include=tuple(glob for glob in globs if glob),
        exclude=args.exclude,
        before=min(max(0, args.context, args.before), MAX_CONTEXT_LINES),
        after=min(max(0, args.context, args.after), MAX_CONTEXT_LINES),
    )


def _first(hits: Sequence[SearchHit], limit: int) -> Iterator[SearchHit]:
    """Yields hits until `limit` of them match."""
    left = limit
    for hit in hits:
        left -= not hit.context
        if left < 0:
            return
        yield hit


def _lines(hits: Iterator[SearchHit]) -> Iterator[str]:
    for path, each in groupby(hits, key=lambda hit: hit.path):
        yield one_line(path)
        for hit in each:
            yield numbered(hit.line, hit.text, "-" if hit.context else ":")


def _count(lines: int, show: str) -> str:
    return f": {lines}" if show == "count" else ""


def _notes(found: SearchResult, cut: str) -> Iterator[str]:
    if not found.hits:
        yield "No lines match."
    if cut:
        yield f"{cut}; narrow the search or raise limit."
    yield from found.notes


GREP = Tool("grep", GrepArgs, touches, run, action=Action.READ)
