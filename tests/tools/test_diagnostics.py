"""Syntax errors after edits: told with the result, once, and never by running a file (F132)."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.call_harness import Desk

from assent.tools.diagnostics import MAX_BYTES, MAX_YAML, SyntaxProblem, syntax_problem


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def place(path: str, content: str | bytes) -> tuple[int, int] | None:
    """Returns where a file has a syntax error."""
    encoded = content.encode() if isinstance(content, str) else content
    problem = syntax_problem(path.encode(), encoded)
    return None if problem is None else (problem.line, problem.column)


BROKEN = {
    "a.py": ("x = 1\ndef f(:\n", (2, 7)),
    "b.pyi": ("def f() -> int: ...\n  x\n", (2, 2)),
    "loop.py": ("break\n", (1, 1)),
    "a.json": ('{"a": 1,\n "b" 2}\n', (2, 6)),
    "comments.json": ('{"a": 1, // one\n "b": 2}\n', (1, 10)),
    "a.ipynb": ('{"cells": [}\n', (1, 12)),
    "a.toml": ('[a]\nb = "c\n', (2, 7)),
    "end.toml": ("a = [1,\n2\n", (2, 1)),
    "a.yaml": ("a: b\n c: d\n", (2, 3)),
    "a.yml": ("a: [1, 2\nb: 3\n", (2, 2)),
    "second.yaml": ("a: 1\n---\nb: [\n---\n", (4, 1)),
    "tsconfig.json": ('{ // one\n "a": [1,],\n "b" 2 }\n', (3, 6)),
    "BOM.json": (b"\xef\xbb\xbf{]\n", (1, 2)),
    "crlf.py": (b"x = 1\r\ny = = 2\r\n", (2, 5)),
}  # fmt: skip


@pytest.mark.parametrize("path", BROKEN)
def test_f132_a_syntax_error_is_found_where_it_is(path: str) -> None:
    content, where = BROKEN[path]
    assert place(path, content) == where


FINE = {
    "a.py": "x = '\\d'\nassert (1, 'always')\nx is 1\n",  # warnings are no errors
    "a.txt": "def f(:", "Makefile": "{", "a.js": "{", "a.jsonl": "{}\n{}\n", "py": "def (",
    "a.json": '{"a": [1, 2.5e3, null, NaN]}',
    "tsconfig.json": '{\n  // one\n  "a": "http://x", /* two,\n } */ "b": [1, 2,],\n}\n',
    "tsconfig.base.json": '{"a": 1,}', ".vscode/settings.json": '{"a": 1, // one\n}',
    "x/.vscode/tasks.json": "// nothing\n{}", "a.jsonc": "{/**/}", ".eslintrc": "{/*x*/}",
    ".eslintrc.json": '{"a": 1,}', "a.code-workspace": '{"a": "//", }', "empty/tsconfig.json": "",
    "a.toml": 'a = 1979-05-27\n[b]\nc = """\nx"""\n',
    "a.yaml": "a: &x [1]\nb: *x\nc: !Ref d\n---\n- 1\n...\n---\n",
    "workflow.yml": "run: echo ${{ github.sha }}\n", "empty.yaml": "", "tabs.yaml": "a: 'b\tc'\n",
    "chart.yaml": "{{- if .Values.a }}\na: {{ .Values.a }}\n{{ end }}\n",
    "cookie.json": '{"a": {{ cookiecutter.a }}}', "cookie.toml": "a = {{ a }}\n",
}  # fmt: skip


@pytest.mark.parametrize("path", FINE)
def test_f132_what_is_valid_gives_no_alarm(path: str) -> None:
    assert place(path, FINE[path]) is None


NEWER = (
    ((3, 12), "type X = int\n"), ((3, 12), "def f[T](x: T) -> T: ...\n"),
    ((3, 12), "class A[T]: ...\n"), ((3, 12), "f'{x[\"a\"]} {'b'}'\nf'{\"\\n\".join(a)}'\n"),
    ((3, 14), "try: pass\nexcept A, B: pass\n"), ((3, 14), "x = t'{a}'\n"),
)  # fmt: skip


@pytest.mark.parametrize(("version", "text"), NEWER)
def test_f132_a_file_for_a_newer_python_gives_no_alarm(version: tuple[int, int], text: str) -> None:
    assert place("a.py", text) is None, version


HOSTILE = {
    "parentheses.py": "(" * 100_000,
    "signs.py": "x = " + "-" * 100_000 + "1",
    "not.py": "x = " + "not " * 50_000 + "y",
    "calls.py": "f" + "()" * 50_000,
    "power.py": "x = 9**9**9**9\n",
    "string.py": "x = 'a' * 10**12\n",
    "arrays.json": "[" * 200_000,
    "objects.json": '{"a":' * 100_000,
    "arrays.toml": "a = " + "[" * 100_000,
    "keys.toml": "a" + ".a" * 20_000 + " = 1\n",
    "flow.yaml": "[" * 50_000,
    "block.yaml": "".join(" " * at + "-\n" for at in range(500)),
    "aliases.yaml": "a0: &a0 [x]\n"
    + "".join(f"a{at}: &a{at} [{','.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 20)),
    "surrogate.json": b'"\xed\xa0\x80"',
    "binary.py": b"x = \0\n",
    "latin.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
    "comments.jsonc": "/*" * 50_000,
    "quotes.jsonc": '"\\' * 50_000,
    "commas.jsonc": "," * 100_000,
    "blanks.jsonc": ", " * 100_000,
    "strings.jsonc": '"a' * 100_000,
    "slashes.jsonc": "/*/" * 50_000,
}


@pytest.mark.parametrize("path", HOSTILE)
def test_f132_a_hostile_file_costs_little_and_breaks_nothing(path: str) -> None:
    """In a process of its own: what exhausts the stack would end the tests, too."""
    content = HOSTILE[path]
    encoded = content.encode() if isinstance(content, str) else content
    code = (
        "import sys, resource; from assent.tools.diagnostics import syntax_problem;"
        "began = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]);"
        f"syntax_problem({path.encode()!r}, sys.stdin.buffer.read());"
        "print(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - began)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=encoded, capture_output=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert float(done.stdout) < 5


def test_f132_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    run = f"open({str(flag)!r}, 'w')"
    for path, text in (
        ("a.py", f"{run}\n"), ("a.py", f"x = {run}\ny = = 1\n"), ("a.py", f"# coding: {run}\n"),
        ("a.yaml", f"!!python/object/apply:builtins.open [{str(flag)!r}, w]\n"),
        ("a.yaml", f'!!python/object/new:os.system ["touch {flag}"]\n'),
    ):  # fmt: skip
        place(path, text)
    assert not flag.exists()


def test_f132_large_files_are_not_checked() -> None:
    assert place("a.py", "x = (\n" + "#" * MAX_BYTES) is None
    assert place("a.json", "{" + " " * MAX_BYTES) is None
    assert place("a.yaml", "a: [\n" + "#" * MAX_YAML) is None


def test_f132_filters_of_warnings_stay_as_they_are() -> None:
    before = list(warnings.filters)
    place("a.py", "x = '\\d'\n")
    assert list(warnings.filters) == before


def test_f132_an_edit_tells_path_line_column_message_and_the_line(desk: Desk) -> None:
    desk.put("src/a.py", "def f():\n    return 1\n")
    outcome = desk.call("edit", path="src/a.py", old="return 1", new="return (1")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    said = (
        f"[Syntax error in src/a.py, line 2, column 12: '(' was never closed (Python {version}).]"
    )
    assert outcome.text.endswith(f"{said}\n2:     return (1")
    assert outcome.title.endswith("; syntax error in src/a.py:2:12")
    assert outcome.effect is not None  # it is staged all the same


@pytest.mark.parametrize(
    ("tool", "args", "where"),
    [
        ("write", {"path": "n.json", "content": '{"a": }\n'}, "n.json, line 1, column 7"),
        (
            "patch",
            {"patch": "*** Begin Patch\n*** Add File: p.toml\n+a = \n*** End Patch"},
            "p.toml, line 1, column 5",
        ),
    ],
)
def test_f132_every_tool_that_edits_tells_it(
    tool: str, args: dict[str, object], where: str, desk: Desk
) -> None:
    assert f"[Syntax error in {where}: " in desk.call(tool, **args).text


def test_f132_a_mended_file_says_nothing(desk: Desk) -> None:
    desk.put("a.json", "{\n")
    assert "yntax" not in desk.call("write", path="a.json", content="{}\n").text


def test_f132_an_old_error_is_told_once_and_one_that_moved_is_new(desk: Desk) -> None:
    desk.put("a.py", "x = 1\ny = (\n")
    first = desk.call("edit", path="a.py", old="x = 1", new="x = 2\nz = 3")
    assert "line 3, column 5" in first.text
    assert "It was there before this edit.]" in first.text
    second = desk.call("edit", path="a.py", old="x = 2", new="x = 4")
    assert "yntax" not in second.text + second.title
    third = desk.call("edit", path="a.py", old="z = 3", new="z = = 3")
    assert "[Syntax error in a.py, line 2, column 5: invalid syntax" in third.text
    assert "before" not in third.text


def test_f132_a_few_are_told_and_the_rest_are_counted(desk: Desk) -> None:
    added = "".join(f"*** Add File: {at}.json\n+{{\n" for at in range(5))
    text = desk.call("patch", patch=f"*** Begin Patch\n{added}*** End Patch").text
    assert text.count("[Syntax error in ") == 3
    assert text.endswith("[2 more files with a syntax error]")


def test_f132_a_long_line_is_cut_and_hidden_characters_are_written_out(desk: Desk) -> None:
    text = desk.call("write", path="a.json", content="[\u202e" + "x" * 1000).text
    shown = text.rpartition("\n")[2]
    assert shown.startswith("1: [<U+202E>xxx")
    assert shown.endswith("x…")
    assert len(shown) < 300


def test_two_errors_are_the_same_if_only_their_place_is_another() -> None:
    one = SyntaxProblem(1, 1, "m", "  x")
    assert one.is_of(SyntaxProblem(9, 3, "m", "x"))
    assert not one.is_of(SyntaxProblem(1, 1, "n", "  x"))
    assert not one.is_of(SyntaxProblem(1, 1, "m", "  y"))


def test_f132_a_long_file_is_judged_as_a_whole_after_any_edit() -> None:
    lines = [f"value_{number} = {number}" for number in range(2000)]
    lines[600] = 'text = """\n' + "\n".join(f"word_{number} of a text" for number in range(300))
    lines[600] += '\n"""'
    lines[1000:1003] = ["if value_1:", "    pass", "else:", "    pass"]
    assert place("a.py", "\n".join(lines)) is None
    for at in range(0, 2000, 37):
        edited = [*lines[:at], "value = = 1", *lines[at:]]
        before = "\n".join(lines[:at]).count("\n") + (1 if at else 0)
        assert place("a.py", "\n".join(edited)) == (before + 1, 9)
        assert place("a.py", "\n".join([*lines[:at], "value = 1", *lines[at:]])) is None


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("value = 1", "global value"),
        ("value = 1", "from __future__ import annotations"),
        ("value = 1 + \\", "\nvalue = 2"),
        ('"""', ""),
        ("value = (", ""),
        ("", "else:\n    pass"),
    ],
)
def test_f132_what_is_wrong_only_together_is_found_in_a_long_file(first: str, last: str) -> None:
    between = [f"value_{number} = {number}" for number in range(2000)]
    assert place("a.py", "\n".join(between)) is None
    assert place("a.py", "\n".join([first, *between, last])) is not None


LINES = [
    "value = {n}",
    "def f{n}():\n    return {n}",
    "if value:\n    x = {n}\nelse:\n    x = 0",
    "elsewhere = {n}",
    "text = '''\n value {n}\n'''",
    "long = 1 + \\\n    {n}",
    "items = [\n{n},\n]",
    "try:\n    pass\nexcept ValueError:\n    pass",
]
CHANGES = [
    "",
    "\n",
    "value",
    "else: x",
    "else:\n    x = 1\n",
    "'''",
    "\\",
    "\\\n",
    "(",
    "    ",
    "#",
]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_f132_what_is_known_of_a_file_before_an_edit_changes_no_verdict(
    data: st.DataObject,
) -> None:
    """Any edits, one after the other; the whole file is parsed for comparison."""
    text = "".join(f"{LINES[n % len(LINES)].format(n=n)}\n" for n in range(600))
    assert syntax_problem(b"a.py", text.encode()) is None
    for _ in range(4):
        at = data.draw(st.integers(0, len(text)))
        removed = data.draw(st.sampled_from([0, 0, 1, 5, 40, 3000]))
        edited = f"{text[:at]}{data.draw(st.sampled_from(CHANGES))}{text[at + removed :]}"
        is_valid = compiles(edited)
        assert (syntax_problem(b"a.py", edited.encode()) is None) == is_valid
        if is_valid or data.draw(st.booleans()):
            text = edited


def compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "a.py", "exec")
        except SyntaxError:
            return False
    return True
