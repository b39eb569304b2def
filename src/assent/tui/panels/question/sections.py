"""The sections of a question: where it comes from, what a yes would do, and the rule."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from assent.core.session.event import Question
from assent.core.session.question import PendingQuestion
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, untrusted_lines
from assent.render.questions import pending_question_row, question_lines
from assent.tui.line_view.view import Section
from assent.tui.panels.question.state import NO_ANSWER, QuestionSelection, accepts_text, key_of

SELECTION_MARKS = {
    (False, False): "( )",
    (False, True): "(•)",
    (True, False): "[ ]",
    (True, True): "[x]",
}


def question_sections(pending: PendingQuestion, part: int, now: str) -> list[Section]:
    """Returns one part of a question: what a yes would do first, then where it comes from."""
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
    """Returns the question that comes before a yes with more behind it, in full."""
    shown = msgspec.structs.replace(question, options=())
    return [Section("question", tuple(question_lines(shown, most=0)))]


def arguments_lines(args: Mapping[str, object] | None) -> list[Line]:
    """Renders what a model called a tool with, exactly."""
    if args is None:
        return []
    text = msgspec.json.format(msgspec.json.encode(args)).decode()
    return [Line("heading", "The model called it with:"), *untrusted_lines(text)]


def option_lines(question: Question, choice: QuestionSelection) -> Iterator[Line]:
    """Renders the choices with their keys; a sign says which is chosen."""
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
        name = "no, with words" if question.by == "gate" else "words of your own"
        yield Line(
            "said" if own else "plain", f"w {SELECTION_MARKS[False, bool(own)]} {name}{words}"
        )
    if question.by != "gate":
        none = answer == NO_ANSWER
        yield Line("said" if none else "plain", f"d {SELECTION_MARKS[False, none]} give no answer")


def _labels(options: Sequence[object]) -> list[str]:
    return [getattr(option, "label", "") for option in options]
