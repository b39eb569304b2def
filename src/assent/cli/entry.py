"""The entry point: runs a goal or a command to its exit code, and reports every error."""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from itertools import pairwise
from shlex import join

from assent.cli.goal.options import Goal, is_slash, read_folder_goal, read_goal
from assent.cli.output import EXPECTED, CliOutput, as_assent_error
from assent.cli.terminal import open_closed_streams, why_no_screen, write_line
from assent.core.errors import UsageError

JSON_OPTIONS = frozenset({"--json", "--output-format=json", "--output-format=stream-json"})


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know fewer letters
    output = CliOutput(as_json=_for_a_machine(arguments))
    if sys.stdout is None or sys.stderr is None:
        return _unheard(arguments, output)
    try:
        goal = read_goal(arguments)
        if (opened := _screen(goal or read_folder_goal(arguments))) is not None:
            return opened
        if goal is None:
            return _command(arguments)
        output.quiet = goal.quiet
        if is_slash(goal.words) and not goal.help:
            from assent.cli.goal.slash_command import run_slash_command

            return run_slash_command(goal, output)
        from assent.cli.goal.command import run_goal

        return run_goal(goal, output)
    except EXPECTED as error:
        return output.fail(as_assent_error(error))


def _unheard(arguments: Sequence[str], output: CliOutput) -> int:
    """Refuses to start if the result could not be shown; reports that on the open stream."""
    name, sign = ("stdout", ">") if sys.stdout is None else ("stderr", "2>")
    error = UsageError(
        f"{name} is closed, so the result could not be shown. Nothing was changed.",
        f"{join(['assent', *arguments])} {sign} /dev/null",
    )
    heard = sys.stderr or sys.stdout
    if heard is None:
        write_line(f"assent: {error.message}")
        return error.exit
    with redirect_stderr(heard):
        return output.fail(error)


def _for_a_machine(arguments: Sequence[str]) -> bool:
    """Tells whether an answer in JSON is wanted, also where the line cannot be read otherwise."""
    pairs = [f"{one}={other}" for one, other in pairwise(arguments)]
    return not JSON_OPTIONS.isdisjoint([*arguments, *pairs])


def _screen(goal: Goal | None) -> int | None:
    """Opens the screen where a line says nothing to a model and a person sits at a terminal."""
    if goal is None or goal.words or goal.headless:
        return None
    from assent.cli.tui import screen, wants_screen

    if not wants_screen(goal):
        return None
    why = why_no_screen()
    if why and (os.isatty(0) or goal == Goal(folder=goal.folder)):
        print(why, file=sys.stderr)  # else what is said comes from stdin, and no screen is missed
    return None if why else screen(goal)


def _command(arguments: Sequence[str]) -> int:
    from assent.cli.root import command

    return command(arguments)
