"""search: finds where a name is defined, or lists what one file defines.

A definition is shown with its kind and signature, for the common languages.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated

import msgspec

from assent.core.errors import UsageError
from assent.core.paths import base_name, one_line
from assent.core.plan.operation import FileState
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.files import existing_state, read_access_of, resolve_path, search_accesses
from assent.tools.outcome import limited_outcome, numbered
from assent.tools.text_search import SearchHit, SearchQuery, SearchResult, search_text
from assent.tools.tool import Tool, ToolContext

# Definitions: which line of source code defines a name, for the languages that people use.


_WORD = r"[\w$]+"


class Definition(msgspec.Struct, frozen=True):
    """What a line defines; more important kinds have a lower rank."""

    name: str
    kind: str
    rank: int


# The first form that fits counts. NAME stands for the name; a kind's rank is its place in _RANKS.
_RANKS = ("class", "type", "function", "method", "module", "constant", "variable", "heading")
_TYPES = "class|interface|enum|record|struct|trait|object|protocol|@interface"
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|async|override|virtual|export"
    r"|default|sealed|open|inline|readonly|partial|unsafe|synchronized|data|suspend|declare)\s+)*"
)
_CALLABLE = r"(?:async\b|function\b|\()"
_STRUCT = r"(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:struct|class|union|enum(?:\s+class)?)"
_PUB = r"\s*(?:pub(?:\([^)]*\))?\s+)?"
_RETURNS = r"(?!return\b|new\b|else\b|throw\b)[\w<>\[\],.?]+\s+"  # the type before a Java method
_CREATE = r"\s*create\s+(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+|materialized\s+)?"
_SCHEMA = r"(?:if\s+not\s+exists\s+)?[\"`\[]?(?:\w+[\"`\]]?\.)?[\"`\[]?"
_FORMS: dict[str, tuple[tuple[str, str], ...]] = {
    "python": (
        ("class", r"\s*class\s+NAME\b"),
        ("function", r"(?:async\s+)?def\s+NAME\b"),
        ("method", r"\s+(?:async\s+)?def\s+NAME\b"),
        ("type", r"type\s+NAME\b"),
        ("variable", r"NAME\s*(?::[^=]+)?=(?!=)"),
    ),
    "javascript": (
        ("class", rf"\s*{_MODIFIERS}class\s+NAME\b"),
        ("type", rf"\s*{_MODIFIERS}(?:const\s+)?(?:interface|type|enum|namespace)\s+NAME\b"),
        ("function", rf"\s*{_MODIFIERS}function\s*\*?\s*NAME\b"),
        ("function", rf"\s*{_MODIFIERS}(?:const|let|var)\s+NAME\s*(?::[^=]+)?=\s*{_CALLABLE}"),
        ("variable", rf"{_MODIFIERS}(?:const|let|var)\s+NAME\b"),
        ("method", rf"\s+{_MODIFIERS}(?:get\s+|set\s+|\*\s*)?#?NAME\s*\([^;]*\{{\s*$"),
    ),
    "go": (
        ("function", r"func\s+NAME\b"),
        ("method", r"func\s+\([^)]*\)\s*NAME\b"),
        ("type", r"\s*type\s+NAME\b"),
        ("variable", r"\s*(?:var|const)\s+NAME\b"),
    ),
    "rust": (
        ("type", rf"{_PUB}(?:struct|enum|trait|union|type)\s+NAME\b"),
        ("function", rf"{_PUB}(?:(?:const|async|unsafe|extern\s+\S+)\s+)*fn\s+NAME\b"),
        ("module", rf"{_PUB}mod\s+NAME\b"),
        ("constant", rf"{_PUB}(?:const|static)\s+(?:mut\s+)?NAME\b"),
        ("function", r"\s*macro_rules!\s*NAME\b"),
    ),
    "java": (
        ("class", rf"\s*{_MODIFIERS}(?:{_TYPES})\s+NAME\b"),
        ("method", rf"\s+{_MODIFIERS}(?:<[^>]+>\s*)?{_RETURNS}NAME\s*\([^;]*$"),
        ("constant", rf"\s+{_MODIFIERS}{_RETURNS}NAME\s*="),
    ),
    "kotlin": (
        ("class", rf"\s*{_MODIFIERS}(?:enum\s+)?(?:{_TYPES}|extension|actor)\s+NAME\b"),
        ("function", rf"\s*{_MODIFIERS}(?:fun|func|def)\s+(?:<[^>]+>\s*)?(?:[\w<>?]+\.)?NAME\b"),
        ("variable", rf"\s*{_MODIFIERS}(?:val|var|let|typealias|type)\s+NAME\b"),
    ),
    "c": (
        ("constant", r"\s*#\s*define\s+NAME\b"),
        ("class", rf"\s*{_STRUCT}\s+NAME\s*(?:final\s*)?(?::[^:].*)?\{{?\s*$"),
        ("type", r"\s*(?:typedef\b.*\bNAME\s*;|using\s+NAME\s*=)"),
        ("module", r"\s*namespace\s+NAME\b"),
        ("function", r"(?!return\b|else\b)[\w:<>,*&~ \t]*?(?<![\w.>])(?:\w+::)?~?NAME\s*\([^;]*$"),
    ),
    "ruby": (
        ("class", r"\s*(?:class|module)\s+(?:\w+::)*NAME\b"),
        ("function", r"\s*def\s+(?:self\.)?NAME\b"),
        ("constant", r"\s*NAME\s*=(?!=)"),
    ),
    "php": (
        ("class", rf"\s*{_MODIFIERS}(?:{_TYPES})\s+NAME\b"),
        ("function", rf"\s*{_MODIFIERS}function\s+&?NAME\b"),
        ("constant", rf"\s*{_MODIFIERS}const\s+NAME\b"),
    ),
    "shell": (
        ("function", r"\s*(?:function\s+NAME\b|NAME\s*\(\))"),
        ("variable", r"(?:export\s+|readonly\s+|declare\s+(?:-\w+\s+)?)?NAME="),
    ),
    "lua": (
        ("function", r"\s*(?:local\s+)?function\s+(?:\w+[.:])*NAME\b"),
        ("variable", r"(?:local\s+)?NAME\s*=(?!=)"),
    ),
    "elixir": (
        ("module", r"\s*defmodule\s+(?:\w+\.)*NAME\b"),
        ("function", r"\s*def(?:p|macro|macrop|guard)?\s+NAME\b"),
    ),
    "haskell": (
        ("type", r"(?:data|type|newtype|class)\s+(?:.*=>\s*)?NAME\b"),
        ("function", r"(?:let\s+(?:rec\s+)?)?NAME\s*(?:::|:)\s"),
        ("module", r"module\s+(?:\w+\.)*NAME\b"),
    ),
    "sql": (
        ("type", rf"(?i:{_CREATE}(?:table|view|type|index)\s+{_SCHEMA}NAME\b)"),
        ("function", rf"(?i:{_CREATE}(?:function|procedure|trigger)\s+{_SCHEMA}NAME\b)"),
    ),
    "proto": (
        ("type", r"\s*(?:message|service|enum|type|input|interface|union|scalar)\s+NAME\b"),
        ("method", r"\s*rpc\s+NAME\b"),
    ),
    "make": (("function", r"NAME\s*:(?!=)"), ("variable", r"(?:export\s+)?NAME\s*[:?+]?=")),
    "terraform": (("type", r"(?:resource|data|variable|module|output)\s+(?:\"\w+\"\s+)?\"NAME\""),),
    "markdown": (("heading", r"#{1,6}\s.*\bNAME\b"),),
    "tables": (("heading", r"\s*\[{1,2}[^\]]*?\bNAME\b[^\]]*\]{1,2}\s*(?:[#;].*)?$"),),
}  # fmt: skip
_LANGUAGES = {
    "python": "py pyi pyw pyx",
    "javascript": "js jsx mjs cjs ts tsx mts cts vue svelte astro",
    "go": "go",
    "rust": "rs",
    "java": "java cs groovy dart",
    "kotlin": "kt kts swift scala sc",
    "c": "c h cc cpp cxx hpp hh hxx m mm cu ino",
    "ruby": "rb rake gemspec",
    "php": "php",
    "shell": "sh bash zsh ksh",
    "lua": "lua",
    "elixir": "ex exs",
    "haskell": "hs ml mli elm fs",
    "sql": "sql",
    "proto": "proto graphql gql thrift",
    "make": "mk makefile justfile",
    "terraform": "tf hcl",
    "markdown": "md markdown mdx rst adoc",
    "tables": "toml ini cfg conf",
}
_BY_ENDING = {
    ending: language for language, endings in _LANGUAGES.items() for ending in endings.split()
}


def definition(path: bytes, line: str, wanted: str = "") -> Definition | None:
    """Returns what a line defines; with `wanted`, only if it is that name."""
    ending = base_name(path).rpartition(b".")[2].decode("utf-8", "replace").lower()
    language = _BY_ENDING.get(ending)
    if language is None:
        return None
    for kind, form in _compiled(language, wanted):
        if found := form.match(line):
            return Definition(found["name"] or wanted, kind, _RANKS.index(kind))
    return None


@cache
def _compiled(language: str, wanted: str) -> list[tuple[str, re.Pattern[str]]]:
    name = re.escape(wanted) if wanted else _WORD
    return [
        (kind, re.compile(form.replace("NAME", f"(?P<name>{name})", 1).replace("NAME", name)))
        for kind, form in _FORMS[language]
    ]


MAX_DEFINITIONS = 100
MAX_SIGNATURE_CHARS = 200  # characters of a signature


class SearchArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="empty: outline the file at path")] = ""
    path: Annotated[str, msgspec.Meta(description="file or folder")] = "."


def touches(args: SearchArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    return search_accesses((read_access_of(context, args.path, "search"),), "search", args.name)


def run(args: SearchArgs, context: ToolContext) -> ToolOutcome:
    path = resolve_path(context, args.path)
    state = existing_state(context, path)
    name = args.name.strip().replace("::", ".").rpartition(".")[2].removesuffix("()")
    if name:
        return _defined(context, path, name)
    if not isinstance(state, FileState):
        raise UsageError("Give a name, or the path of one file to list its definitions.")
    found = search_text(context, SearchQuery(r"\w", path))
    lines = [numbered(hit.line, f"{kind} {text}") for hit, kind, text in _outline(found.hits)]
    notes = [] if lines else ["No definitions found."]
    return limited_outcome("\n".join(lines), one_line(path), notes)


def _outline(hits: Sequence[SearchHit]) -> Iterator[tuple[SearchHit, str, str]]:
    for hit in hits:
        if found := definition(hit.path, hit.text):
            yield hit, found.kind, hit.text.rstrip()[:MAX_SIGNATURE_CHARS]


def _defined(context: ToolContext, path: bytes, name: str) -> ToolOutcome:
    whole = search_text(context, SearchQuery(name, path, literal=True, word=True))
    ranked = sorted(_ranked(whole, name), key=lambda each: each[0])
    lines = [line for _, line in ranked[:MAX_DEFINITIONS]]
    notes = [] if lines else [_nowhere(whole, name)]
    if len(ranked) > MAX_DEFINITIONS:
        notes.append(f"{MAX_DEFINITIONS} of {len(ranked)} definitions shown; narrow it by path.")
    return limited_outcome("\n".join(lines), name, [*notes, *whole.notes], count=len(ranked))


def _ranked(found: SearchResult, name: str) -> Iterator[tuple[tuple[bool, int, bytes, int], str]]:
    """Yields definitions with their sort key: tests last, then by kind and position."""
    for hit in found.hits:
        what = definition(hit.path, hit.text, name)
        if what is None:
            continue
        yield (b"test" in hit.path.lower(), what.rank, hit.path, hit.line), _line(hit, what)


def _line(hit: SearchHit, what: Definition) -> str:
    return f"{what.kind} {one_line(hit.path)}:{hit.line} {hit.text.strip()[:MAX_SIGNATURE_CHARS]}"


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
