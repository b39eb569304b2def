"""Kills a build at every moment, damages each record of its run in many ways, and recovers.

    python -m tests.crash.journal_damage STORY FOLDER

The report is one JSON object on stdout.
"""

import gc
import os
import sqlite3
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import TypeAlias

import msgspec
from tests.crash.rig import STAGE, Moment, Rig
from tests.crash.stories import BY_NAME
from tests.crash.sweep import Sweep, decides, stops
from tests.crash.trees import Tree, seen
from tests.support.stored_contents import stored_contents

from assent.core.digest import sha256
from assent.core.errors import AssentError
from assent.core.run.journal import RecoveryChoice, drive_to_end
from assent.store.hash_chain import FIELDS, START, link_hash

RUN = "stream LIKE 'run/%'"
WAYS: tuple[RecoveryChoice, ...] = ("resume", "roll_back", "accept")
LEADS_TO = {"resume": "done", "roll_back": "rolled_back", "accept": "done"}
ESCAPED = "../../../../escaped"
PATHS = [b64encode(b"../escaped/one").decode()]

Damage: TypeAlias = Callable[[sqlite3.Connection, int], bool]  # to record number n; False: cannot


class Told(msgspec.Struct, frozen=True):
    """What a recovery answered, an outcome or the word of an error, and what it left."""

    way: str
    outcome: str
    text: str
    tree: Tree


class Damaged(msgspec.Struct):
    """What was tried, how often each answer came, and what has to be complained of."""

    states: int = 0
    tried: int = 0
    answers: dict[str, int] = {}
    complaints: list[str] = []


def flipped(database: sqlite3.Connection, n: int) -> bool:
    """Changes one letter in the middle of a record."""
    position, body = _record(database, n)
    middle = len(body) // 2
    return _set(database, position, body[:middle] + chr(ord(body[middle]) ^ 1) + body[middle + 1 :])


def overwritten(database: sqlite3.Connection, n: int) -> bool:
    """Makes a record unreadable."""
    position, body = _record(database, n)
    return _set(database, position, "\x00" * len(body))


def led_outside(database: sqlite3.Connection, n: int) -> bool:
    """Lets every path in a record lead out of the workspace."""
    position, body = _record(database, n)
    changed = msgspec.json.encode(_outside(msgspec.json.decode(body))).decode()
    return changed != body and _set(database, position, changed)


def led_outside_and_chained(database: sqlite3.Connection, n: int) -> bool:
    """Does the same, and makes the chain fit, as only somebody who knows how could."""
    return led_outside(database, n) and _chain(database)


def removed(database: sqlite3.Connection, n: int) -> bool:
    """Removes one record."""
    database.execute("DELETE FROM events WHERE position = ?", (_record(database, n)[0],))
    return True


def renamed(database: sqlite3.Connection, n: int) -> bool:
    """Hides a record under the name of another stream."""
    position, _ = _record(database, n)
    database.execute("UPDATE events SET stream = 'run/other/x' WHERE position = ?", (position,))
    return True


def swapped(database: sqlite3.Connection, n: int) -> bool:
    """Exchanges two records that follow each other."""
    if n == _count(database):
        return False
    (one, first), (other, second) = _record(database, n), _record(database, n + 1)
    return _set(database, one, second) and _set(database, other, first)


def cut(database: sqlite3.Connection, n: int) -> bool:
    """Loses the log from a record on."""
    if n == 1:
        return False  # then there is no run
    database.execute("DELETE FROM events WHERE position >= ?", (_record(database, n)[0],))
    return True


def run_cut(database: sqlite3.Connection, n: int) -> bool:
    """Loses the run's own records from one on, and nothing else of the log."""
    position, _ = _record(database, n)
    database.execute(f"DELETE FROM events WHERE {RUN} AND position >= ?", (position,))
    return True


def put_back(database: sqlite3.Connection, n: int) -> bool:
    """Puts an older copy of the whole log in its place, which nothing but the disk contradicts."""
    if not cut(database, n):
        return False
    last = database.execute("SELECT max(position) FROM events").fetchone()[0]
    database.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'", (last,))
    database.execute("DELETE FROM heads")
    return True


DAMAGES: tuple[Damage, ...] = (
    flipped, overwritten, led_outside, led_outside_and_chained, removed, renamed, swapped, cut,
    put_back,
)  # fmt: skip


class Damaging:
    """One story, damaged again and again."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.sweep = Sweep(rig, "build")
        self.log = rig.site.state / "log.db"
        self.report = Damaged()
        self.answers: Counter[str] = Counter()
        self.ways = cycle(WAYS)
        self.contents = {e.content for e in (*rig.story.start.values(), *rig.story.finish.values())}

    def run(self) -> Damaged:
        for left in self._left():
            self.report.states += 1
            self.rig.restore(left)
            with closing(sqlite3.connect(self.log)) as database:
                count = _count(database)
            for damage in DAMAGES:
                for n in range(1, count + 1):
                    self._attempt(left, damage, n)
        self.report.answers = dict(self.answers)
        return self.report

    def _left(self) -> Iterator[Moment]:
        """Yields what every kill leaves, each state once, and what a whole run leaves."""
        known = set()
        self.rig.restore(self.sweep.ready)
        for left in (*stops(self.rig, self.sweep.verb_watched, decides), self.rig.save()):
            self.rig.restore(left)
            if (state := self.sweep.state(left)) not in known:
                known.add(state)
                yield left

    def _attempt(self, left: Moment, damage: Damage, n: int) -> None:
        self.rig.restore(left)
        with closing(sqlite3.connect(self.log)) as database, database:
            kinds = _kinds(database)
            if not damage(database, n):
                return
        if damage is put_back:
            (self.rig.site.state / "log.db-anchor").unlink(missing_ok=True)
        self.report.tried += 1
        before = self._everything()
        way = next(self.ways)
        where = f"{damage.__name__} record {n} of {kinds}"
        steps = self._recovered(way)
        self.answers.update(step.outcome for step in steps)
        for step in steps:
            self._judge(step, f"{where}, recover {step.way}")
        if steps[0].outcome == "needs_you" and damage is not put_back and steps[0].tree != before:
            self._complain(f"{where}: what waits for a person was changed")
        begun = damage in (cut, put_back) or n > 1
        if steps[0].outcome == "needs_you" and begun and steps[-1].outcome != LEADS_TO[way]:
            self._complain(f"{where}: recover {way} ends {steps[-1].outcome}: {steps[-1].text}")
        if way == "accept" and steps[-1].outcome not in ("done", "rolled_back", "nothing", "store"):
            self._complain(f"{where}: accept ends {steps[-1].outcome}: {steps[-1].text}")

    def _recovered(self, way: RecoveryChoice) -> list[Told]:
        """Recovers; if a person has to decide, they do, once or, if they have to, twice."""
        steps = [self._recover("auto")]
        while steps[-1].outcome == "needs_you" and len(steps) < 3:
            steps.append(self._recover(way))
        return steps

    def _recover(self, way: RecoveryChoice) -> Told:
        engine = self.rig.open()
        try:
            report = drive_to_end(engine.runs.recover(way))
            outcome: str = report.outcome
            text = " ".join(report.notes)
        except AssentError as error:
            outcome, text = error.word, error.message
        except Exception as error:  # nobody may ever see one
            outcome, text = "traceback", repr(error)
        engine.close()
        return Told(way, outcome, text, self._everything())

    def _everything(self) -> Tree:
        return seen(self.rig.root, without=b"")

    def _judge(self, told: Told, where: str) -> None:
        """No answer contradicts the disk, nothing is outside, and every byte can be found."""
        story = self.rig.story
        mine = {p: e for p, e in told.tree.items() if not _at_or_below(p, b".opencode")}
        if told.outcome == "traceback":
            self._complain(f"{where}: {told.text}")
        if told.outcome == "done" and told.way != "accept" and not _same(mine, story.finish):
            self._complain(f"{where}: done, and it is not: {_differing(mine, story.finish)}")
        if told.outcome == "rolled_back" and not _same(mine, story.start):
            self._complain(f"{where}: rolled back, and it is not: {_differing(mine, story.start)}")
        outside = {name.name for name in self.rig.folder.iterdir()} - {"work", "state", "config"}
        if outside:
            self._complain(f"{where}: {outside} outside of the workspace")
        slots = {p: e for p, e in told.tree.items() if _is_slot(p) and e.kind != "folder"}
        if told.outcome == "needs_you":
            for path in slots:
                if os.fsdecode(path) not in told.text:
                    self._complain(f"{where}: {path!r} is not named in {told.text}")
        blobs = stored_contents(self.rig.site.state / "blobs")
        standing = {entry.content for entry in told.tree.values()}
        there = blobs | standing
        for content in self.contents:
            if not any(content in each for each in there):
                self._complain(f"{where}: {content[:20]!r} is nowhere")
            elif told.outcome == "needs_you" and not (
                content in standing or sha256(content) in told.text
            ):
                self._complain(f"{where}: the blob of {content[:20]!r} is not named")

    def _complain(self, words: str) -> None:
        self.report.complaints.append(words)


def _same(found: Tree, wanted: Tree) -> bool:
    return not _differing(found, wanted)


def _differing(found: Tree, wanted: Tree) -> list[bytes]:
    """Returns the files and symlinks that differ; folders that were made anew lose their modes."""
    both = found.keys() | wanted.keys()
    return [p for p in both if _file(found, p) != _file(wanted, p)]


def _file(tree: Tree, path: bytes) -> object:
    entry = tree.get(path)
    return entry if entry and entry.kind != "folder" else None


def _at_or_below(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder + b"/")


def _is_slot(path: bytes) -> bool:
    return _at_or_below(path, STAGE) or b".assent-" in path


def _count(database: sqlite3.Connection) -> int:
    return int(database.execute(f"SELECT count(*) FROM events WHERE {RUN}").fetchone()[0])


def _kinds(database: sqlite3.Connection) -> str:
    bodies = database.execute(f"SELECT body FROM events WHERE {RUN} ORDER BY position")
    return " ".join(msgspec.json.decode(body)["entry"]["type"] for (body,) in bodies)


def _record(database: sqlite3.Connection, n: int) -> tuple[int, str]:
    question = f"SELECT position, body FROM events WHERE {RUN} ORDER BY position LIMIT 1 OFFSET ?"
    position, body = database.execute(question, (n - 1,)).fetchone()
    return position, body


def _set(database: sqlite3.Connection, position: int, body: str) -> bool:
    database.execute("UPDATE events SET body = ? WHERE position = ?", (body, position))
    return True


def _chain(database: sqlite3.Connection) -> bool:
    """Makes every hash fit what stands there now."""
    before = None
    rows = database.execute(f"SELECT position, {FIELDS} FROM events ORDER BY position").fetchall()
    for position, *covered in rows:
        before = link_hash(START if before is None else before, position, tuple(covered))
        database.execute("UPDATE events SET chain = ? WHERE position = ?", (before, position))
    return True


def _outside(value: object) -> object:
    """Lets names of runs, and lists of paths, lead out."""
    if isinstance(value, dict):
        return {
            key: ESCAPED
            if key == "run"
            else PATHS
            if key in ("folders", "made")
            else _outside(each)
            for key, each in value.items()
        }
    return value


if __name__ == "__main__":
    gc.disable()
    story, where = sys.argv[1:]
    damaging = Damaging(Rig(Path(where), BY_NAME[story]))
    sys.stdout.buffer.write(msgspec.json.encode(damaging.run()))
