"""The table of commands: for completion, the palette, the help and the documentation alike."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from assent.tui.commands import building, choosing, looking, plans, screen, talks

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


class Command(msgspec.Struct, frozen=True):
    """One command: its name, what may stand behind it, what it does, and how."""

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
    Command("/plan", "[on|off]", "plan mode on, or off", choosing.plan, "plan"),
    Command("/review", "[PLAN]", "read the plan and decide", plans.review, "plan"),
    Command("/approve", "[PLAN]", "the same: key 1 approves there", plans.review, "plan"),
    Command("/plans", "", "choose among all plans", plans.choose, "plan"),
    Command("/history", "[PLAN]", "revisions of a plan's text", plans.history,
            "plan"),
    Command("/edit", "[PLAN]", "open a plan's text in your editor", plans.edit, "plan"),
    Command("/diff", "[turns|TURN]", "what is staged, or what a turn changed",
            plans.diff, "plan"),
    Command("/build", "[PLAN]", "build a plan that is approved", building.build, "run"),
    Command("/undo", "[RUN]", "take a run back, after a preview", building.undo, "run"),
    Command("/redo", "[RUN]", "take an undo back, after a preview", building.redo, "run"),
    Command("/run", "", "the run at work, or the last one", building.run, "run"),
    Command("/runs", "", "choose a run to take back", building.runs, "run"),
    Command("/recover", "", "an interrupted run, and the ways on", building.recover, "run"),
    Command("/sessions", "", "choose, fork, rename, delete one", talks.sessions,
            "session"),
    Command("/resume", "[SESSION]", "go on with a session", talks.resume, "session",
            ("/continue",)),
    Command("/new", "", "begin another session", talks.new, "session"),
    Command("/fork", "[SESSION]", "copy words and todos into a new session", talks.fork, "session"),
    Command("/rename", "TITLE", "give the session another title", talks.retitle, "session"),
    Command("/rewind", "", "go back to before something you said", talks.rewind, "session"),
    Command("/export", "[FILE]", "the session as a document", talks.export,
            "session"),
    Command("/mode", "[MODE]", "plan, ask, auto-edit, yolo, your own", choosing.mode,
            "choose"),
    Command("/model", "[NAME]", "choose the model", choosing.model, "choose", ("/models",)),
    Command("/agent", "[NAME]", "choose the agent", choosing.agent, "choose", ("/agents",)),
    Command("/theme", "[NAME]", "dark, light or plain", choosing.theme, "choose"),
    Command("/status", "", "where the plan stands, and what comes next", looking.status, "look"),
    Command("/waiting", "", "everything that waits for you", looking.waiting, "look"),
    Command("/questions", "", "answer what is asked", looking.questions, "look"),
    Command("/cost", "", "tokens and money of this session", looking.cost, "look"),
    Command("/context", "", "how full the model's window is", looking.context, "look"),
    Command("/rules", "[explain|test|revoke …]", "what may run, is asked, never happens",
            looking.rules, "look", ("/permissions",)),
    Command("/memory", "[forget [ID]]", "what every session is told", looking.memory, "look"),
    Command("/remember", "WORDS", "have every later session told something", looking.remember,
            "look"),
    Command("/doctor", "", "try here what must not be possible", looking.doctor, "look"),
    Command("/help", "", "keys and commands", screen.help, "screen"),
    Command("/palette", "", "everything that can be done, by name", screen.palette, "screen"),
    Command("/init", "", "make this folder a workspace", looking.init, "screen"),
    Command("/demo", "", "try it all in a scratch folder", screen.demo, "screen"),
    Command("/clear", "", "empty the screen; the session goes on", screen.clear, "screen"),
    Command("/exit", "", "leave; everything is kept", screen.leave, "screen", ("/quit",)),
)  # fmt: skip
