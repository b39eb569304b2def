"""What was wrong with a command line, and what was probably meant, in our own words."""

import re

import click

from assent.cli.options import MAX_SHOWN, argument_name, param_name
from assent.core.errors import meant

_EXTRA = r"Got unexpected extra arguments? \((.*)\)"


def usage_text(error: click.UsageError) -> str:
    """Returns what is wrong with a command line, and what was probably meant."""
    match error:
        case click.NoSuchOption():
            return _unknown_option(error)
        case click.MissingParameter() if error.param is not None:
            return f"Missing {param_name(error.param)}."
        case click.BadOptionUsage():
            return _bad_option(error)
        case _ if isinstance(word := getattr(error, "command_name", None), str) and error.ctx:
            group = error.ctx.command
            known = group.list_commands(error.ctx) if isinstance(group, click.Group) else []
            return f"Unknown command {word[:MAX_SHOWN]!a}.{meant(word, known)}"
    words = " ".join(error.format_message().split())
    if extra := re.match(_EXTRA, words):
        return f"Unexpected argument: {extra[1]}."
    return words


def subcommands_text(ctx: click.Context) -> str:
    """Returns that a group of commands needs one of them, and which there are."""
    group = ctx.command
    known = group.list_commands(ctx) if isinstance(group, click.Group) else []
    return f"Missing subcommand: one of {', '.join(known)}." if known else "Missing subcommand."


def _unknown_option(error: click.NoSuchOption) -> str:
    params = error.ctx.command.get_params(error.ctx) if error.ctx else []
    known = [name for param in params for name in (*param.opts, *param.secondary_opts)]
    options = [name for name in known if name.startswith("--")]
    hint = meant(error.option_name, options)
    runs = [each for each in params if isinstance(each, click.Argument) and each.nargs == -1]
    if not hint and any(re.search("CMD|COMMAND", argument_name(each)) for each in runs):
        hint = " Put -- before the command that is to run."
    return f"Unknown option {error.option_name[:MAX_SHOWN]!a}.{hint}"


def _bad_option(error: click.BadOptionUsage) -> str:
    name = error.option_name[:MAX_SHOWN]
    if several := re.search(r"requires ([0-9]+) arguments", error.message):
        return f"{name} needs {several[1]} values."
    needs = "requires an argument" in error.message
    return f"{name} needs a value." if needs else f"{name} takes no value."
