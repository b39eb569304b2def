"""The outline of a long file: what it defines, in every language, and whatever is wrong with it."""

import random
import time
from pathlib import Path

import pytest
from tests.tools.read_harness import Place

from assent.tools.outline import (
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_PARSED_BYTES,
    MAX_SIGNED,
    SHORT_LINES,
    file_outline,
    file_symbols,
    named_symbols,
)
from assent.tools.read import FIRST_LINES, LONG_LINES, READ

PYTHON = '''"""def nothing: this is text."""

import os

TEXT = """
class NotThis:
    pass
"""


@decorated
class Cart:
    """What a customer wants to buy."""

    rows: int = 0

    @property
    def total(
        self,
    ) -> int:
        def inner() -> int:
            return 1
        return inner()

    class Row:
        async def save(self) -> None: ...


if os.name == "posix":
    def run() -> None: ...
else:
    def run() -> None: ...
'''


def test_f12_python_is_parsed_so_that_only_definitions_count() -> None:
    assert file_outline(b"a.py", PYTHON.encode()) == (
        "11-26: class Cart:",
        "17-23:     def total(",
        "25-26:     class Row:",
        "26:         async def save(self) -> None: ...",
        "30:     def run() -> None: ...",
        "32:     def run() -> None: ...",
    )


def names(path: str, text: str) -> list[str]:
    """Returns what a file defines, as lines and dotted name; `?` if the end is not known."""
    found = file_symbols(path.encode(), text.encode()).symbols
    return [f"{each.span}{'' if each.last else '?'} {each.qualified}" for each in found]


def test_f12_python_has_owners_and_exact_ranges() -> None:
    assert names("a.py", PYTHON) == [
        "5-8 TEXT", "11-26 Cart", "15 Cart.rows", "17-23 Cart.total", "21-22 Cart.total.inner",
        "25-26 Cart.Row", "26 Cart.Row.save", "30 run", "32 run",
    ]  # fmt: skip
    marked = "\ufeffmatch x:\r\n    case 1:\r\n        def go():\r\n            pass\r\n"
    assert names("a.py", marked) == ["3-4 go"]
    # Python ends a line at a lone carriage return, and a model counts none there.
    assert names("a.py", "x = 1 # a\rb\ndef go():\n    pass\n") == ["1 x", "2-3 go"]


def test_f12_python_that_cannot_be_parsed_is_matched_by_lines() -> None:
    broken = b"class A:\n    def b(self):\n        return (\n\ndef c(x):\n"
    assert file_outline(b"a.py", broken) == (
        "1-3: class A:",
        "2-3:     def b(self):",
        "5: def c(x):",
    )
    assert file_outline(b"a.py", b"def a():\n    return '\\d'\n") == ("1-2: def a():",)
    long = b"def a():\n" + b"# x\n" * (MAX_PARSED_BYTES // 4) + b"def b(\n"
    assert [line.partition(": ")[2] for line in file_outline(b"a.py", long)] == [
        "def a():",
        "def b(",
    ]


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("a.md", "# One\n\n```\n# no\n```\n## Two\n", [1, 6]),
        ("a.toml", "[project]\nx = 1\n[[tool.rule]]\n[a.b] # c\ny = [1]\n", [1, 3, 4]),
        ("a.ini", "[one]\nx=1\n", [1]),
        ("a.go", "type T struct {\n}\nfunc (t *T) run() {\n\tif x {\n", [1, 3]),
        ("a.rs", "impl Show for T {\n    fn run() {\n        if x() {\n", [1, 2]),
        ("a.ts", "export class A {\n  go() {\n    if (x) {\n    for (y of z) {\n", [1, 2]),
        ("a.c", "int main(void) {\n  call(a,\n       b);\n  while (x)\n", [1]),
        ("A.java", "public class A {\n  int run(int a) {\n    if (a) {\n", [1, 2]),
        ("a.rb", "class A\n  def b\n", [1, 2]),
        ("a.txt", "class A\n", []),
    ],
)  # fmt: skip
def test_f12_other_languages_are_matched_by_lines(path: str, text: str, lines: list[int]) -> None:
    found = file_outline(path.encode(), text.encode())
    assert [int(line.partition(":")[0].partition("-")[0]) for line in found] == lines


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.go", "type T struct {\n\ta int\n}\n\nfunc (t *T) run() {\n\tif x {\n\t}\n}\n",
         ["1-3 T", "5-8 T.run"]),
        ("a.rs", "#[derive(A)]\npub struct T<A> {\n    a: A,\n}\nimpl<A: B<C>> Show for m::T<A>\n"
         "where\n    A: C,\n{\n    fn run(\n        &self,\n    ) -> X {\n    }\n\n"
         "    fn one() -> u8 { 1 }\n}\n", ["1-4 T", "5-15 T", "9-12 T.run", "14 T.one"]),
        ("a.ts", "export class A {\n  go(a) {\n    if (x) {\n    }\n  }\n}\n"
         "const f = (a) => a\n  .b()\n  .c();\ntype Z =\n  | {a: string}\n  | {b: string};\n",
         ["1-6 A", "2-5 A.go", "7-9 f", "10-12 Z"]),
        ("a.cpp", "class A : public B {\npublic:\n  int x;\n#if X\n  int y;\n#endif\n};\n"
         "A::A(int a)\n    : x(a)\n{\n}\n", ["1-7 A", "8-11 A.A"]),
        ("a.c", "int a(int b) {\n  return b;\n}\n\n#define X(p) \\\n    ((p) + 1)\n\nint c;\n",
         ["1-3 a", "5? X"]),
        ("A.java", "class A\n{\n  @Override\n  int run(int a) {\n    if (a) {\n    }\n  }\n}\n",
         ["1-8 A", "3-7 A.run"]),
        ("a.rb", "class A\n  def b\n    x\n  rescue\n    y\n  end\nend\n", ["1-7 A", "2-6 A.b"]),
        ("a.sh", "go() {\n  x\n# c\n  y\n}\n", ["1-5 go"]),
        ("a.md", "# One\n\n````\n```\n# no\n````\n## Two words\nx\n\n# Three\n",
         ["1-8 One", "7-8 Two words", "10 Three"]),
        ("a.toml", "[project]\nx = 1\n\n[tool.a]\ny = 1\n", ["1-2 project", "4-5 tool.a"]),
        ("a.py", "def b(\n    x,\n):\n    y\n\nz = (\n", ["1-4 b", "6 z"]),
    ],
)  # fmt: skip
def test_f12_the_end_of_a_definition_is_found_in_many_languages(
    path: str, text: str, found: list[str]
) -> None:
    assert names(path, text) == found


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        # Text that is not indented, which may hold anything.
        ("a.ts", "function t() {\n  return `\n} text\n`;\n}\n", ["1? t"]),
        ("a.py", "def c():\n    x = \"\"\"\ntext\n\"\"\"\n    y(\n", ["1? c"]),
        ("a.sh", "go() {\n  cat <<E\n}\nE\n}\n", ["1? go"]),
        # Brackets that do not agree with the indentation.
        ("a.js", "function a() {\n  b('(');\n}\nfunction c() {\n}\n", ["1? a", "4-5 c"]),
        ("a.js", "function a() {\nif (x) {\n}\n}\n", ["1? a"]),
        ("a.go", "func a() {\n\tb()\n", ["1? a"]),
        ("a.go", "func a() {\n\tb(\"}\")\n}\n", ["1? a"]),
        # No sign of an end.
        ("a.rb", "class A\n  def b = 1\nend\n", ["1-3 A", "2? A.b"]),
        ("a.sql", "create table t (\n  a int\n);\n", ["1? t"]),
        ("Makefile", "all: x\n\ty\n", ["1? all"]),
    ],
)  # fmt: skip
def test_an_end_that_is_not_certain_is_not_given(path: str, text: str, found: list[str]) -> None:
    assert names(path, text) == found


def test_a_file_that_is_looked_at_in_part_has_no_end_beyond_it() -> None:
    long = "def a():\n    x\n\ndef b():\n" + "    y = 1\n" * (MAX_BYTES // 8)
    assert names("a.py", long) == ["1-2 a", "4? b"]
    heading = "# One\n" + "text\n" * (MAX_BYTES // 4)
    assert names("a.md", heading) == ["1? One"]


def test_looking_for_ends_takes_bounded_time() -> None:
    deep = "".join(" " * n + "class A {\n" for n in range(390)) + (" " * 400 + "x\n") * 2_300
    started = time.process_time()
    found = file_symbols(b"a.ts", deep.encode())
    assert len(found.symbols) == 390
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("total", ["17-23"]), ("Cart.total", ["17-23"]), ("def total()", ["17-23"]),
        ("Cart::total", ["17-23"]), ("Cart#total", ["17-23"]), ("class Row", ["25-26"]),
        ("Cart.Row.save", ["26"]), ("Row.save", ["26"]), ("run", ["30", "32"]), ("TEXT", ["5-8"]),
        ("Basket.total", []), ("otal", []), ("NotThis", []), ("", []), (".", []),
    ],
)  # fmt: skip
def test_f12_a_definition_is_found_by_its_name(name: str, found: list[str]) -> None:
    symbols = file_symbols(b"a.py", PYTHON.encode()).symbols
    assert [each.span for each in named_symbols(symbols, name)] == found


def test_an_outline_of_many_definitions_names_methods_and_their_lines() -> None:
    few = "class A:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(MAX_SIGNED - 1))
    assert file_outline(b"a.py", few.encode())[1] == "2:     def m0(self): ..."
    long = "    def run(self):\n" + "        pass\n" * SHORT_LINES
    many = f"{few}    def last(self): ...\n{long}"
    head, names = file_outline(b"a.py", many.encode())
    assert head == f"1-{many.count(chr(10))}: class A:"
    assert names.startswith("  m0, m1, ")
    assert names.endswith(f"last, run {MAX_SIGNED + 2}-{MAX_SIGNED + 2 + SHORT_LINES}")
    assert "run" in file_outline(b"a.js", b"class A {\n  run() {\n  }\n}\n" * 40)[1]


def test_an_outline_is_bounded_and_says_so() -> None:
    flat = "".join(f"def f{n}(): ...\n" for n in range(500)).encode()
    found = file_outline(b"a.py", flat)
    assert (len(found), found[-1]) == (MAX_ENTRIES + 1, "[400 more definitions]")
    nested = "".join(f"class C{n}:\n    def m(self): ...\n" for n in range(90)).encode()
    found = file_outline(b"a.py", nested)
    assert found[:3] == ("1-2: class C0:", "  m 2", "3-4: class C1:")
    assert (len(found), found[-1]) == (180, "  m 180")
    methods = "".join(f"    def m{n}(self): ...\n" for n in range(400))
    found = file_outline(b"a.py", f"class C:\n{methods}".encode())
    assert found[0] == "1-401: class C:"
    assert found[1].split(", ")[::299] == ["  m0", "m299"]
    assert found[2:] == ("[100 more definitions]",)
    wide = file_outline(b"a.py", b"def f(" + b"a" * 5000 + b"): ...\n")
    assert len(wide[0]) < 120


OVERLOADED = b"""from typing import overload
import typing as t


class Item:
    @overload
    def get(self, key: str) -> str: ...
    @t.overload
    def get(self, key: int) -> int: ...
    def get(self, key):
        return key


class Only:
    @overload
    def find(self, key: str) -> str: ...
    @overload
    def find(self, key: int) -> int: ...
"""


def test_f12_overloads_are_folded_into_their_implementation() -> None:
    found = file_outline(b"a.py", OVERLOADED)
    assert found[:2] == ("5-11: class Item:", "10-11:     def get(self, key):")
    assert [each.partition(":")[0] for each in found[2:]] == ["14-18", "15-16", "17-18"]
    symbols = file_symbols(b"a.py", OVERLOADED).symbols
    assert [each.span for each in named_symbols(symbols, "get")] == ["10-11"]
    assert [each.span for each in named_symbols(symbols, "Only.find")] == ["15-16", "17-18"]


def test_f12_operators_are_left_out_of_classes_with_many_methods() -> None:
    names = ("__init__", "__add__", "__radd__", "__eq__", "__getitem__")
    few = "".join(f"    def {name}(self): ...\n" for name in names)
    assert len(file_outline(b"a.py", f"class C:\n{few}".encode())) == 6
    more = few + "".join(f"    def m{n}(self): ...\n" for n in range(10))
    found = file_outline(b"a.py", f"class C:\n{more}".encode())
    assert [each.split("def ")[-1] for each in found[1:4]] == [
        "__init__(self): ...", "__getitem__(self): ...", "m0(self): ...",
    ]  # fmt: skip
    assert found[-1] == "[3 operator methods left out]"


@pytest.mark.parametrize(
    "text",
    ["(" * 100_000, "-" * 100_000 + "1", "+".join(["1"] * 50_000), "a" + ".b" * 50_000,
     "lambda:" * 50_000, "not " * 50_000 + "1", "\0", "\ud800", 
     "if x:\n pass\n" + "elif x:\n pass\n" * 9000,
     "[" * 150 + "]" * 150, "f'{" * 200, "\x0c\r\r\n", "x = 1\n" * 40_000],
)  # fmt: skip
def test_no_file_makes_an_outline_fail(text: str) -> None:
    for path in (b"a.py", b"a.ts", b"a.c", b"A.java", b"a.md", b"a.toml", b"noending", b""):
        file_outline(path, text.encode("utf-8", "surrogatepass"))


def test_random_bytes_do_not_make_an_outline_fail() -> None:
    chance = random.Random(4)
    for _ in range(30):
        content = chance.randbytes(4000)
        for path in (b"a.py", b"a.js", b"a.md"):
            file_outline(path, content)


def test_f12_a_long_file_gives_its_outline_and_its_beginning(tmp_path: Path) -> None:
    place = Place(tmp_path)
    body = "".join(f"def f{n}():\n    return {n}\n" for n in range(686))
    place.put("long.py", body)
    lines = place.call(READ, path="long.py").text.split("\n")
    assert (
        lines[0] == "[long.py, 1,372 lines. The outline, then the beginning; use lines to read on.]"
    )
    assert lines[1:3] == ["1-2: def f0():", "3-4: def f1():"]
    at = lines.index("[long.py, lines 1-60 of 1,372]")
    assert (len(lines) - at - 1, lines[-1]) == (FIRST_LINES, "    return 29")
    assert len(lines) < 170
    asked = place.call(READ, path="long.py", lines="28-67").text.split("\n")
    assert (asked[0], asked[1], len(asked)) == (
        "[long.py, lines 28-67 of 1,372]",
        "    return 13",
        41,
    )
    place.put("short.py", "x = 1\n" * LONG_LINES)
    assert place.call(READ, path="short.py").text.count("\n") == LONG_LINES - 1


def test_f12_the_outline_is_that_of_the_draft(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.put("long.py", "def old(): ...\n" + "x = 1\n" * 400)
    assert "1: def old(): ..." in place.call(READ, path="long.py").text.split("\n")[1]
    place.stage("long.py", "def new(): ...\n" + "x = 1\n" * 400)
    lines = place.call(READ, path="long.py").text.split("\n")
    assert lines[1:3] == ["1: def new(): ...", "[long.py, lines 1-60 of 401]"]


def test_f12_the_beginning_of_a_long_file_ends_before_a_definition_it_would_cut(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.put("a.py", "import os\n" * 40 + "\n\n@os.cached\nclass Long:\n" + "    x = 1\n" * 400)
    text = place.call(READ, path="a.py").text
    assert "\n[a.py, lines 1-40 of 444]\n" in text
    assert text.endswith("import os")
    place.put("b.py", "def long():\n" + "    x = 1\n" * 400)
    assert "\n[b.py, lines 1-60 of 401]\n" in place.call(READ, path="b.py").text
