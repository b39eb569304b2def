"""Kills a real process at every moment of a verb and lets another one recover; run by the tests.

    python -m tests.crash.sweep VERB MANNER STORY FOLDER

This process forks those that are killed, which costs far less than a start, and is the one that
recovers. VERB is build, undo, or approve, which means to approve and build at once. MANNER killed
kills it at every moment. Stopped reads instead what every moment leaves, recovers from each state
once, and kills it at one moment of each kind. Twice cuts off every recovery from there too. The
report is one JSON object on stdout.
"""

import gc
import os
import signal
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from tests.crash.rig import Moment, Rig, exit_code, say_yes
from tests.crash.stories import BY_NAME
from tests.crash.trees import Tree

from assent.app.engine import Engine
from assent.core.event import JournalWritten
from assent.core.run.journal import drive_to_end
from assent.store import small_blobs
from assent.testing.call_trace import CallListener, CallTrigger, is_change, kill_process

A = TypeVar("A")

COPIES = (b".opencode/plans", b".opencode/assent/plans")  # for people; they tell the time
SYNCS = ("hands.fsync", "hands.syncfs")


class Ended(msgspec.Struct, frozen=True):
    """What the process that recovered found, and what a further try to build met."""

    journal: list[str]  # what the run had written before it was killed
    recovery: str
    run: str  # the outcome of the run in question, or "not started"
    approved: bool
    spent: bool
    tree: Tree
    leftovers: list[bytes]
    again: int
    tree_again: Tree


class Report(msgspec.Struct):
    """What a sweep tried and what it has to complain about."""

    moments: list[str] = []
    killed: int = 0  # moments at which it was killed, or stopped
    states: int = 0  # that were left by then, and differ
    really: int = 0  # those at which a process died
    ends: dict[str, int] = {}
    killed_again: int = 0
    complaints: list[str] = []


class Sweep:
    """Two trees, a verb that leads from one to the other, and the site that it works on."""

    def __init__(self, rig: Rig, verb: str) -> None:
        self.rig = rig
        self.verb = verb
        self.before, self.after = rig.story.start, rig.story.finish
        if verb == "undo":
            self.before, self.after = self.after, self.before
            rig.build()
        self.ready = rig.proposed if verb == "approve" else rig.save()
        self.ends: Counter[str] = Counter()
        self._earlier = 0
        self._earlier = len(self._journal(rig.open()))

    def do(self, engine: Engine) -> None:
        """Does what the sweep is about."""
        if self.verb == "undo":
            drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))
            return
        if self.verb == "approve":
            say_yes(engine, self.rig.plan_id)
        drive_to_end(engine.runs.build(self.rig.plan_id))

    def report(self, manner: str) -> Report:
        """Cuts it off at every moment."""
        self.rig.restore(self.ready)
        report = Report(moments=in_child(self._undisturbed, list[str]))
        self.rig.restore(self.ready)
        {"killed": self._killed, "stopped": self._stopped, "twice": self._twice}[manner](report)
        report.ends = dict(self.ends)
        return report

    def _killed(self, report: Report) -> None:
        while self._was_killed(report, report.killed):
            report.killed += 1

    def _stopped(self, report: Report) -> None:
        """Recovers from what stands on the disk at every moment: that is what a kill leaves there.

        What is equal to the last byte, as before and after a sync, is recovered once.
        """
        known = set()
        for left in stops(self.rig, self.verb_watched, is_change):
            if (state := msgspec.msgpack.encode(left)) not in known:
                known.add(state)
                self.rig.restore(left)
                self._judge(report, self.recover(), f"stopped at {report.killed}")
            report.killed += 1
        turn = [*BY_NAME].index(self.rig.story.name)
        for kind, many in Counter(report.moments).items():
            # How often it writes and syncs varies, so the last one may not come again.
            fired = any(self._was_killed(report, at, kind.__eq__) for at in (turn % many, 0))
            # Where a folder is gone, one flush takes the place of all others.
            assert fired or kind in SYNCS, kind

    def _was_killed(
        self, report: Report, at: int, counts: Callable[[str], bool] = is_change
    ) -> bool:
        self.rig.restore(self.ready)
        if not killed(self.verb_watched, CallTrigger(counts, at=at, act=kill_process)):
            return False
        report.really += 1
        self._judge(report, self.recover(), f"killed at {at}")
        return True

    def _twice(self, report: Report) -> None:
        states, judged = set(), set[bytes]()
        for left in stops(self.rig, self.verb_watched, is_change):
            self.rig.restore(left)
            if (state := self.state(left)) not in states:
                states.add(state)
                self._judge(report, self.recover(), f"stopped at {report.killed}")
                self._again(report, left, judged)
            report.killed += 1

    def complaints(self, end: Ended) -> list[str]:
        """Says what is not as it must be after a recovery."""
        wanted = self.after if end.run == "done" else self.before
        held = {
            "recovery ends": end.recovery in ("done", "rolled_back", "nothing"),
            "run ends": end.run in ("done", "rolled_back", "not started"),
            "forward once committed, else back": end.run == _promised(end.journal),
            "tree is as the outcome says": end.tree == wanted,
            "approval is spent if and only if the run started": end.spent
            == (end.run != "not started"),
            "no slot is left": end.leftovers == [],
            "a build needs an unspent yes": end.again == (4 * end.spent if end.approved else 3),
            "without one it changes nothing": end.again == 0 or end.tree_again == end.tree,
            "an unspent one still serves": end.again != 0 or end.tree_again == self.after,
        }
        return [f"not held: {law}; {end.recovery}, {end.run}" for law, ok in held.items() if not ok]

    def _again(self, report: Report, left: Moment, judged: set[bytes]) -> None:
        """Cuts off the recovery at every moment too, and recovers once more.

        Recoveries from different moments soon stand before the same files and the same records;
        what comes of these does not depend on how they came about, so each is recovered once.
        """
        self.rig.restore(left)
        for at, cut in enumerate(stops(self.rig, self.settle, decides)):
            self.rig.restore(cut)
            report.killed_again += 1
            if (whole := whole_state(cut, self.rig.site.state / "log.db")) in judged:
                continue
            judged.add(whole)
            where = f"killed at {report.killed}, and its recovery at {at}"
            self._judge(report, self.recover(), where)

    def _judge(self, report: Report, end: Ended, where: str) -> None:
        self.ends[end.run] += 1
        report.complaints += [f"{where}: {complaint}" for complaint in self.complaints(end)]

    def _undisturbed(self) -> list[str]:
        moments = CallTrigger()
        self.verb_watched(moments)
        assert self.rig.tree() == self.after
        return moments.seen

    def verb_watched(self, listen: CallListener) -> None:
        with closing(self.rig.open(listen)) as engine:
            self.do(engine)

    def settle(self, listen: CallListener) -> None:
        with closing(self.rig.open(listen)) as engine:
            drive_to_end(engine.runs.recover())

    def recover(self) -> Ended:
        engine = self.rig.open()
        journal = self._journal(engine)
        recovery = drive_to_end(engine.runs.recover()).outcome
        record = engine.plans.repository().load(self._plan(engine))
        spent = any(consent.run for consent in record.consents)
        run = (record.runs[-1].outcome or "unfinished") if record.runs else "not started"
        tree = self.rig.tree()
        if record.undoes == "" and self.verb == "undo":  # killed before there was an undo plan
            spent, run = False, "not started"
            self.do(engine)
            again = 0
        else:
            again = exit_code(engine, record.plan_id)
        engine.close()
        return Ended(
            journal, recovery, run, bool(record.consents), spent, tree, self.rig.leftovers(), again,
            self.rig.tree(),
        )  # fmt: skip

    def _journal(self, engine: Engine) -> list[str]:
        """Returns the kinds of entries that the verb has written."""
        events = [one.event for one in engine.log()]
        entries = [event.entry for event in events if isinstance(event, JournalWritten)]
        return [type(entry).__name__ for entry in entries[self._earlier :]]

    def _plan(self, engine: Engine) -> str:
        """Returns the plan that the verb builds: the story's own, or the undo plan."""
        if self.verb != "undo":
            return self.rig.plan_id
        undo = [event.stream for event in engine.log() if event.stream.startswith("plan/")]
        return undo[-1].rpartition("/")[2]

    def state(self, left: Moment) -> bytes:
        """Returns what a recovery decides from, with the name of this very run taken out."""
        engine = self.rig.open()
        journal = self._journal(engine)
        runs = [one.stream for one in engine.log() if one.stream.startswith("run/")]
        engine.close()
        tree = repr(sorted(left.tree.items())).encode()
        for run in {stream.rpartition("/")[2].encode() for stream in runs}:
            tree = tree.replace(run, b"RUN")
        return b" ".join([tree, *[kind.encode() for kind in journal]])


def whole_state(left: Moment, log: Path) -> bytes:
    """Returns all of a moment but for times and copies; its log is at a place by now."""
    tree = {path: entry for path, entry in left.tree.items() if not path.startswith(COPIES)}
    with closing(sqlite3.connect(log)) as database:
        rows = database.execute("SELECT stream, kind, body FROM events ORDER BY position")
        events = rows.fetchall()
    files = [sorted(found.items()) for found in (tree, left.blobs, left.spares)]
    return msgspec.msgpack.encode((files, events))


def _promised(journal: list[str]) -> str:
    """Says how a run that was cut off must end."""
    if not journal:
        return "not started"
    forward = "CommittedEntry" in journal and "AbortedEntry" not in journal
    return "done" if forward else "rolled_back"


def decides(moment: str) -> bool:
    """Tells whether a moment can matter to a recovery; the readable copies cannot."""
    return is_change(moment) and not moment.startswith("projection.")


def in_child(work: Callable[[], A], kind: type[A]) -> A:
    """Runs something in a process of its own and returns its answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _answer(work, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(f"A process that nobody killed ended with status {status}.")
    return msgspec.msgpack.decode(content, type=kind)


def killed(work: Callable[[CallListener], object], moments: CallTrigger) -> bool:
    """Tells whether a process of its own died of SIGKILL; else it must have ended well."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work(moments)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status and status != signal.SIGKILL:
        sys.exit(f"A process ended with status {status} instead of being killed.")
    return status == signal.SIGKILL


def stops(
    rig: Rig, work: Callable[[CallListener], object], counts: Callable[[str], bool]
) -> list[Moment]:
    """Returns what a process leaves that is killed at any one of the moments that count.

    It is held up at each of them, looked at, and goes on: one try instead of one for each, and in
    this very process, which saves a fork. What is killed there leaves the same, which test_kill.py
    shows.
    """
    left = list[Moment]()

    def look(moment: str, arguments: tuple[Any, ...]) -> None:
        left.append(rig.save())

    work(CallTrigger(counts, at=0, act=look, sticky=True))
    return left


def _answer(work: Callable[[], object], writing: int) -> None:
    try:
        content = msgspec.msgpack.encode(work())
        while content:
            content = content[os.write(writing, content) :]
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    gc.disable()  # nothing here lives long enough to be worth collecting after every fork
    verb, manner, story, folder = sys.argv[1:]
    # Every use of a content is noted, or none, however long this takes: at most one a minute
    # would be noted otherwise, so that a late try had moments that an early one had not.
    small_blobs.REFRESH_AFTER_S = 0 if manner == "killed" else sys.maxsize
    sweep = Sweep(Rig(Path(folder), BY_NAME[story]), verb)
    sys.stdout.buffer.write(msgspec.json.encode(sweep.report(manner)))
