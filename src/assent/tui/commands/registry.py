"""The table of slash commands; finds the command that a line names, and runs it.

Completion, the palette, the help and the docs read the same table.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Final, TypeAlias

from assent.core.errors import UsageError
from assent.core.text.hidden_chars import visible_line
from assent.tui.commands import info, plan, screen, session
from assent.tui.commands.command import CommandInfo, find_command
from assent.tui.context import AppContext
from assent.tui.prompt.completion import Completion

Act: TypeAlias = Callable[[AppContext, str], object]


class BuiltinCommand(CommandInfo, frozen=True, kw_only=True):
    """A command with the function that runs it."""

    act: Act


COMMANDS: Final = (
    BuiltinCommand("/plan", "[on|off]", "plan mode on, or off", "plan", act=session.plan),
    BuiltinCommand("/review", "[PLAN]", "read the plan and decide", "plan", act=plan.review),
    BuiltinCommand("/approve", "[PLAN]", "the same: key 1 approves there", "plan", act=plan.review),
    BuiltinCommand("/plans", "", "choose among all plans", "plan", act=plan.choose),
    BuiltinCommand("/history", "[PLAN]", "revisions of a plan's text", "plan", act=plan.history),
    BuiltinCommand("/edit", "[PLAN]", "open a plan's text in your editor", "plan", act=plan.edit),
    BuiltinCommand("/diff", "[turns|TURN]", "what is staged, or what a turn changed", "plan",
            act=plan.diff),
    BuiltinCommand("/build", "[PLAN]", "build a plan that is approved", "run", act=plan.build),
    BuiltinCommand("/undo", "[RUN]", "take a run back, after a preview", "run", act=plan.undo),
    BuiltinCommand("/redo", "[RUN]", "take an undo back, after a preview", "run", act=plan.redo),
    BuiltinCommand("/run", "", "the run at work, or the last one", "run", act=plan.run),
    BuiltinCommand("/runs", "", "choose a run to take back", "run", act=plan.runs),
    BuiltinCommand("/recover", "", "an interrupted run, and the ways on", "run", act=plan.recover),
    BuiltinCommand("/sessions", "", "choose, fork, rename, delete one", "session",
            act=session.sessions),
    BuiltinCommand("/resume", "[SESSION]", "go on with a session", "session", ("/continue",),
            act=session.resume),
    BuiltinCommand("/new", "", "begin another session", "session", act=session.new),
    BuiltinCommand("/fork", "[SESSION]", "copy words and todos into a new session", "session",
            act=session.fork),
    BuiltinCommand("/rename", "TITLE", "give the session another title", "session",
            act=session.retitle),
    BuiltinCommand("/rewind", "", "go back to before something you said", "session",
            act=session.rewind),
    BuiltinCommand("/export", "[FILE]", "the session as a document", "session", act=session.export),
    BuiltinCommand("/mode", "[MODE]", "plan, ask, auto-edit, yolo, your own", "choose",
            act=session.mode),
    BuiltinCommand("/model", "[NAME]", "choose the model", "choose", ("/models",),
            act=session.model),
    BuiltinCommand("/agent", "[NAME]", "choose the agent", "choose", ("/agents",),
            act=session.agent),
    BuiltinCommand("/theme", "[NAME]", "dark, light or plain", "choose", act=session.theme),
    BuiltinCommand("/status", "", "where the plan stands, and what comes next", "look",
            act=info.status),
    BuiltinCommand("/waiting", "", "everything that waits for you", "look", act=info.waiting),
    BuiltinCommand("/questions", "", "answer what is asked", "look", act=info.questions),
    BuiltinCommand("/cost", "", "tokens and money of this session", "look", act=info.cost),
    BuiltinCommand("/context", "", "how full the model's window is", "look", act=info.context),
    BuiltinCommand("/rules", "[explain|test|revoke …]", "what may run, is asked, never happens",
            "look", ("/permissions",), act=info.rules),
    BuiltinCommand("/memory", "[forget [ID]]", "what every session is told", "look",
            act=info.memory),
    BuiltinCommand("/remember", "WORDS", "have every later session told something", "look",
            act=info.remember),
    BuiltinCommand("/doctor", "", "try here what must not be possible", "look", act=info.doctor),
    BuiltinCommand("/help", "", "keys and commands", "screen", act=screen.help),
    BuiltinCommand("/palette", "", "everything that can be done, by name", "screen",
            act=screen.palette),
    BuiltinCommand("/init", "", "make this folder a workspace", "screen", act=info.init),
    BuiltinCommand("/demo", "", "try it all in a scratch folder", "screen", act=screen.demo),
    BuiltinCommand("/clear", "", "empty the screen; the session goes on", "screen",
            act=screen.clear),
    BuiltinCommand("/exit", "", "leave; everything is kept", "screen", ("/quit",),
            act=screen.leave),
)  # fmt: skip


# Finds the slash command that a line names, built-in or custom, and runs it.


MAX_NAME_CHARS: Final = 40  # letters of a name that is repeated


def choices() -> tuple[Completion, ...]:
    """Returns the commands as the prompt offers them."""
    return tuple(Completion(one.name, _about(one)) for one in COMMANDS)


def learn(app: AppContext) -> None:
    """Has the prompt offer the commands: ours at once, the person's own when they are read."""
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


def run(app: AppContext, text: str) -> None:
    """Runs one command, or says which the person may have meant."""
    name, *rest = text.strip().split(maxsplit=1)
    words = rest[0] if rest else ""
    found = find(name)
    if found is not None:
        if words and not found.arguments:
            raise UsageError(f"{found.name} takes no words; nothing was done.", found.name)
        found.act(app, words.strip())
    elif any(own.text == name for own in app.own_commands):
        app.session_controller.say_custom(name.removeprefix("/"), words)
        app.draw_status()
    else:
        raise _unknown(app, name)


def find(name: str) -> BuiltinCommand | None:
    """Returns the command of a name, or of another name for it."""
    return find_command(COMMANDS, name)


def _unknown(app: AppContext, name: str) -> UsageError:
    names = [each for one in COMMANDS for each in (one.name, *one.aliases)]
    names += [own.text for own in app.own_commands]
    near = get_close_matches(name, names, n=1)
    hint = f" Did you mean {visible_line(near[0])}?" if near else ""
    said = f"There is no {visible_line(name[:MAX_NAME_CHARS])}.{hint}"
    return UsageError(said, near[0] if near else "/help")


def _about(one: BuiltinCommand) -> str:
    return f"{one.about} ({one.arguments})" if one.arguments else one.about
