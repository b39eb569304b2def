"""What keys do to a question: every key in every position, and which yes takes one, which two."""

from itertools import product

import msgspec
import pytest

from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import Question, QuestionOption
from assent.core.session.question import (
    NO,
    PROJECT,
    SESSION,
    UNCONFINED,
    YES,
    permission_options,
    yes_no_question,
)
from assent.tui.panels.question.state import (
    CONFIRMING,
    NO_ANSWER,
    QuestionAction,
    QuestionStage,
    QuestionState,
    begin_question,
    confirm_keys,
    handle_question_key,
    takes_two_steps,
)

ALWAYS = (PermissionPattern("bash", "git status *"),)
SMALL = Question(
    "Permission", "Run it?", permission_options(ALWAYS, command=True), by="gate", always=ALWAYS,
    risk=("medium", "It may change something."),
)  # fmt: skip
HIGH = msgspec.structs.replace(SMALL, risk=("high", "It deletes files."))
UNRATED = yes_no_question("Budget", "Go on?")
PICK = Question(
    "Colour", "Which?", (QuestionOption("red"), QuestionOption("green"), QuestionOption("blue"))
)
SEVERAL = Question("Parts", "Which?", (QuestionOption("a"), QuestionOption("b")), multiple=True)
FREE = Question("Name", "Which name?")
SPECIAL = ("enter", "escape", "space", "tab", "up", "down", "ctrl+c", "ctrl+y", "question_mark")
KEYS = (*"abcdefghijklmnopqrstuvwxyzP0123456789", *SPECIAL)
PERMISSIONS = [SMALL, HIGH, UNRATED]


def walk(keys: str | tuple[str, ...], *questions: Question) -> tuple[QuestionState, QuestionAction]:
    state, action = _read(questions), QuestionAction.NOTHING
    for key in keys:
        state, action = handle_question_key(state, key, questions)
    return state, action


def _read(questions: tuple[Question, ...]) -> QuestionState:
    return msgspec.structs.replace(begin_question(questions), read=True)


def sent(*keys: str, question: Question) -> str:
    """Returns the label that keys send; empty if they send nothing."""
    state, action = walk(keys, question)
    return state.answers[0][0] if action is QuestionAction.ANSWER else ""


def test_f41_one_key_allows_what_is_of_small_risk_once_and_nothing_else() -> None:
    assert {key: sent(key, question=SMALL) for key in KEYS if sent(key, question=SMALL)} == {
        "y": YES, "n": NO,
    }  # fmt: skip


@pytest.mark.parametrize("question", [HIGH, UNRATED])
def test_f41_a_yes_is_a_choice_and_then_a_key_that_ends_no_sentence(question: Question) -> None:
    assert {key for key in KEYS if sent(key, question=question)} == {"n"}
    pairs = {pair for pair in product(KEYS, KEYS) if sent(*pair, question=question) == YES}
    assert pairs == {("y", "ctrl+y")}


def test_f41_what_reaches_further_is_shown_and_confirmed() -> None:
    small = {pair for pair in product(KEYS, KEYS) if sent(*pair, question=SMALL) == SESSION}
    assert small == {("a", "enter"), ("a", "ctrl+y")}
    high = {pair for pair in product(KEYS, KEYS) if sent(*pair, question=HIGH) == SESSION}
    assert high == {("a", "ctrl+y")}
    for question in (SMALL, HIGH):
        free = {
            pair for pair in product(KEYS, KEYS) if sent(*pair, question=question) == UNCONFINED
        }
        assert free == {("u", "ctrl+y")}


@pytest.mark.parametrize(("key", "label", "reach"), [("p", SESSION, "session"),
                                                     ("P", PROJECT, "project")])  # fmt: skip
def test_a_pattern_is_shown_in_a_field_before_anything_is_sent(
    key: str, label: str, reach: str
) -> None:
    state, action = walk((key,), SMALL)
    assert (state.stage, action) == (QuestionStage.EDITING, QuestionAction.OPEN_FIELD)
    assert (state.answers, state.reach) == (((label,),), reach)
    assert confirm_keys(state, SMALL) == ("ctrl+y", "enter")
    assert confirm_keys(state, HIGH) == ("ctrl+y",)


@pytest.mark.parametrize("question", PERMISSIONS)
@pytest.mark.parametrize("key", ["y", "a", "u"])
def test_f41_the_key_that_asked_confirms_nothing_and_any_other_goes_back(
    key: str, question: Question
) -> None:
    asked, _ = walk((key,), question)
    if asked.stage not in CONFIRMING:
        return
    assert handle_question_key(asked, key, [question]) == (asked, QuestionAction.NOTHING)
    confirming = {*confirm_keys(asked, question)}
    for other in set(KEYS) - {key} - confirming:
        after, action = handle_question_key(asked, other, [question])
        assert (after, action) == (_read((question,)), QuestionAction.CHANGED)


@pytest.mark.parametrize("question", PERMISSIONS)
@pytest.mark.parametrize("key", ["y", "a", "p", "P", "u"])
def test_what_was_not_read_gets_no_yes_but_may_get_a_no(key: str, question: Question) -> None:
    unread = begin_question([question])
    after, action = handle_question_key(unread, key, [question])
    assert (after, action in (QuestionAction.UNREAD, QuestionAction.NOTHING)) == (unread, True)
    assert handle_question_key(unread, "n", [question])[1] is QuestionAction.ANSWER
    skipped, _ = handle_question_key(unread, "s", [question])
    assert skipped == _read((question,))


def test_only_known_small_risks_take_one_step() -> None:
    rated = {
        level: takes_two_steps(msgspec.structs.replace(SMALL, risk=(level,)))
        for level in ("low", "medium", "high", "", "grave")
    }
    assert rated == {"low": False, "medium": False, "high": True, "": True, "grave": True}
    assert takes_two_steps(UNRATED)
    assert not takes_two_steps(PICK)


def test_what_is_not_offered_is_no_answer() -> None:
    plain = msgspec.structs.replace(SMALL, options=permission_options(()))
    for key in ("a", "p", "P", "u"):
        assert walk((key,), plain) == (_read((plain,)), QuestionAction.NOTHING)


@pytest.mark.parametrize("question", [PICK, SEVERAL, FREE])
def test_letters_of_a_permission_allow_nothing_that_a_model_asks(question: Question) -> None:
    for key in ("y", "a", "p", "P", "u", "ctrl+y", "0"):
        assert walk((key,), question) == (_read((question,)), QuestionAction.NOTHING)


def test_f129_a_model_gets_what_was_chosen_and_then_sent_by_enter() -> None:
    answering = {pair for pair in product(KEYS, KEYS) if sent(*pair, question=PICK)}
    assert answering == {(key, "enter") for key in ("1", "2", "3", "up", "down")}
    assert walk(("enter",), PICK)[1] is QuestionAction.EMPTY


def test_f129_arrow_keys_move_and_the_last_choice_counts() -> None:
    assert walk(("down",), PICK)[0].answers == (("red",),)
    assert walk(("up",), PICK)[0].answers == (("blue",),)
    assert walk(("down", "down", "down", "down"), PICK)[0].answers == (("blue",),)
    assert walk("12", PICK)[0].answers == (("green",),)
    assert walk("21", SEVERAL)[0].answers == (("a", "b"),)
    assert walk("211", SEVERAL)[0].answers == (("b",),)
    assert walk(("down", "space", "down", "space"), SEVERAL)[0].answers == (("a", "b"),)


def test_f129_parts_are_answered_one_after_the_other() -> None:
    state, action = walk(("1", "enter"), PICK, SEVERAL)
    assert (state.part, state.read, action) == (1, False, QuestionAction.NEXT_PART)
    state, action = walk(("1", "enter", "s", "2", "enter"), PICK, SEVERAL)
    assert (state.answers, action) == ((("red",), ("b",)), QuestionAction.ANSWER)


def test_f129_no_answer_is_a_key_of_its_own_and_words_have_a_field() -> None:
    assert walk(("n",), FREE)[0].answers == (NO_ANSWER,)
    for question in (FREE, PICK, SMALL):
        state, action = walk(("e",), question)
        assert (state.stage, action) == (QuestionStage.WRITING, QuestionAction.OPEN_FIELD)
    closed = Question("Colour", "Which?", (QuestionOption("red"),), custom=False)
    assert walk(("e",), closed)[1] is QuestionAction.NOTHING
