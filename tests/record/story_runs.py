"""Chapters about runs: built, taken back, stopped in the middle, recovered, interrupted."""

from tests.record.program import Machine, Record, in_form

LARGE = 4 << 16  # bytes: four times what a pipe holds
NOBODY_S = "01m7jyc2k8nx06xxefq8gqv5yp"  # a run that no log knows
NEVER = 600_000  # milliseconds: nobody waits so long for an answer


def plan(machine: Machine, name: str, *scripts: str, **files: str) -> str:
    """Makes and proposes a plan of files, by name, and of commands; returns its digest."""
    machine.do("plan", "new", name, "--session", "story", "--goal", "Work")
    for path, content in files.items():
        machine.do("stage", "write", path, "--from", "-", stdin=content)
    for script in scripts:
        machine.do("stage", "run", "--no-sandbox", "--script", script)
    return str(machine.do("propose")["digest"])


def approve(machine: Machine, name: str, *scripts: str, **files: str) -> None:
    """Makes, proposes and approves a plan."""
    machine.do("approve", "--digest", plan(machine, name, *scripts, **files))


def building(tell: Record) -> None:
    """Runs that come to their end, and how they are taken back."""
    here = tell.machine
    here.put("one", "1\n")
    tell("runs-list-empty", "runs", "list")
    tell("recover-nothing", "recover")
    approve(here, "first", one="one\n", two="two\n")
    run = tell("build", "build")["run"]
    tell("build-spent", "build", code=4)
    tell("status-completed", "status")
    tell("runs-list", "runs", "list")
    tell("runs-show", "runs", "show", run)
    preview = tell("undo-dry-run", "undo", "--dry-run")["digest"]
    tell("undo-which", "undo", "--dry-run", "--digest", preview, code=2)
    tell("undo-declined", "undo", "--no-input", code=4)
    tell("undo", "undo", "--digest", preview)
    tell("status-undone", "status")
    tell("undo-again", "undo", run, code=5)
    again = tell("redo-dry-run", "redo", "--dry-run")["digest"]
    tell("redo", "redo", "--digest", again, form="stream-json")
    one = tell("undo-operation-dry-run", "undo", run, "--operation", "1", "--dry-run")["digest"]
    tell("undo-operation", "undo", run, "--operation", "1", "--digest", one)
    here.put("two", "mine\n")
    tell("undo-conflict", "undo", run, code=5)
    tell("runs-list-undone", "runs", "list")
    digest = plan(here, "second", three="3\n", four="4\n")
    tell("approve-build-stream", "approve", "--digest", digest, "--build", form="stream-json")
    here.put("three", "mine\n")
    partial = tell("undo-partial-dry-run", "undo", "--dry-run")["digest"]
    tell("undo-partial", "undo", "--digest", partial, form="stream-json", code=1)
    tell("status-partly-undone", "status")
    digest = plan(here, "third", "touch made; echo done", five="5\n")
    tell("review-command", "review")
    ran = tell("approve-build", "approve", "--digest", digest, "--build")["run"]
    tell("runs-show-command", "runs", "show", ran)
    tell("undo-command-dry-run", "undo", "--dry-run")
    tell("runs-delete-which", "runs", "delete", code=2)
    tell("runs-delete-declined", "runs", "delete", run, "--no-input", code=4)
    tell("runs-delete", "runs", "delete", run, "--force")
    tell("runs-delete-unused", "runs", "delete", "--unused")
    tell("runs-list-given-up", "runs", "list")
    tell("undo-given-up", "undo", run, code=1)
    tell("log", "log")
    tell("log-decisions", "log", "--decisions")
    tell("log-after", "log", "--after", "5")
    tell("log-verify", "log", "--verify")
    tell("log-verify-and-after", "log", "--verify", "--after", "5", code=2)


def stopping(tell: Record) -> None:
    """Runs that stop at a command, and the three ways on."""
    here = tell.machine
    approve(here, "first", "cat wanted", "echo last", one="one\n")
    tell("build-stopped", "build", code=6)
    tell("status-stopped", "status")
    tell("waiting-stopped", "waiting")
    tell("recover", "recover", code=6)
    tell("recover-which", "recover", "--resume", "--accept", code=2)
    tell("build-again", "build", code=6)
    tell("approve-build-again", "approve", "--build", code=6)
    tell("recover-resume-stopped", "recover", "--resume", code=6)
    here.put("wanted", "here\n")
    tell("recover-resume", "recover", "--resume", form="stream-json")
    approve(here, "second", "false", two="two\n")
    tell("build-stopped-stream", "build", form="stream-json", code=6)
    tell("recover-stream", "recover", form="stream-json", code=6)
    tell("recover-roll-back", "recover", "--roll-back", code=1)
    tell("status-rolled-back", "status")
    here.do("plan", "new", "third", "--session", "story", "--goal", "Work")
    here.do("stage", "run", "--no-sandbox", "--undo", "rm made", "--script", "touch made")
    here.do("stage", "run", "--no-sandbox", "--script", "exit 3")
    digest = here.do("propose")["digest"]
    here.do("approve", "--digest", digest)
    run = here.do("build", code=6)["run"]
    tell("recover-roll-back-stream", "recover", "--roll-back", form="stream-json", code=1)
    tell("runs-show-rolled-back", "runs", "show", run)
    approve(here, "fourth", "exit 4", three="3\n")
    here.do("build", code=6)
    tell("recover-accept", "recover", "--accept")
    tell("status-accepted", "status")
    tell("runs-list", "runs", "list")
    tell("log", "log")


def losing(tell: Record) -> None:
    """State that is lost or damaged, so that nothing tells whose a slot is, or what a file was."""
    here = tell.machine
    slot = f".opencode/assent/stage/{NOBODY_S}"
    here.put(f"{slot}/0.old", "old\n")
    tell("status-slots", "status")
    tell("recover-slots", "recover", code=6)
    tell("recover-slots-resume", "recover", "--resume", code=6)
    digest = plan(here, "first", one="one\n")
    tell("approve-build-slots", "approve", "--digest", digest, "--build", code=6)
    tell("recover-slots-accept", "recover", "--accept")
    here.put(f"{slot}/0.old", "old\n")
    tell("recover-slots-roll-back", "recover", "--roll-back")
    blobs = here.base / "state" / "assent" / "blobs"
    for file in (*blobs.glob("*/*"), blobs / "small"):
        file.unlink()
    tell("lost-contents", "review", code=1)


def interrupting(tell: Record) -> None:
    """What is left when a person presses Ctrl-C."""
    here = tell.machine
    here.do("plan", "new", "work", "--goal", "Work")
    line = in_form(("stage", "write", "a", "--from", "-"), "json")
    tell.keep("interrupted", line, here.interrupted(*line, feed=LARGE), 130)
    here.script({"text": "Never said.", "delay_ms": NEVER}, {"text": "Said."})
    goal = in_form(("-p", "Do it", "--model", here.model), "stream-json")
    said = here.interrupted(*goal, until='"step_started"')
    tell.keep("interrupted-turn", goal, said, 130)
    tell("sessions-list", "sessions", "list")
    tell("sessions-resume", "sessions", "resume")
