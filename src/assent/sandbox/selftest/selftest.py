"""The self-test: tries to break out of a confinement for real, and judges what came of it.

Every attempt that can work at all is also made without the confinement, on other canaries: what
fails there, too, shows nothing. An answer that is missing or makes no sense counts as a leak.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from assent.sandbox.selftest.decoy_plan import DecoyPlanMaker, SelfTestPaths
from assent.sandbox.selftest.escape_tests import (
    APPROVE,
    ESCAPE_TESTS,
    UNCHANGED,
    EscapeOutcome,
    EscapeTest,
    EscapeTestResult,
)
from assent.sandbox.selftest.probe_environment import (
    PipelineRunner,
    ProbeObservation,
    probe_environment,
)

ConfinementFactory: TypeAlias = Callable[
    [SelfTestPaths], PipelineRunner
]  # a runner for one workspace and its person


def run_selftest(
    confine: ConfinementFactory, baiting: DecoyPlanMaker | None = None, folder: Path | None = None
) -> tuple[EscapeTestResult, ...]:
    """Makes every attempt inside and outside a confinement, and judges each."""
    trials = (*ESCAPE_TESTS, APPROVE, UNCHANGED) if baiting else (*ESCAPE_TESTS, UNCHANGED)
    controls = tuple(trial for trial in trials if trial.control)
    with (
        probe_environment(controls, baiting, folder) as outside,
        probe_environment(trials, baiting, folder) as inside,
        outside.unconfined() as control,
    ):
        confined = inside.confined(confine(inside.canaries.ground))
        free = control()
    return tuple(evaluate_attempt(trial, confined, free) for trial in trials)


def evaluate_attempt(
    trial: EscapeTest, confined: ProbeObservation, control: ProbeObservation
) -> EscapeTestResult:
    """Decides what an attempt showed; whatever is unclear counts against the confinement."""
    wrong = _wrong(trial, confined)
    if wrong:
        return EscapeTestResult(trial, EscapeOutcome.LEAKED, wrong)
    said = confined.said.get(trial.name)
    if said and said.absent:
        return EscapeTestResult(trial, EscapeOutcome.UNPROVEN, "There is nothing to try here.")
    if trial.control and not _proven(trial, control):
        return EscapeTestResult(trial, EscapeOutcome.UNPROVEN, _why_unproven(trial, control))
    told = said.detail if said and not said.worked else "nothing of it is seen from outside"
    return EscapeTestResult(trial, EscapeOutcome.HELD, told)


def _wrong(trial: EscapeTest, confined: ProbeObservation) -> str:
    """Says what speaks against the confinement, if anything does."""
    if confined.trouble:
        return confined.trouble
    if trial.name in confined.traces:
        return "It worked, as seen from outside."
    if trial is UNCHANGED:
        return ""
    said = confined.said.get(trial.name)
    if said is None:
        return "The probe did not say what came of it."
    if said.broken:
        return f"It could not be tried: {said.detail}"
    return f"It worked: {said.detail}." if said.worked and not trial.private else ""


def _proven(trial: EscapeTest, control: ProbeObservation) -> bool:
    """Tells whether an attempt works where nothing confines it."""
    if trial is UNCHANGED:
        return trial.name in control.traces
    said = control.said.get(trial.name)
    if said is None or not said.worked:
        return False
    return not trial.private or trial.name in control.traces


def _why_unproven(trial: EscapeTest, control: ProbeObservation) -> str:
    said = control.said.get(trial.name)
    why = control.trouble or (said.detail if said else "") or "no trace of it was seen"
    return f"It fails without a sandbox, too: {why}"
