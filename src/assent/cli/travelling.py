"""Commands that also take a FILE: a plan from elsewhere instead of one of this workspace."""

import functools
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from assent.cli.call import Call, named
from assent.core.approval import LONGEST_S
from assent.core.errors import UsageError

Command = Callable[..., int | None]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])")


def or_file(verb: str, *options: str) -> Callable[[Command], Command]:
    """Gives a command a FILE; with one, `verb` of cli/bundles is called in its place.

    `options` are those of the command that make sense for both.
    """

    def decorated(function: Command) -> Command:
        @click.argument("file", required=False, callback=named)
        @functools.wraps(function)
        def wrapped(call: Call, file: str, **rest: Any) -> int | None:
            if not file:
                return function(call, **rest)
            if call.plan:
                raise UsageError("Give FILE or --plan, not both.", f"{call.command} --help")
            refuse_others(call, {key: rest[key] for key in rest if key not in options})
            chosen = getattr(import_module("assent.cli.bundles"), verb)
            code: int | None = chosen(call, file, **{key: rest[key] for key in options})
            return code

        return wrapped

    return decorated


def refuse_others(call: Call, given: dict[str, Any]) -> None:
    """Refuses options that mean nothing together with a FILE."""
    for key, value in given.items():
        if value:
            option = key.removeprefix("then_").replace("_", "-")
            raise UsageError(f"--{option} does not go with FILE.", f"{call.command} --help")


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Returns the seconds that a person means by 15m, 2h or 3d; None if nothing was said."""
    if value is None:
        return None
    found = _DURATION.fullmatch(value)
    if found is None:
        raise UsageError(
            f"A duration is a number with s, m, h or d, such as 15m, not {value[:40]!a}.",
            f"{ctx.command_path} --help",
        )
    seconds = int(found[1]) * _SECONDS[found[2]]
    if seconds > LONGEST_S:
        raise UsageError(
            f"At most {LONGEST_S // _SECONDS['d']}d; without it, it holds for ever.",
            f"{ctx.command_path} --help",
        )
    return seconds
