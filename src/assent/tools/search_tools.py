"""The tools that search text: `grep` for lines, `search` for definitions.

`grep` names the definitions around its hits where that costs little, or shows all of them; `search`
finds where a name is defined, or lists what one file defines, for the common languages.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any, Literal

import msgspec

from assent.core.digest import sha256
from assent.core.errors import AssentError, UsageError
from assent.core.paths import display_path, one_line
from assent.core.plan.operation import FileState
from assent.core.text import counted
from assent.core.tool import (
    Action,
    FileBlock,
    ResourceAccess,
    ToolOutcome,
    without_missing_tools,
)
from assent.tools.definitions import Definition, definition, language_of
from assent.tools.files import existing_state, read_access_of, resolve_path, search_accesses
from assent.tools.outcome import (
    BYTES,
    LINES,
    LineRange,
    joined_ranges,
    limited_outcome,
    numbered,
    shown_line,
    truncated,
)
from assent.tools.outline import (
    MAX_BYTES,
    FileSymbols,
    Symbol,
    file_symbols,
    inner_outline,
    outline_entry,
)
from assent.tools.text_search import SearchHit, SearchQuery, SearchResult, search_text
from assent.tools.tool import HIDDEN_FIELD, Tool, ToolContext

# Definitions of the files that a call searched, as far as the work is bounded.


MAX_OUTLINED_BYTES = 2 << 20  # of the files whose definitions are looked at, in one search


class FileDefinitions:
    """The definitions in the files that were searched, as far as the work is bounded."""

    def __init__(self, context: ToolContext, room: int = MAX_OUTLINED_BYTES) -> None:
        self._overlay = context.overlay
        self._room = room
        self._known: dict[bytes, FileSymbols] = {}
        self._by_line: dict[bytes, dict[int, Symbol]] = {}
        self.contents: dict[bytes, bytes] = {}  # of the files that were looked at

    def symbol(self, hit: SearchHit, name: str) -> Symbol | None:
        """Returns what a line defines, with its range; None if that is not known."""
        if hit.path not in self._by_line:
            found = reversed(self.of(hit.path).symbols)
            self._by_line[hit.path] = {each.line: each for each in found}
        symbol = self._by_line[hit.path].get(hit.line)
        return symbol if symbol and (symbol.name == name or symbol.kind == "heading") else None

    def is_parsed(self, hit: SearchHit) -> bool:
        """Tells whether a line without a symbol defines nothing."""
        return self.of(hit.path).is_parsed

    def around(self, path: bytes, lines: Sequence[int]) -> dict[int, tuple[Symbol, ...]]:
        """Returns the definitions around lines, which are in order; the outermost comes first."""
        known = [each for each in self.of(path).symbols if each.is_shown and each.last]
        waiting = sorted(known, key=lambda each: (-each.first, each.last))
        open_ones: list[Symbol] = []
        found: dict[int, tuple[Symbol, ...]] = {}
        for line in lines:
            while waiting and waiting[-1].first <= line:
                after = waiting.pop()
                open_ones = [each for each in open_ones if each.last >= after.first]
                open_ones.append(after)
            open_ones = [each for each in open_ones if each.last >= line]
            if open_ones:
                found[line] = (open_ones[0], open_ones[-1])
        return found

    def of(self, path: bytes) -> FileSymbols:
        if path not in self._known:
            self._known[path] = self._outlined(path)
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
        self.contents[path] = content
        return file_symbols(path, content, sha256(content))


# grep: the lines of files that match a regular expression or a plain text.


MAX_CONTEXT_LINES = 20
MAX_MATCHES = 2000
COUNTED_AT_SIGHT = 10  # matching lines; of more, in several files, the number is said
OVERRUN = 5  # one part in so many: a result that is longer by less is shown whole,
OVERRUN_LINES = 25  # or by so many lines, unless few were asked for
MAX_NAMED = 12  # files that are named because something of them is not shown
BY_DEFINITION = "definition"
MAX_SHOWN_LINES = 200  # of a definition that is shown because its own head matches
MAX_AROUND_LINES = 60  # of one that is shown because of a line in it; of a longer one,
LINES_AROUND = 3  # so many lines before and after that line
MAX_OUTLINED = 80  # definitions in a class that is too long to show
LABEL_PERCENT = 10  # of a result, which the names of definitions may add to it
MAX_LABELLED_BYTES = 1 << 19  # of the files whose definitions are looked at only to name them
UNLABELLED = ("", "markdown", "tables")
TOP_LEVEL = "top level:"
# Escaped for no reason; not all versions of ripgrep accept it.
_ESCAPED = r"""(?<!\\)((?:\\\\)*)\\(["'`/:@,=!%;])"""
CONTEXT_CUT = f"Context is limited to {MAX_CONTEXT_LINES} lines; `read` shows more."
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
    pattern: Annotated[str, msgspec.Meta(description="regex")]
    path: Annotated[str, msgspec.Meta(description="file or folder")] = "."
    include: Annotated[str, msgspec.Meta(description="file glob")] = ""
    literal: Annotated[bool, msgspec.Meta(description="plain")] = False
    context: Annotated[int | str, msgspec.Meta(description="lines around, or definition")] = 0
    ignore_case: Annotated[bool, msgspec.Meta(description="a = A")] = False
    limit: Annotated[int, HIDDEN_FIELD] = 100
    before: Annotated[int, HIDDEN_FIELD] = 0
    after: Annotated[int, HIDDEN_FIELD] = 0
    show: Annotated[Literal["content", "files_with_matches", "count"], HIDDEN_FIELD] = "content"
    file_type: Annotated[str, HIDDEN_FIELD] = ""
    exclude: Annotated[str, HIDDEN_FIELD] = ""


def grep_touches(args: GrepArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses((read_access_of(context, args.path, "grep"),), "grep", args.pattern)


def run_grep(args: GrepArgs, context: ToolContext) -> ToolOutcome:
    folder = resolve_path(context, args.path)
    existing_state(context, folder)
    around = 0 if _is_by_definition(args) else _lines_around(args)
    found = search_text(context, _query(args, folder, around))
    limit = min(max(1, args.limit), MAX_MATCHES)
    limit += max(limit // OVERRUN, OVERRUN_LINES if limit >= 2 * OVERRUN_LINES else 0)
    matching = Counter(hit.path for hit in found.hits if not hit.context)
    notes = [] if found.hits else ["No lines match."]
    seen: dict[str, str] = {}
    blocks: tuple[FileBlock, ...] = ()
    if args.show != "content":
        rows = [one_line(path) + _count(n, args.show) for path, n in matching.items()]
        lines, count = rows[:limit], len(rows)
    elif _is_by_definition(args):
        whole = _WholeDefinitions(context, [*_first(found.hits, limit)])
        lines, count, seen = [*whole.lines], matching.total(), whole.seen
        blocks = tuple(whole.blocks)
        notes += whole.notes()
    else:
        lines = [*_grep_lines(context, [*_first(found.hits, limit)])]
        count = matching.total()
    text = "\n".join(lines)
    more = "at least " if found.cut else ""
    if count > limit and args.show != "content":
        notes.append(f"{limit} of {more}{count} files; narrow the search.")
    elif count > limit:
        notes.append(f"{limit} of {more}{_total(matching)}. {_rest(args, found.hits, limit)}")
    elif truncated(text) != text or (len(matching) > 1 and matching.total() > COUNTED_AT_SIGHT):
        notes.append(f"{more}{_total(matching)}.".capitalize())
    if max(around, args.before, args.after) > MAX_CONTEXT_LINES:
        notes.append(without_missing_tools(CONTEXT_CUT, context.absent))
    metadata: dict[str, Any] = {"count": count} | ({"seen": seen} if seen else {})
    outcome = limited_outcome(text, args.pattern, [*notes, *found.notes], **metadata)
    return msgspec.structs.replace(outcome, blocks=blocks)


def _total(matching: Counter[bytes]) -> str:
    """Returns how much was found, by which a model can check what it replaced."""
    lines = f"{matching.total()} matching lines"
    return f"{lines} in {len(matching)} files" if len(matching) > 1 else lines


def _rest(args: GrepArgs, hits: Sequence[SearchHit], limit: int) -> str:
    """Names the files with hits that are not shown, and the call that shows one of them.

    That is one of which nothing is shown, if there is such a file.
    """
    matches = [hit.path for hit in hits if not hit.context]
    left = Counter(matches[limit:])
    named = [f"{one_line(path)} {n}" for path, n in left.items()]
    more = len(named) - MAX_NAMED
    told = ", ".join([*named[:MAX_NAMED], *([counted(more, "more file")] if more > 0 else [])])
    begun = {*matches[:limit]}
    first = next((path for path in left if path not in begun), next(iter(left)))
    call: dict[str, object] = {"pattern": args.pattern, "path": one_line(first)}
    call |= {"literal": True} if args.literal else {}
    call |= {"ignore_case": True} if args.ignore_case else {}
    total = matches.count(first)
    call |= {"limit": total} if total > limit else {}
    return f"Not shown: {told}. Next: grep {msgspec.json.encode(call).decode()}"


def _is_by_definition(args: GrepArgs) -> bool:
    return isinstance(args.context, str) and args.context.strip().rstrip("s") == BY_DEFINITION


def _lines_around(args: GrepArgs) -> int:
    text = str(args.context).strip() or "0"
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise UsageError(
            f"context: {text[:40]!a} is neither a number of lines nor {BY_DEFINITION}."
        )
    return int(text)


def _query(args: GrepArgs, folder: bytes, around: int) -> SearchQuery:
    if args.file_type and args.file_type not in TYPES:
        raise UsageError(f"Unknown file type {args.file_type!a}; use include, such as *.py.")
    globs = (args.include, TYPES.get(args.file_type, ""))
    pattern = args.pattern if args.literal else re.sub(_ESCAPED, r"\1\2", args.pattern)
    return SearchQuery(
        pattern,
        folder,
        literal=args.literal,
        ignore_case=args.ignore_case,
        include=tuple(glob for glob in globs if glob),
        exclude=args.exclude,
        before=min(max(0, around, args.before), MAX_CONTEXT_LINES),
        after=min(max(0, around, args.after), MAX_CONTEXT_LINES),
    )


def _first(hits: Sequence[SearchHit], limit: int) -> Iterator[SearchHit]:
    """Yields hits until `limit` of them match."""
    left = limit
    for hit in hits:
        left -= not hit.context
        if left < 0:
            return
        yield hit


def _count(lines: int, show: str) -> str:
    return f": {lines}" if show == "count" else ""


def _hit_line(hit: SearchHit) -> str:
    return numbered(hit.line, hit.text, "-" if hit.context else ":")


def _grep_lines(context: ToolContext, hits: Sequence[SearchHit]) -> Iterator[str]:
    """Yields hits by file, and where that costs little, the definitions that they are in."""
    room = sum(len(hit.text) + len(str(hit.line)) + 3 for hit in hits) * LABEL_PERCENT // 100
    known = FileDefinitions(context, MAX_LABELLED_BYTES)
    for path, group in groupby(hits, key=lambda hit: hit.path):
        each, labels = [*group], dict[int, str]()
        if language_of(path) not in UNLABELLED:
            around = known.around(path, [hit.line for hit in each if not hit.context])
            for place in (-1, 0):  # the innermost definitions; the outermost, if that is too much
                labels = dict(_labels(each, {line: of[place] for line, of in around.items()}))
                if (cost := sum(len(label) + 1 for label in labels.values())) <= room:
                    room -= cost
                    break
                labels = {}
        yield one_line(path)
        for hit in each:
            if label := labels.get(hit.line):
                yield label
            yield _hit_line(hit)


def _labels(hits: Sequence[SearchHit], around: dict[int, Symbol]) -> Iterator[tuple[int, str]]:
    """Yields what a line is in where that changes, for the line before which it is said.

    A line that names a definition says it itself, except whose it is.
    """
    now, begins, last = "", 0, 0  # the definition of the hits before; the block of lines, its end
    for hit in hits:
        begins = begins if begins and hit.line == last + 1 else hit.line
        last = hit.line
        if hit.context:
            continue
        symbol = around.get(hit.line)
        name = symbol.qualified[:MAX_SIGNATURE_CHARS] if symbol else ""
        if name != now:
            owner = symbol.owner if symbol else ""
            is_known = bool(owner) and owner in (now, now.rpartition(".")[0])
            if symbol is None:
                yield begins, TOP_LEVEL
            elif symbol.line != hit.line:
                yield (
                    begins,
                    f"in .{symbol.name[:MAX_SIGNATURE_CHARS]}:" if is_known else f"in {name}:",
                )
            elif owner and not is_known:
                yield begins, f"in {owner[:MAX_SIGNATURE_CHARS]}:"
            now = name
        begins = 0


class _WholeDefinitions:
    """The whole definitions around hits, each once, as far as one result has room.

    A definition is shown whole if its own head matches or if it is short. Of a longer one the lines
    around the hit are shown; of a class that is too long, the outline.
    """

    def __init__(self, context: ToolContext, hits: Sequence[SearchHit]) -> None:
        self.lines: list[str] = []
        self.blocks: list[FileBlock] = []
        self.seen: dict[str, str] = {}
        self._known = FileDefinitions(context)
        self._omitted: dict[bytes, list[str]] = {}
        self._size = 0
        for path, group in groupby(hits, key=lambda hit: hit.path):
            self._add(path, [*group])

    def notes(self) -> list[str]:
        """Names the definitions that there was no room for, as the call that reads them."""
        if not self._omitted:
            return []
        (path, lines), *others = self._omitted.items()
        call: dict[str, object] = {"path": one_line(path), "lines": ",".join(lines)}
        more = [f"{one_line(each)}:{','.join(spans)}" for each, spans in others[:MAX_NAMED]]
        call |= {"more": more} if more else {}
        count = sum(map(len, self._omitted.values()))
        return [
            f"{counted(count, 'more definition')}. Next: read {msgspec.json.encode(call).decode()}"
        ]

    def _add(self, path: bytes, hits: Sequence[SearchHit]) -> None:
        around = self._known.around(path, [hit.line for hit in hits])
        inner = {line: found[-1] for line, found in around.items()}
        whole = [each for line, each in inner.items() if _is_shown_whole(each, line)]
        content = self._known.contents.get(path, b"").split(b"\n")
        rows = [one_line(path), *self._alone(path, hits, inner, whole, content)]
        if self._put(rows) and whole:
            self.seen[display_path(path)] = sha256(self._known.contents[path])
        names = {each.first: each.qualified for each in whole}
        for block in joined_ranges([LineRange(each.first, each.last) for each in whole]):
            inside = [name for first, name in names.items() if block.first <= first <= block.last]
            title = f"[lines {block.first}-{block.last}: {', '.join(inside)[:MAX_SIGNATURE_CHARS]}]"
            text = _file_lines(content, block.first, block.last)
            if self._put([title, *text]):
                made = FileBlock(one_line(path), block.first, "\n".join(text), title)
                self.blocks.append(made)
            else:
                self._omitted.setdefault(path, []).append(f"{block.first}-{block.last}")

    def _alone(
        self,
        path: bytes,
        hits: Sequence[SearchHit],
        inner: dict[int, Symbol],
        whole: Sequence[Symbol],
        content: Sequence[bytes],
    ) -> Iterator[str]:
        """Yields the hits that are not in a definition which is shown whole."""
        shown = [(each.first, each.last) for each in whole]
        rest = [hit for hit in hits if not any(a <= hit.line <= b for a, b in shown)]
        for symbol, group in groupby(rest, key=lambda hit: inner.get(hit.line)):
            each = [*group]
            if symbol is None:
                yield from map(_hit_line, each)
            elif symbol.kind == "class" and each[0].line == symbol.line:
                size = counted(symbol.last - symbol.first + 1, "line")
                yield f"[lines {symbol.span}: {symbol.qualified}, {size}: its outline]"
                yield from inner_outline(self._known.of(path).symbols, symbol, MAX_OUTLINED)
                yield from _lines_near(each[1:], symbol, content)
            else:
                yield f"in {symbol.qualified}, lines {symbol.span}:"
                yield from _lines_near(each, symbol, content)

    def _put(self, rows: Sequence[str]) -> bool:
        """Adds lines if there is room for all of them."""
        size = sum(len(row.encode("utf-8", "backslashreplace")) + 1 for row in rows)
        if self._size + size > BYTES or len(self.lines) + len(rows) > LINES:
            return False
        self.lines += rows
        self._size += size
        return True


def _is_shown_whole(symbol: Symbol, line: int) -> bool:
    size = symbol.last - symbol.first + 1
    return size <= (MAX_SHOWN_LINES if line <= symbol.line else MAX_AROUND_LINES)


def _file_lines(content: Sequence[bytes], first: int, last: int) -> list[str]:
    numbers = range(first, min(last, len(content)) + 1)
    return [shown_line(content[at - 1], first=at == 1) for at in numbers]


def _lines_near(
    hits: Sequence[SearchHit], symbol: Symbol, content: Sequence[bytes]
) -> Iterator[str]:
    """Yields hits with some lines around them, each once and none outside of the definition."""
    matching = {hit.line: hit for hit in hits}
    near = [
        LineRange(
            max(symbol.first, line - LINES_AROUND),
            min(symbol.last, len(content), line + LINES_AROUND),
        )
        for line in matching
    ]
    for place in joined_ranges(near):
        for at in range(place.first, place.last + 1):
            if at in matching:
                yield _hit_line(matching[at])
            else:
                yield numbered(at, shown_line(content[at - 1], first=at == 1), "-")


GREP = Tool("grep", GrepArgs, grep_touches, run_grep, action=Action.READ)


# search: where a name is defined, with its lines, its owner and its signature.


MAX_DEFINITIONS = 100
MAX_SIGNATURE_CHARS = 200  # characters of a signature


class SearchArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="empty: outline the file at path")] = ""
    path: Annotated[str, msgspec.Meta(description="file or folder")] = "."


def search_touches(args: SearchArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses((read_access_of(context, args.path, "search"),), "search", args.name)


def run_search(args: SearchArgs, context: ToolContext) -> ToolOutcome:
    path = resolve_path(context, args.path)
    state = existing_state(context, path)
    dotted = args.name.strip().replace("::", ".").removesuffix("()")
    if name := dotted.rpartition(".")[2]:
        return _defined(context, path, name, dotted)
    if not isinstance(state, FileState):
        raise UsageError("Give a name, or the path of one file to list its definitions.")
    found = search_text(context, SearchQuery(r"\w", path))
    ranges = FileDefinitions(context)
    lines = [line for hit in found.hits for line in _entry(hit, ranges)]
    notes = [] if lines else ["No definitions found."]
    return limited_outcome("\n".join(lines), one_line(path), [*notes, *found.notes])


def _entry(hit: SearchHit, ranges: FileDefinitions) -> Iterator[str]:
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
    ranges = FileDefinitions(context)
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


SEARCH = Tool(
    "search", SearchArgs, search_touches, run_search, Action.READ, on_demand="definitions"
)
