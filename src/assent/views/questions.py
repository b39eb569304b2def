"""Questions to a person: what they look like, and what a typed line means as an answer."""

from collections.abc import Iterator, Sequence

from assent.core.session_event import Question
from assent.views.lines import BLANK, Line, foreign, wrapped
from assent.views.review import diff_lines
from assent.views.visible import visible_line

ONE, SEVERAL, WORDS = "a number", "numbers with commas", "your own words"
YES_OR_NO = {"y": "yes", "n": "no"}
MOST = 200  # lines of a patch, or things to do, that a question shows


def question_lines(question: Question) -> Iterator[Line]:
    """Renders a question with its options by number; a model's words stand behind a bar."""
    yield BLANK
    if question.by == "gate":
        yield from wrapped("heading", visible_line(question.header))
        yield from wrapped("plain", visible_line(question.question))
    else:
        yield Line("heading", f"The model asks{_about(question.header)}:")
        yield from foreign(question.question)
    yield from _things(question.things)
    yield from _detail(question.detail)
    for number, option in enumerate(question.options, start=1):
        about = f": {visible_line(option.description)}" if option.description else ""
        yield from wrapped("plain", f"  {number}. {visible_line(option.label)}{about}")


def _about(header: str) -> str:
    return f" about {visible_line(header)}" if header else ""


def _things(things: Sequence[str]) -> Iterator[Line]:
    for thing in things[:MOST]:
        yield from wrapped("plain", f"  - {visible_line(thing)}")
    if len(things) > MOST:
        yield Line("risk", f"  - and {len(things) - MOST} more")


def answer_hint(question: Question) -> str:
    """Says what can be typed; Enter alone is always a no."""
    ways = [*YES_OR_NO] if _is_yes_or_no(question) else []
    if question.options and not ways:
        ways = [SEVERAL if question.multiple else ONE]
    words = [WORDS] if question.custom or not question.options else []
    *before, last = [*ways, *words]
    listed = f"{', '.join(before)} or {last}" if before else last
    return f"{listed.capitalize()} (Enter: no answer): "


def chosen(question: Question, typed: str) -> tuple[str, ...]:
    """Returns the labels or words that a typed line means; nothing, if it means none (law 9)."""
    pieces = typed.split(",") if question.multiple and question.options else [typed]
    found = [_meant(question, piece.strip()) for piece in pieces if piece.strip()]
    if all(found):
        return tuple(dict.fromkeys(found))
    free = question.custom or not question.options
    return (typed.strip(),) if free and typed.strip() else ()


def open_questions_lines(questions: Sequence[Question], command: str) -> Iterator[Line]:
    """Renders questions that nobody answered, and how to answer them."""
    for question in questions:
        yield from question_lines(question)
    yield Line("plain", f"Answer: {command} 'YOUR ANSWER'")


def _detail(patch: str) -> Iterator[Line]:
    """Renders what a yes would do; of a long one the beginning, and how much is left out."""
    if not patch:
        return
    yield BLANK
    lines = list(diff_lines(patch))
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield Line("risk", f"… {len(lines) - MOST} more lines are not shown here.")
    yield BLANK


def _is_yes_or_no(question: Question) -> bool:
    return {option.label.casefold() for option in question.options} == set(YES_OR_NO.values())


def _meant(question: Question, piece: str) -> str:
    """Returns the label of an option, by its number or its own words; empty if there is none."""
    labels = [option.label for option in question.options]
    if piece.isascii() and piece.isdigit():
        number = int(piece[:9])
        return labels[number - 1] if 1 <= number <= len(labels) else ""
    folded = piece.casefold()
    if _is_yes_or_no(question):
        folded = YES_OR_NO.get(folded, folded)
    return next((label for label in labels if label.casefold() == folded), "")
