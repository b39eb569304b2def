"""The status line as a function: everything that it always shows, at every width."""

import msgspec
import pytest

from assent.core.llm import TokenUsage
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import QuestionAsked
from assent.core.session.question import PendingQuestion, StoredQuestion
from assent.core.session.record import SessionRecord
from assent.runs.undo.targets import UndoneAmount
from assent.tui.status import StatusSnapshot, status_parts

PLAN = PlanRecord("p", "w", "s", "greet", b"p.md", "", "", "then", 1, PlanState.AWAITING_APPROVAL,
                  digest="1a2b3c4d" * 8)  # fmt: skip
RECORD = SessionRecord(
    "s", "w", "greet", "plan", "then", "then", 1, usage=TokenUsage(123_456, 7_890), cost=1.239
)
PENDING = PendingQuestion(
    StoredQuestion(QuestionAsked("q", "c", ()), "then", 1, None), RECORD, RECORD, "open"
)
STANDING = StatusSnapshot("plan", "plan", "plan", "anthropic/claude-sonnet-5-5", RECORD, PLAN)


@pytest.mark.parametrize("width", [70, 72, 79, 80, 100, 120, 200])
def test_f4_f126_mode_agent_model_plan_tokens_and_money_always_fit(width: int) -> None:
    pieces = status_parts(STANDING, width)
    assert len(pieces.text) <= width
    assert pieces.mode == "plan"
    told = pieces.text
    for words in ("plan", "claude-sonnet-5-5", "in review", "$1.24"):
        assert words in told, told
    assert "1a2b3c4d" not in told, "the digest is where the plan is decided about"
    assert ("131.3k tok" if width == 72 else "123.5k in 7.9k out") in told
    assert ("agent plan" in told) is (width > 70)  # the mode says it already


@pytest.mark.parametrize(
    ("undone", "words"), [("", "completed"), ("some", "partly undone"), ("all", "undone")]
)
def test_a_plan_whose_run_was_taken_back_is_not_called_completed(
    undone: UndoneAmount, words: str
) -> None:
    plan = msgspec.structs.replace(PLAN, state=PlanState.COMPLETED)
    standing = msgspec.structs.replace(STANDING, plan=plan, undone=undone)
    assert f"│ {words} │" in status_parts(standing, 80).text


def test_f11_a_mode_that_is_gone_is_named_with_the_one_that_holds() -> None:
    standing = msgspec.structs.replace(STANDING, missing="fast")
    assert status_parts(standing, 120).mode == "plan (fast missing)"


def test_what_is_wide_tells_more() -> None:
    assert status_parts(STANDING, 120).text == (
        " plan │ agent plan │ anthropic/claude-sonnet-5-5 │ in review │ 123.5k in 7.9k out │ $1.24"
    )


def test_an_agent_that_is_not_the_modes_own_is_called_one_however_narrow_it_is() -> None:
    standing = StatusSnapshot(
        "plan", "plan", "reviewer", "anthropic/claude-sonnet-5-5", RECORD, PLAN
    )
    assert status_parts(standing, 80).text == (
        " plan │ agent reviewer │ claude-sonnet-5-5 │ in review │ 131.3k tok │ $1.24"
    )


def test_a_model_that_is_a_file_is_called_by_its_last_part() -> None:
    told = status_parts(StatusSnapshot(model="scripted:/tmp/somewhere/demo"), 120).text
    assert told == " plan │ agent plan │ demo │ no plan"


def test_nothing_is_left_out_where_everything_is_long() -> None:
    standing = StatusSnapshot(
        "careful-with-secrets", "auto-edit", "reviewer-of-designs", "openai/a-very-long-name-o3",
        RECORD, PLAN, waiting=(PENDING, PENDING),
    )  # fmt: skip
    told = status_parts(standing, 80, working=True).text
    for words in ("careful-with-secrets (auto-edit)", "working", "2 to answer", "reviewer-o",
                  "name-o3", "in review", "131.3k tok", "$1.24"):  # fmt: skip
        assert words in told, told


def test_what_is_not_known_is_not_said_to_be_free() -> None:
    new = StatusSnapshot()
    assert status_parts(new, 80).text == " plan │ agent plan │ no model │ no plan"
    unknown = SessionRecord("s", "w", "greet", "plan", "then", "then", 1, cost=None)
    assert status_parts(StatusSnapshot(record=unknown), 80).text.endswith("cost unknown")


@pytest.mark.parametrize("state", PlanState)
def test_every_state_of_a_plan_has_a_word(state: PlanState) -> None:
    plan = PlanRecord("p", "w", "s", "greet", b"p.md", "", "", "then", 1, state)
    *_, word = status_parts(StatusSnapshot(plan=plan), 80).rest
    assert word not in ("", "no plan", "no model")
