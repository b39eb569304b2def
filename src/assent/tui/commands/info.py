"""Slash commands that show status, cost, context, rules, questions and memory.

The output goes to the conversation or to a panel.
"""

import shlex
from collections.abc import Callable, Sequence
from functools import partial

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
from assent.tui.line_view import Section
from assent.tui.panels.panel import MAX_INLINE_LINES, LinesPanel
from assent.tui.sidebar.context import context_lines
from assent.tui.sidebar.data import SidebarData, read_sidebar_data, usage_limits

# Shows a command's lines in the conversation, or in a panel if they are many.


def show_lines(app: AppContext, heading: str, lines: Sequence[Line]) -> None:
    """Shows lines in the conversation; long output in its own panel."""
    if len(lines) <= MAX_INLINE_LINES:
        app.add_note(*lines)
        return
    app.open_panel(LinesPanel(heading, [Section("lines", tuple(lines))]))


def run_cli_command(
    app: AppContext,
    heading: str,
    *arguments: str,
    ours: bool = True,
    slash: str = "",
    then: Callable[[], object] | None = None,
) -> None:
    """Runs a command of the command line in a thread, and shows its output.

    Once it was done, `then` is called. With `ours`, its advice is translated to commands of this
    screen. If the command line cannot parse the arguments, the slash command's usage is shown.
    """

    def told(found: CommandLineResult) -> None:
        if found.lines or found.error is None:
            show_lines(
                app, heading, lines_with_screen_commands(found.lines) if ours else found.lines
            )
        if found.error is not None:
            app.fail(_unread(app, found.error, slash))
        elif then is not None:
            then()
        app.refresh_status()

    app.tasks.run(heading, lambda: app.host.command(arguments), told)


def _unread(app: AppContext, error: AssentError, slash: str) -> AssentError:
    unread = isinstance(error, UsageError) and error.next.endswith(" --help")
    return argument_error(app, slash) if slash and unread else error


def argument_error(app: AppContext, slash: str) -> UsageError:
    """Returns the error about words after a command that cannot be read: what it takes."""
    found = find_command(app.commands, slash)
    words = (
        found.arguments.removeprefix("[").removesuffix("]").replace("|", " or ") if found else ""
    )
    return UsageError(f"{slash} takes no argument, or {words}.", "/help")


def status(app: AppContext, rest: str) -> None:
    """Shows the state of the plan."""
    named = ("--plan", app.session_controller.plan_id) if app.session_controller.plan_id else ()
    run_cli_command(app, "Status", "status", *named)


def waiting(app: AppContext, rest: str) -> None:
    """Opens the list of everything that waits for a decision."""
    app.open("waiting")


def questions(app: AppContext, rest: str) -> None:
    """Opens the oldest open question, or says that there is none."""
    pending = app.engine.pending_questions.pending
    app.tasks.run(
        "Loading questions",
        pending,
        lambda found: app.ask_next() if found else app.add_note("No pending questions"),
    )


def cost(app: AppContext, rest: str) -> None:
    """Shows the tokens, cost and time of the session."""
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
    """Shows how full the model's context is."""
    allowance = partial(usage_limits, app.session_controller.work)
    engine, record = app.engine, app.session_controller.record

    def shown(found: SidebarData) -> None:
        lines = context_lines(found.took, found.total, found.cost, found.allowance, found.estimate)
        show_lines(app, "Context", list(lines))

    app.tasks.run("Reading", lambda: read_sidebar_data(engine, record, allowance), shown)


def rules(app: AppContext, rest: str) -> None:
    """Shows the rules, or explains, tests or revokes one."""
    run_cli_command(app, "Rules", "rules", *(_words(rest) or ["list"]), slash="/rules")


def memory(app: AppContext, rest: str) -> None:
    """Shows the facts that every session here is given, or forgets one."""
    if rest == "forget":
        app.open("memory", then=lambda fact: memory(app, f"forget {fact}") if fact else None)
        return
    run_cli_command(app, "Memory", "memory", *(_words(rest) or ["list"]), slash="/memory")


def mcp(app: AppContext, rest: str) -> None:
    """Lists the MCP servers."""
    run_cli_command(app, "MCP servers", "mcp", "list")


def web(app: AppContext, rest: str) -> None:
    """Opens the running server's page in a browser."""
    app.tasks.run(
        "Opening the page",
        app.host.open_page,
        lambda url: app.add_note(f"Opened in your browser: {visible_line(url)}"),
    )


def remember(app: AppContext, rest: str) -> None:
    """Stores a fact that every later session is given."""
    if not rest:
        raise UsageError("Say what to remember.", "/remember Tests run with make test")
    facts = app.engine.memory

    def kept(fact: FactRemembered) -> None:
        app.add_note(f"Saved for later sessions: {visible_line(redact(fact.text))}")

    app.tasks.run("Remembering", lambda: facts.remember(rest), kept)


def init(app: AppContext, rest: str) -> None:
    """Makes the folder a workspace."""
    run_cli_command(app, "Creating the workspace", "init")


def doctor(app: AppContext, rest: str) -> None:
    """Checks that the safeguards hold on this machine."""
    run_cli_command(app, "Checking the safeguards on this machine", "doctor")


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"Cannot parse this line: {error}.", "/help") from None
