"""A plan that is presented in the same answer as its last edits: only if they were all staged."""

from pathlib import Path
from typing import Any

import pytest
from bench.story_server import StoryServer
from tests.cli.scripts import PRESENT, WRITE_PLAN, Talker, turn, write
from tests.cli.story_model import Call, Model

from assent.agent.tool_call_runner import NOT_PRESENTED
from assent.llm.scripted import ScriptedCall, ScriptedTurn

NEW: Call = ("write", {"path": "new.txt", "content": "new\n"})
EDIT: Call = ("edit", {"edits": [{"path": "README.md", "old": "# Shop", "new": "# The shop"}]})
MISS: Call = ("edit", {"edits": [{"path": "README.md", "old": "# Ship", "new": "# The shop"}]})
BOTH_MISS: Call = (
    "edit",
    {"edits": [*MISS[1]["edits"], {"path": "Makefile", "old": "nowhere", "new": "x"}]},
)


def presents(model: Model, *calls: Call, options: tuple[str, ...] = ()) -> bool:
    """Has the model make calls in one answer; tells whether a plan waits for the user then."""
    made = tuple(ScriptedCall(tool, args) for tool, args in calls)
    model.server.answers = [ScriptedTurn("All of it.", calls=made)]
    return model.run("-p", "Change it", *options, "--model", "openai/m").code == 3


def test_f35_the_last_edits_and_the_plan_come_in_one_answer(model: Model) -> None:
    assert presents(model, WRITE_PLAN, EDIT, NEW, PRESENT)
    assert len(model.server.bodies) == 1
    assert model.ok("status")["plan"]["state"] == "AWAITING_APPROVAL"
    assert len(model.ok("diff")["operations"]) == 2
    assert "in one answer with edits, checks and `write_plan`" in model.sent


FAILING: dict[str, tuple[Call, str]] = {
    "an edit that does not match": (MISS, "edit README.md"),
    "edits of several files": (BOTH_MISS, "edit README.md, Makefile"),
    "a file that is not there": (("delete", {"path": "gone.txt"}), "delete gone.txt"),
    "a path outside": (("write", {"path": "/etc/x", "content": ""}), "write /etc/x"),
    "arguments that cannot be read": (("write", {"path": "a.txt"}), "write a.txt"),
    "a patch": (("patch", {"patch": "nothing"}), "patch"),
    "a text that cannot be written": (("write_plan", {"text": ""}), "write_plan"),
    "an id that nobody knows": (("unstage", {"ids": ["0000000"]}), "unstage"),
    "a command that never runs": (
        ("shell", {"command": "rm -rf /", "stage": True}),
        "shell rm -rf /",
    ),
    "a tool that does not exist": (("make_it_so", {"path": "a.txt"}), "make_it_so"),
}


@pytest.mark.parametrize(("call", "named"), FAILING.values(), ids=FAILING)
def test_f35_a_plan_is_not_presented_if_a_change_before_it_failed(
    model: Model, call: Call, named: str
) -> None:
    results = model.makes(WRITE_PLAN, NEW, call, PRESENT)
    assert results[-1] == NOT_PRESENTED.format(calls=named)
    assert model.ok("status")["plan"]["state"] == "DRAFTING"
    # What was staged is kept, and the next answer can present it.
    assert presents(model, PRESENT, options=("-c",))
    assert model.ok("status")["plan"]["state"] == "AWAITING_APPROVAL"


def test_several_that_failed_are_all_named_and_later_ones_are_not(model: Model) -> None:
    gone: Call = ("delete", {"path": "gone.txt"})
    *_, presented, last = model.makes(WRITE_PLAN, MISS, NEW, gone, MISS, PRESENT, EDIT)
    assert presented == NOT_PRESENTED.format(calls="edit README.md, delete gone.txt")
    assert "Staged" in last or "staged" in last


@pytest.mark.parametrize(
    "call",
    [
        ("read", {"path": "gone.txt"}),
        ("grep", {"pattern": "("}),
        ("shell", {"command": "cat gone.txt"}),
        ("todo", {"todos": [{"content": " "}]}),
    ],
    ids=["read", "grep", "shell", "todo"],
)
def test_a_look_that_failed_keeps_no_plan_back(model: Model, call: Call) -> None:
    assert presents(model, WRITE_PLAN, NEW, call, PRESENT)
    assert model.ok("status")["plan"]["state"] == "AWAITING_APPROVAL"


def test_f35_a_change_that_nobody_could_allow_keeps_the_plan_back(
    tmp_path: Path, server: StoryServer
) -> None:
    model = Model(tmp_path, server, '[permission.edit]\n"README.md" = "ask"\n')
    *_, presented = model.makes(WRITE_PLAN, NEW, EDIT, PRESENT)
    assert presented == NOT_PRESENTED.format(calls="edit README.md")
    assert model.ok("status")["plan"]["state"] == "DRAFTING"


def test_f90_the_execution_plan_says_that_it_is_not_presented(talker: Talker) -> None:
    missing: tuple[str, dict[str, Any]] = ("edit", {"path": "no.txt", "old": "a", "new": "b"})
    talker.script(turn("Go.", WRITE_PLAN, write("new.txt", "x\n"), missing, PRESENT), turn("Oh."))
    rows = talker.stream("Greet")
    said = [call for row in rows if row["kind"] == "batch_planned" for call in row["body"]["calls"]]
    planned = {row["call"]: row for row in said}
    [ended] = [
        row["body"]
        for row in rows
        if row["kind"] == "call_ended" and row["body"]["tool"] == "present_plan"
    ]
    assert ended["result"]["failed"]
    assert ended["result"]["text"] == NOT_PRESENTED.format(calls="edit no.txt")
    assert planned[ended["call"]]["verdict"] == "fail"
    assert planned[ended["call"]]["reasons"] == [ended["result"]["text"]]
    assert not [row for row in rows if row["kind"] == "proposed"]
