"""The standing: whether the sandbox holds on this machine, tested once a boot and remembered."""

import os
from collections.abc import Callable, Sequence
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
from assent.sandbox.running import bubblewrap
from assent.sandbox.running.tool import find_tool
from assent.sandbox.trial.attempts import Attempt, Proof
from assent.sandbox.trial.bait import Baiting
from assent.sandbox.trial.boundaries import QUICK, boundaries
from assent.sandbox.trial.canaries import Canaries
from assent.sandbox.trial.forbidden import hindrance
from assent.sandbox.trial.install import install
from assent.sandbox.trial.interpreter import COMMAND
from assent.sandbox.trial.kept import FILE, Kept, circumstances, keep, known
from assent.sandbox.trial.scratch import scratch
from assent.sandbox.trial.selftest import Confine, selftest
from assent.sandbox.trial.writing import writing

DOCTOR: Final = "assent doctor"

_NAMED: Final = 5
_BRIEFLY: Final = ProcessLimits(seconds=20)


class Standings:
    """Tells whether the sandbox holds. `folder` is the state folder, where the result is kept."""

    def __init__(
        self,
        folder: Path,
        confine: Callable[[bytes], Confine],
        baiting: Baiting | None = None,
        find: Callable[[], bytes | None] = find_tool,
        lacking: Callable[[], SandboxStatus | None] = bubblewrap.lacking,
    ) -> None:
        self._file = folder / FILE
        self._confine, self._baiting = confine, baiting
        self._writable: Callable[[bytes], Confine] | None = None
        self._tool = find()
        self._lacking = lacking
        self._found: SandboxStatus | None = None

    def with_writable(self, writable: Callable[[bytes], Confine]) -> Self:
        """Has the self-test also try what confines those who may write in the workspace."""
        self._writable = writable
        return self

    def cached(self) -> SandboxStatus | None:
        """Tells what the last self-test found, if it still counts, without making one."""
        if self._tool is None:
            return self._without()
        return known(self._file, self._tool)

    def status(self) -> SandboxStatus:
        """Tells whether the sandbox holds; makes the self-test unless its result is known."""
        if self._found is None:
            kept = self.cached()
            stands = (
                kept is not None and kept.hold is not SandboxState.NONE
            )  # what hindered may be gone
            self._found = kept if kept and stands else self.retest()[0]
        return self._found

    def retest(self) -> tuple[SandboxStatus, tuple[Attempt, ...]]:
        """Makes the self-test now, and remembers what it found; one that breaks is a no (law 9)."""
        try:
            self._found, attempts = self._tried()
        except Exception as error:
            words = f"The self-test of the sandbox failed: {type(error).__name__}: {error}."
            self._found, attempts = SandboxStatus(SandboxState.OFF, words, DOCTOR), ()
        return self._found, attempts

    def _tried(self) -> tuple[SandboxStatus, tuple[Attempt, ...]]:
        lack = self._without()
        if lack is not None or self._tool is None:
            return lack or SandboxStatus(SandboxState.NONE), ()
        confine = self._confine(self._tool)
        hindered = _hindered(confine)
        if hindered is not None:
            keep(self._file, Kept(circumstances(self._tool), hindered))
            return hindered, ()
        writings = writing(self._writable(self._tool)) if self._writable else ()
        attempts = (*selftest(confine, self._baiting), *boundaries(confine, QUICK), *writings)
        found = concluded(attempts)
        keep(self._file, Kept(circumstances(self._tool), found))
        return found, attempts

    def confinement(self) -> Confine | None:
        """Returns what confines a scratch workspace, if there is anything to confine it with."""
        if self._tool is None or self._lacking() or _hindered(self._confine(self._tool)):
            return None
        return self._confine(self._tool)

    def _without(self) -> SandboxStatus | None:
        """Tells why there can be no sandbox here, and how to get one."""
        lack = self._lacking()
        if lack is None or not lack.next:
            return lack
        return msgspec.structs.replace(lack, next=install("bubblewrap"))


def concluded(attempts: Sequence[Attempt]) -> SandboxStatus:
    """Draws the conclusion: one leak is enough, and so is a vital attempt that shows nothing."""
    leaks = [one.trial.tried for one in attempts if one.proof is Proof.LEAKED]
    if leaks or not attempts:
        what = "; ".join(leaks[:_NAMED]) or "nothing was tried"
        more = f"; and {len(leaks) - _NAMED} more" if len(leaks) > _NAMED else ""
        reason = f"The sandbox does not hold. From inside one can: {what}{more}."
        return SandboxStatus(SandboxState.OFF, reason, DOCTOR)
    unproven = [one for one in attempts if one.proof is Proof.UNPROVEN and one.trial.vital]
    if unproven:
        what, why = unproven[0].trial.tried, unproven[0].detail
        reason = f"The self-test of the sandbox shows nothing ({what}). {why}."
        return SandboxStatus(SandboxState.OFF, reason, DOCTOR)
    return SandboxStatus(SandboxState.HELD)


def _hindered(confine: Confine) -> SandboxStatus | None:
    """Starts something harmless inside; tells what is in the way if even that fails."""
    with scratch() as place:
        ground = Canaries(place, "", None).ground
        harmless = Program(tuple(map(os.fsencode, (*COMMAND, "-c", "print('here')"))))
        pieces = list(confine(ground)((harmless,), os.fsencode(ground.root), _BRIEFLY))
    said = b"".join(piece.content for piece in pieces if isinstance(piece, OutputChunk))
    if isinstance(pieces[-1], ProcessResult) and pieces[-1].code == 0 and said == b"here\n":
        return None
    return hindrance(said.decode("utf-8", "replace"))
