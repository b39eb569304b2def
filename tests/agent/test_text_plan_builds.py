"""Plans of prose: one yes, one run by a session's turn, resumed without a second yes, undone."""

import pytest
from tests.runs.test_permits import apply as permit
from tests.runs.test_permits import undo, write
from tests.support.engine import World
from tests.support.session import planned

from assent.agent.session_repository import SessionRepository
from assent.agent.text_plan_builds import BUILD_ENDED, BUILD_RULES, build_contract, plan_steps
from assent.app.engine import Engine
from assent.core.errors import (
    ApprovalUsed,
    DigestMismatch,
    Drift,
    IllegalState,
    NotApproved,
    NotFound,
    PlanTextDiffers,
    RunUnfinished,
)
from assent.core.llm import TextPart
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import drive_to_end
from assent.core.session.event import (
    MessageAdded,
    ModeChanged,
    StepStarted,
    Todo,
    TurnEnded,
    TurnEndReason,
    TurnStarted,
)
from assent.core.session.record import SessionRecord

TEXT = b"""---
scope:
  files: [src/*]
---
# Rename

## Proposed changes

- [ ] Rename the function
- [ ] Change its callers
"""


def approve(world: World, text: bytes = TEXT) -> PlanRecord:
    """Makes a plan of prose and says yes to it."""
    engine = world.engine()
    record = engine.plans.write(engine.plans.new("rename", "names", "Rename it"), text)
    record = engine.approvals.propose(record)
    return engine.approvals.approve(record, record.digest, "", "test")


def said(engine: Engine, session: SessionRecord, about: str = "build") -> list[MessageAdded]:
    events = [one.event for one in engine.sessions.events(session)]
    return [e for e in events if isinstance(e, MessageAdded) and e.synthetic == about]


def begin_turn(world: World, session: SessionRecord) -> SessionRecord:
    """Does what a turn of the build does at its beginning."""
    diary = SessionRepository(world.engine()._ports, session.workspace)
    current = diary.load(session.session)
    building = world.engine().plans.repository().load(current.plan_id).building
    assert building is not None
    begun = TurnStarted(current.turns + 1, building.run)
    return diary.append(current, begun, StepStarted(1, "build", "m", current.mode))[0]


def end_turn(world: World, session: SessionRecord, why: TurnEndReason = "end") -> SessionRecord:
    """Does what a turn's driver would do at its end."""
    diary = SessionRepository(world.engine()._ports, session.workspace)
    begun = diary.load(session.session)
    return diary.append(begun if begun.working else begin_turn(world, begun), TurnEnded(why))[0]


def load(world: World, record: PlanRecord) -> PlanRecord:
    return world.engine().plans.repository().load(record.plan_id)


def test_f68_the_approved_text_becomes_a_contract_with_todos(world: World) -> None:
    record = approve(world)
    engine = world.engine()
    session = engine.text_plan_builds.start(record, "some/model")
    assert session.slug == "names"
    assert session.todos == (Todo("Rename the function"), Todo("Change its callers"))
    (message,) = said(engine, session)
    (part,) = message.parts
    assert isinstance(part, TextPart)
    assert TEXT.decode() in part.text
    assert record.digest in part.text
    assert "Files you may change without asking: src/*." in part.text
    assert "1. Rename the function\n2. Change its callers" in part.text
    assert (message.agent, message.model, session.mode) == ("build", "some/model", "ask")


def test_f51_without_a_choice_the_agents_own_model_is_asked(world: World) -> None:
    engine = world.engine()
    (message,) = said(engine, engine.text_plan_builds.start(approve(world)))
    assert message.model == ""


def test_a_plan_without_declared_files_covers_nothing(world: World) -> None:
    plan = world.engine().plans.repository().plan(approve(world, b"# Only words\n"))
    assert "none: the user is asked about every change" in build_contract(plan, ())
    assert "todo" not in build_contract(plan, ())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"# T\n\n- [x] done\n- [ ] open\n", [("done", "completed"), ("open", "pending")]),
        (b"# T\n\n## Proposed changes\n\n1. One\n2) Two\n\n## Verification\n\n- No\n",
         [("One", "pending"), ("Two", "pending")]),
        (b"# T\n\n- an item elsewhere\n", []),
        (b"# T\n\n## proposed CHANGES\n* Star\n", [("Star", "pending")]),
    ],
)  # fmt: skip
def test_f68_steps_are_check_boxes_or_proposed_changes(
    text: bytes, found: list[tuple[str, str]]
) -> None:
    assert [(todo.content, todo.status) for todo in plan_steps(text)] == found


def test_beginning_spends_the_approval_once(world: World) -> None:
    record = approve(world)
    session = world.engine().text_plan_builds.start(record)
    begun = load(world, record)
    assert begun.state is PlanState.EXECUTING
    assert begun.building is not None
    assert begun.building.session == session.session
    assert begun.unfinished is None
    assert world.engine().runs.unfinished() is None
    assert begun.usable(world.clock.now()) is None
    assert drive_to_end(world.engine().runs.recover()).outcome == "nothing"
    assert load(world, record) == begun


def test_law_3_going_on_needs_no_second_yes(world: World) -> None:
    record = approve(world)
    first = world.engine().text_plan_builds.start(record)
    again = world.engine().text_plan_builds.start(load(world, record))
    assert again == first
    assert len(said(world.engine(), again)) == 1
    end_turn(world, again, "limit")
    assert not world.engine().text_plan_builds.is_over(load(world, record))
    resumed = world.engine().text_plan_builds.start(load(world, record))
    assert resumed.waiting
    assert len(said(world.engine(), resumed)) == 2
    assert len(load(world, record).runs) == 1


def test_a_crash_after_the_yes_was_spent_loses_no_words(world: World) -> None:
    record = approve(world)
    note = world.engine().runs.begin(record.plan_id, _session(world, record).session)
    session = world.engine().text_plan_builds.start(load(world, record))
    assert session.session == note.session
    assert len(said(world.engine(), session)) == 1


def _session(world: World, record: PlanRecord) -> SessionRecord:
    return world.engine().text_plan_builds._session(record)


def test_the_end_completes_the_plan_and_puts_the_mode_back(world: World) -> None:
    engine = world.engine()
    talk = planned(engine, engine.sessions.start("Rename it", "plan"))
    record = engine.plans.repository().load(talk.plan_id)
    record = engine.approvals.propose(engine.plans.write(record, TEXT))
    record = engine.approvals.approve(record, record.digest, "", "test")
    session = engine.text_plan_builds.start(record)
    assert (session.session, session.mode) == (talk.session, "ask")
    changed = [one.event for one in engine.sessions.events(session)]
    assert ModeChanged("ask", f"build of {record.digest}") in changed
    assert not engine.text_plan_builds.is_over(load(world, record))
    end_turn(world, session)
    assert engine.text_plan_builds.is_over(load(world, record))
    ended = engine.text_plan_builds.finish(load(world, record), "done")
    assert (ended.state, ended.building) == (PlanState.COMPLETED, None)
    assert engine.sessions.load(talk.session).mode == "plan"
    assert engine.text_plan_builds.finish(ended, "done") == ended


def test_a_mode_that_the_person_chose_meanwhile_stays(world: World) -> None:
    engine = world.engine()
    talk = planned(engine, engine.sessions.start("Rename it", "plan"))
    record = engine.approvals.propose(
        engine.plans.write(engine.plans.repository().load(talk.plan_id), TEXT)
    )
    record = engine.approvals.approve(record, record.digest, "", "test")
    session = engine.text_plan_builds.start(record)
    engine.sessions.set_mode(session, "yolo")
    engine.text_plan_builds.finish(load(world, record), "done")
    assert engine.sessions.load(talk.session).mode == "yolo"


def test_rolled_back_waits_for_another_yes(world: World) -> None:
    record = approve(world)
    world.engine().text_plan_builds.start(record)
    ended = world.engine().text_plan_builds.finish(load(world, record), "rolled_back")
    assert ended.state is PlanState.AWAITING_APPROVAL
    with pytest.raises(ApprovalUsed):
        world.engine().text_plan_builds.start(ended)


def test_what_a_build_checks_a_beginning_checks_too(world: World) -> None:
    engine = world.engine()
    record = engine.plans.write(engine.plans.new("rename", "names", ""), TEXT)
    proposed = engine.approvals.propose(record)
    with pytest.raises(NotApproved):
        engine.text_plan_builds.start(proposed)
    approved = engine.approvals.approve(proposed, proposed.digest, "", "test")
    path = world.root / approved.path.decode()
    path.write_bytes(b"# Something else\n")
    with pytest.raises(PlanTextDiffers):
        engine.text_plan_builds.start(approved)
    path.write_bytes(TEXT)
    assert engine.text_plan_builds.start(approved).waiting


def test_a_file_that_it_relies_on_must_be_as_it_was(world: World) -> None:
    world.put({"base.txt": b"1\n"})
    record = approve(world, b"---\nrelies_on: [base.txt]\n---\n# Words\n")
    world.put({"base.txt": b"2\n"})
    with pytest.raises(Drift):
        world.engine().text_plan_builds.start(record)
    assert load(world, record).runs == ()


def test_the_executor_does_not_build_prose_nor_a_turn_operations(world: World) -> None:
    prose = approve(world)
    with pytest.raises(IllegalState):
        world.build(prose)
    engine = world.engine()
    assert engine.runs.is_text_plan(prose)
    operations = world.approve({"a.txt": b"a\n"})
    assert not world.engine().runs.is_text_plan(operations)
    with pytest.raises(IllegalState):
        world.engine().runs.begin(operations.plan_id, "s1")
    with pytest.raises(DigestMismatch):
        world.engine().runs.begin(prose.plan_id, "s1", operations.digest)
    with pytest.raises(DigestMismatch):
        world.engine().text_plan_builds.check(prose, operations.digest)
    assert load(world, prose).runs == ()


def build_with_edits(world: World) -> PlanRecord:
    """Carries a plan out by two edits of one file and a new one."""
    world.put({"src/a.py": b"0\n"})
    record = approve(world)
    engine = world.engine()
    session = begin_turn(world, engine.text_plan_builds.start(record))
    for n, edit in enumerate(
        [
            write("src/a.py", b"0\n", b"1\n"),
            write("src/b.py", None, b"b\n"),
            write("src/a.py", b"1\n", b"2\n"),
        ]
    ):
        engine.permits.apply(session, f"c{n}", edit, "scope", f"plan {record.digest}")
    end_turn(world, session)
    return record


def test_f68_the_report_names_the_changes_and_the_steps_left(world: World) -> None:
    record = load(world, build_with_edits(world))
    building = world.engine().text_plan_builds
    report = building.report(record)
    assert report.outcome == "done"
    assert [result for _, result in report.operations] == ["done", "done"]
    assert report.left == ("Rename the function", "Change its callers")
    undone = building.report(record, kept=False)
    assert undone.outcome == "rolled_back"
    assert [result for _, result in undone.operations] == ["undone", "undone"]


def test_a_build_without_a_change_did_nothing_and_completes_the_plan(world: World) -> None:
    record = approve(world)
    engine = world.engine()
    end_turn(world, engine.text_plan_builds.start(record))
    report = engine.text_plan_builds.report(load(world, record))
    assert (report.outcome, report.operations) == ("nothing", ())
    ended = engine.text_plan_builds.finish(load(world, record), report.outcome)
    assert (ended.state, ended.runs[-1].outcome) == (PlanState.COMPLETED, "nothing")
    with pytest.raises(NotFound):
        engine.undo.preview()


def test_a_build_neutralises_what_was_said_about_planning(world: World) -> None:
    """The session was told that nothing changes on disk; nobody switched its mode but the build."""
    engine = world.engine()
    talk = planned(engine, engine.sessions.start("Rename it", "plan"))
    plan = engine.plans.write(engine.plans.repository().load(talk.plan_id), TEXT)
    record = engine.approvals.propose(plan)
    record = engine.approvals.approve(record, record.digest, "", "test")
    session = engine.text_plan_builds.start(record)
    (message,) = said(engine, session)
    assert isinstance(message.parts[0], TextPart)
    assert BUILD_RULES in message.parts[0].text
    end_turn(world, session)
    engine.text_plan_builds.finish(load(world, record), "nothing")
    (back,) = said(engine, session, "mode")
    assert isinstance(back.parts[0], TextPart)
    assert back.parts[0].text.startswith(BUILD_ENDED)
    assert "The user switched" not in back.parts[0].text


def test_undo_takes_the_whole_build_back(world: World) -> None:
    record = build_with_edits(world)
    engine = world.engine()
    assert load(world, record).building is not None
    engine.text_plan_builds.finish(load(world, record), "done")
    run = load(world, record).runs[-1].run
    preview = engine.undo.preview()
    assert (preview.run, preview.source.plan_id) == (run, record.plan_id)
    assert undo(engine).outcome == "done"
    assert world.files() == {"src/a.py": b"0\n"}


def test_work_outside_the_build_is_another_turn(world: World) -> None:
    record = build_with_edits(world)
    engine = world.engine()
    engine.text_plan_builds.finish(load(world, record), "done")
    permit(engine, write("other.txt", None, b"o\n"))
    assert undo(engine).outcome == "done"
    assert world.files() == {"src/a.py": b"2\n", "src/b.py": b"b\n"}
    assert undo(engine).outcome == "done"
    assert world.files() == {"src/a.py": b"0\n"}


def test_a_build_that_goes_on_is_not_what_undo_means(world: World) -> None:
    permit(world.engine(), write("other.txt", None, b"o\n"))
    record = build_with_edits(world)
    note = load(world, record).building
    assert note is not None
    assert world.engine().undo.preview().run != note.run
    assert world.engine().undo.preview(note.run).run == note.run


def test_what_only_an_unended_build_changed_is_taken_back_with_it(world: World) -> None:
    build_with_edits(world)
    with pytest.raises(RunUnfinished) as told:
        world.engine().undo.preview()
    assert told.value.next == "assent recover --roll-back"
    assert "plan rename" in told.value.message
