"""A rig: one site with one approved plan, that can be put back to that moment again and again."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from tests.crash.stories import Story
from tests.crash.trees import Entry, Tree, look, plant, seen, wipe
from tests.support import forked_python

from assent.app.engine import Engine
from assent.core.errors import AssentError
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.runs.run_status import RunReport
from assent.testing.call_trace import CallListener, ignore_call
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

STAGE = b".opencode/assent/stage"
UMASK = 0o022
PROGRAM = (sys.executable, "-c", "from assent.cli import main; main()")


class Answer(msgspec.Struct, frozen=True):
    """What the program answered: its exit code and its one object, from stdout or else stderr."""

    exit: int
    json: dict[str, Any]

    @property
    def told(self) -> str:
        """Everything in the answer that is text."""
        return msgspec.json.encode(self.json).decode()


class Moment(msgspec.Struct, frozen=True):
    """A site at rest: every file of the workspace and of the log."""

    tree: Tree
    log: dict[str, bytes]
    blobs: dict[str, Entry]
    spares: Tree


class Rig:
    """A workspace and a state folder below one folder."""

    def __init__(self, folder: Path, story: Story, text: bytes = b"") -> None:
        os.umask(UMASK)
        self.story = story
        self.folder = folder
        self.site = EngineFixture(folder / "work", folder / "state" / "assent")
        self.root = os.fsencode(self.site.root)
        self.spares = os.fsencode(self.site.state / "spares")
        self.site.root.mkdir(exist_ok=True)
        plant(self.root, story.start)
        self.plan_id = propose(self.site, story, text, "story")
        self.proposed = self.save()
        engine = self.open()
        say_yes(engine, self.plan_id)
        engine.close()
        self.approved = self.save()

    def save(self) -> Moment:
        """Returns the site as it is; nobody may be at work there."""
        log = {path.name: path.read_bytes() for path in self._log()}
        log.pop("log.db-shm", None)  # SQLite makes it anew from the others
        spares = seen(self.spares, without=b"") if os.path.exists(self.spares) else {}
        blobs = {blob: look(os.fsencode(blob)) for blob in self._blobs()}
        return Moment(seen(self.root, without=b""), log, blobs, spares)

    def restore(self, moment: Moment) -> None:
        """Puts the site back; the root keeps its inode, by which Assent knows a workspace."""
        wipe(self.root)
        plant(self.root, moment.tree)
        for path in self._log():
            path.unlink()
        for name, content in moment.log.items():
            (self.site.state / name).write_bytes(content)
        there = self._blobs()
        for blob in there.keys() - moment.blobs.keys():
            os.unlink(blob)
            with suppress(OSError):
                os.rmdir(os.path.dirname(blob))
        blobs = moment.blobs.items()
        same = {blob for blob, was in blobs if there.get(blob) == len(was.content)}
        for blob in moment.blobs.keys() - same:  # a shared one may have grown
            Path(blob).parent.mkdir(mode=0o700, exist_ok=True)
            Path(blob).write_bytes(moment.blobs[blob].content)
            os.chmod(blob, moment.blobs[blob].mode)
        if os.path.exists(self.spares):
            wipe(self.spares)
            plant(self.spares, moment.spares)

    def _log(self) -> list[Path]:
        names = os.listdir(self.site.state)
        return [self.site.state / name for name in names if name.startswith("log.db")]

    def _blobs(self) -> dict[str, int]:
        """Returns the files of the contents, with their sizes."""
        top = self.site.state / "blobs"
        found = [*os.scandir(top)] if top.exists() else []  # small ones share a file at the top
        found += [one for folder in found if folder.is_dir() for one in os.scandir(folder)]
        return {one.path: one.stat().st_size for one in found if one.is_file()}

    def tree(self) -> Tree:
        """Returns the person's files."""
        return seen(self.root)

    def leftovers(self) -> list[bytes]:
        """Returns what lies in slots, wherever they are."""
        everything = seen(self.root, without=b"")
        return [p for p in everything if p.startswith(STAGE + b"/") or b".assent-" in p]

    def open(self, listen: CallListener = ignore_call) -> Engine:
        return open_engine_fixture(self.site, listen)

    def record(self, engine: Engine) -> PlanRecord:
        return engine.plans.find(self.plan_id)

    def command(self, *arguments: str) -> Answer:
        """Runs the real program in a process of its own, and reads its JSON."""
        return command(self.folder, self.site.root, *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts the real program and does not wait for it."""
        line = [*PROGRAM, "-C", str(self.site.root), *arguments]
        quiet = subprocess.DEVNULL
        return forked_python.Popen(line, env=environment(self.folder), stdout=quiet, stderr=quiet)

    def said(self, *arguments: str) -> str:
        """Runs the real program and returns what it says to a person, and to stderr."""
        ran = program(self.folder, self.site.root, *arguments)
        return (ran.stdout + ran.stderr).decode()

    def build_killed_at(self, moment: str, at: int) -> Tree:
        """Builds in a process that is killed right before a call; returns what that leaves."""
        driver = ("tests.crash.dying", moment, str(at), str(self.folder), self.plan_id)
        ran = forked_python.run([sys.executable, "-m", *driver], check=False)
        assert ran.returncode == -signal.SIGKILL
        return self.tree()

    def build(self, listen: CallListener = ignore_call) -> RunReport:
        """Builds the plan with an engine of its own."""
        engine = self.open(listen)
        try:
            return drive_to_end(engine.runs.build(self.plan_id))
        finally:
            engine.close()


def command(folder: Path, root: Path, *arguments: str) -> Answer:
    """Runs the real program on a workspace, with the state and configuration in a folder."""
    ran = program(folder, root, *arguments, "--json")
    spoken = ran.stdout or ran.stderr
    return Answer(ran.returncode, msgspec.json.decode(spoken) if spoken else {})


def program(folder: Path, root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the real program to its end."""
    line = [*PROGRAM, "-C", str(root), *arguments]
    return forked_python.run(
        line, env=environment(folder), capture_output=True, timeout=60, check=False
    )


def environment(folder: Path) -> dict[str, str]:
    """Returns the variables that let the program keep everything in a folder."""
    places = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    return {**os.environ, "HOME": str(folder), **places}


def approve(site: EngineFixture, story: Story, text: bytes = b"", name: str = "story") -> str:
    """Makes the story's plan, proposes and approves it; returns its id."""
    plan_id = propose(site, story, text, name)
    engine = open_engine_fixture(site)
    try:
        say_yes(engine, plan_id)
    finally:
        engine.close()
    return plan_id


def say_yes(engine: Engine, plan_id: str) -> None:
    record = engine.plans.find(plan_id)
    engine.approvals.approve(record, record.digest, "", "test")


def propose(site: EngineFixture, story: Story, text: bytes, name: str) -> str:
    """Makes the story's plan and proposes it; returns its id."""
    engine = open_engine_fixture(site)
    try:
        plan_id = engine.plans.new(name, "crash", story.name).plan_id
        if text:
            engine.plans.write(engine.plans.find(plan_id), text)
        for step in story.steps:
            step(engine.drafts, engine.plans.find(plan_id))
        engine.approvals.propose(engine.plans.find(plan_id))
    finally:
        engine.close()
    return plan_id


def exit_code(engine: Engine, plan_id: str) -> int:
    """Builds once more and returns what the command line would exit with."""
    try:
        drive_to_end(engine.runs.build(plan_id))
    except AssentError as error:
        return error.exit
    return 0
