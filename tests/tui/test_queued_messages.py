"""What is typed while the model works: queued, shown, recalled, and said at the next step."""

import pytest
from tests.cli.scripts import PRESENT, WRITE_PLAN, turn, write
from tests.tui.harness import Seat, Stage
from tests.tui.tmux import OPEN, Tmux, needs_tmux, scripted

from assent.core.llm import TextPart
from assent.core.session.event import MessageAdded, MessageQueued, StepStarted, TurnStarted
from assent.tui.host import StartOptions
from assent.tui.queued_messages import DURING_RUN, MAX_SHOWN, WHILE_WORKING, queued_text

LONG_MS = 600_000
READ = ("read", {"path": "a.txt"})


def story(seat: Seat) -> list[str]:
    """Returns turns, steps and messages of the session on the screen, in order."""
    record = seat.app.session_controller.record
    assert record is not None
    told: list[str] = []
    for one in seat.app.engine.sessions.events(record):
        match one.event:
            case TurnStarted():
                told.append("turn")
            case StepStarted():
                told.append("step")
            case MessageAdded(parts=parts, synthetic=""):
                told += [part.text for part in parts if isinstance(part, TextPart)]
            case _:
                pass
    return told


def waiting(seat: Seat) -> list[str]:
    """Returns what the store has in the session's queue."""
    record = seat.app.session_controller.record
    assert record is not None
    queue = seat.app.engine.message_queues.queue(record)
    return [one.text for one in [*([queue.taken] if queue.taken else []), *queue.waiting]]


async def typed(seat: Seat, words: str) -> None:
    await seat.type(words)
    await seat.press("enter")


async def working(seat: Seat, words: str = "Work") -> None:
    """Has the model work on something, in a session that is on record."""
    seat.app.say(words)
    await seat.shows("The model is working")
    await seat.until(lambda: seat.app.session_controller.record is not None)
    await seat.until(lambda: "step" in story(seat))


def gated(stage: Stage, *turns: dict[str, object]) -> None:
    """Has the model's first step take a command that waits for a file named `go`."""
    wait = ("shell", {"command": "until test -e go; do sleep 0.02; done", "description": "Wait"})
    stage.script(turn("", wait), *turns)


YOLO = '\nmode = "yolo"\n'


def test_what_is_typed_while_the_model_works_is_said_at_its_next_step(stage: Stage) -> None:
    stage.config.write_text(YOLO + stage.config.read_text("utf-8"), encoding="utf-8")
    gated(stage, turn("Both done."))

    async def act(seat: Seat) -> None:
        await working(seat)
        await typed(seat, "And this")
        await typed(seat, "And that")
        await seat.shows("queued: And this")
        await seat.shows("queued: And that")
        assert "sent at the next step" in seat.text()
        await seat.until(lambda: waiting(seat) == ["And this", "And that"])
        stage.put("go", b"")
        await seat.shows("Both done.")
        await seat.rest()
        assert story(seat) == ["Work", "turn", "step", "And this", "And that", "step"]
        assert waiting(seat) == []
        assert "queued:" not in seat.text()
        assert "> And this" in seat.text()

    stage.show(act)


def test_what_waits_when_a_turn_ends_is_said_in_the_next_one(stage: Stage) -> None:
    stage.script(turn("First done.", delay_ms=600), turn("Second done."))

    async def act(seat: Seat) -> None:
        await working(seat)
        seat.app.say("And this")
        await seat.shows("Second done.")
        await seat.rest()
        assert story(seat) == ["Work", "turn", "step", "And this", "turn", "step"]
        assert waiting(seat) == []

    stage.show(act)


def test_a_message_typed_before_the_session_exists_is_queued_too(stage: Stage) -> None:
    stage.script(turn("First done.", delay_ms=300), turn("Second done."))

    async def act(seat: Seat) -> None:
        seat.app.say("Work")
        seat.app.say("And this")  # at once: no thread has begun the session yet
        await seat.until(lambda: "And this" in seat.text() and "queued" not in seat.text())
        await seat.rest()
        assert story(seat)[:1] == ["Work"]
        assert story(seat).count("And this") == 1

    stage.show(act)


def test_the_newest_can_be_taken_back_edited_and_removed(stage: Stage) -> None:
    stage.script(turn("Never.", delay_ms=LONG_MS))

    async def act(seat: Seat) -> None:
        await working(seat)
        await typed(seat, "one")
        await typed(seat, "two")
        await seat.until(lambda: waiting(seat) == ["one", "two"])
        await seat.press("up")
        await seat.until(lambda: seat.app.prompt.text == "two")
        await typed(seat, " more")
        await seat.until(lambda: waiting(seat) == ["one", "two more"])
        await seat.shows("queued: two more")
        await seat.press("up")
        await seat.until(lambda: seat.app.prompt.text == "two more")
        await seat.press("ctrl+c")
        assert seat.app.prompt.text == ""
        assert seat.app.session_controller.at_work  # that cleared the prompt, and nothing else
        assert waiting(seat) == ["one"]
        assert "two more" not in seat.text()
        await seat.press("escape")
        await seat.rest()

    stage.show(act)


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
def test_an_interrupted_turn_keeps_what_waits_until_enter(stage: Stage, key: str) -> None:
    stage.script(turn("Never.", delay_ms=LONG_MS), turn("Hello again."))

    async def act(seat: Seat) -> None:
        await working(seat)
        await typed(seat, "And this")
        await seat.until(lambda: waiting(seat) == ["And this"])
        await seat.press(key)
        await seat.rest()
        await seat.shows("You interrupted the turn.")
        await seat.shows("Enter send")
        assert seat.app.is_running
        assert waiting(seat) == ["And this"]
        await seat.press("enter")
        await seat.until(lambda: waiting(seat) == [])
        await seat.rest()
        assert story(seat)[:4] == ["Work", "turn", "step", "And this"]

    stage.show(act)


def test_ctrl_c_interrupts_first_and_leaves_only_at_rest(stage: Stage) -> None:
    stage.script(turn("Never.", delay_ms=LONG_MS))

    async def act(seat: Seat) -> None:
        await working(seat)
        await seat.press("ctrl+c")
        await seat.rest()
        assert seat.app.return_value is None
        await seat.press("ctrl+c")
        await seat.shows("Ctrl+C again to exit")
        assert seat.app.return_value is None
        await seat.press("ctrl+c")
        await seat.until(lambda: seat.app.return_value == 0)

    assert stage.show(act) == 0


def test_what_waits_is_there_again_when_the_session_is_opened(stage: Stage) -> None:
    stage.script(turn("Never.", delay_ms=LONG_MS))

    async def left(seat: Seat) -> None:
        await working(seat)
        await typed(seat, "And this")
        await seat.until(lambda: waiting(seat) == ["And this"])

    stage.show(left)
    stage.script(turn("Unused."), turn("Said now."), turn("Said now."))

    async def back(seat: Seat) -> None:
        await seat.shows("queued: And this")
        await seat.press("enter")
        await seat.shows("Said now.")
        assert "And this" in story(seat)
        assert waiting(seat) == []

    stage.show(back, StartOptions(going_on=True))


def test_a_message_that_was_queued_on_the_web_page_is_shown_too(stage: Stage) -> None:
    stage.script(turn("Never.", delay_ms=LONG_MS))

    async def act(seat: Seat) -> None:
        await working(seat)
        record = seat.app.session_controller.record
        assert record is not None
        seat.app.engine.message_queues.add(record, MessageQueued("", "From the page"))
        await seat.shows("queued: From the page")
        await seat.press("escape")
        await seat.rest()

    stage.show(act)


def test_a_plan_that_is_presented_while_something_waits_is_revised_first(stage: Stage) -> None:
    stage.script(turn("", WRITE_PLAN, write("a.txt", "a\n"), PRESENT, delay_ms=600), turn("Noted."))

    async def act(seat: Seat) -> None:
        await working(seat)
        seat.app.say("And this")
        await seat.shows("queued: And this")
        await seat.shows("Noted.")
        await seat.rest()
        assert story(seat) == ["Work", "turn", "step", "And this", "turn", "step"]
        assert len(seat.app.screen_stack) == 1  # the review does not open over the answer

    stage.show(act)


async def building(seat: Seat) -> None:
    """Builds the plan of the session on the screen, and closes the view of the run."""
    await seat.until(lambda: seat.app.status_snapshot.plan is not None)
    plan = seat.app.status_snapshot.plan
    assert plan is not None
    seat.app.build_plan(plan.plan_id)
    await seat.shows("│ begun")
    await seat.press("escape")
    await seat.until(lambda: len(seat.app.screen_stack) == 1)


@pytest.mark.parametrize(
    ("end", "said"), [("true", ["Greet", "turn", "step", "Second", "turn", "step"]), ("false", [])]
)
def test_what_is_typed_during_a_run_is_said_when_it_is_over(
    stage: Stage, end: str, said: list[str]
) -> None:
    gate = f"echo begun; until test -e go; do sleep 0.02; done; {end}"
    check = ("shell", {"command": gate, "stage": True})
    stage.script(turn("", WRITE_PLAN, check, PRESENT), turn("I have heard it."))
    stage.run("-p", "--model", stage.model, "Greet")
    stage.ok("approve", "--digest", str(stage.ok("review")["digest"]))

    async def act(seat: Seat) -> None:
        await building(seat)
        await typed(seat, "First")
        await typed(seat, "Second")
        await seat.shows(DURING_RUN)
        await seat.until(lambda: waiting(seat) == ["First", "Second"])
        await seat.press("up")
        await seat.until(lambda: seat.app.prompt.text == "Second")
        await seat.press("ctrl+c", "up")
        await seat.until(lambda: seat.app.prompt.text == "First")
        await seat.press("ctrl+c")
        await typed(seat, "Second")
        await seat.until(lambda: waiting(seat) == ["Second"])
        (stage.root / "go").touch()
        await seat.until(lambda: not seat.app.run_controller.at_work)
        if said:
            await seat.shows("I have heard it.")
            assert story(seat) == said
        else:
            await seat.shows("needs your decision")
            await seat.shows("Enter send")
            assert waiting(seat) == ["Second"]

    stage.show(act, StartOptions(going_on=True))


@pytest.mark.parametrize(("many", "shown"), [(1, 1), (MAX_SHOWN, MAX_SHOWN), (5, MAX_SHOWN)])
def test_of_many_messages_the_newest_are_shown(many: int, shown: int) -> None:
    texts = tuple(f"number {n}" for n in range(many))
    lines = queued_text(texts, WHILE_WORKING).plain.split("\n")
    assert sum(line.startswith("queued: ") for line in lines) == shown
    assert (lines[0] == f"… {many - shown} more queued") is (many > shown)
    assert f"queued: number {many - 1}" in lines


def test_a_secret_and_a_line_break_in_a_message_are_not_shown() -> None:
    key = "AKIA" + "Z7Q4X2M9K1B8W3LP"
    line = queued_text((f"use {key}\nnow",), WHILE_WORKING).plain
    assert key not in line
    assert len(line.split("\n")) == 2


@needs_tmux
def test_a_terminal_queues_interrupts_and_leaves(server: Tmux, stage: Stage) -> None:
    stage.put("a.txt", b"a\n")
    scripted(stage, turn("", READ), turn("Never.", delay_ms=LONG_MS), turn("Said now."))
    screen = server.open(stage, "assent; echo left: $?")
    screen.shows(OPEN)
    screen.enter("Work")
    screen.shows("✓ read a.txt")
    screen.enter("And this")
    screen.shows("queued: And this")
    screen.press("C-c")
    screen.shows("You interrupted the turn.", "Enter send")
    screen.press("Enter")
    screen.shows("Said now.")
    screen.twice("C-c", "Ctrl+C again to exit", lambda shown: "left: 0" in shown)
