"""question: asks the user something that only they can decide (F129)."""

from typing import Annotated

import msgspec

from assent.core.errors import UsageError
from assent.core.session.event import Question, QuestionOption
from assent.core.tool import Action, QuestionsEffect, ResourceAccess, ToolOutcome
from assent.tools.tool import Tool, ToolContext

MAX_QUESTIONS, MAX_OPTIONS, MAX_HEADER_CHARS = 10, 20, 40


class QuestionChoiceArgs(msgspec.Struct, frozen=True):
    label: str
    description: str = ""


class SingleQuestionArgs(msgspec.Struct, frozen=True):
    question: str
    header: str = ""
    options: list[QuestionChoiceArgs] = []
    multiple: bool = False
    custom: Annotated[bool, msgspec.Meta(description="free text, too")] = True


class QuestionArgs(msgspec.Struct, frozen=True):
    questions: list[SingleQuestionArgs]


def touches(args: QuestionArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "question", "question"),)


def run(args: QuestionArgs, around: ToolContext) -> ToolOutcome:
    """Returns the questions, if each can be answered."""
    if not 0 < len(args.questions) <= MAX_QUESTIONS:
        raise UsageError(f"questions: send 1 to {MAX_QUESTIONS} at once.")
    for at, wanted in enumerate(args.questions):
        if wrong := _wrong(wanted):
            raise UsageError(f"questions[{at}].{wrong} The user was not asked.")
    asked = tuple(_question(wanted) for wanted in args.questions)
    title = asked[0].header if len(asked) == 1 else f"{len(asked)} questions"
    return ToolOutcome("The user is asked.", title, effect=QuestionsEffect(asked))


def _wrong(wanted: SingleQuestionArgs) -> str:
    labels = [choice.label.strip() for choice in wanted.options]
    checks = (
        (len(wanted.header) > MAX_HEADER_CHARS, f"header: {MAX_HEADER_CHARS} characters at most."),
        (not wanted.question.strip(), "question: must not be blank."),
        (not all(labels), "options: a label is blank."),
        (len(set(labels)) < len(labels), "options: two labels are the same."),
        (len(labels) > MAX_OPTIONS, f"options: {MAX_OPTIONS} at most."),
        (not labels and not wanted.custom, "options: none given, and free text is off."),
    )
    return next((words for wrong, words in checks if wrong), "")


def _header(question: str) -> str:
    """Returns the question's first words as a header."""
    words, header = question.split(), ""
    for word in words:
        if len(header) + len(word) >= MAX_HEADER_CHARS:
            break
        header = f"{header} {word}".strip()
    return header.rstrip(".,:;?!") or question.strip()[:MAX_HEADER_CHARS]


def _question(wanted: SingleQuestionArgs) -> Question:
    options = tuple(
        QuestionOption(choice.label.strip(), choice.description) for choice in wanted.options
    )
    header = wanted.header.strip() or _header(wanted.question)
    return Question(header, wanted.question, options, wanted.multiple, wanted.custom)


QUESTION = Tool("question", QuestionArgs, touches, run, Action.PLAN)
