"""Options on the screen: compared first, one key to the next, and only the shown one approved."""

from collections.abc import Awaitable, Callable

import pytest
from tests.cli.scripts import PRESENT, turn, write
from tests.cli.test_options import BOTH, DRAFTS
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader

from assent.core.plan.record import PlanRecord
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import (
    ApprovalAction,
    ApprovalStage,
    ApprovalState,
    handle_approval_key,
    key_line,
)
from assent.tui.panels.feedback import FeedbackPanel

SHORT, LONG = "Keep SQLite", "Postgres"


@pytest.fixture
def offered(stage: Stage) -> Stage:
    """A model that offers two plans when it is asked for one."""
    stage.put("db.txt", b"sqlite\n")
    stage.script(DRAFTS, turn("Choose.", BOTH), turn("I see."))
    return stage


def reading(act: Callable[[Reader], Awaitable[None]]) -> Callable[[Seat], Awaitable[None]]:
    """Asks for a plan, and reads what the model offers."""

    async def sit(seat: Seat) -> None:
        seat.app.say("Pick a database")
        await seat.opened(ApprovalPanel)
        reader = Reader(seat)
        await reader.reads()
        await act(reader)

    return sit


def shown(reader: Reader) -> str:
    """The label of the option that an approval would be about."""
    assert isinstance(reader.panel, ApprovalPanel)
    return reader.panel._shown.record.option


def plans(reader: Reader) -> dict[str, PlanRecord]:
    return {one.option: one for one in reader.app.engine.plans.records() if one.option}


async def turn_to(reader: Reader, label: str) -> None:
    while shown(reader) != label:
        was = shown(reader)
        await reader.press("tab")
        await reader.seat.until(lambda was=was: shown(reader) != was)  # type: ignore[misc]
        await reader.reads()


def test_g22_options_are_compared_first_and_a_key_shows_the_next(offered: Stage) -> None:
    async def act(reader: Reader) -> None:
        await reader.seat.shows("2 options; approving one discards the others")
        first, *_ = reader.panel.line_view.sections
        assert first.key == "options"
        assert "Tab next option" in reader.seat.text()
        seen = [shown(reader)]
        for _ in range(2):
            await reader.press("tab")
            await reader.seat.until(lambda: shown(reader) != seen[-1])
            await reader.reads()
            seen.append(shown(reader))
            await reader.seat.shows(f"option {seen[-1]}")
        assert seen in ([SHORT, LONG, SHORT], [LONG, SHORT, LONG])

    offered.show(reading(act))


def test_g22_only_the_shown_option_is_approved_and_the_others_are_discarded(
    offered: Stage,
) -> None:
    async def act(reader: Reader) -> None:
        await turn_to(reader, SHORT)
        digest = plans(reader)[SHORT].digest
        await reader.to_the_end()
        await reader.press("1")
        await reader.seat.shows(digest)
        await reader.seat.shows(f"This discards the other options: {LONG}.")
        await reader.press("y")
        await reader.seat.until(lambda: plans(reader)[SHORT].state == "COMPLETED")
        assert plans(reader)[LONG].state == "DISCARDED"
        (consent,) = plans(reader)[SHORT].consents
        assert (consent.approval.digest, consent.approval.approver.channel) == (digest, "terminal")

    offered.show(reading(act))
    assert (offered.root / "db.txt").read_bytes() == b"sqlite 3\n"
    assert not (offered.root / "up.sh").exists()


def test_what_is_excluded_of_one_option_is_not_excluded_of_another(offered: Stage) -> None:
    """Although both have the same operation, which has the same id."""

    async def act(reader: Reader) -> None:
        await turn_to(reader, LONG)
        await reader.press("right_square_bracket", "right_square_bracket", "space")
        assert reader.panel.standing.marked
        await reader.to_the_end()
        await turn_to(reader, SHORT)
        assert not reader.panel.standing.marked
        assert not reader.panel.standing.part
        await turn_to(reader, LONG)
        assert not reader.panel.standing.marked

    offered.show(reading(act))


def test_g22_all_options_are_sent_back_by_one_key(offered: Stage) -> None:
    async def act(reader: Reader) -> None:
        await reader.press("2")
        await reader.seat.opened(FeedbackPanel)
        await reader.seat.shows("Ctrl+A send to all")
        await reader.seat.type("neither")
        await reader.seat.press("ctrl+a")
        await reader.closed()
        await reader.seat.shows("I see.")
        assert {one.state for one in plans(reader).values()} == {"DRAFTING"}

    offered.show(reading(act))


def test_g22_one_is_sent_back_and_the_rest_waits(offered: Stage) -> None:
    async def act(reader: Reader) -> None:
        await turn_to(reader, LONG)
        await reader.press("2")
        await reader.seat.opened(FeedbackPanel)
        await reader.seat.type("too much")
        await reader.seat.press("enter")
        await reader.closed()
        await reader.seat.shows("I see.")
        assert (plans(reader)[LONG].state, plans(reader)[SHORT].state) == (
            "DRAFTING", "AWAITING_APPROVAL",
        )  # fmt: skip

    offered.show(reading(act))


@pytest.mark.parametrize("label", [SHORT, LONG])
def test_g22_after_one_was_sent_back_the_screen_is_about_the_one_that_waits(
    offered: Stage, label: str
) -> None:
    async def act(reader: Reader) -> None:
        await turn_to(reader, label)
        await reader.press("2")
        await reader.seat.opened(FeedbackPanel)
        await reader.seat.type("no")
        await reader.seat.press("enter")
        await reader.closed()
        await reader.seat.shows("I see.")
        await reader.seat.rest()
        (left,) = [one for one in plans(reader).values() if one.option != label]
        reader.app.refresh_status()
        await reader.seat.until(
            lambda: (
                reader.app.status_snapshot.plan is not None
                and reader.app.status_snapshot.plan.plan_id == left.plan_id
            )
        )
        reader.app.review_plan()
        await reader.seat.opened(ApprovalPanel)
        await reader.reads()
        assert shown(reader) == left.option
        await reader.to_the_end()
        await reader.press("1", "o")
        await reader.closed()
        assert len(plans(reader)[left.option].consents) == 1

    offered.show(reading(act))


def test_a_plain_plan_has_no_key_for_options(stage: Stage) -> None:
    stage.script(
        turn("", ("write_plan", {"text": "# Greet\n\nSay it.\n"}), write("a.txt", "a\n")),
        turn("Here.", PRESENT),
    )

    async def act(reader: Reader) -> None:
        before = reader.panel.line_view.sections
        await reader.press("tab")
        assert reader.panel.line_view.sections == before
        assert "next option" not in reader.seat.text()

    stage.show(reading(act))


def test_the_key_works_while_reading_and_answers_no_question() -> None:
    at = ApprovalStage
    both = ApprovalState(at.READING, open=True, awaited=True, read=True, others="B")
    assert handle_approval_key(both, "tab") == (both, ApprovalAction.OPTION)
    assert "Tab next option" in key_line(both)
    alone = ApprovalState(at.READING, open=True, awaited=True, read=True)
    assert handle_approval_key(alone, "tab") == (alone, ApprovalAction.NOTHING)
    for stage in (at.LOADING, at.RECORDING):
        asked = ApprovalState(stage, open=True, others="B")
        assert handle_approval_key(asked, "tab")[1] is ApprovalAction.NOTHING
    asked = ApprovalState(at.CHOOSING, open=True, awaited=True, read=True, others="B")
    after, act = handle_approval_key(asked, "tab")
    assert (after.stage, act) == (at.READING, ApprovalAction.NOTHING)


def test_exiting_planning_discards_all_options_and_says_so(offered: Stage) -> None:
    async def act(reader: Reader) -> None:
        await turn_to(reader, SHORT)
        await reader.press("3")
        await reader.seat.shows(f"This option and the others ({LONG}) are discarded")
        await reader.press("ctrl+y")
        await reader.closed()
        assert {one.state for one in plans(reader).values()} == {"DISCARDED"}

    offered.show(reading(act))
    assert (offered.root / "db.txt").read_bytes() == b"sqlite\n"
