"""The execution plan of an answer: what each call touches, what the gate says, what it risks."""

from pathlib import Path

import pytest
from tests.tools.call_harness import Desk

from assent.core.llm import ToolCall
from assent.core.session.event import PlannedCall
from assent.core.tool import PermissionContext


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path, PermissionContext("auto-edit"))
    desk.put("a.txt", "a\n")
    return desk


def planned(desk: Desk, tool: str, **args: object) -> PlannedCall:
    call = ToolCall("c1", tool, dict(args))
    return desk.toolbox.planned(desk.toolbox.prepare(call, desk.around, desk.agent))


def test_f90_a_call_is_planned_with_what_it_touches_its_verdict_and_its_risk(desk: Desk) -> None:
    assert planned(desk, "read", path="a.txt") == PlannedCall(
        "c1", "read", ("read a.txt",), "run", "low", ()
    )
    assert planned(desk, "delete", path="a.txt") == PlannedCall(
        "c1", "delete", ("edit a.txt",), "run", "high", ("It deletes a.txt.",)
    )
    assert planned(desk, "write", path="a.txt", content="b") == PlannedCall(
        "c1", "write", ("edit a.txt", "read a.txt"), "run", "medium", ("It changes a.txt.",)
    )
    hidden = planned(desk, "read", path=".env")
    assert (hidden.verdict, hidden.risk, hidden.touches) == ("ask", "high", ("read .env",))


def test_f90_what_is_staged_risks_nothing_yet_but_what_is_delicate(desk: Desk) -> None:
    desk.posture = PermissionContext("plan")
    staged = planned(desk, "write", path="a.txt", content="b")
    assert (staged.verdict, staged.risk, staged.reasons) == ("stage", "low", ())
    gone = planned(desk, "delete", path="a.txt")
    assert (gone.verdict, gone.risk, gone.reasons) == ("stage", "high", ("It deletes a.txt.",))
    later = planned(desk, "write", path="conftest.py", content="b")
    assert (later.verdict, later.risk) == ("stage", "medium")
    ci = planned(desk, "write", path=".github/workflows/ci.yml", content="x")
    assert (ci.verdict, ci.risk) == ("stage", "high")


def test_f90_files_of_a_command_line_are_named(desk: Desk) -> None:
    wrote = planned(desk, "shell", command="echo hi > made.txt")
    assert wrote.touches == ("bash echo hi > made.txt", "edit made.txt")
    assert wrote.risk == "medium"
    looked = planned(desk, "shell", command="cat a.txt")
    assert looked.touches == ("bash cat a.txt", "read a.txt")


REFUSED = {
    "git's own": ("edit", {"path": ".git/config", "old": "a", "new": "b"}, "edit .git/config"),
    "outside": ("write", {"path": "../x", "content": "b"}, "edit ../x"),
}


@pytest.mark.parametrize(("tool", "args", "touched"), REFUSED.values(), ids=REFUSED)
def test_f90_a_call_that_is_refused_early_says_what_it_wanted_and_why_not(
    desk: Desk, tool: str, args: dict[str, object], touched: str
) -> None:
    told = planned(desk, tool, **args)
    assert (told.touches, told.verdict) == ((touched,), "deny")
    assert told.risk in ("medium", "high")
    assert told.reasons[0] == desk.settle(tool, **args).outcome.text


def test_f90_what_the_gate_denies_says_why(desk: Desk) -> None:
    told = planned(desk, "shell", command="rm -rf /")
    assert (told.verdict, told.risk) == ("deny", "high")
    assert told.reasons


def test_f90_a_tool_that_is_withheld_or_unknown_fails_and_says_what_it_wanted(desk: Desk) -> None:
    desk.posture = PermissionContext("plan", child=True)
    told = planned(desk, "write", path="a.txt", content="b")
    assert (told.touches, told.verdict, told.risk) == (("edit a.txt",), "fail", "medium")
    assert "is not available" in told.reasons[0]
    stranger = planned(desk, "launch", path="a.txt")
    assert (stranger.touches, stranger.verdict) == (("tool launch a.txt",), "fail")
    assert stranger.risk == "high"
    assert "Unknown tool" in stranger.reasons[0]
    unread = desk.toolbox.prepare(ToolCall("c1", "write", None, "{"), desk.around, desk.agent)
    assert desk.toolbox.planned(unread).touches == ("edit write",)
