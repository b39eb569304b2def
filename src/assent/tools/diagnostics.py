"""Diagnostics: syntax errors that an edit leaves in a file, for its result (F132).

Files are only parsed, never run: Python, JSON, TOML and YAML, by the name of the file.
"""

import json
import re
import sys
import threading
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

import msgspec

from assent.core.errors import AssentError
from assent.core.paths import base_name, one_line
from assent.core.plan.operation import FileState, WriteFile
from assent.core.text.hidden_chars import visible_line
from assent.core.tool import EditEffect, ToolOutcome
from assent.tools.tool import ToolContext

MAX_TOLD: Final = 3  # errors in one result; each parser stops at the first of a file
MAX_LINE: Final = 200  # characters of the line that is shown
MAX_BYTES: Final = 1 << 20  # of a file that is checked
MAX_YAML: Final = 1 << 18  # the parser of YAML is slow
MAX_NESTED: Final = 500  # brackets of YAML in each other, and parts of a key of TOML
MAX_PURE_YAML: Final = 1 << 16  # and slower where it is not compiled


class SyntaxProblem(msgspec.Struct, frozen=True):
    """Where a file cannot be parsed, and why; lines and columns count from 1."""

    line: int
    column: int
    message: str
    text: str = ""  # the line itself

    def is_of(self, other: "SyntaxProblem") -> bool:
        """Tells whether it is the same error, maybe moved by lines above it."""
        return (self.message, self.text.strip()) == (other.message, other.text.strip())


def with_diagnostics(outcome: ToolOutcome, context: ToolContext) -> ToolOutcome:
    """Adds the syntax errors that an edit leaves behind to its result, and to its title."""
    if outcome.failed or not isinstance(outcome.effect, EditEffect):
        return outcome
    found = list(_found(outcome.effect, context))
    if not found:
        return outcome
    rows = [row for path, problem, old in found[:MAX_TOLD] for row in _rows(path, problem, old)]
    more = len(found) - MAX_TOLD
    rows += [f"[{more} more file{'s' if more > 1 else ''} with a syntax error]"] if more > 0 else []
    path, first, _ = found[0]
    title = f"{outcome.title}; syntax error in {one_line(path)}:{first.line}:{first.column}"
    return msgspec.structs.replace(outcome, text="\n".join([outcome.text, *rows]), title=title)


def _rows(path: bytes, problem: SyntaxProblem, old: bool) -> Iterator[str]:
    where = f"{one_line(path)}, line {problem.line}, column {problem.column}"
    before = " It was there before this edit." if old else ""
    yield f"[Syntax error in {where}: {problem.message}.{before}]"
    if problem.text.strip():
        cut = "…" if len(problem.text) > MAX_LINE else ""
        yield f"{problem.line}: {visible_line(problem.text[:MAX_LINE])}{cut}"


def _found(effect: EditEffect, context: ToolContext) -> Iterator[tuple[bytes, SyntaxProblem, bool]]:
    """Yields errors that are new, and once those that a file had before its first edit."""
    drafted = context.overlay.drafted()
    for op in effect.operations:
        if not isinstance(op, WriteFile) or op.after.digest not in effect.contents:
            continue
        problem = syntax_problem(op.path, effect.contents[op.after.digest])
        if problem is None:
            continue
        before = _problem_before(op.path, op.before, context)
        old = before is not None and problem.is_of(before)
        if not (old and op.path in drafted):  # else it was told with the edit before this one
            yield op.path, problem, old


def _problem_before(
    path: bytes, before: FileState | None, context: ToolContext
) -> SyntaxProblem | None:
    if before is None or before.kind != "file" or before.size > MAX_BYTES:
        return None
    try:
        return syntax_problem(path, context.overlay.content(path))
    except (AssentError, OSError):
        return None


def syntax_problem(path: bytes, content: bytes) -> SyntaxProblem | None:
    """Returns the first syntax error of a file; None if there is none, or it is unknown."""
    check = _check_of(path)
    if check is None or len(content) > MAX_BYTES or b"\0" in content:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    try:
        problem = check(text)
    except (RecursionError, MemoryError):
        return None  # it is nested too deeply for the parser here, maybe not for another one
    except Exception:  # a parser that breaks says nothing about the file, and stops no edit
        return None
    return None if problem is None else _with_line(problem, text)


def _with_line(problem: SyntaxProblem, text: str) -> SyntaxProblem:
    lines = re.split(r"\r\n|\r|\n", text)
    at = max(1, min(problem.line, len(lines)))
    return msgspec.structs.replace(
        problem, line=at, column=max(1, problem.column), text=lines[at - 1]
    )


# Python


# Filters of warnings belong to the whole process: one check at a time changes them.
_WARNINGS: Final = threading.Lock()
# What later versions allow, and this one takes for an error: first version, message, line.
_NEWER: Final = (
    ((3, 12), r"f-string", r""),
    ((3, 12), r"", r"\s*(type\s+\w+|class\s+\w+\s*\[|(async\s+)?def\s+\w+\s*\[)"),
    ((3, 14), r"multiple exception types", r""),
    ((3, 14), r"", r".*\b[tT][rR]?['\"]|.*\b[rR][tT]['\"]"),
    ((3, 15), r"", r"\s*lazy\s+(import|from)\b"),
)


def _python(text: str) -> SyntaxProblem | None:
    if len(text) > _LONG and _PIECES.are_valid(text):
        return None
    try:
        _parse(text)
    except SyntaxError as error:
        message = (error.msg or "invalid syntax").rstrip(".")
        line = error.lineno or 1
        if _is_newer(message, text, line):
            return None
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return SyntaxProblem(line, error.offset or 1, f"{message} (Python {version})")
    except ValueError:  # a surrogate or a null character
        return None
    return None


def _parse(*texts: str) -> None:
    """Parses Python and throws the result away; nothing is run."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an unusual escape is no syntax error
        for text in texts:
            compile(text, "<edit>", "exec", dont_inherit=True)


class _KnownPieces:
    """Remembers valid pieces of long files, since most of a file is the same after an edit.

    Pieces that are valid one by one are valid together, except for two statements that depend on
    what is above them. A piece that is not valid may have been cut inside a string: then, as in any
    doubt, the whole file decides.
    """

    def __init__(self) -> None:
        self._valid: dict[int, bool] = {}  # by the hash of a piece
        # Valid files, the newest first, and where their pieces begin.
        self._files: list[tuple[str, list[int]]] = []

    def are_valid(self, text: str) -> bool:
        """Tells whether a file is surely valid."""
        if any(word in text for word in _DEPENDENT):
            return False
        before, after = self._unchanged(text)
        start, end = before[-1], after[0] if after else len(text)
        lines = _OUTERMOST.finditer(text, start + 1, end)
        between = [line.start() for line in lines if not hash(line[0]) % _EVERY]
        if len(self._valid) > _MOST:
            self._valid.clear()
        for first, last in pairwise([start, *between, end]):
            key = hash(piece := text[first:last])
            if key not in self._valid:
                self._valid[key] = _is_valid(piece)
            if not self._valid[key]:
                return False
        self._files = [(text, [*before, *between, *after]), *self._files[: _FILES - 1]]
        return True

    def _unchanged(self, text: str) -> tuple[list[int], list[int]]:
        """Returns where pieces begin above a change of a known file, and where below it.

        The piece that begins last above it, and ends where the first one below it begins, has to be
        looked at; there is always one. A line is only a beginning by what is just above it, too.
        """
        for known, cuts in self._files:
            if known[:_ALIKE] != text[:_ALIKE] and known[-_ALIKE:] != text[-_ALIKE:]:
                continue
            grown = len(text) - len(known)
            same = _same_start(known, text)
            rest = min(len(known), len(text)) - same
            tail = _same_start(known[: -rest - 1 : -1], text[: -rest - 1 : -1])
            before = cuts[: max(1, bisect_right(cuts, same) - 1)]
            below = bisect_left(cuts, len(known) - tail + _ABOVE)
            return before, [cut + grown for cut in cuts[max(below, len(before)) :]]
        return [0], []


def _same_start(one: str, other: str) -> int:
    """Returns how many characters two texts have in common before they differ."""
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def _is_valid(piece: str) -> bool:
    try:
        _parse(piece)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_PIECES: Final = _KnownPieces()
_LONG: Final = 1 << 13  # characters of a file that is worth cutting
_EVERY: Final = 32  # statements in a piece, about; which one begins it depends on its own line only
_MOST: Final = 10_000  # pieces that are remembered
_FILES: Final = 4  # that are remembered as a whole
_ALIKE: Final = 64  # characters at the start or the end by which one is recognised
_ABOVE: Final = 3  # characters above a line that say whether it may begin a statement
_DEPENDENT: Final = ("__future__", "global ", "global\t", "global\\", "global\f")
# A line that probably begins a statement of the module.
_OUTERMOST: Final = re.compile(
    r"(?<!\\\n)(?<!\\\r\n)^(?!(?:else|elif|except|finally|case)\b)[A-Za-z_].*", re.MULTILINE
)


def _is_newer(message: str, text: str, line: int) -> bool:
    """Tells whether an error may be what a later version of Python allows."""
    lines = text.split("\n")
    at = lines[line - 1] if 0 < line <= len(lines) else ""
    return any(
        sys.version_info[:2] < version and re.match(said, message) and re.match(written, at)
        for version, said, written in _NEWER
    )


# JSON, also with comments


_LENIENT_NAME: Final = re.compile(
    r"(ts|js)config.*\.json|\.?(eslintrc|babelrc|swcrc|jshintrc|jscsrc|hintrc)(\.json)?"
    r"|devcontainer\.json|deno\.json|api-extractor\.json|typedoc\.json|language-configuration\.json"
    r"|.*\.(jsonc|code-workspace|code-snippets|sublime-[a-z]+)|renovate\.json|wrangler\.json"
    r"|turbo\.json|\.lintstagedrc|biome\.json|angular\.json|project\.json|nx\.json"
)
_LENIENT_FOLDERS: Final = (b".vscode", b".devcontainer", b".zed")
# A string or comment without an end goes on to the end, so that a search is linear.
_STRING: Final = r'("(?:[^"\\\n]|\\.)*"?)'
_COMMENTS: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_STRING}|,(?=\s*[\]}}])", re.DOTALL)


def _json(text: str) -> SyntaxProblem | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return None if _is_template(text) else SyntaxProblem(error.lineno, error.colno, error.msg)
    return None


def _json_with_comments(text: str) -> SyntaxProblem | None:
    """Checks JSON that may have comments and last commas; every position stays the same."""
    return _json(_LAST_COMMA.sub(_blank, _COMMENTS.sub(_blank, text)) if text.strip() else "{}")


def _blank(found: re.Match[str]) -> str:
    return found[1] or re.sub(r"[^\n]", " ", found[0])


def _is_template(text: str) -> bool:
    """Tells whether a file is made into another one first, so that it need not be valid itself."""
    return re.search(r"(?<!\$)\{\{|\{%", text) is not None


# TOML


_TOML_PLACE: Final = re.compile(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)$")


def _toml(text: str) -> SyntaxProblem | None:
    import tomllib

    if any(line.count(".", 0, line.find("=")) > MAX_NESTED for line in text.split("\n")):
        return None  # the parser takes time by the square of it
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if _is_template(text):
            return None
        message = str(error)
        place = _TOML_PLACE.search(message)
        line, column = (place[1], place[2]) if place and place[1] else (0, 0)
        where = int(line) or text.count("\n") + (not text.endswith("\n"))
        return SyntaxProblem(where, int(column), _TOML_PLACE.sub("", message))
    return None


# YAML


def _yaml(text: str) -> SyntaxProblem | None:
    """Reads the events of all documents; aliases are not followed, and no value is made."""
    import yaml  # type: ignore[import-untyped]

    loader = getattr(yaml, "CSafeLoader", None)
    if len(text) > (MAX_YAML if loader else MAX_PURE_YAML) or _is_deep(text):
        return None
    try:
        for _ in yaml.parse(text, Loader=loader or yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        if _is_template(text):
            return None
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "not valid YAML"
        return SyntaxProblem(mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, message)
    except yaml.YAMLError:
        return None  # a character that YAML does not know: not about the syntax
    return None


def _is_deep(text: str) -> bool:
    """Tells whether brackets may be in each other more often than the parser is quick with."""
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = max(0, depth + (1 if bracket in "[{" else -1))
        if depth > MAX_NESTED:
            return True
    return False


_CHECKS: Final[Mapping[str, Callable[[str], SyntaxProblem | None]]] = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), _python),
    **dict.fromkeys((".json", ".ipynb", ".geojson", ".webmanifest"), _json),
    **dict.fromkeys((".toml",), _toml),
    **dict.fromkeys((".yaml", ".yml"), _yaml),
}


def _check_of(path: bytes) -> Callable[[str], SyntaxProblem | None] | None:
    name = base_name(path).decode("utf-8", "replace").lower()
    folders = path.lower().split(b"/")[:-1]
    if _LENIENT_NAME.fullmatch(name) or (
        name.endswith(".json") and any(each in _LENIENT_FOLDERS for each in folders)
    ):
        return _json_with_comments
    _, dot, ending = name.rpartition(".")
    return _CHECKS.get(dot + ending)
