"""edit: the places that are meant, and every other byte as it was (F130)."""

from pathlib import Path

import pytest
from tests.tools.call_harness import PLAN, Desk

from assent.core.digest import sha256
from assent.core.tool import EditEffect, PermissionContext, PlanTextEffect, Verdict


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


CASES = {
    "exact": (b"a\nb\nc\n", "b", "B", b"a\nB\nc\n"),
    "in a line": (b"x = f(1)\n", "f(1)", "g(2)", b"x = g(2)\n"),
    "exact wins over near": (b"  b\nb\n", "\nb\n", "\nc\n", b"  b\nc\n"),
    "CRLF": (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
    "CRLF in the middle of a line": (b"f(1,\r\n 2)\r\n", "1,\n 2", "3,\n 4", b"f(3,\r\n 4)\r\n"),
    "one CRLF line becomes two": (b"a\r\nb\r\n", "a", "a\nz", b"a\r\nz\r\nb\r\n"),
    "mixed ends stay outside": (b"a\r\nb\nc\r\nd\n", "b\nc", "x", b"a\r\nx\r\nd\n"),
    "LF part of a mixed file": (b"a\nb\nc\r\nd\r\ne\r\n", "a\nb", "x\ny", b"x\ny\nc\r\nd\r\ne\r\n"),
    "BOM": (b"\xef\xbb\xbfa\nb\n", "a", "x", b"\xef\xbb\xbfx\nb\n"),
    "blanks at the end": (b"if x:  \n    y()\t\nz\n", "if x:\n    y()\n", "w\n", b"w\nz\n"),
    "no final newline": (b"a\nb", "b\n", "c\n", b"a\nc"),
    "no final newline, exact": (b"a\nb", "b", "c", b"a\nc"),
    "indentation": (
        b"def f():\n        if x:\n            y()\n",
        "if x:\n    y()",
        "if z:\n    y()\n    w()",
        b"def f():\n        if z:\n            y()\n            w()\n",
    ),
    "tabs for blanks": (
        b"f {\n\tif x {\n\t\ty()\n\t}\n}\n",
        "    if x {\n        y()\n    }",
        "    if x {\n        z()\n        if w {\n            v()\n        }\n    }",
        b"f {\n\tif x {\n\t\tz()\n\t\tif w {\n\t\t    v()\n\t\t}\n\t}\n}\n",
    ),
    "indentation and CRLF": (b"  a\r\n  b\r\nc\r\n", "a\nb\n", "x\ny\n", b"  x\r\n  y\r\nc\r\n"),
    "indented before CRLF": (b"  a\r\n  b\r\nc\r\n", " a\n b", " x\n y", b"  x\r\n  y\r\nc\r\n"),
    "Latin-1 by its letters": (b"caf\xe9 1\n\xff\n", "café 1", "café 2", b"caf\xe9 2\n\xff\n"),
    "Latin-1 as it is shown": (b"caf\xe9 1\n", "caf\\xe9 1", "th\\xe9", b"th\xe9\n"),
    "odd bytes elsewhere": (b"\xff\xfe\na\n", "a", "ü", b"\xff\xfe\n\xc3\xbc\n"),
    "blanks at the very end": (b"x = 1\nx = 10\n", "x = 1  ", "y", b"y\nx = 10\n"),
    "deleting": (b"a\nb\nc\n", "b\n", "", b"a\nc\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_f130_an_edit_keeps_what_it_is_not_about(desk: Desk, case: str) -> None:
    before, old, new, after = CASES[case]
    desk.put("f", before)
    desk.call("edit", path="f", old=old, new=new)
    assert desk.content("f") == after


def test_f130_an_ambiguous_edit_names_the_lines(desk: Desk) -> None:
    desk.put("f", "x\ny\nx\n")
    told = desk.failing("edit", path="f", old="x", new="z")
    assert "2 places, at lines 1, 3" in told
    assert "replace_all" in told
    assert desk.call("edit", path="f", old="x", new="z", replace_all=True)
    assert desk.content("f") == b"z\ny\nz\n"


def test_f130_near_places_are_ambiguous_too(desk: Desk) -> None:
    desk.put("f", "  if a:\n    b\n    if a:\n      b\n")
    assert "2 places, at lines 1, 3" in desk.failing("edit", path="f", old="if a:\n  b", new="c")


def test_f130_what_is_not_there_is_told_with_the_nearest_lines(desk: Desk) -> None:
    desk.put("f", "import os\n\ndef total(items):\n    return 1\n")
    told = desk.failing("edit", path="f", old="def total(items, tax):\n", new="")
    assert told == (
        "`old` was not found. Nothing was changed. Nearest are lines 2-4:\n"
        "\ndef total(items):\n    return 1"
    )


NUMBERED = {
    "as grep shows it": ("2:     b\n3:     c", "2:     x\n3:     y", b"a\n    x\n    y\n"),
    "new is bare": ("2:     b\n", "    z\n", b"a\n    z\n    c\n"),
    "as grep shows context": ("2-     b\n3:     c\n", "", b"a\n"),
    "with a tab": ("     2\t    b", "     2\t    z", b"a\n    z\n    c\n"),
    "with an arrow": ("2→    b", "    z", b"a\n    z\n    c\n"),
}


@pytest.mark.parametrize("case", NUMBERED)
def test_numbers_of_lines_are_not_content(desk: Desk, case: str) -> None:
    old, new, after = NUMBERED[case]
    desk.put("f", "a\n    b\n    c\n")
    desk.call("edit", path="f", old=old, new=new)
    assert desk.content("f") == after


def test_numbers_that_are_content_stay(desk: Desk) -> None:
    desk.put("f", "1: a\n2: b\n")
    desk.call("edit", path="f", old="2: b", new="3: c")
    assert desk.content("f") == b"1: a\n3: c\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [("1: a\nb", "x"), ("1: a", "x\n2: b"), ("3: 1: z", "1: y")],
)
def test_numbers_that_leave_a_doubt_are_told(desk: Desk, old: str, new: str) -> None:
    desk.put("f", "a\nb\n1: z\n")
    told = desk.failing("edit", path="f", old=old, new=new)
    assert told.startswith("`old` was not found. Nothing was changed. Line numbers are not content")


def test_searches_show_the_number_of_a_line_alike_and_read_shows_none(desk: Desk) -> None:
    desk.put("f.py", "x = 1\n")
    line = "1: x = 1"
    assert desk.call("read", path="f.py").text == "x = 1"
    assert desk.call("grep", pattern="x", path="f.py").text.endswith(f"\n{line}")
    assert desk.call("search", path="f.py").text == line


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "x", "`old` is empty"),
        ("a", "a", "the same"),
        ("zzz", "x", "not found"),
        ("b  ", "x", "not found"),  # the line goes on
        ("  \n\t", "x", "not found"),
        ("a\n  ", "x", "not found"),
    ],
)
def test_f130_an_edit_that_means_nothing_is_refused(
    desk: Desk, old: str, new: str, words: str
) -> None:
    desk.put("f", "a\nbc\n")
    assert words in desk.failing("edit", path="f", old=old, new=new)


def test_f130_a_stale_read_is_told(desk: Desk) -> None:
    desk.put("f", "a\n")
    desk.seen = {"f": sha256(b"earlier\n")}
    assert "Read it again" in desk.failing("edit", path="f", old="a", new="b")
    assert "Read it again" in desk.failing("write", path="f", content="b\n")
    assert "Read it again" in desk.failing("delete", path="f")
    desk.seen = {"f": sha256(b"a\n")}
    outcome = desk.call("edit", path="f", old="a", new="b")
    assert outcome.metadata == {"seen": {"f": sha256(b"b\n")}}


def test_f130_a_second_edit_sees_the_first(desk: Desk) -> None:
    desk.put("f", "a\n")
    for old, new in (("a", "b"), ("b", "c")):
        desk.seen = desk.call("edit", path="f", old=old, new=new).metadata["seen"]
    assert desk.content("f") == b"c\n"
    assert len(desk.place.operations) == 1


def test_f130_binary_files_and_folders_are_refused(desk: Desk) -> None:
    desk.put("b", b"a\0b")
    desk.put("d/x")
    assert "binary" in desk.failing("edit", path="b", old="a", new="c")
    assert "is a folder" in desk.failing("edit", path="d", old="a", new="c")
    assert "does not exist" in desk.failing("edit", path="none", old="a", new="c")


def test_an_edit_says_what_changed_and_keeps_the_mode(desk: Desk) -> None:
    desk.put("run.sh", "1\n2\n3\n4\n5\n6\n").chmod(0o755)
    outcome = desk.call("edit", path="run.sh", old="4", new="four")
    assert outcome.text.splitlines() == [
        "run.sh: 1 replacement:", "@@ -4 +4 @@", "-4", "+four",
    ]  # fmt: skip
    assert isinstance(outcome.effect, EditEffect)
    (operation,) = outcome.effect.operations
    assert (operation.before.mode, operation.after.mode) == (0o755, 0o755)  # type: ignore[union-attr]


def edit(path: str, old: str, new: str, **more: object) -> dict[str, object]:
    return {"path": path, "old": old, "new": new, **more}


def test_f131_edits_of_several_files_are_one_change(desk: Desk) -> None:
    desk.put("a", "one\ntwo\n")
    desk.put("b", "one\r\ntwo\r\n")
    desk.put("c", "x x\n")
    edits = [
        edit("a", "two", "2"), edit("b", "one\ntwo", "1\n2"), edit("a", "one", "1"),
        edit("c", "x", "y", replace_all=True),
    ]  # fmt: skip
    settled = desk.settle("edit", edits=edits)
    assert not settled.outcome.failed
    assert [line for line in settled.outcome.text.splitlines() if line[0] not in " @-+"] == [
        "a: 2 replacements:", "b: 1 replacement:", "c: 2 replacements:", "`x` 2 times, lines 1",
    ]  # fmt: skip
    assert isinstance(settled.outcome.effect, EditEffect)
    assert [op.path for op in settled.outcome.effect.operations] == [b"a", b"b", b"c"]  # type: ignore[union-attr]
    assert [desk.content(name) for name in "abc"] == [b"1\n2\n", b"1\r\n2\r\n", b"y y\n"]
    assert settled.outcome.metadata == {
        "seen": {name: sha256(desk.content(name)) for name in "abc"}
    }


def test_f131_every_edit_is_matched_against_the_files_as_they_were(desk: Desk) -> None:
    desk.put("f", "a\nb\n")
    desk.call("edit", edits=[edit("f", "a", "b"), edit("f", "b", "a")])
    assert desk.content("f") == b"b\na\n"
    told = desk.failing("edit", edits=[edit("f", "a", "b1"), edit("./f", "b1", "c")])
    assert told.startswith("1 of 2 edits cannot be made. Nothing was changed.\nedits[1] ./f: `old`")
    assert desk.content("f") == b"b\na\n"


def test_f131_every_edit_that_cannot_be_made_is_named_and_none_is_made(desk: Desk) -> None:
    desk.put("f", "one\ntwo\nthree\nthree\n")
    desk.put("bin", b"\0")
    edits = [
        edit("f", "one\ntwo", "1"), edit("f", "two", "2"), edit("f", "three", "3"),
        edit("f", "four five", "4"), edit("g", "a", "b"), edit("bin", "a", "b"),
        edit("f", "", "b"),
    ]  # fmt: skip
    assert desk.failing("edit", edits=edits).splitlines() == [
        "6 of 7 edits cannot be made. Nothing was changed.",
        "edits[1] f: overlaps edits[0] at line 2.",
        "edits[2] f: `old` matches 2 places, at lines 3, 4. Include more surrounding lines, or "
        "set replace_all.",
        "edits[3] f: `old` was not found. No line of the file is similar; read the file again.",
        "edits[4] g: g does not exist. Use `write` to create it.",
        "edits[5] bin: bin is binary; it can only be overwritten, moved or deleted.",
        "Also: edits[6].",
    ]
    assert desk.place.operations == []


OVERLAPS = {
    "the same twice": ([("b", "x", {}), ("b", "y", {})], "edits[1] f: overlaps edits[0] at line 2"),
    "inside": ([("b", "x", {}), ("a\nb\nc", "y", {})], "edits[1] f: overlaps edits[0] at line 2"),
    "every place": (
        [("c", "x", {"replace_all": True}), ("d\nc", "y", {})],
        "edits[1] f: overlaps edits[0] at line 5",
    ),
    "near": ([("b \nc", "x", {}), ("c\nd", "y", {})], "edits[1] f: overlaps edits[0] at line 3"),
}


@pytest.mark.parametrize("case", OVERLAPS)
def test_f131_places_that_overlap_are_refused(desk: Desk, case: str) -> None:
    edits, told = OVERLAPS[case]
    desk.put("f", "a\nb\nc\nd\nc\n")
    assert told in desk.failing("edit", edits=[edit("f", old, new, **m) for old, new, m in edits])


def test_f131_places_that_touch_are_none_that_overlap(desk: Desk) -> None:
    desk.put("f", "a\nb\nc\n")
    desk.call("edit", edits=[edit("f", "b\n", ""), edit("f", "a\n", "x\n"), edit("f", "c", "z")])
    assert desk.content("f") == b"x\nz\n"


def test_f131_a_link_and_its_file_are_one_file(desk: Desk) -> None:
    desk.put("real", "a\nb\n")
    (desk.place.root / "link").symlink_to("real")
    desk.call("edit", edits=[edit("link", "a", "1"), edit("real", "b", "2")])
    assert desk.content("real") == b"1\n2\n"
    assert len(desk.place.operations) == 1
    told = desk.failing("edit", edits=[edit("link", "1\n2", "x"), edit("real", "2", "y")])
    assert "edits[1] real: overlaps edits[0]" in told


def test_f131_one_stale_file_stops_all_edits(desk: Desk) -> None:
    desk.put("a", "one\n")
    desk.put("b", "two\n")
    desk.seen = {"b": sha256(b"earlier\n")}
    told = desk.failing("edit", edits=[edit("a", "one", "1"), edit("b", "two", "2")])
    assert "edits[1] b: b has changed since you read it. Read it again first." in told


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"edits": []}, "must not be empty"),
        ({"path": "f", "edits": []}, "must not be empty"),
        ({"edits": [edit("f", "a", "b")] * 1001}, "1000 at most"),
        ({}, "missing required field `path`"),
        ({"path": "f"}, "missing required field `old`"),
        ({"edits": "a"}, "Expected `array`"),
        ({"edits": {"path": "f", "old": "a", "new": "b"}}, "Expected `array`"),
        ({"edits": [edit("f", "a", "b")], "old": "a", "new": "c"}, "`old` is unknown"),
        ({"edits": [edit("f", "a", "b")], "replace_all": True}, "`replace_all` is unknown"),
        ({"edits": [{"old": "a", "new": "b"}]}, "missing required field `path`"),
        ({"path": "f", "edits": [{"file_path": "g", "old": "a", "new": "b"}]}, "unknown field"),
        ({"edits": [edit("f", "a", "b", where=1)]}, "unknown field `where`"),
    ],
)
def test_a_list_of_edits_that_does_not_fit_is_refused(
    desk: Desk, args: dict[str, object], words: str
) -> None:
    desk.put("f", "a\n")
    assert words in desk.failing("edit", **args)


def test_models_that_know_multi_edit_call_edit(desk: Desk) -> None:
    desk.put("f", "a\nb\n")
    edits = [{"old_string": "a", "new_string": "1"}, {"old_string": "b", "new_string": "2"}]
    for name in ("multi_edit", "MultiEdit"):
        settled = desk.settle(name, file_path="f", edits=edits)
        assert (settled.tool, settled.outcome.failed) == ("edit", name == "MultiEdit")
    assert desk.content("f") == b"1\n2\n"


def test_f17_the_plan_file_is_edited_in_a_call_of_its_own(desk: Desk) -> None:
    desk.put("f", "a\n")
    desk.plan_text = b"# Plan\n\nOne.\nTwo.\n"
    edits = [edit(PLAN, "One", "1"), edit(PLAN, "Two", "2")]
    effect = desk.call("edit", edits=edits).effect
    assert effect == PlanTextEffect("# Plan\n\n1.\n2.\n")
    told = desk.failing("edit", edits=[*edits, edit("f", "a", "b")])
    assert "in a call of its own" in told
    indirect = edit(PLAN.replace("plans/", "plans/../plans/"), "One", "1")
    assert "indirectly" in desk.failing("edit", edits=[*edits, indirect])


def test_f76_no_file_gets_around_the_gate_by_being_second(desk: Desk) -> None:
    desk.put("f", "a\n")
    desk.put(".env", "KEY=abcdef\n")
    desk.put(".git/config", "[core]\n")
    desk.answer = "no"
    settled = desk.settle("edit", edits=[edit("f", "a", "b"), edit(".env", "KEY=zzz", "KEY=y")])
    assert settled.outcome.failed
    assert "abcdef" not in settled.outcome.text
    assert [request.resource for request in desk.asked[0][0]] == [".env"]
    assert ".git" in desk.failing(
        "edit", edits=[edit("f", "a", "b"), edit(".git/config", "c", "d")]
    )
    assert "outside" in desk.failing("edit", edits=[edit("f", "a", "b"), edit("../x", "c", "d")])
    assert desk.place.operations == []


def test_f131_what_asks_shows_all_files_in_one_question(desk: Desk) -> None:
    desk.posture = PermissionContext("ask")
    desk.put("a", "1\n")
    desk.put("b", "2\n")
    desk.call("edit", edits=[edit("a", "1", "x"), edit("b", "2", "y")])
    ((requests, _),) = desk.asked
    assert [request.resource for request in requests] == ["a", "b"]
    (shown,) = desk.shown
    assert shown is not None
    assert len(shown.operations) == 2


def test_an_edit_through_a_symlink_changes_the_file_it_leads_to(desk: Desk) -> None:
    desk.put("real", "a\n")
    (desk.place.root / "link").symlink_to("real")
    desk.call("edit", path="link", old="a", new="b")
    assert [op.path for op in desk.place.operations] == [b"real"]  # type: ignore[union-attr]


def test_f76_an_edit_of_a_secret_asks_because_it_shows_lines(desk: Desk) -> None:
    desk.put(".env", "KEY=abcdef\n")
    desk.answer = "no"
    settled = desk.settle("edit", path=".env", old="KEY=zzz", new="KEY=y")
    assert settled.decision is not None
    assert settled.decision.verdict is Verdict.ASK
    assert "abcdef" not in settled.outcome.text


LONG = "".join(f"{n}\n" for n in range(1, 101))


def test_f130_every_place_of_several_edits_is_shown_under_its_path(desk: Desk) -> None:
    desk.put("long", LONG)
    edits = [
        {"old": "\n10\n", "new": "\nten\n"},
        {"old": "50\n", "new": ""},
        {"old": "90", "new": "x\ny"},
    ]
    assert desk.call("edit", path="long", edits=edits).text.splitlines() == [
        "long: 3 replacements:",
        "@@ -10 +10 @@", "-10", "+ten",
        "@@ -50 +49,0 @@", "-50",
        "@@ -90 +89,2 @@", "-90", "+x", "+y",
    ]  # fmt: skip


def test_f130_lines_that_were_only_inserted_are_counted(desk: Desk) -> None:
    desk.put("f", "".join(f"{n}\n" for n in range(1, 17)))
    new = "16\n\n" + "".join(f"new {n}\n" for n in range(14))
    assert desk.call("edit", path="f", old="16\n", new=new).text == (
        "f: 1 replacement:\n15 lines inserted after line 16"
    )
    desk.put("g", "".join(f"{n}\n" for n in range(1, 10)))
    edits = [edit("g", "1\n2\n", "0\n1\n2\n"), edit("g", "8\n", "8\nx\ny\n")]
    assert desk.call("edit", edits=edits).text.splitlines() == [
        "g: 2 replacements:", "1 line inserted before line 1",
        "2 lines inserted after line 8, now line 10",
    ]  # fmt: skip


def test_f130_the_end_of_a_file_counts_as_no_line(desk: Desk) -> None:
    desk.put("f", "1\n2\n")
    rows = desk.call("edit", path="f", old="2\n", new="two\n\nthree\n").text.splitlines()
    assert rows[1:] == ["@@ -2 +2,3 @@", "-2", "+two", "+", "+three"]
    desk.put("h", "1\n2\n")
    rows = desk.call("edit", path="h", old="2\n", new="2").text.splitlines()
    assert rows[1:] == ["@@ -2 +2 @@", "-2", "+2 [no line break at the end]"]
    desk.put("g", "1")
    rows = desk.call("edit", path="g", old="1", new="1\n").text.splitlines()
    assert rows[1:] == ["@@ -1 +1 @@", "-1 [no line break at the end]", "+1"]


def test_what_is_left_out_of_a_result_is_marked(desk: Desk) -> None:
    desk.put("wide", "a" * 200 + "\n")
    wide = desk.call("edit", path="wide", old="a" * 200, new="b" * 300).text.splitlines()
    assert wide[2:] == ["-" + "a" * 160 + "…", "+" + "b" * 160 + "…"]
    desk.put("long", LONG)
    old = "\n".join(LONG.split("\n")[20:40])
    rows = desk.call("edit", path="long", old=old, new="less").text.splitlines()
    assert rows[1:] == [
        "@@ -21,20 +21 @@", "-21", "-22", "-23", "-24", "-25", "-26", "… 10 lines",
        "-37", "-38", "-39", "-40", "+less",
    ]  # fmt: skip
    desk.put("many", "".join(f"x\n{'-' * 9}\n" * 3 for _ in range(10)))
    edits = [edit("many", "x\n", "y\n", replace_all=True), edit("long", "less", "much " * 10)]
    told = desk.call("edit", edits=edits).text.splitlines()
    assert told[:3] == [
        "many: 30 replacements:", "`x` 30 times, lines 1, 3, 5, 7, 9, 11, 13, 15…",
        "long: 1 replacement:",
    ]  # fmt: skip


def test_a_text_that_was_replaced_everywhere_is_counted_beside_other_edits(desk: Desk) -> None:
    desk.put("f", "use x1\n" * 3 + "end\n")
    edits = [edit("f", "x1", "x2", replace_all=True), edit("f", "end\n", "the end\n")]
    rows = desk.call("edit", edits=edits).text.splitlines()
    assert rows == [
        "f: 4 replacements:", "`x1` 3 times, lines 1, 2, 3", "@@ -4 +4 @@", "-end", "+the end",
    ]  # fmt: skip


def test_many_files_share_one_number_of_lines_of_diffs(desk: Desk) -> None:
    names = [f"f{n:02}" for n in range(40)]
    for name in names:
        desk.put(name, "one\n")
    rows = desk.call("edit", edits=[edit(name, "one", "two") for name in names]).text.splitlines()
    assert [row for row in rows if row.startswith("f")] == [f"{n}: 1 replacement:" for n in names]
    assert sum(row.startswith("+") for row in rows) == 20
    assert rows[-2:] == ["f39: 1 replacement:", "… 3 more lines"]


def test_many_places_are_counted_where_they_are_not_shown(desk: Desk) -> None:
    desk.put("long", "".join(f"x\n{'-' * n}\n1\n2\n3\n4\n5\n" for n in range(14)))
    edits = [edit("long", f"x\n{'-' * n}\n1", f"y\n{'-' * n}\n1") for n in range(14)]
    rows = desk.call("edit", edits=edits).text.splitlines()
    assert sum(row.startswith("@@ ") for row in rows) == 10
    assert rows[-1] == "… and 4 more places"


RENAME = {"old": "net", "new": "gross", "replace_all": True, "word": True}


def test_f131_one_edit_renames_a_whole_word_in_all_files_of_a_glob(desk: Desk) -> None:
    desk.put("src/a.py", "net = internet(net)\n")
    desk.put("src/deep/b.py", "x = net\n")
    desk.put("src/c.py", "internet = 1\n")
    desk.put("src/d.txt", "net\n")
    outcome = desk.call("edit", edits=[{"path": "src/**/*.py", **RENAME}])
    assert outcome.text == "src/a.py: 2 replacements.\nsrc/deep/b.py: 1 replacement."
    assert desk.content("src/a.py") == b"gross = internet(gross)\n"
    assert desk.content("src/deep/b.py") == b"x = gross\n"
    desk.put("src/e.py", "net\n")
    attempt = desk.settle("edit", path="src/**/*.py", **RENAME).attempt
    assert attempt is not None
    # Only what it changes is judged, as an edit and as a read.
    assert [request.resource for request in attempt.requests] == ["src/e.py", "src/e.py"]


def test_f131_a_list_of_paths_and_other_edits_are_one_call_all_or_none(desk: Desk) -> None:
    desk.put("a.py", "net\nnet\n")
    desk.put("b.py", "net\nother\n")
    edits = [{"path": ["a.py", "b.py"], **RENAME}, {"path": "b.py", "old": "other", "new": "y"}]
    outcome = desk.call("edit", edits=edits)
    assert outcome.text.startswith("a.py: 2 replacements.\nb.py: 2 replacements:\n@@ ")
    assert (desk.content("a.py"), desk.content("b.py")) == (b"gross\ngross\n", b"gross\ny\n")
    desk.put("c.py", "nothing\n")
    told = desk.failing("edit", edits=[{"path": ["a.py", "c.py"], **RENAME}])
    assert "was not found as a whole word" in told
    told = desk.failing("edit", edits=[{"path": "*.rs", **RENAME}])
    assert told.startswith("No file that *.rs matches contains `old`.")
    told = desk.failing("edit", edits=[{"path": ["a.py", "b.py"], "old": "net", "new": "x"}])
    assert "Several paths need replace_all" in told
    assert desk.content("c.py") == b"nothing\n"


def test_f131_a_glob_reaches_no_secret_no_ignored_file_and_nothing_outside(desk: Desk) -> None:
    desk.put(".gitignore", "*.log\n")
    for name in (".env", "a.log", "a.txt"):
        desk.put(name, "net\n")
    outcome = desk.call("edit", edits=[{"path": "**", **RENAME}])
    told, note = outcome.text.split("\n")
    assert told == "a.txt: 1 replacement."
    assert note.startswith("[Skipped 1 file ")
    assert desk.content(".env") == b"net\n"
    for path in ("../**", "/etc/*", "~/*"):
        assert "side the workspace" in desk.failing("edit", edits=[{"path": path, **RENAME}])


def test_a_file_whose_name_looks_like_a_glob_is_that_file(desk: Desk) -> None:
    desk.put("app/[id].ts", "net\n")
    desk.put("app/i.ts", "net\n")
    desk.call("edit", edits=[{"path": "app/[id].ts", **RENAME}])
    assert (desk.content("app/[id].ts"), desk.content("app/i.ts")) == (b"gross\n", b"net\n")


def test_a_whole_word_alone_is_ambiguous_only_among_whole_words(desk: Desk) -> None:
    desk.put("f", "net internet\n")
    desk.call("edit", path="f", old="net", new="x", word=True)
    assert desk.content("f") == b"x internet\n"
