"""A build of prose is its own turns: others neither end it, nor use its scope, nor join it."""

import msgspec
import pytest
from tests.agent.test_text_plan_builds import TEXT, approve, begin_turn, end_turn, load, said
from tests.runs.test_permits import write as edit
from tests.support.engine import World
from tests.support.session import TOOLS, Person, Script, results, tooling, turn

from assent.agent.services import ToolEnvironment
from assent.app.engine import Engine
from assent.core.errors import ApprovalUsed, Busy, IllegalState, InvalidPlan, PlanTextDiffers
from assent.core.permission.rule import PermissionPolicy
from assent.core.plan.operation import footprint
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import TurnEnded, TurnStarted
from assent.core.session.record import SessionRecord
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.gate import RuleGate
from assent.store.locks import FileLocks
from assent.tools.dispatcher import ToolDispatcher

WRITES = [("write", {"path": "src/b.py", "text": "b\n"})]
EXCLUDES = '---\nscope:\n  files: ["*", "!secret.py"]\n---\n# Words\n'


def gated(person: Person | None = None) -> ToolEnvironment:
    """Tools behind the real gate."""
    tools, gate = tooling(person), RuleGate(PermissionPolicy(), classify_command_line)
    box = ToolDispatcher(TOOLS, gate, suggest=True)
    return msgspec.structs.replace(tools, gate=gate, dispatcher=box)


def killed(world: World) -> tuple[PlanRecord, SessionRecord]:
    """A build whose process died after its first change."""
    engine = world.engine()
    record = approve(world)
    session = begin_turn(world, engine.text_plan_builds.start(record))
    engine.permits.apply(session, "c1", edit("src/a.py", None, b"a\n"), "scope", "plan")
    return load(world, record), session


def talk(world: World, session: SessionRecord, script: Script, person: Person | None = None) -> str:
    """Says something in the session, as `-c` does, and lets the model answer."""
    engine = world.engine()
    session = engine.sessions.say(session, "Something else entirely")
    for _ in engine.sessions.work(session, script, gated(person)):
        pass
    return results(world, session)[-1].text if results(world, session) else ""


def go_on(engine: Engine, plan: PlanRecord, script: Script) -> None:
    """Takes a build one turn forward."""
    with engine.text_plan_builds.locked(plan) as current:
        engine.text_plan_builds.start(current)
        for _ in engine.text_plan_builds.work(current, script, gated()):
            pass


def test_the_end_of_another_turn_is_not_the_end_of_the_build(world: World) -> None:
    plan, session = killed(world)
    talk(world, session, Script("I stopped in the middle."))
    engine = world.engine()
    assert not engine.text_plan_builds.is_over(plan)
    engine.text_plan_builds.start(plan)
    assert len(said(engine, session)) == 2
    go_on(engine, plan, Script(WRITES, "All done."))
    assert engine.text_plan_builds.is_over(plan)
    assert len(said(engine, session)) == 2
    assert world.files() == {"src/a.py": b"a\n", "src/b.py": b"b\n"}


def test_words_that_nobody_read_do_not_stand_in_for_the_build(world: World) -> None:
    plan, session = killed(world)
    world.engine().sessions.say(session, "Something else entirely", agent="plan")
    assert world.engine().text_plan_builds.start(plan).agent == "build"
    assert world.engine().text_plan_builds.start(plan).agent == "build"
    assert len(said(world.engine(), session)) == 2


def test_in_another_turn_the_mode_decides_not_the_scope(world: World) -> None:
    plan, session = killed(world)
    assert "no one was available" in talk(world, session, Script(WRITES, "No?"))
    assert world.files() == {"src/a.py": b"a\n"}
    go_on(world.engine(), plan, Script(WRITES, "All done."))
    assert world.files() == {"src/a.py": b"a\n", "src/b.py": b"b\n"}


def test_what_another_turn_changes_is_not_part_of_the_build(world: World) -> None:
    plan, session = killed(world)
    talk(world, session, Script(WRITES, "Fine."), Person((("Yes",),)))
    assert world.files() == {"src/a.py": b"a\n", "src/b.py": b"b\n"}
    engine = world.engine()
    report = engine.text_plan_builds.report(plan)
    assert [path for op in report.about for path, *_ in footprint(op)] == [b"src/a.py"]
    builds = [one.permit.build for one in engine.plans.repository().permit_runs()]
    assert builds == [report.run, ""]


def test_the_events_of_a_build_are_those_of_its_turns(world: World) -> None:
    plan, session = killed(world)
    talk(world, session, Script("Hm."))
    go_on(world.engine(), plan, Script("All done."))
    assert plan.building is not None
    run = plan.building.run
    found = world.engine().text_plan_builds.events(plan)
    turns = [event for event in found if isinstance(event, TurnStarted | TurnEnded)]
    assert turns == [
        TurnStarted(1, run),
        TurnEnded("interrupted", "Its process ended."),
        TurnStarted(3, run),
        TurnEnded("end"),
    ]


def test_who_says_build_again_means_it_whatever_the_mode_became(world: World) -> None:
    plan, session = killed(world)
    engine = world.engine()
    engine.sessions.set_mode(session, "plan")
    assert engine.text_plan_builds.start(plan).mode == "ask"
    engine.text_plan_builds.finish(plan, "done")
    assert engine.sessions.load(session.session).mode == "plan"


def test_a_session_that_left_the_plan_comes_back_to_it(world: World) -> None:
    plan, session = killed(world)
    engine = world.engine()
    engine.plans.use(engine.plans.new("other", "names", "").plan_id)
    talk(world, session, Script("Hm."))
    assert engine.sessions.load(session.session).plan_id != plan.plan_id
    go_on(engine, plan, Script(WRITES, "All done."))
    assert (world.root / "src/b.py").read_bytes() == b"b\n"


def test_one_at_a_time_is_at_a_build(world: World) -> None:
    plan, session = killed(world)
    world.locks = FileLocks(world.root.parent / "locks", patience=0)
    with world.engine().text_plan_builds.locked(plan):
        with pytest.raises(Busy, match="rename is being built elsewhere") as told:
            world.engine().text_plan_builds.locked(plan).__enter__()
        assert told.value.next.startswith("ps -fp ")
        with pytest.raises(Busy):
            talk(world, session, Script("in vain"))
    with world.engine().text_plan_builds.locked(plan) as current:
        assert current == plan


def test_who_comes_after_the_end_is_told_so(world: World) -> None:
    plan, session = killed(world)
    approved = msgspec.structs.replace(plan, runs=())  # as a process saw it before the build
    end_turn(world, session)
    engine = world.engine()
    engine.text_plan_builds.finish(plan, "done")
    ended = rf"The build of plan rename \(run {plan.building.run}\) has ended"
    with pytest.raises(IllegalState, match=ended), engine.text_plan_builds.locked(plan):
        pass
    with pytest.raises(IllegalState, match=ended):
        engine.text_plan_builds.report(load(world, plan))
    with engine.text_plan_builds.locked(approved) as current, pytest.raises(ApprovalUsed):
        engine.text_plan_builds.start(current)


def test_two_who_begin_at_once_have_one_session(world: World) -> None:
    record = approve(world)
    first, second = world.engine(), world.engine()
    with first.text_plan_builds.locked(record), second.text_plan_builds.locked(record) as current:
        begun = first.text_plan_builds.start(record)
        assert second.text_plan_builds.start(current) == begun
    assert len(world.engine().sessions.all()) == 1


def test_law_4_a_file_that_differs_stops_a_build_that_goes_on(world: World) -> None:
    plan, _ = killed(world)
    path = world.root / plan.path.decode()
    path.write_bytes(TEXT.replace(b"src/*", b"*"))
    with pytest.raises(PlanTextDiffers) as told:
        world.engine().text_plan_builds.start(plan)
    assert told.value.next == "assent diff --live"
    path.write_bytes(TEXT)
    assert world.engine().text_plan_builds.start(plan).working


def test_a_discarded_plan_names_a_way_on(world: World) -> None:
    record = approve(world)
    (gone,) = world.engine().plans.delete([record])
    assert gone.state is PlanState.DISCARDED
    with pytest.raises(IllegalState) as told:
        world.engine().text_plan_builds.check(gone)
    assert told.value.next == "assent plan list"


def test_a_scope_that_excludes_is_refused(world: World) -> None:
    with pytest.raises(InvalidPlan, match="cannot exclude anything"):
        approve(world, EXCLUDES.encode())
    record = turn(world, "Words", [("write_plan", {"text": EXCLUDES}), ("present_plan", {})], "No?")
    told = results(world, record)[-1]
    assert told.failed
    assert "'!secret.py'" in told.text
