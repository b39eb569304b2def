"""The review shows risks first, then everything in full, then the digest and what to type."""

import msgspec
import pytest
from tests.render.values import DIGEST, delete, move, review, state, write

from assent.cli.output import ansi
from assent.core.plan.operation import Operation, RunCommand, reversibility
from assent.core.plan.plan import ReliedOnFile, Scope
from assent.core.plan.record import PlanState
from assent.render.diff import diff_lines, operation_diff
from assent.render.lines import Line
from assent.render.review import OperationReview, Review, review_json, review_lines, review_texts
from assent.render.status import next_command

COMMAND = RunCommand(
    (b"make", b"it so"), b"", b"sub", ((b"A", b"b c"),), 60, network=True, undo=(b"make", b"clean")
)
SCRIPT = RunCommand(script=b"set -e\nrm -r build\n")


def _with(plan: Review, *operations: OperationReview) -> Review:
    return msgspec.structs.replace(plan, operations=operations)


def _op(
    name: str, op: Operation, *risks: str, contents: tuple[bytes | None, ...] = ()
) -> OperationReview:
    diff = operation_diff(op, *contents) if contents else None
    return OperationReview(name * 64, op, reversibility(op), risks, diff)


FULL = _with(
    msgspec.structs.replace(
        review(b"# Add login\n\nBecause.\n"),
        scope=Scope(("src/*",), ("make",)),
        relied_on=(ReliedOnFile(b"setup.py", "f" * 64),),
    ),
    _op("1", write(b"src/a.py", b"x = 1\n", b"x = 2\n"), contents=(b"x = 1\n", b"x = 2\n")),
    _op("2", delete(b"old.py", b"gone\n"), "deletes", "out_of_scope", contents=(b"gone\n", None)),
    _op("3", move(b"a", b"b"), contents=(None, None)),
    _op("4", write(b"logo.png", None, b"\0"), "unshown", contents=(None, b"\0")),
    _op("5", COMMAND, "network"),
    msgspec.structs.replace(
        _op("6", SCRIPT, "deletes"), remarks=("Beware.",), not_covered=("empty folders", "Beware.")
    ),
)

SHOWN = f"""\
Plan add_login
session  add-login
file     .opencode/plans/add-login/PLAN_add_login.md
state    Waiting for approval

Risks: 4 of 6 operations
deletes         2. old.py: Deletes or empties a file.
deletes         6. set -e (2 lines): Deletes or empties a file.
out_of_scope    2. old.py: Is outside the scope that the plan declares.
network         5. make 'it so': May use the network.
unshown         4. logo.png: Is not shown: its content is binary or too large.

Text
│ # Add login
│ 
│ Because.

may touch  src/*
may run    make
relies on  setup.py  {"f" * 64}

1. write src/a.py (reversible)
id 111111111111
diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1 +1 @@
-x = 1
+x = 2

2. delete old.py (reversible)
id 222222222222
risks: deletes, out_of_scope
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone

3. move a → b (reversible)
id 333333333333
diff --git a/a b/b
similarity index 100%
rename from a
rename to b

4. create logo.png (reversible)
id 444444444444
risks: unshown
Not shown (binary or too large):
before  nothing
after   1 byte   file 644  sha256 {state(bytes(1)).digest}

5. run make 'it so' (compensated)
id 555555555555
risks: network
$ make 'it so'
folder    sub
variable  A='b c'
limits    60 s, 8 GiB memory, 1024 processes, 1 GiB output
network   allowed
undo      $ make clean
Sandboxed: writes only in the workspace, network allowed.

6. run set -e (2 lines) (reversible)
id 666666666666
risks: deletes
not covered by undo: empty folders
│ set -e
│ rm -r build
folder   .
limits   120 s, 8 GiB memory, 1024 processes, 1 GiB output
network  none
undo     no undo command
Sandboxed: writes only in the workspace, no network.
Beware.

6 operations: 1 create, 1 delete, 1 move, 2 runs, 1 write.
Digest
{DIGEST}
Next: assent approve --digest {DIGEST}"""


def test_the_whole_review_as_text() -> None:
    assert "\n".join(ansi(review_lines(FULL), color=False)) == SHOWN


def test_without_colour_whole_operations_are_the_same_text() -> None:
    after = b"<U+0041>\r\n" + b"x" * 1500 + b"\nend"
    odd = _op("7", write(b"odd", None, after), contents=(None, after))
    same = _op("8", write(b"same", b"a", b"a"), contents=(b"a", b"a"))
    plan = _with(FULL, *FULL.operations, odd, same)
    lines = "\n".join(ansi(review_lines(plan), color=False))
    assert "\n".join(review_texts(plan)) == lines
    assert sum(1 for _ in review_texts(plan)) < lines.count("\n") / 2


def test_without_risks_it_says_so() -> None:
    texts = [line.text for line in review_lines(review())]
    assert "Risks: none found in 0 operations" in texts
    assert "No operations: this is a text plan." in texts


def test_what_a_model_will_do_comes_first() -> None:
    risks, scope = ("any_file", "model_writes", "secret"), Scope(("src/*", "*"))
    prose = msgspec.structs.replace(review(), prose=True, risks=risks, scope=scope)
    texts = [line.text for line in review_lines(prose)]
    at = texts.index("Risks: model changes; none found in 0 operations; found in plan text")
    assert at < texts.index("Text")
    assert [text.split()[0] for text in texts[at + 1 : at + 3]] == ["any_file", "model_writes"]
    assert "src/*, *: A model may change any file in its scope" in " ".join(texts)


def test_the_digest_stands_alone_on_its_line() -> None:
    assert [line for line in review_lines(FULL) if line.style == "digest"] == [
        Line("digest", DIGEST)
    ]


@pytest.mark.parametrize(
    ("plan", "command"),
    [
        (msgspec.structs.replace(review(), approved=True), "assent build"),
        (msgspec.structs.replace(review(), state=PlanState.DRAFTING, digest=""), "assent propose"),
        (msgspec.structs.replace(review(), path=b""), f"assent undo --digest {DIGEST}"),
    ],
)
def test_the_last_line_is_what_to_type_next(plan: Review, command: str) -> None:
    *_, last = review_lines(plan)
    assert last == Line("plain", f"Next: {command}")


def test_every_state_has_a_next_command() -> None:
    assert {s: next_command(s, DIGEST, approved=False).split()[1] for s in PlanState} == {
        PlanState.DRAFTING: "propose",
        PlanState.AWAITING_APPROVAL: "approve",
        PlanState.EXECUTING: "recover",
        PlanState.HALTED: "recover",
        PlanState.COMPLETED: "undo",
        PlanState.DISCARDED: "plan",
    }


def test_a_diff_is_styled_by_its_signs_and_headers_are_not_content() -> None:
    diff = operation_diff(write(b"f", b"-- x\n", b"++ y\n"), b"-- x\n", b"++ y\n") or ""
    assert list(diff_lines(diff)) == [
        Line("dim", "diff --git a/f b/f"),
        Line("dim", "--- a/f"),
        Line("dim", "+++ b/f"),
        Line("hunk", "@@ -1 +1 @@"),
        Line("removed", "--- x"),
        Line("added", "+++ y"),
    ]
    assert list(diff_lines("")) == []


def test_what_hides_in_a_diff_is_shown_and_long_lines_are_folded() -> None:
    after = "a\u202eb\r\n".encode() + b"x" * 1500
    diff = operation_diff(write(b"f", None, after), None, after) or ""
    lines = [line for line in diff_lines(diff) if line.style == "added"]
    assert lines[0] == Line("added", "+a<U+202E>b␍")
    assert [line.text[:3] for line in lines[1:]] == ["+xx", *["↪ x"] * 7]
    assert sum(line.text.count("x") for line in lines) == 1500


def test_plan_text_cannot_pass_for_the_review() -> None:
    """Law 2: what frames the text is ours alone, whatever the text says."""
    hostile = f"# Fine\nRisks: none\n\x1b[2J\nDigest\n{'0' * 64}\n".encode()
    lines = [line.text for line in review_lines(review(hostile))]
    start = lines.index("Text") + 1
    shown = ["# Fine", "Risks: none", "<U+001B>[2J", "Digest", "0" * 64]
    assert lines[start : start + 6] == [*(f"│ {line}" for line in shown), ""]


def test_colour_only_repeats_what_words_say() -> None:
    plain = list(ansi(review_lines(FULL), color=False))
    colored = list(ansi(review_lines(FULL), color=True))
    assert [_uncolored(text) for text in colored] == plain
    assert any(text.startswith("\x1b[1;31mdeletes") for text in colored)


def _uncolored(text: str) -> str:
    if not text.startswith("\x1b["):
        return text
    return text.partition("m")[2].removesuffix("\x1b[0m")


def test_the_review_as_json() -> None:
    found = review_json(FULL)
    operations = found.pop("operations")
    assert found == {
        "plan_id": "01plan",
        "session": "add-login",
        "name": "add_login",
        "path": ".opencode/plans/add-login/PLAN_add_login.md",
        "state": "AWAITING_APPROVAL",
        "digest": DIGEST,
        "approved": False,
        "text": "# Add login\n\nBecause.\n",
        "content_hash": "c" * 64,
        "operations_hash": "e" * 64,
        "risks": [],
        "scope": {"files": ["src/*"], "commands": ["make"]},
        "relied_on": [{"path": "setup.py", "digest": "f" * 64}],
        "declined": [],
        "followed": [],
        "notes": [],
        "missing_notes": [],
        "since": None,
    }
    assert isinstance(operations, list)
    assert operations[1] == {
        "id": "2" * 64,
        "kind": "delete",
        "path": "old.py",
        "to": None,
        "reversible": "reversible",
        "risk": "low",
        "risks": ["deletes", "out_of_scope"],
        "diff": FULL.operations[1].diff,
        "seen": False,
    }
    assert [(row["path"], row["to"], row["diff"] is None) for row in operations] == [
        ("src/a.py", None, False),
        ("old.py", None, False),
        ("a", "b", False),
        ("logo.png", None, True),
        (None, None, True),
        (None, None, True),
    ]
    assert [(row["argv"], row["script"]) for row in operations[4:]] == [
        (["make", "it so"], ""),
        ([], "set -e\nrm -r build\n"),
    ]
    assert [row.get("remarks") for row in operations[4:]] == [None, ["Beware."]]


def test_json_of_what_is_not_unicode() -> None:
    plan = _with(
        msgspec.structs.replace(
            review(b"\xff"), session="", digest="", relied_on=(ReliedOnFile(b"r\xff", "0"),)
        ),
        _op("1", move(b"caf\xe9", b"\xfe")),
    )
    found = msgspec.json.decode(msgspec.json.encode(review_json(plan)))
    assert (found["session"], found["digest"], found["text"]) == (None, None, "\\xff")
    assert found["relied_on"] == [{"path": "r\\xff", "path_b64": "cv8=", "digest": "0"}]
    row = found["operations"][0]
    assert (row["path"], row["path_b64"]) == ("caf\\xe9", "Y2Fm6Q==")
    assert (row["to"], row["to_b64"]) == ("\\xfe", "/g==")


def test_ten_thousand_operations_are_rendered_as_a_stream() -> None:
    op = write(b"f", b"a\n", b"b\n")
    one = OperationReview("1" * 64, op, "reversible", (), operation_diff(op, b"a\n", b"b\n"))
    lines = review_lines(_with(review(), *[one] * 10_000))
    assert next(lines) == Line("heading", "Plan add_login")
    assert sum(1 for line in lines if line.style == "added") == 10_000
