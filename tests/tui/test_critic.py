"""A critic's findings on the screen: shown below their lines, kept and dismissed by keys."""

import msgspec
from tests.cli.scripts import PLANS, turn
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader
from tests.tui.test_approval_answers import REVISED, planned, read_by, told

from assent.core.session.event import CritiqueEnded, TurnEnded
from assent.tui.host import StartOptions
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.feedback import FeedbackPanel

FINDINGS = [
    {"on": "plan", "line": 3, "severity": "high", "text": "Which language?"},
    {"on": 1, "line": 6, "text": "No newline check."},
    {"on": 1, "line": 6, "text": "No test either."},
]
PLAN = StartOptions(mode="plan")


def scripted(stage: Stage, findings: object, delay_ms: int = 0) -> None:
    """A stage whose critic is a script, next to the one of the planning model."""
    path = stage.base / "critic.json"
    answers = [turn(msgspec.json.encode(findings).decode(), delay_ms=delay_ms), turn("[]")]
    path.write_bytes(msgspec.json.encode({"children": {"critic": answers}}))
    config = stage.config.read_text("utf-8")
    stage.config.write_text(f"{config}\n[plan]\ncritic = 'scripted:{path}'\n", encoding="utf-8")


def states(reader: Reader) -> list[tuple[str, str]]:
    listed = reader.app.engine.comments.listed(reader.record)
    return [(one.text, one.state) for one in listed]


def test_g22_findings_are_kept_and_dismissed_by_keys_and_only_kept_ones_are_sent(
    stage: Stage,
) -> None:
    stage.script(*PLANS, REVISED, turn("Done."))
    scripted(stage, FINDINGS)

    async def act(reader: Reader) -> None:
        await planned(reader)
        before = reader.record.digest
        await reader.seat.shows("critic     3 comments by the critic, sent only if you keep them")
        await reader.seat.shows("f next finding")
        await reader.press("f")
        await reader.seat.shows("Which language?")
        await reader.press("plus")
        await reader.reads()
        await reader.seat.shows("Kept: it is sent with your feedback (2).")
        assert states(reader)[0] == ("Which language?", "kept")
        await reader.press("plus")
        await reader.seat.shows("No comment by the critic here")
        await reader.press("f", "minus")
        await reader.reads()
        await reader.seat.shows("Dismissed.")
        assert states(reader) == [("Which language?", "kept"), ("No test either.", "suggested")]
        await reader.seat.shows("comments   1 pending, sent with feedback (2)")
        await reader.press("2")
        await reader.seat.until(lambda: isinstance(reader.app.screen, FeedbackPanel))
        await reader.seat.shows("Which language?")
        assert "No test either." not in reader.seat.text()
        await reader.seat.press("enter")
        await reader.seat.until(lambda: reader.record.digest not in ("", before))
        await reader.seat.rest()
        [said] = told(reader)
        assert "Which language?" in said
        assert "No newline" not in said
        assert "No test" not in said
        assert reader.approvals == []

    stage.show(read_by(act), PLAN)


def test_g22_the_critics_comment_is_not_the_users_to_edit_and_approval_needs_no_decision(
    stage: Stage,
) -> None:
    stage.script(*PLANS)
    scripted(stage, FINDINGS[:1])

    async def act(reader: Reader) -> None:
        await planned(reader)
        await reader.press("f", "c")
        await reader.seat.shows("Comment on line 3 of the plan text")
        assert "Which language?" not in reader.seat.text()
        await reader.seat.press("escape")
        await reader.reads()
        await reader.to_the_end()
        await reader.press("1", "o")
        await reader.closed()
        assert len(reader.approvals) == 1
        assert states(reader) == [("Which language?", "suggested")]

    stage.show(read_by(act), PLAN)


def test_g22_without_findings_the_keys_say_so(stage: Stage) -> None:
    stage.script(*PLANS)
    scripted(stage, [])

    async def act(reader: Reader) -> None:
        await planned(reader)
        assert "f next finding" not in reader.seat.text()
        await reader.press("f")
        await reader.seat.shows("No comment by the critic waits for your decision.")
        await reader.press("plus")
        await reader.seat.shows("No comment by the critic here")

    stage.show(read_by(act), PLAN)


def test_g22_the_panel_says_that_a_critic_did_not_finish(stage: Stage) -> None:
    stage.script(*PLANS)

    async def act(reader: Reader) -> None:
        await planned(reader)
        assert "critic" not in reader.seat.text()
        reader.app.engine.comments.request_critique(reader.record, "openai/critic", "01s")
        await reader.seat.press("escape")
        await reader.closed()
        reader.app.review_plan()
        await reader.seat.opened(ApprovalPanel)
        await reader.reads()
        await reader.seat.shows("The critic did not finish. Continue the session to ask it again.")
        assert reader.approvals == []

    stage.show(read_by(act), PLAN)


def test_g22_escape_skips_a_critic_that_thinks_and_the_plan_is_shown(stage: Stage) -> None:
    stage.script(*PLANS)
    scripted(stage, FINDINGS, delay_ms=3_600_000)

    async def act(seat: Seat) -> None:
        seat.app.say("Greet")
        await seat.shows("Critic scripted:")
        await seat.press("escape")
        await seat.until(lambda: isinstance(seat.app.screen, ApprovalPanel))
        await seat.rest()
        engine, record = seat.app.engine, seat.app.session_controller.record
        assert record is not None
        events = [one.event for one in engine.sessions.events(record)]
        assert [one for one in events if isinstance(one, TurnEnded)] == [TurnEnded("presented")]
        (ended,) = [one for one in events if isinstance(one, CritiqueEnded)]
        assert (ended.digest, ended.words) == (engine.plans.find().digest, "It was interrupted.")

    stage.show(act, PLAN)
