"""The toolbox: what is offered, what is refused unseen, and that nothing gets around the gate."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from tests.tools.call_harness import AGENT, Desk

from assent.core.errors import NotFound
from assent.core.llm import ToolCall
from assent.core.permission.mode import Mode
from assent.core.permission.rule import PermissionPattern
from assent.core.plan.operation import DeleteFile, FileState
from assent.core.session.agent import Agent
from assent.core.session.event import RiskLevel
from assent.core.session.question import PermissionAnswer
from assent.core.tool import (
    Action,
    Decision,
    EditEffect,
    PermissionContext,
    PlanTextEffect,
    PresentPlanEffect,
    ResourceAccess,
    ToolOutcome,
    Verdict,
)
from assent.tools.dispatcher import ToolCallResult, ToolDispatcher
from assent.tools.tool import Tool, ToolContext

YES = PermissionAnswer(yes=True)
READS = {"read", "list", "glob", "grep", "search", "git", "shell", "task"}
PLANS = {
    "write_plan",
    "todo",
    "question",
    "present_plan",
    "options",
    "unstage",
    "draft",
    "rehearse",
    "remember",
}
WRITES = {"write", "edit", "patch", "delete", "move", "notebook_edit"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def offered(desk: Desk, posture: PermissionContext, agent: Agent = AGENT) -> set[str]:
    """The tools that a model has or can ask for."""
    toolbox = desk.toolbox
    offers = toolbox.available_tools(posture, agent) + toolbox.on_demand_tools(posture, agent)
    return {offer.name for offer in offers} - {"more_tools"}


def test_f12_what_is_offered_in_each_mode(desk: Desk) -> None:
    assert offered(desk, PermissionContext("plan")) == READS | PLANS | WRITES
    without = PermissionContext("plan", staging=False)
    assert offered(desk, without) == READS | PLANS - {"unstage", "draft", "rehearse"}
    assert offered(
        desk, PermissionContext("plan", hosts=("example.org",))
    ) == READS | PLANS | WRITES | {"fetch"}
    built = READS | WRITES | {"fetch", "todo", "question", "remember", "enter_plan"}
    assert (
        offered(desk, PermissionContext("ask")) == offered(desk, PermissionContext("yolo")) == built
    )
    assert offered(desk, PermissionContext("plan", child=True)) == READS | {"question"}
    assert offered(desk, PermissionContext("ask", child=True)) == READS | WRITES | {
        "fetch",
        "question",
    }


def test_f12_without_staging_every_write_tool_is_refused(desk: Desk) -> None:
    desk.put("a", "x\n")
    desk.posture = PermissionContext("plan", staging=False)
    assert "use `write_plan`" in desk.failing("write", path="x", content="x")
    assert set(desk.toolbox.unavailable_tools(desk.posture, AGENT)) == WRITES | {
        "enter_plan",
        "fetch",
        "unstage",
        "draft",
        "rehearse",
    }
    for tool in sorted(WRITES):
        settled = desk.settle(tool, path="a", content="y", to="b", patch="")
        assert settled.outcome.failed
        assert settled.decision is None
        assert "`plan.staging`" in settled.outcome.text


def test_offers_that_are_the_same_are_one_object(desk: Desk) -> None:
    first = desk.toolbox.available_tools(PermissionContext("plan"), AGENT)
    assert desk.toolbox.available_tools(PermissionContext("plan"), Agent("other")) is first


def test_f13_a_tool_that_nobody_knows_is_refused_with_those_that_there_are(desk: Desk) -> None:
    told = desk.failing("launch_rockets", target="moon")
    assert told.startswith("Unknown tool `launch_rockets`. Available: read, list,")


@pytest.mark.parametrize(
    "agent",
    [
        Agent("a", tools={"write": False}),
        Agent("a", tools={"*": False, "read": True}),
        Agent("a", tools={"write_file": False}),
        Agent("a", permission={"edit": "deny"}),
        Agent("a", permission={"write": "deny"}),
        Agent("a", permission={"*": "deny", "read": "allow"}),
    ],
)
def test_f13_a_tool_that_the_agent_was_not_offered_is_not_executed(
    desk: Desk, agent: Agent
) -> None:
    desk.agent = agent
    for name in ("write", "write_file", "Write", "create_file"):
        assert "The agent a may not use it." in desk.failing(name, path="x", content="y")
    assert "write" not in offered(desk, PermissionContext("plan"), agent)
    assert "read" in offered(desk, PermissionContext("plan"), agent)


def test_an_agent_may_lose_the_shell_by_its_other_name(desk: Desk) -> None:
    for agent in (Agent("a", permission={"bash": "deny"}), Agent("a", tools={"Bash": False})):
        assert "shell" not in offered(desk, PermissionContext("plan"), agent)


def test_arguments_that_cannot_be_read_are_told(desk: Desk) -> None:
    settled = desk.settle_call(ToolCall("c", "write", None, '{"path": "a", "content'))
    assert "could not be parsed" in settled.outcome.text
    assert '{"path": "a", "content' in settled.outcome.text
    assert "not a JSON object" in desk.settle_call(ToolCall("c", "write", None, "[1]")).outcome.text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"path": "a"}, "`content` is missing. It takes path, content."),
        ({"path": "a", "content": "b", "colour": 1}, "`colour` is unknown"),
        ({"path": ["a"], "content": "b"}, "`path`: Expected `str`, got `array`"),
    ],
)
def test_arguments_that_do_not_fit_name_the_field(
    desk: Desk, args: dict[str, object], words: str
) -> None:
    assert words in desk.failing("write", **args)


def test_arguments_are_mended_where_there_is_no_doubt(desk: Desk) -> None:
    desk.put("f", "a a\n")
    desk.call("edit", path="f", old="a", new="b", replace_all="true")
    desk.call("edit", path="f", edits='[{"old": "b b", "new": "c"}]')
    desk.call("write", path=12, content="x")
    assert (desk.content("f"), desk.content("12")) == (b"c\n", b"x")


def test_calls_that_only_read_may_run_side_by_side(desk: Desk) -> None:
    def together(*names: str, mode: Mode = "plan") -> set[str]:
        return {
            desk.toolbox.concurrency_group(ToolCall("c", name, {}), PermissionContext(mode))
            for name in names
        }

    reads = READS - {"task"}
    assert together(*reads, "Read", "bash", "fetch", "LS") == {"reads"}
    assert together(*reads - {"shell", "git"}, mode="ask") == {"reads"}
    assert together("shell", "bash", mode="ask") == {""}  # it may write
    assert together("task", "Task") == together("task", mode="yolo") == {"tasks"}
    assert together(*WRITES, *PLANS, "Write", "nothing", "websearch") == {""}
    assert desk.toolbox.name(ToolCall("c", "ExitPlanMode", {})) == "present_plan"


def test_a_question_of_the_gate_decides(desk: Desk) -> None:
    desk.posture = PermissionContext("ask")
    desk.answer = "Not this file."
    settled = desk.settle("write", path="a", content="b")
    assert settled.outcome.failed
    assert "Not this file." in settled.outcome.text
    assert settled.decision == Decision(Verdict.ASK, "Ask mode asks before each edit.")
    desk.answer = ""
    assert not desk.settle("write", path="a", content="b").outcome.failed
    assert [requests for requests, _ in desk.asked] == [(ResourceAccess(Action.EDIT, "a"),)] * 2


class NoArgs(msgspec.Struct, frozen=True):
    pass


def settled(toolbox: ToolDispatcher, desk: Desk, consent: PermissionAnswer = YES) -> ToolCallResult:
    """Settles a call of the odd tool."""
    prepared = toolbox.prepare(ToolCall("c", "odd", {}), desk.around, AGENT)
    return toolbox.run_call(prepared, desk.around, lambda doubt: consent)


def strange(
    desk: Desk, outcome: ToolOutcome | Exception, *touched: ResourceAccess | Exception
) -> ToolOutcome:
    """Settles a call of a tool that behaves oddly."""

    def touches(args: NoArgs, around: ToolContext) -> Sequence[ResourceAccess]:
        for each in touched:
            if isinstance(each, Exception):
                raise each
        return [each for each in touched if isinstance(each, ResourceAccess)]

    def run(args: NoArgs, around: ToolContext) -> ToolOutcome:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    toolbox = ToolDispatcher((Tool("odd", NoArgs, touches, run),), desk.toolbox._gate)
    return settled(toolbox, desk, PermissionAnswer(why="nobody")).outcome


READ = ResourceAccess(Action.READ, "x")


def test_whatever_a_tool_raises_becomes_an_outcome(desk: Desk) -> None:
    assert strange(desk, NotFound("Gone.", "look")).text == "Gone. Next: look"
    shut = strange(desk, NotFound("It is off.", "assent doctor"))
    assert shut.text == "It is off. The user can run `assent doctor`."
    assert "ZeroDivisionError" in strange(desk, ZeroDivisionError("no")).text
    assert strange(desk, ToolOutcome("ran"), ValueError("bad")).failed


def test_an_interrupt_gets_out(desk: Desk) -> None:
    class Stop(BaseException):
        pass

    def run(args: NoArgs, around: ToolContext) -> ToolOutcome:
        raise Stop

    toolbox = ToolDispatcher((Tool("odd", NoArgs, lambda *_: (READ,), run),), desk.toolbox._gate)
    with pytest.raises(Stop):
        settled(toolbox, desk)


@pytest.mark.parametrize(
    ("effect", "requests"),
    [
        (EditEffect((DeleteFile(b"x", FileState("d", 1, 0o644)),)), (READ,)),
        (
            EditEffect((DeleteFile(b"x", FileState("d", 1, 0o644)),)),
            (ResourceAccess(Action.EDIT, "y"),),
        ),
        (PlanTextEffect("text"), (READ,)),
        (PresentPlanEffect(), (ResourceAccess(Action.PLAN, "plan"),)),
    ],
)
def test_an_effect_that_the_gate_has_not_seen_does_not_happen(
    desk: Desk, effect: EditEffect, requests: tuple[ResourceAccess, ...]
) -> None:
    outcome = strange(desk, ToolOutcome("ran", effect=effect), *requests)
    assert (outcome.failed, outcome.effect) == (True, None)


class BrokenGate:
    """Implements ports.Gate, badly."""

    def decide(self, requests: Sequence[ResourceAccess], posture: PermissionContext) -> Decision:
        raise RuntimeError("out of order")

    def never_allowed_reason(self, tool: str, action: Action, posture: PermissionContext) -> str:
        return ""

    def risk(
        self, requests: Sequence[ResourceAccess], *, planning: bool = False, asking: bool = False
    ) -> tuple[RiskLevel, tuple[str, ...]]:
        raise RuntimeError("out of order")

    def parts(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        return ()

    def files(self, requests: Sequence[ResourceAccess]) -> tuple[ResourceAccess, ...]:
        return ()

    def operands(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        return ()

    def is_mandatory_ask(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> bool:
        return False

    def grant_patterns(
        self, requests: Sequence[ResourceAccess], posture: PermissionContext
    ) -> tuple[PermissionPattern, ...]:
        raise RuntimeError("out of order")


def test_a_gate_that_fails_says_no(desk: Desk) -> None:
    ran: list[object] = []

    def run(args: NoArgs, around: ToolContext) -> ToolOutcome:
        ran.append(args)
        return ToolOutcome("ran")

    toolbox = ToolDispatcher((Tool("odd", NoArgs, lambda *_: (READ,), run),), BrokenGate())
    one = settled(toolbox, desk)
    assert one.decision is not None
    assert one.decision.verdict is Verdict.DENY
    assert ran == []


def test_f76_a_tool_that_goes_through_many_files_leaves_secrets_out(desk: Desk) -> None:
    found: dict[str, bool] = {}

    def run(args: NoArgs, around: ToolContext) -> ToolOutcome:
        found.update({p: around.readable(p.encode()) for p in ("a.py", ".env", "x/.ssh/config")})
        return ToolOutcome("ran")

    tool = Tool("odd", NoArgs, lambda *_: (READ,), run, Action.READ)
    settled(ToolDispatcher((tool,), desk.toolbox._gate), desk, PermissionAnswer(why="no"))
    assert found == {"a.py": True, ".env": False, "x/.ssh/config": False}


def test_an_edit_is_asked_about_with_what_it_would_do_and_nothing_else(desk: Desk) -> None:
    desk.put("a.txt", "one\n")
    desk.posture = PermissionContext("ask")
    desk.call("read", path="a.txt")
    outcome = desk.call("edit", path="a.txt", old="one", new="two")
    ((requests, decision),) = desk.asked
    assert requests == (ResourceAccess(Action.EDIT, "a.txt"),)
    assert decision.reason == "Ask mode asks before each edit."
    assert desk.shown == [outcome.effect]


def test_an_edit_that_cannot_be_made_is_not_asked_about(desk: Desk) -> None:
    desk.put("a.txt", "one\n")
    desk.posture = PermissionContext("ask")
    desk.failing("edit", path="a.txt", old="absent", new="two")
    assert desk.asked == []


def test_a_secret_that_an_edit_reads_is_asked_about_before_it_is_read(desk: Desk) -> None:
    desk.put(".env", "KEY=1\n")
    desk.posture, desk.answer = PermissionContext("ask"), "no."
    assert "The user did not allow it: no." in desk.failing(
        "edit", path=".env", old="absent", new="2"
    )
    assert [requests for requests, _ in desk.asked] == [(ResourceAccess(Action.READ, ".env"),)]
    assert desk.shown == [None]
