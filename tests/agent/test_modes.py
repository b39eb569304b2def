"""Sessions in modes of one's own: what is stored, and what the model is told of them."""

import pytest
from tests.support.engine import World
from tests.support.session import Script, planned, work

from assent.agent.prompt import ReminderContext, reminder
from assent.core.errors import UsageError
from assent.core.event import TrustGiven, TrustRevoked
from assent.core.llm import TextPart
from assent.core.permission.mode import CustomMode
from assent.core.permission.trust import ProjectFile, TrustedFile
from assent.core.session.event import MessageAdded, ModeChanged
from assent.core.session.record import SessionRecord

USER = CustomMode("review", "ask", "Review docs", ("read", "edit"), None, "Be kind.", "user")
REVIEW = CustomMode("review", "ask", "", None, ("docs/**",), "", "project", USER)
PLAN = CustomMode("plan", "plan", edit=("docs/**",), source="project")
GOAL = "Look at the docs"
ASKED = "You may change files; the user is asked before each change."
TOOLS = "Only these tools are available: read, edit."
FILES = "Only these files may change: docs/**. Any other change is denied."


@pytest.fixture
def world(world: World) -> World:
    world.modes = {"review": REVIEW, "plan": PLAN}
    return world


def told(world: World, record: SessionRecord) -> list[str]:
    events = [one.event for one in world.engine().sessions.events(record)]
    parts = [event.parts[0] for event in events if isinstance(event, MessageAdded)]
    return [part.text for part in parts if isinstance(part, TextPart)]


def test_f8_a_session_starts_in_a_mode_of_ones_own_and_the_model_is_told(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "review")
    assert (record.mode, record.custom, record.plan_id) == ("ask", "review", "")
    rules = f"Mode: review (Review docs). {ASKED}\n{FILES}\n{TOOLS}"
    assert told(world, record) == [f"{rules}\nTop level: empty.", GOAL]


def test_f8_a_mode_of_ones_own_that_plans_gets_a_plan(world: World) -> None:
    world.modes = {"think": CustomMode("think", "plan")}
    record = world.engine().sessions.start(GOAL, "think")
    assert (record.mode, record.custom, record.plan_id) == ("plan", "think", "")
    script = Script([("write", {"path": "a.txt", "text": "x"})], "Done.")
    assert work(world, record, script).plan_id


def test_f8_switching_to_it_and_back_is_told_and_stored(world: World) -> None:
    sessions = world.engine().sessions
    record = sessions.start(GOAL, "ask")
    record = sessions.set_mode(record, "review")
    assert (record.mode, record.custom) == ("ask", "review")
    assert sessions.set_mode(record, "review") == record
    back = sessions.set_mode(record, "ask", "enough")
    assert (back.mode, back.custom) == ("ask", "")
    events = [one.event for one in sessions.events(record)]
    changes = [event for event in events if isinstance(event, ModeChanged)]
    assert changes == [ModeChanged("ask", "", "review"), ModeChanged("ask", "enough")]
    first, second = told(world, record)[-2:]
    assert first == (
        "The user switched the mode to review (Review docs). Limits and permissions of earlier "
        f"modes no longer apply. {ASKED}\n{FILES}\n{TOOLS}"
    )
    assert second.startswith("The user switched the mode to ask. Limits and perm")


def test_f9_whatever_narrows_one_of_the_four_is_told_where_nobody_named_it(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "plan")
    assert (record.mode, record.custom) == ("plan", "")
    assert f"\n{FILES}" in told(world, record)[0]


def test_f11_a_name_that_nobody_knows_starts_and_changes_nothing(world: World) -> None:
    sessions = world.engine().sessions
    with pytest.raises(UsageError):
        sessions.start(GOAL, "wild")
    assert sessions.all() == []
    record = sessions.start(GOAL, "ask")
    with pytest.raises(UsageError):
        sessions.set_mode(record, "wild")
    assert sessions.load(record.session) == record


def test_f11_the_model_is_told_of_plan_mode_where_its_mode_is_gone(world: World) -> None:
    record = world.engine().sessions.start(GOAL, "review")
    said = reminder(record, None, ReminderContext(modes={}))
    assert said.startswith(
        "Mode: plan, because review no longer exists. Nothing changes on disk. Writes, and"
    )


def test_f8_a_fork_stays_as_narrow(world: World) -> None:
    sessions = world.engine().sessions
    fork = sessions.fork(sessions.start(GOAL, "review"))
    assert (fork.mode, fork.custom) == ("ask", "review")
    assert told(world, fork)[-1].endswith(f"The mode is ask. {ASKED}\n{FILES}\n{TOOLS}")


def test_trust_is_recorded_in_the_stream_of_the_workspace(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start(GOAL, "ask")
    file = ProjectFile(".opencode/assent.toml", b"x", "1" * 64)
    given = engine.trust_log.give(file, ["runs x"])
    engine.trust_log.revoke(file.path)
    root = str(world.root).encode()
    assert given == TrustedFile(root, file.path, file.content_hash, world.clock.now())
    events = [one.event for one in world.store.read(f"workspace/{record.workspace}")]
    assert events[-2:] == [
        TrustGiven(file.path, file.content_hash, ("runs x",), "tester"),
        TrustRevoked(file.path, "tester"),
    ]
    assert world.engine().sessions.load(record.session) == record  # and the next engine reads on


def test_f8_after_a_build_the_mode_of_before_is_back(world: World) -> None:
    world.modes = {"think": CustomMode("think", "plan", edit=("src/*",))}
    engine = world.engine()
    session = planned(engine, engine.sessions.start(GOAL, "think"))
    plan = engine.plans.write(engine.plans.find(session.plan_id), b"# Rename\n\nRename it.\n")
    plan = engine.approvals.propose(plan)
    plan = engine.approvals.approve(plan, plan.digest, "", "test")
    building = engine.text_plan_builds.start(plan)
    assert (building.session, building.mode, building.custom) == (session.session, "ask", "")
    engine.text_plan_builds.finish(engine.plans.find(plan.plan_id), "done")
    after = engine.sessions.load(session.session)
    assert (after.mode, after.custom) == ("plan", "think")
