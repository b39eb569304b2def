"""What keys do to a question: every key in every position, and no yes but by two different ones."""

from itertools import product

import pytest

from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import Question, QuestionOption
from assent.core.session.question import NO, PROJECT, SESSION, UNCONFINED, YES, permission_options
from assent.tui.panels.question.state import (
    ANSWER_KEYS,
    NO_ANSWER,
    QuestionAction,
    QuestionSelection,
    choose,
    empty_selection,
    handle_question_key,
    key_of,
)

ALWAYS = (PermissionPattern("bash", "git status *"),)
ASKED = Question(
    "Permission", "Run it?", permission_options(ALWAYS, command=True), by="gate", always=ALWAYS
)
PICK = Question(
    "Colour", "Which?", (QuestionOption("red"), QuestionOption("green"), QuestionOption("blue"))
)
SEVERAL = Question("Parts", "Which?", (QuestionOption("a"), QuestionOption("b")), multiple=True)
FREE = Question("Name", "Which name?")
SPECIAL = ("enter", "escape", "space", "tab", "up", "ctrl+c", "ctrl+y")
KEYS = (*"abcdefghijklmnopqrstuvwxyz0123456789", *SPECIAL)


def walk(
    keys: str | tuple[str, ...], *questions: Question
) -> tuple[QuestionSelection, QuestionAction]:
    choice, deed = (
        QuestionSelection(empty_selection(questions).answers, read=True),
        QuestionAction.NOTHING,
    )
    for key in keys:
        choice, deed = handle_question_key(choice, key, questions)
    return choice, deed


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("question", [ASKED, PICK, SEVERAL, FREE])
def test_no_single_key_answers(question: Question, key: str) -> None:
    assert walk((key,), question)[1] is not QuestionAction.ANSWER
    assert walk((key, key, key), question)[1] is not QuestionAction.ANSWER


def test_f41_a_yes_is_a_choice_and_then_a_key_that_ends_no_sentence() -> None:
    answering = {
        pair for pair in product(KEYS, KEYS) if walk(pair, ASKED)[1] is QuestionAction.ANSWER
    }
    chosen = {*ANSWER_KEYS, *"12345"}
    no = {("n", "enter"), ("5", "enter")}
    assert answering == {(key, "ctrl+y") for key in chosen} | no


def test_f41_what_a_model_asks_is_answered_by_enter() -> None:
    answering = {
        pair for pair in product(KEYS, KEYS) if walk(pair, PICK)[1] is QuestionAction.ANSWER
    }
    assert answering == {(key, answer) for key in "123d" for answer in ("enter", "ctrl+y")}


@pytest.mark.parametrize(
    ("key", "label"),
    [("y", YES), ("s", SESSION), ("p", PROJECT), ("u", UNCONFINED), ("n", NO), ("1", YES)],
)
def test_each_key_of_a_permission_chooses_its_answer(key: str, label: str) -> None:
    choice, deed = walk((key, "ctrl+y"), ASKED)
    assert (choice.answers, deed) == (((label,),), QuestionAction.ANSWER)


def test_letters_of_a_permission_mean_nothing_to_a_model() -> None:
    assert walk("y", PICK) == (QuestionSelection(((),), read=True), QuestionAction.NOTHING)
    assert [key_of(PICK, number) for number in range(3)] == ["1", "2", "3"]
    assert [key_of(ASKED, number) for number in range(5)] == ["y", "s", "p", "u", "n"]


def test_the_last_choice_counts_and_several_can_be_made_where_they_may() -> None:
    assert walk("12", PICK)[0].answers == (("green",),)
    assert walk("21", SEVERAL)[0].answers == (("a", "b"),)
    assert walk("211", SEVERAL)[0].answers == (("b",),)


def test_what_was_not_read_gets_no_yes_but_may_get_a_no() -> None:
    unread = empty_selection([ASKED])
    for label, deed in (
        (YES, QuestionAction.UNREAD),
        (SESSION, QuestionAction.UNREAD),
        (NO, QuestionAction.ANSWER),
    ):
        assert handle_question_key(choose(unread, (label,)), "ctrl+y", [ASKED])[1] is deed
    skipped, _ = handle_question_key(unread, "z", [ASKED])
    assert (
        handle_question_key(choose(skipped, (YES,)), "ctrl+y", [ASKED])[1] is QuestionAction.ANSWER
    )
    assert handle_question_key(choose(skipped, (YES,)), "enter", [ASKED])[1] is QuestionAction.AGREE


def test_enter_without_a_choice_says_so() -> None:
    assert walk(("enter",), ASKED)[1] is QuestionAction.EMPTY


def test_f129_parts_are_answered_one_after_the_other() -> None:
    choice, deed = walk(("1", "enter"), PICK, SEVERAL)
    assert (choice.part, deed) == (1, QuestionAction.NEXT_PART)
    choice, deed = walk(("1", "enter", "2", "enter"), PICK, SEVERAL)
    assert (choice.answers, deed) == ((("red",), ("b",)), QuestionAction.ANSWER)


def test_f129_no_answer_is_a_choice_of_its_own_and_words_are_asked_for() -> None:
    assert walk(("d", "enter"), FREE)[0].answers == (NO_ANSWER,)
    assert walk(("d",), ASKED)[1] is QuestionAction.NOTHING
    assert walk(("w",), FREE)[1] is QuestionAction.WORDS
    closed = Question("Colour", "Which?", (QuestionOption("red"),), custom=False)
    assert walk(("w",), closed)[1] is QuestionAction.NOTHING
