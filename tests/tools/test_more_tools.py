"""Tools on demand: what the first request leaves out, and how a model gets it. No offer permits."""

from pathlib import Path

import msgspec
import pytest
from tests.tools.call_harness import AGENT, Desk

from assent.core.errors import AssentError
from assent.core.permission.mode import CustomMode, Mode
from assent.core.permission.rule import PermissionRule
from assent.core.session.agent import Agent
from assent.core.session.transcript import OFFERS
from assent.core.tool import Action, Decision, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.gate import PermissionPolicy, RuleGate
from assent.tools.dispatcher import NOT_ALLOWED, NOTHING_MORE, ToolDispatcher
from assent.tools.registry import TOOLS
from assent.tools.tool import ToolOffers

PLAN = PermissionContext("plan")
FIRST = [
    "read", "glob", "grep", "shell", "write", "edit", "write_plan", "todo", "question",
    "present_plan", "more_tools",
]  # fmt: skip
RARE = [
    "list", "search", "git", "patch", "delete", "move", "notebook_edit", "options",
    "unstage", "draft", "rehearse", "remember", "task",
]  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def names(
    desk: Desk,
    posture: PermissionContext = PLAN,
    agent: Agent = AGENT,
    requested: tuple[str, ...] = (),
) -> list[str]:
    return [each.name for each in desk.toolbox.available_tools(posture, agent, requested)]


def rare(desk: Desk, posture: PermissionContext = PLAN, agent: Agent = AGENT) -> list[str]:
    return [each.name for each in desk.toolbox.on_demand_tools(posture, agent)]


def test_f12_the_first_request_leaves_out_what_most_sessions_never_call(desk: Desk) -> None:
    assert names(desk) == FIRST
    assert rare(desk) == RARE


def test_what_is_asked_for_comes_last_in_that_order_and_nothing_before_it_changes(
    desk: Desk,
) -> None:
    assert names(desk, requested=("task", "read", "nothing", "git")) == [*FIRST, "task", "git"]
    first = desk.toolbox.available_tools(PLAN, AGENT)
    later = desk.toolbox.available_tools(PLAN, AGENT, ("task",))
    assert all(one is other for one, other in zip(first, later[: len(first)], strict=True))


def test_its_description_lists_only_what_there_is(desk: Desk) -> None:
    def told(posture: PermissionContext) -> str:
        found = desk.toolbox.available_tools(posture, AGENT)
        return next(each.description for each in found if each.name == "more_tools")

    assert told(PLAN) == (
        "Adds tools to your next answer: list (tree), search (definitions), git (history, "
        "blame), patch (a diff), delete, move, notebook_edit (cells), options (2 or 3 plans), "
        "rehearse, remember (facts), task (sub-agents)."
    )
    child = told(PermissionContext("plan", child=True, deeper=False))
    assert child.endswith("answer: list (tree), search (definitions), git (history, blame).")
    assert "fetch (web pages)" in told(PermissionContext("ask"))


def test_asking_adds_them_from_the_next_answer_on(desk: Desk) -> None:
    outcome = desk.call("more_tools", names=["git", "ApplyPatch", "nothing", "git"])
    assert outcome.text == "You can call these from your next answer on: git, patch."
    assert outcome.metadata == {OFFERS: ["git", "patch"]}
    assert outcome.effect is None


def test_asking_for_what_is_not_there_says_what_is(desk: Desk) -> None:
    desk.posture = PermissionContext("plan", staging=False)
    told = desk.failing("more_tools", names=["patch", "read"])
    assert "choose from these: list, search, git, options, remember, task." in told
    assert "patch" not in told


def test_f13_a_call_of_a_tool_that_was_not_offered_yet_is_judged_like_any_other(desk: Desk) -> None:
    desk.put("a.txt", "x\n")
    settled = desk.settle("delete", path="a.txt")
    assert (settled.outcome.failed, settled.tool) == (False, "delete")
    assert settled.decision is not None
    assert settled.decision.verdict is Verdict.STAGE
    desk.posture = PermissionContext("ask")
    desk.put("b.txt", "x\n")
    desk.answer = "No."
    assert f"{NOT_ALLOWED}No." in desk.failing("delete", path="b.txt")
    assert "outside" in desk.failing("delete", path="../b.txt")


@pytest.mark.parametrize(
    ("posture", "agent"),
    [
        (PLAN, Agent("a", tools={"more_tools": False})),
        (PLAN, Agent("a", permission={"more_tools": "deny"})),
        (PLAN, Agent("a", tools={"*": False, "read": True, "git": True})),
        (
            PermissionContext("plan", custom=(CustomMode("x", "plan", tools=("read", "git")),)),
            AGENT,
        ),
    ],
)
def test_who_cannot_ask_is_offered_everything_at_once(
    desk: Desk, posture: PermissionContext, agent: Agent
) -> None:
    found = names(desk, posture, agent)
    assert "git" in found
    assert "more_tools" not in found
    assert rare(desk, posture, agent) == []


@pytest.mark.parametrize("action", ["ask", "deny"])
def test_a_rule_that_keeps_models_from_asking_has_everything_offered(action: str) -> None:
    rules = (PermissionRule("more_tools", "*", action),)  # type: ignore[arg-type]
    agent = Agent("a", rules=rules, permission={"more_tools": action})
    posture = msgspec.structs.replace(PLAN, agents=(agent,))
    gate = RuleGate(PermissionPolicy(), classify_command_line)
    toolbox = ToolDispatcher(TOOLS, gate)
    sets = toolbox.tool_sets(posture, agent)
    assert sets.on_demand == ()
    assert "more_tools" in sets.unavailable
    assert {*RARE} <= {each.name for each in toolbox.available_tools(posture, agent)}


def test_a_gate_that_fails_has_everything_offered(desk: Desk) -> None:
    class Broken(RuleGate):
        def decide(
            self, requests: tuple[ResourceAccess, ...], permissions: PermissionContext
        ) -> Decision:  # type: ignore[override]
            raise AssentError("It is broken.")

    toolbox = ToolDispatcher(TOOLS, Broken(PermissionPolicy(), classify_command_line))
    assert toolbox.tool_sets(PLAN, AGENT).on_demand == ()
    assert toolbox.unavailable_tools(PLAN, AGENT)["more_tools"] == NOTHING_MORE


def test_an_agents_file_and_a_mode_name_what_is_offered_at_once(desk: Desk) -> None:
    agent = Agent("a", tools={"notebookEdit": True, "Task": True, "write": False})
    assert [n for n in names(desk, PLAN, agent) if n in RARE] == ["notebook_edit", "task"]
    assert "notebook_edit" not in rare(desk, PLAN, agent)
    mode = CustomMode("x", "plan", tools=("read", "git", "task", "more_tools"))
    posture = PermissionContext("plan", custom=(mode,))
    assert names(desk, posture) == ["read", "git", "task"]


def test_a_plugins_tool_can_be_on_demand_too(desk: Desk) -> None:
    read = TOOLS[0]
    own = msgspec.structs.replace(read, name="lookup", text="Looks up.", on_demand="a word")
    toolbox = ToolDispatcher((*TOOLS, own), RuleGate(PermissionPolicy(), classify_command_line))
    assert [each.name for each in toolbox.available_tools(PLAN, AGENT)] == FIRST
    more = [each.name for each in toolbox.available_tools(PLAN, AGENT, ("lookup",))]
    assert more == [*FIRST, "lookup"]
    found = [each.description for each in toolbox.available_tools(PLAN, AGENT)][-1]
    assert found.endswith("task (sub-agents), lookup (a word).")


def test_notes_and_tools_that_settings_want_at_once() -> None:
    gate = RuleGate(PermissionPolicy(), classify_command_line)
    toolbox = ToolDispatcher(TOOLS, gate, notes={"task": "Agents: x."}, at_once=("task",))
    found = {each.name: each.description for each in toolbox.available_tools(PLAN, AGENT)}
    assert found["task"].endswith(" Agents: x.")
    assert "task" not in found["more_tools"]


def test_asking_is_the_sessions_own_and_touches_nothing(desk: Desk) -> None:
    settled = desk.settle("more_tools", names=["git"])
    assert settled.attempt is not None
    assert settled.attempt.requests == (ResourceAccess(Action.PLAN, "tools", "more_tools"),)
    assert desk.asked == []


@pytest.mark.parametrize("mode", ["plan", "ask", "yolo"])
@pytest.mark.parametrize("agent", [AGENT, Agent("strict", tools={"task": False, "git": True})])
def test_offers_that_are_kept_are_those_that_would_be_found_again(
    desk: Desk, mode: Mode, agent: Agent
) -> None:
    kept, wanted = ToolOffers(), PermissionContext(mode, agents=(agent,))

    def found(offers: ToolOffers | None) -> object:
        gate = RuleGate(PermissionPolicy(), classify_command_line)
        box = ToolDispatcher(TOOLS, gate, suggest=True, offers=offers)
        first = box.available_tools(wanted, agent)
        later = box.available_tools(wanted, agent, ("task",))
        return first, later, box.tool_sets(wanted, agent), box.absent(wanted, agent)

    for other in ("plan", "ask"):  # what is kept for others is not taken
        ToolDispatcher(
            TOOLS, RuleGate(PermissionPolicy(), classify_command_line), suggest=True, offers=kept
        ).available_tools(PermissionContext(other), Agent("other", tools={"*": False}))
    assert found(kept) == found(None)
    assert found(kept) == found(None)
