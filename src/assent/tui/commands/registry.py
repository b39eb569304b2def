"""The table of slash commands; finds the command that a line names, and runs it.

Completion, the palette, the help and the docs read the same table.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from assent.core.errors import UsageError
from assent.core.text.hidden_chars import visible_line
from assent.tui.commands import info, plan, screen, session
from assent.tui.commands import plan as runs
from assent.tui.commands import session as settings
from assent.tui.prompt.completion import Completion

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

Act: TypeAlias = "Callable[[TerminalApp, str], object]"
Group: TypeAlias = Literal["plan", "run", "session", "choose", "look", "screen"]

GROUPS: Final[dict[Group, str]] = {
    "plan": "Plans",
    "run": "Building and taking back",
    "session": "Sessions",
    "choose": "Mode, model, agent, theme",
    "look": "Looking",
    "screen": "The screen",
}


class BuiltinCommand(msgspec.Struct, frozen=True):
    """One command: its name, its argument, what it does, and how."""

    name: str
    arguments: str  # as a person reads them; what is in brackets may be left out
    about: str
    act: Act
    group: Group
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return f"{self.name} {self.arguments}".rstrip()

    @property
    def needs_argument(self) -> bool:
        return bool(self.arguments) and not self.arguments.startswith("[")


COMMANDS: Final = (
    BuiltinCommand("/plan", "[on|off]", "plan mode on, or off", settings.plan, "plan"),
    BuiltinCommand("/review", "[PLAN]", "read the plan and decide", plan.review, "plan"),
    BuiltinCommand("/approve", "[PLAN]", "the same: key 1 approves there", plan.review, "plan"),
    BuiltinCommand("/plans", "", "choose among all plans", plan.choose, "plan"),
    BuiltinCommand("/history", "[PLAN]", "revisions of a plan's text", plan.history,
            "plan"),
    BuiltinCommand("/edit", "[PLAN]", "open a plan's text in your editor", plan.edit, "plan"),
    BuiltinCommand("/diff", "[turns|TURN]", "what is staged, or what a turn changed",
            plan.diff, "plan"),
    BuiltinCommand("/build", "[PLAN]", "build a plan that is approved", runs.build, "run"),
    BuiltinCommand("/undo", "[RUN]", "take a run back, after a preview", runs.undo, "run"),
    BuiltinCommand("/redo", "[RUN]", "take an undo back, after a preview", runs.redo, "run"),
    BuiltinCommand("/run", "", "the run at work, or the last one", runs.run, "run"),
    BuiltinCommand("/runs", "", "choose a run to take back", runs.runs, "run"),
    BuiltinCommand("/recover", "", "an interrupted run, and the ways on", runs.recover, "run"),
    BuiltinCommand("/sessions", "", "choose, fork, rename, delete one", session.sessions,
            "session"),
    BuiltinCommand("/resume", "[SESSION]", "go on with a session", session.resume, "session",
            ("/continue",)),
    BuiltinCommand("/new", "", "begin another session", session.new, "session"),
    BuiltinCommand("/fork", "[SESSION]", "copy words and todos into a new session", session.fork,
            "session"),
    BuiltinCommand("/rename", "TITLE", "give the session another title", session.retitle,
            "session"),
    BuiltinCommand("/rewind", "", "go back to before something you said", session.rewind,
            "session"),
    BuiltinCommand("/export", "[FILE]", "the session as a document", session.export,
            "session"),
    BuiltinCommand("/mode", "[MODE]", "plan, ask, auto-edit, yolo, your own", settings.mode,
            "choose"),
    BuiltinCommand("/model", "[NAME]", "choose the model", settings.model, "choose", ("/models",)),
    BuiltinCommand("/agent", "[NAME]", "choose the agent", settings.agent, "choose", ("/agents",)),
    BuiltinCommand("/theme", "[NAME]", "dark, light or plain", settings.theme, "choose"),
    BuiltinCommand("/status", "", "where the plan stands, and what comes next", info.status,
            "look"),
    BuiltinCommand("/waiting", "", "everything that waits for you", info.waiting, "look"),
    BuiltinCommand("/questions", "", "answer what is asked", info.questions, "look"),
    BuiltinCommand("/cost", "", "tokens and money of this session", info.cost, "look"),
    BuiltinCommand("/context", "", "how full the model's window is", info.context, "look"),
    BuiltinCommand("/rules", "[explain|test|revoke …]", "what may run, is asked, never happens",
            info.rules, "look", ("/permissions",)),
    BuiltinCommand("/memory", "[forget [ID]]", "what every session is told", info.memory, "look"),
    BuiltinCommand("/remember", "WORDS", "have every later session told something", info.remember,
            "look"),
    BuiltinCommand("/doctor", "", "try here what must not be possible", info.doctor, "look"),
    BuiltinCommand("/help", "", "keys and commands", screen.help, "screen"),
    BuiltinCommand("/palette", "", "everything that can be done, by name", screen.palette,
            "screen"),
    BuiltinCommand("/init", "", "make this folder a workspace", info.init, "screen"),
    BuiltinCommand("/demo", "", "try it all in a scratch folder", screen.demo, "screen"),
    BuiltinCommand("/clear", "", "empty the screen; the session goes on", screen.clear, "screen"),
    BuiltinCommand("/exit", "", "leave; everything is kept", screen.leave, "screen", ("/quit",)),
)  # fmt: skip


# Finds the slash command that a line names, built-in or custom, and runs it.


MAX_NAME_CHARS: Final = 40  # letters of a name that is repeated


def choices() -> tuple[Completion, ...]:
    """Returns the commands as the prompt offers them."""
    return tuple(Completion(one.name, _about(one)) for one in COMMANDS)


def learn(app: "TerminalApp") -> None:
    """Has the prompt offer the commands: ours at once, the person's own when they are read."""
    app.prompt.commands = choices()

    def read() -> tuple[Completion, ...]:
        taken = {name for one in COMMANDS for name in (one.name, *one.aliases)}
        own = [Completion(f"/{each.name}", each.description) for each in app.host.custom_commands()]
        return tuple(one for one in own if one.text not in taken)

    def known(own: tuple[Completion, ...]) -> None:
        app.own_commands = own
        app.prompt.commands = (*choices(), *own)

    app.tasks.run("", read, known)


def run(app: "TerminalApp", text: str) -> None:
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
    return next((one for one in COMMANDS if name in (one.name, *one.aliases)), None)


def _unknown(app: "TerminalApp", name: str) -> UsageError:
    from difflib import get_close_matches

    names = [each for one in COMMANDS for each in (one.name, *one.aliases)]
    names += [own.text for own in app.own_commands]
    near = get_close_matches(name, names, n=1)
    hint = f" Did you mean {visible_line(near[0])}?" if near else ""
    said = f"There is no {visible_line(name[:MAX_NAME_CHARS])}.{hint}"
    return UsageError(said, near[0] if near else "/help")


def _about(one: BuiltinCommand) -> str:
    return f"{one.about} ({one.arguments})" if one.arguments else one.about
