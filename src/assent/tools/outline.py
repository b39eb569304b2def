"""Outline: what a file defines, and from which line to which, so that a model reads just that.

Python is parsed; other languages are matched line by line, and the end of a definition is found by
its indentation, which its brackets have to confirm. An end that is not certain is not given. It
never fails: a file that cannot be parsed is matched by lines, too.
"""

import re
import warnings
from _ast import (
    AST,
    AnnAssign,
    Assign,
    AsyncFunctionDef,
    Attribute,
    ClassDef,
    FunctionDef,
    Module,
    Name,
    PyCF_ONLY_AST,
)
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from assent.core.paths import base_name
from assent.core.text import counted
from assent.tools.definitions import definition, language_of

MAX_ENTRIES: Final = 100  # definitions that are shown
MAX_SIGNED: Final = 30  # so many each with its line; of more, nested ones are only named
SHORT_LINES: Final = 3  # of a nested definition that is named without its lines,
FEW_NAMES: Final = 5  # if there are more than so many beside it
MAX_ENTRY_CHARS: Final = 100
MAX_NESTED: Final = 300  # names of nested definitions, where there are too many to show each
MAX_RANGES: Final = 200  # nested definitions whose lines are named, too
MANY_METHODS: Final = 12  # of a class; then its operators are not listed
MAX_BYTES: Final = 1 << 20  # of a file that is looked at
MAX_PARSED_BYTES: Final = 256 << 10  # of Python; a longer file is matched by lines
MAX_REMEMBERED: Final = 32
MAX_STEPS: Final = 300_000  # rows that are looked at for the ends of a file's definitions

_SHOWN_KINDS: Final = ("class", "type", "function", "method", "module", "heading", "impl")
# What looks like a definition where a name before a parenthesis is one.
_KEYWORDS: Final = (
    "if", "for", "foreach", "while", "switch", "catch", "return", "else", "do", "with", "match",
    "when", "unless", "until", "sizeof", "synchronized", "using", "lock", "await", "yield", "throw",
    "new", "assert",
)  # fmt: skip
_MARKDOWN: Final = (b"md", b"markdown", b"mdx")
_PYTHON: Final = (b"py", b"pyi", b"pyw")
_BRACED: Final = (
    "javascript", "go", "rust", "java", "kotlin", "c", "php", "shell", "proto", "terraform",
)  # fmt: skip
_ENDED: Final = ("ruby", "lua", "elixir")  # by the word `end`
_IMPL: Final = re.compile(r"\s*(?:unsafe\s+)?impl\b")  # of Rust; it defines no name of its own
_IMPL_NAME: Final = re.compile(r"\bimpl\s*(?:.*\sfor\s+)?[&!]?(?:\w+::)*(\w+)")
_OWNER: Final = {  # that stands beside the name
    "go": re.compile(r"func\s+\(\s*(?:\w+\s+)?\*?(\w+)"),
    "c": re.compile(r"[^(]*?\b(\w+)::~?\w+\s*\("),
}
_OPERATOR: Final = re.compile(
    r"__(?:eq|ne|lt|le|gt|ge|hash|bool|len|iter|contains|repr|str|format|bytes|sizeof|dir|copy"
    r"|deepcopy|reduce|reduce_ex|getstate|setstate|index|int|float|complex|round|trunc|floor|ceil"
    r"|neg|pos|abs|invert|[ir]?(?:add|sub|mul|matmul|truediv|floordiv|mod|divmod|pow|lshift|rshift"
    r"|and|or|xor))__"
)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_SIGNS: Final = ("python", "c", "shell", "ruby", "elixir")  # a line with # says nothing of ends
_HERE_TEXT: Final = re.compile(r"<<[-~<]?\s?['\"]?[A-Za-z_]\w*['\"]?\s*(?:[;|>&)].*)?$")
_COMMENTS: Final = ("//", "/*", "*", "# ")
_INSIDE: Final = re.compile(r"[)\]}>{]|(?:public|private|protected)\b.*:$|where\b")
_GOES_ON: Final = re.compile(r"\{|where\b")  # a definition that could end before it
_CLAUSE: Final = re.compile(r"(?:rescue|ensure|else|elsif|catch|after)\b")
_END: Final = re.compile(r"end\b")
_PARSED_AS: Final = "<outline>"  # the name of the file in warnings about it


class Symbol(msgspec.Struct, frozen=True):
    """What a file defines at some lines; `last` is 0 if its end is not known."""

    line: int  # that names it
    first: int  # of its decorators
    last: int
    name: str
    kind: str
    text: str  # of the line that names it
    owner: str = ""  # dotted: the class that it is in
    depth: int = 0
    is_shown: bool = True  # in an outline
    is_stub: bool = False  # one of the overloads of what it names

    @property
    def qualified(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def span(self) -> str:
        """Its lines, as `read` takes them."""
        if not self.last:
            return str(self.line)
        return f"{self.first}-{self.last}" if self.last > self.first else str(self.first)


class FileSymbols(msgspec.Struct, frozen=True):
    """What a file defines, by line; if it was parsed, nothing else is defined in it."""

    symbols: tuple[Symbol, ...] = ()
    is_parsed: bool = False


_remembered: dict[tuple[str, bytes], FileSymbols] = {}


def file_symbols(path: bytes, content: bytes, digest: str = "") -> FileSymbols:
    """Returns what a file defines.

    The same `digest` stands for the same content, which is looked at once.
    """
    key = (digest, base_name(path))
    if not digest:
        return _symbols(path, content)
    if key not in _remembered:
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        _remembered[key] = _symbols(path, content)
    return _remembered.get(key, FileSymbols())


def file_outline(path: bytes, content: bytes, digest: str = "") -> tuple[str, ...]:
    """Returns the lines that define something, with ranges; the last one says what is missing.

    Of too many, those that are not nested, each with the names of what it contains; then the first.
    """
    symbols = file_symbols(path, content, digest).symbols
    found, operators = _without_operators([each for each in symbols if each.is_shown])
    note = _left_out(operators)
    if len(found) <= MAX_SIGNED:
        return (*[outline_entry(each) for each in found], *note)
    shown = ([each for each in found if not each.depth] or found)[:MAX_ENTRIES]
    entries = []
    named = len(shown)
    inner = [each for each in found if each.owner][:MAX_NESTED]
    has_ranges = len(inner) <= MAX_RANGES
    for each in shown:
        below = [one for one in inner if one.owner == each.qualified and one not in shown]
        is_brief = len(below) > FEW_NAMES
        names = [_named(one, has_ranges=has_ranges, is_brief=is_brief) for one in below]
        entries.append(outline_entry(each))
        entries += [f"  {', '.join(names)}"] if names else []
        named += len(names)
    more = len(found) - named
    return (*entries, *([f"[{counted(more, 'more definition')}]"] if more else []), *note)


def _named(symbol: Symbol, *, has_ranges: bool, is_brief: bool) -> str:
    """Returns the name of a nested definition; with its lines, in brief if these are several."""
    is_short = is_brief and 0 <= symbol.last - symbol.first < SHORT_LINES
    span = f" {symbol.span}" if has_ranges and not is_short else ""
    return symbol.name[:MAX_ENTRY_CHARS] + span


def inner_outline(symbols: Sequence[Symbol], around: Symbol, most: int) -> list[str]:
    """Returns the outline of what a definition contains; the last line says what is missing."""
    inside = [
        each
        for each in symbols
        if each.is_shown and each != around and around.first <= each.first <= around.last
    ]
    found, operators = _without_operators(inside)
    rest = len(found) - most
    return [
        *[outline_entry(each) for each in found[:most]],
        *([f"[{counted(rest, 'more definition')}]"] if rest > 0 else []),
        *_left_out(operators),
    ]


def _left_out(operators: int) -> list[str]:
    methods = "method" if operators == 1 else "methods"
    return [f"[{operators} operator {methods} left out]"] if operators else []


def _without_operators(found: Sequence[Symbol]) -> tuple[list[Symbol], int]:
    """Leaves the operators of classes with many methods out; also returns how many these are."""
    methods = Counter(each.owner for each in found if each.owner)
    kept = [
        each
        for each in found
        if methods[each.owner] < MANY_METHODS or not _OPERATOR.fullmatch(each.name)
    ]
    return kept, len(found) - len(kept)


def outline_entry(symbol: Symbol) -> str:
    """Renders a definition for an outline: `28-67: class Cart:`."""
    cut = f"{symbol.text[:MAX_ENTRY_CHARS]}…" if symbol.text[MAX_ENTRY_CHARS:] else symbol.text
    return f"{symbol.span}: {cut}"


def _symbols(path: bytes, content: bytes) -> FileSymbols:
    text = content[:MAX_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    lines = [line.rstrip() for line in text.split("\n")]
    ending = base_name(path).rpartition(b".")[2].lower()
    tree = _parsed(text) if ending in _PYTHON and len(content) <= MAX_PARSED_BYTES else None
    if tree is not None:
        found = sorted(_defined(tree, lines), key=lambda each: each.line)
        return FileSymbols(tuple(_with_stubs_hidden(found)), is_parsed=True)
    if len(content) > MAX_BYTES:
        lines.pop()  # it may be half a line
    return FileSymbols(tuple(_matched(path, lines, is_whole=len(content) <= MAX_BYTES)))


# Python, parsed.


def _parsed(text: str) -> Module | None:
    """Returns the syntax tree; None if this interpreter cannot parse it."""
    if re.search(r"\r(?!\n)", text):
        return None  # a line ends there for Python, and for nobody who counts lines here
    # What it warns about is in a file that nobody runs here.
    warnings.filterwarnings("ignore", module=re.escape(_PARSED_AS))
    try:
        tree = compile(text, _PARSED_AS, "exec", PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError, SystemError):
        return None
    return tree if isinstance(tree, Module) else None


def _defined(tree: Module, lines: Sequence[str]) -> Iterator[Symbol]:
    """Yields classes, functions and variables; what functions define for themselves is hidden."""
    waiting: list[tuple[AST, str, int, bool]] = [(each, "", 0, False) for each in tree.body]
    while waiting:
        node, owner, depth, is_local = waiting.pop()
        if isinstance(node, ClassDef | FunctionDef | AsyncFunctionDef):
            is_class = isinstance(node, ClassDef)
            first = min([node.lineno, *[each.lineno for each in node.decorator_list]])
            kind = "class" if is_class else "method" if owner else "function"
            found = Symbol(
                node.lineno, first, node.end_lineno or 0, node.name, kind, lines[node.lineno - 1],
                owner, depth, not is_local, any(map(_is_overload, node.decorator_list)),
            )  # fmt: skip
            yield found
            inner = is_local or not is_class
            waiting += [(each, found.qualified, depth + 1, inner) for each in node.body]
        elif isinstance(node, Assign | AnnAssign):
            target = node.targets[0] if isinstance(node, Assign) else node.target
            if isinstance(target, Name) and not is_local:
                at = node.lineno
                yield Symbol(
                    at, at, node.end_lineno or 0, target.id, "variable", lines[at - 1], owner,
                    depth, is_shown=False,
                )  # fmt: skip
        else:
            for field in ("body", "orelse", "handlers", "finalbody", "cases"):
                below = getattr(node, field, None)
                if isinstance(below, list):
                    waiting += [(each, owner, depth, is_local) for each in below]


def _is_overload(decorator: AST) -> bool:
    name = decorator.attr if isinstance(decorator, Attribute) else getattr(decorator, "id", "")
    return name == "overload"


def _with_stubs_hidden(found: Sequence[Symbol]) -> Iterator[Symbol]:
    """Yields definitions; overloads are hidden where the implementation is in the same file."""
    real = {each.qualified for each in found if not each.is_stub}
    for each in found:
        is_hidden = each.is_stub and each.qualified in real
        yield msgspec.structs.replace(each, is_shown=False) if is_hidden else each


# Other languages, matched by lines.


class _Row(msgspec.Struct, frozen=True):
    """A line that is not empty."""

    number: int
    indent: int
    text: str

    @property
    def balance(self) -> int:
        """How many brackets it opens more than it closes; in strings, too, so it may be wrong."""
        if self.text.startswith(_COMMENTS):
            return 0
        opened = self.text.count("(") + self.text.count("[") + self.text.count("{")
        return opened - self.text.count(")") - self.text.count("]") - self.text.count("}")


def _rows(language: str, lines: Sequence[str]) -> Iterator[_Row]:
    """Yields the lines that say something about where definitions end."""
    goes_on = False  # a line of the preprocessor
    for number, line in enumerate(lines, 1):
        text = line.strip()
        is_skipped = goes_on or (text.startswith("#") and language in _SIGNS)
        goes_on = is_skipped and language == "c" and text.endswith("\\")
        if text and not is_skipped:
            yield _Row(number, len(line) - len(text), text)


class _Ends:
    """Finds where definitions end; 0 where that is not certain, or after too many steps."""

    def __init__(self, language: str, lines: Sequence[str], *, is_whole: bool) -> None:
        self._rows = list(_rows(language, lines))
        self._at = {row.number: at for at, row in enumerate(self._rows)}
        self._is_whole = is_whole
        self._has_texts = language in ("shell", "php", "ruby")
        self._steps = MAX_STEPS
        self._find = (
            self._by_indent if language == "python"
            else self._by_bracket if language in _BRACED
            else self._by_word if language in _ENDED
            else None
        )  # fmt: skip

    def last(self, number: int) -> int:
        at = self._at.get(number)
        return 0 if at is None or self._find is None else self._find(at)

    def first(self, number: int) -> int:
        """Returns the first of the decorators and attributes that stand over a line."""
        at = self._at.get(number)
        while at:
            above, row = self._rows[at - 1], self._rows[at]
            if (above.number, above.indent) != (row.number - 1, row.indent):
                break
            if not above.text.startswith(("@", "#[")):
                break
            at -= 1
        return number if at is None else self._rows[at].number

    def _after(self, at: int) -> Iterator[tuple[int, _Row]]:
        for here in range(at, len(self._rows)):
            self._steps -= 1
            if self._steps < 0 or (self._has_texts and _HERE_TEXT.search(self._rows[here].text)):
                return
            yield here, self._rows[here]

    def _by_bracket(self, at: int) -> int:
        """Indentation decides: the line before the next that is not deeper. Brackets confirm.

        In a text over several lines both may mislead, so that nothing is known after one began.
        """
        indent, balance, quotes = self._rows[at].indent, 0, 0
        for here, row in self._after(at):
            if here > at and row.indent <= indent:
                allowed = _INSIDE if balance > 0 else _GOES_ON
                if row.indent < indent or quotes % 2 or not allowed.match(row.text):
                    return 0
            balance += row.balance
            quotes += row.text.count("`")
            if here == at and not balance and row.text.endswith(";"):
                return row.number
            if here + 1 == len(self._rows):
                return row.number if self._is_whole and not balance and not quotes % 2 else 0
            after = self._rows[here + 1]
            # A bracket that closes what is already closed: one of them is in a text.
            more = _INSIDE if row.indent > indent else _GOES_ON
            goes_on = after.indent == indent and more.match(after.text)
            if not balance and after.indent <= indent and not goes_on:
                return 0 if quotes % 2 else row.number
        return 0

    def _by_word(self, at: int) -> int:
        indent = self._rows[at].indent
        for here, row in self._after(at):
            if here > at and row.indent <= indent:
                if row.indent == indent and _CLAUSE.match(row.text):
                    continue
                return row.number if row.indent == indent and _END.match(row.text) else 0
        return 0

    def _by_indent(self, at: int) -> int:
        """Python that is not parsed: a text over several lines may be indented less."""
        indent, last, quotes = self._rows[at].indent, 0, 0
        for here, row in self._after(at):
            if here > at and row.indent <= indent and row.text[0] not in ")]}":
                return 0 if quotes % 2 or row.text[0] in "\"'" else last
            quotes += row.text.count('"""') + row.text.count("'''")
            last = row.number
        return last if self._is_whole and self._steps >= 0 and not quotes % 2 else 0


def _matched(path: bytes, lines: Sequence[str], *, is_whole: bool) -> list[Symbol]:
    """Returns the lines that look like definitions, nested as they are indented."""
    language = language_of(path)
    if not language:
        return []
    if language in ("markdown", "tables"):
        found = [*_sections(path, lines)]
        return _bounded(found, lines) if is_whole else found
    ends = _Ends(language, lines, is_whole=is_whole)
    around: list[Symbol] = []
    symbols = []
    for number, line in enumerate(lines, 1):
        what = _what(path, language, line[: 4 * MAX_ENTRY_CHARS])
        if what is None:
            continue
        name, kind = what
        while around and around[-1].last < number:
            around.pop()
        beside = _OWNER[language].match(line) if language in _OWNER else None
        owner = beside[1] if beside else around[-1].qualified if around else ""
        nested = kind != "impl" and line[0] in " \t"
        is_shown = kind in _SHOWN_KINDS
        made = Symbol(
            number, ends.first(number), ends.last(number), name, kind, line, owner, int(nested),
            is_shown,
        )  # fmt: skip
        symbols.append(made)
        if is_shown and made.last > number:
            around.append(made)
    return symbols


def _what(path: bytes, language: str, line: str) -> tuple[str, str] | None:
    """Returns the name and the kind of what a line defines."""
    if language == "rust" and _IMPL.match(line):
        plain = line
        for _ in range(4):
            plain = re.sub(r"<[^<>]*>", "", plain)
        name = _IMPL_NAME.search(plain)
        return name[1] if name else "impl", "impl"
    found = definition(path, line) if line else None
    if found is None or found.name in _KEYWORDS:
        return None
    if language == "c" and line[0] in " \t" and found.kind == "function":
        return None  # a call over several lines
    return found.name, found.kind


def _sections(path: bytes, lines: Sequence[str]) -> Iterator[Symbol]:
    """Yields headings and tables; the depth of a heading is kept as its number of signs."""
    is_markdown = base_name(path).rpartition(b".")[2].lower() in _MARKDOWN
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line) if is_markdown else None
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if fence or mark or not line or definition(path, line[: 4 * MAX_ENTRY_CHARS]) is None:
            continue
        name = line.strip("#[] \t") if line[0] in "#[" else line.strip()
        yield Symbol(
            number,
            number,
            0,
            name,
            "heading",
            line,
            depth=int(line[0] in " \t" or line[:2] == "##"),
        )


def _bounded(found: Sequence[Symbol], lines: Sequence[str]) -> list[Symbol]:
    """Returns sections with their ends: the next one that is not below them."""
    made: list[Symbol] = []
    ends: dict[int, int] = {}  # by the number of signs: the line after it
    for each in reversed(found):
        level = len(each.text) - len(each.text.lstrip("#"))
        after = min([ends[one] for one in ends if one <= level], default=len(lines) + 1)
        last = after - 1
        while last > each.line and not lines[last - 1]:
            last -= 1
        is_certain = each.text[0] in "#["
        made.append(msgspec.structs.replace(each, last=last if is_certain else 0))
        ends[level] = each.line
    return made[::-1]


# Definitions by name.


MAX_NEAR: Final = 5
MAX_COMPARED: Final = 5_000  # definitions of a file among which near names are looked for
_ALIKE: Final = 0.5
_KIND_WORDS: Final = r"\A(?:(?:async|def|class|function|func|fn|struct|interface|type|impl)\s+)+"


def named_symbols(symbols: Sequence[Symbol], name: str) -> list[Symbol]:
    """Returns the definitions of a name, `process` or `Option.process`."""
    wanted = _plain(name)
    ends, last = f".{wanted}", wanted.rpartition(".")[2]
    likely = [each for each in symbols if each.name == last or each.kind == "heading"]
    found = [each for each in likely if f".{_plain(each.qualified)}".endswith(ends)]
    real = {each.qualified for each in found if not each.is_stub}
    return [each for each in found if not each.is_stub or each.qualified not in real]


def near_symbols(symbols: Sequence[Symbol], name: str) -> list[Symbol]:
    """Returns definitions whose names are most like a name, best first."""
    wanted = _plain(name).rpartition(".")[2].casefold()
    pairs = _pairs(wanted)
    scored = []
    for at, each in enumerate(symbols[:MAX_COMPARED]):
        theirs = each.name.casefold()
        other = _pairs(theirs)
        both = len(pairs) + len(other)
        score = 2 * len(pairs & other) / both if both else 0.0
        score = 1.0 if wanted and wanted == theirs else score
        if score >= _ALIKE:
            scored.append((-score, at, each))
    return [each for _, _, each in sorted(scored, key=lambda one: one[:2])[:MAX_NEAR]]


def _plain(name: str) -> str:
    """Returns a name as it is compared: dotted, without signs and words around it."""
    bare = re.sub(_KIND_WORDS, "", name.strip().lstrip("#").strip(), count=1)
    return re.sub(r"::|#", ".", bare.removesuffix("()").rstrip("?!:"))


def _pairs(text: str) -> set[str]:
    return {text[at : at + 2] for at in range(len(text) - 1)}
