"""What else a person says to a plan on the screen: less of it, notes, comments, feedback, no."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.cli.scripts import PLANS, PRESENT, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import LONG, Reader, proposed

from assent.core.llm import TextPart
from assent.core.plan.record import PlanState
from assent.core.session.event import MessageAdded
from assent.tui.host import StartOptions
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.feedback import FeedbackPanel
from assent.tui.panels.text_input import TextInputPanel

Act = Callable[[Reader], Awaitable[None]]

REVISED = turn("I see.", ("write_plan", {"text": "# Greet\n\nPolitely.\n"}), PRESENT)


def read_by(act: Act) -> Callable[[Seat], Awaitable[None]]:
    async def sit(seat: Seat) -> None:
        await act(Reader(seat))

    return sit


def told(reader: Reader) -> list[str]:
    """Returns what the model of the last session was told about the person's no."""
    sessions = reader.app.engine.sessions
    events = [one.event for one in sessions.events(sessions.last())]
    messages = [event for event in events if isinstance(event, MessageAdded)]
    parts = [part for one in messages if one.synthetic == "rejected" for part in one.parts]
    return [part.text for part in parts if isinstance(part, TextPart)]


async def planned(reader: Reader) -> None:
    """Has the model present a plan, and opens the panel for it."""
    await reader.seat.say("Greet the world")
    if not isinstance(reader.app.screen, ApprovalPanel):
        await reader.open()
    await reader.reads()


async def write(reader: Reader, words: str) -> None:
    """Writes in the panel for words, and keeps them."""
    await reader.seat.until(lambda: isinstance(reader.app.screen, TextInputPanel))
    await reader.seat.type(words)
    await reader.seat.press("enter")
    await reader.seat.until(lambda: isinstance(reader.app.screen, ApprovalPanel))


def test_g10_a_marked_operation_is_left_out_of_the_plan_that_is_read_and_approved(
    stage: Stage,
) -> None:
    whole = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("space")
        await reader.seat.shows("Put the cursor on an operation first")
        await reader.press("right_square_bracket", "space")
        await reader.seat.shows("[excluded] 1. create short.txt")
        await reader.seat.shows("excluded   1. create short.txt")
        await reader.seat.shows("w preview without excluded · 2 feedback")
        await reader.press("y")
        await reader.seat.shows("w comes first")
        assert reader.at() is At.READING
        await reader.press("1")
        await reader.reads()
        assert reader.panel.standing.part
        assert not reader.panel.standing.read
        assert reader.panel.line_view.scroll_offset.y == 0
        smaller = reader.panel.digest()
        assert smaller != whole
        await reader.seat.shows(smaller[:12])
        await reader.seat.shows("excluded  create short.txt")
        await reader.press("1", "y")
        assert reader.approvals == []
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: reader.record.state is PlanState.COMPLETED)
        assert reader.approvals == [(smaller, "terminal", "")]
        await reader.seat.rest()

    stage.show(read_by(act))
    assert (stage.root / "long.txt").read_bytes() == LONG
    assert not (stage.root / "short.txt").exists()


def test_g10_marks_are_taken_back_and_the_whole_plan_is_read_again(stage: Stage) -> None:
    whole = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("right_square_bracket", "space", "w")
        await reader.reads()
        assert reader.panel.digest() != whole
        await reader.press("w")
        await reader.reads()
        assert reader.panel.digest() == whole
        await reader.press("right_square_bracket", "space")
        await reader.seat.until(lambda: "excluded" not in reader.seat.text())
        await reader.to_the_end()
        await reader.press("1", "o")
        await reader.closed()
        assert reader.approvals == [(whole, "terminal", "")]

    stage.show(read_by(act))


def test_g10_what_cannot_be_left_out_is_said(stage: Stage) -> None:
    proposed(stage, only=b"only\n")

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("right_square_bracket", "space", "w")
        await reader.reads()
        await reader.seat.shows("would remove the whole plan")
        assert not reader.panel.standing.part

    stage.show(read_by(act))


def test_g11_a_note_travels_with_the_yes(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1", "m")
        await write(reader, "mind the gap")
        await reader.seat.until(lambda: reader.panel.listening)
        assert reader.at() is At.CHOOSING
        await reader.seat.shows("note       mind the gap")
        await reader.press("o")
        await reader.closed()
        assert reader.approvals == [(digest, "terminal", "mind the gap")]

    stage.show(read_by(act))


def test_g9_what_was_read_before_is_said_and_only_the_difference_is_new(stage: Stage) -> None:
    proposed(stage)

    async def first(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows("changed    First review")
        await reader.to_the_end()
        await reader.seat.until(
            lambda: reader.app.engine.review_history.review(reader.record).since is not None
        )

    async def again(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows("Since your last review")
        await reader.seat.shows("Since your last review: 1 added")
        titles = [sheet.lines[0].text for sheet in reader.panel.line_view.sections]
        assert [title for title in titles if ". create" in title] == [
            "1. create short.txt (reversible, reviewed)",
            "2. create long.txt (reversible, reviewed)",
            "3. create third.txt (reversible, new)",
        ]

    stage.show(read_by(first))
    stage.write("third.txt", b"third\n")
    stage.ok("propose")
    stage.show(read_by(again))


def test_f57_g18_comments_to_a_line_of_text_and_of_a_diff_are_one_request_to_the_model(
    stage: Stage,
) -> None:
    stage.script(*PLANS, REVISED, turn("Done."))

    async def act(reader: Reader) -> None:
        await planned(reader)
        before = reader.record.digest
        await reader.press("slash", *"Write hello", "enter", "escape")
        await reader.press("c")
        await write(reader, "why hello")
        await reader.reads()
        await reader.seat.shows("▸ comment 1: why hello")
        await reader.press("slash", *"+hello", "enter", "escape")
        await reader.press("c")
        await write(reader, "louder")
        await reader.reads()
        await reader.seat.shows("louder")
        await reader.seat.shows("comments   2 pending, sent with feedback (2)")
        await reader.press("2")
        await reader.seat.until(lambda: isinstance(reader.app.screen, FeedbackPanel))
        await reader.seat.shows("Comment 2")
        await reader.seat.press("enter")
        await reader.seat.until(lambda: reader.record.digest not in ("", before))
        await reader.seat.rest()
        [said] = told(reader)
        assert all(words in said for words in ("why hello", "louder", "+hello", "## Comments"))
        assert "Write hello.txt, which greets." in said

    stage.show(read_by(act), StartOptions(mode="plan"))


def test_f57_a_comment_is_changed_and_taken_back_where_it_stands(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        def waiting() -> list[str]:
            return [each.text for each in reader.app.engine.comments.waiting(reader.record)]

        await reader.open()
        await reader.press("right_square_bracket", "c")
        await write(reader, "so")
        await reader.reads()
        assert waiting() == ["so"]
        await reader.press("c")
        await write(reader, " not")
        await reader.reads()
        assert waiting() == ["so not"]
        await reader.press("c")
        await reader.seat.until(lambda: isinstance(reader.app.screen, TextInputPanel))
        await reader.seat.press("escape")
        await reader.reads()
        assert waiting() == ["so not"]
        await reader.press("c")
        await reader.seat.until(lambda: isinstance(reader.app.screen, TextInputPanel))
        await reader.seat.press(*["backspace"] * 6, "enter")
        await reader.reads()
        assert waiting() == []
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f39_f58_feedback_in_parts_reaches_the_model_verbatim_and_plan_mode_stays(
    stage: Stage,
) -> None:
    stage.script(*PLANS, REVISED, turn("Done."))

    async def act(reader: Reader) -> None:
        await planned(reader)
        before = reader.record.digest
        await reader.press("2")
        await reader.seat.until(lambda: isinstance(reader.app.screen, FeedbackPanel))
        await reader.seat.type("# odd `words` & {braces}")
        await reader.seat.press("tab")
        await reader.seat.type("only greetings")
        await reader.seat.press("tab")
        await reader.seat.type("no tabs")
        await reader.seat.press("tab")
        await reader.seat.type("tests first")
        await reader.seat.press("enter")
        await reader.seat.until(lambda: reader.record.digest not in ("", before))
        await reader.seat.rest()
        session = reader.app.engine.sessions.last()
        assert (session.mode, reader.approvals) == ("plan", [])
        [said] = told(reader)
        assert said.endswith(
            "## Scope\n\nonly greetings\n\n## Constraints\n\nno tabs\n\n"
            "## Priorities\n\ntests first\n\n## Notes\n\n# odd `words` & {braces}"
        )

    stage.show(read_by(act), StartOptions(mode="plan"))


def test_f39_without_words_nothing_is_sent_and_esc_goes_back(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("2")
        await reader.seat.until(lambda: isinstance(reader.app.screen, FeedbackPanel))
        await reader.seat.press("enter")
        await reader.seat.shows("Nothing was sent: enter feedback")
        await reader.seat.press("escape")
        await reader.reads()
        assert reader.record.digest == digest

    stage.show(read_by(act))


def test_esc_closes_the_panel_also_while_something_new_is_being_painted(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        reader.panel.pace.ask()
        reader.burst("s", "escape")
        await reader.closed()
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f40_3_and_ctrl_y_end_planning_and_nothing_is_written(stage: Stage) -> None:
    stage.script(*PLANS, turn("Done."))
    found: dict[str, Any] = {}

    async def act(reader: Reader) -> None:
        await planned(reader)
        record = found["record"] = reader.record
        await reader.press("3")
        await reader.seat.shows("Exit planning?")
        await reader.press("x")
        assert reader.at() is At.READING
        await reader.press("3", "ctrl+y")
        await reader.closed()
        engine = reader.app.engine
        assert engine.plans.find(record.plan_id).state is PlanState.DISCARDED
        assert engine.sessions.last().mode == "ask"

    stage.show(read_by(act), StartOptions(mode="plan"))
    assert not (stage.root / "hello.txt").exists()
    assert (stage.root / found["record"].path.decode()).exists()
    assert stage.ok("plan", "list")["plans"] == []


def test_f38_a_plan_of_prose_is_approved_and_handed_to_a_model(stage: Stage) -> None:
    text = "---\nscope:\n  files: [hello.txt]\n---\n# Greet\n\n- [ ] write hello.txt\n"
    stage.script(
        turn("A plan.", ("write_plan", {"text": text})),
        turn("Here.", PRESENT),
        turn("", ("write", {"path": "hello.txt", "content": "hello\n"})),
        turn("Done."),
    )

    async def act(reader: Reader) -> None:
        await planned(reader)
        await reader.seat.shows("A model may change any file in its scope")
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: reader.record.state is PlanState.COMPLETED)
        await reader.seat.rest()
        assert [yes[1] for yes in reader.approvals] == ["terminal"]

    stage.show(read_by(act), StartOptions(mode="plan"))
    assert (stage.root / "hello.txt").read_bytes() == b"hello\n"


def test_g15_a_text_plan_shows_what_its_build_is_expected_to_take(stage: Stage) -> None:
    text = "---\nscope:\n  files: [hello.txt]\n---\n# Greet\n\n- [ ] write hello.txt\n"
    stage.script(turn("A plan.", ("write_plan", {"text": text})), turn("Here.", PRESENT))

    async def act(reader: Reader) -> None:
        await planned(reader)
        await reader.seat.shows("expected")
        await reader.seat.shows("tokens, cost unknown")

    stage.show(read_by(act), StartOptions(mode="plan"))


def test_a_merge_in_progress_is_said_in_the_review_and_when_it_is_built(stage: Stage) -> None:
    stage.put(".git/HEAD", b"ref: refs/heads/main\n")
    stage.put(".git/MERGE_HEAD", b"0" * 40 + b"\n")
    proposed(stage, short=b"short\n")
    words = "A merge is in progress here (see `git status`)"

    async def act(reader: Reader) -> None:
        await reader.open()
        sheet = next(each for each in reader.panel.line_view.sections if each.key == "warnings")
        assert sheet.lines[0].text.startswith(words)
        assert sheet.lines[0].style == "risk"
        await reader.seat.shows(words)
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: reader.app.run_controller.report is not None)
        await reader.seat.rest()
        await reader.press("escape")
        await reader.closed()
        await reader.seat.shows(words)
        assert reader.record.state is PlanState.COMPLETED

    stage.show(read_by(act))
