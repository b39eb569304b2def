"""Lets two processes do something at the same moment, many times; run by the tests.

    python -m tests.crash.races RACE ROUNDS FOLDER

The report is a JSON list: of each round how both ended, sorted, and what was left.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from tests.crash.rig import Rig, approve
from tests.crash.stories import BY_NAME, Story, write
from tests.crash.sweep import killed
from tests.crash.trees import Tree, file, tree

from assent.app.engine import Engine
from assent.core.errors import AssentError
from assent.core.run.journal import drive_to_end
from assent.testing.call_trace import CallListener, CallTrigger, kill_process

Act = Callable[[Engine], str]


class Round(msgspec.Struct, frozen=True):
    """How both ended, and the facts that a test wants to know."""

    ends: tuple[str, ...]
    runs: int = 0
    approvals: int = 0
    genuine: int = 0
    spent: int = 0
    tree_is: str = ""


class Race:
    """A site, two acts, and how the site is put back before each round."""

    def __init__(self, folder: Path, story: Story) -> None:
        self.rig = Rig(folder, story)
        self.ready = self.rig.approved
        self.acts: tuple[Act, Act] = (self.build, self.build)
        self.trees: dict[str, Tree] = {"start": story.start, "finish": story.finish}
        self.keeps_key = True

    def build(self, engine: Engine) -> str:
        return drive_to_end(engine.runs.build(self.rig.plan_id)).outcome

    def round(self) -> Round:
        self.rig.restore(self.ready)
        if not self.keeps_key:
            (self.rig.site.state / "key").unlink()
        ends = tuple(sorted(at_once([partial(self._end, act) for act in self.acts])))
        engine = self.rig.open()
        record = self.rig.record(engine)
        found = self.rig.tree()
        return Round(
            ends,
            runs=len(record.runs),
            approvals=len(record.consents),
            genuine=sum(
                engine.approvals.is_trusted_signature(one.approval) for one in record.consents
            ),
            spent=sum(bool(one.run) for one in record.consents),
            tree_is="".join(name for name, wanted in self.trees.items() if wanted == found),
        )

    def _end(self, act: Act) -> str:
        try:
            return act(self.rig.open())
        except AssentError as error:
            return f"{error.word} {error.exit}"


def two_builds(folder: Path) -> Race:
    return Race(folder, BY_NAME["eight_operations"])


def two_recoveries(folder: Path) -> Race:
    """Both find a run that was killed between two renames."""
    race = Race(folder, BY_NAME["eight_operations"])

    def build(listen: CallListener) -> None:
        drive_to_end(race.rig.open(listen).runs.build(race.rig.plan_id))

    renames = CallTrigger(lambda name: name == "hands.rename_noreplace", at=3, act=kill_process)
    assert killed(build, renames)
    race.ready = race.rig.save()

    def recover(engine: Engine) -> str:
        return drive_to_end(engine.runs.recover()).outcome

    race.acts = (recover, recover)
    return race


def two_approvals(folder: Path) -> Race:
    """Both say yes to one digest; there is no key yet, so that both would make one."""
    race = Race(folder, BY_NAME["replace"])
    race.keeps_key = False

    def say_yes(engine: Engine) -> str:
        record = race.rig.record(engine)
        engine.approvals.approve(record, record.digest, "", "test")
        return "approved"

    race.acts = (say_yes, say_yes)
    return race


def two_plans(folder: Path) -> Race:
    """Each has a plan of its own, about other files."""
    return _with_another(folder, b"two.txt", {b"one.txt": b"one\n", b"two.txt": b"two\n"})


def two_plans_for_one_file(folder: Path) -> Race:
    """Each has a plan of its own, about the same file."""
    race = _with_another(folder, b"one.txt", {})
    for content in (b"one\n", b"two\n"):
        race.trees[content.decode().strip()] = tree({b"one.txt": file(content)})
    return race


def _with_another(folder: Path, path: bytes, both: dict[bytes, bytes]) -> Race:
    start = tree({b"one.txt": file(b"0\n"), b"two.txt": file(b"0\n")} if both else {})
    first = Story("one", start, (write(b"one.txt", b"one\n"),), start)
    race = Race(folder, first)
    second = Story("two", start, (write(path, b"two\n"),), start)
    other = approve(race.rig.site, second, name="other")
    race.ready = race.rig.save()
    race.trees["both"] = tree({name: file(content) for name, content in both.items()})

    def build_other(engine: Engine) -> str:
        return drive_to_end(engine.runs.build(other)).outcome

    race.acts = (race.build, build_other)
    return race


def at_once(works: list[Callable[[], str]]) -> list[str]:
    """Starts a process for each, lets all go at the same moment, and returns their answers."""
    gate, opener = os.pipe()
    answers = []
    for work in works:
        reading, writing = os.pipe()
        if not os.fork():
            os.close(opener)
            os.read(gate, 1)  # returns when the parent opens the gate
            os.write(writing, work().encode())
            os._exit(0)
        os.close(writing)
        answers.append(reading)
    os.close(gate)
    os.close(opener)
    heard = [_heard(reading) for reading in answers]
    for _ in works:
        _, status = os.wait()
        assert status == 0
    return heard


def _heard(reading: int) -> str:
    with open(reading, "rb") as pipe:
        return pipe.read().decode()


RACES: dict[str, Callable[[Path], Race]] = {
    race.__name__: race
    for race in (two_builds, two_recoveries, two_approvals, two_plans, two_plans_for_one_file)
}

if __name__ == "__main__":
    name, rounds, folder = sys.argv[1:]
    race = RACES[name](Path(folder))
    sys.stdout.buffer.write(msgspec.json.encode([race.round() for _ in range(int(rounds))]))
