"""Runs every check and builds the report about this machine."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from assent.app.scratch import open_scratch, open_scratch_at
from assent.app.settings import user_paths
from assent.app.shell import open_process_at, open_shell_at, sandbox_checker_at
from assent.app.skills import skill_problems
from assent.config.paths import AppPaths
from assent.core.errors import AssentError
from assent.core.scratch import ScratchBackend, ScratchBackendName
from assent.core.shell.process import SandboxStatus
from assent.doctor.approvals import CHECKS
from assent.doctor.check import DoctorCheck, DoctorCheckResult, run_check
from assent.doctor.paths import PATHS, UNDO
from assent.doctor.sandbox import escape_checks, limit_checks, shown_checks
from assent.doctor.scratch import scratch_checks
from assent.doctor.shell import ShellOpener, shell_checks
from assent.doctor.workspace import DoctorWorkspace, doctor_workspace
from assent.sandbox.read_only_shell import LocalReadOnlyShell
from assent.sandbox.scratch.backend import ScratchCopies
from assent.sandbox.selftest.checker import SandboxChecker
from assent.sandbox.selftest.machine import MissingProgram, missing_programs, versions

ENGINE = {"approval": CHECKS, "paths": PATHS, "undo": UNDO}

ProgressCallback = Callable[[str], None]  # what is being checked right now


class DoctorReport(msgspec.Struct, frozen=True):
    """The result of all checks; `ok`: nothing failed, and with strict also nothing was missing."""

    checks: tuple[DoctorCheck, ...]
    standing: SandboxStatus
    versions: dict[str, str]
    missing: tuple[MissingProgram, ...]
    places: dict[str, str]
    scratch: ScratchBackend | None  # how scratch copies of this workspace are made, and why
    skills: tuple[str, ...]  # what is wrong with files of skills; no safeguard depends on it
    ok: bool


class DoctorTarget(msgspec.Struct, frozen=True):
    """What is examined: the sandbox, the shell that uses it, and the real paths."""

    standings: SandboxChecker
    opening: ShellOpener
    places: AppPaths
    skill_problems: Callable[[], tuple[str, ...]] = lambda: ()
    shown: Callable[[], dict[bytes, str]] = dict  # what the user shows to commands, or why not
    scratch: Callable[[], ScratchBackend | None] = lambda: None


def doctor_target(folder: str = "") -> DoctorTarget:
    """Returns the target for the current user; `folder` is in the project whose skills count."""
    places = user_paths()
    standings = sandbox_checker_at(places.state)

    def opening(workspace: DoctorWorkspace) -> LocalReadOnlyShell:
        return open_shell_at(str(workspace.root), workspace.places, places.state)

    def shown() -> dict[bytes, str]:
        return open_process_at(folder or ".", places).chosen_paths()

    def scratch() -> ScratchBackend | None:
        try:
            return open_scratch(folder or ".").backend()
        except AssentError as error:  # such as a folder in which no program may run
            return ScratchBackend("none", error.message)

    problems = partial(skill_problems, folder)
    return DoctorTarget(standings, opening, places, problems, shown, scratch)


def run_doctor(
    patient: DoctorTarget, tell: ProgressCallback, *, strict: bool = False
) -> DoctorReport:
    """Runs every check in scratch folders; the user's own files are not touched."""
    tell("the sandbox")
    standing, sandbox = escape_checks(patient.standings)
    tell("limits")
    sandbox += limit_checks(patient.standings)
    sandbox += shown_checks(patient.shown())
    tell("the shell")
    shell = shell_checks(patient.opening, patient.standings.confinement)
    tell("scratch copies")
    copies = scratch_checks(partial(_copies, patient.places.state))
    checks = (*_engine_checks(tell), *shell, *sandbox, *copies)
    tell("versions")
    state, config = patient.places.state, patient.places.file
    return DoctorReport(
        checks,
        standing,
        versions(),
        missing_programs(),
        {"state": str(state), "configuration": str(config)},
        patient.scratch(),
        patient.skill_problems(),
        _is_ok(checks, strict=strict),
    )


def _copies(known: Path, workspace: DoctorWorkspace, only: ScratchBackendName) -> ScratchCopies:
    return open_scratch_at(str(workspace.root), workspace.places, known, only)


def _engine_checks(tell: ProgressCallback) -> Iterator[DoctorCheck]:
    for channel, rows in ENGINE.items():
        for name, (tried, check) in rows.items():
            tell(name)
            yield run_check(channel, name, tried, partial(_at_desk, check))


def _at_desk(check: Callable[[DoctorWorkspace], str]) -> str:
    with doctor_workspace() as workspace:
        return check(workspace)


def _is_ok(checks: Iterable[DoctorCheck], *, strict: bool) -> bool:
    bad = (
        {DoctorCheckResult.FAILED, DoctorCheckResult.ABSENT}
        if strict
        else {DoctorCheckResult.FAILED}
    )
    return not any(check.result in bad for check in checks)
