"""Rebasing: what it merges is what git merges, and nobody's change gets lost in a race."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.agent.test_plan_updates import GOAL, next_turn, write
from tests.core.states import applied
from tests.planning.test_patches import Bench
from tests.support.engine import RacingStore, World
from tests.support.file_trees import Entries, changed, laid, lay, states, stories
from tests.support.session import told, turn

from assent.core.errors import ConcurrentChange, Drift
from assent.core.event import PlanRebased
from assent.core.plan.operation import MoveFile, footprint
from assent.core.plan.rebase import three_way_merge
from assent.core.run.journal import drive_to_end
from assent.workspace.source_folder import LocalSourceFolder

TEXT = b"".join(b"line %d\n" % n for n in range(1, 31))
OURS = TEXT.replace(b"line 10\n", b"ours\n")
THEIRS = TEXT.replace(b"line 25\n", b"theirs\n")
BOTH = OURS.replace(b"line 25\n", b"theirs\n")

edits = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 3), st.lists(st.sampled_from("xyz"), max_size=2)),
    max_size=3,
)


def edited(lines: list[str], changes: list[tuple[int, int, list[str]]]) -> bytes:
    for at, count, put in changes:
        lines = [*lines[:at], *put, *lines[at + count :]]
    return "".join(f"{line}\n" for line in lines).encode()


def git_merged(folder: Path, texts: list[bytes]) -> tuple[int, bytes]:
    """What git makes of ours, the base and theirs."""
    for name, text in zip("abc", texts, strict=True):
        (folder / name).write_bytes(text)
    done = subprocess.run(
        ["git", "merge-file", "-p", "a", "b", "c"], cwd=folder, capture_output=True, check=False
    )
    return done.returncode, done.stdout


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(edits, edits)
def test_g8_what_it_merges_git_merges_too(
    tmp_path_factory: pytest.TempPathFactory,
    ours: list[tuple[int, int, list[str]]],
    theirs: list[tuple[int, int, list[str]]],
) -> None:
    folder = tmp_path_factory.getbasetemp()
    lines = [str(n) for n in range(30)]
    texts = [edited(lines, ours), edited(lines, []), edited(lines, theirs)]
    found = three_way_merge(texts[1], texts[0], texts[2])
    if not isinstance(found, bytes):
        return
    assert git_merged(folder, texts) == (0, found)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sets(st.integers(0, 29), min_size=1, max_size=3), st.integers(0, 29), st.integers(0, 29))
def test_g8_lines_that_were_only_moved_are_not_gone(
    tmp_path_factory: pytest.TempPathFactory, removed: set[int], moved: int, to: int
) -> None:
    lines = [str(n) for n in range(30)]
    ours = [line for n, line in enumerate(lines) if n not in removed]
    theirs = [line for n, line in enumerate(lines) if n != moved]
    theirs.insert(to, lines[moved])
    texts = [edited(each, []) for each in (ours, lines, theirs)]
    found = three_way_merge(texts[1], texts[0], texts[2])
    if isinstance(found, bytes):
        assert not set(found.split()).intersection(lines[n].encode() for n in removed)
        assert git_merged(tmp_path_factory.getbasetemp(), texts) == (0, found)


def drifted(world: World) -> None:
    world.put({"f": TEXT})
    world.approve({"f": OURS})
    world.put({"f": THEIRS})


def test_g8_the_merged_content_is_kept_and_built(world: World) -> None:
    drifted(world)
    engine = world.engine()
    record = engine.rebaser.apply(engine.rebaser.preview(engine.plans.find()))
    assert engine.approvals.is_approved(record) is False
    approved = engine.approvals.approve(record, record.digest, "", "test")
    assert world.build(approved).outcome == "done"
    assert world.files()["f"] == BOTH


def test_g8_a_plan_that_others_changed_meanwhile_is_not_rebased(world: World) -> None:
    drifted(world)

    def act() -> None:
        engine = world.engine()
        engine.approvals.reject(engine.plans.find(), "No.")

    engine = world.engine(RacingStore(world.store, PlanRebased, act))
    with pytest.raises(ConcurrentChange):
        engine.rebaser.apply(engine.rebaser.preview(engine.plans.find()))
    assert "PlanRebased" not in world.kinds()


def test_g8_files_that_change_meanwhile_refuse_it(world: World) -> None:
    drifted(world)
    engine = world.engine()
    preview = engine.rebaser.preview(engine.plans.find())
    world.put({"f": TEXT + b"more\n"})
    with pytest.raises(Drift):
        engine.rebaser.apply(preview)
    assert "PlanRebased" not in world.kinds()


def test_g8_the_live_text_is_taken_in_as_by_propose(world: World) -> None:
    drifted(world)
    engine = world.engine()
    record = engine.plans.find()
    preview = engine.rebaser.preview(record)
    live = Path(world.root, record.path.decode())
    live.write_bytes(b"# Another text\n")
    with pytest.raises(Drift, match="changed during the rebase"):
        engine.rebaser.apply(preview)
    after = engine.rebaser.apply(engine.rebaser.preview(record))
    assert engine.plans.repository().plan(after).text == b"# Another text\n"
    engine.plans.check_live(after)
    live.write_bytes(b"# A third text\n")
    count = world.kinds().count("PlanRebased")
    engine.rebaser.apply(engine.rebaser.preview(after))
    assert world.kinds()[-1] == "PlanProposed"
    assert world.kinds().count("PlanRebased") == count


@pytest.mark.parametrize("now", [THEIRS, BOTH], ids=["merged", "there already"])
def test_g8_the_model_is_told_and_takes_it_for_no_refusal(world: World, now: bytes) -> None:
    world.put({"f": TEXT})
    record = turn(world, GOAL, [write("a"), write("f", OURS.decode())], "Well?")
    world.put({"f": now})
    engine = world.engine()
    engine.rebaser.apply(engine.rebaser.preview(engine.plans.find()))
    record, read = next_turn(world, record)
    [words] = told(world, record, "rebased")
    assert words.splitlines()[1:] == ["- f"]
    assert words in read
    assert told(world, record, "declined") == told(world, record, "staged") == []


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(stories(), st.data())
def test_g8_whatever_happened_a_rebased_plan_can_be_built_and_undone(
    tmp_path_factory: pytest.TempPathFactory, story: tuple[Entries, Entries], data: st.DataObject
) -> None:
    before, after = story
    world = World(tmp_path_factory.mktemp("any"))
    drifted = data.draw(changed(before))
    bench = Bench(world)
    lay(world.root.parent / "copy", after)
    bench.compare(before, LocalSourceFolder(os.fsencode(world.root.parent / "copy")))
    written = bench.engine.plans.write(bench.engine.plans.find(), b"# Work\n\nChange it.\n")
    record = bench.engine.approvals.propose(written)
    lay(world.root, drifted)
    try:
        preview = bench.engine.rebaser.preview(record)
    except Drift:
        return
    rebased = bench.engine.rebaser.apply(preview)
    assert laid(world.root) == drifted
    if preview.is_empty:  # it says that all is there: then it is
        assert rebased == record
        touched = {path for op in bench.operations() for path, *_ in footprint(op)}
        assert {path: drifted.get(path) for path in touched} == {p: after.get(p) for p in touched}
        return
    record = rebased
    operations = bench.operations()
    expected = applied(states(drifted), operations)
    approved = bench.engine.approvals.approve(record, record.digest, "", "test")
    if not operations:
        return
    assert world.build(approved).outcome == "done"
    assert states(laid(world.root)) == expected
    moved = {op.to for op in operations if isinstance(op, MoveFile)}  # as they are now
    for path in (before.keys() | after.keys()) - moved:
        if drifted.get(path) == before.get(path):  # where nobody else was, it is as it was meant
            assert expected.get(path) == states(after).get(path)
    engine = world.engine()
    assert drive_to_end(engine.undo.apply(engine.undo.preview(), "test")).outcome == "done"
    assert laid(world.root) == drifted
