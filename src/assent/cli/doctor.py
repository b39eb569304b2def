"""`assent doctor`: checks that the safeguards hold on this machine."""

import sys
from functools import partial

import click
import msgspec

from assent.cli.invocation import Invocation, examples, with_invocation
from assent.cli.output import CliOutput
from assent.cli.render.doctor import doctor_lines
from assent.doctor.report import DoctorTarget, doctor_target, run_doctor


@click.command(epilog=examples("assent doctor\nassent doctor --strict\nassent doctor --json"))
@click.option("--strict", is_flag=True, help="Fail also if something could not be tried here.")
@with_invocation
def doctor(call: Invocation, strict: bool) -> int:
    """Try to break consent, paths, undo, shell and sandbox for real, in scratch folders.

    Exits with 1 if anything FAILED. Nothing of yours is touched: no workspace, no plan, no
    configuration; only the self-test's result is kept anew.
    """
    return report_on(doctor_target(), call.output, strict=strict)


def report_on(patient: DoctorTarget, output: CliOutput, *, strict: bool) -> int:
    """Examines a machine, tells what was found, and returns the exit code."""
    report = run_doctor(patient, partial(_tell, output), strict=strict)
    _tell(output, "")
    content = msgspec.to_builtins(report)
    output.answer(content, doctor_lines(content))
    return 0 if report.ok else 1


def _tell(output: CliOutput, what: str) -> None:
    """Shows what is being tried, on a terminal only."""
    if sys.stderr.isatty() and not output.as_json:
        sys.stderr.write(f"\r\x1b[K{f'Trying: {what}' if what else ''}")
        sys.stderr.flush()
