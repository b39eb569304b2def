"""Askers: a person at the terminal who can be asked, or nobody, who never says yes."""

from collections.abc import Callable, Sequence
from threading import Lock

from assent.cli.output import want_color
from assent.cli.terminal import is_there, reply
from assent.core.session_event import Question
from assent.ports import Asker
from assent.views.ansi import ansi
from assent.views.questions import ALL, answer_hint, chosen, is_cut, question_lines

ELSEWHERE = "Answered elsewhere."


class Nobody:
    """Implements ports.Asker where nobody can be asked: every answer is a no (law 9)."""

    later = False

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], bool]
    ) -> tuple[tuple[str, ...], ...] | None:
        return None


class Later(Nobody):
    """Implements ports.Asker where questions wait for a person who answers them some day."""

    later = True


class TerminalAsker:
    """Implements ports.Asker on the person's own terminal, whatever stdin and stdout are."""

    later = False

    def __init__(self) -> None:
        self._turn = Lock()  # several sessions may work at once; a person hears one at a time

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], bool]
    ) -> tuple[tuple[str, ...], ...] | None:
        with self._turn:
            typed: list[tuple[Question, str | None]] = []
            for question in questions:
                if answered():
                    return None
                typed.append((question, _typed(question, answered)))
            if all(line is None for _, line in typed) or answered():
                return None
        return tuple([chosen(question, line or "") for question, line in typed])


def _typed(question: Question, answered: Callable[[], bool]) -> str | None:
    """Shows a question and returns the line typed after it; `v` shows what was too long."""
    most: int | None = None
    while True:
        lines = ansi(question_lines(question, most=most), color=want_color())
        cut = is_cut(question, most=most)
        text = "\n".join([*lines, answer_hint(question, cut=cut)])
        line = reply(text, answered, ELSEWHERE)
        if not cut or line is None or line.strip().casefold() != ALL:
            return line
        most = 0


def asker(*, may_ask: bool, later: bool = False) -> Asker:
    """Returns who answers questions: the person, where there is one and they may be asked."""
    if may_ask and is_there():
        return TerminalAsker()
    return Later() if later else Nobody()
