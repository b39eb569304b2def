"""The root of the command line: loads one command, runs it, turns errors into words and codes."""

import importlib
import io
import sys
from collections.abc import Sequence

import click

from assent import __version__
from assent.cli.output import Output
from assent.cli.table import COMMANDS, overview
from assent.core.errors import AssentError, Interrupted, UsageError

CLOSED = 2


class Root(click.Group):
    """Knows the commands by name and loads the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, cmd_name)
        return command

    def get_help(self, ctx: click.Context) -> str:
        return overview().rstrip("\n")


@click.command(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="assent %(version)s")
@click.option("-C", "folder", metavar="DIR", default="", help="Work in DIR.")
@click.pass_context
def root(ctx: click.Context, folder: str) -> None:
    """Assent."""
    ctx.obj = folder


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    if sys.stdout is None or sys.stderr is None:
        return CLOSED  # nobody would learn what became of it
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know fewer letters
    output = Output(as_json="--json" in arguments)
    try:
        code = root.main(list(arguments), prog_name="assent", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except (AssentError, click.UsageError, OSError, KeyboardInterrupt, click.Abort) as error:
        return output.fail(_told(error))


def _told(error: BaseException) -> AssentError:
    """Turns every expected failure into an error with words and a next step."""
    match error:
        case AssentError():
            return error
        case click.exceptions.NoArgsIsHelpError():
            return UsageError("Which of its commands?", f"{error.ctx.command_path} --help")
        case click.UsageError():
            hint = error.ctx.command_path if error.ctx else "assent"
            return UsageError(error.format_message(), f"{hint} --help")
        case OSError():
            return AssentError(f"{error.strerror or error}: {error.filename or ''}")
        case _:
            return Interrupted("Interrupted; `assent status` says where things stand.")
