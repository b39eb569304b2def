"""list, glob, grep and search: with ripgrep and without it, over the draft, against tricks."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.tools.read_harness import Place

from assent.core.errors import NotFound, Refused, UsageError
from assent.core.shell.process import SandboxState
from assent.tools.definitions import definition
from assent.tools.find_tools import GLOB, LIST
from assent.tools.outcome import BYTES
from assent.tools.outline import MAX_BYTES
from assent.tools.read import READ
from assent.tools.search_tools import GREP, SEARCH
from assent.tools.text_search import MAX_UNTESTED_FILES
from assent.tools.tool import Tool


@pytest.fixture(params=[SandboxState.NONE, SandboxState.OFF], ids=["ripgrep", "python"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    place = Place(tmp_path, request.param)
    place.put(".gitignore", "*.log\n/build/\nnode_modules/\n!keep.log\n")
    place.put("src/app.py", "import os\n\n\ndef main() -> None:\n    run(1)\n")
    place.put("src/web/page.ts", "export class Page {\n  open() {\n  }\n}\n")
    place.put("build/out.py", "def main(): pass\n")
    place.put("src/build/kept.py", "x = 1\n")
    place.put("node_modules/m/i.js", "function main() {}\n")
    place.put("a.log", "main\n")
    place.put("keep.log", "main\n")
    place.put("data.bin", b"main\0main\n")
    return place


def said(place: Place, pattern: str, path: str = ".") -> str:
    """Returns what comes of a search, or why it is refused."""
    try:
        return place.call(GREP, pattern=pattern, path=path).text
    except UsageError as error:
        return error.message


def test_f12_list_shows_a_tree_without_what_is_ignored(place: Place) -> None:
    assert place.call(LIST).text == (
        "src/\n  build/\n    kept.py\n  web/\n    page.ts\n  app.py\n.gitignore\ndata.bin\nkeep.log"
    )
    assert place.call(LIST, path="src/web").text == "page.ts"
    assert place.touched(LIST, path="src") == ["src", "src"]


@pytest.mark.parametrize(
    ("tool", "args"),
    [(LIST, {}), (GLOB, {"pattern": "*"}), (GREP, {"pattern": "x"}), (SEARCH, {"name": "x"}),
     (READ, {})],
)  # fmt: skip
def test_a_folder_that_does_not_exist_is_told(
    place: Place, tool: Tool, args: dict[str, object]
) -> None:
    with pytest.raises(NotFound, match=r"^srcs does not exist\. Did you mean src\?$"):
        place.call(tool, path="srcs", **args)


def test_list_is_as_deep_as_fits(place: Place) -> None:
    for n in range(400):
        place.put(f"many/sub/{n}.txt")
    assert "  sub/ (400 files)" in place.call(LIST).text
    assert place.call(LIST, path="many/sub").text.count("\n") == 399


def test_list_and_glob_see_the_draft(place: Place) -> None:
    place.stage("src/new/fresh.py", "def fresh(): ...\n")
    place.drop("src/app.py")
    assert "fresh.py" in place.call(LIST).text
    found = place.call(GLOB, pattern="**/*.py")
    assert found.text == "src/build/kept.py\nsrc/new/fresh.py"
    assert found.metadata == {"count": 2}


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", ".", "src/app.py\nsrc/build/kept.py"),
        ("src/*.py", ".", "src/app.py"),
        ("src/**", ".", "src/app.py\nsrc/build/kept.py\nsrc/web/page.ts"),
        ("**/*.{ts,tsx}", ".", "src/web/page.ts"),
        ("*.ts", "src/web", "src/web/page.ts"),
        ("[a-k]*.py", "src", "src/app.py\nsrc/build/kept.py"),
        ("--pre=sh", ".", "[No files match.]"),
        ("*.rs", ".", "[No files match.]"),
    ],
)
def test_f12_glob_finds_files(place: Place, pattern: str, path: str, found: str) -> None:
    assert place.call(GLOB, pattern=pattern, path=path).text == found


def test_a_pattern_with_many_stars_takes_no_time(place: Place) -> None:
    place.put("a" * 200)
    assert place.call(GLOB, pattern="*a" * 100 + "b").text == "[No files match.]"
    assert place.call(GLOB, pattern="**/" * 60 + "b").text == "[No files match.]"
    with pytest.raises(UsageError, match="too many"):
        place.call(GLOB, pattern="{a,b}" * 20)


def test_f12_grep_finds_lines(place: Place) -> None:
    assert place.call(GREP, pattern=r"def \w+").text == "src/app.py\n4: def main() -> None:"
    assert place.call(GREP, pattern="main").text == (
        "keep.log\n1: main\nsrc/app.py\n4: def main() -> None:"
    )
    with_context = place.call(GREP, pattern="def", path="src/app.py", context=1)
    assert with_context.text == "src/app.py\n3- \n4: def main() -> None:\n5-     run(1)"
    assert place.call(GREP, pattern="main", include="*.py").metadata == {"count": 1}
    assert place.call(GREP, pattern="main", include="src/*.py").metadata == {"count": 1}
    assert place.call(GREP, pattern="nothing here").text == "[No lines match.]"


def test_grep_takes_a_plain_text_and_a_limit(place: Place) -> None:
    place.put("b.txt", "a.b\naxb\n" * 5)
    assert place.call(GREP, pattern="a.b", literal=True, path="b.txt").metadata == {"count": 5}
    text = place.call(GREP, pattern="a.b", path="b.txt", limit=2).text
    assert text.endswith(
        "[2 of 10 matching lines. Not shown: b.txt 8. "
        'Next: grep {"pattern":"a.b","path":"b.txt","limit":10}]'
    )


def test_f12_what_little_is_over_the_limit_is_shown_and_the_rest_is_named(place: Place) -> None:
    place.put("a.txt", "needle\n" * 90)
    place.put("b.txt", "needle\n" * 30)
    assert place.call(GREP, pattern="needle").text.count("needle") == 120
    place.put("c.txt", "needle\n" * 7)
    cut = place.call(GREP, pattern="needle").text
    assert cut.count(": needle") == 125
    assert cut.endswith(
        "[125 of 127 matching lines in 3 files. Not shown: c.txt 2. "
        'Next: grep {"pattern":"needle","path":"c.txt"}]'
    )
    place.put("d.txt", "needle\n")
    cut = place.call(GREP, pattern="needle").text
    assert cut.endswith(
        'Not shown: c.txt 2, d.txt 1. Next: grep {"pattern":"needle","path":"d.txt"}]'
    )
    assert place.call(GREP, pattern="needle", path="c.txt").text.count("needle") == 7
    for n in range(20):
        place.put(f"d{n:02}.txt", "needle\n")
    assert "d09.txt 1, 10 more files. Next: " in place.call(GREP, pattern="needle").text


SHOP = """import os

LIMIT = needle(1)


def pad():
    return "so that the names of definitions are a small part of what is shown here"


class Cart:
    kind = needle(2)

    @property
    def total(self):
        rows = [needle(row, "and this is quite a long line of code") for row in self.rows]
        return needle(rows, "and another one that is rather long, too, so that")

    def empty(self):
        return needle(self.rows, "a third line that is long, so that a name costs little")


def needle(x):
    return needle(x, "called by itself; a line that is long, so that a name costs little")
"""


def test_f12_hits_name_the_definitions_that_they_are_in(place: Place) -> None:
    place.put("shop.py", SHOP)
    place.put("notes.md", "# Needles\n\nneedle\n")
    found = place.call(GREP, pattern="needle", path="shop.py").text.split("\n")
    rows = [line.split("(")[0].strip() for line in found]
    assert rows == [
        "shop.py",
        "3: LIMIT = needle",
        "in Cart:",
        "11:     kind = needle",
        "in .total:",
        "15:         rows = [needle",
        "16:         return needle",
        "in .empty:",
        "19:         return needle",
        "22: def needle",
        "23:     return needle",
    ]
    assert place.call(GREP, pattern="needle", path="notes.md").text == "notes.md\n3: needle"


def test_names_of_definitions_add_little_to_a_result(place: Place) -> None:
    short = "".join(f"class C{n}:\n    def long_name_of_a_method(self): x()\n" for n in range(50))
    place.put("short.py", short)
    assert "in " not in place.call(GREP, pattern="x\\(", path="short.py").text
    body = "".join(f"    def m{n}(self):\n        return {'y' * 30} + x()\n" for n in range(60))
    place.put("long.py", f"class Cart:\n{body}")
    # The methods would be too much, the class is not.
    found = place.call(GREP, pattern="x\\(", path="long.py").text.split("\n")
    assert [line for line in found if line.startswith("in ")] == ["in Cart:"]


def test_f12_grep_shows_the_whole_definitions_around_its_hits(place: Place) -> None:
    place.put("shop.py", SHOP)
    outcome = place.call(GREP, pattern="needle\\((row|self)|LIMIT", context="definition")
    lines = SHOP.split("\n")
    assert outcome.text == "\n".join(
        [
            "shop.py",
            "3: LIMIT = needle(1)",
            "[lines 13-16: Cart.total]",
            *lines[12:16],
            "[lines 18-19: Cart.empty]",
            *lines[17:19],
        ]
    )
    assert [*outcome.metadata["seen"]] == ["shop.py"]
    # A definition inside another that is shown comes once.
    both = place.call(GREP, pattern="class Cart|self.rows, ", context="definition").text
    assert both.count("def empty") == 1
    assert both.startswith("shop.py\n[lines 10-19: Cart, Cart.empty]\nclass Cart:\n")
    with pytest.raises(UsageError, match="neither a number of lines nor definition"):
        place.call(GREP, pattern="needle", context="function")


def test_long_definitions_and_too_many_are_not_shown_whole(place: Place) -> None:
    rows = "".join(f"    x{n} = needle({n})\n" for n in range(3))
    place.put("long.py", f"class Long:\n{rows}" + "    y = 1\n" * 300)
    found = place.call(GREP, pattern="needle\\(1", context="definition").text
    around = "1- class Long:\n2-     x0 = needle(0)\n3:     x1 = needle(1)\n4-     x2 = needle(2)"
    assert found.startswith(f"long.py\nin Long, lines 1-304:\n{around}\n5- ")
    assert found.count("\n") == 7
    wide = "".join(f"def f{n}():\n    return needle({'z' * 1900!r})\n\n\n" for n in range(40))
    place.put("wide.py", wide)
    found = place.call(GREP, pattern="return needle", path="wide.py", context="definition").text
    assert len(found.encode()) <= BYTES + 500
    shown = found.count("def f")
    next_call = f'Next: read {{"path":"wide.py","lines":"{4 * shown + 1}-{4 * shown + 2},'
    assert f"[{40 - shown} more definitions. {next_call}" in found


def test_f12_a_use_in_a_long_definition_shows_the_lines_around_it(place: Place) -> None:
    body = [f"    x{n} = {n}" for n in range(70)]
    body[40] = "    needle(1)"
    place.put("a.py", "\n".join(["@cached", "def needle(x):", *body, ""]))
    used = place.call(GREP, pattern="needle\\(1", context="definition").text
    assert used == "\n".join(
        ["a.py", "in needle, lines 1-72:", *[f"{n}-     x{n - 3} = {n - 3}" for n in (40, 41, 42)],
         "43:     needle(1)", *[f"{n}-     x{n - 3} = {n - 3}" for n in (44, 45, 46)]]
    )  # fmt: skip
    head = place.call(GREP, pattern="def needle", context="definition").text
    assert head.startswith("a.py\n[lines 1-72: needle]\n@cached\ndef needle(x):\n    x0 = 0\n")
    assert head.endswith("    x69 = 69")


def test_f12_a_class_that_is_too_long_to_show_gives_its_outline(place: Place) -> None:
    methods = "".join(f"    def m{n}(self):\n" + "        pass\n" * 9 for n in range(30))
    place.put("a.py", f"class Needle:\n{methods}")
    found = place.call(GREP, pattern="class Needle", context="definition").text.split("\n")
    assert found[:3] == [
        "a.py", "[lines 1-301: Needle, 301 lines: its outline]", "2-11:     def m0(self):",
    ]  # fmt: skip
    assert (len(found), found[-1]) == (32, "292-301:     def m29(self):")


def test_f12_definitions_around_hits_are_those_of_the_draft(place: Place) -> None:
    place.put("a.py", "def old():\n    return needle\n")
    place.stage("a.py", "import os\n\n\ndef new():\n    return needle\n")
    found = place.call(GREP, pattern="needle", context="definition").text
    assert found == "a.py\n[lines 4-5: new]\ndef new():\n    return needle"


@pytest.mark.parametrize("pattern", ['say\\(\\"hi\\"', "say\\(.hi.\\)\\;", 'say.[\\"x]hi'])
def test_a_pattern_that_escapes_what_needs_no_escape_is_understood(
    place: Place, pattern: str
) -> None:
    place.put("a.txt", 'say("hi");\n')
    assert place.call(GREP, pattern=pattern).metadata["count"] == 1
    assert place.call(GREP, pattern='\\\\"').metadata["count"] == 0


def test_f12_a_long_result_says_how_many_lines_match(place: Place) -> None:
    for n in range(11):
        place.put(f"many/{n:02}.txt", "needle needle\n")
    found = place.call(GREP, pattern="needle")
    assert found.text.endswith("many/10.txt\n1: needle needle\n[11 matching lines in 11 files.]")
    cut = place.call(GREP, pattern="needle", limit=2).text
    assert "\n[2 of 11 matching lines in 11 files. Not shown: many/02.txt 1, " in cut
    counted = place.call(GREP, pattern="needle", show="count").text
    assert counted.endswith("many/10.txt: 1\n[11 matching lines in 11 files.]")
    # Ten lines, or those of one file, are counted at sight; not if not all are shown.
    place.put("many/00.txt", "other\n")
    assert place.call(GREP, pattern="needle").text.endswith("1: needle needle")
    place.put("one.txt", "x\n" * 200)
    assert place.call(GREP, pattern="x", path="one.txt", limit=300).text.endswith("200: x")
    place.put("wide.txt", ("x" * 400 + "\n") * 300)
    wide = place.call(GREP, pattern="x", path="wide.txt", limit=300)
    assert wide.text.endswith("bytes shown.]\n[300 matching lines.]")


@pytest.mark.parametrize("how", ["context", "before", "after"])
def test_f12_a_context_that_is_cut_is_said(place: Place, how: str) -> None:
    place.put("c.txt", "a\n" * 40 + "needle\n" + "a\n" * 40)
    asked: dict[str, Any] = {how: 30}
    text = place.call(GREP, pattern="needle", path="c.txt", **asked).text
    assert text.endswith("\n[Context is limited to 20 lines; `read` shows more.]")
    assert text.count("- a") == (40 if how == "context" else 20)
    asked = {how: 20}
    assert "limited" not in place.call(GREP, pattern="needle", path="c.txt", **asked).text


@pytest.mark.parametrize("pattern", ["--pre=sh", "-e", "--files", "-", "--", "--config=x"])
def test_a_pattern_is_never_an_option(place: Place, pattern: str) -> None:
    place.put("c.txt", f"before\n{pattern} here\n")
    assert f"2: {pattern} here" in place.call(GREP, pattern=pattern, literal=True).text


def test_a_file_name_is_never_an_option(place: Place) -> None:
    place.put("--pre=touch pwned", "needle\n")
    place.put("-f", "needle\n")
    place.put("two\nlines", "needle\n")
    found = place.call(GREP, pattern="needle").text
    assert found == "--pre=touch pwned\n1: needle\n-f\n1: needle\ntwo\\nlines\n1: needle"
    assert place.call(GREP, pattern="needle", path="-f").text == "-f\n1: needle"
    assert not (place.root / "pwned").exists()


def test_grep_searches_what_is_staged_and_not_what_it_replaces(place: Place) -> None:
    place.stage("src/app.py", "def other() -> None: ...\n")
    place.drop("keep.log")
    place.stage("fresh.py", "main\n")
    assert place.call(GREP, pattern="main").text == "fresh.py\n1: main"
    assert place.call(GREP, pattern="other").text == "src/app.py\n1: def other() -> None: ..."


def test_grep_leaves_out_what_needs_consent_and_counts_it(place: Place) -> None:
    place.put("prod.env", "main=1\n")
    place.secret = (b"prod.env",)
    text = place.call(GREP, pattern="main").text
    assert "main=1" not in text
    assert text.endswith("[Skipped 1 file that may contain secrets.]")


def test_grep_says_of_files_that_a_rule_keeps_back_no_more_than_is_true(place: Place) -> None:
    place.put("src/app.py", "main = 1\n")
    place.put("prod.env", "main=1\n")
    place.secret = (b"src/app.py", b"prod.env")
    kept = (
        "[Skipped 1 file that may contain secrets.]\n[Skipped 1 file that may not be read, or only "
        "with permission.]"
    )
    assert place.call(GREP, pattern="main").text.endswith(kept)
    assert place.call(SEARCH, name="main").text.endswith(kept)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*)*x", "a?" * 30 + "a" * 30, "(a*)*b"]
)
def test_an_expression_that_explodes_ends_all_the_same(place: Place, pattern: str) -> None:
    place.put("c.txt", "a" * 400 + "!\n")
    expected = ("c.txt\n1: aaa", "[No line", "This expression may")
    assert said(place, pattern, "c.txt").startswith(expected)


def test_a_staged_file_is_left_out_where_an_expression_could_explode(place: Place) -> None:
    place.stage("fresh.py", "aaa\n")
    assert said(place, "(a+)+$").endswith(
        ("not searched: use a simpler expression.]", "or one with fewer repetitions.")
    )


@pytest.mark.parametrize("pattern", ["(", "", "a\nb", "a\0b"])
def test_a_pattern_that_means_nothing_is_told(place: Place, pattern: str) -> None:
    with pytest.raises(UsageError):
        place.call(GREP, pattern=pattern)


def test_f78_no_search_leads_outside(place: Place) -> None:
    (place.root.parent / "secret").write_text("needle\n", encoding="utf-8")
    (place.root / "link").symlink_to("../secret")
    (place.root / "folder").symlink_to("..")
    assert place.call(GREP, pattern="needle").text == "[No lines match.]"
    for tool, args in ((GREP, {"pattern": "needle"}), (GLOB, {"pattern": "*"}), (LIST, {})):
        for path in ("folder", "..", "/etc", "link"):
            with pytest.raises(Refused, match="outside the workspace"):
                place.call(tool, path=path, **args)


def test_odd_files_are_passed_over(place: Place) -> None:
    os.mkfifo(place.root / "pipe")
    place.put("latin.txt", b"caf\xe9 needle\n")
    name = os.fsencode(place.root) + b"/odd\xff.txt"
    Path(os.fsdecode(name)).write_text("needle\n", encoding="utf-8")
    found = place.call(GREP, pattern="needle").text
    assert found == "latin.txt\n1: caf\ufffd needle\nodd\\xff.txt\n1: needle"


def test_f12_search_finds_definitions_and_not_uses(place: Place) -> None:
    place.put("tests/test_app.py", "def main(): ...\n")
    place.put("docs.txt", "class Page\n")
    assert place.call(SEARCH, name="main").text == (
        "src/app.py:4-5 def main() -> None:\ntests/test_app.py:1 def main(): ..."
    )
    assert place.call(SEARCH, name="app.Page").text == ("src/web/page.ts:1-4 export class Page {")
    assert place.call(SEARCH, name="run").text == (
        "[No definition of run found; 1 line mentions it: src/app.py:5.]"
    )
    place.put("src/job.py", "run()\nrun()\n")
    assert place.call(SEARCH, name="run").text == (
        "[No definition of run found; 3 lines mention it, first src/app.py:5. Use grep to see "
        "them.]"
    )
    assert place.call(SEARCH, name="nobody").text == "[nobody was not found.]"


def test_search_outlines_a_file(place: Place) -> None:
    place.stage("src/app.py", "LIMIT = 3\n\nclass A:\n    def go(self) -> int:\n        x = 1\n")
    assert place.call(SEARCH, path="src/app.py").text == (
        "1: LIMIT = 3\n3-5: class A:\n4-5:     def go(self) -> int:"
    )
    with pytest.raises(UsageError, match="Give a name"):
        place.call(SEARCH)


@pytest.mark.parametrize(
    ("path", "line", "kind"),
    [
        ("a.go", "func (s *Server) thing(w Writer) error {", "method"),
        ("a.go", "type thing struct {", "type"),
        ("a.rs", "    pub(crate) async fn thing<T>(x: T) -> T {", "function"),
        ("a.rs", "pub struct thing;", "type"),
        ("A.java", "    public static List<String> thing(int a) {", "method"),
        ("a.kt", "data class thing(val a: Int)", "class"),
        ("a.swift", "    func thing() -> Int {", "function"),
        ("a.c", "static int thing(const char *a) {", "function"),
        ("a.hpp", "class thing final : public Base {", "class"),
        ("a.h", "#define thing 3", "constant"),
        ("a.rb", "  def self.thing(a)", "function"),
        ("a.php", "    private function thing($a) {", "function"),
        ("a.sh", "thing() {", "function"),
        ("a.sql", "CREATE TABLE IF NOT EXISTS public.thing (", "type"),
        ("a.tsx", "export const thing = async () => {", "function"),
        ("a.ts", "export interface thing {", "type"),
        ("a.ex", "  defp thing(a) do", "function"),
        ("a.proto", "message thing {", "type"),
        ("Makefile", "thing: other", "function"),
    ],
)
def test_search_knows_many_languages(tmp_path: Path, path: str, line: str, kind: str) -> None:
    place = Place(tmp_path)
    place.put(path, f"// thing\n{line}\nreturn thing(1);\n")
    assert place.call(SEARCH, name="thing").text == f"{path}:2 {line.strip()}"
    found = definition(path.encode(), line, "thing")
    assert found is not None
    assert (found.name, found.kind, line[found.start :][:5]) == ("thing", kind, "thing")
    assert definition(path.encode(), line) == found


def test_f12_search_names_the_owner_and_the_range_of_every_definition(place: Place) -> None:
    place.put(
        "src/option.py",
        '"""\ndef process(self): is only text.\n"""\n\n\nclass Option:\n    @overload\n'
        "    def process(self, a: int) -> int: ...\n\n    @overload\n    def process(\n"
        "        self, a: str\n    ) -> str: ...\n\n    def process(self, a):\n"
        "        return a\n\n\nclass Key(Option):\n    def process(self, a):\n"
        "        def inner():\n            return a\n        return inner\n",
    )
    place.put("src/key.go", "func (k *Key) process(a int) {\n\treturn\n}\n")
    place.put("src/key.ts", "class Key {\n  process(a) {\n    return a\n  }\n}\n")
    assert place.call(SEARCH, name="process").text == (
        "src/key.go:1-3 func (k *Key) process(a int) {\n"
        "src/key.ts:2-4 Key.process(a) {\n"
        "src/option.py:7-8 def Option.process(self, a: int) -> int: ...\n"
        "src/option.py:10-13 def Option.process(\n"
        "src/option.py:15-16 def Option.process(self, a):\n"
        "src/option.py:20-23 def Key.process(self, a):"
    )
    assert place.call(SEARCH, name="Key.process", path="src/option.py").text == (
        "src/option.py:20-23 def Key.process(self, a):"
    )
    assert place.call(SEARCH, name="Key", path="src/option.py").text == (
        "src/option.py:19-23 class Key(Option):"
    )
    assert place.call(SEARCH, name="inner").text == ("src/option.py:21-22 def Key.process.inner():")


def test_search_looks_at_a_bounded_part_of_many_files(place: Place) -> None:
    body = "def thing():\n    pass\n" + "# x\n" * 60_000
    for n in range(12):
        place.put(f"m{n:02}.py", body)
    place.put("huge.py", "def thing():\n    pass\n" + "# x\n" * (MAX_BYTES // 4))
    lines = place.call(SEARCH, name="thing").text.split("\n")
    ranged = [line for line in lines if ":1-2 def thing():" in line]
    assert (len(lines), 3 <= len(ranged) <= 8) == (13, True)
    assert "huge.py:1 def thing():" in lines


def test_f12_search_gives_ranges_of_the_draft(place: Place) -> None:
    place.stage("src/app.py", "class A:\n    def main(self):\n        x = 1\n        return x\n")
    assert place.call(SEARCH, name="main").text == "src/app.py:2-4 def A.main(self):"


def test_ripgrep_runs_with_fixed_options_in_the_sandbox(tmp_path: Path) -> None:
    place = Place(tmp_path, SandboxState.HELD)
    place.put("a.txt", "needle\n")
    place.put(".ripgreprc", "--pre=/bin/false\n")
    subprocess.run(["git", "init", "-q", str(place.root)], check=True)
    assert place.call(GREP, pattern="needle").text == "a.txt\n1: needle"
    (argv,) = place.process.ran
    assert argv[1] == b"--no-config"
    assert argv[-3:] == (b"--regexp=needle", b"--", b"./")


def test_a_match_far_into_a_line_is_found(place: Place) -> None:
    place.put("long.txt", "x" * 3000 + " needle\n")
    for path in ("long.txt", "."):
        for literal in (True, False):
            found = place.call(GREP, pattern="needle", path=path, literal=literal)
            assert found.metadata == {"count": 1}
            assert len(found.text) < 1000


def test_assents_own_state_in_the_workspace_is_never_read(place: Place) -> None:
    place.put(".local/state/assent/key", "needle\n")
    place.put(".local/state/other", "needle\n")
    place.private = (b".local/state/assent",)
    assert place.call(GREP, pattern="needle").text.startswith(".local/state/other\n1: needle")
    assert "key" not in place.call(LIST).text
    assert place.call(GLOB, pattern="**/key").text == "[No files match.]"
    for path in (".local/state/assent/key", ".LOCAL/state/ASSENT", ".local/state/assent"):
        with pytest.raises(Refused, match="belongs to Assent"):
            place.touched(READ, path=path)
        with pytest.raises(Refused, match="belongs to Assent"):
            place.call(GREP, pattern="needle", path=path)


@pytest.mark.parametrize(("pattern", "waits"), [("def main", False), ("(a+)+b|main", True)])
def test_a_simple_search_does_not_wait_for_the_selftest(
    tmp_path: Path, pattern: str, waits: bool
) -> None:
    place = Place(tmp_path, SandboxState.NONE)
    place.put("src/app.py", "def main() -> None:\n")
    place.tested = False
    before = said(place, pattern)
    assert bool(place.process.ran) == waits
    place.tested = True
    assert said(place, pattern) == before == "src/app.py\n1: def main() -> None:"
    assert place.process.ran


def test_a_search_of_many_files_waits_for_the_selftest(tmp_path: Path) -> None:
    place = Place(tmp_path, SandboxState.NONE)
    for number in range(MAX_UNTESTED_FILES + 1):
        place.put(f"{number}.txt", "main\n")
    place.tested = False
    assert place.call(GREP, pattern="main", show="count", limit=3000).metadata is not None
    assert len(place.process.ran) == 1
    place.call(GLOB, pattern="7.txt")
    assert len(place.process.ran) == 1  # a list of names is walked here


def test_f12_grep_ignores_case_and_shows_lines_around(place: Place) -> None:
    text = place.call(GREP, pattern="DEF MAIN", ignore_case=True, context=1).text
    assert text == "src/app.py\n3- \n4: def main() -> None:\n5-     run(1)"
    place.stage("fresh.py", "Def Main\n")
    text = place.call(GREP, pattern="DEF MAIN", ignore_case=True).text
    assert text == "fresh.py\n1: Def Main\nsrc/app.py\n4: def main() -> None:"


@pytest.mark.parametrize("pattern", ["net_price(", "a[", "*x", "+"])
def test_f12_a_bad_expression_says_how_to_search_for_plain_text(place: Place, pattern: str) -> None:
    place.put("b.py", f"before {pattern} after\n")
    assert "Set `literal` to search for it as plain text." in said(place, pattern)
    found = place.call(GREP, pattern=pattern, literal=True).text
    assert found == f"b.py\n1: before {pattern} after"


def test_f12_glob_takes_absolute_patterns_and_hidden_folders(place: Place) -> None:
    place.put(".github/workflows/test.yml")
    root = str(place.root)
    assert place.call(GLOB, pattern=f"{root}/src/*.py").text == "src/app.py"
    assert place.call(GLOB, pattern=f"{root}/*.log", path="src").text == "keep.log"
    assert place.touched(GLOB, pattern=f"{root}/src/*.py", path="src")[0] == "."
    assert place.call(GLOB, pattern=".github/**").text == ".github/workflows/test.yml"
    assert place.call(GLOB, pattern="*.yml").text == ".github/workflows/test.yml"
    not_searched = "[No files match. node_modules is ignored; to search it, give it as path.]"
    assert place.call(GLOB, pattern="node_modules/**").text == not_searched
    assert place.call(GLOB, pattern="**", path="node_modules").text == "node_modules/m/i.js"
    assert place.call(GLOB, pattern="src/*.rs").text == "[No files match.]"


@pytest.mark.parametrize("pattern", ["/etc/*", "~/*", "/*"])
def test_f77_glob_says_that_it_finds_nothing_outside(place: Place, pattern: str) -> None:
    with pytest.raises(Refused, match=r"outside the workspace. `glob` finds only files inside it"):
        place.call(GLOB, pattern=pattern)
    with pytest.raises(UsageError, match="give the folder as `path`"):
        place.call(GLOB, pattern="../*")


def test_f12_plans_are_found_only_by_a_search_among_them(place: Place) -> None:
    plan = ".opencode/plans/quiet-owl/PLAN_work.md"
    place.put(plan, "def main\n")
    place.put(".opencode/.gitignore", "assent/\n")
    place.put(".opencode/plans/notes.md", "def main\n")  # somebody's own
    for tool, args in ((LIST, {}), (GREP, {"pattern": "main|assent"}), (GLOB, {"pattern": "**"})):
        text = place.call(tool, **args).text
        assert "notes.md" in text
        assert "PLAN_work" not in text
        assert text.count(".gitignore") == (tool is not GREP)
    assert place.call(LIST, path=".opencode/plans/quiet-owl").text == "PLAN_work.md"
    assert plan in place.call(GREP, pattern="main", path=".opencode/plans").text
    assert plan in place.call(GREP, pattern="main", path=plan).text
    assert plan in place.call(GLOB, pattern=".opencode/plans/**").text
    assert place.call(READ, path=plan).text == "def main"


def test_a_file_glob_after_an_exclamation_mark_leaves_files_out(place: Place) -> None:
    for path in ("a.py", "lib/b.py", "lib/c.txt"):
        place.put(path, "found\n")
    outside = place.call(GREP, pattern="found", include="!lib/**").text
    assert outside == "a.py\n1: found"
    assert place.call(GREP, pattern="found", include="!*.py").text == "lib/c.txt\n1: found"
