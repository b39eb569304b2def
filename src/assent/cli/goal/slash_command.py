"""Slash commands in a goal: mode changes, and custom commands from Markdown files."""

from collections.abc import Mapping
from contextlib import closing

import msgspec

from assent.agent.services import ToolEnvironment
from assent.app.composition import open_engine
from assent.app.custom_commands import expand_command, open_custom_commands
from assent.cli.goal.command import find_session, send_prompt
from assent.cli.goal.options import KNOWN_COMMANDS, Goal, mode_of
from assent.cli.output import CliOutput
from assent.core.errors import UsageError
from assent.core.permission.mode import MODES, mode_names
from assent.core.session.custom_command import SlashCommand
from assent.core.session.event import UserTyped
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

# Custom commands: `/name words` becomes the text of a Markdown file, filled in.


HELP = "/help"
BUILTIN_SLASH_COMMANDS = ("/mode", "/plan")
MODES_TOO = KNOWN_COMMANDS + "|".join(MODES)


def run_slash_command(goal: Goal, output: CliOutput) -> int:
    """Runs a slash command, and returns the exit code."""
    if goal.words.strip() == HELP:
        return list_slash_commands(goal, output)
    if is_custom(goal.words):
        chosen = find_custom_command(goal, output)
        return send_prompt(chosen.onto(goal), output, chosen.prompt)
    return _switch(goal, output)


class CustomCommandCall(msgspec.Struct, frozen=True):
    """A custom command with its arguments."""

    command: SlashCommand
    arguments: str

    def onto(self, goal: Goal) -> Goal:
        """Returns the goal with the agent and model of the command, unless others are named."""
        return msgspec.structs.replace(
            goal,
            agent=goal.agent or self.command.agent,
            model=goal.model or self.command.model,
        )

    def prompt(self, goal: Goal, tools: ToolEnvironment) -> tuple[str, UserTyped]:
        """Returns the text that is said to the model; raises Refused for what may not be read."""
        return expand_command(self.command, self.arguments, goal.folder, tools)


def is_custom(words: str) -> bool:
    """Tells whether a slash command is none of those that Assent itself answers."""
    return _name(words) not in (*BUILTIN_SLASH_COMMANDS, HELP)


def find_custom_command(goal: Goal, output: CliOutput) -> CustomCommandCall:
    """Returns the command that a person typed, or says which there are."""
    commands, warnings = open_custom_commands(goal.folder)
    output.warn(warnings)
    name = _name(goal.words)
    command = commands.get(name[1:])
    if command is None:
        raise UsageError(
            f"Unknown command {visible_line(name[:80])}. Available: {_listed(commands)}."
        )
    return CustomCommandCall(command, goal.words.strip().removeprefix(name).strip())


def list_slash_commands(goal: Goal, output: CliOutput) -> int:
    """Lists every slash command, for `/help`."""
    commands, warnings = open_custom_commands(goal.folder)
    rows = [
        {"name": each.name, "description": each.description, "source": each.source}
        for each in commands.values()
    ]
    lines = [Line("plain", f"{MODES_TOO}, {HELP}")]
    lines += [Line("plain", f"/{row['name']}  {visible_line(row['description'])}") for row in rows]
    output.answer({"commands": rows}, lines)
    output.warn(warnings)
    return 0


def _name(words: str) -> str:
    return words.split(maxsplit=1)[0] if words.strip() else ""


def _listed(commands: Mapping[str, SlashCommand]) -> str:
    return ", ".join([MODES_TOO, HELP, *(f"/{name}" for name in sorted(commands))])


def _switch(goal: Goal, output: CliOutput) -> int:
    """Changes the mode of a session, or of a new one, without asking any model."""
    engine, warnings = open_engine(goal.folder)
    mode = mode_of(goal.words, mode_names(engine.sessions.modes))
    with closing(engine):
        record = find_session(engine, goal)
        if record is None:
            record = engine.sessions.start("", mode)
        record = engine.sessions.set_mode(record, mode)
        line = Line("plain", f"Mode {mode}, session {visible_line(record.slug)}.")
        output.answer({"session": record.session, "slug": record.slug, "mode": mode}, [line])
        output.warn((*warnings, *engine.warnings))
    return 0
