"""Questions: stored, found from the root, answered once, under the digest that was seen."""

import sqlite3
from pathlib import Path

import msgspec
import pytest
from tests.support.engine import World
from tests.support.pending_questions import (
    CALL,
    PUSH,
    STATUS,
    Absent,
    Booth,
    Elsewhere,
    child_of,
    on_disk,
    parked,
    shell,
)
from tests.support.session import Person

from assent.agent.permission_request import MAX_TASK_CHARS
from assent.core.errors import (
    AssentError,
    ConcurrentChange,
    Declined,
    DigestMismatch,
    IllegalState,
    NotFound,
    UsageError,
)
from assent.core.llm import ToolResult
from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import (
    AnswerTaken,
    CallEnded,
    Question,
    QuestionAnswered,
    QuestionAsked,
    TurnEnded,
)
from assent.core.session.question import (
    NO,
    NOBODY_ANSWERED,
    SESSION,
    UNCONFINED,
    YES,
    PermissionAnswer,
    QuestionReply,
)
from assent.store.sqlite import SqliteEventStore

PATTERN = (PermissionPattern("bash", "git status *"),)


def kinds(booth: Booth) -> list[str]:
    wanted = (QuestionAsked, QuestionAnswered, AnswerTaken)
    return [type(event).__name__ for event in booth.events() if isinstance(event, wanted)]


def test_f82_a_yes_counts_once_and_nothing_is_remembered(booth: Booth) -> None:
    person = Person(((YES,),))
    consent = booth.ask(CALL, person)
    [asked] = [event for event in booth.events() if isinstance(event, QuestionAsked)]
    assert consent == PermissionAnswer(yes=True, question=asked.id)
    assert kinds(booth) == ["QuestionAsked", "QuestionAnswered", "AnswerTaken"]
    assert booth.engine.grants.all() == ()
    [[question]] = person.asked
    assert (question.risk, question.always) == (("medium", "It runs a program."), PATTERN)
    booth.step(CALL)  # the same once more
    assert booth.again().ask(CALL, Person()) == msgspec.structs.replace(
        PermissionAnswer(nobody=True, why=NOBODY_ANSWERED),
        question=booth.events()[-2].id,  # type: ignore[union-attr]
    )


def test_a_command_may_run_without_the_sandbox_once(booth: Booth) -> None:
    consent = booth.ask(CALL, Person(((UNCONFINED,),)))
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, consent.unconfined, booth.engine.grants.all()) == (True, True, ())


def test_f85_a_no_with_words_keeps_them_verbatim(booth: Booth) -> None:
    words = "Not that;  use `make`\n(see README)"
    consent = booth.ask(CALL, Person(((words,),)))
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, consent.plain, consent.words) == (False, False, words)


def test_f95_an_open_question_survives_a_restart_and_is_not_asked_twice(booth: Booth) -> None:
    parked(booth)
    booth.note(TurnEnded("waiting"))
    after = booth.again()
    one = after.pending()
    assert (one.root.session, one.standing) == (booth.session, "open")
    after.answer(one, YES)
    assert after.engine.pending_questions.pending() == []
    person = Person()
    assert after.ask(CALL, person) == PermissionAnswer(yes=True, question=one.id)
    assert person.asked == []
    assert kinds(after) == ["QuestionAsked", "QuestionAnswered", "AnswerTaken"]


def test_f95_a_question_of_a_process_that_died_is_asked_again_as_the_same(booth: Booth) -> None:
    parked(booth)  # and the process is gone
    after, person = booth.again(), Person(((YES,),))
    consent = after.ask(CALL, person)
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, len(person.asked)) == (True, 1)
    assert kinds(after) == ["QuestionAsked", "QuestionAnswered", "AnswerTaken"]


def test_f95_a_yes_that_a_turn_went_on_with_is_not_taken_twice(booth: Booth) -> None:
    booth.ask(CALL, Person(((YES,),)))
    consent = booth.again().ask(CALL, Person())
    assert isinstance(consent, PermissionAnswer)
    assert not consent.yes


def test_f95_what_is_about_something_else_by_now_is_asked_anew(booth: Booth) -> None:
    parked(booth)
    old = booth.pending()
    booth.answer(old, YES)
    after, person = booth.again(), Person()
    consent = after.ask(shell("c1", PUSH), person)  # not what the yes was for
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, len(person.asked)) == (False, 1)


def test_f95_a_question_that_no_longer_fits_is_closed(booth: Booth) -> None:
    parked(booth)
    old = booth.pending()
    parked(booth.again(), "c1", PUSH)
    assert booth.pending().id != old.id
    with pytest.raises(ConcurrentChange, match=r"was closed at .* without an answer: replaced\.$"):
        booth.answer(old, YES)


def test_f95_an_answer_is_for_one_step_even_if_ids_come_again(booth: Booth) -> None:
    """Some models count their calls from the beginning in every answer."""
    parked(booth)
    booth.answer(booth.pending(), YES)
    after = booth.again()
    after.step(CALL)
    consent = after.ask(CALL, Person())
    assert isinstance(consent, PermissionAnswer)
    assert not consent.yes


@pytest.mark.parametrize("layer", ["loop", "hook"])
def test_what_a_guard_asks_cannot_be_remembered(booth: Booth, layer: str) -> None:
    person = Person(((SESSION,),), ((YES,),))
    consent = booth.ask(CALL, person, layer)
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, booth.engine.grants.all()) == (False, ())
    assert person.asked[0][0].always == ()


def test_f95_a_question_whose_call_is_over_is_marked(booth: Booth) -> None:
    parked(booth)
    one = booth.pending()
    booth.note(CallEnded("c1", "shell", ToolResult("c1", "Lost.", failed=True)))
    assert booth.engine.pending_questions.pending() == []
    [known] = booth.engine.pending_questions.pending(every=True)
    assert known.standing == "interrupted"
    with pytest.raises(
        IllegalState, match="no longer needs an answer: what it was about has ended"
    ):
        booth.answer(one, YES)


def test_questions_of_children_are_found_from_the_root(booth: Booth) -> None:
    child = child_of(booth.world, booth.record, "child")
    grandchild = child_of(booth.world, child, "grandchild")
    deep = Booth(booth.world, grandchild.session)
    deep.step(CALL)
    parked(deep)
    one = deep.pending()
    assert (one.session.session, one.root.session) == ("grandchild", booth.session)
    assert one.session.depth == 2
    header = one.inquiry.asked.questions[0].header
    assert header == 'Permission for sub-agent build, task "Look it up"'
    assert len(header) < MAX_TASK_CHARS + 80


def test_f86_a_plain_no_answers_the_other_questions_of_the_session(booth: Booth) -> None:
    other = Booth(booth.world)
    other.step(CALL)
    parked(other)
    booth.step(CALL, shell("c2", PUSH), shell("c3"))
    parked(booth)
    parked(booth, "c2", PUSH)
    colour = (Question("Colour", "Which?"),)
    booth.drained(
        booth.permission(Absent()).ask_questions(booth.record, shell("c3"), "question", colour)
    )
    mine = [
        one
        for one in booth.engine.pending_questions.pending()
        if one.session.session == booth.session
    ]
    assert len(mine) == 3
    booth.answer(mine[0], NO)
    [left] = booth.engine.pending_questions.pending()
    assert left.session.session == other.session
    answers = [e for e in booth.events() if isinstance(e, QuestionAnswered)]
    because = f"ada (test), through the denial of {mine[0].id}"
    assert answers == [
        QuestionAnswered(mine[0].id, ((NO,),), "ada (test)"),
        QuestionAnswered(mine[1].id, ((NO,),), because),
        QuestionAnswered(mine[2].id, None, because),
    ]


def test_f86_a_no_with_words_answers_nothing_else(booth: Booth) -> None:
    booth.step(CALL, shell("c2", PUSH))
    parked(booth)
    parked(booth, "c2", PUSH)
    first, second = booth.engine.pending_questions.pending()
    booth.answer(first, "Rather not")
    assert [one.id for one in booth.engine.pending_questions.pending()] == [second.id]


def test_f88_a_remembered_yes_answers_what_it_covers_in_the_same_session(booth: Booth) -> None:
    other = Booth(booth.world)
    other.step(CALL)
    parked(other)
    booth.step(CALL, shell("c2", "git status -b"), shell("c3", PUSH))
    for call, line in (("c1", STATUS), ("c2", "git status -b"), ("c3", PUSH)):
        parked(booth, call, line)
    first, second, third = (
        one
        for one in booth.engine.pending_questions.pending()
        if one.session.session == booth.session
    )
    booth.answer(first, SESSION, patterns=PATTERN)
    [grant] = booth.engine.grants.all()
    left = {one.id for one in booth.engine.pending_questions.pending()}
    assert third.id in left
    assert second.id not in left
    assert len(left) == 2
    along = booth.again().ask(shell("c2", "git status -b"), Person())
    assert along == PermissionAnswer(yes=True, question=second.id, grant=grant.id)


def test_an_answer_elsewhere_counts_and_the_person_here_is_told(booth: Booth) -> None:
    person = Elsewhere(lambda: booth.answer(booth.pending(), YES), None)
    consent = booth.ask(CALL, person)
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, person.stopped) == (True, True)


def test_of_two_answers_at_once_the_first_counts(booth: Booth) -> None:
    person = Elsewhere(lambda: booth.answer(booth.pending(), NO), ((YES,),))
    consent = booth.ask(CALL, person)
    assert isinstance(consent, PermissionAnswer)
    assert (consent.yes, consent.plain) == (False, True)
    [answered] = [event for event in booth.events() if isinstance(event, QuestionAnswered)]
    assert (answered.answers, answered.by) == (((NO,),), "ada (test)")


def test_a_second_answer_is_refused_with_the_first(booth: Booth) -> None:
    parked(booth)
    one = booth.pending()
    booth.answer(one, YES)
    with pytest.raises(ConcurrentChange) as refused:
        booth.answer(one, NO)
    assert f"Question {one.id} was answered by ada (test) at 2026-" in refused.value.message
    assert refused.value.message.endswith(": Yes. Only the first answer counts.")


REFUSED: dict[str, tuple[str, str | None, QuestionReply, type[AssentError]]] = {
    "unknown": ("nothing", None, QuestionReply(((YES,),)), NotFound),
    "no reference": ("", None, QuestionReply(((YES,),)), NotFound),
    "another digest": ("", "0" * 64, QuestionReply(((YES,),)), DigestMismatch),
    "half a digest": ("", "half", QuestionReply(((YES,),)), DigestMismatch),
    "no digest": ("", "", QuestionReply(((YES,),)), DigestMismatch),
    "no answer": ("", None, QuestionReply(None), UsageError),
    "too many": ("", None, QuestionReply(((YES,), (YES,))), UsageError),
    "nothing confirmed": ("", None, QuestionReply(((SESSION,),)), Declined),
    "something else confirmed": (
        "", None,
        QuestionReply(((SESSION,),), patterns=(PermissionPattern("bash", "git *"),)),
        Declined,
    ),
    "confirmed as another kind": (
        "", None,
        QuestionReply(((SESSION,),), patterns=(PermissionPattern("edit", "git status *"),)),
        Declined,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("reference", "digest", "reply", "error"), REFUSED.values(), ids=REFUSED)
def test_f96_an_answer_that_does_not_fit_is_refused(
    booth: Booth, reference: str, digest: str | None, reply: QuestionReply, error: type[AssentError]
) -> None:
    parked(booth)
    one = booth.pending()
    right = one.inquiry.asked.digest
    named = right if digest is None else digest.replace("half", right[:32])
    wanted = reference if error is NotFound else one.id
    with pytest.raises(error) as refused:
        booth.engine.pending_questions.answer(wanted, named, reply)
    assert refused.value.next.startswith("assent questions ")
    assert [each.id for each in booth.engine.pending_questions.pending()] == [one.id]
    assert booth.engine.grants.all() == ()


TAMPERED = {
    "what a yes would do": ('"Allow running `git status -s`?', '"Allow running `true`?'),
    "its digest": ('"digest":"', '"digest":"0'),
    "the patterns": ('"pattern":"git status *"', '"pattern":"git *"'),
    "when it expires": ('"expires_at":"2026-01-01T14', '"expires_at":"2036-01-01T14'),
    "the arguments": ('"line":"git status -s"', '"line":"git push"'),
}


@pytest.mark.parametrize(("old", "new"), TAMPERED.values(), ids=TAMPERED)
def test_f96_a_question_that_was_changed_in_the_log_is_not_answered(
    world: World, tmp_path: Path, old: str, new: str
) -> None:
    booth = Booth(on_disk(world, tmp_path), expires_s=7200)
    booth.step(CALL)
    parked(booth)
    one = booth.pending()
    world.store.close()
    with sqlite3.connect(tmp_path / "log.db") as connection:
        rows = connection.execute("SELECT position, body FROM events").fetchall()
        for position, body in rows:
            text = body if isinstance(body, str) else body.decode()
            if old in text:
                changed = text.replace(old, new)
                kept = changed if isinstance(body, str) else changed.encode()
                connection.execute(
                    "UPDATE events SET body = ? WHERE position = ?", (kept, position)
                )
                break
        else:
            raise AssertionError("nothing was changed")
    connection.close()
    world.store = SqliteEventStore(tmp_path / "log.db")
    with pytest.raises(DigestMismatch):
        booth.answer(one, YES)
    seen = booth.again().pending()  # and who looks at it now sees another digest, or is told
    with pytest.raises(DigestMismatch):
        booth.answer(seen, YES)


def test_the_start_of_an_id_is_enough_if_it_names_one(booth: Booth) -> None:
    booth.step(CALL, shell("c2", PUSH))
    parked(booth)
    parked(booth, "c2", PUSH)
    first, second = booth.engine.pending_questions.pending()
    assert booth.engine.pending_questions.find(second.id[:10]).id == second.id
    with pytest.raises(NotFound, match="matches 2 questions"):
        booth.engine.pending_questions.find(first.id[:3])
