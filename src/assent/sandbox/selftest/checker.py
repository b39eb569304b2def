"""The sandbox checker: whether the sandbox works here, tested once per boot, or why not."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

import msgspec

from assent.core.shell.process import (
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.sandbox.profile.profile import ProfileBuilder, SandboxProfile
from assent.sandbox.runner import bubblewrap
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.selftest.canaries import PROGRAMS, Canaries, DecoyPlanMaker, SelfTestPaths
from assent.sandbox.selftest.escape_tests import EscapeOutcome, EscapeTestResult
from assent.sandbox.selftest.host_paths import COMMAND, interpreter_folders, private_folders
from assent.sandbox.selftest.limit_tests import QUICK, run_limit_tests
from assent.sandbox.selftest.selftest import ConfinementFactory, PipelineRunner, run_selftest
from assent.sandbox.selftest.write_tests import run_write_tests
from assent.sandbox.status import (
    FILE,
    CachedStatus,
    cache_key,
    cached_status,
    find_bwrap,
    install_command,
    write_status,
)
from assent.sandbox.temp_folder import temp_folder

# Kernel restrictions: why bubblewrap is here and cannot start, and what allows it.


class KernelRestriction(msgspec.Struct, frozen=True):
    """A setting that forbids what the sandbox needs, and the command that changes it."""

    file: str
    value: str
    words: str
    next: str


# The first that applies is named. An empty value means that the file's being there is enough.
KERNEL_RESTRICTIONS: Final = (
    KernelRestriction(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor blocks user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    KernelRestriction(
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "the system blocks user namespaces (kernel.unprivileged_userns_clone = 0)",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    KernelRestriction(
        "/proc/sys/user/max_user_namespaces",
        "0",
        "the system blocks user namespaces (user.max_user_namespaces = 0)",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    KernelRestriction(
        "/.dockerenv",
        "",
        "this is a container, and its engine may block namespaces; docker allows them with "
        "`--security-opt seccomp=unconfined --security-opt systempaths=unconfined`",
        "",
    ),
    KernelRestriction(
        "/run/.containerenv",
        "",
        "this is a container, and its engine may block namespaces; podman allows them with "
        "`--security-opt seccomp=unconfined --security-opt unmask=ALL`",
        "",
    ),
)
_LONGEST: Final = 300


def restricted_status(said: str, top: Path = Path("/")) -> SandboxStatus:
    """Returns the status of a machine where bubblewrap does not start, with its error."""
    words = " ".join(said.split())[:_LONGEST] or "no output"
    for one in KERNEL_RESTRICTIONS:
        if _applies(top / one.file.lstrip("/"), one.value):
            reason = f"bubblewrap cannot start here: {one.words}. Output: {words}"
            return SandboxStatus(SandboxState.NONE, reason, one.next)
    return SandboxStatus(
        SandboxState.NONE, f"bubblewrap cannot start here. Output: {words}", "assent doctor"
    )


def _applies(file: Path, value: str) -> bool:
    try:
        return not value or file.read_text("utf-8").strip() == value if file.exists() else False
    except OSError:
        return False


# How the self-test's own workspace is confined: like any other, and with Python in sight.


def bubblewrap_confinement(
    environment: Mapping[str, str], tool: bytes, *, writable: bool = False
) -> ConfinementFactory:
    """Returns the confinement of a scratch workspace, as a user's would be confined."""

    def confine(paths: SelfTestPaths) -> PipelineRunner:
        return BubblewrapRunner(profile_factory(environment, paths, writable=writable), tool).run

    return confine


def profile_factory(
    environment: Mapping[str, str], paths: SelfTestPaths, *, writable: bool = False
) -> Callable[[], SandboxProfile]:
    """Returns the profile factory of a scratch workspace; a folder there is in its PATH."""
    hidden = [os.fsencode(path) for path in (paths.state, paths.config)]
    programs = str(paths.home / os.path.basename(PROGRAMS))
    # The real home is as private here as the scratch one, should PATH name it.
    usual = [path for path in environment.get("PATH", "").split(":") if not _is_private(path)]
    context = {**environment, "PATH": ":".join([*usual, programs])}
    sight = ProfileBuilder(os.fsencode(paths.root), os.fsencode(paths.home), hidden, context)

    def profile() -> SandboxProfile:
        seen = sight.profile(writable=writable)
        more = [path for path in interpreter_folders() if path not in seen.shown]
        return msgspec.structs.replace(seen, shown=(*seen.shown, *more))

    return profile


def _is_private(path: str) -> bool:
    return os.path.realpath(path) in private_folders()


NOT_SAFE: Final = "The sandbox is not safe."
DOCTOR: Final = "assent doctor"

_NAMED: Final = 5
_BRIEFLY: Final = ProcessLimits(seconds=20)


class SandboxChecker:
    """Tells whether the sandbox works. `folder` is the state folder, where the result is kept."""

    def __init__(
        self,
        folder: Path,
        confine: Callable[[bytes], ConfinementFactory],
        baiting: DecoyPlanMaker | None = None,
        find: Callable[[], bytes | None] = find_bwrap,
        lacking: Callable[[], SandboxStatus | None] = bubblewrap.sandbox_unavailable,
    ) -> None:
        self._file = folder / FILE
        self._confine, self._baiting = confine, baiting
        self._writable: Callable[[bytes], ConfinementFactory] | None = None
        self._tool = find()
        self._lacking = lacking
        self._found: SandboxStatus | None = None

    def with_writable(self, writable: Callable[[bytes], ConfinementFactory]) -> Self:
        """Makes the self-test also try the confinement of commands that may write."""
        self._writable = writable
        return self

    def cached(self) -> SandboxStatus | None:
        """Returns the result of the last self-test, if it is still valid, without running one."""
        if self._tool is None:
            return self._without()
        return cached_status(self._file, self._tool)

    def status(self) -> SandboxStatus:
        """Tells whether the sandbox works; runs the self-test unless its result is known."""
        if self._found is None:
            kept = self.cached()
            stands = (
                kept is not None and kept.hold is not SandboxState.NONE
            )  # what hindered may be gone
            self._found = kept if kept and stands else self.retest()[0]
        return self._found

    def retest(self) -> tuple[SandboxStatus, tuple[EscapeTestResult, ...]]:
        """Runs the self-test now, and stores the result; one that breaks has failed (law 9)."""
        try:
            self._found, attempts = self._tried()
        except Exception as error:
            words = f"The sandbox self-test failed: {type(error).__name__}: {error}."
            self._found, attempts = SandboxStatus(SandboxState.OFF, words, DOCTOR), ()
        return self._found, attempts

    def _tried(self) -> tuple[SandboxStatus, tuple[EscapeTestResult, ...]]:
        lack = self._without()
        if lack is not None or self._tool is None:
            return lack or SandboxStatus(SandboxState.NONE), ()
        confine = self._confine(self._tool)
        hindered = _hindered(confine)
        if hindered is not None:
            write_status(self._file, CachedStatus(cache_key(self._tool), hindered))
            return hindered, ()
        writings = run_write_tests(self._writable(self._tool)) if self._writable else ()
        attempts = (
            *run_selftest(confine, self._baiting),
            *run_limit_tests(confine, QUICK),
            *writings,
        )
        found = status_from_results(attempts)
        write_status(self._file, CachedStatus(cache_key(self._tool), found))
        return found, attempts

    def confinement(self) -> ConfinementFactory | None:
        """Returns the confinement of a scratch workspace, if one is possible."""
        if self._tool is None or self._lacking() or _hindered(self._confine(self._tool)):
            return None
        return self._confine(self._tool)

    def _without(self) -> SandboxStatus | None:
        """Tells why there can be no sandbox here, and how to get one."""
        lack = self._lacking()
        if lack is None or not lack.next:
            return lack
        return msgspec.structs.replace(lack, next=install_command("bubblewrap"))


def status_from_results(attempts: Sequence[EscapeTestResult]) -> SandboxStatus:
    """Draws the conclusion: one leak fails, and so does a vital attempt that proves nothing."""
    leaks = [one.trial.tried for one in attempts if one.proof is EscapeOutcome.LEAKED]
    if leaks or not attempts:
        what = "; ".join(leaks[:_NAMED]) or "nothing was tried"
        more = f"; and {len(leaks) - _NAMED} more" if len(leaks) > _NAMED else ""
        reason = f"{NOT_SAFE} A program inside it can: {what}{more}."
        return SandboxStatus(SandboxState.OFF, reason, DOCTOR)
    unproven = [one for one in attempts if one.proof is EscapeOutcome.UNPROVEN and one.trial.vital]
    if unproven:
        what, why = unproven[0].trial.tried, unproven[0].detail
        reason = f"The sandbox self-test is inconclusive ({what}). {why}."
        return SandboxStatus(SandboxState.OFF, reason, DOCTOR)
    return SandboxStatus(SandboxState.HELD)


def _hindered(confine: ConfinementFactory) -> SandboxStatus | None:
    """Starts something harmless inside; tells what is in the way if even that fails."""
    with temp_folder() as place:
        paths = Canaries(place, "", None).ground
        harmless = Program(tuple(map(os.fsencode, (*COMMAND, "-c", "print('here')"))))
        pieces = list(confine(paths)((harmless,), os.fsencode(paths.root), _BRIEFLY))
    said = b"".join(piece.content for piece in pieces if isinstance(piece, OutputChunk))
    if isinstance(pieces[-1], ProcessResult) and pieces[-1].code == 0 and said == b"here\n":
        return None
    return restricted_status(said.decode("utf-8", "replace"))
