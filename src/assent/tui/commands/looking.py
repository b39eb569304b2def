"""Commands that look: where things stand, what they cost, what is allowed and remembered."""

import shlex
from functools import partial
from typing import TYPE_CHECKING

from assent.core.errors import UsageError
from assent.core.event import FactRemembered
from assent.core.text.hidden_chars import visible_line
from assent.core.text.redaction import redact
from assent.tui.commands.answering import answer, run_line

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp
    from assent.tui.beside import Beside


def status(app: "TerminalApp", rest: str) -> None:
    """Shows where the plan stands."""
    named = ("--plan", app.session_controller.plan_id) if app.session_controller.plan_id else ()
    run_line(app, "Status", "status", *named)


def waiting(app: "TerminalApp", rest: str) -> None:
    """Opens the list of everything that waits."""
    from assent.tui.panels.waiting_list import WaitingList

    app.open_panel(WaitingList())


def questions(app: "TerminalApp", rest: str) -> None:
    """Opens the question that waits longest, or says that none does."""
    pending = app.engine.pending_questions.pending
    app.tasks.run(
        "Looking for questions",
        pending,
        lambda found: app.ask_next() if found else app.add_note("Nobody asks you anything."),
    )


def cost(app: "TerminalApp", rest: str) -> None:
    """Tells what the session took."""
    from assent.tui.talk import amount, count_of, money

    standing = app.status_snapshot
    usage, record = standing.usage, standing.record
    turns, requests = (record.turns, record.steps) if record else (0, 0)
    app.add_note(
        f"{amount(usage.input)} tokens in ({amount(usage.cache_read)} cached), "
        f"{amount(usage.output)} out ({amount(usage.reasoning)} thinking)",
        f"{money(standing.cost)} in {count_of(turns, 'turn')}, {count_of(requests, 'request')}",
    )


def context(app: "TerminalApp", rest: str) -> None:
    """Shows how full the model's window is."""
    from assent.tui.beside import allowance_of, read_beside
    from assent.views.context import context_lines

    allowance = partial(allowance_of, app.session_controller.work)
    engine, record = app.engine, app.session_controller.record

    def shown(found: "Beside") -> None:
        lines = context_lines(found.took, found.total, found.cost, found.allowance)
        answer(app, "Context", list(lines))

    app.tasks.run("Reading", lambda: read_beside(engine, record, allowance), shown)


def rules(app: "TerminalApp", rest: str) -> None:
    """Shows the rules, or has one explained, tested or taken back."""
    run_line(app, "Rules", "rules", *(_words(rest) or ["list"]), slash="/rules")


def memory(app: "TerminalApp", rest: str) -> None:
    """Shows what every session here is told, or has a fact forgotten."""
    if rest == "forget":
        from assent.tui.panels.fact_list import FactList

        app.open_panel(FactList(), lambda fact: memory(app, f"forget {fact}") if fact else None)
        return
    run_line(app, "Memory", "memory", *(_words(rest) or ["list"]), slash="/memory")


def remember(app: "TerminalApp", rest: str) -> None:
    """Keeps a fact that every later session is told."""
    if not rest:
        raise UsageError("What should be remembered?", "/remember Tests run with make test")
    facts = app.engine.memory

    def kept(fact: FactRemembered) -> None:
        app.add_note(f"Every later session here is told: {visible_line(redact(fact.text))}")

    app.tasks.run("Remembering", lambda: facts.remember(rest), kept)


def init(app: "TerminalApp", rest: str) -> None:
    """Makes the folder a workspace."""
    run_line(app, "Making a workspace", "init")


def doctor(app: "TerminalApp", rest: str) -> None:
    """Tries on this machine what must not be possible."""
    run_line(app, "The doctor is trying what must not be possible", "doctor")


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"This line cannot be read: {error}.", "/help") from None
