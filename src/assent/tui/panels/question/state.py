"""What each key does in the question panel, and the sections that show a question.

The sections say where it comes from, what allowing it would do, and the rule.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from assent.core.session.event import Question
from assent.core.session.question import (
    NO,
    PROJECT,
    SESSION,
    UNCONFINED,
    YES,
    PendingQuestion,
    QuestionAnswers,
    is_permission,
)
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, untrusted_lines
from assent.render.questions import pending_question_row, question_lines
from assent.tui.keys import CONFIRM_KEY
from assent.tui.line_view import Section

NOTHING_YET: Final[tuple[str, ...]] = ()
NO_ANSWER: Final = ("",)  # the user explicitly gives none
ANSWER_KEYS: Final = {"y": YES, "s": SESSION, "p": PROJECT, "u": UNCONFINED, "n": NO}
_YESES: Final = frozenset({YES, SESSION, PROJECT, UNCONFINED})
CHOICES: Final = "123456789abcefghilmo"  # a key for each option that a model may offer
SKIP, WORDS, NONE, ANSWER = "z", "w", "d", "enter"
ANSWERING: Final = (ANSWER, CONFIRM_KEY)


class QuestionAction(StrEnum):
    """What a key requests."""

    NOTHING = "nothing"
    CHOSEN = "chosen"  # something else is marked now
    AGREE = "agree"  # say which key approves
    UNREAD = "unread"  # say why it cannot be answered yet
    EMPTY = "empty"  # say that nothing is chosen
    WORDS = "words"  # ask for the user's own words
    NEXT_PART = "next part"
    ANSWER = "answer"  # everything is chosen: send it


class QuestionSelection(msgspec.Struct, frozen=True):
    """The choices so far, for each part of a question."""

    answers: QuestionAnswers  # labels or words; nothing: not chosen yet
    part: int = 0
    read: bool = False  # the end of it was on the screen, or the user skips it knowingly


def empty_selection(questions: Sequence[Question]) -> QuestionSelection:
    """Returns a selection with nothing chosen."""
    return QuestionSelection((NOTHING_YET,) * len(questions))


def handle_question_key(
    choice: QuestionSelection, key: str, questions: Sequence[Question]
) -> tuple[QuestionSelection, QuestionAction]:
    """Returns the new selection and the action of a key; an unknown key does nothing."""
    question = questions[choice.part]
    if key == SKIP and not choice.read:
        return msgspec.structs.replace(choice, read=True), QuestionAction.CHOSEN
    if key == WORDS and accepts_text(question):
        return choice, QuestionAction.WORDS
    if key in ANSWERING:
        return _entered(choice, questions, key)
    if key == NONE and question.by != "gate":
        return choose(choice, NO_ANSWER), QuestionAction.CHOSEN
    label = _label(question, key)
    if not label:
        return choice, QuestionAction.NOTHING
    return choose(
        choice, _with(choice.answers[choice.part], label, question)
    ), QuestionAction.CHOSEN


def choose(choice: QuestionSelection, answer: tuple[str, ...]) -> QuestionSelection:
    """Returns the selection with this answer for the current part."""
    answers = list(choice.answers)
    answers[choice.part] = answer
    return msgspec.structs.replace(choice, answers=tuple(answers))


def is_yes(question: Question, answer: tuple[str, ...]) -> bool:
    """Tells whether an answer allows what the gate asks about."""
    return question.by == "gate" and any(each in _YESES for each in answer)


def accepts_text(question: Question) -> bool:
    """Tells whether free text is an answer; for a permission it denies, with a reason."""
    return question.custom or not question.options


def key_of(question: Question, number: int) -> str:
    """Returns the key that chooses an option."""
    label = question.options[number].label
    if is_permission(question) or question.by == "gate":
        found = [key for key, each in ANSWER_KEYS.items() if each == label]
        return found[0] if found else CHOICES[number]
    return CHOICES[number]


def _entered(
    choice: QuestionSelection, questions: Sequence[Question], key: str
) -> tuple[QuestionSelection, QuestionAction]:
    answer = choice.answers[choice.part]
    if not answer:
        return choice, QuestionAction.EMPTY
    if key != CONFIRM_KEY and is_yes(questions[choice.part], answer):
        return choice, QuestionAction.AGREE
    if not choice.read and answer != (NO,):
        return choice, QuestionAction.UNREAD
    if choice.part + 1 < len(questions):
        return msgspec.structs.replace(choice, part=choice.part + 1), QuestionAction.NEXT_PART
    return choice, QuestionAction.ANSWER


def _label(question: Question, key: str) -> str:
    offered = [option.label for option in question.options]
    if question.by == "gate" and ANSWER_KEYS.get(key) in offered:
        return ANSWER_KEYS[key]
    at = CHOICES.find(key) if len(key) == 1 else -1
    return offered[at] if 0 <= at < len(offered) else ""


def _with(answer: tuple[str, ...], label: str, question: Question) -> tuple[str, ...]:
    """Returns the answer with an option toggled if several are allowed, else chosen."""
    if not question.multiple:
        return (label,)
    if label in answer:
        return tuple(each for each in answer if each != label)
    listed = [option.label for option in question.options]
    return tuple(sorted((*answer, label), key=lambda each: _place(listed, each)))


def _place(listed: Sequence[str], label: str) -> int:
    return listed.index(label) if label in listed else len(listed)


# The sections of a question: where it comes from, what allowing it would do, and the rule.


SELECTION_MARKS = {
    (False, False): "( )",
    (False, True): "(•)",
    (True, False): "[ ]",
    (True, True): "[x]",
}


def question_sections(pending: PendingQuestion, part: int, now: str) -> list[Section]:
    """Returns one part of a question: what allowing it would do, then where it comes from."""
    row = pending_question_row(pending, now)
    question = msgspec.structs.replace(pending.inquiry.asked.questions[part], options=())
    about = {
        "for": f"{row['agent']}: {row['task']}" if row["task"] else None,
        "tool": row["tool"],
        "expires at": row["expires_at"],
        "id": row["id"],
    }
    known = [(name, visible_line(str(value))) for name, value in about.items() if value]
    # What a model asks is all there is to its call.
    called = arguments_lines(row["args"]) if question.by == "gate" else []
    return [
        Section("question", tuple(question_lines(question, most=0))),
        Section("call", (BLANK, *called) if called else ()),
        Section("about", (BLANK, *table_lines("dim", known))),
    ]


def confirmation_sections(question: Question) -> list[Section]:
    """Returns the full question that confirms an approval that covers more."""
    shown = msgspec.structs.replace(question, options=())
    return [Section("question", tuple(question_lines(shown, most=0)))]


def arguments_lines(args: Mapping[str, object] | None) -> list[Line]:
    """Renders the exact arguments of a tool call."""
    if args is None:
        return []
    text = msgspec.json.format(msgspec.json.encode(args)).decode()
    return [Line("heading", "Tool arguments:"), *untrusted_lines(text)]


def option_lines(question: Question, choice: QuestionSelection) -> Iterator[Line]:
    """Renders the choices with their keys; a sign marks the chosen one."""
    answer = choice.answers[choice.part]
    for number, option in enumerate(question.options):
        chosen = option.label in answer
        sign = SELECTION_MARKS[question.multiple, chosen]
        about = f": {visible_line(option.description)}" if option.description else ""
        text = f"{key_of(question, number)} {sign} {visible_line(option.label)}{about}"
        yield Line("said" if chosen else "plain", text)
    own = [each for each in answer if each and each not in _labels(question.options)]
    if accepts_text(question):
        words = f": {visible_line(own[0])}" if own else ""
        name = "no, and why" if question.by == "gate" else "your own answer"
        yield Line(
            "said" if own else "plain", f"w {SELECTION_MARKS[False, bool(own)]} {name}{words}"
        )
    if question.by != "gate":
        none = answer == NO_ANSWER
        yield Line("said" if none else "plain", f"d {SELECTION_MARKS[False, none]} no answer")


def _labels(options: Sequence[object]) -> list[str]:
    return [getattr(option, "label", "") for option in options]
