"""The outline of a long file: what it defines, in every language, and whatever is wrong with it."""

import random
from pathlib import Path

import pytest
from tests.tools.read_harness import Place

from assent.tools.outline import MAX_ENTRIES, MAX_PARSED_BYTES, file_outline
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
        "12: class Cart:",
        "18:     def total(",
        "25:     class Row:",
        "26:         async def save(self) -> None: ...",
        "30:     def run() -> None: ...",
        "32:     def run() -> None: ...",
    )


def test_f12_python_that_cannot_be_parsed_is_matched_by_lines() -> None:
    broken = b"class A:\n    def b(self):\n        return (\n\ndef c(x):\n"
    assert file_outline(b"a.py", broken) == ("1: class A:", "2:     def b(self):", "5: def c(x):")
    assert file_outline(b"a.py", b"def a():\n    return '\\d'\n") == ("1: def a():",)
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
    assert [int(line.partition(":")[0]) for line in found] == lines


def test_an_outline_is_bounded_and_says_so() -> None:
    flat = "".join(f"def f{n}(): ...\n" for n in range(500)).encode()
    found = file_outline(b"a.py", flat)
    assert (len(found), found[-1]) == (MAX_ENTRIES + 1, "[400 more definitions]")
    nested = "".join(f"class C{n}:\n    def m(self): ...\n" for n in range(90)).encode()
    found = file_outline(b"a.py", nested)
    assert (len(found), found[1], found[-1]) == (91, "3: class C1:", "[90 more definitions]")
    wide = file_outline(b"a.py", b"def f(" + b"a" * 5000 + b"): ...\n")
    assert len(wide[0]) < 120


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
    assert lines[0] == "[1,372 lines. The outline, then the beginning; use lines to read on.]"
    assert lines[1:3] == ["1: def f0():", "3: def f1():"]
    at = lines.index("[Lines 1-150 of 1,372]")
    assert (len(lines) - at - 1, lines[-1]) == (FIRST_LINES, "150:     return 74")
    assert len(lines) < 260
    asked = place.call(READ, path="long.py", lines="28-67").text.split("\n")
    assert (asked[0], asked[1], len(asked)) == ("[Lines 28-67 of 1,372]", "28:     return 13", 41)
    place.put("short.py", "x = 1\n" * LONG_LINES)
    assert place.call(READ, path="short.py").text.count("\n") == LONG_LINES - 1


def test_f12_the_outline_is_that_of_the_draft(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.put("long.py", "def old(): ...\n" + "x = 1\n" * 400)
    assert "1: def old(): ..." in place.call(READ, path="long.py").text.split("\n")[1]
    place.stage("long.py", "def new(): ...\n" + "x = 1\n" * 400)
    lines = place.call(READ, path="long.py").text.split("\n")
    assert lines[1:3] == ["1: def new(): ...", "[Lines 1-150 of 401]"]
