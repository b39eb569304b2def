"""write, delete and move; and the plan file, which an ordinary write may reach (F17, F69)."""

import os
from pathlib import Path

import pytest
from tests.tools.call_harness import PLAN, Desk

from assent.core.digest import sha256
from assent.core.plan.operation import DeleteFile, FileState, MoveFile, WriteFile
from assent.core.tool import EditEffect, PermissionContext, PlanTextEffect, ResourceAccess


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def state(content: bytes, mode: int = 0o644) -> FileState:
    return FileState(sha256(content), len(content), mode)


def test_a_new_file_is_written_whole(desk: Desk) -> None:
    outcome = desk.call("write", path="a/b.txt", content="one\ntwo")
    operation = WriteFile(b"a/b.txt", None, state(b"one\ntwo"))
    assert outcome.effect == EditEffect((operation,), {sha256(b"one\ntwo"): b"one\ntwo"})
    assert outcome.text == "a/b.txt: new file, 2 lines."
    assert outcome.metadata == {"seen": {"a/b.txt": sha256(b"one\ntwo")}}


def test_a_file_that_is_replaced_keeps_mode_bom_and_line_ends(desk: Desk) -> None:
    desk.put("f", b"\xef\xbb\xbfa\r\nb\r\n").chmod(0o600)
    desk.call("write", path="f", content="x\ny\n")
    assert desk.content("f") == b"\xef\xbb\xbfx\r\ny\r\n"
    assert desk.place.overlay.state(b"f") == state(b"\xef\xbb\xbfx\r\ny\r\n", 0o600)


def test_a_write_that_changes_nothing_says_so(desk: Desk) -> None:
    desk.put("f", "same\n")
    outcome = desk.call("write", path="f", content="same\n")
    assert outcome.effect is None
    assert "already has this content" in outcome.text


def test_a_file_cannot_lie_in_a_file(desk: Desk) -> None:
    desk.put("f", "x")
    assert "is a file" in desk.failing("write", path="f/g", content="")


@pytest.mark.parametrize(
    "path",
    [".git/config", "sub/.GIT/hooks/x", ".opencode/assent/log", ".opencode", ".", "../x", "/etc/x",
     ".opencode/plans/quiet-owl/other.md", ".opencode/plans/x.txt", "a/../../x", "out/x", "\0",
     "git~1/config", ".opencode/plans/quiet-owl"],
)  # fmt: skip
@pytest.mark.parametrize("tool", ["write", "delete", "edit", "move", "moved", "patch"])
def test_f17_nothing_else_of_assent_git_or_outside_can_be_reached(
    desk: Desk, tool: str, path: str
) -> None:
    (desk.place.root / "out").symlink_to("/tmp")
    desk.put("mine", "x\n")
    desk.put(".git/config", "x\n")
    desk.put(PLAN, "x\n")
    desk.put(".opencode/plans/quiet-owl/other.md", "x\n")
    calls: dict[str, dict[str, object]] = {
        "write": {"path": path, "content": "y\n"},
        "delete": {"path": path},
        "edit": {"path": path, "old": "x", "new": "y"},
        "move": {"path": path, "to": "here"},
        "moved": {"path": "mine", "to": path.rstrip(".") or ".git"},
        "patch": {"patch": f"*** Begin Patch\n*** Add File: {path}\n+y\n*** End Patch"},
    }
    desk.failing("move" if tool == "moved" else tool, **calls[tool])


def test_f69_a_write_to_the_plan_file_becomes_the_plans_text(desk: Desk) -> None:
    desk.put(PLAN, "# Plan\n")
    for path in (PLAN, f"./{PLAN}", str(desk.place.root / PLAN)):
        settled = desk.settle("write", path=path, content="# Better\n")
        assert settled.outcome.effect == PlanTextEffect("# Better\n")
        assert [r.action for r in _requests(desk, path)] == ["plan"]
    edited = desk.call("edit", path=PLAN, old="# Plan", new="# Mine")
    assert edited.effect == PlanTextEffect("# Mine\n")


def _requests(desk: Desk, path: str) -> tuple[ResourceAccess, ...]:
    tool = desk.toolbox._tools["write"]
    return tuple(tool.touches(tool.args(path, ""), desk.around))


@pytest.mark.parametrize(
    "path",
    [".opencode/plans/quiet-owl/../quiet-owl/quiet-owl.md", "alias.md", "plans/quiet-owl.md",
     ".opencode/plans/other/quiet-owl.md", ".opencode/plans/quiet-owl/quiet-owl.txt",
     ".OPENCODE/plans/quiet-owl/quiet-owl.md", f"{PLAN}/x"],
)  # fmt: skip
def test_f69_a_detour_to_the_plan_file_is_refused(desk: Desk, path: str) -> None:
    desk.put(PLAN, "# Plan\n")
    (desk.place.root / "alias.md").symlink_to(PLAN)
    (desk.place.root / "plans").symlink_to(os.path.dirname(PLAN))
    desk.failing("write", path=path, content="# Other\n")


def test_f69_a_plan_file_that_is_a_symlink_is_no_plan_file(desk: Desk) -> None:
    desk.put(".opencode/plans/quiet-owl/victim.md", "x")
    (desk.place.root / PLAN).symlink_to("victim.md")
    desk.failing("write", path=PLAN, content="# Other\n")


def test_f69_a_plan_has_a_most_of_bytes_and_belongs_to_plan_mode(desk: Desk) -> None:
    assert "more than" in desk.failing("write", path=PLAN, content="x" * (1 << 20) + "x")
    assert "blank" in desk.failing("write", path=PLAN, content=" \n")
    assert "more than" in desk.failing("write_plan", text="x" * (1 << 20) + "x")
    desk.posture = PermissionContext("yolo")
    assert "can only change in plan mode" in desk.failing("write", path=PLAN, content="# Later\n")


def test_f17_the_plan_file_is_never_moved_or_deleted(desk: Desk) -> None:
    desk.put(PLAN, "# Plan\n")
    desk.failing("delete", path=PLAN)
    desk.failing("move", path=PLAN, to="plan.md")
    desk.failing("delete", path=".opencode/plans")


def test_a_folder_is_deleted_file_by_file(desk: Desk) -> None:
    desk.put("d/a", "1")
    desk.put("d/e/b", "2")
    outcome = desk.call("delete", path="d")
    wanted = (DeleteFile(b"d/a", state(b"1"), 1), DeleteFile(b"d/e/b", state(b"2"), 2))
    assert outcome.effect == EditEffect(wanted)
    assert outcome.text == "d: 2 files to delete."
    assert "does not exist" in desk.failing("delete", path="d")


def test_a_symlink_is_deleted_and_moved_itself(desk: Desk) -> None:
    desk.put("real", "x")
    (desk.place.root / "link").symlink_to("real")
    (desk.place.root / "away").symlink_to("/etc/passwd")
    desk.call("delete", path="link")
    desk.call("move", path="away", to="gone")
    assert desk.place.overlay.names(b"") == {b"gone": False, b"real": False}


def test_a_move_names_both_ends_and_never_overwrites(desk: Desk) -> None:
    desk.put("a", "1")
    desk.put("b", "2")
    desk.put("d/x", "3")
    assert "exists" in desk.failing("move", path="a", to="b")
    desk.seen = {"a": sha256(b"1")}
    outcome = desk.call("move", path="a", to="d")
    assert outcome.effect == EditEffect((MoveFile(b"a", b"d/a", state(b"1")),))
    assert outcome.metadata == {"seen": {"d/a": sha256(b"1")}}
    assert "into itself" in desk.failing("move", path="d", to="d/e")
    desk.call("move", path="d", to="e")
    assert desk.place.overlay.below(b"e") == [b"e/a", b"e/x"]


def test_f76_a_secret_cannot_be_read_by_moving_it(desk: Desk) -> None:
    desk.put("conf/.env", "KEY=abcdef\n")
    desk.answer = "no"
    for path, to in (("conf/.env", "notes.txt"), ("conf", "notes")):
        assert "secrets" in desk.settle("move", path=path, to=to).decision.reason  # type: ignore[union-attr]
        assert desk.place.operations == []


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write", {"content": "x"}),
        ("edit", {"old": "o", "new": "x"}),
        ("delete", {}),
        ("move", {"to": "elsewhere"}),
    ],
)
def test_f69_among_the_plans_the_model_is_told_of_its_own_tool(
    desk: Desk, tool: str, args: dict[str, str]
) -> None:
    desk.put(".opencode/plans/x/other.md", "other")
    told = desk.failing(tool, path=".opencode/plans/x/other.md", **args)
    assert "which cannot be edited; in plan mode, use `write_plan`. Nothing was changed." in told
    assert "assent " not in told
