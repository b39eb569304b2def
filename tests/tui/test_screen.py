"""The screen as a whole: what is said, heard, opened and dropped, with a real engine below."""

import re
from threading import Event

import pytest
from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from textual.events import Key, Paste

from assent.core.errors import UsageError
from assent.core.llm import ReasoningPart, StreamDelta, TextPart, ToolCall, ToolResult
from assent.core.session.event import CallEnded, CallStarted, PartSaid, SessionEvent, StepStarted
from assent.render.lines import Line
from assent.tui.host import StartOptions
from assent.tui.messages import SessionActivity
from assent.tui.panels.panel import Panel
from assent.tui.status import status_parts
from assent.tui.workers import MAX_JOINED, Coalescer

# What a call took is shown from a tenth of a second on: on a busy machine.
TOOK = re.compile(r" · [0-9.]+ s$")


def test_what_is_said_and_answered_is_on_the_screen(stage: Stage) -> None:
    stage.script(turn("Hello, I am here.\n\n# A heading\n\nDone."))

    async def act(seat: Seat) -> None:
        await seat.type("Say hello")
        await seat.press("enter")
        await seat.shows("> Say hello")
        await seat.shows("Done.")
        await seat.rest()
        await seat.shows("9 out · cost unknown")

    stage.show(act)


def test_f124_f125_a_turn_is_shown_part_by_part_with_the_state_of_each_call(stage: Stage) -> None:
    first, second = PLANS
    stage.script({**first, "reasoning": "I greet."}, second)

    async def act(seat: Seat) -> None:
        await seat.say("Greet me")
        texts = [line.text for sheet in seat.app.conversation.sections for line in sheet.lines]
        found = [TOOK.sub("", text) for text in texts if text.strip()]
        assert found[:2] == ["> Greet me", "  ~ thought: I greet."]
        assert "  ✓ write hello.txt · +1 · new file · staged" in found
        assert "  ✓ present the plan" in found
        assert "  Plan ready for review." in found
        assert not any("You cannot approve" in text for text in found)  # said to the model
        assert "in review" in status_parts(seat.app.status_snapshot, 100).text

    stage.show(act)


def test_a_plan_that_is_presented_opens_for_review_unless_something_is_typed(stage: Stage) -> None:
    stage.script(*PLANS)

    async def act(seat: Seat) -> None:
        seat.app.prompt.load("I was about to")
        await seat.say("Greet me")
        assert len(seat.app.screen_stack) == 1
        seat.app.prompt.clear()
        await seat.press("ctrl+t")
        await seat.until(lambda: len(seat.app.screen_stack) == 2)

    stage.show(act)


def test_f126_what_steps_took_is_in_the_status_line(stage: Stage) -> None:
    stage.script(turn("Hello."), turn("Hello again."))

    async def act(seat: Seat) -> None:
        await seat.say("One")
        before = seat.app.status_snapshot.usage
        assert before.input > 0
        await seat.say("Two")
        after = seat.app.status_snapshot.usage
        assert after.input > before.input
        told = f"{after.input} in {after.output} out"
        await seat.until(lambda: told in seat.text().splitlines()[-1])

    stage.show(act)


def test_a_session_is_taken_up_where_it_was_left(stage: Stage) -> None:
    stage.script(turn("Hello."), turn("Again."))

    async def begin(seat: Seat) -> None:
        await seat.say("Say hello")

    async def go_on(seat: Seat) -> None:
        await seat.shows("> Say hello")
        await seat.say("And again")
        await seat.shows("Again.")

    stage.show(begin)
    stage.show(go_on, StartOptions(going_on=True))
    assert [row["turns"] for row in stage.ok("sessions", "list")["sessions"]] == [2]


def test_a_session_that_is_not_there_is_said_and_another_can_begin(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.shows("Session 'nowhere' not found.")
        await seat.say("Say hello")
        await seat.shows("Hello.")

    stage.show(act, StartOptions(resume="nowhere"))


def test_without_a_model_it_is_said_what_to_do(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.say("Say hello")
        await seat.shows("next:")
        assert seat.app.session_controller.record is None

    stage.show(act)


PART_EVENTS = 3


def test_a_session_of_many_parts_opens_at_its_end(stage: Stage) -> None:
    with stage.here():
        host = stage.host()
        sessions = host.engine().sessions
        record = sessions.start("Many", "ask")
        events: list[SessionEvent] = []
        for n in range(10_000 // PART_EVENTS):
            events += [
                StepStarted(n, "build", "m", "ask"),
                PartSaid(ReasoningPart(f"thought {n}"), 1.0),
                PartSaid(TextPart(f"text {n}")),
                PartSaid(ToolCall(f"c{n}", "read", {"path": f"{n}.py"})),
                CallStarted(f"c{n}", "read"),
                CallEnded(f"c{n}", "read", ToolResult(f"c{n}", "line\n" * 5), title=f"{n}.py"),
            ]
        sessions.repository().append(record, *events)
        host.close()

    async def act(seat: Seat) -> None:
        await seat.shows("✓ read 3332.py")
        await seat.until(lambda: seat.app.conversation.is_complete)
        assert len(seat.app.conversation.sections) == 3 * 3333 + 1
        await seat.press("ctrl+home")
        await seat.shows("> Many")
        await seat.press("ctrl+end", "ctrl+o")
        await seat.shows("│ line")

    stage.show(act, StartOptions(going_on=True, model="scripted:none"))


class Ears(Panel[str]):
    """A panel that writes down what reaches it."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def on_key(self, event: Key) -> None:
        self.heard.append(event.key)

    def on_paste(self, event: Paste) -> None:
        self.heard.append(event.text)


def test_what_was_typed_before_a_panel_was_in_sight_never_reaches_it(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        early, pasted, panel = Key("y", "y"), Paste("yes"), Ears()
        seat.app.open_panel(panel)
        seat.app.post_message(early)
        seat.app.post_message(pasted)
        await seat.until(lambda: panel.is_current and panel.ready_at < float("inf"))
        await seat.press("n")
        assert panel.heard == ["n"]
        await seat.press("shift+tab", "ctrl+t")  # keys of the screen mean nothing over a panel
        assert len(seat.app.screen_stack) == 2
        await seat.press("escape")
        assert len(seat.app.screen_stack) == 1

    stage.show(act)


def test_what_fails_in_a_thread_is_told_and_never_a_traceback(stage: Stage) -> None:
    def broken() -> None:
        raise ZeroDivisionError("inside")

    def refused() -> None:
        raise UsageError("That is not how.", "/help")

    async def act(seat: Seat) -> None:
        seat.app.messages.work(broken)
        await seat.shows("Internal error; details when you exit")
        seat.app.messages.work(refused)
        await seat.shows("That is not how.")
        await seat.shows("next: /help")
        assert "Traceback" not in seat.text()
        assert "ZeroDivisionError: inside" in seat.app.messages.mishaps[0]
        assert len(seat.app.messages.mishaps) == 1

    stage.show(act)


def test_a_line_of_ones_own_runs_and_is_on_record(stage: Stage) -> None:
    stage.put("a.txt", b"a\n")

    async def act(seat: Seat) -> None:
        await seat.type("!cat a.txt")
        await seat.press("enter")
        await seat.shows("! cat a.txt")
        await seat.shows("│ a")
        await seat.shows("Exit code 0.")

    stage.show(act)
    assert "command_ended" in [event["kind"] for event in stage.ok("log")["events"]]


def test_a_command_of_the_command_line_answers_in_lines_and_asks_nobody(stage: Stage) -> None:
    stage.plan()
    stage.write("a.txt", b"a\n")
    stage.propose()
    with stage.here():
        host = stage.host()
        told = host.command(["status"])
        assert told.code == 0
        assert Line("plain", "plan     work") in told.lines
        refused = host.command(["approve"])
        assert (refused.code, refused.lines) == (4, ())
        assert refused.error is not None
        assert "Not approved" in refused.error.message
        with pytest.raises(UsageError):
            host.command(["say something"])
        host.close()


def test_files_for_completion_are_those_that_nothing_ignores(stage: Stage) -> None:
    for path in ("a.py", "src/b.py", "out/c.o", ".gitignore"):
        stage.put(path, b"out/\n" if path == ".gitignore" else b"")
    stage.ok("init")
    with stage.here():
        found = stage.host().files()
    assert [path for path in found if not path.startswith(".")] == ["a.py", "src/b.py"]


def test_many_letters_wake_the_screen_once() -> None:
    woken: list[None] = []
    mailbox = Coalescer(lambda: woken.append(None))
    for n in range(100):
        mailbox.post(SessionActivity("s", StreamDelta("text", str(n))))
    assert len(woken) == 1
    assert [letter.what.text for letter in mailbox.take()] == ["".join(map(str, range(100)))]
    mailbox.post(Event())
    assert len(woken) == 2


def test_pieces_that_wait_are_joined_with_their_like_and_stay_small() -> None:
    mailbox = Coalescer(lambda: None)
    said = [StreamDelta("text", "ab")] * MAX_JOINED + [
        StreamDelta("output", "x"),
        StreamDelta("text", "y"),
    ]
    for one in said:
        mailbox.post(SessionActivity("s", one))
    mailbox.post(SessionActivity("other", StreamDelta("text", "z")))
    letters = mailbox.take()
    assert "".join(letter.what.text for letter in letters) == "ab" * MAX_JOINED + "xyz"
    assert [len(letter.what.text) for letter in letters] == [MAX_JOINED, MAX_JOINED, 1, 1, 1]
