"""The host: what the terminal UI needs from the program that opens it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from assent.core.errors import AssentError
from assent.render.lines import Line
from assent.render.onboarding import SetupFindings

if TYPE_CHECKING:  # loading these takes longer than the first paint may
    from assent.agent.tool_environment import ToolEnvironment
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.core.session.agent import Agent
    from assent.core.session.custom_command import SlashCommand
    from assent.ports import ProcessRunner
    from assent.ports.session import Asker


class StartOptions(msgspec.Struct, frozen=True):
    """How the screen should start: session, mode, model, agent and text."""

    words: str = ""  # said at once
    draft: str = ""  # put into the prompt, for the person to say
    told: tuple[str, ...] = ()  # to the person, before anything else
    mode: str = ""
    model: str = ""
    agent: str = ""
    plan: str = ""
    resume: str = ""  # a session by name
    going_on: bool = False  # with the last session
    theme: str = ""


class CommandLineResult(msgspec.Struct, frozen=True):
    """The result of a command of the command line."""

    code: int
    lines: tuple[Line, ...]
    error: AssentError | None = None  # why it was not done


class ScreenHost(Protocol):
    """Opens engines and models, and knows the machine. Its methods may be slow: call in threads."""

    @property
    def folder(self) -> str:
        """The folder that the screen was opened for."""

    @property
    def root(self) -> str:
        """The workspace's own folder: that one, or one above it."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the process, such as NO_COLOR, EDITOR, TERM."""

    def engine(self) -> "Engine":
        """Returns the engine of the workspace, opened once; it needs no model."""

    def defaults(self) -> StartOptions:
        """Returns mode and model of a session for which the person names none; may be slow."""

    def work(self, asker: "Asker", model: str, agent: str) -> "SessionRuntime":
        """Opens what a turn needs, on the same workspace; raises UsageError without a model."""

    def process(self) -> "ProcessRunner":
        """Returns what runs commands of the person's own."""

    def models(self) -> tuple[list[dict[str, object]], list[str]]:
        """Returns which models can be used here as rows, and what did not answer."""

    def agents(self) -> "list[Agent]":
        """Returns who can work in a session here."""

    def custom_commands(self) -> "list[SlashCommand]":
        """Returns the commands that the person and the project wrote themselves."""

    def expand_command(
        self, command: "SlashCommand", arguments: str, tooling: "ToolEnvironment"
    ) -> str:
        """Returns what such a command says to the model; raises Refused for what it may not."""

    def findings(self) -> SetupFindings:
        """Returns what was looked for to find a model, and what there is."""

    def command(self, arguments: Sequence[str]) -> CommandLineResult:
        """Runs a command of the command line that asks nothing, and returns what it says."""

    def files(self) -> list[str]:
        """Returns the workspace's files that are not ignored, for completion."""

    def edit(self, path: str) -> None:
        """Opens a file in the person's editor and waits; the screen has to be suspended."""

    def signal(self, words: str) -> str:
        """Returns what is written to the terminal to get the person's attention; maybe nothing."""

    @property
    def notify_after(self) -> float:
        """How many seconds a turn takes before its end is worth a signal to a person who looks."""

    def demo(self) -> "ScreenHost":
        """Returns a host for the demonstration: a scratch workspace and a scripted model."""

    def close(self) -> None:
        """Lets go of everything that is not at work."""
