"""Rows and lines for plans, drafts, runs and the log."""

import re
from collections.abc import Iterable

import msgspec
import pytest
from tests.render.values import DIGEST, delete, move, write

from assent.core.event import (
    JournalWritten,
    PlanCreated,
    PlanProposed,
    PlanSelected,
    StoredEvent,
    WorkspaceMinted,
)
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanState, TextRevision
from assent.core.run.journal import CommittedEntry, OperationResult, RunOutcome
from assent.core.text.hidden_chars import hidden_kinds
from assent.core.undo import PUT_BACK, Inversion
from assent.render.lines import Line
from assent.render.log import event_row, log_lines
from assent.render.rows import Row, operation_row, plan_row, row_path, run_row
from assent.render.status import (
    history_lines,
    operation_lines,
    operation_removed_lines,
    plan_lines,
    plan_list_lines,
    run_lines,
    short_run,
    status_lines,
)
from assent.render.undo import undo_lines

RECORD = PlanRecord(
    "01plan", "01ws", "login", "add_login", b".opencode/plans/login/p.md", "", "", "then", 1
)
PROPOSED = msgspec.structs.replace(
    RECORD, session="", state=PlanState.AWAITING_APPROVAL, digest=DIGEST, name="other", path=b""
)
PLAN = plan_row(RECORD, approved=False)
OTHER = plan_row(PROPOSED, approved=True)
HOSTILE = "a\x1b[2J\u202e\nb\r\u200b"


def test_a_plan_as_a_row() -> None:
    assert PLAN == {
        "plan_id": "01plan",
        "session": "login",
        "name": "add_login",
        "path": ".opencode/plans/login/p.md",
        "state": "DRAFTING",
        "digest": None,
        "approved": False,
        "created_at": "then",
        "updated_at": "then",
    }
    assert [OTHER[key] for key in ("session", "path", "digest")] == [None, None, DIGEST]


def test_operations_as_rows() -> None:
    assert operation_row("1", write(b"f", None, b"")) == {
        "id": "1", "kind": "write", "path": "f", "to": None,
    }  # fmt: skip
    assert operation_row("2", move(b"a", b"\xff")) == {
        "id": "2", "kind": "move", "path": "a", "to": "\\xff", "to_b64": "/w==",
    }  # fmt: skip
    assert operation_row("3", RunCommand((b"ls", b"-l"))) == {
        "id": "3", "kind": "run", "path": None, "to": None, "argv": ["ls", "-l"], "script": "",
        "cwd": ".", "env": {}, "timeout": 120, "network": False, "undo": [],
        "profile": "workspace",
    }  # fmt: skip
    told = RunCommand(
        (), b"\xff", b"sub", ((b"A", b"b"),), 9, network=True, undo=(b"u",), profile="unconfined"
    )
    assert operation_row("4", told) == {
        "id": "4", "kind": "run", "path": None, "to": None, "argv": [], "script": "\\xff",
        "cwd": "sub", "env": {"A": "b"}, "timeout": 9, "network": True, "undo": ["u"],
        "profile": "unconfined", "script_b64": ["/w=="],
    }  # fmt: skip


def test_a_run_as_a_row() -> None:
    assert run_row("r", "rolled_back", [("1", "undone"), ("2", "conflict")]) == {
        "run": "r",
        "outcome": "rolled_back",
        "operations": [{"id": "1", "result": "undone"}, {"id": "2", "result": "conflict"}],
    }


@pytest.mark.parametrize("path", [b"a/b", "ä\u202e".encode(), b"caf\xe9", b"lit\\xe9", b" x"])
def test_a_row_shows_its_path_as_exactly_as_the_bytes_do(path: bytes) -> None:
    row = operation_row("1", delete(path, b""))
    assert row_path(row, "path") == row_path(operation_row("2", move(b"", path)), "to") != ""


def test_one_plan_in_lines() -> None:
    assert _texts(plan_lines(PLAN)) == [
        "plan     add_login",
        "session  login",
        "file     .opencode/plans/login/p.md",
        "state    Draft",
        "digest   none",
        "id       01plan",
        "Next: assent propose",
    ]


def test_plans_are_listed_in_columns() -> None:
    other = {**OTHER, "updated_at": "later"}
    found = _texts(plan_list_lines([PLAN, other], lambda at: f"<{at}>"))
    made = f"<{RECORD.created_at}>"
    head, first, second = [re.split(r" {2,}", line) for line in found]
    assert head == [
        "SESSION", "NAME", "STATE", "CREATED", "UPDATED", "DIGEST", "FILE",
    ]  # fmt: skip
    assert first == [
        "login", "add_login", "Draft", made, made, "none", ".opencode/plans/login/p.md",
    ]  # fmt: skip
    assert second == [
        "none", "other", "Approved, not built", made, "<later>", "dddddddddddd", "none",
    ]  # fmt: skip
    assert _texts(plan_list_lines([], str)) == ["No plans yet.", "Next: assent plan new NAME"]


def test_what_was_taken_out_of_a_draft_is_named() -> None:
    row = operation_row("1" * 64, write(b"f", None, b""))
    assert _texts(operation_removed_lines([row], 2)) == [
        "Removed 1 operation:", "111111111111  write   f", "Still staged: 2 operations.",
    ]  # fmt: skip
    assert _texts(operation_removed_lines([], 0)) == [
        "Nothing is staged; nothing was removed.", "Still staged: nothing.",
    ]  # fmt: skip


def test_operations_are_listed_in_order() -> None:
    ops: tuple[Operation, ...] = (
        write(b"f", None, b""),
        move(b"a b", b"c\n"),
        RunCommand((b"make", b"it")),
    )
    rows = [operation_row(str(n) * 64, op) for n, op in enumerate(ops)]
    assert _texts(operation_lines(rows)) == [
        "000000000000  write   f",
        "111111111111  move    a b → c<U+000A>",
        "222222222222  run     make it",
    ]
    assert _texts(operation_lines([])) == ["Nothing is staged."]


def test_revisions_are_listed() -> None:
    revisions = [TextRevision(1, "then", "a" * 64), TextRevision(10, "now", "b" * 64)]
    assert _texts(history_lines(revisions)) == ["1   then  " + "a" * 12, "10  now   " + "b" * 12]
    assert _texts(history_lines([])) == ["The plan has no text yet."]


RUN: Row = {"run": "01run", "plan_id": "01plan", "outcome": None}


@pytest.mark.parametrize(
    ("plan", "outcome", "said", "following"),
    [
        (PLAN, "done", "Last run: 01run is done.", ["Next: assent propose"]),
        (PLAN, "rolled_back", "Last run: 01run was rolled back.", ["Next: assent propose"]),
        (PLAN, None, "A run was interrupted: 01run", ["Next: assent recover"]),
        (PLAN, "needs_you", "A run needs your decision: 01run", ["Next: assent recover"]),
        (None, "needs_you", "A run needs your decision: 01run", ["Next: assent recover"]),
    ],
)
def test_status(plan: Row | None, outcome: str | None, said: str, following: list[str]) -> None:
    texts = _texts(status_lines(plan, {**RUN, "outcome": outcome}))
    assert texts[0] == said
    assert [text for text in texts if text.startswith("Next: ")] == following
    assert texts[-1] == following[-1]


def test_status_of_a_plan_that_was_undone() -> None:
    texts = _texts(
        status_lines(PLAN, {**RUN, "outcome": "done", "undone": True}, command="redo it")
    )
    assert texts[0] == "Last run: 01run is done, then undone."
    assert texts[-1] == "Next: redo it"


@pytest.mark.parametrize("plan", [None, PLAN])
def test_questions_come_before_all_but_a_run_that_waits(plan: Row | None) -> None:
    for outcome, command in (("done", "questions list"), ("needs_you", "recover")):
        texts = _texts(status_lines(plan, {**RUN, "outcome": outcome}, asked=True))
        following = [text for text in texts if text.startswith("Next: ")]
        assert following == [f"Next: assent {command}"]


def test_status_has_only_the_beginning_of_ids_and_digests() -> None:
    long: Row = {**PLAN, "digest": "d" * 64, "plan_id": "01" + "p" * 24}
    texts = _texts(status_lines(long, {**RUN, "run": "01" + "r" * 24, "outcome": "done"}))
    assert texts[0] == f"Last run: 01{'r' * 10} is done."
    assert [f"digest   {'d' * 12}", f"id       01{'p' * 10}"] == texts[5:7]
    assert f"digest   {'d' * 64}" in _texts(plan_lines(long))
    assert short_run("fix-it.12") == "fix-it.12"


def test_status_of_a_new_workspace() -> None:
    assert _texts(status_lines(None, None)) == ["No current plan.", "Next: assent plan new NAME"]


@pytest.mark.parametrize(
    ("outcome", "results", "styles", "command"),
    [
        ("done", ["done"], ["plain"], "assent undo"),
        ("nothing", [], [], "assent status"),
        ("rolled_back", ["undone", "conflict"], ["plain", "risk"], "assent review"),
        (
            "needs_you",
            ["unknown", "not_started"],
            ["risk", "plain"],
            "assent recover --resume, or --roll-back, or --accept",
        ),
    ],
)
def test_runs(
    outcome: RunOutcome, results: list[OperationResult], styles: list[str], command: str
) -> None:
    done = [(result, delete(b"new.py", b"")) for result in results]
    lines = list(run_lines("01run", outcome, done, ("a note.",)))
    assert [line.style for line in lines[1 : 1 + len(results)]] == styles
    assert all(line.text.endswith("delete  new.py") for line in lines[1 : 1 + len(results)])
    assert lines[-3:] == [
        Line("risk", "a note."),
        Line("dim", "run 01run"),
        Line("plain", f"Next: {command}"),
    ]


def test_what_an_undo_would_do() -> None:
    inversion = Inversion(((1, delete(b"new.py", b"")),), ((0, "a.py changed after the run"),))
    plan = Plan(b"", (inversion.operations[0][1],))
    assert _texts(undo_lines("01run", plan, ("0" * 64, "1" * 64), inversion)) == [
        "Undo of run 01run",
        "111111111111  delete  new.py",
        "000000000000  skipped: a.py changed after the run",
        "",
        "Digest",
        plan.digest,
        f"Next: assent undo 01run --digest {plan.digest}",
    ]
    nothing = undo_lines("01run", Plan(b"", ()), (), Inversion((), ()))
    assert _texts(nothing)[-1] == "Nothing to undo."


EVENTS = [
    StoredEvent(1, "workspace/01ws", 1, "then", WorkspaceMinted("01ws", b"/root\xff", 7)),
    StoredEvent(2, "plan/01ws/01plan", 1, "now", PlanCreated("01plan", "01ws", "login", "n", b"p")),
    StoredEvent(3, "plan/01ws/01plan", 2, "now", PlanProposed("d", "c", "o", "f")),
    StoredEvent(14, "run/01ws/01run", 1, "now", JournalWritten(CommittedEntry())),
    StoredEvent(15, "workspace/01ws", 2, "now", PlanSelected("01plan")),
]


def test_events_in_their_envelope() -> None:
    rows = [event_row(recorded, {"01plan": "login"}) for recorded in EVENTS]
    assert rows[0] == {
        "seq": 1,
        "at": "then",
        "kind": "workspace_minted",
        "session": None,
        "body": {"workspace": "01ws", "root": "/root\\xff", "root_b64": "L3Jvb3T/", "inode": 7},
    }
    assert [row["session"] for row in rows] == [None, "login", "login", None, None]
    assert rows[3]["body"] == {"entry": {"kind": "committed"}}
    assert msgspec.json.encode(rows)
    assert _texts(log_lines(rows))[2:] == [
        "     3  now  login  plan_proposed  digest=d content_hash=c operations_hash=o frozen=f",
        "    14  now  -  journal_written  entry=committed",
        "    15  now  -  plan_selected  plan_id=01plan chosen=False",
    ]


def test_nothing_that_hides_reaches_a_line() -> None:
    """Names, paths, reasons and notes may come from anywhere; lines are harmless all the same."""
    bad = HOSTILE.encode()
    record = msgspec.structs.replace(
        PROPOSED, plan_id=HOSTILE, name=HOSTILE, session=HOSTILE, path=bad
    )
    row = plan_row(record, approved=False)
    ops: tuple[Operation, ...] = (
        delete(bad, b""),
        move(bad, bad + b"\xff"),
        RunCommand((bad,)),
        RunCommand((), bad),
    )
    created = PlanCreated(HOSTILE, HOSTILE, HOSTILE, HOSTILE, bad, HOSTILE)
    events = [StoredEvent(1, "plan/x/" + HOSTILE, 1, HOSTILE, created)]
    run: Row = {"run": HOSTILE, "plan_id": HOSTILE, "outcome": "needs_you"}
    inversion = Inversion(((0, delete(bad, b"")),), ((0, HOSTILE),))
    lines = [
        *plan_lines(row),
        *plan_list_lines([row], str),
        *status_lines(row, run),
        *operation_lines([operation_row(HOSTILE, op) for op in ops]),
        *run_lines(HOSTILE, "needs_you", [], [HOSTILE]),
        *undo_lines(HOSTILE, Plan(b"", ()), ("x",), inversion),
        *history_lines([TextRevision(1, HOSTILE, HOSTILE)]),
        *log_lines([event_row(event, {HOSTILE: HOSTILE}) for event in events]),
    ]
    assert [line for line in lines if hidden_kinds(line.text) or "\n" in line.text] == []


def _texts(lines: Iterable[Line]) -> list[str]:
    return [line.text for line in lines]


def test_a_run_names_how_each_command_ended() -> None:
    make = RunCommand((b"make", b"it"), env=((b"T", b"x"),))
    secret = RunCommand(script=f"echo {'AKIA' + 'IOSFODNN7EXAMPLZ'}".encode())
    results: list[tuple[OperationResult, Operation]] = [
        ("done", write(b"f", None, b"")), ("done", make), ("failed", secret),
        ("not_started", make),
    ]  # fmt: skip
    lines = [line.text for line in run_lines("r", "needs_you", results, (), (None, 0, 3, None))]
    assert lines[1:5] == [
        "done         create  f",
        "done         run     make it (exit 0)",
        "failed       run     echo [masked: AWS access key] (exit 3)",
        "not_started  run     make it",
    ]
    rows = run_row("r", "needs_you", [("1", "done"), ("2", "failed")], (None, 3))
    assert rows["operations"] == [
        {"id": "1", "result": "done"},
        {"id": "2", "result": "failed", "exit": 3},
    ]


def test_a_run_that_waits_says_why_and_names_the_ways_on() -> None:
    ways = ["assent recover --resume", "assent recover --roll-back", "assent recover --accept"]
    notes = ("It failed.", "assent recover --resume: runs it again.")
    assert run_row("r", "needs_you", [], (), notes) == {
        "run": "r", "outcome": "needs_you", "operations": [], "notes": ["It failed."], "next": ways
    }  # fmt: skip
    assert run_row("r", "rolled_back", [], (), ("Full.",)).keys() - {"notes"} == {
        "run", "outcome", "operations"
    }  # fmt: skip
    assert run_row("r", "done", []).keys() == {"run", "outcome", "operations"}


def test_what_a_roll_back_did_not_cover_is_not_called_rolled_back_whole() -> None:
    command: list[tuple[OperationResult, Operation]] = [("undone", RunCommand((b"make",)))]
    plain, *_ = run_lines("r", "rolled_back", command)
    less, *_ = run_lines("r", "rolled_back", command, ("A rollback does not cover x.",))
    named, *_ = run_lines("r", "rolled_back", command, (f"{PUT_BACK}: x.",))
    assert named == plain
    assert plain.text.startswith("Rolled back: all files have their previous content and mode.")
    assert less.text.startswith("Rolled back, except as listed below.")


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (RunCommand((b"make", b"it so")), "make 'it so'"),
        (RunCommand(script=b"a > b\n"), "a > b"),
        (
            RunCommand(script=b"\r\n\na\x1b > b\r\nc\n\nd", cwd=b"w"),
            "a<U+001B> > b (4 lines)  (in w)",
        ),
        (RunCommand((b"npm", b"ci"), cwd=b"web", network=True), "npm ci  (in web, with network)"),
        (RunCommand((b"ls",), profile="unconfined"), "ls  (WITHOUT THE SANDBOX)"),
    ],
)
def test_a_command_in_a_list(op: RunCommand, words: str) -> None:
    [line] = operation_lines([operation_row("f" * 64, op)])
    assert line.text == f"{'f' * 12}  run     {words}"
