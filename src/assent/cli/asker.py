"""Askers: a person at the terminal who can be asked, or nobody, who never says yes."""

from collections.abc import Sequence

from assent.cli.output import want_color
from assent.cli.terminal import is_there, reply
from assent.core.session_event import Question
from assent.ports import Asker
from assent.views.ansi import ansi
from assent.views.questions import answer_hint, chosen, question_lines


class Nobody:
    """Implements ports.Asker where nobody can be asked: every answer is a no (law 9)."""

    def ask(self, questions: Sequence[Question]) -> tuple[tuple[str, ...], ...] | None:
        return None


class TerminalAsker:
    """Implements ports.Asker on the person's own terminal, whatever stdin and stdout are."""

    def ask(self, questions: Sequence[Question]) -> tuple[tuple[str, ...], ...] | None:
        typed = [(question, _typed(question)) for question in questions]
        if all(line is None for _, line in typed):
            return None
        return tuple([chosen(question, line or "") for question, line in typed])


def _typed(question: Question) -> str | None:
    lines = ansi(question_lines(question), color=want_color())
    return reply("\n".join([*lines, answer_hint(question)]))


def asker(*, may_ask: bool) -> Asker:
    """Returns who answers questions: the person, where there is one and they may be asked."""
    return TerminalAsker() if may_ask and is_there() else Nobody()
