"""Askers: ask at the terminal, defer the question, or deny if no one can be asked."""

from collections.abc import Callable, Sequence
from threading import Lock

from assent.cli.output import ansi, want_color
from assent.cli.terminal import ScreenLock, has_terminal, read_reply, terminal_height, write_line
from assent.core.session.event import Question
from assent.core.session.question import REMEMBERED, YES
from assent.core.text.hidden_chars import visible_line
from assent.ports.session import Asker
from assent.render.questions import (
    ALL,
    answer_hint,
    is_truncated,
    max_detail_lines,
    parse_answer,
    question_lines,
    unknown_number_error,
)

NOT_REMEMBERED = "Nothing was remembered."


class DenyingAsker:
    """Implements ports.Asker if no one can be asked: every answer is a denial (law 9)."""

    defers = False
    present = False

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        return None


class DeferringAsker(DenyingAsker):
    """Implements ports.Asker where questions stay open until a person answers them."""

    defers = True


class TerminalAsker:
    """Implements ports.Asker on the user's own terminal, whatever stdin and stdout are."""

    defers = False
    present = True

    def __init__(self, screen: ScreenLock | None = None) -> None:
        self._turn = Lock()  # several sessions may work at once; the user is asked one at a time
        self._screen = screen or ScreenLock()

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        with self._turn, self._screen.asking():
            typed: list[tuple[Question, str | None]] = []
            for question in questions:
                if answered():
                    return None
                typed.append((question, _typed(question, answered)))
            if all(line is None for _, line in typed) or answered():
                return None
            answers = tuple([parse_answer(question, line or "") for question, line in typed])
            if questions[0].header == REMEMBERED and answers != ((YES,),):
                write_line(NOT_REMEMBERED)
        return answers


def _typed(question: Question, answered: Callable[[], str]) -> str | None:
    """Shows a question and returns the line typed after it; `v` shows what was too long."""
    most = max_detail_lines(question, terminal_height())
    text = _shown(question, most)
    while True:
        line = read_reply(text, lambda: visible_line(answered()))
        if line is None:
            return None
        if is_truncated(question, most=most) and line.strip().casefold() == ALL:
            most = 0
            text = _shown(question, most)
        elif wrong := unknown_number_error(question, line):
            text = f"{wrong}\n{answer_hint(question, cut=is_truncated(question, most=most))}"
        else:
            return line


def _shown(question: Question, most: int) -> str:
    lines = ansi(question_lines(question, most=most), color=want_color())
    return "\n".join([*lines, answer_hint(question, cut=is_truncated(question, most=most))])


def asker(*, may_ask: bool, later: bool = False, screen: ScreenLock | None = None) -> Asker:
    """Returns the asker: the terminal's, if there is a terminal and the user may be asked."""
    if may_ask and has_terminal():
        return TerminalAsker(screen)
    return DeferringAsker() if later else DenyingAsker()
