"""`assent` without a goal: opens the terminal UI, and restores the terminal when it ends.

Its host opens the engine and the models.
"""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, Final

import msgspec

from assent.cli.goal.options import Goal
from assent.cli.output import CAPTURED_LINES
from assent.cli.registry import COMMANDS
from assent.cli.terminal import HeldSignals
from assent.config.screen_choices import ScreenChoices, read_choices
from assent.core.errors import AssentError, Refused, UsageError
from assent.core.permission.mode import resolve_mode
from assent.core.session.agent import unknown_agent
from assent.core.text.secrets import redact, remember_read_key
from assent.render.lines import Line
from assent.render.onboarding import SetupFindings
from assent.render.questions import notification_sequence
from assent.tui.host import (
    CommandLineResult,
    ProviderRow,
    ScreenHost,
    ScreenSetting,
    StartOptions,
)

if TYPE_CHECKING:
    from assent.agent.services import ToolEnvironment
    from assent.app.engine import Engine
    from assent.app.login import LoginManager
    from assent.app.session import SessionRuntime
    from assent.app.symbols import SymbolFinder, SymbolMatch
    from assent.config.settings import Settings
    from assent.core.llm import ImagePart
    from assent.core.session.agent import Agent
    from assent.core.session.custom_command import SlashCommand
    from assent.core.session.event import UserTyped
    from assent.ports import ProcessRunner
    from assent.ports.session import Asker
    from assent.tui.app import TerminalApp

# Checks the mode and the agent that a command line names before the terminal UI opens.


def check_tui_options(goal: Goal) -> None:
    """Raises UsageError for an unknown mode or agent, while the message can still be read."""
    if goal.mode:
        _check_mode(goal)
    if goal.agent:
        _check_agent(goal)


def _check_mode(goal: Goal) -> None:
    from assent.app.modes import ModeManager

    resolve_mode(goal.mode, ModeManager(goal.folder).modes)


def _check_agent(goal: Goal) -> None:
    from assent.app.session import list_agents

    known = [each.name for each in list_agents(goal.folder) if each.kind != "subagent"]
    if goal.agent not in known:
        raise unknown_agent(goal.agent, known)


FAILED: Final = "The terminal UI crashed. Your session is saved; nothing else is affected."
CONTINUE: Final = "Continue with:"
CONTINUE_LAST: Final = "Continue with: assent -c, or later:"
STOPPING: Final = "Stopping the run…"
HALTED: Final = "The run stopped and needs your decision: assent recover"
GC_THRESHOLDS: Final = (
    5000,
    20,
    50,
)  # a screen lives long, and may not stop to look for garbage often


def wants_screen(goal: Goal) -> bool:
    """Tells whether a command line without a prompt opens the screen, wherever it is typed."""
    plain = Goal(
        folder=goal.folder, plan=goal.plan, going_on=goal.going_on, resume=goal.resume,
        model=goal.model, agent=goal.agent, mode=goal.mode,
    )  # fmt: skip
    return goal == plain


def screen(goal: Goal) -> int:
    """Opens the screen for a folder, and returns the exit code once it is closed."""
    if goal.folder and not os.path.isdir(goal.folder):
        raise UsageError(f"{goal.folder} is not a folder.")
    check_tui_options(goal)
    start = StartOptions(
        mode=goal.mode, model=goal.model, agent=goal.agent, plan=goal.plan,
        resume=goal.resume, going_on=goal.going_on,
    )  # fmt: skip
    host = LocalScreenHost(goal.folder)
    app = _shown(host, start)
    while app.wants_demo and not app.messages.mishaps:
        show_demo(host)
        app = _shown(host, StartOptions(resume=app.slug))
    code = _farewell(
        app.slug, app.messages.mishaps, failed=bool(app.return_code), newest=app.is_newest
    )
    return app.return_value or code


def show_demo(host: "ScreenHost") -> int:
    """Opens the screen on the demo's place, which is gone when the screen is closed."""
    from assent.app.demo import GOAL, WELCOME

    with HeldSignals() as signals, closing(host.demo()) as place, signals.heard():
        app = _shown(place, StartOptions(draft=GOAL, told=WELCOME), signals)
    code = _farewell("", app.messages.mishaps, failed=bool(app.return_code))
    return app.return_value or code


def _shown(
    host: "ScreenHost", start: "StartOptions", signals: HeldSignals | None = None
) -> "TerminalApp":
    """Shows the screen until the user leaves it; signals are held first thing after that."""
    from assent.tui.app import TerminalApp

    app = TerminalApp(host, start)
    if signals is not None:
        signals.tell(partial(setattr, app, "ending_signal"))
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        app.run()
    finally:
        if signals is not None:
            signals.hold()
        if app.run_controller.at_work:
            _say(STOPPING)
        app.leave()
    if app.unopened is not None:
        raise app.unopened
    if app.run_controller.halted:
        _say(HALTED)
    return app


def _say(words: str) -> None:
    """Tells something on the terminal as it was before, if it is still there."""
    with suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def _farewell(slug: str, mishaps: list[str], *, failed: bool, newest: bool = False) -> int:
    """Tells, on the terminal as it was before, how to go on and what went wrong."""
    for mishap in mishaps:
        sys.stderr.write(mishap)
    if failed:
        raise AssentError(FAILED, f"assent -r {slug}" if slug else "assent")
    if slug:
        print(f"{CONTINUE_LAST if newest else CONTINUE} assent -r {slug}")
    return 1 if mishaps else 0


# The host of the terminal UI: opens engine and models for it.


NO_INPUT = "--no-input"


class LocalScreenHost:
    """Implements tui.ScreenHost for the workspace around a folder of this machine."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._turn = Lock()
        self._engine: Engine | None = None
        self._works: list[SessionRuntime] = []
        self._warnings: tuple[str, ...] = ()
        self._listed: list[str] = []  # files, as they were listed last

    @property
    def folder(self) -> str:
        return os.path.realpath(self._folder or ".")

    @cached_property
    def root(self) -> str:
        from assent.app.settings import locate_workspace

        return os.fsdecode(locate_workspace(self._folder)[1])

    def branch(self) -> str:
        from assent.app.workspace_files import checked_out_branch

        return checked_out_branch(self._folder)

    @cached_property
    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    @cached_property
    def _settings(self) -> "Settings":
        from assent.app.settings import load_settings, locate_workspace, user_paths

        return load_settings(locate_workspace(self._folder)[1], user_paths(), lenient=True).settings

    def engine(self) -> "Engine":
        with self._turn:
            if self._engine is None:
                from assent.app.composition import open_engine

                self._engine, warnings = open_engine(self._folder, lenient=True)
                for words in warnings:
                    self._engine.warn(words)
            return self._engine

    def defaults(self) -> StartOptions:
        from assent.app.models import default_model

        return StartOptions(mode=self._settings.mode, model=default_model(self._folder))

    def work(self, asker: "Asker", model: str, agent: str) -> "SessionRuntime":
        from assent.app.session import SessionOptions, open_session_runtime

        work = open_session_runtime(
            self._folder, asker, SessionOptions(model, agent), self.engine()
        )
        for words in work.warnings:
            if words not in work.engine.warnings:
                work.engine.warn(words)
        self._works.append(work)
        return work

    def process(self) -> "ProcessRunner":
        from assent.app.shell import open_process

        return open_process(self._folder)

    def models(self) -> tuple[list[dict[str, object]], list[str]]:
        from assent.app.models import open_models

        opened, warnings = open_models(self._folder)
        found, troubles = opened.found()
        opened.close()
        return [msgspec.to_builtins(row) for row in found], [*warnings, *troubles]

    def agents(self) -> "list[Agent]":
        from assent.app.session import list_agents

        return list_agents(self._folder)

    def custom_commands(self) -> "list[SlashCommand]":
        from assent.app.custom_commands import open_custom_commands

        commands, _ = open_custom_commands(self._folder)
        return [commands[name] for name in sorted(commands)]

    def expand_command(
        self, command: "SlashCommand", arguments: str, tools: "ToolEnvironment"
    ) -> "tuple[str, UserTyped]":
        from assent.app.custom_commands import expand_command

        return expand_command(command, arguments, self._folder, tools)

    def findings(self) -> SetupFindings:
        from assent.app.model_discovery import discover_models

        return discover_models(self._folder)

    def command(self, arguments: Sequence[str]) -> CommandLineResult:
        if not arguments or arguments[0] not in COMMANDS:
            raise UsageError(f"Unknown command {' '.join(arguments)!a}.", "/help")
        lines: list[Line] = []
        before = CAPTURED_LINES.set(lines)
        try:
            return CommandLineResult(self._ran(arguments), tuple(lines))
        except AssentError as error:
            return CommandLineResult(error.exit, tuple(lines), error)
        finally:
            CAPTURED_LINES.reset(before)

    def _ran(self, arguments: Sequence[str]) -> int:
        """Runs a command without a terminal: what it would ask is denied."""
        from assent.cli.root import command

        here = ("-C", self._folder) if self._folder else ()
        end = list(arguments).index("--") if "--" in arguments else len(arguments)
        return command([*here, *arguments[:end], NO_INPUT, *arguments[end:]])

    def settings(self) -> list[ScreenSetting]:
        from assent.app.config import ConfigEditor, value_text

        found, _ = ConfigEditor(self._folder).settings()
        return [
            ScreenSetting(one.key, redact(value_text(one.value)), one.source, one.meaning)
            for one in found
        ]

    def reload(self) -> None:
        self.__dict__.pop("_settings", None)

    def providers(self) -> list[ProviderRow]:
        from assent.app.login import PLACES

        rows = self._logins().providers()
        places = [PLACES[row.source] if row.source else "" for row in rows]
        return [
            ProviderRow(row.provider, place, row.variable)
            for row, place in zip(rows, places, strict=True)
        ]

    def check_login(self, provider: str) -> None:
        logins = self._logins()
        logins.checked(provider)
        logins.check_writable()

    def login(self, provider: str, key: str) -> str:
        from assent.app.login import stored_text

        remember_read_key(key)  # from now on it is masked wherever it may turn up
        logins = self._logins()
        place, _ = logins.login(logins.checked(provider), key, file=False)
        return stored_text(logins, provider, place)

    def _logins(self) -> "LoginManager":
        from assent.app.login import LoginManager

        return LoginManager(self._folder, os.environ)

    def files(self) -> list[str]:
        from assent.app.workspace_files import list_files

        self._listed = list_files(self._folder)
        return self._listed

    def symbols(self, query: str, wanted: Callable[[], bool]) -> "list[SymbolMatch]":
        return self._symbols.find(query, self._listed or self.files(), wanted)

    @cached_property
    def _symbols(self) -> "SymbolFinder":
        from assent.app.symbols import SymbolFinder

        return SymbolFinder(self._folder)

    def edit(self, path: str) -> None:
        from assent.app.workspace_files import edit_file

        edit_file(self._folder, path, self.environment)

    def clipboard_image(self) -> "ImagePart":
        from assent.app.clipboard import clipboard_image

        return clipboard_image(self._folder, self.environment)

    def signal(self, words: str) -> str:
        """Returns a notification where it is wanted and the terminal shows it, or a bell."""
        return notification_sequence(self._settings.notify.way, words, self.environment)

    @property
    def notify_after(self) -> float:
        return self._settings.notify.after_s

    @property
    def verifies(self) -> bool:
        return self._settings.verify.after_build

    @property
    def vim(self) -> bool:
        return self._settings.tui.vim

    def open_page(self) -> str:
        from assent.cli.serve import open_page

        return open_page()

    def choices(self) -> ScreenChoices:
        return read_choices()

    def remember(self, choices: ScreenChoices) -> None:
        from assent.app.screen_choices import write_choices

        write_choices(choices)

    def demo(self) -> ScreenHost:
        return DemoScreenHost()

    def close(self) -> None:
        for work in self._works:
            work.end()
            work.models.close()
        self._works = []
        with self._turn:
            if self._engine is not None:
                self._engine.close()
                self._engine = None


class DemoScreenHost(LocalScreenHost):
    """Implements tui.ScreenHost for a temporary project, which is removed on close."""

    def __init__(self) -> None:
        from assent.app.demo import demo_project

        self._place = ExitStack()
        super().__init__(self._place.enter_context(demo_project()))

    def check_login(self, provider: str) -> None:
        raise Refused("The demo stores no key: it and its folder are removed.", "assent login")

    def login(self, provider: str, key: str) -> str:
        self.check_login(provider)
        return ""

    def close(self) -> None:
        super().close()
        self._place.close()
