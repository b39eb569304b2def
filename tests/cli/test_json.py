"""The `--json` contract: one object on stdout, with these keys, for every command."""

import re
from typing import Any

import pytest
from tests.cli.harness import World

PLAN = [
    "plan_id", "session", "name", "path", "state", "digest", "approved", "created_at", "updated_at",
]  # fmt: skip
TIMES = PLAN[-2:]
OUTLINE = ["structure", "steps", "progress"]  # read from the text, where one plan is told
REVIEW = [
    *PLAN[:-2],
    "text",
    "content_hash",
    "operations_hash",
    "risks",
    *OUTLINE,
    "scope",
    "relied_on",
    "operations",
    "rehearsal",
    "declined",
    "followed",
    "notes",
    "missing_notes",
    "since",
]
OPERATION = ["id", "kind", "path", "to"]
RUN = ["run", "outcome", "operations"]
DIGEST = re.compile(r"[0-9a-f]{64}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def drafted(world: World) -> World:
    """A world with a plan and one staged file."""
    world.plan()
    world.write("a.txt", b"a\n")
    return world


def timeless(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a plan without its times, and without what is read from its text."""
    return {key: row[key] for key in row if key not in (*TIMES, *OUTLINE)}


def test_init(world: World) -> None:
    assert world.ok("init") == {"agent": "written", "agent_written": True}
    assert world.ok("init") == {"agent": "current", "agent_written": False}


def test_a_plan_has_the_same_keys_everywhere(world: World) -> None:
    first = world.ok("plan", "new", "one", "--session", "some-work", "--goal", "A goal")
    assert list(first) == [*PLAN, *OUTLINE]
    assert (first["steps"], first["progress"]) == ([], None)
    made = timeless(first)
    assert made == {
        "plan_id": made["plan_id"],
        "session": "some-work",
        "name": "one",
        "path": ".opencode/plans/some-work/PLAN_one.md",
        "state": "DRAFTING",
        "digest": None,
        "approved": False,
    }
    assert world.ok("plan", "show") == first
    assert world.ok("plan", "use", "one") == first
    written = world.ok("plan", "write", "-", stdin=b"# One\n")
    assert timeless(written) == made
    assert first["created_at"] == written["created_at"] <= written["updated_at"]
    listed = {key: written[key] for key in PLAN}
    assert world.ok("plan", "list") == {"plans": [listed]}

    answer = world.ok("propose")
    assert list(answer) == [*PLAN, *OUTLINE]
    assert answer["structure"]["missing"] == ["overview", "steps", "files", "verification"]
    proposed = timeless(answer)
    assert DIGEST.fullmatch(proposed["digest"])
    awaiting = {**made, "state": "AWAITING_APPROVAL", "digest": proposed["digest"]}
    assert proposed == awaiting
    approved = world.ok("approve", "--digest", proposed["digest"])
    assert timeless(approved) == {**awaiting, "approved": True}
    shown = world.ok("plan", "show")
    assert {key: shown[key] for key in PLAN} == approved
    assert timeless(world.ok("reject", "--note", "No")) == made
    [gone] = world.ok("plan", "delete", "--plan", "one")["plans"]
    assert timeless(gone) == {**made, "state": "DISCARDED"}
    assert world.ok("plan", "list") == {"plans": []}
    assert world.ok("plan", "list", "--all") == {"plans": [gone]}


def test_a_flat_plan_has_no_session(world: World) -> None:
    world.put(".opencode/plans/PLAN_flat.md", b"# Flat\n")
    (row,) = world.ok("plan", "list")["plans"]
    assert list(row) == PLAN
    assert (row["session"], row["path"]) == (None, ".opencode/plans/PLAN_flat.md")


def test_stage(world: World) -> None:
    world.put("old.txt", b"old\n")
    world.put("both/one", b"1")
    world.put("both/two", b"2")
    world.plan()
    written = world.write("a.txt", b"a\n")["operation"]
    assert list(written) == OPERATION
    assert DIGEST.fullmatch(written["id"])
    assert written == {"id": written["id"], "kind": "write", "path": "a.txt", "to": None}

    edited = world.ok("stage", "edit", "old.txt", "--find", "old", "--put", "new")["operation"]
    assert (edited["kind"], edited["path"], edited["to"]) == ("write", "old.txt", None)

    moved = world.ok("stage", "move", "both", "moved")["operations"]
    assert [list(row) for row in moved] == [OPERATION, OPERATION]
    assert [(row["kind"], row["path"], row["to"]) for row in moved] == [
        ("move", "both/one", "moved/one"),
        ("move", "both/two", "moved/two"),
    ]
    listed = world.ok("stage", "list")["operations"]
    assert listed == [written, edited, *moved]

    gone = world.ok("stage", "delete", "a.txt")
    assert gone == {"operations": []}  # a file that is only staged is simply not staged any more
    removed = world.ok("stage", "remove", edited["id"][:10])
    assert removed == {
        "operation": edited, "removed": [edited], "operations": [edited], "remaining": 2,
    }  # fmt: skip
    cleared = {"removed": moved, "operations": moved, "remaining": 0}
    assert world.ok("stage", "clear") == cleared
    assert world.ok("stage", "clear") == {"removed": [], "operations": [], "remaining": 0}
    assert world.ok("stage", "list") == {"operations": []}


def test_staging_one_file_answers_in_both_forms(world: World) -> None:
    world.put("x", b"x")
    world.plan()
    deleted = world.ok("stage", "delete", "x")
    assert deleted == {"operation": deleted["operation"], "operations": [deleted["operation"]]}


def test_a_write_that_changes_nothing_is_null(world: World) -> None:
    world.put("same.txt", b"same\n")
    world.plan()
    assert world.write("same.txt", b"same\n") == {"operation": None}


def test_review(world: World) -> None:
    world.put("relied.txt", b"relied\n")
    world.put("old.txt", b"old\n")
    world.plan()
    text = "---\nscope: {files: ['*.txt']}\nrelies_on: [relied.txt]\n---\n# Ä\n"
    world.ok("plan", "write", "-", stdin=text.encode())
    world.ok("stage", "delete", "old.txt")
    world.ok("stage", "move", "relied.txt", "moved.txt")
    world.ok("stage", "remove", world.ok("stage", "list")["operations"][1]["id"])
    world.write("bin.txt", b"\0\1")
    digest = world.propose()
    review = world.ok("review")
    assert list(review) == REVIEW
    assert {key: review[key] for key in PLAN[:-2]} == timeless(world.ok("plan", "show"))
    assert review["text"] == text
    assert review["digest"] == digest
    for key in ("content_hash", "operations_hash"):
        assert DIGEST.fullmatch(review[key])
    assert review["scope"] == {"files": ["*.txt"], "commands": []}
    (relied,) = review["relied_on"]
    assert list(relied) == ["path", "digest"]
    deleted, binary = review["operations"]
    assert list(deleted) == [*OPERATION, "reversible", "risk", "risks", "diff", "seen"]
    assert (deleted["kind"], deleted["reversible"]) == ("delete", "reversible")
    assert (deleted["risk"], deleted["risks"]) == ("high", ["deletes"])
    assert deleted["diff"].endswith("@@ -1 +0,0 @@\n-old\n")
    assert (binary["diff"], binary["risks"]) == (None, ["unshown"])


def test_build_undo_and_recover(drafted: World) -> None:
    (staged,) = drafted.ok("stage", "list")["operations"]
    built = drafted.build()
    assert list(built) == RUN
    assert built["outcome"] == "done"
    assert built["operations"] == [{"id": staged["id"], "result": "done"}]

    preview = drafted.ok("undo", "--dry-run")
    assert DIGEST.fullmatch(preview["digest"])
    assert preview == {
        "run": built["run"],
        "digest": preview["digest"],
        "operations": [{**staged, "diff": preview["operations"][0]["diff"]}],
        "conflicts": [],
        "denied": [],
        "not_covered": [],
    }
    undone = drafted.ok("undo", "--digest", preview["digest"])
    assert list(undone) == [*RUN, "restored", "conflicts", "denied", "not_covered", "notes"]
    assert undone["restored"] == [staged]
    assert undone["outcome"] == "done"
    assert undone["operations"] == [{"id": staged["id"], "result": "undone"}]
    assert drafted.ok("recover") == {"run": None, "outcome": "nothing", "operations": []}


def test_status(world: World) -> None:
    world.on_a_fresh_machine()
    rest = {"shell": None, "command": None, "questions": [], "notes": [], "declined": []}
    rest |= {"session": None, "scratch": None}
    assert world.ok("status") == {"plan": None, "run": None, **rest}
    made = world.plan()
    assert world.ok("status") == {"plan": status_of(made), "run": None, **rest}
    world.write("a.txt", b"a")
    run = world.build()["run"]
    done = {"run": run, "plan_id": made["plan_id"], "outcome": "done"}
    shown = status_of(world.ok("plan", "show"))
    assert world.ok("status") == {"plan": shown, "run": done, **rest}


def status_of(shown: dict[str, Any]) -> dict[str, Any]:
    """Returns what a status tells of a plan: of its text, only how far the steps are."""
    return {key: shown[key] for key in (*PLAN, "progress")}


def test_history(drafted: World) -> None:
    drafted.ok("plan", "write", "-", stdin=b"# Other\n")
    revisions = drafted.ok("plan", "history")["revisions"]
    assert [list(row) for row in revisions] == [["n", "at", "content_hash"]] * 2
    assert [row["n"] for row in revisions] == [1, 2]
    assert all(
        TIME.fullmatch(row["at"]) and DIGEST.fullmatch(row["content_hash"]) for row in revisions
    )
    compared = drafted.ok("plan", "history", "--diff", "1", "2")
    assert list(compared) == ["revisions", "diff"]
    assert compared["revisions"] == revisions
    assert "-# Work\n" in compared["diff"]
    assert "+# Other\n" in compared["diff"]


def test_log(drafted: World) -> None:
    drafted.build()
    events = drafted.ok("log")["events"]
    assert [list(event) for event in events] == [["seq", "at", "kind", "session", "body"]] * len(
        events
    )
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
    kinds = [event["kind"] for event in events]
    assert kinds[:4] == ["workspace_minted", "plan_created", "text_revised", "plan_selected"]
    spent = kinds[kinds.index("plan_proposed") :]
    wanted = ["plan_proposed", "plan_approved", "run_started", "run_ended"]
    assert [kind for kind in spent if kind in wanted] == wanted
    later = drafted.ok("log", "--after", str(events[-2]["seq"]))["events"]
    assert later == events[-1:]


def test_diff(drafted: World) -> None:
    (staged,) = drafted.ok("stage", "list")["operations"]
    patch = (
        "diff --git a/a.txt b/a.txt\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+a\n"
    )
    assert drafted.ok("diff") == {
        "operations": [{"id": staged["id"], "diff": patch}],
        "diff": patch,
    }
    drafted.propose()
    assert drafted.ok("diff", "--live") == {"differs": False, "against": "proposed", "diff": ""}


def test_a_move_has_to_and_a_strange_name_its_bytes(world: World) -> None:
    world.put(b"caf\xe9", b"x")
    world.plan()
    (row,) = strange(world, "stage", "move", b"caf\xe9", b"th\xe9")["operations"]
    assert row["path"] == "caf\\xe9"
    assert row["to"] == "th\\xe9"
    assert (row["path_b64"], row["to_b64"]) == ("Y2Fm6Q==", "dGjp")
    review = world.ok("review")["operations"][0]
    assert (review["path_b64"], review["to_b64"]) == ("Y2Fm6Q==", "dGjp")


def strange(world: World, *words: str | bytes) -> dict[str, Any]:
    answer = world.process(*words, "--json")
    assert answer.code == 0, answer
    return answer.json
