"""`assent doctor`: checks that the safeguards hold on this machine, and shows the report."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import click
import msgspec

from assent.app.models import critic_warnings
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.output import CliOutput
from assent.core.scratch import ScratchBackend
from assent.core.text.hidden_chars import visible_line
from assent.doctor.report import DoctorTarget, doctor_target, run_doctor
from assent.render.lines import BLANK, Line, Style, table_lines, wrapped_lines
from assent.render.scratch import backend_lines

# Renders the doctor's report as lines, from the same object that `--json` prints.


STYLES: Final[dict[str, Style]] = {"held": "plain", "not available": "dim", "FAILED": "risk"}
DOCTOR_COMMAND: Final = "assent doctor"
RESULT_TEXTS: Final[dict[str, tuple[Style, str]]] = {
    "held": ("plain", "The sandbox holds: every escape attempt failed."),
    "none": ("risk", "No sandbox: only a smaller set of commands can run."),
    "off": ("risk", "The shell is off: no command can run."),
}


def doctor_lines(report: Mapping[str, Any]) -> Iterator[Line]:
    """Renders all checks by channel, then versions, what is missing, the standing, and a count."""
    yield Line("dim", "All checks ran for real, in temporary folders.")
    channels = dict.fromkeys(check["channel"] for check in report["checks"])
    for channel in channels:
        yield BLANK
        yield Line("heading", visible_line(channel))
        yield from _check_lines([c for c in report["checks"] if c["channel"] == channel])
    yield BLANK
    yield Line("heading", "versions and paths")
    facts = {**report["versions"], **report["places"]}
    yield from _indented("plain", [(name, visible_line(value)) for name, value in facts.items()])
    yield from _missing_lines(report["missing"])
    if report["scratch"]:
        yield BLANK
        yield from backend_lines(ScratchBackend(**report["scratch"]))
    yield from _skill_lines(report["skills"])
    yield BLANK
    yield from _standing_lines(report["standing"])
    yield from _count_lines(report)


def _check_lines(checks: Sequence[Mapping[str, str]]) -> Iterator[Line]:
    width = max(len(check["tried"]) for check in checks)
    for check in checks:
        style, held = STYLES[check["result"]], check["result"] == "held"
        told = "" if held else f"  {visible_line(check['detail'])}"
        text = f"  {check['result']:<13}  {visible_line(check['tried']):<{width}}{told}"
        yield from wrapped_lines(style, text.rstrip(" "))


def _standing_lines(standing: Mapping[str, str]) -> Iterator[Line]:
    style, words = RESULT_TEXTS[standing["hold"]]
    yield Line(style, words)
    if standing["reason"]:
        yield from wrapped_lines(style, f"  {visible_line(standing['reason'])}")
    if standing["next"] not in ("", DOCTOR_COMMAND):
        yield from wrapped_lines("dim", f"  next: {visible_line(standing['next'])}")


def _missing_lines(missing: Sequence[Mapping[str, str]]) -> Iterator[Line]:
    if not missing:
        return
    yield BLANK
    yield Line("heading", "missing")
    yield from _indented("plain", [(one["name"], one["install"], one["why"]) for one in missing])


def _skill_lines(problems: Sequence[str]) -> Iterator[Line]:
    if not problems:
        return
    yield BLANK
    yield Line("heading", "skills")
    for words in problems:
        yield from wrapped_lines("risk", f"  {visible_line(words)}")


def _count_lines(report: Mapping[str, Any]) -> Iterator[Line]:
    results = [check["result"] for check in report["checks"]]
    counts = ", ".join(f"{results.count(result)} {result}" for result in STYLES)
    yield Line("risk" if "FAILED" in results else "heading", f"{counts}.")


def _indented(style: Style, rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    for line in table_lines(style, rows):
        yield Line(style, f"  {line.text}")


@click.command(epilog=examples("assent doctor\nassent doctor --strict\nassent doctor --json"))
@click.option("--strict", is_flag=True, help="Also fail if a check could not run here.")
@with_invocation
def doctor(call: Invocation, strict: bool) -> int:
    """Check that the safeguards hold on this machine. Every attack is tried for real.

    Covers approvals, paths, undo, shell and sandbox, in temporary folders. Exits with 1 if any
    check FAILED. Your workspace, plans and configuration are not touched; only the results of the
    sandbox self-test, and of the trial of scratch copies, are saved. Skills that cannot be used are
    listed, with the reason. A model of `plan.critic` that cannot be used is a warning.
    """
    call.output.warn(critic_warnings(call.folder))
    return report_on(doctor_target(call.folder), call.output, strict=strict)


def report_on(patient: DoctorTarget, output: CliOutput, *, strict: bool) -> int:
    """Examines a machine, tells what was found, and returns the exit code."""
    report = run_doctor(patient, partial(_tell, output), strict=strict)
    _tell(output, "")
    content = msgspec.to_builtins(report)
    output.answer(content, doctor_lines(content))
    return 0 if report.ok else 1


def _tell(output: CliOutput, what: str) -> None:
    """Shows what is being tried, on a terminal only."""
    if output.shows_progress:
        sys.stderr.write(f"\r\x1b[K{f'Checking: {what}' if what else ''}")
        sys.stderr.flush()
