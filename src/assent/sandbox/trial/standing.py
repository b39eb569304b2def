"""The standing: whether the sandbox holds on this machine, tested once a boot and remembered."""

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

import assent
from assent.core.process import Chunk, Ended, Hold, Limits, Program, Standing
from assent.sandbox.running import bubblewrap
from assent.sandbox.trial.attempts import Attempt, Proof
from assent.sandbox.trial.bait import Baiting
from assent.sandbox.trial.boundaries import QUICK, boundaries
from assent.sandbox.trial.canaries import Canaries
from assent.sandbox.trial.forbidden import hindrance
from assent.sandbox.trial.install import install
from assent.sandbox.trial.interpreter import COMMAND
from assent.sandbox.trial.scratch import scratch
from assent.sandbox.trial.selftest import Confine, selftest

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
FILE: Final = "sandbox.json"
DOCTOR: Final = "assent doctor"

_LARGEST: Final = 1 << 16
_NAMED: Final = 5
_BRIEFLY: Final = Limits(seconds=20)


class Finding(msgspec.Struct, frozen=True):
    """What is remembered of a self-test: under which circumstances, and what it found."""

    key: str
    standing: Standing


class Standings:
    """Tells whether the sandbox holds. `folder` is the state folder, where the result is kept."""

    def __init__(
        self,
        folder: Path,
        confine: Callable[[bytes], Confine],
        baiting: Baiting | None = None,
        find: Callable[[], bytes | None] = bubblewrap.find,
        lacking: Callable[[], Standing | None] = bubblewrap.lacking,
    ) -> None:
        self._file = folder / FILE
        self._confine, self._baiting = confine, baiting
        self._tool = find()
        self._lacking = lacking
        self._found: Standing | None = None

    def known(self) -> Standing | None:
        """Tells what the last self-test found, if it still counts, without making one."""
        if self._tool is None:
            return self._without()
        kept = _kept(self._file)
        return kept.standing if kept and kept.key == circumstances(self._tool) else None

    def standing(self) -> Standing:
        """Tells whether the sandbox holds; makes the self-test unless its result is known."""
        if self._found is None:
            known = self.known()
            stands = known is not None and known.hold is not Hold.NONE  # what hindered may be gone
            self._found = known if known and stands else self.fresh()[0]
        return self._found

    def fresh(self) -> tuple[Standing, tuple[Attempt, ...]]:
        """Makes the self-test now, and remembers what it found; one that breaks is a no (law 9)."""
        try:
            self._found, attempts = self._tried()
        except Exception as error:
            words = f"The self-test of the sandbox failed: {type(error).__name__}: {error}."
            self._found, attempts = Standing(Hold.OFF, words, DOCTOR), ()
        return self._found, attempts

    def _tried(self) -> tuple[Standing, tuple[Attempt, ...]]:
        lack = self._without()
        if lack is not None or self._tool is None:
            return lack or Standing(Hold.NONE), ()
        confine = self._confine(self._tool)
        hindered = _hindered(confine)
        if hindered is not None:
            _keep(self._file, Finding(circumstances(self._tool), hindered))
            return hindered, ()
        attempts = (*selftest(confine, self._baiting), *boundaries(confine, QUICK))
        found = concluded(attempts)
        _keep(self._file, Finding(circumstances(self._tool), found))
        return found, attempts

    def confinement(self) -> Confine | None:
        """Returns what confines a scratch workspace, if there is anything to confine it with."""
        if self._tool is None or self._lacking() or _hindered(self._confine(self._tool)):
            return None
        return self._confine(self._tool)

    def _without(self) -> Standing | None:
        """Tells why there can be no sandbox here, and how to get one."""
        lack = self._lacking()
        if lack is None or not lack.next:
            return lack
        return msgspec.structs.replace(lack, next=install("bubblewrap"))


def concluded(attempts: Sequence[Attempt]) -> Standing:
    """Draws the conclusion: one leak is enough, and so is a vital attempt that shows nothing."""
    leaks = [one.trial.tried for one in attempts if one.proof is Proof.LEAKED]
    if leaks or not attempts:
        what = "; ".join(leaks[:_NAMED]) or "nothing was tried"
        more = f"; and {len(leaks) - _NAMED} more" if len(leaks) > _NAMED else ""
        reason = f"The sandbox does not hold. From inside one can: {what}{more}."
        return Standing(Hold.OFF, reason, DOCTOR)
    unproven = [one for one in attempts if one.proof is Proof.UNPROVEN and one.trial.vital]
    if unproven:
        what, why = unproven[0].trial.tried, unproven[0].detail
        reason = f"The self-test of the sandbox shows nothing ({what}). {why}."
        return Standing(Hold.OFF, reason, DOCTOR)
    return Standing(Hold.HELD)


def circumstances(tool: bytes) -> str:
    """Returns a name for all that the result of a self-test depends on."""
    with suppress(OSError):
        found = os.stat(tool)
        facts = (
            BOOT.read_text("utf-8"), assent.__version__, _source(), os.fsdecode(tool),
            found.st_size, found.st_mtime_ns, os.uname().release, os.uname().machine, os.geteuid(),
            _surroundings(),
        )  # fmt: skip
        return sha256(repr(facts).encode()).hexdigest()
    return ""


def _surroundings() -> tuple[object, ...]:
    """Returns what a container, or whoever started this process, may forbid it and allow others."""
    namespaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("user", "mnt", "pid")]
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    rights = [line for line in status if line.startswith(("Cap", "NoNewPrivs", "Seccomp"))]
    return (*namespaces, *rights)


@cache
def _source() -> str:
    """Returns the digest of the sandbox's own code, all of it."""
    whole = sha256()
    package = os.path.dirname(os.path.dirname(__file__))
    for folder, _, names in sorted(os.walk(package)):
        for name in sorted(name for name in names if name.endswith(".py")):
            with open(os.path.join(folder, name), "rb", buffering=0) as file:
                whole.update(file.read())
    return whole.hexdigest()


def _hindered(confine: Confine) -> Standing | None:
    """Starts something harmless inside; tells what is in the way if even that fails."""
    with scratch() as place:
        ground = Canaries(place, "", None).ground
        harmless = Program(tuple(map(os.fsencode, (*COMMAND, "-c", "print('here')"))))
        pieces = list(confine(ground)((harmless,), os.fsencode(ground.root), _BRIEFLY))
    said = b"".join(piece.content for piece in pieces if isinstance(piece, Chunk))
    if isinstance(pieces[-1], Ended) and pieces[-1].code == 0 and said == b"here\n":
        return None
    return hindrance(said.decode("utf-8", "replace"))


def _kept(file: Path) -> Finding | None:
    """Reads what was remembered; what others could have written does not count."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(opened)
        private = not stat.S_IMODE(found.st_mode) & 0o077 and found.st_uid == os.geteuid()
        if not stat.S_ISREG(found.st_mode) or not private or found.st_size > _LARGEST:
            return None
        return msgspec.json.decode(os.read(opened, _LARGEST), type=Finding)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    finally:
        os.close(opened)


def _keep(file: Path, tested: Finding) -> None:
    """Remembers a result; where that is not possible, the next call tests again."""
    young = file.with_name(f"{file.name}.{os.urandom(8).hex()}")
    with suppress(OSError):
        os.makedirs(file.parent, 0o700, exist_ok=True)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(young, flags, 0o600), "wb") as opened:
                opened.write(msgspec.json.encode(tested))
            os.replace(young, file)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(young)
