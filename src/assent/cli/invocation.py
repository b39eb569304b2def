"""One invocation: the options that every command takes, and the engine they lead to."""

import functools
import os
import re
from collections.abc import Callable
from typing import Any

import click

from assent.app.engine import Engine
from assent.cli.errors import EXPECTED, as_assent_error
from assent.cli.goal.options import OUTPUT_FORMATS, OutputFormat
from assent.cli.output import CliOutput
from assent.core.errors import AssentError, UsageError
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import RunUpdate
from assent.render.review import of_plan

# A project whose configuration is broken must not keep its user from looking and going back.
LENIENT = (
    "assent status", "assent log", "assent undo", "assent redo", "assent recover",
    "assent trust give", "assent trust revoke",
)  # fmt: skip


class Invocation:
    """One invocation of a command."""

    def __init__(self, folder: str, plan: str, *, form: OutputFormat, no_input: bool) -> None:
        self.folder = folder
        self.plan = plan
        self.no_input = no_input
        self.form = form
        self.output = _output(form)
        self.seen: RunUpdate | None = None  # what a run told last
        self._warnings: tuple[str, ...] = ()

    @functools.cached_property
    def engine(self) -> Engine:
        """Opens the engine for the folder, when the first verb needs it."""
        from assent.app.composition import open_engine

        engine, self._warnings = open_engine(self.folder, lenient=self.lenient)
        return engine

    @property
    def working_folder(self) -> bytes:
        """Where the person is, or wants to be."""
        return os.path.realpath(os.fsencode(self.folder or "."))

    @functools.cached_property
    def without_terminal(self) -> bool:
        """Whether the user's own configuration lets a full digest approve by itself."""
        from assent.app.composition import may_approve_without_terminal

        return may_approve_without_terminal(self.folder, lenient=self.lenient)

    @property
    def command(self) -> str:
        """The command as it was called, for the next one to type."""
        return click.get_current_context().command_path

    @property
    def lenient(self) -> bool:
        """Whether the command also works with a project's configuration that does not."""
        return self.command in LENIENT

    def record(self) -> PlanRecord:
        """Returns the plan that the command is about."""
        return self.engine.plans.find(self.plan)

    def is_about(self, record: PlanRecord) -> None:
        """Has a stream name the session of a plan in its lines, as the log does."""
        if self.form == "stream-json":
            ids = {known.slug: known.session for known in self.engine.sessions.all()}
            self.output.session = ids.get(record.session, record.session)

    def of_plan(self, command: str) -> str:
        """Returns a command that names the plan which this call names, if it is not current."""
        if not self.plan or "engine" not in self.__dict__:
            return command
        try:
            return of_plan(command, self.engine.plans.reference(self.record(), current=False))
        except (AssentError, OSError):  # what failed is told already; this only helps on
            return command

    def report_live(self, record: PlanRecord) -> None:
        """Says so where the plan's file is no longer what was proposed."""
        if record.state is PlanState.AWAITING_APPROVAL:
            difference = self.engine.plans.difference(record)
            self._warnings = (*self._warnings, *filter(None, [difference]))

    def with_recovered_run(self, error: BaseException) -> BaseException:
        """Returns a failure that names first which run the call took up; else the failure itself.

        Whoever reads it alone would think that all is as it was before the call.
        """
        known = self.engine.runs.taken_up if "engine" in self.__dict__ else ()
        taken = self.output.unreported_warnings(known)
        if not taken:
            return error
        failure = as_assent_error(error)
        rest = re.sub(r"\b([Nn])othing was changed", r"\1othing else was changed", failure.message)
        failure.message = " ".join([*taken, rest])
        return failure

    def close(self, *, answered: bool) -> None:
        """Closes the engine and tells its warnings; a refusal in JSON stands on stderr alone."""
        if "engine" not in self.__dict__:
            return
        if answered or not self.output.as_json:
            self.output.warn((*self._warnings, *self.engine.warnings))
        self.engine.close()


def reference_option(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    """Returns what a reference names, or nothing where it was left away; blank it names nobody."""
    if value is not None and not value.strip():
        word = param.metavar or str(param.name).upper()
        raise UsageError(f"{word} is empty, so it names nothing.", f"{ctx.command_path} --help")
    return value or ""


def with_invocation(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Gives a command the common options and hands them over as one Call."""

    @click.option("--json", "output_format", flag_value="json", help="Print one JSON object.")
    @click.option("-C", "folder", metavar="DIR", default="", help="Work in DIR.")
    @click.option(
        "--plan",
        metavar="ID",
        callback=reference_option,
        help="The plan (default: the current one).",
    )
    @click.option("--no-input", is_flag=True, help="Never ask; what would be asked is a no.")
    @functools.wraps(function)
    def wrapped(
        output_format: OutputFormat | None, folder: str, plan: str, no_input: bool, **rest: Any
    ) -> int | None:
        outer = click.get_current_context().find_root().obj or ""
        where, form = os.path.join(outer, folder), output_format or "text"
        call = Invocation(where, plan, form=form, no_input=no_input)
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


def with_output_format(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Gives a command that runs something --output-format; of it and --json the last one counts.

    A stream that has begun comes to an end, whatever happens; and a failure names the run that was
    taken up before it.
    """

    @click.option(
        "--output-format",
        "output_format",
        type=click.Choice(OUTPUT_FORMATS),
        metavar="FORMAT",
        help="text, json (also --json), or stream-json: a line for all that happens.",
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


def _output(form: OutputFormat) -> CliOutput:
    if form != "stream-json":
        return CliOutput(as_json=form == "json")
    from assent.cli.stream_output import StreamJsonOutput

    return StreamJsonOutput()


def examples(text: str) -> str:
    """Returns the epilog of a command's help."""
    return "\b\nExamples:\n" + "\n".join("  " + line for line in text.strip().splitlines())
