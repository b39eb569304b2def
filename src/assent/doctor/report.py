"""The report: makes every check, and puts together what a person should know about this machine."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from assent.agent.read_only_shell import LocalReadOnlyShell
from assent.app.settings import user_paths
from assent.app.shell import open_shell_at, sandbox_checker_at
from assent.config.paths import AppPaths
from assent.core.shell.process import SandboxStatus
from assent.doctor.approvals import CHECKS
from assent.doctor.check import Check, Result, made
from assent.doctor.confinement import escapes, limits
from assent.doctor.desk import Desk, desk
from assent.doctor.paths import PATHS, UNDO
from assent.doctor.shell import Opening, shell_checks
from assent.sandbox.trial.machine import Missing, missing, versions
from assent.sandbox.trial.standing import Standings

ENGINE = {"approval": CHECKS, "paths": PATHS, "undo": UNDO}

Tell = Callable[[str], None]  # what is being checked right now


class Report(msgspec.Struct, frozen=True):
    """What the doctor found. `ok`: nothing failed, and strictly: nothing was missing either."""

    checks: tuple[Check, ...]
    standing: SandboxStatus
    versions: dict[str, str]
    missing: tuple[Missing, ...]
    places: dict[str, str]
    ok: bool


class Patient(msgspec.Struct, frozen=True):
    """What is examined: the sandbox, the shell that uses it, and where things really lie."""

    standings: Standings
    opening: Opening
    places: AppPaths


def this_machine() -> Patient:
    """Returns the patient that the person means."""
    places = user_paths()
    standings = sandbox_checker_at(places.state)

    def opening(place: Desk) -> LocalReadOnlyShell:
        return open_shell_at(str(place.root), place.places, places.state)

    return Patient(standings, opening, places)


def examine(patient: Patient, tell: Tell, *, strict: bool = False) -> Report:
    """Makes every check in scratch folders; the person's own files are not touched."""
    tell("the sandbox")
    standing, sandbox = escapes(patient.standings)
    tell("limits")
    sandbox += limits(patient.standings)
    tell("the shell")
    shell = shell_checks(patient.opening, patient.standings.confinement)
    checks = (*_engine_checks(tell), *shell, *sandbox)
    tell("versions")
    state, config = patient.places.state, patient.places.file
    return Report(
        checks,
        standing,
        versions(),
        missing(),
        {"state": str(state), "configuration": str(config)},
        _is_ok(checks, strict=strict),
    )


def _engine_checks(tell: Tell) -> Iterator[Check]:
    for channel, rows in ENGINE.items():
        for name, (tried, check) in rows.items():
            tell(name)
            yield made(channel, name, tried, partial(_at_desk, check))


def _at_desk(check: Callable[[Desk], str]) -> str:
    with desk() as place:
        return check(place)


def _is_ok(checks: Iterable[Check], *, strict: bool) -> bool:
    bad = {Result.FAILED, Result.ABSENT} if strict else {Result.FAILED}
    return not any(check.result in bad for check in checks)
