"""Definitions: which line of source code defines a name, for the languages that people use."""

import re
from functools import cache

import msgspec

from assent.core.paths import base_name

_WORD = r"[\w$]+"


class Definition(msgspec.Struct, frozen=True):
    """What a line defines; more important kinds have a lower rank."""

    name: str
    kind: str
    rank: int
    start: int  # where in the line the name is


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
    for kind, form in _compiled(language_of(path), wanted):
        if found := form.match(line):
            group = found.lastgroup or "name"
            return Definition(found[group], kind, _RANKS.index(kind), found.start(group))
    return None


def language_of(path: bytes) -> str:
    """Returns the language of a file by its ending; empty if it is not known."""
    ending = base_name(path).rpartition(b".")[2].decode("utf-8", "replace").lower()
    return _BY_ENDING.get(ending, "")


@cache
def _compiled(language: str, wanted: str) -> list[tuple[str, re.Pattern[str]]]:
    name = re.escape(wanted) if wanted else _WORD
    forms = [
        (kind, form.replace("NAME", f"(?P<name>{name})", 1).replace("NAME", f"(?P<other>{name})"))
        for kind, form in _FORMS.get(language, ())
    ]
    return [(kind, re.compile(form)) for kind, form in forms]
