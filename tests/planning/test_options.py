"""Options: several plans to choose from; approving one and discarding the others is one record."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.engine import PassedOn, RacingStore, World

from assent.core.errors import AssentError, ConcurrentChange, IllegalState, InvalidPlan, StoreError
from assent.core.event import (
    OptionChosen,
    PlanApproved,
    PlanCreated,
    PlanProposed,
    StoredEvent,
)
from assent.core.plan.comment import Feedback
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import drive_to_end
from assent.ports import EventBatch

LABELS = ("Short", "Long")


def draft(world: World, label: str, options: str = "", content: bytes = b"") -> PlanRecord:
    engine = world.engine()
    record = engine.plans.new(label.lower(), "tests", "A goal", label, options)
    record = engine.plans.write(record, f"# {label}\n\nWrite it.\n".encode())
    return engine.drafts.write(record, b"a.txt", [content or label.encode()], None).record


def present(world: World, *labels: str) -> list[PlanRecord]:
    """Drafts options and proposes all of them."""
    first = draft(world, labels[0])
    rest = [draft(world, label, first.options) for label in labels[1:]]
    return world.engine().approvals.propose_options([first, *rest])


def approve(world: World, record: PlanRecord) -> PlanRecord:
    return world.engine().approvals.approve(record, record.digest, "", "test")


def states(world: World, records: list[PlanRecord]) -> list[str]:
    repository = world.engine().plans.repository()
    return [str(repository.load(one.plan_id).state) for one in records]


def test_g22_options_share_an_id_and_each_is_a_frozen_plan_of_its_own(world: World) -> None:
    short, long = present(world, *LABELS)
    assert (short.options, long.options) == (short.plan_id, short.plan_id)
    assert [short.option, long.option] == list(LABELS)
    assert short.digest != long.digest
    engine = world.engine()
    assert [r.option for r in engine.plans.presented_options(long)] == list(LABELS)
    assert engine.plans.repository().plan(short).text == b"# Short\n\nWrite it.\n"


def test_the_label_is_not_part_of_the_digest(world: World) -> None:
    """What is approved is text and operations; a label only helps to tell options apart."""
    short = present(world, *LABELS)[0]
    plain = world.engine().plans.new("plain", "tests", "A goal")
    plain = world.engine().plans.write(plain, b"# Short\n\nWrite it.\n")
    plain = world.engine().drafts.write(plain, b"a.txt", [b"Short"], None).record
    assert world.engine().approvals.propose(plain).digest == short.digest


def test_options_are_proposed_all_or_none(world: World) -> None:
    first, same = draft(world, "Short", content=b"x"), draft(world, "Other", content=b"x")
    engine = world.engine()
    same = engine.plans.write(same, b"# Short\n\nWrite it.\n")
    with pytest.raises(InvalidPlan, match="the same plan"):
        engine.approvals.propose_options([first, same])
    world.put({"a.txt": b"in the way"})
    with pytest.raises(AssentError):
        engine.approvals.propose_options([first, draft(world, "Long", first.options)])
    assert not any(isinstance(one.event, PlanProposed) for one in world.store.read_all(["plan/"]))


def test_g22_approving_one_discards_the_others_in_the_same_record(world: World) -> None:
    options = present(world, "Short", "Long", "Other")
    before = world.store.last()
    approved = approve(world, options[1])
    assert states(world, options) == ["DISCARDED", "AWAITING_APPROVAL", "DISCARDED"]
    assert world.engine().approvals.is_approved(approved)
    later = world.store.read_all(["plan/", "options/"], before)
    assert {one.at for one in later} == {later[0].at}
    (chosen,) = [one.event for one in later if isinstance(one.event, OptionChosen)]
    assert chosen.discarded == (options[0].plan_id, options[2].plan_id)
    files = [p.name for p in (world.root / ".opencode/plans").rglob("*.md")]
    assert files == ["PLAN_long.md"]
    assert world.engine().plans.presented_options(approved) == []
    assert drive_to_end(world.engine().runs.build(approved.plan_id)).outcome == "done"
    assert world.files() == {"a.txt": b"Long"}


class OnlyOnce(PassedOn):
    """A store whose disk is full when an option is chosen; counts what it was given at once."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self.together: list[list[str]] = []

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        names = [type(event).__name__ for batch in batches for event in batch.events]
        self.together.append(names)
        if "PlanApproved" in names or "PlanDiscarded" in names:
            raise StoreError("The disk is full.")
        return super().append(*batches)


def test_g22_no_state_has_one_approved_and_another_still_waiting(world: World) -> None:
    """There is one append, which the log takes as a whole or not at all."""
    options = present(world, *LABELS)
    store = OnlyOnce(world)
    with pytest.raises(StoreError):
        world.engine(store).approvals.approve(options[0], options[0].digest, "", "test")
    assert store.together == [["PlanApproved", "PlanDiscarded", "OptionChosen"]]
    assert states(world, options) == ["AWAITING_APPROVAL"] * 2
    assert not world.engine().approvals.is_approved(options[0])
    assert len([*(world.root / ".opencode/plans").rglob("*.md")]) == 2


def test_g22_a_discarded_option_can_never_be_approved(world: World) -> None:
    short, long = present(world, *LABELS)
    approve(world, short)
    for verb in (
        lambda: approve(world, long),
        lambda: world.engine().partial_approvals.preview(long, ["1"]),
    ):
        with pytest.raises(AssentError):
            verb()
    with pytest.raises(IllegalState, match="Option Short was approved"):
        approve(world, long)
    engine = world.engine()
    gone = engine.plans.repository().load(long.plan_id)
    (world.root / long.path.decode()).write_bytes(engine.plans.text(gone.content_hash))
    with pytest.raises(IllegalState):
        engine.approvals.propose(gone)


def test_g22_of_two_who_approve_different_options_at_once_one_wins(world: World) -> None:
    short, long = present(world, *LABELS)
    racing = RacingStore(world.store, PlanApproved, lambda: approve(world, long))
    with pytest.raises(ConcurrentChange, match="Option Long was approved") as refused:
        world.engine(racing).approvals.approve(short, short.digest, "", "test")
    assert refused.value.exit == 5
    assert states(world, [short, long]) == ["DISCARDED", "AWAITING_APPROVAL"]


class ActsBetweenReads(PassedOn):
    """A store where somebody else acts just before the n-th read of one process."""

    def __init__(self, world: World, wanted: int, act: Callable[[], object]) -> None:
        super().__init__(world.store)
        self.reads = 0
        self._wanted = wanted
        self._act = act

    def read(self, stream: str, after: int = 0) -> list[StoredEvent]:
        self.reads += 1
        if self.reads == self._wanted:
            self._act()
        return super().read(stream, after)


def refused(act: Callable[[], object]) -> str:
    """Returns why something was refused; nothing if it was not."""
    try:
        act()
    except AssentError as error:
        return error.message
    return ""


def race(base: Path, at: int) -> int:
    """Lets another one approve the other option before a read; returns how many reads there are."""
    world, theirs = World(base), list[str]()
    short, long = present(world, *LABELS)

    def other() -> None:
        theirs.append(refused(lambda: approve(world, long)))

    store = ActsBetweenReads(world, at, other)
    engine = world.engine(store)
    ours = refused(lambda: engine.approvals.approve(short, short.digest, "", "test"))
    if not theirs:
        other()
    won = "Short" if not ours else "Long"
    lost = "Long" if not ours else "Short"
    (message,) = filter(None, [ours, *theirs])
    assert f"Option {won} was approved, so option {lost} was discarded" in message
    kept = "AWAITING_APPROVAL", "DISCARDED"
    assert tuple(states(world, [short, long])) == (kept if not ours else kept[::-1])
    return store.reads


def test_g22_one_wins_wherever_the_other_comes_in_between(tmp_path: Path) -> None:
    bases = [tmp_path / str(number) for number in range(100)]
    for base in bases:
        base.mkdir()
    reads = race(bases[0], 1_000)
    assert reads > 8
    for at in range(1, reads + 1):
        race(bases[at], at)


def test_g22_who_comes_too_late_reads_which_option_was_approved(world: World) -> None:
    """Also if the plan was read before, and its file is gone since."""
    short, long = present(world, *LABELS)
    approve(world, long)
    with pytest.raises(IllegalState, match="Option Long was approved, so option Short"):
        world.engine().approvals.check_live(short)


def revise(world: World, record: PlanRecord) -> Callable[[], object]:
    def act() -> object:
        return world.engine().drafts.write(record, b"b.txt", [b"b"], None)

    return act


def test_a_change_of_another_option_does_not_keep_one_from_being_approved(world: World) -> None:
    short, long = present(world, *LABELS)
    racing = RacingStore(world.store, PlanApproved, revise(world, long))
    world.engine(racing).approvals.approve(short, short.digest, "", "test")
    assert states(world, [short, long]) == ["AWAITING_APPROVAL", "DISCARDED"]


def test_no_option_is_added_to_a_choice_that_was_made(world: World) -> None:
    """Neither later nor at the same moment: both write to the record of the choice."""
    short, long = present(world, *LABELS)
    racing = RacingStore(world.store, PlanCreated, lambda: approve(world, short))
    with pytest.raises(IllegalState, match="was approved already"):
        world.engine(racing).plans.new("late", "tests", "A goal", "Late", short.options)
    assert [one.name for one in world.engine().plans.repository().all() if one.options] == [
        long.name,
        short.name,
    ]


def test_g22_a_choice_has_at_most_three_options_and_a_fourth_leaves_nothing(world: World) -> None:
    options = present(world, "Short", "Long", "Other")
    files = {p.name for p in (world.root / ".opencode/plans").rglob("*.md")}
    with pytest.raises(IllegalState, match=r"3 options already.*Short, Long, Other.*`drop`"):
        draft(world, "Fourth", options[0].options)
    assert {p.name for p in (world.root / ".opencode/plans").rglob("*.md")} == files
    world.engine().plans.delete([options[2]])
    assert draft(world, "Fourth", options[0].options).option == "Fourth"


def test_g22_of_two_who_add_the_last_option_at_once_one_wins(world: World) -> None:
    short = present(world, *LABELS)[0]
    racing = RacingStore(world.store, PlanCreated, lambda: draft(world, "Third", short.options))
    with pytest.raises(IllegalState, match="3 options already"):
        world.engine(racing).plans.new("late", "tests", "A goal", "Late", short.options)
    assert len(world.engine().plans.options(short)) == 3
    assert "late" not in [one.name for one in world.engine().plans.all()]


def test_an_option_that_is_added_meanwhile_is_discarded_as_well(world: World) -> None:
    short, long = present(world, *LABELS)
    added: list[PlanRecord] = []
    racing = RacingStore(
        world.store, PlanApproved, lambda: added.append(draft(world, "Late", short.options))
    )
    world.engine(racing).approvals.approve(short, short.digest, "", "test")
    assert states(world, [short, long, *added]) == ["AWAITING_APPROVAL", "DISCARDED", "DISCARDED"]


def test_g22_rejecting_one_leaves_the_rest_and_the_last_is_a_plain_plan(world: World) -> None:
    short, long = present(world, *LABELS)
    world.engine().approvals.reject(short, "Too short")
    assert states(world, [short, long]) == ["DRAFTING", "AWAITING_APPROVAL"]
    assert world.engine().plans.presented_options(long) == []
    assert world.engine().plans.reference(long, current=False) == "", "it is what commands mean"
    assert world.engine().plans.reference(short, current=False) == "short"
    approve(world, long)
    assert states(world, [short, long]) == ["DISCARDED", "AWAITING_APPROVAL"]


def test_g22_all_are_sent_back_with_their_comments(world: World) -> None:
    options = present(world, *LABELS)
    comments = world.engine().comments
    comments.add(options[1], comments.anchor(options[1], "plan", 1), "Why long?")
    found, sent = comments.reject_all(options, Feedback(notes="None of these"))
    assert (states(world, options), sent) == (["DRAFTING"] * 2, 1)
    assert [one.digest for one in found] == ["", ""]
    assert comments.waiting(options[1]) == ()
    again = world.engine().approvals.propose_options(found)
    assert [one.option for one in again] == list(LABELS)


def test_a_part_of_an_option_is_approved_and_the_others_end(world: World) -> None:
    short, long = present(world, *LABELS)
    revise(world, short)()
    engine = world.engine()
    short = engine.approvals.propose(engine.plans.repository().load(short.plan_id))
    preview = engine.partial_approvals.preview(short, ["2"])
    engine.partial_approvals.approve(preview, "", "test")
    assert states(world, [short, long]) == ["AWAITING_APPROVAL", "DISCARDED"]


def test_a_rebased_option_stays_one_with_its_label(world: World) -> None:
    world.put({"a.txt": b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"})
    engine = world.engine()
    first = draft(world, "Short")
    second = engine.plans.new("long", "tests", "A goal", "Long", first.options)
    second = engine.plans.write(second, b"# Long\n\nEdit it.\n")
    second = engine.drafts.edit(second, b"a.txt", b"1\n", b"one\n").record
    short, long = engine.approvals.propose_options([first, second])
    world.put({"a.txt": b"1\n2\n3\n4\n5\n6\n7\n8\nnine\n"})
    rebased = engine.rebaser.apply(engine.rebaser.preview(long))
    assert (rebased.option, rebased.options) == ("Long", short.plan_id)
    assert rebased.digest != long.digest
    assert len(engine.plans.presented_options(rebased)) == 2


def test_the_text_of_a_discarded_option_can_still_be_read(world: World) -> None:
    """Also what a person wrote into its file, which goes with it."""
    short, long = present(world, *LABELS)
    path = world.root / long.path.decode()
    path.write_text("# Mine\n", encoding="utf-8")
    approve(world, short)
    gone = world.engine().plans.repository().load(long.plan_id)
    assert gone.state is PlanState.DISCARDED
    assert not path.exists()
    assert world.engine().plans.text(gone.content_hash) == b"# Mine\n"
