"""Kills a real process at every moment of a build with a real command; run by the tests.

    python -m tests.crash.command_sweep WAY FOLDER

WAY auto recovers as the next start would, and then lets everything be taken back where the run
waits for a person; resume goes on instead; back kills the roll-back of a build that failed. The
command counts in a file outside the workspace how often it ran.
"""

import gc
import sys
from collections import Counter
from pathlib import Path
from threading import active_count
from time import monotonic, sleep

import msgspec
from tests.crash.rig import Rig
from tests.crash.stories import Step, Story, write
from tests.crash.sweep import in_child, killed
from tests.crash.trees import Tree, file, tree
from tests.support.sandbox_status import remember_sandbox

from assent.app.engine import Engine
from assent.core.errors import RunUnfinished
from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import RecoveryChoice, drive_to_end
from assent.planning.drafts import Drafts
from assent.testing.call_trace import CallListener, CallTrigger, kill_process

PATIENCE_S = 60
WAYS = ("assent recover --resume", "assent recover --roll-back", "assent recover --accept")
SCRIPT = b"""
echo ran >> "$COUNT"
echo built > made/out.txt && cat in.txt > log.txt && rm -f gone.txt && echo said
test ! -e "$FAIL"
"""
NEW = b"new in\n"
# Over 64 KiB: it has a file of its own in the store, the others share one.
OLD = b"first\n" * 12_000
START = tree(
    {
        b"in.txt": file(b"in\n"),
        b"log.txt": file(OLD),
        b"gone.txt": file(b"gone\n", 0o600),
        b"made/here": file(b"x\n"),
        b"mine": file(b"not touched\n"),
    }
)
FINISH = tree(
    {
        b"in.txt": file(NEW),
        b"log.txt": file(NEW),
        b"made/here": file(b"x\n"),
        b"made/out.txt": file(b"built\n"),
        b"mine": file(b"not touched\n"),
        b"deep/er/last.txt": file(b"last\n"),
    }
)


class Report(msgspec.Struct):
    """What a sweep tried and what it has to complain about."""

    moments: list[str] = []
    killed: int = 0
    ends: dict[str, int] = {}
    complaints: list[str] = []


class Ended(msgspec.Struct, frozen=True):
    """What the process that recovered found, and where a person's word led."""

    first: str  # the outcome without anybody's word
    results: list[str]
    notes: list[str]
    ran: int  # how often the command had run by then
    last: str
    tree: Tree
    leftovers: list[bytes]


class CommandSweep:
    """A plan of a write, a command and a write, that is killed again and again."""

    def __init__(self, folder: Path, way: str) -> None:
        self.count, self.fail = folder / "count", folder / "fail"
        remember_sandbox(folder / "state" / "assent")
        self.rig = Rig(folder, Story("write_run_write", START, self._steps(), FINISH))
        self.way = way
        if way == "back":
            self.fail.touch()
            assert self.rig.build().outcome == "needs_you"
        self.ready = self.rig.save()

    def report(self) -> Report:
        """Kills at every moment."""
        self.warm()
        report = Report(moments=in_child(self._undisturbed, list[str]))
        ends: Counter[str] = Counter()
        self._restore()
        while killed(self._verb, CallTrigger(at=report.killed, act=kill_process)):
            end = self.recovered()
            ends[f"{end.first}, {end.last}"] += 1
            told = [f"killed at {report.killed}: not held: {law}" for law in self._broken(end)]
            report.complaints += told
            report.killed += 1
            self._restore()
        report.ends = dict(ends)
        return report

    def _steps(self) -> tuple[Step, ...]:
        env = ((b"COUNT", bytes(self.count)), (b"FAIL", bytes(self.fail)))
        command = RunCommand(script=SCRIPT, env=env, profile="unconfined")

        def run(drafts: Drafts, record: PlanRecord) -> object:
            return drafts.run(record, command)

        return (write(b"in.txt", NEW), run, write(b"deep/er/last.txt", b"last\n"))

    def _restore(self) -> None:
        self.rig.restore(self.ready)
        self.count.unlink(missing_ok=True)

    def warm(self) -> None:
        """Does it once in this very process: what was loaded for it is at hand in every child."""
        engine = self.rig.open()
        self._do(engine)
        engine.close()
        del engine
        gc.collect()  # an engine that is gone keeps no file open
        gc.freeze()  # so that what one recovery leaves is soon found
        assert active_count() == 1, "a thread would not be in the children"
        self._restore()

    def _verb(self, listen: CallListener) -> None:
        self._do(self.rig.open(listen))

    def _do(self, engine: Engine) -> None:
        if self.way == "back":
            drive_to_end(engine.runs.recover("roll_back"))
        else:
            drive_to_end(engine.runs.build(self.rig.plan_id))

    def _undisturbed(self) -> list[str]:
        moments = CallTrigger()
        self._verb(moments)
        assert self.rig.tree() == (START if self.way == "back" else FINISH)
        return moments.seen

    def recovered(self) -> Ended:
        """Recovers here, in one process for all tries, and leaves nothing of it to the next."""
        end = self._recover()
        gc.collect()
        assert active_count() == 1, "a thread would not be in the children"
        return end

    def _recover(self) -> Ended:
        engine = self.rig.open()
        all_quiet(engine)
        first = drive_to_end(engine.runs.recover())
        ran = self._times()
        last = first
        if first.outcome == "needs_you":
            word: RecoveryChoice = "resume" if self.way == "resume" else "roll_back"
            last = drive_to_end(engine.runs.recover(word))
        state = self._state(engine)
        engine.close()
        results: list[str] = [result for _, result in first.operations]
        leftovers = self.rig.leftovers()
        return Ended(
            first.outcome, results, list(first.notes), ran, f"{last.outcome}, {state}",
            self.rig.tree(), leftovers,
        )  # fmt: skip

    def _state(self, engine: Engine) -> str:
        return str(engine.plans.repository().load(self.rig.plan_id).state)

    def _times(self) -> int:
        return self.count.read_text("utf-8").count("ran") if self.count.exists() else 0

    def _broken(self, end: Ended) -> list[str]:
        """Says what is not as it must be after a recovery."""
        done = end.last.endswith(PlanState.COMPLETED)
        waits = end.first == "needs_you"
        held = {
            "it ends": end.last.partition(",")[0] in ("done", "rolled_back", "nothing"),
            "a command runs once without a person's word": end.ran <= 1,
            "a run that waits says why, and three ways on": not waits
            or [way for way in WAYS if not any(way in note for note in end.notes)] == [],
            "it says what became of each operation": not waits or "not_started" in end.results,
            "the tree is as the outcome says": end.tree == (FINISH if done else START),
            "no slot of a run is left": end.last.startswith("nothing") or end.leftovers == [],
        }
        told = f"; {end.first}, {end.results}, {end.last}, {end.ran}, {end.leftovers}"
        return [law + told for law, ok in held.items() if not ok]


def all_quiet(engine: Engine) -> None:
    """Waits until nothing is alive of a command whose starter was killed: others end it."""
    until = monotonic() + PATIENCE_S
    while True:
        try:
            engine._ports.command_runner.check_at_rest()
        except RunUnfinished:
            assert monotonic() < until, "it goes on and on"
            sleep(0.01)
        else:
            return


if __name__ == "__main__":
    gc.disable()
    way, folder = sys.argv[1:]
    sweep = CommandSweep(Path(folder), way)
    sys.stdout.buffer.write(msgspec.json.encode(sweep.report()))
