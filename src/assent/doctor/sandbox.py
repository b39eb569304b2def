"""Checks of the sandbox: every escape test of the self-test, and the limits of one call."""

from collections.abc import Iterable, Mapping

from assent.core.paths import one_line
from assent.core.shell.process import SandboxState, SandboxStatus
from assent.doctor.check import DoctorCheck, DoctorCheckResult
from assent.sandbox.selftest.checker import SandboxChecker
from assent.sandbox.selftest.escape_tests import ESCAPE_TESTS, EscapeOutcome, EscapeTestResult
from assent.sandbox.selftest.limit_tests import SLOW, run_limit_tests


def escape_checks(standings: SandboxChecker) -> tuple[SandboxStatus, list[DoctorCheck]]:
    """Runs the self-test again, and returns its status with a row for each attempt."""
    standing, attempts = standings.retest()
    if attempts:
        return standing, list(_rows(attempts))
    result = (
        DoctorCheckResult.FAILED if standing.hold is SandboxState.OFF else DoctorCheckResult.ABSENT
    )
    tried = f"escape in {len(ESCAPE_TESTS)} ways"
    return standing, [DoctorCheck("sandbox", "self-test", tried, result, standing.reason)]


def limit_checks(standings: SandboxChecker) -> list[DoctorCheck]:
    """Tests the limits of a call, if there is a sandbox to run one in."""
    row = ("sandbox: call", "limits", "exceed the limits on time, output and processes")
    try:
        confine = standings.confinement()
        if confine is None:
            return [DoctorCheck(*row, DoctorCheckResult.ABSENT, "No sandbox available.")]
        return list(_rows(run_limit_tests(confine, SLOW)))
    except Exception as error:
        words = f"The check itself failed: {type(error).__name__}: {error}"
        return [DoctorCheck(*row, DoctorCheckResult.FAILED, words)]


def shown_checks(shown: Mapping[bytes, str]) -> list[DoctorCheck]:
    """Returns a row for each path that the user shows to commands (`sandbox.show`)."""
    return [
        DoctorCheck(
            "sandbox: show",
            one_line(path),
            "let commands read it (sandbox.show)",
            DoctorCheckResult.ABSENT if refused else DoctorCheckResult.HELD,
            f"Not shown: {refused}." if refused else "Commands read it and cannot change it.",
        )
        for path, refused in shown.items()
    ]


def _rows(attempts: Iterable[EscapeTestResult]) -> Iterable[DoctorCheck]:
    for one in attempts:
        trial, detail = one.trial, one.detail
        yield DoctorCheck(
            f"sandbox: {trial.channel}", trial.name, trial.tried, _result(one), detail
        )


def _result(attempt: EscapeTestResult) -> DoctorCheckResult:
    """Returns the result; an inconclusive test is not available, or failed if it is vital."""
    match attempt.proof:
        case EscapeOutcome.HELD:
            return DoctorCheckResult.HELD
        case EscapeOutcome.LEAKED:
            return DoctorCheckResult.FAILED
        case EscapeOutcome.UNPROVEN:
            return DoctorCheckResult.FAILED if attempt.trial.vital else DoctorCheckResult.ABSENT
