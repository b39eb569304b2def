"""Options of commands that also take a FILE: a bundle instead of a plan of this workspace."""

import functools
import os
import re
from collections.abc import Callable
from importlib import import_module
from shlex import quote
from typing import Any

import click

from assent.cli.input import argument_text
from assent.cli.invocation import Invocation
from assent.core.errors import UsageError
from assent.core.plan.approval import MAX_LIFETIME_S

Command = Callable[..., int | None]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])")
_OPERATIONS = re.compile(r"[0-9a-f,]+")  # numbers, and starts of ids
WHOLE = (
    "--without does not go with FILE: a plan from elsewhere is approved as a whole or not at all. "
    "Whoever proposed it can leave operations out and propose the rest."
)


def or_bundle_file(verb: str, *options: str) -> Callable[[Command], Command]:
    """Gives a command a FILE; with one, `verb` of cli/bundle is called in its place.

    `options` are those of the command that make sense for both.
    """

    def decorated(function: Command) -> Command:
        @click.argument("files", metavar="[FILE]", nargs=-1, callback=_named)
        @functools.wraps(function)
        def wrapped(call: Invocation, files: tuple[str, ...], **rest: Any) -> int | None:
            if not files:
                return function(call, **rest)
            if rest.get("without"):
                raise _not_a_part(call, files, rest)
            file = files[0]
            if len(files) > 1:
                raise UsageError(f"Give one FILE, not {len(files)}.", f"{call.command} --help")
            if call.plan:
                raise UsageError("Give FILE or --plan, not both.", f"{call.command} --help")
            refuse_other_options(call, {key: rest[key] for key in rest if key not in options})
            chosen = getattr(import_module("assent.cli.bundle"), verb)
            code: int | None = chosen(call, file, **{key: rest[key] for key in options})
            return code

        return wrapped

    return decorated


def refuse_other_options(call: Invocation, given: dict[str, Any]) -> None:
    """Refuses options that mean nothing together with a FILE."""
    for key, value in given.items():
        if value:
            option = key.removeprefix("then_").replace("_", "-")
            raise UsageError(f"--{option} does not go with FILE.", f"{call.command} --help")


def split_values(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns what was given with commas, or by repeating an option, one by one."""
    return tuple(each.strip() for given in value for each in given.split(","))


def _named(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if not all(each.strip() for each in value):
        raise UsageError("FILE is empty, so it names nothing.", f"{ctx.command_path} --help")
    return value


def _not_a_part(call: Invocation, files: tuple[str, ...], given: dict[str, Any]) -> UsageError:
    """Returns why --without stands beside no FILE, or what to type if operations were meant."""
    if any(os.path.lexists(os.path.join(call.folder, file)) for file in files) or not all(
        _OPERATIONS.fullmatch(file) for file in files
    ):
        return UsageError(WHOLE, f"assent review {quote(argument_text(files[0]))}")
    plan = f" --plan {quote(call.plan)}" if call.plan else ""
    dry_run = " --dry-run" if given["dry_run"] else ""
    operations = quote(argument_text(",".join((*given["without"], *files))))
    return UsageError(
        "Several operations go into one --without, with commas between them.",
        f"{call.command}{plan} --without {operations}{dry_run}",
    )


def parse_duration(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
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
    if seconds > MAX_LIFETIME_S:
        raise UsageError(
            f"At most {MAX_LIFETIME_S // _SECONDS['d']}d; without it, it holds for ever.",
            f"{ctx.command_path} --help",
        )
    return seconds
