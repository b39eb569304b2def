"""Options that every command has, and the workspace that a call of one is about."""

import functools
import os
import re
from collections.abc import Callable
from typing import Any

import click

from assent.app.status import WorkspaceStatus, open_status
from assent.cli.output import CliOutput, OutputFormat
from assent.core.errors import AssentError, UsageError, meant
from assent.core.plan.record import PlanRecord, PlanState
from assent.render.status import of_plan

# A broken project configuration must not keep the user from inspecting and undoing.
LENIENT = (
    "assent status", "assent log", "assent undo", "assent redo", "assent recover",
    "assent trust give", "assent trust revoke",
)  # fmt: skip


class CommandCall:
    """One call of a command: where it works, which plan it is about, and how it answers."""

    def __init__(self, folder: str, plan: str, *, form: OutputFormat, no_input: bool) -> None:
        self.folder = folder
        self.plan = plan
        self.no_input = no_input
        self.form = form
        self.output = CliOutput(as_json=form != "text")
        self._opened: WorkspaceStatus | None = None  # once a command needs it
        self._warnings: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command as it was called, for the next one to type."""
        return click.get_current_context().command_path

    @property
    def lenient(self) -> bool:
        """Whether the command also works with a project's configuration that does not."""
        return self.command in LENIENT

    def of_plan(self, command: str) -> str:
        """Returns a command that names the plan which this call names, if it is not current."""
        if not self.plan or self._opened is None:
            return command
        plans = self._opened.plans
        try:
            return of_plan(command, plans.reference(plans.find(self.plan), current=False))
        except (AssentError, OSError):  # the failure is already reported; this is only a hint
            return command

    def report_live(self, record: PlanRecord) -> None:
        """Warns if the plan's file is no longer what was proposed."""
        if record.state is PlanState.AWAITING_APPROVAL and self._opened is not None:
            difference = self._opened.plans.difference(record)
            self._warnings = (*self._warnings, *filter(None, [difference]))

    def close(self, *, answered: bool) -> None:
        """Closes what was opened and tells its warnings; a refusal in JSON is on stderr alone."""
        if self._opened is None:
            return
        if answered or not self.output.as_json:
            self.output.warn((*self._warnings, *self._opened.warnings))
        self._opened.close()


class StatusCall(CommandCall):
    """One call of a command that only looks where things stand, and works in any project."""

    @functools.cached_property
    def workspace(self) -> WorkspaceStatus:
        """Opens the status of the folder's workspace, when it is first needed."""
        self._opened, self._warnings = open_status(self.folder)
        return self._opened


def reference_option(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    """Returns a reference, or an empty string if it was omitted; refuses a blank one."""
    if value is not None and not value.strip():
        word = (param.metavar or str(param.name).upper()).strip("[]")
        raise UsageError(f"{word} must not be empty.", f"{ctx.command_path} --help")
    return value or ""


# Types of options and arguments whose values are refused in our own words.

MAX_SHOWN = 40  # characters of a wrong value
MAX_NAMED = 10**9  # a larger limit is only there to keep a number representable
_NEGATIVE = r"-(\.?[0-9][0-9_.eE+-]*|inf|nan)"


class Number(click.ParamType):  # type: ignore[type-arg] # generic only in newer versions
    """A finite number within limits, which the help of an option names where they matter."""

    name = "number"
    wanted = "a number"

    def __init__(
        self, min: float | None = None, max: float | None = None, *, min_open: bool = False
    ) -> None:
        self.min, self.max, self.min_open = min, max, min_open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            found = self.parsed(value)
        except (ValueError, OverflowError):
            found = None
        if found is None or not self._allows(found):
            raise _refused(f"{self.wanted}{_limits(self)}", value, param, ctx)
        return found

    def parsed(self, value: Any) -> float | None:
        """Returns the number that a person typed; None or ValueError if it is none."""
        found = float(value)
        return found if abs(found) <= MAX_NAMED else None

    def _allows(self, found: float) -> bool:
        if self.min is not None and (found <= self.min if self.min_open else found < self.min):
            return False
        return self.max is None or found <= self.max


class WholeNumber(Number):
    """A whole number within limits."""

    wanted = "a whole number"

    def parsed(self, value: Any) -> int:
        return int(value)


class OneOf(click.Choice[str]):
    """One of a few words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            hint = meant(str(value), self.choices)
            raise _refused(f"one of {', '.join(self.choices)}", value, param, ctx, hint) from None


class ValueCommand(click.Command):
    """A command with a value as its last argument, which can be a negative number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            numbers = [each for each in args if re.fullmatch(_NEGATIVE, each)]
            args = [*(each for each in args if each not in numbers), "--", *numbers]
        return super().parse_args(ctx, args)


class ListGroup(click.Group):
    """A group of commands whose `list` runs if none of them is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = not self.commands.keys().isdisjoint(args)
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = args if named else ["list", *args]
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        formatter.write("  The default command is list.\n")


def param_name(param: click.Parameter) -> str:
    """Returns an option or an argument as the help names it."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else argument_name(param)


def argument_name(param: click.Parameter) -> str:
    return param.metavar or (param.name or "").upper()


def _refused(
    wanted: str,
    value: object,
    param: click.Parameter | None,
    ctx: click.Context | None,
    hint: str = "",
) -> UsageError:
    name = param_name(param) if param else "The value"
    path = ctx.command_path if ctx else "assent"
    told = f"{name} must be {wanted}, not {str(value)[:MAX_SHOWN]!a}.{hint}"
    return UsageError(told, f"{path} --help")


def _limits(kind: Number) -> str:
    low, high = kind.min, kind.max
    if low is not None and high is not None and high <= MAX_NAMED:
        return f" from {low:g} to {high}"
    if low is None:
        return ""
    return f" greater than {low:g}" if kind.min_open else f" of at least {low:g}"


MOST_LISTED = 50  # rows of a list that may be very long


def with_limit(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Gives a list the options that say how much of it to show; it gets `most`, or None for all."""

    @click.option(
        "--limit",
        type=WholeNumber(min=1),
        default=MOST_LISTED,
        show_default=True,
        metavar="N",
        help="Show only the newest N.",
    )
    @click.option("--all", "everything", is_flag=True, help="Show all of them.")
    @functools.wraps(function)
    def wrapped(*given: Any, limit: int, everything: bool, **rest: Any) -> int | None:
        return function(*given, most=None if everything else limit, **rest)

    return wrapped


QUIET = "assent.quiet"  # in a context's `meta`: --quiet was given before the command
with_quiet = click.option(
    "-q", "--quiet", is_flag=True, help="Print no progress and no notes on stderr."
)


def with_call(
    make: type[CommandCall], function: Callable[..., int | None]
) -> Callable[..., int | None]:
    """Gives a command the common options and hands them over as one call."""

    @click.option("--json", "output_format", flag_value="json", help="Print one JSON object.")
    @click.option("-C", "folder", metavar="DIR", default="", help="Run as if started in DIR.")
    @click.option(
        "--plan",
        metavar="ID",
        callback=reference_option,
        help="Plan to use (default: the current one).",
    )
    @click.option("--no-input", is_flag=True, help="Don't prompt; deny instead.")
    @with_quiet
    @functools.wraps(function)
    def wrapped(
        output_format: OutputFormat | None,
        folder: str,
        plan: str,
        no_input: bool,
        quiet: bool,
        **rest: Any,
    ) -> int | None:
        ctx = click.get_current_context()
        outer = ctx.find_root().obj or ""
        where, form = os.path.join(outer, folder), output_format or "text"
        call = make(where, plan, form=form, no_input=no_input)
        call.output.quiet = quiet or bool(ctx.meta.get(QUIET))
        answered = False
        try:
            code = function(call, **rest)
            answered = True
        except AssentError as error:
            error.next = call.of_plan(error.next)
            raise
        finally:
            call.close(answered=answered)
        return code

    return wrapped


def with_status(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Gives a command the common options, and the status of the workspace to look at."""
    return with_call(StatusCall, function)


def examples(text: str) -> str:
    """Returns the epilog of a command's help."""
    return "\b\nExamples:\n" + "\n".join("  " + line for line in text.strip().splitlines())
