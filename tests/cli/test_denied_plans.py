"""What the rules of person and project deny, no plan changes, whoever approves it (law 9)."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.killed_undo import kill_undo
from tests.cli.machines import Machines, key_of, trust
from tests.cli.scripts import MODEL, PRESENT, Talker, turn, write

from assent.app.composition import open_engine_at
from assent.config.paths import AppPaths
from assent.core.errors import Refused
from assent.core.run.journal import drive_to_end
from assent.render.diff import NOT_SHOWN_BUT
from assent.render.undo import partly_text

RULE = '[permission.edit]\n"locked/*" = "deny"\n'
BROKEN = b'[permission.edit]\n"locked/*" = "never"\n'
PATCH = b"""--- a/locked/a
+++ b/locked/a
@@ -1 +1 @@
-kept
+lost
"""


def deny(world: World, where: str = "user", rule: str = RULE) -> None:
    if where == "user":
        world.config.write_text(TRUSTING + rule, encoding="utf-8")
    else:
        world.put(".opencode/assent.toml", rule.encode())


def allow(world: World) -> None:
    world.config.write_text(TRUSTING, encoding="utf-8")
    (world.root / ".opencode/assent.toml").unlink(missing_ok=True)


def denial(world: World, path: str, where: str = "user") -> str:
    file = world.config if where == "user" else world.root / ".opencode/assent.toml"
    return f"{path}: A rule from {file} denies it (`edit: locked/* = deny`)."


@pytest.fixture
def locked(world: World) -> World:
    world.put("locked/a", b"kept\n")
    world.put("free", b"free\n")
    world.plan()
    return world


STAGED = {
    "write": (["write", "locked/new", "--from", "-"], "locked/new"),
    "mode": (["write", "locked/a", "--mode", "755"], "locked/a"),
    "link": (["write", "locked/l", "--link-to", "a"], "locked/l"),
    "edit": (["edit", "locked/a", "--find", "kept", "--put", "lost"], "locked/a"),
    "delete": (["delete", "locked/a"], "locked/a"),
    "delete a folder": (["delete", "locked"], "locked/a"),
    "move from": (["move", "locked/a", "away"], "locked/a"),
    "move to": (["move", "free", "locked/b"], "locked/b"),
    "move a folder": (["move", "locked", "open"], "locked/a"),
    "patch": (["patch", "-"], "locked/a"),
    "from a folder": (["from", "{other}"], "locked/a"),
    "through a link": (["write", "alias/new", "--from", "-"], "locked/new"),
}


@pytest.mark.parametrize("where", ["user", "project"])
@pytest.mark.parametrize(("line", "path"), STAGED.values(), ids=STAGED)
def test_f72_what_a_rule_denies_cannot_be_staged(
    locked: World, where: str, line: list[str], path: str
) -> None:
    deny(locked, where)
    locked.link("alias", "locked")
    other = locked.base / "other" / "locked"
    other.mkdir(parents=True)
    (other / "a").write_bytes(b"theirs\n")
    words = [word.format(other=other.parent) for word in line]
    stdin = PATCH if words[0] == "patch" else b"new\n"
    refused = locked.no(7, "stage", *words, stdin=stdin)
    assert refused == {
        "error": "refused",
        "message": f"Rules deny changes to {denial(locked, path, where)} Nothing was staged.",
        "next": "assent rules list",
    }
    assert locked.ok("stage", "list")["operations"] == []


def test_f72_the_last_rule_of_a_layer_counts_and_a_question_does_not_deny(locked: World) -> None:
    both = '[permission.edit]\n"locked/*" = "deny"\n"locked/b" = "allow"\n"free" = "ask"\n'
    deny(locked, rule=both)
    locked.write("locked/b", b"allowed\n")
    locked.write("free", b"asked\n")
    assert locked.build()["outcome"] == "done"


def test_f72_an_export_to_a_denied_path_is_refused(locked: World) -> None:
    locked.write("free", b"new\n")
    locked.config.write_text(f'{TRUSTING}[plan]\nexport = "locked/plan.md"\n{RULE}', "utf-8")
    message = locked.no(7, "propose")["message"]
    assert message.startswith(f"Rules deny changes to {denial(locked, 'locked/plan.md')}")
    assert "plan.export" in message


@pytest.mark.parametrize("where", ["user", "project"])
def test_f72_a_rule_that_came_later_shows_in_the_review_and_stops_the_build(
    locked: World, where: str
) -> None:
    locked.write("free", b"new\n")
    locked.ok("stage", "edit", "locked/a", "--find", "kept", "--put", "lost")
    reviewed = locked.ok("review")
    assert "cannot_be_built" not in reviewed
    assert not any("denied" in row for row in reviewed["operations"])
    deny(locked, where)
    why = denial(locked, "locked/a", where)
    before = locked.files()
    for _ in ("draft", "proposed"):
        reviewed = locked.ok("review")
        assert reviewed["cannot_be_built"] == [why]
        assert [row.get("denied") for row in reviewed["operations"]] == [None, why]
        shown = " ".join(locked.run("review").out.decode().split())
        assert f"Cannot be built: {why}" in shown
        assert f"cannot be built: {why}" in shown
        name = reviewed["operations"][1]["id"][:12]
        assert shown.endswith(f"Next: assent stage remove {name}")
        digest = locked.propose()
    told = f"Rules deny changes to {why} Nothing was changed, and the approval is still valid."
    assert locked.no(7, "approve", "--digest", digest, "--build")["message"] == told
    assert locked.ok("plan", "show")["approved"] is True
    assert locked.no(7, "build")["message"] == told
    assert locked.files() == before
    allow(locked)
    assert locked.ok("build")["outcome"] == "done"


def test_f72_a_denied_operation_can_be_taken_out(locked: World) -> None:
    locked.write("free", b"new\n")
    row = locked.write("locked/b", b"b\n")["operation"]
    deny(locked)
    assert locked.no(7, "stage", "move", "free", "locked/c")["error"] == "refused"
    locked.write("free", b"newer\n")  # of what is staged already, nothing is asked again
    locked.ok("stage", "remove", row["id"])
    assert locked.build()["outcome"] == "done"
    assert locked.files()[b"free"][2] == b"newer\n"


def test_f72_a_rebase_onto_denied_files_is_refused(locked: World) -> None:
    locked.put("locked/a", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    locked.ok("stage", "edit", "locked/a", "--find", "9", "--put", "nine")
    locked.propose()
    locked.put("locked/a", b"one\n2\n3\n4\n5\n6\n7\n8\n9\n")
    deny(locked)
    assert denial(locked, "locked/a") in locked.no(7, "rebase")["message"]
    allow(locked)
    locked.ok("rebase")


def test_law_9_rules_that_cannot_be_read_let_nothing_be_staged_or_built(locked: World) -> None:
    locked.write("free", b"new\n")
    locked.approve()
    locked.put(".opencode/assent.toml", BROKEN)
    assert locked.no(2, "build")["error"] == "usage"
    assert locked.no(2, "stage", "delete", "free")["error"] == "usage"
    assert locked.files()[b"free"][2] == b"free\n"


def test_a_denied_command_shows_as_what_cannot_be_built(locked: World) -> None:
    locked.ok("stage", "run", "--", "npm", "publish")
    deny(locked, rule='[permission.bash]\n"npm publish" = "deny"\n')
    (why,) = locked.ok("review")["cannot_be_built"]
    assert why.startswith("npm publish: A rule from ")


def test_f72_a_plan_from_elsewhere_is_neither_approved_nor_built(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    rule = '[permission.edit]\n"new/*" = "deny"\n'
    digest = machines.plan()
    deny(machines.person, rule=rule)
    file = str(machines.file)
    (why,) = machines.person.ok("review", file)["cannot_be_built"]
    assert why.startswith("new/b.txt: A rule from ")
    refused = machines.person.no(7, "approve", file, "--digest", digest)
    assert refused["message"] == f"Rules deny changes to {why} Nothing was approved."
    allow(machines.person)
    machines.approve()
    trust(machines.runner, key_of(machines.person))
    before = machines.runner.files()
    machines.runner.put(".opencode/assent.toml", rule.encode())
    assert "new/b.txt" in machines.runner.no(7, "build", file)["message"]
    assert machines.runner.files() == before
    allow(machines.runner)
    trust(machines.runner, key_of(machines.person))
    assert machines.runner.ok("build", file)["outcome"] == "done"


def halted(world: World) -> None:
    """Leaves a run that wrote a file and waits, because a command of it failed."""
    world.write("locked/b", b"b\n")
    world.ok("stage", "run", "--no-sandbox", "--", "test", "-e", str(world.base / "ok"))
    world.write("locked/c", b"c\n")
    world.approve()
    assert world.run("build").code == 6
    deny(world)


def test_a_run_that_has_begun_goes_on_whatever_was_denied_since(locked: World) -> None:
    halted(locked)
    (locked.base / "ok").touch()
    assert locked.ok("recover", "--resume")["outcome"] == "done"
    assert locked.files()[b"locked/c"][2] == b"c\n"


def test_a_run_that_has_begun_is_rolled_back_whatever_was_denied_since(locked: World) -> None:
    before = locked.files()
    halted(locked)
    assert locked.run("recover", "--roll-back", "--json").json["outcome"] == "rolled_back"
    assert locked.files() == before


def test_a_models_build_that_has_begun_is_rolled_back_whatever_was_denied_since(
    world: World,
) -> None:
    talker = Talker(world)
    own = f'model = "{MODEL}"\n{TRUSTING}'
    world.config.write_text(own, encoding="utf-8")
    text = "---\nscope:\n  files: [locked/*]\n---\n# Greet\n\n- [ ] Write\n"
    built = turn("Writing.", write("locked/b", "b\n"))
    talker.script(
        turn("A plan.", ("write_plan", {"text": text})), turn("Here.", PRESENT), built, built
    )
    digest = talker.json("Greet", code=3)["digest"]
    world.run("approve", "--digest", digest, "--build", "--json")
    assert (world.root / "locked/b").exists()
    world.config.write_text(own + RULE, encoding="utf-8")
    wanted = world.no(4, "recover", "--roll-back")["next"].rpartition(" ")[2]
    world.run("recover", "--roll-back", "--digest", wanted)
    assert not (world.root / "locked/b").exists()


@pytest.fixture
def built(locked: World) -> World:
    locked.write("free", b"new\n")
    locked.ok("stage", "edit", "locked/a", "--find", "kept", "--put", "changed")
    locked.put("moving", b"moving\n")
    locked.ok("stage", "move", "moving", "locked/moved")
    locked.build()
    return locked


def test_an_undo_leaves_denied_paths_alone_names_them_and_is_partial(built: World) -> None:
    deny(built)
    preview = built.ok("undo", "--dry-run")
    whys = [denial(built, "locked/a"), denial(built, "locked/moved")]
    assert [row["path"] for row in preview["operations"]] == ["free"]
    assert [(row["path"], row["reason"]) for row in preview["denied"]] == [
        ("locked/a", whys[0]), ("moving", whys[1]),
    ]  # fmt: skip
    assert preview["conflicts"] == []
    answer = built.run("undo", "--digest", preview["digest"], "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "partial")
    assert [row["result"] for row in answer.json["operations"]] == ["undone", *["denied"] * 2]
    assert answer.json["denied"] == preview["denied"]
    assert answer.json["notes"] == [f"Skipped: {why}" for why in whys]
    contents = {path: what[2] for path, what in built.files().items()}
    assert contents[b"free"] == b"free\n"
    assert (contents[b"locked/a"], contents[b"locked/moved"]) == (b"changed\n", b"moving\n")
    row = built.ok("runs", "list")["runs"][0]
    assert (row["kind"], row["outcome"]) == ("undo", "partial")
    assert built.ok("runs", "show", row["run"])["outcome"] == "partial"
    allow(built)
    rest = built.undo()
    assert (rest.code, rest.json["outcome"]) == (0, "done")
    assert {path: what[2] for path, what in built.files().items()} == {
        b"free": b"free\n", b"locked": b"", b"locked/a": b"kept\n", b"moving": b"moving\n",
    }  # fmt: skip


def test_an_undo_in_words_says_what_was_left_alone(built: World) -> None:
    deny(built)
    digest = built.ok("undo", "--dry-run")["digest"]
    answer = built.run("undo", "--digest", digest)
    assert answer.code == 1
    assert answer.out.startswith(f"{partly_text('undone')}\n".encode())
    words = " ".join(answer.out.decode().split())
    assert f"Skipped: {denial(built, 'locked/a')}" in words
    assert "denied write locked/a" in words
    assert "conflict" not in words


def test_an_undo_of_nothing_but_denied_paths_is_refused(built: World) -> None:
    deny(built, rule='[permission.edit]\n"*" = "deny"\n')
    before = built.files()
    for option in ("--dry-run", "--no-input"):
        answer = built.run("undo", option, "--json")
        assert (answer.code, answer.json["outcome"]) == (7, "nothing")
        assert len(answer.json["denied"]) == 3
    assert built.files() == before


def test_an_undo_of_denied_and_changed_paths_is_stale(built: World) -> None:
    deny(built)
    built.put("free", b"mine\n")
    answer = built.run("undo", "--json")
    assert (answer.code, answer.json["outcome"]) == (5, "nothing")
    assert [len(answer.json[name]) for name in ("conflicts", "denied")] == [1, 2]


def test_a_rule_that_came_after_the_preview_stops_an_undo_and_spends_nothing(built: World) -> None:
    digest = built.ok("undo", "--dry-run")["digest"]
    deny(built)
    assert built.no(5, "undo", "--digest", digest)["error"] == "other_digest"
    assert built.files()[b"free"][2] == b"new\n"


def test_a_redo_is_refused_like_a_build(built: World) -> None:
    assert built.undo().code == 0
    before = built.files()
    deny(built)
    refused = built.no(7, "redo")
    whys = [denial(built, path) for path in ("locked/moved", "locked/a")]
    assert sorted(refused["message"].split("Rules deny changes to ")[1:]) == sorted(
        [f"{whys[0]} ", f"{whys[1]} Nothing was changed."]
    )
    assert built.files() == before
    allow(built)
    digest = built.ok("redo", "--dry-run")["digest"]
    assert built.ok("redo", "--digest", digest)["outcome"] == "done"


def test_what_broke_the_projects_configuration_can_be_undone_and_own_rules_hold(
    locked: World,
) -> None:
    locked.write(".opencode/assent.toml", BROKEN)
    locked.write("locked/b", b"b\n")
    locked.build()
    deny(locked)
    digest = locked.ok("undo", "--dry-run")["digest"]
    answer = locked.run("undo", "--digest", digest, "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "partial")
    assert not (locked.root / ".opencode/assent.toml").exists()
    assert locked.files()[b"locked/b"][2] == b"b\n"


def test_what_a_model_changed_outside_plan_mode_is_undone_but_for_denied_paths(
    world: World,
) -> None:
    talker = Talker(world)
    talker.script(turn("Writing.", write("locked/b", "b\n"), write("c", "c\n")), turn("Done."))
    talker.json("Write both", "--mode", "auto-edit")
    deny(world)
    preview = world.ok("undo", "--dry-run")
    assert [row["path"] for row in preview["denied"]] == ["locked/b"]
    answer = world.run("undo", "--digest", preview["digest"], "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "partial")
    assert (world.root / "locked/b").exists()
    assert not (world.root / "c").exists()


def test_an_undo_that_was_killed_ends_as_partial_and_names_what_was_denied(built: World) -> None:
    deny(built)
    preview = built.ok("undo", "--dry-run")
    kill_undo(built, at=0)
    answer = built.run("recover", "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "partial")
    assert answer.json["denied"] == preview["denied"]
    assert built.files()[b"free"][2] == b"free\n"


def test_a_rule_that_is_added_while_an_engine_is_open_counts(locked: World) -> None:
    here = AppPaths(locked.state / "assent", locked.config.parent)
    engine, _ = open_engine_at(str(locked.root), here)
    record = engine.drafts.write(engine.plans.find(), b"locked/b", [b"b\n"], None).record
    record = engine.approvals.propose(record)
    engine.approvals.approve(record, record.digest, "", "test")
    deny(locked)
    with pytest.raises(Refused, match="Rules deny changes to locked/b"):
        drive_to_end(engine.runs.build(record.plan_id))
    with pytest.raises(Refused, match="Rules deny changes to locked/c"):
        engine.drafts.write(record, b"locked/c", [b"c\n"], None)
    assert engine.reviews.review(engine.plans.find()).denied
    allow(locked)
    assert drive_to_end(engine.runs.build(record.plan_id)).outcome == "done"
    engine.close()


def test_dry_run_shows_the_diff_of_what_an_undo_would_do(built: World) -> None:
    rows: list[dict[str, Any]] = built.ok("undo", "--dry-run")["operations"]
    diffs = {row["path"]: row["diff"] for row in rows}
    assert "-new\n+free\n" in diffs["free"]
    assert "-changed\n+kept\n" in diffs["locked/a"]
    assert "rename from locked/moved" in diffs["moving"]
    shown = built.run("undo", "--dry-run").out.decode().splitlines()
    for line in ("-new", "+free", "-changed", "+kept"):
        assert sum(one.strip().endswith(line) for one in shown) == 1, shown
    built.undo()
    again = built.ok("redo", "--dry-run")["operations"]
    assert any("-free\n+new\n" in row["diff"] for row in again)


def test_dry_run_says_what_it_cannot_show(world: World) -> None:
    world.put("binary", b"\0old")
    world.plan()
    world.write("binary", b"\0new")
    world.build()
    assert [row["diff"] for row in world.ok("undo", "--dry-run")["operations"]] == [None]
    assert NOT_SHOWN_BUT.encode() in world.run("undo", "--dry-run").out
