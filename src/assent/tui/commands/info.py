"""Slash commands that show status, cost, context, rules, questions and memory.

The output goes to the conversation or to a panel.
"""

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Final

from assent.core.errors import AssentError, UsageError
from assent.core.event import FactRemembered
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.tui.commands.command import find_command
from assent.tui.context import AppContext
from assent.tui.conversation.block_sections import cost_text, plural, short_token_count
from assent.tui.hints import lines_with_screen_commands
from assent.tui.host import CommandLineResult
from assent.tui.panels.panel import LinesPanel
from assent.tui.sidebar.context import context_lines
from assent.tui.sidebar.data import SidebarData, read_sidebar_data, usage_limits

# Shows a command's lines in the conversation, or in a panel if they are many.


MAX_INLINE_LINES: Final = 16


def show_lines(app: AppContext, heading: str, lines: Sequence[Line]) -> None:
    """Shows lines in the conversation; many of them in a panel of their own."""
    if len(lines) <= MAX_INLINE_LINES:
        app.add_note(*lines)
        return
    app.open_panel(LinesPanel(heading, lines))


def run_cli_command(
    app: AppContext, heading: str, *arguments: str, ours: bool = True, slash: str = ""
) -> None:
    """Runs a command of the command line in a thread, and shows what it says; maybe our words.

    Where the command line cannot read its words, the person hears what the slash command takes.
    """

    def told(found: CommandLineResult) -> None:
        if found.lines or found.error is None:
            show_lines(
                app, heading, lines_with_screen_commands(found.lines) if ours else found.lines
            )
        if found.error is not None:
            app.fail(_unread(app, found.error, slash))
        app.refresh_status()

    app.tasks.run(heading, lambda: app.host.command(arguments), told)


def _unread(app: AppContext, error: AssentError, slash: str) -> AssentError:
    found = find_command(app.commands, slash)
    if found is None or not isinstance(error, UsageError) or not error.next.endswith(" --help"):
        return error
    words = found.arguments.removeprefix("[").removesuffix("]").replace("|", " or ")
    return UsageError(f"{slash} takes nothing, or {words}.", error.next)


def status(app: AppContext, rest: str) -> None:
    """Shows where the plan stands."""
    named = ("--plan", app.session_controller.plan_id) if app.session_controller.plan_id else ()
    run_cli_command(app, "Status", "status", *named)


def waiting(app: AppContext, rest: str) -> None:
    """Opens the list of everything that waits."""
    app.open("waiting")


def questions(app: AppContext, rest: str) -> None:
    """Opens the question that waits longest, or says that none does."""
    pending = app.engine.pending_questions.pending
    app.tasks.run(
        "Looking for questions",
        pending,
        lambda found: app.ask_next() if found else app.add_note("Nobody asks you anything."),
    )


def cost(app: AppContext, rest: str) -> None:
    """Tells what the session took."""
    standing = app.status_snapshot
    usage, record = standing.usage, standing.record
    turns, requests = (record.turns, record.steps) if record else (0, 0)
    app.add_note(
        f"{short_token_count(usage.input)} tokens in "
        f"({short_token_count(usage.cache_read)} cached), "
        f"{short_token_count(usage.output)} out ({short_token_count(usage.reasoning)} thinking)",
        f"{cost_text(standing.cost)} in {plural(turns, 'turn')}, {plural(requests, 'request')}",
    )


def context(app: AppContext, rest: str) -> None:
    """Shows how full the model's window is."""
    allowance = partial(usage_limits, app.session_controller.work)
    engine, record = app.engine, app.session_controller.record

    def shown(found: SidebarData) -> None:
        lines = context_lines(found.took, found.total, found.cost, found.allowance)
        show_lines(app, "Context", list(lines))

    app.tasks.run("Reading", lambda: read_sidebar_data(engine, record, allowance), shown)


def rules(app: AppContext, rest: str) -> None:
    """Shows the rules, or has one explained, tested or taken back."""
    run_cli_command(app, "Rules", "rules", *(_words(rest) or ["list"]), slash="/rules")


def memory(app: AppContext, rest: str) -> None:
    """Shows what every session here is told, or has a fact forgotten."""
    if rest == "forget":
        app.open("memory", then=lambda fact: memory(app, f"forget {fact}") if fact else None)
        return
    run_cli_command(app, "Memory", "memory", *(_words(rest) or ["list"]), slash="/memory")


def remember(app: AppContext, rest: str) -> None:
    """Keeps a fact that every later session is told."""
    if not rest:
        raise UsageError("What should be remembered?", "/remember Tests run with make test")
    facts = app.engine.memory

    def kept(fact: FactRemembered) -> None:
        app.add_note(f"Every later session here is told: {visible_line(redact(fact.text))}")

    app.tasks.run("Remembering", lambda: facts.remember(rest), kept)


def init(app: AppContext, rest: str) -> None:
    """Makes the folder a workspace."""
    run_cli_command(app, "Making a workspace", "init")


def doctor(app: AppContext, rest: str) -> None:
    """Tries on this machine what must not be possible."""
    run_cli_command(app, "The doctor is trying what must not be possible", "doctor")


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"This line cannot be read: {error}.", "/help") from None
