"""Text search: finds matching lines, in files and in staged contents.

Files are searched by ripgrep if it runs, staged contents by Python. Regular expressions end in
bounded time.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from math import factorial

import msgspec

from assent.core.errors import AssentError, UsageError
from assent.core.paths import is_inside
from assent.core.permission.sensitive_paths import secret_reason
from assent.core.plan.operation import FileState
from assent.core.text import counted
from assent.tools.files import (
    RipgrepOutput,
    is_plan_file,
    is_private,
    list_files,
    run_ripgrep,
)
from assent.tools.overlay import Overlay
from assent.tools.path_patterns import PathGlob
from assent.tools.tool import ToolContext

# Safe regular expressions: only those of a model that Python can run in bounded time.


LITERALLY = "Set `literal` to search for it as plain text."
STEPS = 20_000_000  # that one line may take, about a second
MIN_REACH = 100  # characters; an expression that reaches no further is of no use
MAX_SMALL_REPEAT = 8  # a repeat up to so often only multiplies the ways

_TOKEN = (
    r"(?s)\\(?P<escaped>.)"
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|\((?P<opens>\?(?:[:=!]|<[=!]|P?<\w+>))?"
    r"|\{(?P<least>\d*)(?P<range>,?)(?P<most>\d*)\}"
    r"|."
)


def compile_regex(pattern: str, *, literal: bool = False) -> tuple[re.Pattern[str], int]:
    """Returns the expression, and how far it may look into a line; refuses unbounded ones."""
    if literal:
        return re.compile(re.escape(pattern)), STEPS
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{pattern!a} is not a valid regular expression: {error}. {LITERALLY}"
        ) from None
    far = regex_reach(pattern)
    if not far:
        raise UsageError(
            "This expression may be too slow without ripgrep. Use `literal`, or one with fewer "
            "repetitions."
        )
    return expression, far


def regex_reach(pattern: str) -> int:
    """Returns how many characters of a line an expression may be run on; 0 if it may not run.

    An expression explodes if a repeat contains a repeat or a choice. Any other takes as many steps
    as the line has characters, to the power of its repeats, for each of its choices.
    """
    scan = _RegexScan()
    tokens = re.finditer(_TOKEN, pattern.removeprefix("(?i)"))
    if not all(scan.take(token) for token in tokens) or scan.depth:
        return 0
    power = scan.repeats + 1
    far = int((STEPS * factorial(power) / scan.ways) ** (1 / power))
    return far if far >= MIN_REACH else 0


class _RegexScan:
    """Scans an expression once and remembers what each open group contains."""

    def __init__(self) -> None:
        self._manifold = [False]  # whether a group holds a repeat or a choice
        self._closed = False  # whether the last atom is a group that does
        self.repeats = 0
        self.ways = 1  # in which the rest can match

    @property
    def depth(self) -> int:
        return len(self._manifold) - 1

    def take(self, token: re.Match[str]) -> bool:
        """Adds one token; False if the expression may explode."""
        sign = token[0]
        if sign in ("*", "+", "?") or (token["range"] is not None and sign != "{}"):
            return self._repeat(token)
        self._closed = False
        if sign[0] == "(":
            self._manifold.append(False)
            return sign != "(" or not token.string.startswith("?", token.end())
        if sign == ")":
            return self._close()
        if sign == "|":
            return self._choose(2)
        return not (token["escaped"] or "").isdecimal()  # a reference back

    def _close(self) -> bool:
        if not self.depth:
            return False
        self._closed = self._manifold.pop()
        self._manifold[-1] |= self._closed
        return True

    def _repeat(self, token: re.Match[str]) -> bool:
        most = _most(token)
        if most == 1:
            return self._choose(2)
        if self._closed:
            return False
        self.repeats += most > MAX_SMALL_REPEAT
        return self._choose(1 if most > MAX_SMALL_REPEAT else most)

    def _choose(self, ways: int) -> bool:
        self._manifold[-1] = True
        self.ways = min(self.ways * ways, STEPS)
        return True


def _most(token: re.Match[str]) -> int:
    """Returns the maximum count of a repeat; any large number is treated the same."""
    if token[0] == "?":
        return 1
    if token["range"] is None or (token["range"] and not token["most"]):
        return MAX_SMALL_REPEAT + 1
    return max(2, int((token["most"] or token["least"])[:6]))


MAX_LINE_CHARS = 500  # characters of a line that are shown
MAX_FILE_BYTES = 4 << 20  # bytes of a file that Python searches
SECONDS = 10.0  # that Python searches for
MAX_UNTESTED_FILES = 2_000  # files that Python searches sooner than the sandbox is tested
BINARY_PROBE_BYTES = 8 << 10  # bytes in which a zero makes a file binary

_RECORD = rb"([^\0]*)\0(\d+)([:-])([^\n]*)\n"
_OPTIONS = (
    b"--line-number", b"--with-filename", b"--no-heading", b"--null", b"--no-context-separator",
    b"--sort=path", b"--max-columns=%d" % MAX_LINE_CHARS, b"--max-columns-preview",
)  # fmt: skip


class SearchQuery(msgspec.Struct, frozen=True):
    """What to search for, and where."""

    pattern: str
    folder: bytes
    literal: bool = False
    word: bool = False  # not in the middle of another word
    ignore_case: bool = False
    include: tuple[str, ...] = ()  # globs that a file has to match, or must not match after `!`
    exclude: str = ""
    before: int = 0  # lines of context
    after: int = 0


class SearchHit(msgspec.Struct, frozen=True):
    """A line of a file; `context` if it is only near a line that matches."""

    path: bytes
    line: int
    text: str
    context: bool = False


class SearchResult(msgspec.Struct, frozen=True):
    """The hits by path and line, and what was omitted and why."""

    hits: tuple[SearchHit, ...]
    notes: tuple[str, ...] = ()
    cut: bool = False  # the search was stopped before it had seen everything


def search_text(context: ToolContext, query: SearchQuery) -> SearchResult:
    """Searches files with the draft applied; files that need the user's permission are omitted."""
    if not query.pattern or "\0" in query.pattern or "\n" in query.pattern:
        raise UsageError("The pattern is empty or has several lines; a match is within one line.")
    filtered = _SearchFilter(context, query)
    alone = _is_small_file(context.overlay, query)  # then no program need be started
    printed, paths = (None, (query.folder,)) if alone else _found_by_program(context, query)
    notes: list[str] = []
    if printed is None:
        hits = list(_looked(context.overlay, query, filter(filtered.takes, paths), notes))
    else:
        drafted = context.overlay.drafted()
        found = _records(printed)
        hits = [hit for hit in found if hit.path not in drafted and filtered.takes(hit.path)]
        coming = [p for p, after in drafted.items() if after and is_inside(p, query.folder)]
        hits += _drafted(context.overlay, query, filter(filtered.takes, coming), notes)
        notes += [f"The search was stopped early ({printed.cut})."] if printed.cut else []
    hits.sort(key=lambda hit: (hit.path, hit.line))
    return SearchResult(tuple(hits), (*filtered.notes(), *notes), cut=bool(notes))


def _found_by_program(
    context: ToolContext, query: SearchQuery
) -> tuple[RipgrepOutput | None, tuple[bytes, ...]]:
    """Searches by ripgrep; returns the files to search here if no program can.

    Until the sandbox has been tested, a simple search of a few files does not wait for that.
    """
    simple = query.literal or regex_reach(query.pattern) > MAX_FILE_BYTES
    try:
        printed = run_ripgrep(context, _options(query), query.folder, wait=not simple)
    except UsageError as error:
        advice = "" if query.literal else f" {LITERALLY}"
        raise UsageError(f"{error.message}{advice}") from None
    if printed is not None:
        return printed, ()
    paths = tuple(list_files(context, query.folder).files)
    if simple and len(paths) > MAX_UNTESTED_FILES:
        printed = run_ripgrep(context, _options(query), query.folder)
    return printed, paths


def _is_small_file(overlay: Overlay, query: SearchQuery) -> bool:
    """Tells whether a single file is searched that is small enough for Python."""
    state = overlay.state(query.folder)
    small = isinstance(state, FileState) and state.size <= MAX_FILE_BYTES
    return small and (query.literal or regex_reach(query.pattern) > MAX_FILE_BYTES)


class _SearchFilter:
    """Decides which files are searched, once for each path."""

    def __init__(self, context: ToolContext, query: SearchQuery) -> None:
        self._context = context
        self._folder = query.folder
        self._from = len(query.folder) + 1 if query.folder else 0
        self._wanted = [PathGlob(glob) for glob in query.include if not glob.startswith("!")]
        without = (query.exclude, *[glob[1:] for glob in query.include if glob.startswith("!")])
        self._unwanted = [PathGlob(glob) for glob in without if glob]
        self._known: dict[bytes, bool] = {}
        self._skipped: list[bytes] = []

    def takes(self, path: bytes) -> bool:
        if path not in self._known:
            self._known[path] = self._decided(path)
        return self._known[path]

    def _decided(self, path: bytes) -> bool:
        below = path[self._from :] or path
        if not all(each.matches(below) for each in self._wanted):
            return False
        if any(each.covers(below) for each in self._unwanted):
            return False
        if is_plan_file(self._context, path, self._folder):
            return False
        readable = self._context.readable(path) and not is_private(self._context, path)
        self._skipped += [] if readable else [path]
        return readable

    def notes(self) -> Iterator[str]:
        """Yields how many files were not searched, by reason."""
        secrets = sum(bool(secret_reason(path)) for path in self._skipped)
        if secrets:
            yield f"Skipped {counted(secrets, 'file')} that may contain secrets."
        if ruled := len(self._skipped) - secrets:
            yield f"Skipped {counted(ruled, 'file')} that may not be read, or only with permission."


def _options(query: SearchQuery) -> list[bytes]:
    options = [*_OPTIONS, b"--before-context=%d" % query.before]
    options += [b"--after-context=%d" % query.after]
    options += [b"--ignore-case"] if query.ignore_case else []
    options += [b"--fixed-strings"] if query.literal else []
    options += [b"--word-regexp"] if query.word else []
    return [*options, b"--regexp=" + query.pattern.encode("utf-8", "surrogateescape")]


def _records(printed: RipgrepOutput) -> Iterator[SearchHit]:
    for path, line, sign, text in re.findall(_RECORD, printed.content):
        yield SearchHit(
            path.removeprefix(b"./"), int(line), text.decode("utf-8", "replace"), sign == b"-"
        )


def _drafted(
    overlay: Overlay, query: SearchQuery, paths: Iterable[bytes], notes: list[str]
) -> Iterator[SearchHit]:
    """Searches staged contents; an expression that Python cannot bound is only noted."""
    waiting = list(paths)
    try:
        yield from _looked(overlay, query, waiting, notes) if waiting else ()
    except UsageError:
        notes.append(f"{len(waiting)} staged files were not searched: use a simpler expression.")


def _looked(
    overlay: Overlay, query: SearchQuery, paths: Iterable[bytes], notes: list[str]
) -> Iterator[SearchHit]:
    expression, far = compile_regex(query.pattern, literal=query.literal)
    if query.word:
        expression = re.compile(rf"(?<!\w)(?:{expression.pattern})(?!\w)")
    if query.ignore_case:
        expression = re.compile(expression.pattern, re.IGNORECASE)
    matches = _timed(expression, far, time.monotonic() + SECONDS)
    try:
        for path in paths:
            yield from _in_file(overlay, path, matches, query)
    except TimeoutError:
        notes.append(f"The search was stopped after {SECONDS:g} seconds.")


def _timed(expression: re.Pattern[str], far: int, until: float) -> Callable[[str], bool]:
    """Returns a search of the beginning of a line, which raises when the time is up."""

    def matches(line: str) -> bool:
        if time.monotonic() > until:
            raise TimeoutError
        return expression.search(line, 0, far) is not None

    return matches


def _in_file(
    overlay: Overlay, path: bytes, matches: Callable[[str], bool], query: SearchQuery
) -> Iterator[SearchHit]:
    try:
        content = overlay.content(path, MAX_FILE_BYTES)
    except AssentError:
        return  # too large, a symlink's own kind of trouble, or gone: as ripgrep passes it over
    if b"\0" in content[:BINARY_PROBE_BYTES]:
        return
    lines = [line.rstrip("\r") for line in content.decode("utf-8", "replace").split("\n")]
    lines = lines[:-1] if lines[-1] == "" else lines
    found = {at for at, line in enumerate(lines) if matches(line)}
    near = {n for at in found for n in range(at - query.before, at + query.after + 1)}
    for at in sorted(near & set(range(len(lines)))):
        yield SearchHit(path, at + 1, lines[at][:MAX_LINE_CHARS], at not in found)
