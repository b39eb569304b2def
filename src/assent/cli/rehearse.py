"""`assent rehearse`: tries a plan in a scratch copy and says whether its verification passes."""

from contextlib import closing

import click

from assent.app.scratch import refused_cache_variables
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.scratch_command import (
    CommandStream,
    agreed,
    command_line,
    confirm_network,
    timeout_option,
)
from assent.cli.terminal import has_terminal
from assent.core.plan.record import PlanRecord
from assent.core.plan.rehearsal import Rehearsal, RehearsedCommand
from assent.core.shell.process import OutputChunk
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line
from assent.render.rehearsal import rehearsal_lines, rehearsal_row
from assent.runs.rehearsal import CommandBegins, RehearsalRequest

HELP = "assent rehearse --help"
NOTHING_STAGED = "Nothing is staged, so commands run on the workspace as it is."
NO_VERIFICATION = (
    "No command verifies plans here, so the operations are only applied. Name one: "
    "`assent rehearse -- {command}`, or `[verify] commands` in your configuration."
)


@click.command(
    epilog=examples(
        "assent rehearse\nassent rehearse -- pytest -q\nassent rehearse --network -- npm test\n"
        "assent rehearse --timeout 300 --plan rename --json"
    )
)
@click.option("--network", is_flag=True, help="Allow the network; shows the commands and asks.")
@timeout_option
@click.argument("words", nargs=-1, metavar="[-- CMD...]", type=click.UNPROCESSED)
@with_invocation
def rehearse(call: Invocation, network: bool, timeout: int, words: tuple[str, ...]) -> int:
    """Try a plan, or the draft, in a scratch copy. Changes no file and approves nothing.

    Applies the operations, runs the plan's commands in their places, then CMD, or the commands
    that verify plans here. Exits with 1 if one fails or could not be run, 5 if files changed.
    """
    record = call.record()
    request = RehearsalRequest(
        (command_line(words, HELP),) if words else (),
        network,
        terminal=not call.no_input and has_terminal(),
        seconds=timeout,
    )
    if not call.engine.rehearser.plan(record).operations:
        call.output.warn([NOTHING_STAGED])
    _confirm_verification(call, record, request)
    if network:
        lines = call.engine.rehearser.network_lines(record, request)
        confirm_network(call, lines, "assent rehearse")
    call.output.warn(refused_cache_variables())
    found = _shown(call, record, request)
    call.output.answer(rehearsal_row(found) or {}, [*rehearsal_lines(found), *_next(found)])
    if found.passed is None:
        return 1 if found.commands else 0
    return 0 if found.passed else 1


def _confirm_verification(call: Invocation, record: PlanRecord, request: RehearsalRequest) -> None:
    """Asks once whether what the project's files suggest verifies plans here."""
    rehearsals, plan = call.engine.rehearsals, call.engine.rehearser.plan(record)
    if rehearsals.verification(plan.text, request.given):
        return
    suggested = rehearsals.suggested()
    if suggested and not call.no_input and has_terminal():
        shown = " && ".join(map(visible_line, suggested))
        if agreed(f"Verify plans in this workspace with `{shown}`? [y/N] "):
            rehearsals.confirm(suggested)
            return
    named = visible_line(suggested[0]) if suggested else "CMD"
    call.output.warn([NO_VERIFICATION.format(command=named)])


def _shown(call: Invocation, record: PlanRecord, request: RehearsalRequest) -> Rehearsal:
    """Rehearses; what commands print is shown as it comes, on stderr, so that stdout is ours."""
    shown, found = CommandStream(quiet=call.output.quiet), None
    with closing(call.engine.rehearser.rehearse(record, request)) as parts:
        for part in parts:
            match part:
                case CommandBegins(line, number, total):
                    shown.begin(f"[{number}/{total}] {visible_line(line)}")
                case OutputChunk(content):
                    shown.write(content)
                case RehearsedCommand():
                    shown.end()
                case Rehearsal():
                    found = part
    assert found is not None, "a rehearsal ends with what it showed"
    return found


def _next(found: Rehearsal) -> list[Line]:
    if found.passed is False:
        return [Line("plain", "Nothing real changed.")]
    return [Line("plain", "Nothing real changed. Next: assent review")]
