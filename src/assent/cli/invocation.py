"""One invocation: the options of commands, a plan or a bundle FILE, and the engine for them."""

import functools
import os
import re
from collections.abc import Callable
from shlex import quote
from typing import Any

import click

from assent.app.composition import may_approve_without_terminal, open_engine
from assent.app.engine import Engine
from assent.cli.options import CommandCall, OneOf, with_call
from assent.cli.output import EXPECTED, OUTPUT_FORMATS, OutputFormat, as_assent_error
from assent.cli.stdin import argument_text
from assent.cli.stream_output import StreamJsonOutput
from assent.core.errors import UsageError
from assent.core.plan.approval import MAX_LIFETIME_S
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import RunUpdate
from assent.planning.options import choice_needed


class Invocation(CommandCall):
    """One call of a command that works with the engine."""

    def __init__(self, folder: str, plan: str, *, form: OutputFormat, no_input: bool) -> None:
        super().__init__(folder, plan, form=form, no_input=no_input)
        if form == "stream-json":
            self.output = StreamJsonOutput()
        self.seen: RunUpdate | None = None  # what a run told last

    @functools.cached_property
    def engine(self) -> Engine:
        """Opens the engine for the folder, when the first verb needs it."""
        engine, self._warnings = open_engine(self.folder, lenient=self.lenient)
        self._opened = engine
        return engine

    @property
    def working_folder(self) -> bytes:
        """The folder that the user is in, or named with -C."""
        return os.path.realpath(os.fsencode(self.folder or "."))

    @functools.cached_property
    def without_terminal(self) -> bool:
        """Whether the user's own configuration lets a full digest approve by itself."""
        return may_approve_without_terminal(self.folder, lenient=self.lenient)

    def record(self) -> PlanRecord:
        """Returns the plan that the command is about; raises if it does not say which of several.

        Without a name that is the current plan, or the option that waits alone.
        """
        if options := self.options():
            raise choice_needed(self.engine.plans, options, self.command)
        record = self.engine.plans.find(self.plan)
        return record if self.plan else self.engine.plans.meant(record)

    def options(self) -> list[PlanRecord]:
        """Returns the options that a command without a name has to choose from; usually none."""
        plans = self.engine.plans
        return [] if self.plan else plans.presented_options(plans.find())

    def is_about(self, record: PlanRecord) -> None:
        """Has a stream name the session of a plan in its lines, as the log does."""
        if self.form == "stream-json":
            ids = {known.slug: known.session for known in self.engine.sessions.all()}
            self.output.session = ids.get(record.session, record.session)

    def with_recovered_run(self, error: BaseException) -> BaseException:
        """Returns a failure that first names the run that the call resumed; else the failure.

        The failure alone would suggest that everything is as it was before the call.
        """
        known = self.engine.runs.taken_up if self._opened is not None else ()
        taken = self.output.unreported_warnings(known)
        if not taken:
            return error
        failure = as_assent_error(error)
        rest = re.sub(r"\b([Nn])othing was changed", r"\1othing else was changed", failure.message)
        failure.message = " ".join([*taken, rest])
        return failure


def with_invocation(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Gives a command the common options and hands them over as one invocation."""
    return with_call(Invocation, function)


def with_output_format(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Adds --output-format to a command that runs something; the last of it and --json counts.

    A stream that has begun always ends properly, and a failure names the run that was resumed
    before it.
    """

    @click.option(
        "--output-format",
        "output_format",
        type=OneOf(OUTPUT_FORMATS),
        metavar="FORMAT",
        help="text, json (same as --json), or stream-json: one JSON line per event.",
    )
    @functools.wraps(function)
    def wrapped(call: Invocation, **rest: Any) -> int | None:
        try:
            return function(call, **rest)
        except EXPECTED as error:
            failure = call.with_recovered_run(error)
            call.output.break_off(as_assent_error(failure))
            raise failure from None

    return wrapped


# Options of commands that also take a FILE: a bundle instead of a plan of this workspace.


Command = Callable[..., int | None]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = r"([1-9][0-9]{0,6})([smhd])"
_OPERATIONS = r"[0-9a-f,]+"  # numbers, and starts of ids
WHOLE = (
    "--without cannot be used with FILE: a bundle is approved as a whole. Its author can exclude "
    "operations and propose the rest."
)


def or_bundle_file(verb: Command, *options: str) -> Callable[[Command], Command]:
    """Gives a command a FILE; with one, `verb` is called in its place.

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
                raise UsageError(f"Pass one FILE, not {len(files)}.", f"{call.command} --help")
            if call.plan:
                raise UsageError("Pass FILE or --plan, not both.", f"{call.command} --help")
            refuse_other_options(call, {key: rest[key] for key in rest if key not in options})
            return verb(call, file, **{key: rest[key] for key in options})

        return wrapped

    return decorated


def refuse_other_options(call: Invocation, given: dict[str, Any]) -> None:
    """Refuses options that mean nothing together with a FILE."""
    for key, value in given.items():
        if value:
            option = key.removeprefix("then_").replace("_", "-")
            raise UsageError(f"--{option} cannot be used with FILE.", f"{call.command} --help")


def split_values(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns what was given with commas, or by repeating an option, one by one."""
    return tuple(each.strip() for given in value for each in given.split(","))


def _named(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if not all(each.strip() for each in value):
        raise UsageError("FILE must not be empty.", f"{ctx.command_path} --help")
    return value


def _not_a_part(call: Invocation, files: tuple[str, ...], given: dict[str, Any]) -> UsageError:
    """Returns why --without cannot be used with FILE, or what to type if operations were meant."""
    if any(os.path.lexists(os.path.join(call.folder, file)) for file in files) or not all(
        re.fullmatch(_OPERATIONS, file) for file in files
    ):
        return UsageError(WHOLE, f"assent review {quote(argument_text(files[0]))}")
    plan = f" --plan {quote(call.plan)}" if call.plan else ""
    dry_run = " --dry-run" if given["dry_run"] else ""
    operations = quote(argument_text(",".join((*given["without"], *files))))
    return UsageError(
        "Put all operations in one --without, separated by commas.",
        f"{call.command}{plan} --without {operations}{dry_run}",
    )


def parse_duration(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Returns the seconds that a person means by 15m, 2h or 3d; None if nothing was said."""
    if value is None:
        return None
    found = re.fullmatch(_DURATION, value)
    if found is None:
        raise UsageError(
            f"A duration must be a number with s, m, h or d, such as 15m, not {value[:40]!a}.",
            f"{ctx.command_path} --help",
        )
    seconds = int(found[1]) * _SECONDS[found[2]]
    if seconds > MAX_LIFETIME_S:
        raise UsageError(
            f"The maximum is {MAX_LIFETIME_S // _SECONDS['d']}d; omit it for an approval that "
            "never expires.",
            f"{ctx.command_path} --help",
        )
    return seconds
