"""A state directory that an earlier program wrote opens, tells the same, and is gone on with."""

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.record.account import account, contents, digest
from tests.record.recorded import (
    ARCHIVE,
    BASE,
    MANIFEST,
    ODD,
    PERSON,
    WORKSPACES,
    Recorder,
    forget_heads,
    manifest,
    opened,
    rows,
)

from assent.core.event import Event

Row = dict[str, Any]

STATES = {"DRAFTING", "AWAITING_APPROVAL", "EXECUTING", "COMPLETED", "HALTED", "DISCARDED"}
# Tags that are not in the record. Every tag of its time is, so only newer ones may ever stand here,
# until another record has them.
NEVER_RECORDED = frozenset(
    {
        "access_code_issued", "access_granted", "access_revoked", "message_finished",
        "message_queued", "message_removed", "message_taken", "model_chosen", "password_changed",
        "work_ended", "work_queued", "workspace_served",
        "compaction_rejected", "critique_ended", "critique_recorded", "critique_requested",
        "critique_started",
        "draft_edited", "files_attached", "files_mentioned", "option_added", "option_chosen",
        "option_linked", "option_named", "output_kept", "outputs_deleted", "plan_rehearsed",
        "results_pruned", "verification_confirmed",
    }
)  # fmt: skip
LARGEST = 1_000_000  # bytes of the whole record
PUBLIC = (BASE.encode(), b"/bin/sh")
# Paths below the folders that a machine has; the log's pages are binary, so others look like them.
PATH = re.compile(
    rb"/(?:bin|etc|home|mnt|opt|private|proc|root|run|srv|sys|tmp|usr|Users|var|work)/[\w.+-]+[\w/.+-]*"
)
SIGN = rb"[A-Za-z0-9+/]"
BASE64 = re.compile(rb'"((?:%b{4})+(?:%b{2}==|%b{3}=)?)"' % (SIGN, SIGN, SIGN))
REFUSED = {
    "used": (4, "spent"),
    "rolled_back": (4, "spent"),
    "expired": (4, "expired"),
    "lapsed": (4, "expired"),
    "awaiting": (3, "not_approved"),
    "rebased": (3, "not_approved"),
    "declined": (3, "not_approved"),
    "drafting": (3, "not_approved"),
    "rejected": (3, "not_approved"),
    "discarded": (3, "not_approved"),
}
RUNS = {
    "evident": ("evident.txt", None, b"seen\n"),
    "redone": ("kept.txt", b"old\n", b"new\n"),
    "imported": ("imported.txt", None, b"from afar\n"),
    "commanded": ("made.txt", None, b"made\n"),
}  # a file of each, before it and after it
PEOPLE = {"gate", "person", PERSON, f"{PERSON} (digest)", f"{PERSON} (command line)", ""}


@pytest.fixture
def recorded(tmp_path: Path) -> Recorder:
    """The record, unpacked for this test alone, with the person in its first workspace."""
    return opened(tmp_path)


def told(name: str = "project") -> Row:
    """What the program that wrote the record said about a workspace."""
    found: Row = manifest()["workspaces"][name]
    return found


def planned(name: str) -> Row:
    """What that program said about a plan."""
    found: list[Row] = [row for row in told()["plans"] if row["name"] == name]
    (row,) = found
    return row


def run_of(name: str) -> str:
    """The run of a plan, of which there is one that is no undo or redo."""
    (found,) = [row for row in told()["runs"] if (row["plan"], row["kind"]) == (name, "run")]
    return str(found["run"])


def shown(recorded: Recorder, name: str) -> tuple[str, str, bool]:
    row = recorded.ok("plan", "show", "--plan", name)
    return row["state"], row["digest"], row["approved"]


def content(recorded: Recorder, path: str) -> bytes | None:
    full = recorded.root / path
    return full.read_bytes() if full.exists() else None


@pytest.mark.parametrize("heads", ["kept", "thrown away"])
def test_everything_is_told_as_the_program_told_it_that_wrote_it(
    recorded: Recorder, heads: str
) -> None:
    """Without the summaries of streams, which are kept for speed, every event is folded anew."""
    if heads == "thrown away":
        forget_heads(recorded.base)
    before = manifest()
    now = account(recorded)
    for name in WORKSPACES:
        for part, wanted in before["workspaces"][name].items():
            assert now["workspaces"][name][part] == wanted, (name, part)
    assert now["verified"] == before["verified"]
    assert now["verified"]["holds"] is True
    assert {plan["state"] for name in WORKSPACES for plan in told(name)["plans"]} == STATES


def test_looking_leaves_the_log_as_it_was_written(recorded: Recorder) -> None:
    before = rows(recorded.base)
    for name in WORKSPACES:
        recorded.enter(name)
        for line in (("status",), ("plan", "list"), ("runs", "list"), ("waiting",), ("log",)):
            recorded.ok(*line)
    assert rows(recorded.base) == before


def test_who_is_told_nothing_takes_a_copy_for_another_workspace(recorded: Recorder) -> None:
    """The port is what the tests have and nobody else: path and inode decide as ever."""
    before = rows(recorded.base)
    for folder in (recorded.root, recorded.base / "interrupted"):
        answer = recorded.process("status", "--json", folder=folder)
        assert (answer.code, answer.json["plan"], answer.json["run"]) == (0, None, None)
    assert recorded.ok("status")["plan"] is not None
    assert rows(recorded.base) == before


def test_an_approved_plan_is_built(recorded: Recorder) -> None:
    digest_of = planned("approved")["digest"]
    assert shown(recorded, "approved") == ("AWAITING_APPROVAL", digest_of, True)
    before = contents(recorded)
    built = recorded.ok("build", "--plan", "approved")
    ids = [row["id"] for row in planned("approved")["operations"]]
    assert [(row["id"], row["result"]) for row in built["operations"]] == [
        (id, "done") for id in ids
    ]
    changed = {"a.txt": b"changed\n", "approved/new.txt": b"new\n", "moved/name.txt": b"name\n"}
    assert {path: content(recorded, path) for path in changed} == changed
    rest = before.keys() - {"a.txt", "gone.txt", "name.txt"}
    after = contents(recorded)
    assert after.pop("odd \\xff.sh").startswith("755 ")
    assert content(recorded, ODD) == b"#!/bin/sh\n"
    assert after.keys() == rest | changed.keys()
    assert {path: after[path] for path in rest} == {path: before[path] for path in rest}
    assert shown(recorded, "approved") == ("COMPLETED", digest_of, False)
    assert recorded.no(4, "build", "--plan", "approved")["error"] == "spent"
    assert recorded.ok("log", "--verify")["holds"] is True


def test_a_smaller_plan_and_one_whose_folder_moved_are_built(recorded: Recorder) -> None:
    assert recorded.ok("build", "--plan", "smaller")["outcome"] == "done"
    assert (content(recorded, "small1.txt"), content(recorded, "small2.txt")) == (None, b"two\n")
    recorded.enter("moved")
    events = recorded.ok("log")["events"]
    assert [e["body"]["branch"] for e in events if e["kind"] == "plan_approved"] == ["main"]
    assert recorded.ok("build")["outcome"] == "done"
    assert content(recorded, "a.txt") == b"moved\n"


def test_without_an_approval_that_holds_nothing_is_built(recorded: Recorder) -> None:
    before = contents(recorded)
    for name, (code, error) in REFUSED.items():
        assert recorded.no(code, "build", "--plan", name)["error"] == error, name
        row = planned(name)
        assert shown(recorded, name) == (row["state"], row["digest"], False)
    assert contents(recorded) == before


def test_what_expired_is_approved_again_and_built(recorded: Recorder) -> None:
    recorded.ok("approve", "--plan", "lapsed", "--digest", planned("lapsed")["digest"])
    assert recorded.ok("build", "--plan", "lapsed")["outcome"] == "done"
    assert content(recorded, "lapsed.txt") == b"late\n"


def test_what_is_drafted_is_gone_on_with(recorded: Recorder) -> None:
    recorded.ok("plan", "use", "drafting")
    ids = [row["id"] for row in planned("drafting")["operations"]]
    assert [row["id"] for row in recorded.ok("stage", "list")["operations"]] == ids
    assert recorded.build()["outcome"] == "done"
    assert content(recorded, "drafting.txt") == b"not yet\n"
    assert (content(recorded, "gone.txt"), content(recorded, "other.txt")) == (None, b"name\n")


def test_a_draft_that_was_stored_whole_is_edited(recorded: Recorder) -> None:
    """What is staged on top is an edit of the recorded draft, and a new process finds both."""
    recorded.ok("plan", "use", "drafting")
    ids = [row["id"] for row in planned("drafting")["operations"]]
    more = [
        recorded.run("stage", "write", name, "--from", "-", "--json", stdin=b"more\n").json
        for name in ("more1.txt", "more2.txt")
    ]
    added = [row["operation"]["id"] for row in more]
    assert [row["id"] for row in recorded.ok("stage", "list")["operations"]] == [*ids, *added]
    kinds = [row["kind"] for row in recorded.ok("log")["events"]]
    assert [kind for kind in kinds if kind.startswith("draft_")][-2:] == ["draft_edited"] * 2
    recorded.ok("stage", "remove", added[0])
    recorded.ok("stage", "remove", ids[0])
    forget_heads(recorded.base)
    left = [*ids[1:], added[1]]
    assert [row["id"] for row in recorded.ok("stage", "list")["operations"]] == left
    assert recorded.ok("log", "--verify")["holds"] is True
    assert recorded.build()["outcome"] == "done"
    assert (content(recorded, "more1.txt"), content(recorded, "more2.txt")) == (None, b"more\n")


def test_a_run_is_undone_and_done_again(recorded: Recorder) -> None:
    whole = contents(recorded)
    for name, (path, before, after) in RUNS.items():
        assert content(recorded, path) == after
        assert (recorded.undo(run_of(name)).code, content(recorded, path)) == (0, before)
        assert redo(recorded, run_of(name)) == (0, "done")
        assert contents(recorded) == whole


def redo(recorded: Recorder, run: str) -> tuple[int, str]:
    """Takes back the undo of a run."""
    digest_of = recorded.ok("redo", run, "--dry-run")["digest"]
    answer = recorded.run("redo", run, "--digest", digest_of, "--json")
    return answer.code, answer.json["outcome"]


def test_undos_of_the_record_go_on(recorded: Recorder) -> None:
    assert content(recorded, "undone.txt") is None
    assert redo(recorded, run_of("undone")) == (0, "done")
    assert content(recorded, "undone.txt") == b"undone\n"
    assert recorded.undo(run_of("part")).code == 0  # of which one operation was undone before
    assert content(recorded, "part2.txt") is None
    recorded.put("partly1.txt", b"one\n")  # as the run left it, which was in the way
    assert recorded.undo(run_of("partly")).code == 0
    assert content(recorded, "partly1.txt") is None
    assert recorded.no(1, "undo", run_of("forgotten"))["error"] == "not_found"


def test_the_interrupted_run_is_recovered(recorded: Recorder) -> None:
    recorded.enter("interrupted")
    (row,) = told("interrupted")["plans"]
    assert shown(recorded, "interrupted") == ("EXECUTING", row["digest"], False)
    answer = recorded.ok("recover")
    (run,) = told("interrupted")["runs"]
    assert (answer["run"], answer["outcome"]) == (run["run"], "done")
    files = {path: found[2] for path, found in recorded.files().items() if found[0] == "file"}
    assert files == {b"one": b"new one\n", b"two": b"new two\n", b"new/three": b"three\n"}
    assert shown(recorded, "interrupted") == ("COMPLETED", row["digest"], False)
    assert recorded.undo().code == 0
    assert (content(recorded, "one"), content(recorded, "two")) == (b"old one\n", b"old two\n")


def test_a_run_that_had_only_begun_is_rolled_back(recorded: Recorder) -> None:
    recorded.enter("begun")
    answer = recorded.run("recover", "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "rolled_back")
    assert contents(recorded) == told("begun")["contents"]
    (row,) = told("begun")["plans"]
    assert shown(recorded, "begun") == ("AWAITING_APPROVAL", row["digest"], False)
    assert recorded.no(4, "build")["error"] == "spent"


def test_the_halted_run_waits_for_a_person(recorded: Recorder) -> None:
    recorded.enter("halted")
    answer = recorded.run("recover", "--json")
    (run,) = told("halted")["runs"]
    assert (answer.code, answer.json["run"]) == (6, run["run"])
    assert answer.json["outcome"] == "needs_you"
    results = [row["result"] for row in answer.json["operations"]]
    assert results == ["conflict", "conflict", "not_started"]
    recorded.ok("recover", "--accept")
    assert shown(recorded, "halted")[0] == "COMPLETED"
    assert content(recorded, "one") == b"mine\n"


def test_a_model_s_unfinished_build_goes_on(recorded: Recorder) -> None:
    assert shown(recorded, "write_unfinished")[0] == "EXECUTING"
    script = recorded.root / "scripts" / "unfinished.json"
    turns = msgspec.json.decode(script.read_bytes())["turns"]
    script.write_bytes(msgspec.json.encode({"turns": [*turns, {}, {"text": "Built."}]}))
    assert recorded.ok("build", "--plan", "write_unfinished")["outcome"] == "done"
    assert content(recorded, "prose/unfinished.txt") == b"prose\n"
    assert shown(recorded, "write_unfinished")[0] == "COMPLETED"


def test_a_plan_is_exported(recorded: Recorder) -> None:
    file = recorded.base / "again.json"
    line = ("propose", "--plan", "portable", "--portable", "--out", str(file))
    answer = recorded.ok(*line)
    assert answer["digest"] == planned("portable")["digest"]
    before = recorded.ok("review", str(recorded.base / "files" / "portable.json"))
    again = recorded.ok("review", str(file))
    for part in ("digest", "text", "content_hash", "operations_hash"):
        assert again[part] == before[part] == planned("portable").get(part), part


def test_a_session_is_exported(recorded: Recorder) -> None:
    (row,) = [row for row in told()["sessions"] if row["slug"] == "plan-a-greeting"]
    file = recorded.base / "session.json"
    recorded.ok("sessions", "export", row["session"], "--out", str(file))
    events = msgspec.json.decode(file.read_bytes())["events"]
    assert {"events": len(events), "sha256": digest(events)} == row["events"]
    text = recorded.run("sessions", "export", row["session"], "--format", "markdown")
    assert (text.code, b"Greet people." in text.out) == (0, True)


def test_bundles_are_imported_once(recorded: Recorder) -> None:
    waiting, imported = (
        str(recorded.base / "files" / f"{n}.json") for n in ("waiting", "imported")
    )
    seen = recorded.ok("review", waiting)
    assert (seen["approved"], content(recorded, "waiting.txt")) == (True, None)
    assert recorded.ok("build", waiting)["outcome"] == "done"
    assert content(recorded, "waiting.txt") == b"from afar\n"
    assert shown(recorded, "waiting") == ("COMPLETED", seen["digest"], False)
    for file in (waiting, imported):
        assert recorded.no(4, "build", file)["error"] == "spent"


def test_evidence_verifies_and_is_written_again_to_the_byte(recorded: Recorder) -> None:
    file, again = recorded.base / "files" / "evidence.json", recorded.base / "again.json"
    key = recorded.ok("keys", "show")["key"]
    row = recorded.ok("verify", str(file), "--key", key)
    assert (row["verified"], row["run"]) == (True, run_of("evident"))
    assert row["digest"] == planned("evident")["digest"]
    recorded.ok("export", run_of("evident"), "--out", str(again))
    assert again.read_bytes() == file.read_bytes()


def test_permits_and_grants_are_listed(recorded: Recorder) -> None:
    events = recorded.ok("log")["events"]
    permitted = [row["body"]["run"] for row in events if row["kind"] == "permit_given"]
    listed = [run for row in recorded.ok("runs", "list")["runs"] for run in row["runs"]]
    assert permitted
    assert set(permitted) <= set(listed)
    grants = recorded.ok("rules", "list")["grants"]
    assert sorted(row["reach"] for row in grants) == ["project", "session"]
    for row in grants:
        recorded.ok("rules", "revoke", row["id"])
    assert recorded.ok("rules", "list")["grants"] == []


def test_a_remembered_yes_still_counts_and_no_wider(recorded: Recorder) -> None:
    script = recorded.root / "scripts" / "again.json"
    for path, code in (("project.txt", 0), ("stranger.txt", 4)):
        calls = [{"tool": "write", "args": {"path": path, "content": "again\n"}}]
        script.write_bytes(msgspec.json.encode({"turns": [{"calls": calls}, {"text": "Done."}]}))
        model = ("--model", "scripted:scripts/again.json")
        answer = recorded.run("-p", "Again", *model, "--mode", "ask", "--ask-later", "--json")
        assert (answer.code, content(recorded, path)) == (code, None if code else b"again\n")


@pytest.mark.parametrize(
    ("slug", "script", "path"),
    [("ask-and-wait", "open", "open.txt"), ("ask-by-a-child", "child", "child.txt")],
)
def test_an_open_question_is_answered(
    recorded: Recorder, slug: str, script: str, path: str
) -> None:
    listed = recorded.ok("questions", "list")["questions"]
    assert sorted(row["slug"] for row in listed) == ["ask-and-wait", "ask-by-a-child"]
    (asked,) = [row for row in listed if row["slug"] == slug]
    recorded.ok("questions", "answer", asked["id"], "yes", "--digest", asked["digest"])
    assert content(recorded, path) is None
    model = ("--model", f"scripted:scripts/{script}.json")
    assert recorded.run("-p", "", "-r", slug, *model, "--json").json["exit"] == 0
    assert content(recorded, path) == f"{script}\n".encode()
    assert [row["slug"] for row in recorded.ok("questions", "list")["questions"]] != [slug]


def test_sessions_stand_with_their_children_and_todos(recorded: Recorder) -> None:
    listed = recorded.ok("sessions", "list")["sessions"]
    ids = {row["slug"]: row["session"] for row in listed}
    children = {row["slug"]: row["parent"] for row in listed if row["parent"]}
    assert children == {
        "plan-a-greeting-explore-1": ids["plan-a-greeting"],
        "plan-a-greeting-explore-2": ids["plan-a-greeting"],
        "ask-by-a-child-general-1": ids["ask-by-a-child"],
    }
    (parent,) = [row for row in listed if row["slug"] == "plan-a-greeting"]
    assert [(todo["content"], todo["status"]) for todo in parent["todos"]] == [
        ("Look", "completed"),
        ("Write", "pending"),
    ]


def test_every_tag_that_can_be_stored_is_in_the_record(recorded: Recorder) -> None:
    known: dict[type, str] = {}
    _tags(msgspec.inspect.type_info(Event), known)
    found: set[str] = set()
    for _, kind, body in rows(recorded.base):
        found |= {kind} | _tagged(msgspec.json.decode(body))
    assert set(known.values()) - {""} - found == NEVER_RECORDED
    assert found - set(known.values()) == set()


def _tags(found: object, known: dict[type, str]) -> None:
    """Collects the tags of a type and of all that it is made of."""
    if found is None:
        return
    if isinstance(found, msgspec.inspect.StructType):
        if found.cls in known:
            return
        known[found.cls] = str(found.tag or "")
        for field in found.fields:
            _tags(field.type, known)
    for part in ("types", "item_types"):
        for each in getattr(found, part, ()):
            _tags(each, known)
    for part in ("item_type", "key_type", "value_type"):
        _tags(getattr(found, part, None), known)


def _tagged(value: object) -> set[str]:
    """Returns the tags of all values in a body; what a model said as arguments has none."""
    if isinstance(value, list):
        return set().union(*map(_tagged, value))
    if not isinstance(value, dict):
        return set()
    inner = [each for name, each in value.items() if name != "args"]
    return set().union({value["type"]} if "type" in value else set(), *map(_tagged, inner))


def test_nothing_in_the_record_is_of_the_machine_that_wrote_it(recorded: Recorder) -> None:
    files = [file for file in recorded.base.rglob("*") if file.is_file()]
    found = {path for file in [*files, MANIFEST] for path in _paths(file.read_bytes())}
    assert {path for path in found if not path.startswith(PUBLIC)} == set()
    assert {f"{BASE}/{name}".encode() for name in WORKSPACES} <= found
    names = {
        name for _, _, body in rows(recorded.base) for name in _people(msgspec.json.decode(body))
    }
    assert names == PEOPLE


def _paths(content: bytes) -> list[bytes]:
    """Returns the absolute paths in a file, also those that are in it as base64."""
    hidden = b" ".join(b64decode(found) for found in BASE64.findall(content))
    return PATH.findall(content + b" " + hidden)


def _people(value: object) -> set[str]:
    """Returns whom an event names as the one who did something."""
    if isinstance(value, list):
        return set().union(*map(_people, value))
    if not isinstance(value, dict):
        return set()
    here = {value[key] for key in ("user", "by") if isinstance(value.get(key), str)}
    return here.union(*map(_people, value.values()))


def test_the_record_is_small_and_says_that_its_key_is_for_tests(recorded: Recorder) -> None:
    assert ARCHIVE.stat().st_size + MANIFEST.stat().st_size < LARGEST
    note = recorded.state / "assent" / "KEY-IS-A-TEST-KEY.txt"
    assert b"TEST KEY" in note.read_bytes()
    assert b"TEST KEY" in (ARCHIVE.parent / "README.md").read_bytes()
