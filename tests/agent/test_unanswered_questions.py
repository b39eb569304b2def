"""Questions that nobody answers: too late, nobody there, or the person interrupts."""

from pathlib import Path

import pytest
from tests.support.engine import World
from tests.support.pending_questions import CALL, STATUS, Absent, Booth, Elsewhere, on_disk, parked
from tests.support.session import Person

from assent.core.errors import Expired
from assent.core.llm import ToolCall
from assent.core.session.event import AnswerTaken, QuestionAnswered
from assent.core.session.question import NOBODY_ANSWERED, YES, PermissionAnswer


def test_f96_an_expired_question_is_a_no(world: World, tmp_path: Path) -> None:
    booth = Booth(on_disk(world, tmp_path), expires_s=3600)
    booth.step(CALL)
    parked(booth)
    one = booth.pending()
    world.clock.hour += 1
    assert booth.engine.pending_questions.pending() == []
    with pytest.raises(Expired, match="and counts as denied"):
        booth.answer(one, YES)
    person = Person(((YES,),))
    consent = booth.again().ask(CALL, person)
    why = "the question expired at 2026-01-01T13:00:00.000Z."
    assert consent == PermissionAnswer(nobody=True, why=why, question=one.id)
    assert person.asked == []


def test_f96_a_question_expires_under_the_persons_eyes(world: World, tmp_path: Path) -> None:
    booth = Booth(on_disk(world, tmp_path), expires_s=3600)
    booth.step(CALL)

    def wait() -> None:
        world.clock.hour += 2

    person = Elsewhere(wait, ((YES,),))
    consent = booth.ask(CALL, person)
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, consent.nobody, person.stopped) == (False, True, True)
    assert "expired" in consent.why


class Gone(Person):
    """Somebody whose terminal breaks, or who interrupts."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def ask(self, questions: object, answered: object) -> None:
        raise self.error


def test_f94_nobody_and_errors_are_a_no_at_once(booth: Booth) -> None:
    for person in (Person(), Gone(EOFError())):
        booth.step(CALL)
        consent = booth.again().ask(CALL, person)
        assert isinstance(consent, PermissionAnswer)
        assert (consent.yes, consent.nobody, consent.plain, consent.later) == (
            False, True, False, False,
        )  # fmt: skip
        assert consent.why == NOBODY_ANSWERED
    assert booth.engine.pending_questions.pending() == []


def test_an_interrupt_leaves_no_question_open(booth: Booth) -> None:
    with pytest.raises(KeyboardInterrupt):
        booth.ask(CALL, Gone(KeyboardInterrupt()))
    [answered] = [event for event in booth.events() if isinstance(event, QuestionAnswered)]
    assert answered.answers is None
    assert booth.record.questions == ()


@pytest.mark.parametrize("events", [0, 300])
def test_the_digest_is_of_the_call_as_the_model_made_it(booth: Booth, events: int) -> None:
    """A call by another name, or with arguments put right, is still the one on record."""
    booth.step(ToolCall("c1", "Bash", {"command": STATUS}))
    booth.note(*[AnswerTaken("none")] * events)
    consent = booth.ask(CALL, Person(((YES,),)))
    assert isinstance(consent, PermissionAnswer)
    assert consent.yes


def test_f94_what_is_about_no_call_does_not_wait(booth: Booth) -> None:
    for person, yes in ((Person(((YES,),)), True), (Person(), False), (Absent(), False)):
        work = booth.permission(person).confirm(booth.record, "Budget", "Go on?")
        assert booth.drained(work).yes is yes
    assert booth.engine.pending_questions.pending() == []
