"""The host: what the terminal UI needs from the program that opens it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from assent.core.errors import AssentError
from assent.render.lines import Line
from assent.render.onboarding import SetupFindings

if TYPE_CHECKING:  # loading these takes longer than the first paint may
    from assent.agent.services import ToolEnvironment
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.app.symbols import SymbolMatch
    from assent.config.screen_choices import ScreenChoices
    from assent.core.llm import ImagePart
    from assent.core.session.agent import Agent
    from assent.core.session.custom_command import SlashCommand
    from assent.core.session.event import UserTyped
    from assent.ports import ProcessRunner
    from assent.ports.session import Asker


class StartOptions(msgspec.Struct, frozen=True):
    """How the screen should start: session, mode, model, agent and text."""

    words: str = ""  # said at once
    draft: str = ""  # put into the prompt, for the user to send
    told: tuple[str, ...] = ()  # to the user, before anything else
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


class ScreenSetting(msgspec.Struct, frozen=True):
    """A setting, with its value as `config set` takes it, and where that comes from."""

    key: str
    value: str
    source: str
    meaning: str = ""


class ProviderRow(msgspec.Struct, frozen=True):
    """A provider of models, and where its API key is; empty: nowhere."""

    name: str
    place: str
    variable: str


class ScreenHost(Protocol):
    """Opens engines and models, and knows the machine; its methods may be slow: use threads."""

    @property
    def folder(self) -> str:
        """The folder that the screen was opened for."""

    @property
    def root(self) -> str:
        """The workspace's root: that folder, or one above it."""

    def branch(self) -> str:
        """Returns the branch that is checked out there; empty if there is none."""

    @property
    def environment(self) -> dict[str, str]:
        """The process's environment variables, such as NO_COLOR, EDITOR, TERM."""

    def engine(self) -> "Engine":
        """Returns the engine of the workspace, opened once; it needs no model."""

    def defaults(self) -> StartOptions:
        """Returns the default mode and model of a session; may be slow."""

    def work(self, asker: "Asker", model: str, agent: str) -> "SessionRuntime":
        """Opens what a turn needs, on the same workspace; raises UsageError without a model."""

    def process(self) -> "ProcessRunner":
        """Returns the runner for commands that the user typed."""

    def models(self) -> tuple[list[dict[str, object]], list[str]]:
        """Returns the available models as rows, and the providers that did not answer."""

    def agents(self) -> "list[Agent]":
        """Returns the agents that are available here."""

    def custom_commands(self) -> "list[SlashCommand]":
        """Returns the custom commands of the user and the project."""

    def expand_command(
        self, command: "SlashCommand", arguments: str, tools: "ToolEnvironment"
    ) -> "tuple[str, UserTyped]":
        """Returns the prompt of a custom command, and what was typed; raises Refused."""

    def findings(self) -> SetupFindings:
        """Returns what was searched to find a model, and what was found."""

    def command(self, arguments: Sequence[str]) -> CommandLineResult:
        """Runs a command of the command line that asks nothing, and returns its output."""

    def settings(self) -> list[ScreenSetting]:
        """Returns every setting; keys in values are masked."""

    def reload(self) -> None:
        """Has settings that were read be read again when they are next used."""

    def providers(self) -> list[ProviderRow]:
        """Returns the providers that can be logged in to, those with a key first."""

    def check_login(self, provider: str) -> None:
        """Raises an error if no key can be stored for a provider of this name."""

    def login(self, provider: str, key: str) -> str:
        """Stores an API key, and returns where."""

    def files(self) -> list[str]:
        """Returns the workspace's files that are not ignored, for completion."""

    def symbols(self, query: str, wanted: Callable[[], bool]) -> "list[SymbolMatch]":
        """Returns definitions whose names contain a text; stops when it is not wanted any more."""

    def edit(self, path: str) -> None:
        """Opens a file in the user's editor and waits; the screen must be suspended."""

    def clipboard_image(self) -> "ImagePart":
        """Returns the image in the clipboard; raises an error that says why there is none; slow."""

    def signal(self, words: str) -> str:
        """Returns the escape codes that notify the user; maybe nothing."""

    @property
    def notify_after(self) -> float:
        """How many seconds a turn must take before its end is notified to an active user."""

    @property
    def verifies(self) -> bool:
        """Whether the model is asked to verify what was built."""

    @property
    def vim(self) -> bool:
        """Whether the prompt has vim keys."""

    def open_page(self) -> str:
        """Opens the page of the running server in a browser; returns its address; slow."""

    def choices(self) -> "ScreenChoices":
        """Returns how the user last had the screen."""

    def remember(self, choices: "ScreenChoices") -> None:
        """Remembers that for the next screen."""

    def demo(self) -> "ScreenHost":
        """Returns a host for the demo: a scratch workspace and a scripted model."""

    def close(self) -> None:
        """Releases everything that is not in use."""
