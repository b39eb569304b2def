"""`assent rehearse`: tries a plan in a scratch copy and says whether its verification passes."""

import shlex
import sys

import click

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.output import VisibleOutput
from assent.cli.terminal import has_terminal, read_reply
from assent.core.errors import Declined
from assent.core.plan.record import PlanRecord
from assent.core.plan.rehearsal import Rehearsal, RehearsedCommand
from assent.core.shell.process import OutputChunk
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line
from assent.render.rehearsal import rehearsal_lines, rehearsal_row
from assent.runs.rehearsal import CommandBegins, RehearsalRequest

YES = ("y", "yes")
NO_TERMINAL = "--network needs a person's yes on a terminal. Nothing was run."
NO_VERIFICATION = (
    "No command verifies plans here, so the operations are only applied. Name one: "
    "`assent rehearse -- CMD`, or `[verify] commands` in your configuration."
)


@click.command(
    epilog=examples(
        "assent rehearse\nassent rehearse -- pytest -q\nassent rehearse --network -- npm test\n"
        "assent rehearse --plan rename --json"
    )
)
@click.option("--network", is_flag=True, help="Allow the network; shows the commands and asks.")
@click.argument("words", nargs=-1, metavar="[-- CMD...]", type=click.UNPROCESSED)
@with_invocation
def rehearse(call: Invocation, network: bool, words: tuple[str, ...]) -> int:
    """Try a plan, or the draft, in a scratch copy. Changes no file and approves nothing.

    Applies the operations, runs the plan's commands in their places, then CMD, or the commands
    that verify plans here. Exits with 1 if one fails or could not be run, 5 if files changed.
    """
    record = call.record()
    line = words[0] if len(words) == 1 else shlex.join(words)
    request = RehearsalRequest((line,) if words else (), network)
    _confirm_verification(call, record, request)
    if network:
        _confirm_network(call, call.engine.rehearser.network_lines(record, request))
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
        if _agreed(f"Verify plans in this workspace with `{shown}`? [y/N] "):
            rehearsals.confirm(suggested)
            return
    call.output.warn([NO_VERIFICATION])


def _confirm_network(call: Invocation, lines: list[str]) -> None:
    if not lines:
        return
    if call.no_input or not has_terminal():
        raise Declined(NO_TERMINAL, "assent rehearse")
    shown = "\n".join(f"  {visible_line(line)}" for line in lines)
    if not _agreed(
        f"These commands get the network, in a scratch copy:\n{shown}\nRun them? [y/N] "
    ):
        raise Declined("Not allowed; nothing was run.", "assent rehearse")


def _agreed(question: str) -> bool:
    return (read_reply(question) or "").strip().lower() in YES


def _shown(call: Invocation, record: PlanRecord, request: RehearsalRequest) -> Rehearsal:
    """Rehearses; what commands print is shown as it comes, on stderr, so that stdout is ours."""
    visible, found = VisibleOutput(), None
    for part in call.engine.rehearser.rehearse(record, request):
        match part:
            case CommandBegins(line, number, total):
                sys.stderr.write(f"[{number}/{total}] {visible_line(line)}\n")
            case OutputChunk(content):
                sys.stderr.write(visible.text(content))
            case RehearsedCommand():
                sys.stderr.write(visible.text(b"", last=True))
                visible = VisibleOutput()
            case Rehearsal():
                found = part
        sys.stderr.flush()
    assert found is not None, "a rehearsal ends with what it showed"
    return found


def _next(found: Rehearsal) -> list[Line]:
    if found.passed is False:
        return []
    return [Line("plain", "Nothing real changed. Next: assent review")]
