"""Records a state directory with its workspaces: `python -m tests.record.make_state`, by hand.

It drives the program through its command line, with models that are scripts, and packs what is on
disk afterwards into `tests/record/state`. It is run again only where the program writes something
that no record has yet: what older programs wrote has to open for ever, so a new record stands
beside this one and does not replace it.
"""

import gzip
import io
import os
import re
import shutil
import signal
import tarfile
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from tests.cli.killed_build import DyingDisk, engine
from tests.cli.machines import Machines, key_of
from tests.cli.scripts import ALONE, Turn, turn, write
from tests.cli.terminal import Terminal
from tests.record.account import account
from tests.record.recorded import (
    ARCHIVE,
    BASE,
    MANIFEST,
    ODD,
    SETTINGS,
    WORKSPACES,
    Recorder,
    manifest,
    opened,
)

from assent.app.ports import HOST
from assent.cli import main as program

START = 1_767_258_000_000_000_000  # 2026-01-01T09:00:00Z, in nanoseconds
SOURCE = Path(__file__).resolve().parents[2]
KEY_NOTE = """TEST KEY. The file `key` beside this one signs nothing but recorded tests.

It was made for the record in tests/record, is public, and is trusted by nobody.
"""
# What belongs to the machine and not to the record, and comes back by itself.
MACHINE_OWN = ("sandbox.json", "locks", "store.lock", "log.db-wal", "log.db-shm", "mountpoints")
DOT = (  # a picture of one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEA"
    "X+XDSwAAAABJRU5ErkJggg=="
)
ANSWERS = {
    "once": "yes", "no": "no", "revoked": "session", "session": "session", "project": "project"
}  # fmt: skip
PROSE = "---\nscope:\n  files: [prose/*]\n---\n# Prose\n\n- [ ] Write it\n"
HOOKS, HOOK = ".opencode/assent.toml", b"[[hooks]]\non = 'before_tool'\nrun = ['./check.sh']\n"
ON_TERMINAL = """
from tests.record.make_state import on_terminal
on_terminal()
"""


def on_terminal() -> None:
    """Is the program on a terminal, at the time that the environment says."""
    recorder = Recorder(Path(BASE), int(os.environ["RECORD_NOW"]))
    HOST.set(recorder.machine)
    program()


class Story(Recorder):
    """What happened in the record, step by step."""

    def __init__(self) -> None:
        super().__init__(Path(BASE), START)
        for folder in ("home", "files"):
            (self.base / folder).mkdir(parents=True)
        self.config.parent.mkdir(parents=True)
        self.config.write_text(SETTINGS, encoding="utf-8")
        self.env |= ALONE

    def begin(self, name: str, **files: bytes) -> None:
        """Makes a workspace with files, and works in it."""
        self.enter(name)
        self.root.mkdir()
        for path, content in files.items():
            self.put(path.replace("__", "/").replace("_", "."), content)

    def begin_plan(self, name: str, **files: bytes) -> None:
        """Begins a plan that writes files."""
        self.ok("plan", "new", name, "--session", "by-hand", "--goal", f"The plan {name}")
        for path, content in files.items():
            self.write(path.replace("__", "/").replace("_", "."), content)

    def say(
        self,
        script: str,
        words: str,
        *options: str,
        turns: tuple[Turn, ...] = (),
        code: int = 0,
        **children: list[Turn],
    ) -> dict[str, Any]:
        """Says something to a model that answers from a script of its own."""
        file = self.root / "scripts" / f"{script}.json"
        if turns:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(msgspec.json.encode({"turns": turns, "children": children}))
        model = f"scripted:scripts/{script}.json"
        answer = self.run("-p", words, "--model", model, "--json", *options)
        assert answer.code == code, answer
        return answer.json

    def answer(self, said: str, *options: str) -> None:
        """Answers the one question that is open."""
        (row,) = self.ok("questions", "list")["questions"]
        self.ok("questions", "answer", row["id"], said, *options, "--digest", row["digest"])

    def kill(self, call: str, at: int) -> None:
        """Builds the current plan in a process that is killed before call number `at`."""
        plan_id = str(self.ok("plan", "show")["plan_id"])
        child = os.fork()
        if child == 0:
            os.environ |= self.env
            dying = engine(os.fsencode(self.root), DyingDisk(call, at), self.machine)
            for _ in dying.runs.build(plan_id):
                pass
            os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == -signal.SIGKILL, status

    def at_terminal(self, *arguments: str) -> Terminal:
        """Starts a command on a terminal of its own."""
        now = {"RECORD_NOW": str(self.machine.nanoseconds()), "PYTHONPATH": str(SOURCE)}
        return Terminal(self, *arguments, env=now, program=ON_TERMINAL)


def task(agent: str, number: int) -> tuple[str, dict[str, Any]]:
    """A model's call for a child."""
    return "task", {"prompt": f"Do {number}", "agent": agent, "description": f"Task {number}"}


def read(path: str) -> tuple[str, dict[str, Any]]:
    """A model's call for a file."""
    return "read", {"path": path}


def lives_of_plans(story: Story) -> None:
    """Plans in all states that need no accident, with notes, comments, rebase and a smaller one."""
    story.begin_plan("drafting", drafting_txt=b"not yet\n")
    story.ok("stage", "delete", "gone.txt")
    story.ok("stage", "move", "name.txt", "other.txt")
    story.ok("plan", "write", "-", stdin=b"# Drafting\n\nStill being written.\n")
    story.begin_plan("awaiting", awaiting_txt=b"soon\n", README_md=b"# Readme\n\nNew.\n")
    story.ok("stage", "run", "--", "true")
    story.ok("plan", "write", "-", stdin=b"# Awaiting\n\nOne line.\nAnother line.\n")
    story.propose()
    story.ok("review")
    story.ok("comment", "add", "plan:3", "Which line?")
    story.ok("comment", "add", "1", "Which file?")
    story.ok("comment", "add", "plan:4", "A third one")
    story.ok("comment", "remove", "3")
    story.begin_plan("rejected", rejected_txt=b"no\n")
    story.propose()
    story.ok("comment", "add", "1", "Not like this")
    story.ok("reject", "--note", "Use another name")
    story.begin_plan("revised", revised_txt=b"one\n")
    story.propose()
    story.write("revised.txt", b"two\n")
    story.begin_plan("rebased")
    lines = [b"line %d\n" % number for number in range(30)]
    story.put("long.txt", b"".join(lines))
    story.write("long.txt", b"".join([*lines[:5], b"ours\n", *lines[6:]]))
    story.propose()
    story.put("long.txt", b"".join([*lines[:25], b"theirs\n", *lines[26:]]))
    story.ok("rebase")
    story.begin_plan("smaller", small1_txt=b"one\n", small2_txt=b"two\n")
    story.propose()
    first = story.ok("review")["operations"][0]["id"]
    rest = story.ok("approve", "--without", first, "--dry-run")["digest"]
    story.ok("approve", "--without", first, "--digest", rest, "--note", "Only one of them")
    story.begin_plan("discarded", discarded_txt=b"never\n")
    story.ok("plan", "delete", "--plan", "discarded")
    story.begin_plan("declined", declined_txt=b"asked\n")
    story.propose()
    story.config.write_text("", encoding="utf-8")
    assert story.at_terminal("approve", "--json").answer(b"no\n").code == 4
    story.config.write_text(SETTINGS, encoding="utf-8")


def approvals(story: Story) -> None:
    """An approval that holds, one that was used, and two that expired, one of them noticed."""
    story.begin_plan("approved", approved__new_txt=b"new\n", a_txt=b"changed\n")
    story.ok("stage", "delete", "gone.txt")
    story.ok("stage", "move", "name.txt", "moved/name.txt")
    story.write(ODD, b"#!/bin/sh\n", "--mode", "755")
    digest = story.propose()
    story.ok("approve", "--digest", digest, "--note", "Go ahead")
    story.begin_plan("used", used_txt=b"used\n")
    story.build()
    for name in ("lapsed", "expired"):
        story.begin_plan(name, **{f"{name}_txt": b"late\n"})
        story.ok("approve", "--digest", story.propose(), "--expires", "15m")
    story.later(3600)
    assert story.run("build", "--json").code != 0


def runs(story: Story) -> None:
    """Runs that were undone, redone, taken back in part, and given up."""
    story.put("kept.txt", b"old\n")
    story.begin_plan("redone", redone_txt=b"redone\n", kept_txt=b"new\n")
    story.build()
    assert story.undo().code == 0
    digest = story.ok("redo", "--dry-run")["digest"]
    story.ok("redo", "--digest", digest)
    story.begin_plan("undone", undone_txt=b"undone\n")
    story.build()
    assert story.undo().code == 0
    story.begin_plan("partly", partly1_txt=b"one\n", partly2_txt=b"two\n")
    story.build()
    story.put("partly1.txt", b"changed by somebody\n")
    assert story.undo().code == 1
    story.begin_plan("part", part1_txt=b"one\n", part2_txt=b"two\n")
    story.build()
    assert story.undo("--operation", "1").code == 0
    story.begin_plan("forgotten", forgotten_txt=b"old\n")
    run = story.build()["run"]
    story.ok("runs", "delete", run, "--force")
    story.begin_plan("evident", evident_txt=b"seen\n")
    story.build()
    story.ok("export", "--out", str(story.base / "files" / "evidence.json"))


def commands(story: Story) -> None:
    """Plans with commands: one that was done, and one that failed and was rolled back."""
    story.begin_plan("commanded", before_txt=b"before\n")
    story.ok("stage", "run", "--script", "echo made > made.txt")
    story.write("after.txt", b"after\n")
    story.build()
    story.begin_plan("rolled_back")
    story.ok("stage", "run", "--undo", "rm back.txt", "--script", "echo back > back.txt")
    story.ok("stage", "run", "--script", "exit 3")
    story.approve()
    assert story.run("build", "--json").code == 6
    assert story.run("recover", "--roll-back", "--json").code == 1


def travels(story: Story) -> None:
    """Bundles: one that leaves, and two of another machine, of which one was built here."""
    files = story.base / "files"
    story.begin_plan("portable", portable_txt=b"far\n")
    story.ok("propose", "--portable", "--out", str(files / "portable.json"))
    for name in ("imported", "waiting"):
        elsewhere = Machines(story.base / "elsewhere" / name)
        elsewhere.file = files / f"{name}.json"
        elsewhere.planner.ok("plan", "new", name, "--session", "elsewhere", "--goal", "From afar")
        elsewhere.planner.write(f"{name}.txt", b"from afar\n")
        elsewhere.pack()
        elsewhere.approve()
        story.ok("keys", "trust", key_of(elsewhere.person), "--name", name)
    story.ok("build", str(files / "imported.json"))
    story.ok("keys", "trust", "ab" * 32, "--name", "gone")
    story.ok("keys", "revoke", "gone")


def sessions(story: Story) -> None:
    """Sessions with children, todos, a plan of the model's, permits, grants and everything else."""
    story.put("dot.png", b64decode(DOT))
    steps = [{"content": "Look", "status": "completed"}, {"content": "Write", "status": "pending"}]
    text = {"text": "# Greet\n\nGreet people.\n"}
    story.say(
        "plan",
        "Plan a greeting",
        turns=(
            turn("", task("explore", 1), task("explore", 2), ("todo", {"todos": steps})),
            turn("I plan.", ("write_plan", text), write("greeting.txt", "hello\n")),
            turn("Here it is.", ("present_plan", {}), reasoning="It is complete."),
        ),
        code=3,
        explore=[turn("Looking.", read("README.md"), read("dot.png")), turn("Seen.")],
    )
    kept = [("remember", {"fact": fact}) for fact in ("The tests are slow.", "Nobody needs it.")]
    story.say(
        "free",
        "Work freely",
        "--mode",
        "yolo",
        turns=(
            turn("", write("free.txt", "one\n"), ("shell", {"command": "echo two > two.txt"})),
            turn("", *kept),
            turn("Once more.", fault="overloaded"),
            turn("", write("free.txt", "more\n")),
            turn("More."),
        ),
    )
    story.say("free", "And more", "-c")
    facts = story.ok("memory", "list")["facts"]
    story.ok("memory", "forget", facts[-1]["fact"])
    story.ok("sessions", "rewind", "work-freely")
    story.ok("sessions", "rename", "work-freely", "Free work")
    story.ok("sessions", "fork", "work-freely")
    story.ok("sessions", "pause", "work-freely", "--reason", "Lunch")
    story.say("gone", "Delete me", turns=(turn("Fine."),))
    story.ok("sessions", "delete", "delete-me")


def questions(story: Story) -> None:
    """Questions: answered once, for a session and for the project; revoked; of a child; open."""
    later = ("--mode", "ask", "--ask-later")
    for name, said in ANSWERS.items():
        turns = (turn("", ("shell", {"command": f"touch {name}.txt"})), turn("Done."))
        story.say(name, f"Ask {name}", *later, turns=turns, code=4)
        (row,) = story.ok("questions", "list")["questions"]
        always = row["questions"][0]["always"] if said in ("session", "project") else ()
        story.answer(said, *(word for one in always for word in ("--pattern", one["pattern"])))
        story.run("-p", "", "-c", "--model", f"scripted:scripts/{name}.json", "--json")
    (gone,) = [row for row in story.ok("rules", "list")["grants"] if row["slug"] == "ask-revoked"]
    story.ok("rules", "revoke", gone["id"])
    child = [turn("", write("child.txt", "child\n")), turn("Written.")]
    turns = (turn("", task("general", 1)), turn("Thanks."))
    story.say("child", "Ask by a child", *later, turns=turns, code=4, general=child)
    turns = (turn("", write("open.txt", "open\n")), turn("Written."))
    story.say("open", "Ask and wait", *later, turns=turns, code=4)


def prose(story: Story) -> None:
    """A plan of prose that a model carried out, and one whose build it did not bring to an end."""
    for name, ends in (("prose", [turn("Built.")]), ("unfinished", [])):
        planned = (turn("", ("write_plan", {"text": PROSE})), turn("", ("present_plan", {})))
        built = (turn("", write(f"prose/{name}.txt", "prose\n")), *ends)
        digest = story.say(name, f"Write {name}", turns=(*planned, *built), code=3)["digest"]
        story.ok("approve", "--digest", digest)
        model = f"scripted:scripts/{name}.json"
        assert story.run("build", "--model", model, "--json").code == (0 if ends else 1)


def long_talk(story: Story) -> None:
    """A session that outgrew its model, and so became a summary."""
    turns = (turn("word " * 100_000, read("README.md")), turn("Done."))
    story.say("long", "Talk much", turns=turns)
    (story.root / "scripts" / "long.json").unlink()


def trusts(story: Story) -> None:
    """A file of a project that is trusted, and one that was and is not any more."""
    for name in ("project", "lost"):
        story.enter(name)
        story.put(HOOKS, HOOK)
        story.ok("trust", "give", HOOKS, "--digest", sha256(HOOK).hexdigest())
    story.enter("project")
    story.ok("trust", "revoke", HOOKS)
    (story.root / HOOKS).unlink()


def accidents(story: Story) -> None:
    """A run that was killed, one that halted, slots of an unknown run, and a folder that moved."""
    for name, call in (("begun", "write"), ("interrupted", "rename"), ("halted", "rename")):
        story.begin(name, one=b"old one\n", two=b"old two\n")
        story.begin_plan(name, one=b"new one\n", two=b"new two\n", new__three=b"three\n")
        story.approve()
        story.kill(call, 1)
    for name in ("one", "two"):
        story.put(name, b"mine\n")
    assert story.run("recover", "--json").code == 6
    story.begin("lost", one=b"old one\n", two=b"old two\n")
    own = story.env["XDG_STATE_HOME"]
    story.env["XDG_STATE_HOME"] = str(story.base / "elsewhere" / "state")
    story.begin_plan("lost", one=b"new one\n", two=b"new two\n")
    story.approve()
    story.kill("rename", 1)
    story.env["XDG_STATE_HOME"] = own
    story.run("recover", "--accept", "--json")
    story.ok("plan", "list")  # takes in the plan, whose file is all that is left of it
    story.begin("before", a_txt=b"a\n", **{"_git__HEAD": b"ref: refs/heads/main\n"})
    story.begin_plan("moved", a_txt=b"moved\n")
    os.rename(story.base / "before", story.base / "moved")
    story.enter("moved")
    story.approve()


def pack(base: Path, archive: Path) -> None:
    """Packs what belongs to the record, in one order and with nothing of this machine."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in ("config", "files", "state", *WORKSPACES):
            tar.add(base / name, name, filter=_neutral)
        note = tarfile.TarInfo("state/assent/KEY-IS-A-TEST-KEY.txt")
        note.size, note.mode = len(KEY_NOTE), 0o600
        tar.addfile(note, io.BytesIO(KEY_NOTE.encode()))
    with archive.open("wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as squeezed:
        squeezed.write(packed.getvalue())


def _neutral(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if member.name.rpartition("/")[2] in MACHINE_OWN:
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = START // 1_000_000_000
    return member


PARTS = (
    lives_of_plans, approvals, runs, commands, travels, sessions, questions, prose, long_talk,
    accidents, trusts,
)  # fmt: skip


def main() -> None:
    """Records everything anew."""
    shutil.rmtree(BASE, ignore_errors=True)
    story = Story()
    HOST.set(story.machine)
    story.begin(
        "project", README_md=b"# Readme\n", a_txt=b"a\n", gone_txt=b"gone\n", name_txt=b"name\n"
    )
    for part in PARTS:
        print(part.__name__, flush=True)
        HOST.set(story.machine)  # also for those elsewhere
        part(story)
    pack(story.base, ARCHIVE)
    host = rb"[ \"@:]%s[ \".:]" % re.escape(gethostname().encode())
    assert not re.search(host, gzip.decompress(ARCHIVE.read_bytes()))
    MANIFEST.write_bytes(b'{"end":%d}' % story.machine.nanoseconds())
    with TemporaryDirectory() as folder:
        told = {**manifest(), **account(opened(Path(folder)))}
    MANIFEST.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
    shutil.rmtree(BASE)


if __name__ == "__main__":
    main()
