"""Plans as files: sessions, order, editing by hand, history, adoption and deletion."""

import json
import os
import shutil
from datetime import UTC, datetime

import pytest
from tests.cli.harness import World

from assent.core.plan.plan import HOW_TO_VERIFY

TEMPLATE = f"""\
# Add login

## Goal

Let people log in

## Proposed changes

- [ ] 

## Verification

- [ ] {HOW_TO_VERIFY}
"""


def names(world: World, *options: str) -> list[str]:
    return [row["name"] for row in world.ok("plan", "list", *options)["plans"]]


def revisions(world: World) -> int:
    return len(world.ok("plan", "history")["revisions"])


def test_f19_a_folder_for_each_session_and_the_newest_plan_first(world: World) -> None:
    made = world.ok("plan", "new", "add_login", "--goal", "Let people log in, safely & soon!")
    assert made["path"] == ".opencode/plans/let-people-log-in-safely-soon/PLAN_add_login.md"
    assert made["session"] == "let-people-log-in-safely-soon"
    for name in ("first", "second", "third"):
        world.ok("plan", "new", name, "--session", "my-work")
    assert names(world) == ["third", "second", "first", "add_login"]
    assert sorted(os.listdir(world.root / ".opencode/plans/my-work")) == [
        "PLAN_first.md",
        "PLAN_second.md",
        "PLAN_third.md",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "---\nscope: {files: [a]}\n# Text\n",
            "The front matter starts with --- but is not closed.",
        ),
        ("---\nscope: 3\n---\n# Text\n", "`scope` in the front matter must be"),
        ("---\nscope:\n  files: ['!a']\n---\n# Text\n", "`!` cannot exclude anything"),
    ],
)
def test_a_text_whose_front_matter_cannot_be_read_is_saved_with_a_warning(
    world: World, text: str, why: str
) -> None:
    world.plan()
    (world.base / "notes.md").write_text(text, encoding="utf-8")
    answer = world.run("plan", "write", str(world.base / "notes.md"), "--json")
    assert (answer.code, answer.json["state"]) == (0, "DRAFTING")
    assert why.encode() in answer.err
    assert b"The text is saved, but `assent propose` will refuse it." in answer.err
    assert world.text().read_text("utf-8") == text
    assert why in world.no(1, "propose")["message"]
    world.text().write_text("---\nscope:\n  files: [a]\n---\n# Text\n", encoding="utf-8")
    assert world.run("plan", "write").err == b""


def test_f19_deleting_the_folder_cleans_up_and_loses_no_undo(world: World) -> None:
    world.plan("one")
    world.write("a.txt", b"a\n")
    world.build()
    world.plan("two")
    shutil.rmtree(world.root / ".opencode/plans/tests")
    assert names(world) == []
    assert sorted(names(world, "--all")) == ["one", "two"]
    assert world.undo().code == 0
    assert world.files() == {}
    assert world.plan("one")["state"] == "DRAFTING"
    assert names(world) == ["one"]
    assert world.ok("plan", "show", "--plan", "tests/one")["state"] == "DRAFTING"


def test_the_template(world: World) -> None:
    world.ok("plan", "new", "add_login", "--session", "s", "--goal", "Let people log in")
    assert world.text().read_text(encoding="utf-8") == TEMPLATE


def test_a_session_without_words_gets_a_name(world: World) -> None:
    assert world.ok("plan", "new", "one", "--goal", "日本語")["session"] == "untitled"
    assert world.ok("plan", "new", "add_login")["session"] == "add-login"


def test_f20_updates_happen_in_place_and_history_remembers(world: World) -> None:
    world.plan()
    texts = [world.text().read_bytes(), b"# Second\n", b"# Third\n"]
    for text in texts[1:]:
        world.ok("plan", "write", "-", stdin=text)
    folder = world.root / ".opencode/plans/tests"
    assert os.listdir(folder) == ["PLAN_work.md"]
    assert world.text().read_bytes() == texts[-1]
    assert revisions(world) == 3
    diff = world.ok("plan", "history", "--diff", "2", "3")["diff"]
    assert diff.endswith("@@ -1 +1 @@\n-# Second\n+# Third\n")
    assert world.ok("plan", "show", "--revision", "2")["text"] == "# Second\n"
    assert world.no(2, "plan", "show", "--revision", "9")["error"] == "usage"


def test_f20_the_same_text_again_is_no_revision(world: World) -> None:
    world.plan()
    for _ in range(3):
        world.ok("plan", "write", "-", stdin=b"# Same\n")
    assert revisions(world) == 2


def test_f56_drafts_survive_and_can_be_taken_up_again(world: World) -> None:
    """Every command is a process of its own, so every one is a restart."""
    assert world.process("plan", "new", "first", "--session", "s").code == 0
    assert world.process("stage", "write", "a.txt", "--from", "-", stdin=b"a\n").code == 0
    assert world.process("plan", "write", "-", stdin=b"# First\n").code == 0
    assert world.process("plan", "new", "second", "--session", "s").code == 0
    listed = world.process("plan", "list", "--json").json["plans"]
    assert [row["name"] for row in listed] == ["second", "first"]
    assert world.process("plan", "use", "first").code == 0
    assert [row["path"] for row in world.ok("stage", "list")["operations"]] == ["a.txt"]
    assert revisions(world) == 2
    assert world.build()["outcome"] == "done"


def test_a_file_edited_by_hand_is_taken_in_by_every_drafting_command(world: World) -> None:
    world.plan()
    text = world.text()
    for number, line in enumerate(
        (["plan", "write"], ["stage", "write", "a", "--from", "-"], ["stage", "clear"], ["propose"])
    ):
        text.write_text(f"# By hand {number}\n", encoding="utf-8")
        world.ok(*line, stdin=b"x")
        assert revisions(world) == number + 2
    assert world.ok("review")["text"] == "# By hand 3\n"


def test_the_review_of_a_draft_shows_the_live_text(world: World) -> None:
    world.plan()
    world.text().write_text("# Live\n", encoding="utf-8")
    assert world.ok("review")["text"] == "# Live\n"
    assert revisions(world) == 1


def test_writing_over_a_file_edited_by_hand_keeps_both(world: World) -> None:
    world.plan()
    world.text().write_text("# By hand\n", encoding="utf-8")
    world.ok("plan", "write", "-", stdin=b"# By command\n")
    diff = world.ok("plan", "history", "--diff", "2", "3")["diff"]
    assert "-# By hand\n+# By command\n" in diff


def test_files_put_there_by_others_are_plans(world: World) -> None:
    world.ok("init")
    world.put(".opencode/plans/PLAN_flat.md", b"# Flat\n")
    world.put(".opencode/plans/team-work/PLAN_nested.md", b"# Nested\n")
    for other in ("plan.md", "PLAN_.md", "PLAN_Upper.md", "PLAN_x.txt", "Not Kebab/PLAN_x.md"):
        world.put(f".opencode/plans/{other}", b"# No plan\n")
    assert sorted(names(world)) == ["flat", "nested"]
    world.ok("plan", "use", "flat")
    world.write("a.txt", b"a\n")
    assert world.build()["outcome"] == "done"
    assert (world.root / ".opencode/plans/PLAN_flat.md").read_bytes() == b"# Flat\n"


def test_plan_delete_discards_and_removes_the_file(world: World) -> None:
    world.plan("one")
    path = world.text()
    world.plan("two")
    deleted = world.ok("plan", "delete", "--plan", "one")["plans"]
    assert [(row["name"], row["state"]) for row in deleted] == [("one", "DISCARDED")]
    assert not path.exists()
    assert names(world) == ["two"]
    assert world.no(1, "plan", "delete", "--plan", "one")["error"] == "illegal_step"
    session = world.ok("plan", "delete", "--session", "tests")["plans"]
    assert [row["name"] for row in session] == ["two"]
    assert not path.parent.exists()


def test_plan_delete_leaves_what_is_not_ours(world: World) -> None:
    world.plan()
    world.put(".opencode/plans/tests/notes.txt", b"mine\n")
    world.ok("plan", "delete", "--session", "tests")
    assert os.listdir(world.root / ".opencode/plans/tests") == ["notes.txt"]


def test_a_deleted_plan_cannot_be_drafted(world: World) -> None:
    world.plan()
    world.text().unlink()
    refused = world.no(1, "propose")
    assert "was deleted" in refused["message"]
    world.ok("plan", "show")


@pytest.mark.parametrize("how", ["id", "prefix", "name", "session/name", "path"])
def test_a_plan_can_be_named_in_many_ways(world: World, how: str) -> None:
    wanted = world.ok("plan", "new", "one", "--session", "alpha")
    world.ok("plan", "new", "two", "--session", "beta")
    reference = {
        "id": wanted["plan_id"],
        "prefix": wanted["plan_id"][:25],
        "name": "one",
        "session/name": "alpha/one",
        "path": wanted["path"],
    }[how]
    assert world.ok("plan", "show", "--plan", reference) == wanted
    assert world.ok("plan", "show")["name"] == "two"
    assert world.ok("stage", "list", "--plan", reference) == {"operations": []}
    assert world.ok("plan", "use", reference) == wanted
    assert world.ok("plan", "show") == wanted


def test_a_name_that_could_mean_two_plans_is_refused(world: World) -> None:
    world.ok("plan", "new", "same", "--session", "alpha")
    world.ok("plan", "new", "same", "--session", "beta")
    refused = world.no(1, "plan", "use", "same")
    assert "alpha/same" in refused["message"]
    assert "beta/same" in refused["message"]
    world.ok("plan", "delete", "--plan", "beta/same")
    assert world.ok("plan", "use", "same")["session"] == "alpha"


def test_every_command_takes_a_plan(world: World) -> None:
    world.plan("one")
    world.plan("two")
    world.ok("stage", "write", "a.txt", "--from", "-", "--plan", "one", stdin=b"a\n")
    digest = world.ok("propose", "--plan", "one")["digest"]
    world.ok("plan", "use", "two")
    assert world.ok("review", "--plan", "one")["digest"] == digest
    assert world.ok("status", "--plan", "one")["plan"]["digest"] == digest
    world.ok("approve", "--plan", "one", "--digest", digest)
    assert world.ok("build", "--plan", "one")["outcome"] == "done"
    assert world.ok("plan", "show")["name"] == "two"
    preview = world.ok("undo", "--plan", "one", "--dry-run")
    assert len(preview["operations"]) == 1
    assert world.no(1, "undo", "--plan", "two", "--dry-run")["error"] == "not_found"


def test_readable_copies_of_the_state(world: World) -> None:
    plan_id = world.plan(goal="Copy")["plan_id"]
    world.ok("plan", "write", "-", stdin=b"# X\n\n- [x] one\n- [ ] two\n* [X] three\n")
    world.put("old", b"old\n")
    world.ok("stage", "delete", "old")
    run = world.build()["run"]
    folder = world.root / ".opencode/assent/plans" / plan_id
    copies = {
        name: json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("approvals.json", "taskmap.json", "operations.json", f"backups/{run}.json")
    }
    assert copies["taskmap.json"]["tasks"] == [
        {"text": "one", "done": True},
        {"text": "two", "done": False},
        {"text": "three", "done": True},
    ]
    staged = world.ok("stage", "list")["operations"]
    assert [one | {"before": None, "after": None} for one in staged] == [
        one | {"before": None} for one in copies["operations.json"]["operations"]
    ]
    (approval,) = copies["approvals.json"]["approvals"]
    assert approval["run"] == run
    (backup,) = copies[f"backups/{run}.json"]["files"]
    assert (backup["path"], backup["result"]) == ("old", "done")
    assert copies[f"backups/{run}.json"]["undo"] == f"assent undo {run}"


def test_what_only_the_template_says_is_no_task(world: World) -> None:
    plan_id = world.plan(goal="Copy")["plan_id"]
    folder = world.root / ".opencode/assent/plans" / plan_id

    def tasks() -> list[dict[str, object]]:
        found = json.loads((folder / "taskmap.json").read_text(encoding="utf-8"))["tasks"]
        return [*found]

    assert tasks() == []
    text = world.text()
    text.write_bytes(text.read_bytes().replace(b"- [ ] \n", b"- [ ] Copy it.\n"))
    world.ok("plan", "write")
    assert HOW_TO_VERIFY.encode() in text.read_bytes()
    assert tasks() == [{"text": "Copy it.", "done": False}]


def test_f29_the_list_says_when_each_plan_was_made_and_changed(world: World) -> None:
    made = world.plan("first")
    world.plan("second")
    world.write("a", b"a\n")
    second, first = world.ok("plan", "list")["plans"]
    assert first["created_at"] == made["created_at"]
    moments = [row[key] for row in (first, second) for key in ("created_at", "updated_at")]
    assert moments == sorted(moments)
    assert all(datetime.fromisoformat(moment).tzinfo == UTC for moment in moments)
    shown = world.run("plan", "list").out.decode().splitlines()
    assert shown[0].split()[3:5] == ["CREATED", "UPDATED"]
    local = datetime.fromisoformat(second["updated_at"]).astimezone()
    assert shown[1].count(" ago)") + shown[1].count("(just now)") == 2
    assert f"{local:%Y-%m-%d %H:%M} (" in shown[1]


def test_an_untouched_template_is_refused_for_people_as_for_models(world: World) -> None:
    made = world.plan(goal="")
    refused = world.no(1, "propose")
    assert (refused["error"], refused["next"]) == ("bad_plan", "assent plan write FILE")
    assert "nothing is staged" in refused["message"]
    world.write("a", b"a\n")
    refused = world.no(1, "propose")
    assert refused["next"] == "assent plan write FILE"
    assert "what the staged operations are for" in refused["message"]
    portable = str(world.base / "plan.json")
    assert world.no(1, "propose", "--portable", "--out", portable)["error"] == "bad_plan"
    assert world.ok("status")["plan"]["state"] == "DRAFTING"
    text = world.text()
    text.write_bytes(text.read_bytes().replace(b"- [ ] \n", b"- [ ] Write a.\n"))
    assert world.ok("propose")["plan_id"] == made["plan_id"]


def test_the_goal_that_a_person_gave_says_what_operations_are_for(world: World) -> None:
    world.plan(goal="Say a")
    assert world.no(1, "propose")["error"] == "bad_plan"  # there is nothing to do
    world.write("a", b"a\n")
    world.propose()


def test_a_template_with_notes_of_an_earlier_approval_is_untouched(world: World) -> None:
    world.plan("one")
    world.write("a", b"a\n")
    digest = world.propose()
    world.ok("approve", "--digest", digest, "--note", "Also say b")
    world.plan("two", goal="")
    assert b"Also say b" in world.text().read_bytes()
    world.write("b", b"b\n")
    assert world.no(1, "propose")["error"] == "bad_plan"


def test_dir_before_and_after_the_command(world: World) -> None:
    world.plan()
    wanted = world.ok("plan", "show")
    elsewhere = world.base
    for line in (
        ["-C", "project", "plan", "show"],
        ["plan", "show", "-C", "project"],
        ["-C", str(world.root), "plan", "show"],
        ["plan", "show", "-C", str(world.root)],
        ["-C", "..", "plan", "show", "-C", f"{elsewhere.name}/project"],
        ["-C", "project/.opencode/plans", "plan", "show"],
    ):
        answer = world.process(*line, "--json", folder=elsewhere)
        assert (answer.code, answer.json) == (0, wanted), line
