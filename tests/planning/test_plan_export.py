"""`plan.export`: a plan's own text as an operation that is shown, approved and undone."""

import pytest
from tests.agent.test_text_plan_builds import approve, load
from tests.runs.test_permits import undo
from tests.support.engine import World

from assent.core.errors import AssentError, IllegalState, ImpossibleOperations, NotApproved, Refused
from assent.core.plan.operation import WriteFile
from assent.core.plan.record import PlanRecord, PlanState

TEXT = b"# A plan\n\nWords.\n"


def propose(world: World, text: bytes = TEXT, files: dict[str, bytes] | None = None) -> PlanRecord:
    engine = world.engine()
    record = engine.plans.write(engine.plans.new("work", "tests", ""), text)
    for path, content in (files or {}).items():
        record = engine.drafts.write(record, path.encode(), [content], None).record
    return engine.approvals.propose(record)


def exported(world: World, record: PlanRecord) -> list[bytes]:
    plan = world.engine().plans.repository().plan(record)
    writes = [op for op in plan.operations if isinstance(op, WriteFile)]
    return [op.path for op in writes if op.after.digest == plan.content_hash]


def test_the_text_is_an_operation_like_any_other(world: World) -> None:
    world.export = b"docs/PLAN.md"
    record = propose(world, files={"a.txt": b"a\n"})
    assert exported(world, record) == [b"docs/PLAN.md"]
    review = world.engine().reviews.review(record)
    shown = [one.diff or "" for one in review.operations]
    assert any("+# A plan" in diff for diff in shown)
    approved = world.engine().approvals.approve(record, record.digest, "", "test")
    assert world.build(approved).outcome == "done"
    assert world.files() == {"a.txt": b"a\n", "docs/PLAN.md": TEXT}
    assert undo(world.engine()).outcome == "done"
    assert world.files() == {}


def test_the_draft_never_holds_it_so_it_is_not_doubled(world: World) -> None:
    world.export = b"PLAN.md"
    record = propose(world, files={"a.txt": b"a\n"})
    engine = world.engine()
    assert len(engine.plans.operations(record)) == 1
    revised = engine.approvals.propose(engine.plans.write(record, b"# Other words\n"))
    plan = engine.plans.repository().plan(revised)
    assert len(plan.operations) == 2
    assert exported(world, revised) == [b"PLAN.md"]


def test_it_replaces_what_stands_or_was_staged_there(world: World) -> None:
    world.export = b"PLAN.md"
    world.put({"PLAN.md": b"the last plan\n"})
    record = propose(world, files={"PLAN.md": b"staged by hand\n"})
    (op,) = world.engine().plans.repository().plan(record).operations
    assert isinstance(op, WriteFile)
    assert op.before is not None
    assert world.blobs.read(op.before.digest) == b"the last plan\n"
    assert world.blobs.read(op.after.digest) == TEXT


def test_a_file_that_has_the_text_already_needs_no_operation(world: World) -> None:
    world.export = b"PLAN.md"
    world.put({"PLAN.md": TEXT})
    assert exported(world, propose(world)) == []


def test_without_the_setting_there_is_none(world: World) -> None:
    assert exported(world, propose(world)) == []


@pytest.mark.parametrize(
    "path", [b"../PLAN.md", b"/tmp/PLAN.md", b".git/PLAN.md", b".opencode/plans/PLAN.md",
             b".opencode/assent/PLAN.md", b"."],
)  # fmt: skip
def test_a_path_that_no_plan_may_touch_is_refused(world: World, path: bytes) -> None:
    world.export = path
    with pytest.raises(Refused):
        propose(world)


def test_a_folder_cannot_be_replaced(world: World) -> None:
    world.export = b"docs"
    world.put({"docs/a.txt": b"a\n"})
    with pytest.raises(ImpossibleOperations):
        propose(world)


def test_a_symlinked_folder_is_never_followed(world: World) -> None:
    world.export = b"door/PLAN.md"
    outside = world.root.parent / "outside"
    outside.mkdir()
    (world.root / "door").symlink_to(outside)
    with pytest.raises(AssentError):
        propose(world)


def test_an_export_alone_leaves_a_plan_of_prose_what_it_is(world: World) -> None:
    """The export comes first, in the same run; then the session's turn begins."""
    world.export = b"PLAN.md"
    record = approve(world, TEXT)
    engine = world.engine()
    assert engine.runs.is_text_plan(record)
    engine.text_plan_builds.start(record)
    assert world.files() == {"PLAN.md": TEXT}
    (run,) = engine.plans.repository().permit_runs()
    note = load(world, record).building
    assert note is not None
    assert (run.permit.source, run.permit.build) == ("scope", note.run)
    engine.text_plan_builds.start(load(world, record))
    assert len(engine.plans.repository().permit_runs()) == 1
    assert engine.text_plan_builds.finish(load(world, record), "done").state is PlanState.COMPLETED
    assert undo(engine).outcome == "done"
    assert world.files() == {}


@pytest.mark.parametrize(("export", "path"), [(b"", "notes.md"), (b"PLAN.md", "notes.md")])
def test_a_staged_write_of_the_own_text_is_no_export(
    world: World, export: bytes, path: str
) -> None:
    """Else whoever plans could turn operations that a person sees into a free build by a model."""
    world.export = export
    text = b'---\nscope: {files: ["*"]}\n---\n# Notes\n'
    record = propose(world, text, {path: text})
    engine = world.engine()
    assert not engine.runs.is_text_plan(record)
    assert engine.reviews.review(record).risks == ("no_verification", "no_steps")
    approved = engine.approvals.approve(record, record.digest, "", "test")
    with pytest.raises(IllegalState):
        engine.text_plan_builds.start(approved)
    assert world.build(approved).outcome == "done"
    assert world.files()[path] == text


def test_what_is_staged_where_the_export_goes_stays_an_operation(world: World) -> None:
    world.export = b"PLAN.md"
    record = propose(world, files={"PLAN.md": TEXT})
    assert not world.engine().runs.is_text_plan(record)
    assert world.build(
        world.engine().approvals.approve(record, record.digest, "", "t")
    ).outcome == ("done")


@pytest.mark.parametrize(("before", "after"), [(b"", b"PLAN.md"), (b"PLAN.md", b"")])
def test_another_setting_later_changes_nothing_about_a_frozen_plan(
    world: World, before: bytes, after: bytes
) -> None:
    world.export = before
    record = propose(world, files={} if before else {"PLAN.md": TEXT})
    world.export = after
    engine = world.engine()
    assert engine.runs.is_text_plan(record) == bool(before)
    approved = engine.approvals.approve(record, record.digest, "", "test")
    with pytest.raises(IllegalState):
        world.build(approved) if before else engine.text_plan_builds.start(approved)


def test_law_2_exported_and_staged_have_different_digests(world: World) -> None:
    """The same bytes are written; who writes the rest is another matter, and another yes."""
    staged = propose(world, files={"PLAN.md": TEXT})
    engine = world.engine()
    engine.approvals.approve(staged, staged.digest, "", "test")
    world.export = b"PLAN.md"
    engine = world.engine()
    drafted = engine.drafts.clear(engine.plans.find(staged.plan_id)).record
    exported_one = engine.approvals.propose(drafted)
    assert exported_one.digest != staged.digest
    with pytest.raises(NotApproved):
        engine.text_plan_builds.start(exported_one)


def test_an_undo_plan_exports_nothing(world: World) -> None:
    record = propose(world, files={"a.txt": b"a\n"})
    world.build(world.engine().approvals.approve(record, record.digest, "", "test"))
    world.export = b"PLAN.md"
    assert undo(world.engine()).outcome == "done"
    assert world.files() == {}
