"""The root command group: loads and runs the command that was asked for."""

import importlib
import sys
from collections.abc import Sequence

import click

from assent import __version__
from assent.cli.options import QUIET, with_quiet
from assent.cli.registry import COMMANDS, overview
from assent.core.errors import UsageError


class CommandInterrupted(click.Abort):
    """An interrupt on its way through click, which would print a line and drop the signal."""

    def __init__(self, interrupt: KeyboardInterrupt) -> None:
        super().__init__()
        self.interrupt = interrupt


class RootGroup(click.Group):
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

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise CommandInterrupted(interrupt) from None


@click.command(cls=RootGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="assent %(version)s")
@click.option("-C", "folder", metavar="DIR", default="", help="Run as if started in DIR.")
@with_quiet
@click.pass_context
def root(ctx: click.Context, folder: str, *, quiet: bool) -> None:
    """Assent."""
    ctx.obj = folder
    ctx.meta[QUIET] = quiet


def command(arguments: Sequence[str]) -> int:
    """Runs a command's line and returns its exit code."""
    try:
        code = root.main(list(arguments), prog_name="assent", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        from assent.cli.usage import subcommands_text

        path = error.ctx.command_path
        raise UsageError(subcommands_text(error.ctx), f"{path} --help") from None
    except click.UsageError as error:
        from assent.cli.usage import usage_text

        path = error.ctx.command_path if error.ctx else _named(arguments)
        raise UsageError(usage_text(error), f"{path} --help") from None
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    except CommandInterrupted as stopped:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # below the ^C that the terminal shows
        raise stopped.interrupt from None
    except click.Abort:
        raise KeyboardInterrupt from None


def _named(arguments: Sequence[str]) -> str:
    """Returns the command that a line names, where the parser itself gave up and does not say."""
    found: click.Command = root
    names, ctx = ["assent"], click.Context(root)
    for word in arguments:
        match found:
            case click.Group() if inner := found.get_command(ctx, word):
                names, found = [*names, word], inner
            case click.Group():
                continue  # an option before the command, or what it was given
            case _:
                break
    return " ".join(names)
