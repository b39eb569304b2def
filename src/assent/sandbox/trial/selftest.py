"""The self-test: tries to break out of a confinement for real, and judges what came of it.

Every attempt that can work at all is also made without the confinement, on other canaries: what
fails there, too, shows nothing. An answer that is missing or makes no sense counts as a leak.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from assent.sandbox.trial.attempts import APPROVE, TRIALS, UNCHANGED, Attempt, Proof, Trial
from assent.sandbox.trial.bait import Baiting, Ground
from assent.sandbox.trial.site import Runner, Seen, prepared

Confine: TypeAlias = Callable[[Ground], Runner]  # a runner for one workspace and its person


def selftest(
    confine: Confine, baiting: Baiting | None = None, folder: Path | None = None
) -> tuple[Attempt, ...]:
    """Makes every attempt inside and outside a confinement, and judges each."""
    trials = (*TRIALS, APPROVE, UNCHANGED) if baiting else (*TRIALS, UNCHANGED)
    controls = tuple(trial for trial in trials if trial.control)
    with (
        prepared(controls, baiting, folder) as outside,
        prepared(trials, baiting, folder) as inside,
        outside.unconfined() as control,
    ):
        confined = inside.confined(confine(inside.canaries.ground))
        free = control()
    return tuple(judge(trial, confined, free) for trial in trials)


def judge(trial: Trial, confined: Seen, control: Seen) -> Attempt:
    """Decides what an attempt showed; whatever is unclear counts against the confinement."""
    wrong = _wrong(trial, confined)
    if wrong:
        return Attempt(trial, Proof.LEAKED, wrong)
    said = confined.said.get(trial.name)
    if said and said.absent:
        return Attempt(trial, Proof.UNPROVEN, "There is nothing to try here.")
    if trial.control and not _proven(trial, control):
        return Attempt(trial, Proof.UNPROVEN, _why_unproven(trial, control))
    told = said.detail if said and not said.worked else "nothing of it is seen from outside"
    return Attempt(trial, Proof.HELD, told)


def _wrong(trial: Trial, confined: Seen) -> str:
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


def _proven(trial: Trial, control: Seen) -> bool:
    """Tells whether an attempt works where nothing confines it."""
    if trial is UNCHANGED:
        return trial.name in control.traces
    said = control.said.get(trial.name)
    if said is None or not said.worked:
        return False
    return not trial.private or trial.name in control.traces


def _why_unproven(trial: Trial, control: Seen) -> str:
    said = control.said.get(trial.name)
    why = control.trouble or (said.detail if said else "") or "no trace of it was seen"
    return f"It fails without a sandbox, too: {why}"
