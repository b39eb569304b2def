"""The whole story in a real terminal: from a goal to an undo, on the screen and on disk."""

from pathlib import Path
from typing import Any

from tests.cli.harness import Found, World
from tests.cli.scripts import PRESENT, turn, write
from tests.tui.tmux import OPEN, SLOW_S, Terminal, Tmux, needs_tmux, scripted

from assent.cli.tui import CONTINUE_LAST

pytestmark = needs_tmux

CHECK = "test -e ready || { echo it is not ready; exit 3; }; cat ready >> log.txt"
QUESTION = {
    "question": "Which greeting is right?",
    "header": "Greeting",
    "options": [
        {"label": "Hello", "description": "short"},
        {"label": "Good day", "description": "polite"},
    ],
}
FIRST = "# Greet the world\n\nSay hello in greet.py.\n\nKeep notes.\n"
SECOND = "# Greet the world\n\nSay good day in greet.py.\n\nKeep notes.\n"
TURNS = (
    turn("One thing first.", ("question", {"questions": [QUESTION]})),
    turn(
        "Then I plan.",
        ("write_plan", {"text": FIRST}),
        write("greet.py", 'print("Hello")\n'),
        write("notes.txt", "notes\n"),
        ("shell", {"command": CHECK, "stage": True}),
    ),
    turn("Here it is.", PRESENT),
    turn(
        "Better.",
        ("write_plan", {"text": SECOND}),
        write("greet.py", 'print("Good day, world")\n'),
    ),
    turn("Here it is again.", PRESENT),
    turn("All of it is done."),
)


class Story:
    """A person at a terminal, and a second look at the same workspace from outside."""

    def __init__(self, world: World, terminal: Terminal) -> None:
        self.world = world
        self.terminal = terminal
        self.before: dict[bytes, Found] = world.files()

    def plan(self) -> dict[str, Any]:
        return self.world.ok("plan", "show")

    def session(self) -> dict[str, Any]:
        (session,) = self.world.ok("sessions", "list")["sessions"]
        return dict(session)

    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.world.ok("log")["events"]]

    def told(self) -> list[str]:
        """Returns what the model was told, besides what tools answered."""
        events = [
            event for event in self.world.ok("log")["events"] if event["kind"] == "message_added"
        ]
        return [str(event) for event in events]

    def content(self, name: str) -> bytes:
        return (self.world.root / name).read_bytes()


def test_f37_f38_f39_f57_f58_the_whole_story(server: Tmux, tmp_path: Path) -> None:
    world = World(tmp_path)
    scripted(world, *TURNS)
    world.put("README.md", b"# A project\n")
    world.git("init", "-q")
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "one")
    story = Story(world, server.open(world, "assent"))
    answers(story)
    comments(story)
    revises(story)
    approves(story)
    halts(story)
    resumes(story)
    undoes(story)
    leaves(story)


def answers(story: Story) -> None:
    """A goal is typed, the model asks, and its question is answered in the panel."""
    screen = story.terminal
    screen.shows(OPEN)
    screen.mode("plan")
    screen.enter("Greet the world")
    screen.shows("Which greeting is right?", "1 ( ) Hello: short", "Enter send")
    (waiting,) = story.world.ok("questions", "list")["questions"]
    assert waiting["session"]
    chosen = "2 (•) Good day: polite"
    screen.answer("2", chosen)
    assert story.world.ok("questions", "list")["questions"] != []
    presented = "Plan greet_the_world · Waiting for approval"
    screen.send(chosen, "Enter", presented)
    assert story.world.ok("questions", "list")["questions"] == []
    assert story.plan()["state"] == "AWAITING_APPROVAL"
    assert story.world.files() == story.before


def comments(story: Story) -> None:
    """Two comments are written, to a line of the plan's text and to a line of a diff."""
    screen = story.terminal
    screen.shows("▸ Risks", "1 approve (rest first")
    screen.answer("End", "1 approve · 2 feedback")
    screen.answer("Home", "▸ Risks")
    screen.press(*["Down"] * 13)  # past a risk of two lines, two hints and the tree of files
    screen.shows("▸ │ Say hello in greet.py.")
    comment(screen, "Be polite.")
    screen.shows("1 pending, sent with feedback")
    screen.answer("Down", "Be polite.")  # it is below the last row
    screen.answer("]", "▸ 1. create greet.py", anew=("Home", "]"))
    screen.press(*["Down"] * 2)
    screen.shows('▸ 1 +print("Hello")')
    comment(screen, "Name the world.")
    screen.shows("Name the world.", "2 pending, sent with feedback")
    kept = story.world.ok("comment", "list")["comments"]
    assert [(one["about"], one["quote"], one["text"]) for one in kept] == [
        (None, ["Say hello in greet.py."], "Be polite."),
        ("write greet.py", ['+print("Hello")'], "Name the world."),
    ]
    seen = ("What should change?", "Be polite.", "Name the world.", "Enter send")
    screen.answer("2", *seen, every=SLOW_S)
    screen.write("Two more things.")
    screen.breathe()  # an Enter right behind a letter would be part of a paste
    screen.press("Enter")


def comment(screen: Terminal, words: str) -> None:
    """Writes a comment to the line under the cursor."""
    screen.answer("c", "Enter save", every=SLOW_S)
    screen.write(words)
    screen.breathe()  # an Enter right behind a letter would be part of a paste
    screen.press("Enter")
    screen.hides("Enter save")


def revises(story: Story) -> None:
    """The model got everything as one request; its new plan says what changed."""
    screen = story.terminal
    shown = screen.shows(
        "1 approve (rest first", "changed    Since your last review: 1 added, text edited"
    )
    screen.answer("NPage", "-Say hello in greet.py.", "+Say good day in greet.py.")
    kinds = story.kinds()
    assert (kinds.count("plan_rejected"), kinds.count("comments_sent")) == (1, 1)
    (request,) = [said for said in story.told() if "Two more things." in said]
    assert "Be polite." in request
    assert "Name the world." in request
    assert story.session()["mode"] == "plan"
    assert story.plan()["digest"][:12] in shown


def approves(story: Story) -> None:
    """One operation is left out; what is left is read to its end and approved."""
    screen = story.terminal
    whole = story.plan()["digest"]
    screen.answer("]", "▸ 1. create greet.py", anew=("Home", "]"))
    screen.answer("]", "▸ 2. create notes.txt", anew=("Home", "]", "]"))
    screen.answer("Space", "[excluded] 2. create notes.txt", "excluded   2. create notes.txt")
    screen.answer("w", "· without excluded", "(rest first")
    screen.answer("End", "1 approve ·")
    shown = screen.answer("1", "without excluded operations?", "y approve and build")
    assert whole not in shown
    assert "plan_approved" not in story.kinds()
    assert story.world.files() == story.before
    screen.decide("1", "y approve and build", "y", "Build: ")


def halts(story: Story) -> None:
    """The build stops where its command fails, and offers the ways on."""
    screen = story.terminal
    screen.shows("needs your decision", "│ it is not ready", "1 resume · 2 roll back · 3 accept")
    kinds = story.kinds()
    assert [kinds.count(kind) for kind in ("operations_declined", "plan_approved")] == [1, 1]
    assert kinds[-1] == "run_halted"
    assert story.content("greet.py") == b'print("Hello")\n'
    assert b"notes.txt" not in story.world.files()
    halted = "│ halted │"
    last = (
        screen.answer("Escape", "Build: needs your decision: /recover.", halted, OPEN)
        .rstrip()
        .splitlines()[-1]
    )
    assert halted in last


def resumes(story: Story) -> None:
    """The person mends the cause with a command of their own, and the run goes on."""
    screen = story.terminal
    screen.breathe()  # what is typed right after a panel that decides goes nowhere
    screen.enter("!echo now > ready")
    screen.shows("! echo now > ready", "Exit code 0. Changed: ready.")
    assert story.content("ready") == b"now\n"
    screen.enter("/run")
    screen.shows("1 resume")
    screen.decide("1", "Resume where it stopped?", "C-y", "Recover: done", "Ctrl+Z undo")
    assert story.content("greet.py") == b'print("Good day, world")\n'
    assert story.content("log.txt") == b"now\n"
    assert b"notes.txt" not in story.world.files()
    assert story.kinds()[-1] == "run_ended"


def undoes(story: Story) -> None:
    """The run is taken back after its preview was read; the files are as they were."""
    screen = story.terminal
    screen.answer("C-z", "1 undo (rest first", "undo         2 operations")
    screen.answer("End", "End of plan.")
    screen.hides("(rest first")
    screen.answer("1", "Undo exactly this?")
    assert story.content("log.txt") == b"now\n"
    screen.decide("1", "Undo exactly this?", "y", "Undo: done")
    ready = story.world.files().pop(b"ready")  # the person's own
    assert story.world.files() == {**story.before, b"ready": ready}


def leaves(story: Story) -> None:
    """Two keys end it, and say how to go on."""
    screen = story.terminal
    screen.answer("Escape", "Undo: done.", "│ undone │", OPEN)
    assert f"{CONTINUE_LAST} assent -r greet-the-world" in screen.leave()
