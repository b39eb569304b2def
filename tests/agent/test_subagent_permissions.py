"""What children may do: never more than anybody above them, now and not as it once was."""

from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from tests.agent.test_text_plan_builds import approve
from tests.support.session import Person
from tests.support.subagents import Actor, Answer, Cast, Family, task

from assent.agent.services import TaskLimits
from assent.agent.session_context import SessionContext
from assent.agent.subagents.ancestry import parent_sessions
from assent.core.event import StoredEvent
from assent.core.permission.mode import MODES, CustomMode, Mode
from assent.core.session.agent import Agent
from assent.core.session.event import ModeChanged, QuestionAsked
from assent.core.session.record import SessionRecord
from assent.core.tool import VERDICTS_BY_STRICTNESS, Action, ResourceAccess
from assent.ports.session import Turn

WRITE: list[tuple[str, dict[str, Any]]] = [("write", {"path": "a.txt", "content": "new\n"})]
READ: list[tuple[str, dict[str, Any]]] = [("read", {"path": "a.txt"})]
OLD, NEW = {"a.txt": b"old\n"}, {"a.txt": b"new\n"}
WRITER: dict[str, list[Answer]] = {
    "main": [[task("Write it", "general")], "Thanks."],
    "general": [WRITE, "Did I?"],
}
DEEPER: dict[str, list[Answer]] = {
    "main": [[task("Have it written", "general")], "Thanks."],
    "general": [[task("Write it", "scribe")], "Did they?"],
    "scribe": [WRITE, "Did I?"],
}


@pytest.fixture
def family(tmp_path: Path) -> Family:
    family = Family(tmp_path, TaskLimits(depth=2))
    family.world.put(OLD)
    family.with_agent(Agent("scribe", "Writes.", kind="subagent"))
    return family


def resumed(family: Family, root: SessionRecord, agent: str = "general") -> SessionRecord:
    """Says to the root that it should have its first child try again."""
    [child, *_] = family.children(root)
    said = family.engine.sessions.say(family.load(root), "Again", "build")
    again = [task("Once more", agent, session=child.session)]
    return family.work(said, Cast({"main": [again, "Thanks."], agent: [READ, WRITE, "Did I?"]}))


def test_f101_while_its_parent_plans_a_writer_writes_and_stages_nothing(family: Family) -> None:
    root = family.play("plan", **WRITER)
    [child] = family.children(root)
    [result] = family.results(child)
    assert (child.mode, result.failed, family.world.files()) == ("plan", True, OLD)
    assert (root.plan_id, family.engine.plans.all(everything=True)) == ("", [])


def test_f101_the_same_holds_at_every_depth(family: Family) -> None:
    root = family.play("plan", **DEEPER)
    [child] = family.children(root)
    [grandchild] = family.children(child)
    [result] = family.results(grandchild)
    assert (grandchild.depth, result.failed, family.world.files()) == (2, True, OLD)


def test_a_child_writes_where_its_parent_may(family: Family) -> None:
    root = family.play("auto-edit", **WRITER)
    [child] = family.children(root)
    assert (child.mode, family.world.files()) == ("auto-edit", NEW)
    assert not family.results(child)[0].failed


def test_children_that_write_at_the_same_time_all_write(family: Family) -> None:
    family.with_limits(max_parallel=4)
    names = ("one", "two", "three", "four")
    for name in names:
        family.with_agent(Agent(name, kind="subagent"))
    writes: dict[str, list[Answer]] = {
        name: [[("write", {"path": f"{name}.txt", "content": name})], "Done."] for name in names
    }
    cast = Cast({"main": [[task("Write", name) for name in names], "Thanks."], **writes})
    together = Barrier(len(names), timeout=60)

    def meet(turn: Turn, actor: Actor) -> None:
        if turn.record.parent and turn.record.steps == 1:
            together.wait()

    cast.before = meet
    root = family.work(family.start("auto-edit"), cast)
    assert [result.failed for result in family.results(root)] == [False] * 4
    written = {f"{name}.txt": name.encode() for name in names}
    assert family.world.files() == {**OLD, **written}


def test_f101_a_mode_that_is_lowered_meanwhile_counts_at_once(family: Family) -> None:
    root = family.start("auto-edit")
    cast = Cast(WRITER)

    def lower(turn: Turn, actor: Actor) -> None:
        if turn.record.parent:
            family.engine.sessions.set_mode(root, "plan")

    cast.before = lower
    family.work(root, cast)
    [child] = family.children(root)
    assert (family.results(child)[0].failed, family.world.files()) == (True, OLD)


def test_f101_a_resumed_child_has_what_its_parent_has_now(family: Family) -> None:
    root = family.play("auto-edit", **WRITER)
    family.world.put(OLD)
    lowered = family.engine.sessions.set_mode(root, "plan")
    resumed(family, lowered)
    [child] = family.children(root)
    assert (child.mode, family.results(child)[-1].failed, family.world.files()) == (
        "plan",
        True,
        OLD,
    )
    raised = family.engine.sessions.set_mode(family.load(root), "auto-edit")
    resumed(family, raised)
    assert (family.children(root)[0].mode, family.world.files()) == ("auto-edit", NEW)


def test_f101_a_mode_that_a_person_chose_for_a_child_is_not_raised_by_its_parent(
    family: Family,
) -> None:
    root = family.play("auto-edit", **WRITER)
    family.world.put(OLD)
    [child] = family.children(root)
    family.engine.sessions.set_mode(child, "plan")
    resumed(family, root)
    assert (family.load(child).mode, family.world.files()) == ("plan", OLD)


def test_f101_what_its_parents_agent_is_denied_a_child_is_denied(family: Family) -> None:
    root = family.work(family.start("auto-edit", "explore"), Cast(WRITER))
    [child] = family.children(root)
    assert (family.results(child)[0].failed, family.world.files()) == (True, OLD)


def test_an_agent_that_only_looks_looks_in_every_mode(family: Family) -> None:
    root = family.play("yolo", main=[[task("Look")], "Thanks."], explore=[WRITE, "No."])
    [child] = family.children(root)
    assert (child.mode, family.results(child)[0].failed) == ("plan", True)
    assert family.world.files() == OLD


def test_a_child_without_a_parent_may_only_look(family: Family) -> None:
    root = family.play("yolo", **WRITER)
    [child] = family.children(root)
    orphan = SessionRecord(
        "x", child.workspace, "x", "yolo", "", "", 1, parent="gone", agent="general"
    )
    engine = family.engine
    surroundings = SessionContext(engine.sessions._services, family.tooling(None))
    assert surroundings.permission_context(child, None).mode == "yolo"
    assert surroundings.permission_context(orphan, None).mode == "plan"
    assert [each.session for each in parent_sessions(engine.sessions._services.ports, child)] == [
        root.session
    ]


def test_f11_agents_and_modes_that_nobody_knows_may_only_plan(family: Family) -> None:
    desk = family.engine.sessions._services
    known = family.play("yolo", **WRITER)
    [child] = family.children(known)
    stranger = SessionRecord("x", "w", "x", "yolo", "", "", 1, agent="wizard", custom="magic")
    surroundings = SessionContext(desk, family.tooling(None))
    posture = surroundings.permission_context(stranger, None)
    assert (posture.mode, [agent.name for agent in posture.agents]) == ("plan", ["plan"])
    assert [words[:20] for words in surroundings.warnings(stranger)] == [
        "Agent 'wizard' not f",
        "The session's mode '",
    ]
    assert surroundings.warnings(child) == ()


def test_modes_of_ones_own_narrow_children_too(family: Family) -> None:
    narrow = CustomMode("docs-only", "auto-edit", edit=("docs/**",), prompt="Only documents.")
    family.modes = {"docs-only": narrow}
    started, desk = family.start("auto-edit"), family.engine.sessions._services
    diary = family.engine.sessions.repository()
    chosen, _ = diary.append(started, ModeChanged("auto-edit", custom="docs-only"))
    root = family.work(chosen, Cast(WRITER))
    [child] = family.children(root)
    surroundings = SessionContext(desk, family.tooling(None))
    assert surroundings.permission_context(child, None).custom == (narrow,)
    assert surroundings.mode_prompt(root) == "Only documents."
    assert surroundings.agent(root) is surroundings.agent(root)
    assert (family.results(child)[0].failed, family.world.files()) == (True, OLD)


REQUESTS = tuple(
    ResourceAccess(action, resource)
    for action, resource in (
        (Action.READ, "a.txt"),
        (Action.READ, ".env"),
        (Action.EDIT, "a.txt"),
        (Action.EDIT, "docs/a.md"),
        (Action.EDIT, ".github/workflows/ci.yml"),
        (Action.SHELL, "ls"),
        (Action.SHELL, "make"),
        (Action.FETCH, "https://example.org/"),
        (Action.TOOL, "x_poke"),
    )
)


@pytest.mark.parametrize("custom", ["", "docs-only"])
@pytest.mark.parametrize("agent", ["build", "explore", "shy"])
@pytest.mark.parametrize("mode", MODES)
def test_f101_no_real_child_is_freer_than_its_parent_whatever_both_are(
    family: Family, mode: Mode, agent: str, custom: str
) -> None:
    family.modes = {"docs-only": CustomMode("docs-only", mode, edit=("docs/**",))}
    family.with_agent(Agent("shy", permission={"edit": "deny", "bash": "ask"}))
    started = family.start(mode, agent)
    if custom:
        changed = ModeChanged(mode, custom=custom)
        started, _ = family.engine.sessions.repository().append(started, changed)
    root = family.work(started, Cast(WRITER))
    [child] = family.children(root)
    tooling = family.tooling(None)
    surroundings = SessionContext(family.engine.sessions._services, tooling)
    own, parents_own = (
        surroundings.permission_context(child, None),
        surroundings.permission_context(root, None),
    )
    for request in REQUESTS:
        said = tooling.gate.decide((request,), own).verdict
        at_least = tooling.gate.decide((request,), parents_own).verdict
        assert VERDICTS_BY_STRICTNESS.index(said) >= VERDICTS_BY_STRICTNESS.index(at_least), (
            request,
            said,
            at_least,
        )


def test_f103_only_own_children_are_resumed_and_others_are_refused(family: Family) -> None:
    other = family.play("plan", main=[[task("Look")], "Thanks."], explore=["Theirs."])
    [foreign] = family.children(other)
    root = family.play("plan", main=[[task("Look", description="Mine")], "Ok."], explore=["Mine."])
    [own] = family.children(root)
    wanted = [task("Tell me", session=each) for each in (foreign.session, "nobody", root.session)]
    said = family.engine.sessions.say(root, "Ask the others")
    root = family.work(said, Cast({"main": [wanted, "Pity."]}))
    refused = family.results(root)[1:]
    assert [each.failed for each in refused] == [True, True, True]
    assert all(f"{own.session} (explore: Mine)" in each.text for each in refused)
    assert family.load(foreign) == foreign
    assert family.children(root) == [own]


def test_f103_one_child_works_on_one_task_at_a_time(family: Family) -> None:
    root = family.play("plan", main=[[task("Look")], "Ok."], explore=["One."])
    [child] = family.children(root)
    said = family.engine.sessions.say(root, "Twice")
    twice = [task("Again", session=child.session)] * 2
    root = family.work(said, Cast({"main": [twice, "Ok."], "explore": ["Two."]}))
    _, first, second = family.results(root)
    assert (first.failed, second.failed) == (False, True)
    assert "still running" in second.text


def test_f103_a_resumed_child_knows_what_was_said_before(family: Family) -> None:
    root = family.play("plan", main=[[task("Look")], "Ok."], explore=["I saw a."])
    [child] = family.children(root)
    said = family.engine.sessions.say(root, "Ask again")
    cast = Cast({"main": [[task("And b?", session=child.session)], "Ok."], "explore": ["b, too."]})
    family.work(said, cast)
    [prompt] = cast.prompts[child.session]
    assert "I saw a." in str(prompt)
    assert "And b?" in str(prompt[-1])
    assert family.load(child).turns == 2
    wrong = family.engine.sessions.say(family.load(root), "As a writer")
    root = family.work(
        wrong, Cast({"main": [[task("Write", "general", session=child.session)], "Ok."]})
    )
    assert "has type explore" in family.results(root)[-1].text


def test_f105_a_question_of_a_grandchild_is_seen_at_the_root(family: Family) -> None:
    family.person = Person((("Yes",),))
    root = family.play("ask", **DEEPER)
    [child] = family.children(root)
    [grandchild] = family.children(child)
    [[question]] = family.person.asked
    assert question.by == "gate"
    shown = [one for one in family.shown if isinstance(one, StoredEvent)]
    asked = [one for one in shown if isinstance(one.event, QuestionAsked)]
    assert [one.stream.rpartition("/")[2] for one in asked] == [grandchild.session]
    assert family.world.files() == NEW


def test_a_child_of_a_build_works_in_its_scope_and_belongs_to_its_run(family: Family) -> None:
    family.with_limits(depth=1)
    plan = approve(family.world)
    engine = family.engine
    actor = Actor(
        Cast(
            {
                "main": [[task("Do step one", "general")], "All done."],
                "general": [[("write", {"path": "src/c.py", "content": "c\n"})], "Done."],
            }
        )
    )
    with engine.text_plan_builds.locked(plan) as current:
        engine.text_plan_builds.start(current)
        current = engine.plans.find(plan.plan_id)
        for _ in engine.text_plan_builds.work(current, actor, family.tooling(actor)):
            pass
        report = engine.text_plan_builds.report(current)
    assert family.person.asked == []
    assert family.world.files() == {**OLD, "src/c.py": b"c\n"}
    assert [result for _, result in report.operations] == ["done"]
