"""Syntax: which role each part of a line of code has, by the language of its file."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from time import thread_time
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from assent.core.text.hidden_chars import LONG_LINE
from assent.render.lines import Role, Span, Spans, merged_spans, with_hidden_marked

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Token: TypeAlias = tuple[int, Any, str]
Result = TypeVar("Result")

# What one text may take in characters, and several together in seconds of the processor; the rest
# is plain. Some lexers look for the end of a comment again and again where there is none.
LIMIT: Final = 30_000
MOST: Final = 0.5

# The languages that are highlighted: names in fences, and the ends of file names. Pygments knows
# many more; of these it was tested that no text makes it slow (tests/render/test_syntax.py).
_LANGUAGES: Final[dict[str, str]] = {
    "bash": "sh bash zsh shell console",
    "c": "c h",
    "cmake": "cmake",
    "cpp": "cpp cc cxx hpp hh hxx c++",
    "csharp": "cs csharp",
    "css": "css",
    "dart": "dart",
    "docker": "dockerfile docker containerfile",
    "elixir": "ex exs elixir",
    "go": "go golang",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "html": "html htm vue svelte",
    "ini": "ini cfg conf editorconfig",
    "java": "java",
    "javascript": "js mjs cjs javascript node",
    "json": "json jsonl json5 webmanifest",
    "jsx": "jsx",
    "kotlin": "kt kts kotlin",
    "lua": "lua",
    "make": "mk makefile make",
    "nix": "nix",
    "perl": "pl pm perl",
    "php": "php",
    "powershell": "ps1 psm1 powershell",
    "protobuf": "proto protobuf",
    "python": "py pyi pyw python python3",
    "ruby": "rb ruby rake gemfile rakefile",
    "rust": "rs rust",
    "scala": "scala sbt",
    "scss": "scss",
    "sql": "sql",
    "swift": "swift",
    "terraform": "tf tfvars hcl terraform",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "ts mts cts typescript",
    "xml": "xml svg xsd plist",
    "yaml": "yaml yml",
    "zig": "zig",
}
_AROUND_NAME: Final = str.maketrans("{},", "   ")
LANGUAGES: Final = tuple(_LANGUAGES)
_BY_NAME: Final = {name: of for of, names in _LANGUAGES.items() for name in (of, *names.split())}

# By the beginning of a token's kind; the longest one counts.
_ROLES: Final[dict[str, Role]] = {
    "Keyword": "keyword",
    "Keyword.Constant": "constant",
    "Keyword.Type": "type",
    "Operator.Word": "keyword",
    "Name.Attribute": "tag",
    "Name.Builtin": "type",
    "Name.Builtin.Pseudo": "constant",
    "Name.Class": "type",
    "Name.Constant": "constant",
    "Name.Decorator": "tag",
    "Name.Exception": "type",
    "Name.Function": "function",
    "Name.Tag": "tag",
    "Literal.Number": "constant",
    "Literal.String": "string",
    "Comment": "comment",
    "Comment.Preproc": "tag",
    "Generic.Heading": "heading",
}


def language_of_file(path: str) -> str:
    """Returns the language of a file by its name; empty if it is not known."""
    name = path.rpartition("/")[2].lower()
    return _BY_NAME.get(name) or _BY_NAME.get(name.rpartition(".")[2], "")


def language_named(name: str) -> str:
    """Returns the language that the first word after a fence names; empty if it is not known."""
    words = name.translate(_AROUND_NAME).split()
    return _BY_NAME.get(words[0].removeprefix(".").lower(), "") if words else ""


class HighlightTime:
    """The processor time that highlighting may take; the texts that share it take no more."""

    def __init__(self, most: float = MOST, clock: Callable[[], float] = thread_time) -> None:
        self._most = most
        self._clock = clock
        self._spent = 0.0

    @property
    def is_left(self) -> bool:
        return self._spent <= self._most

    def spend(self, work: Callable[[], Result]) -> Result:
        """Does a piece of work, and counts what it took."""
        start = self._clock()
        try:
            return work()
        finally:
            self._spent += self._clock() - start


class HighlightedCode:
    """The spans of lines of code, worked out as far as lines were asked for."""

    def __init__(
        self, lines: Sequence[str], language: str, time: HighlightTime | None = None
    ) -> None:
        self._lines = lines
        self._spans: list[Spans] = []
        self._tokens = _tokens(lines, language) if language else None
        self._time = time or HighlightTime()

    def spans(self, at: int) -> Spans:
        """Returns the spans of a line; they make up the line exactly."""
        while self._tokens and at >= len(self._spans) and self._time.is_left:
            found = self._time.spend(partial(next, self._tokens, None))
            if found is None:
                self._tokens = None
                break
            self._spans.append(found)
        return self._spans[at] if at < len(self._spans) else _plain(self._lines[at])


def code_spans(
    lines: Sequence[str], language: str, time: HighlightTime | None = None
) -> list[Spans]:
    """Returns the spans of all lines of a code."""
    code = HighlightedCode(lines, language, time)
    return [code.spans(at) for at in range(len(lines))]


def _plain(line: str) -> Spans:
    return with_hidden_marked((Span(line),)) if line else ()


def _tokens(lines: Sequence[str], language: str) -> Iterator[Spans]:
    """Yields the spans of each line, up to the first that is very long or beyond the limit."""
    text = "\n".join(_highlightable(lines))
    line: list[Span] = []
    at = 0
    for start, kind, value in _lexer(language).get_tokens_unprocessed(text):
        if start < at:  # no lexer does, and none could show a character twice
            continue
        role = _role(kind)
        pieces = [(text[at:start], "plain"), (text[start : start + len(value)], role)]
        at = start + len(value)
        for piece, of in pieces:
            first, *others = piece.split("\n")
            line.append(Span(first, of))
            for other in others:
                yield with_hidden_marked(merged_spans(line))
                line = [Span(other, of)]
    if text and at == len(text):
        yield with_hidden_marked(merged_spans(line))


def _highlightable(lines: Sequence[str]) -> Iterator[str]:
    left = LIMIT
    for line in lines:
        left -= len(line) + 1
        if left < 0 or len(line) > LONG_LINE:
            return
        yield line


@cache
def _lexer(language: str) -> "Lexer":
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language)


@cache
def _role(kind: object) -> Role:
    name = str(kind).removeprefix("Token.")
    while name:
        if name in _ROLES:
            return _ROLES[name]
        name = name.rpartition(".")[0]
    return "plain"
