"""Lets every call of a run fail, in the real program, and reads its answer; run by the tests.

    python -m tests.crash.failing_log VERB WHOSE CODE MANNER FOLDER

VERB is build, stream, approve, recover, undo or redo. WHOSE calls fail: `store` or `disk`, counted
from the first record of the run on. MANNER is once, sticky, or after, which lets an append reach
the disk before it fails. The report is one JSON object on stdout.
"""

import errno
import gc
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import active_count
from typing import Any, ClassVar

import msgspec
from tests.crash.rig import Rig
from tests.crash.stories import Story, delete, move, write
from tests.crash.sweep import in_child
from tests.crash.trees import Tree, file, tree

from assent.cli import main
from assent.core.event import JournalWritten
from assent.core.run.journal import FinishedEntry, HaltedEntry, drive_to_end
from assent.executor.disk import Disk
from assent.ports import EventBatch
from assent.store.files import system_error
from assent.store.sqlite import SqliteEventStore

STORE = ("append", "read", "read_all", "head", "heads", "streams", "last", "trace")
OLD, NEW = b"old content\n", b"new content\n"
STORY = Story(
    "four_kinds",
    tree({b"a.txt": file(OLD), b"b.txt": file(b"b\n"), b"in/c.txt": file(b"c\n")}),
    (
        write(b"a.txt", NEW),
        write(b"new/d.txt", b"d\n"),
        move(b"b.txt", b"new/b.txt"),
        delete(b"in/c.txt"),
    ),
    tree({b"a.txt": file(NEW), b"new/d.txt": file(b"d\n"), b"new/b.txt": file(b"b\n")}),
)


class Answer(msgspec.Struct, frozen=True):
    """What the program said and left."""

    exit: int
    out: str
    err: str
    fired: str
    tree: Tree


class Failed(msgspec.Struct):
    """How often a call failed, which answers came, and what has to be complained of."""

    fired: int = 0
    answers: dict[str, int] = {}
    complaints: list[str] = []


class Fault:
    """Lets call number `at` of a run fail, or all from there on."""

    now: "ClassVar[Fault | None]" = None  # the one of the program that runs

    def __init__(self, whose: str, code: int, manner: str, at: int) -> None:
        self.whose, self.code, self.manner, self.at = whose, code, manner, at
        self.begun, self.calls, self.fired = False, 0, ""

    def is_due(self, who: str, name: str, arguments: tuple[Any, ...]) -> bool:
        """Counts a call, and tells whether it is to fail."""
        self.begun = self.begun or (name == "append" and _begins(arguments))
        if not self.begun or who != self.whose:
            return False
        number, self.calls = self.calls, self.calls + 1
        return number == self.at or (self.manner == "sticky" and number > self.at)

    def fail(self, who: str, name: str, arguments: tuple[Any, ...]) -> None:
        self.fired = self.fired or f"{who}.{name}"
        error = OSError(self.code, os.strerror(self.code))
        if who == "store":
            raise system_error("write the log", "log.db", error)
        if name == "close":
            os.close(arguments[0])
        raise error


def install() -> None:
    """Lets the classes of the program tell the fault of every call."""
    for name in STORE:
        _watch(SqliteEventStore, name, "store")
    for name in [name for name in dir(Disk) if not name.startswith("_")]:
        _watch(Disk, name, "disk")


def _watch(kind: type, name: str, who: str) -> None:
    call: Callable[..., Any] = getattr(kind, name)
    if isinstance(vars(kind).get(name), staticmethod):
        plain, call = call, lambda thing, *arguments: plain(*arguments)

    def watched(thing: Any, *arguments: Any, **more: Any) -> Any:
        fault = Fault.now
        if fault is None or not fault.is_due(who, name, arguments):
            return call(thing, *arguments, **more)
        if fault.manner != "after" or name != "append":
            fault.fail(who, name, arguments)
        call(thing, *arguments, **more)
        fault.fail(who, name, arguments)
        raise AssertionError

    setattr(kind, name, watched)


def _begins(batches: tuple[EventBatch, ...]) -> bool:
    """Tells whether an append is one of a run: its first record, or that it is taken up."""
    return any(isinstance(event, JournalWritten) for batch in batches for event in batch.events)


class Failing:
    """One verb, made to fail at every call of its run."""

    def __init__(self, folder: Path, verb: str) -> None:
        self.rig, self.verb = Rig(folder, STORY), verb
        config = folder / "config" / "assent"
        config.mkdir(parents=True)
        (config / "config.toml").write_text("[approve]\nwithout_terminal = true\n")
        places = {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "HOME": "."}
        os.environ.update({name: str(folder / place) for name, place in places.items()})
        self.before, self.after = STORY.start, STORY.finish
        self.line = self._prepared()
        self.ready = self.rig.save()
        self.report = Failed()
        self.answers: Counter[str] = Counter()

    def _prepared(self) -> list[str]:
        rig = self.rig
        match self.verb:
            case "approve":
                rig.restore(rig.proposed)
                engine = rig.open()
                digest = rig.record(engine).digest
                engine.close()
                return ["approve", "--build", "--digest", digest, "--json"]
            case "recover":
                rig.build_killed_at("hands.rename_noreplace", 1)
                return ["recover", "--json"]
            case "undo" | "redo":
                rig.build()
                if self.verb == "redo":
                    engine = rig.open()
                    drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))
                    engine.close()
                self.before, self.after = rig.tree(), rig.story.start
                self.after = STORY.finish if self.verb == "redo" else STORY.start
                digest = in_child(self._preview, str)
                return [self.verb, "--digest", digest, "--json"]
            case "stream":
                return ["build", "--output-format", "stream-json"]
            case _:
                return ["build", "--json"]

    def _preview(self) -> str:
        engine = self.rig.open()
        undoing = engine.undo
        return (undoing.redo() if self.verb == "redo" else undoing.preview()).plan.digest

    def warm(self) -> None:
        """Does it once, as it should go: what it loads and keeps is at hand from the first try."""
        assert self._ran(Path(os.devnull), Path(os.devnull)) == 0
        gc.freeze()  # so that what one try leaves is soon found
        install()

    def _ran(self, out: Path, err: Path) -> int:
        """Runs the program in this very process, and waits until nothing of it is left.

        A process of its own for each of a thousand tries would take longer than the program does.
        """
        standing = [(number, os.dup(number)) for number in (1, 2)]
        try:
            return _ran(self.rig, self.line, out, err)
        finally:
            for number, copy in standing:
                os.dup2(copy, number)
                os.close(copy)
            gc.collect()  # an engine that is gone keeps no file open
            assert active_count() == 1, "a thread of one try would be there in the next one"

    def run(self, whose: str, code: int, manner: str) -> Failed:
        self.warm()
        for at in range(10_000):
            self.rig.restore(self.ready)
            answer = self._answer(Fault(whose, code, manner, at))
            place = f"{errno.errorcode[code]} {manner} at {at}, {answer.fired}"
            for complaint in self._complaints(answer):
                self.report.complaints.append(f"{place}: {complaint}")
            self.answers[str(answer.exit)] += 1
            if not answer.fired:
                break
            self.report.fired += 1
        self.report.answers = dict(self.answers)
        return self.report

    def _answer(self, fault: Fault) -> Answer:
        """Runs the program with a fault in it."""
        out, err = self.rig.folder / "out", self.rig.folder / "err"
        Fault.now = fault
        try:
            code = self._ran(out, err)
        finally:
            Fault.now = None
        return Answer(code, out.read_text(), err.read_text(), fault.fired, self.rig.tree())

    def _complaints(self, answer: Answer) -> list[str]:
        """Holds an answer against log and disk, and lets the next start end what is open."""
        engine = self.rig.open()
        log = [one for one in engine.log() if one.stream.startswith("run/")]
        run = log[-1].stream.rpartition("/")[2] if log else ""
        events = [one.event for one in log if one.stream.endswith(run)]
        entries = [event.entry for event in events if isinstance(event, JournalWritten)]
        began = bool(entries) and (self.verb == "recover" or self._is_new(run))
        found = []
        if "Traceback" in answer.err:
            found.append(answer.err)
        row = self._row(answer)
        if not began:
            if answer.exit == 0 or answer.tree != self.before:
                found.append(f"nothing began, exit {answer.exit}: {answer.err}")
        elif isinstance(entries[-1], FinishedEntry):
            done = entries[-1].outcome == "done"
            if (answer.exit, row.get("outcome")) != ((0, "done") if done else (1, "rolled_back")):
                found.append(f"over, exit {answer.exit}: {answer.out} {answer.err}")
        else:
            found += self._unfinished(answer, row, run, halted=isinstance(entries[-1], HaltedEntry))
        settled = drive_to_end(engine.runs.recover())
        wanted = {"done": self.after, "rolled_back": self.rig.story.start}
        if self.verb in ("undo", "redo"):
            wanted["rolled_back"] = self.before
        if settled.outcome in wanted and _files(self.rig.tree()) != _files(wanted[settled.outcome]):
            found.append(f"{settled.outcome} by recover, and it is not")
        engine.close()
        return found

    def _is_new(self, run: str) -> bool:
        return run.encode() not in b"".join(self.ready.log.values())

    def _unfinished(self, answer: Answer, row: Any, run: str, *, halted: bool) -> list[str]:
        found = []
        if answer.exit != 6 or row.get("run") != run or row.get("outcome") != "needs_you":
            found.append(f"unfinished, exit {answer.exit}: {answer.out} {answer.err}")
        if not any(each.startswith("assent recover") for each in row.get("next", ())):
            found.append(f"no way on: {answer.out} {answer.err}")
        results = [each["result"] for each in row.get("operations", ())]
        good = "undone" if self.verb == "undo" else "done"
        if not halted and _files(answer.tree) == _files(self.after) and set(results) != {good}:
            found.append(f"all of it stands, and it says {results}")
        if not halted and _files(answer.tree) == _files(self.before) and good in results:
            found.append(f"nothing of it stands, and it says {results}")
        return found

    def _row(self, answer: Answer) -> dict[str, Any]:
        lines = answer.out.splitlines()
        row: dict[str, Any] = msgspec.json.decode(lines[-1]) if lines else {}
        body: dict[str, Any] = row.get("body", row)
        return body


def _files(found: Tree) -> Tree:
    return {path: entry for path, entry in found.items() if entry.kind != "folder"}


def _ran(rig: Rig, line: list[str], out: Path, err: Path) -> int:
    """Runs the program in this process, lets it write to files, and returns its exit code."""
    for number, path in ((1, out), (2, err)):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(fd, number)
        os.close(fd)
    sys.argv = ["assent", "-C", str(rig.site.root), *line]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    gc.disable()
    verb, whose, code, manner, folder = sys.argv[1:]
    failing = Failing(Path(folder), verb)
    report = failing.run(whose, getattr(errno, code), manner)
    sys.stdout.buffer.write(msgspec.json.encode(report))
