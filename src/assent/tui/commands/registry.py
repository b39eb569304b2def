"""The table of slash commands; finds the command that a line names, and runs it.

Completion, the palette, the help and the docs read the same table.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Final, TypeAlias

from assent.core.errors import UsageError
from assent.core.text.hidden_chars import visible_line
from assent.tui.commands import info, plan, screen, session, setup
from assent.tui.commands.command import CommandInfo, find_command
from assent.tui.context import AppContext
from assent.tui.prompt.completion import Completion

Act: TypeAlias = Callable[[AppContext, str], object]


class BuiltinCommand(CommandInfo, frozen=True, kw_only=True):
    """A command with the function that runs it."""

    act: Act


COMMANDS: Final = (
    BuiltinCommand("/plan", "[on|off]", "turn plan mode on/off", "plan", act=session.plan),
    BuiltinCommand("/review", "[PLAN]", "review the plan", "plan", act=plan.review),
    BuiltinCommand("/approve", "[PLAN]", "same as /review; 1 approves", "plan", act=plan.review),
    BuiltinCommand("/plans", "", "choose a plan", "plan", act=plan.choose),
    BuiltinCommand("/history", "[PLAN]", "show plan text revisions", "plan", act=plan.history),
    BuiltinCommand("/edit", "[PLAN]", "edit a plan's text in your editor", "plan", act=plan.edit),
    BuiltinCommand("/diff", "[turns|TURN]", "show staged, built or edited changes", "plan",
            act=plan.diff),
    BuiltinCommand("/build", "[PLAN]", "build an approved plan", "run", act=plan.build),
    BuiltinCommand("/undo", "[RUN]", "undo a run after a preview", "run", act=plan.undo),
    BuiltinCommand("/redo", "[RUN]", "redo an undone run after a preview", "run", act=plan.redo),
    BuiltinCommand("/run", "", "show the current or last run", "run", act=plan.run),
    BuiltinCommand("/runs", "", "choose a run to undo", "run", act=plan.runs),
    BuiltinCommand("/recover", "", "recover an interrupted run", "run", act=plan.recover),
    BuiltinCommand("/sessions", "", "open, fork, rename or delete one", "session",
            act=session.sessions),
    BuiltinCommand("/resume", "[SESSION]", "continue a session", "session", ("/continue",),
            act=session.resume),
    BuiltinCommand("/new", "", "start a new session", "session", act=session.new),
    BuiltinCommand("/fork", "[SESSION]", "copy chat and todos into a new session", "session",
            act=session.fork),
    BuiltinCommand("/rename", "TITLE", "rename the session", "session",
            act=session.retitle),
    BuiltinCommand("/rewind", "", "rewind to an earlier message", "session",
            act=session.rewind),
    BuiltinCommand("/compact", "", "summarize older messages", "session", act=session.compact),
    BuiltinCommand("/transcript", "", "read and search the whole conversation", "session",
            act=session.transcript),
    BuiltinCommand("/export", "[FILE]", "export the session", "session", act=session.export),
    BuiltinCommand("/mode", "[MODE]", "plan, ask, auto-edit, yolo, custom", "choose",
            act=session.mode),
    BuiltinCommand("/model", "[NAME]", "choose the model", "choose", ("/models",),
            act=session.model),
    BuiltinCommand("/agent", "[NAME]", "choose the agent", "choose", ("/agents",),
            act=session.agent),
    BuiltinCommand("/config", "[KEY|set KEY VALUE|unset KEY]", "list and change your settings",
            "choose", ("/settings",), act=setup.config),
    BuiltinCommand("/login", "[PROVIDER]", "store an API key; it is not shown", "choose",
            act=setup.login),
    BuiltinCommand("/theme", "[NAME]", "dark, light or plain", "choose", act=session.theme),
    BuiltinCommand("/status", "", "show the plan's state and the next step", "look",
            act=info.status),
    BuiltinCommand("/waiting", "", "show pending decisions", "look", act=info.waiting),
    BuiltinCommand("/questions", "", "answer questions", "look", act=info.questions),
    BuiltinCommand("/cost", "", "show tokens and cost", "look", act=info.cost),
    BuiltinCommand("/context", "", "show context usage", "look", act=info.context),
    BuiltinCommand("/rules", "[explain|test|revoke …]", "manage permission rules",
            "look", ("/permissions",), act=info.rules),
    BuiltinCommand("/memory", "[forget [ID]]", "show or forget memory", "look",
            act=info.memory),
    BuiltinCommand("/remember", "TEXT", "save a note for later sessions", "look",
            act=info.remember),
    BuiltinCommand("/mcp", "", "list MCP servers", "look", act=info.mcp),
    BuiltinCommand("/web", "", "open the page of the running server", "look", act=info.web),
    BuiltinCommand("/doctor", "", "check that the safeguards hold", "look", act=info.doctor),
    BuiltinCommand("/help", "", "keys and commands", "screen", act=screen.help),
    BuiltinCommand("/palette", "", "search all commands", "screen",
            act=screen.palette),
    BuiltinCommand("/init", "", "make this folder a workspace", "screen", act=info.init),
    BuiltinCommand("/demo", "", "try Assent in a scratch folder", "screen", act=screen.demo),
    BuiltinCommand("/clear", "", "clear the screen; keep the session", "screen",
            act=screen.clear),
    BuiltinCommand("/exit", "", "exit; everything is saved", "screen", ("/quit",),
            act=screen.leave),
)  # fmt: skip


# Finds the slash command that a line names, built-in or custom, and runs it.


MAX_NAME_CHARS: Final = 40  # letters of a name that is repeated


def choices() -> tuple[Completion, ...]:
    """Returns the commands for completion at the prompt."""
    return tuple(Completion(one.name, _about(one)) for one in COMMANDS)


def learn(app: AppContext) -> None:
    """Adds the commands to completion: built-in ones at once, custom ones once they are read."""
    app.commands = COMMANDS
    app.prompt.commands = choices()

    def read() -> tuple[Completion, ...]:
        taken = {name for one in COMMANDS for name in (one.name, *one.aliases)}
        own = [Completion(f"/{each.name}", each.description) for each in app.host.custom_commands()]
        return tuple(one for one in own if one.text not in taken)

    def known(own: tuple[Completion, ...]) -> None:
        app.own_commands = own
        app.prompt.commands = (*choices(), *own)

    app.tasks.run("", read, known)


def run(app: AppContext, text: str, typed: str) -> None:
    """Runs one command, or suggests the one that was probably meant.

    `typed` is the same line as it was seen in the prompt, with placeholders for long pastes.
    """
    name, words = _parted(text)
    found = find(name)
    if found is not None:
        if words and not found.arguments:
            raise UsageError(f"{found.name} takes no arguments; nothing was done.", found.name)
        found.act(app, words.strip())
    elif any(own.text == name for own in app.own_commands):
        seen = _parted(typed)[1]
        images = app.prompt.images_in(seen)
        app.session_controller.say_custom(name.removeprefix("/"), words, seen, images)
        app.draw_status()
    else:
        raise _unknown(app, name)


def _parted(text: str) -> tuple[str, str]:
    name, *rest = text.strip().split(maxsplit=1)
    return name, rest[0] if rest else ""


def find(name: str) -> BuiltinCommand | None:
    """Returns a command by its name or alias."""
    return find_command(COMMANDS, name)


def _unknown(app: AppContext, name: str) -> UsageError:
    names = [each for one in COMMANDS for each in (one.name, *one.aliases)]
    names += [own.text for own in app.own_commands]
    near = get_close_matches(name, names, n=1)
    hint = f" Did you mean {visible_line(near[0])}?" if near else ""
    said = f"Unknown command {visible_line(name[:MAX_NAME_CHARS])}.{hint}"
    return UsageError(said, near[0] if near else "/help")


def _about(one: BuiltinCommand) -> str:
    return f"{one.about} ({one.arguments})" if one.arguments else one.about
