"""Commands between segments of files: recorded before and after, and a halt where one fails."""

from collections.abc import Callable, Iterator
from errno import EIO

import pytest
from tests.executor.command_harness import (
    ALONE,
    BETWEEN,
    BUILT,
    FAILING,
    LATER,
    LOGGED,
    MAKE,
    NEW,
    OLD,
    START,
    WRITE_A,
    WRITE_B,
    CommandCase,
    CommandWorld,
    first_words,
    run,
)

from assent.core.errors import Drift, Refused, RunUnfinished, StoreError
from assent.core.plan.operation import Operation, RunCommand, WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    CommandProgress,
    CommandStartedEntry,
    FinishedEntry,
    LiveCommandOutput,
    RecoveryChoice,
    StepProgress,
)
from assent.core.run.permit import Permit, permit_text, permitted
from assent.core.run.state import command_ends
from assent.core.run.workspace_changes import FileStateChanges, decode_changes
from assent.core.shell.process import OutputChunk, ProcessResult
from assent.executor.command import FAILURE_TEXTS, KEPT_EDGE_BYTES, CapturedOutput
from assent.executor.executor import Executor
from assent.ports.external import NoPlanCommandRunner
from assent.testing.memory_plan_command_runner import CommandScript, MemoryPlanCommandRunner
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode

THEIRS = MemoryNode(b"somebody else's", 0o600)


def case(*operations: Operation) -> CommandCase:
    return CommandCase("", operations, {})


def applied(*operations: Operation) -> CommandWorld:
    world = CommandWorld(case(*operations))
    world.apply()
    return world


def test_g5_the_journal_says_what_comes_next_before_it_comes() -> None:
    world = applied(*BETWEEN.operations)
    assert world.kinds == [
        "StartedEntry", "CommittedEntry", "SettledEntry", "SegmentSweptEntry",
        "CommandStartedEntry", "CommandEndedEntry",
        "SegmentEnteredEntry", "CommittedEntry", "SettledEntry", "FinishedEntry",
    ]  # fmt: skip
    last = world.entries[-1]
    assert last == FinishedEntry("done", ("done",) * 4, (b"w/deep", b"w/deep/er"))
    assert (world.files, world.slots) == (BETWEEN.finish, [])


def test_a_plan_without_commands_has_the_journal_that_it_always_had() -> None:
    assert applied(WRITE_A, WRITE_B).kinds == [
        "StartedEntry",
        "CommittedEntry",
        "SettledEntry",
        "FinishedEntry",
    ]


def test_law_5_that_a_command_runs_is_durable_before_it_begins() -> None:
    world = CommandWorld(ALONE)
    work = world.executor().apply(world.approved, "run")
    assert first_words(work) == LiveCommandOutput(0, b"building\n")
    assert (world.kinds, world.commander.began) == (
        ["StartedEntry", "CommandStartedEntry"],
        [b"build"],
    )
    for moment in range(20):
        world = CommandWorld(ALONE)
        world.cut(world.apply, moment, power=True)
        assert not world.commander.began or "CommandStartedEntry" in world.kinds


def test_what_a_command_changed_and_said_is_kept() -> None:
    world = applied(*BETWEEN.operations)
    end = command_ends(world.entries)[2][0]
    assert (end.index, end.code, end.cut) == (2, 0, "")
    assert world.blobs.read(end.output) == b"building\n"
    changes = decode_changes(world.blobs.read(end.changes))
    assert {op.path for op in changes.operations} == {b"w/a", b"w/gone", b"w/log", b"w/out/x"}
    assert world.said == [LiveCommandOutput(2, b"building\n")]


def test_a_command_is_told_the_digest_and_what_the_run_changed_so_far() -> None:
    world = applied(WRITE_A, run(b"build"), WRITE_B, run(b"note"))
    digest = world.approved.plan.digest
    built = (b"w/a", b"w/gone", b"w/log", b"w/out/x")
    assert world.commander.asked == [(digest, (b"w/a",)), (digest, tuple(sorted((*built, b"w/b"))))]


@pytest.mark.parametrize(
    ("operations", "error"),
    [
        ((WRITE_A, run(b"build"), run(b"unheard of")), Refused),
        ((run(b"build"), WriteFile(b"w/a", LATER.state, NEW.state)), Drift),
        ((run(b"build"), WriteFile(b"w/a", OLD.state, THEIRS.state)), StoreError),
        ((WRITE_A, run(b"build"), WriteFile(b"w/b", OLD.state, THEIRS.state)), StoreError),
    ],
)
def test_f65_what_can_be_refused_before_the_start_spends_nothing(
    operations: tuple[Operation, ...], error: type[Exception]
) -> None:
    world = CommandWorld(case(*operations))
    with pytest.raises(error):
        world.apply()
    assert (world.entries, world.files, world.commander.began) == ([], START, [])


def test_law_1_a_permit_covers_no_command() -> None:
    world = CommandWorld(ALONE)
    plan = Plan(permit_text("s", "c", "mode", ""), (WRITE_A, run(b"build")))
    permit = Permit("p", "s", "c", "mode", "", plan.digest, "")
    with pytest.raises(Refused, match="covers only files"):
        list(world.executor().apply(permitted(plan, permit), "run"))
    assert (world.entries, world.commander.began) == ([], [])


def test_without_anybody_to_run_commands_a_plan_with_one_is_refused() -> None:
    world = CommandWorld(ALONE)
    with pytest.raises(Refused, match="cannot run here"):
        list(Executor(world.hands, world.blobs, world.journal).apply(world.approved, "run"))
    assert world.entries == []
    nobody = NoPlanCommandRunner()
    with pytest.raises(Refused):
        nobody.record()
    with pytest.raises(Refused):
        nobody.run(run(b"build"), "", {})
    assert not nobody.changes("").known  # where a run has to be taken up all the same


@pytest.mark.parametrize(
    ("failing", "results", "reason"),
    [
        (FAILING[0], ("done", "failed", "not_started"), "ended with exit code 3"),
        (FAILING[2], ("done", "done", "failed"), "stopped before it finished (time)"),
    ],
)
def test_law_6_a_failed_command_halts_the_run(
    failing: CommandCase, results: tuple[str, ...], reason: str
) -> None:
    world = applied(*failing.operations)
    assert (world.outcome, world.results) == ("needs_you", results)
    assert [(path, reason in words) for _, path, words in world.reasons] == [(b"", True)]
    began = list(world.commander.began)
    world.recover()
    assert (world.outcome, world.commander.began) == ("needs_you", began)


def test_g5_resume_runs_a_failed_command_again_and_goes_on() -> None:
    world = applied(WRITE_A, run(b"break"), WRITE_B)
    world.commander.scripts[b"break"] = CommandScript()
    world.recover("resume")
    assert (world.outcome, world.results) == ("done", ("done",) * 3)
    assert world.commander.began == [b"break", b"break"]
    assert [(end.code, bool(end.changes)) for end in command_ends(world.entries)[1]] == [
        (3, True),
        (0, True),
    ]
    assert world.files == {**START, b"w/a": NEW, b"w/b": NEW, b"w/log": LATER, b"w/out/y": BUILT}


def test_g5_accept_keeps_everything_and_says_what_never_began() -> None:
    world = applied(WRITE_A, run(b"break"), WRITE_B)
    files = world.files
    world.recover("accept")
    assert world.entries[-1] == FinishedEntry("done", ("done", "failed", "not_started"))
    assert world.files == files


def test_g5_roll_back_takes_everything_back_that_is_recorded() -> None:
    world = applied(
        MAKE, run(b"build"), WRITE_B, run(b"break"), WriteFile(b"w/b", NEW.state, OLD.state)
    )
    world.recover("roll_back")
    assert world.entries[-1] == FinishedEntry(
        "rolled_back", ("undone", "undone", "undone", "failed", "not_started")
    )
    assert world.files == START
    assert not {b"w/deep", b"w/deep/er"} & world.hands.folders


def crashed(*operations: Operation) -> CommandWorld:
    """Returns a world whose process died while its first command ran."""
    for moment in range(1_000):
        world = CommandWorld(case(*operations))
        if world.cut(world.apply, moment, power=False) and world.files.get(b"w/log") == LOGGED:
            return world
    raise AssertionError("unreachable")


def test_law_6_a_command_whose_end_nobody_saw_is_unknown_and_its_changes_are_recorded() -> None:
    world = crashed(WRITE_A, run(b"build"), WRITE_B)
    assert isinstance(world.entries[-1], CommandStartedEntry)
    world.recover()
    assert (world.outcome, world.results) == ("needs_you", ("done", "unknown", "not_started"))
    assert world.ran() == [(1, -1, "unknown")]
    assert FAILURE_TEXTS["unknown"] in world.reasons[0][2]
    world.recover("roll_back")
    assert (world.outcome, world.files) == ("rolled_back", START)
    assert world.results == ("undone", "unknown", "not_started")


def test_law_6_going_on_right_after_a_crash_still_asks_about_the_command() -> None:
    world = crashed(WRITE_A, run(b"build"), WRITE_B)
    world.recover("resume")
    assert (world.outcome, world.commander.began) == ("needs_you", [b"build"])
    world.recover("resume")
    assert (world.outcome, world.commander.began) == ("done", [b"build", b"build"])
    assert world.files == {p: n for p, n in BETWEEN.finish.items() if p != MAKE.path}


def test_a_person_who_interrupts_a_command_ended_it_which_is_known() -> None:
    world = CommandWorld(ALONE)
    work = world.executor().apply(world.approved, "run")
    assert first_words(work) == LiveCommandOutput(0, b"building\n")
    work.close()
    assert world.ran() == [(0, 130, "interrupted")]
    world.recover()
    assert (world.outcome, world.results) == ("needs_you", ("failed",))
    assert world.reasons == [(0, b"", "the command was interrupted")]


def test_whoever_watches_is_told_which_command_begins_and_what_else_takes_time() -> None:
    world = CommandWorld(case(WRITE_A, run(b"build")))
    work = world.executor().apply(world.approved, "run")
    told = [step for step in work if not isinstance(step, StepProgress)]
    command = world.approved.plan.operations[1]
    assert isinstance(command, RunCommand)
    assert told == [
        CommandProgress("before", 1, 2, command),
        CommandProgress("command", 1, 2, command),
        LiveCommandOutput(1, b"building\n"),
        CommandProgress("after", 1, 2, command),
    ]


@pytest.mark.parametrize(
    ("what", "kinds"),
    [
        ("before", ["StartedEntry"]),
        ("command", ["StartedEntry"]),
        ("after", ["StartedEntry", "CommandStartedEntry", "CommandEndedEntry"]),
    ],
)
def test_law_5_an_interruption_beside_a_command_leaves_no_doubt_whether_it_ran(
    what: str, kinds: list[str]
) -> None:
    world = CommandWorld(ALONE)
    work = world.executor().apply(world.approved, "run")
    next(step for step in work if isinstance(step, CommandProgress) and step.what == what)
    work.close()
    assert world.kinds == kinds
    world.recover()
    assert (world.outcome, world.commander.began) == ("done", [b"build"])


def test_a_command_before_which_nothing_can_be_recorded_does_not_begin() -> None:
    world = CommandWorld(case(WRITE_A, run(b"build")))
    world.blobs.full = True
    world.apply()
    assert (world.outcome, world.results) == ("needs_you", ("done", "not_started"))
    assert world.reasons == [(1, b"", "it did not start: No space is left.")]
    assert world.commander.began == []
    world.blobs.full = False
    world.recover("resume")
    assert world.outcome == "done"


def test_law_9_a_command_that_is_denied_by_now_does_not_begin() -> None:
    world = CommandWorld(case(WRITE_A, run(b"build")))
    world.commander.denied = frozenset({b"build"})
    world.apply()
    assert (world.outcome, world.results) == ("needs_you", ("done", "not_started"))
    assert world.reasons == [(1, b"", "it did not start: A rule denies b'build'.")]
    world.recover("resume")
    assert (world.outcome, world.commander.began) == ("needs_you", [])
    world.commander.denied = frozenset()
    world.recover("resume")
    assert (world.outcome, world.commander.began) == ("done", [b"build"])


@pytest.mark.parametrize("way", ["accept", "resume", "roll_back"])
def test_law_6_a_word_that_is_refused_is_not_carried_out_later(way: RecoveryChoice) -> None:
    world = crashed(WRITE_A, run(b"build"), WRITE_B)
    before = world.entries
    world.commander.outlived = "process 7"
    with pytest.raises(RunUnfinished):
        world.recover(way)
    assert world.entries == before
    world.commander.outlived = ""
    world.recover()
    assert (world.outcome, world.commander.began) == ("needs_you", [b"build"])


class Troubled(MemoryPlanCommandRunner):
    """Commands that end, and something that goes wrong while they do."""

    def __init__(self, world: CommandWorld, trouble: Callable[[CommandWorld], None]) -> None:
        super().__init__(world.hands, world.blobs, world.commander.scripts)
        self._world = world
        self._trouble = trouble

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        for part in super().run(command, digest, left):
            if isinstance(part, ProcessResult):
                self._trouble(self._world)
            yield part


class Unsynced(MemoryFileWriter):
    """Hands on a disk that breaks, and then does not take what others wrote."""

    broken = False

    def sync_to_disk(self, *, foreign: bool = False) -> None:
        if foreign and self.broken:
            raise OSError(EIO, "Input/output error")
        super().sync_to_disk()


def fill_up(world: CommandWorld) -> None:
    world.blobs.full = True


def lose(world: CommandWorld) -> None:
    raise StoreError("The process is gone.")


def refuse(world: CommandWorld) -> None:
    raise Refused("No sandbox holds.")


def unplug(world: CommandWorld) -> None:
    assert isinstance(world.hands, Unsynced)
    world.hands.broken = True


@pytest.mark.parametrize(
    ("trouble", "end", "result"),
    [
        (fill_up, (0, 0, "record"), "failed"),
        (unplug, (0, 0, "disk"), "failed"),
        (lose, (0, -1, "unknown"), "unknown"),
        (refuse, (0, 126, "start"), "failed"),
    ],
)
def test_law_6_a_command_that_ended_well_halts_if_that_cannot_be_vouched_for(
    trouble: Callable[[CommandWorld], None], end: tuple[int, int, str], result: str
) -> None:
    world = CommandWorld(case(run(b"build"), WRITE_B))
    world.hands = Unsynced(START, world.fuse)
    world.commander = Troubled(world, trouble)
    world.apply()
    assert (world.outcome, world.results) == ("needs_you", (result, "not_started"))
    assert world.ran() == [end]
    assert world.files[b"w/b"] == OLD


@pytest.mark.parametrize("trouble", [fill_up, unplug])
def test_law_6_what_could_not_be_recorded_after_a_command_is_taken_back_all_the_same(
    trouble: Callable[[CommandWorld], None],
) -> None:
    world = CommandWorld(case(run(b"build"), WRITE_B))
    world.hands = Unsynced(START, world.fuse)
    world.commander = Troubled(world, trouble)
    world.apply()
    world.recover("roll_back")  # still in trouble: nothing is taken back, and nothing given up
    assert world.outcome == "needs_you"
    world.blobs.full = world.hands.broken = False
    world.recover("roll_back")
    assert world.outcome == "needs_you"  # whoever wants it back is told first what that is
    world.recover("roll_back")
    assert (world.outcome, world.files) == ("rolled_back", START)
    assert world.times([b"build"]) == [1]


def test_output_keeps_its_beginning_and_its_end() -> None:
    output = CapturedOutput()
    for _ in range(20):
        output.add(b"a" * (KEPT_EDGE_BYTES // 4))
    output.add(b"the end")
    kept = b"".join(output.kept())
    missing = 5 * KEPT_EDGE_BYTES + len(b"the end") - 2 * KEPT_EDGE_BYTES
    assert kept.startswith(b"a" * KEPT_EDGE_BYTES + b"\n[%d bytes are not kept]\n" % missing)
    assert kept.endswith(b"a" * (KEPT_EDGE_BYTES - len(b"the end")) + b"the end")
    assert [*CapturedOutput().kept()] == [b"", b"", b""]
