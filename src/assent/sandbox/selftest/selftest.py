"""The self-test: really tries to break out of a confinement, and evaluates the results.

Every attempt that can work at all is also made without the confinement, on other canaries: one that
fails there, too, proves nothing. An answer that is missing or invalid counts as a leak.
"""

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from assent.core.decoding import decode_json
from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program
from assent.sandbox.selftest.canaries import Canaries, DecoyPlanMaker, SelfTestPaths
from assent.sandbox.selftest.escape_tests import (
    APPROVE,
    ESCAPE_TESTS,
    UNCHANGED,
    EscapeOutcome,
    EscapeTest,
    EscapeTestResult,
)
from assent.sandbox.selftest.host_paths import ASSENT, PROBE, host_paths, private_folders
from assent.sandbox.selftest.targets import (
    VARIABLE,
    Bystander,
    IpcObjects,
    Listeners,
    bystander,
    ipc_objects,
    listeners,
    planted_key,
)
from assent.sandbox.temp_folder import temp_folder

# The probe environment: canaries, what watches them, and what a probe did among them.


LIMITS: Final = ProcessLimits(seconds=30, output=1 << 20)

PipelineRunner: TypeAlias = Callable[
    [Sequence[Program], bytes, ProcessLimits], Iterator[OutputChunk | ProcessResult]
]


class ProbeClaim(msgspec.Struct, frozen=True):
    """What the probe reports about one attempt, or at the end how many it made."""

    name: str = ""
    worked: bool = False
    broken: bool = False
    absent: bool = False
    detail: str = ""
    answers: int = -1


class ProbeObservation(msgspec.Struct, frozen=True):
    """The result of one probe: what it reported, and what was seen from outside."""

    said: Mapping[str, ProbeClaim]
    traces: frozenset[str]
    trouble: str = ""


class ProbeTargets(msgspec.Struct, frozen=True):
    """Everything outside the sandbox that must not be reached: listeners, a process, its queues."""

    ears: Listeners
    other: Bystander
    queues: IpcObjects


class ProbeEnvironment:
    """The canaries, and everything that watches them."""

    def __init__(
        self, canaries: Canaries, watch: ProbeTargets, trials: Sequence[EscapeTest]
    ) -> None:
        self.canaries = canaries
        self._ears, self._other, self._queues = watch.ears, watch.other, watch.queues
        self._trials = trials
        self._before = canaries.place.seen()

    def confined(self, runner: PipelineRunner) -> ProbeObservation:
        """Makes a runner run the probe, from a process that has things to leak."""
        root = os.fsencode(self.canaries.ground.root)
        try:
            with _variable(self.canaries.token), self._leftovers():
                pieces = list(runner((self._program(),), root, LIMITS))
        except OSError as error:
            return self._seen(f"The probe could not be started: {error}.")
        chunks = [piece for piece in pieces if isinstance(piece, OutputChunk)]
        output = b"".join(piece.content for piece in chunks if not piece.error)
        return self._seen(_read(output, b"".join(piece.content for piece in chunks if piece.error)))

    @contextmanager
    def unconfined(self) -> Iterator[Callable[[], ProbeObservation]]:
        """Starts the probe without confinement; yields a function that waits for its answers."""
        with self._leftovers() as left:
            process = subprocess.Popen(
                self._program().argv,
                cwd=self.canaries.ground.root,
                env={**os.environ, VARIABLE: self.canaries.token},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[left],
                start_new_session=True,
            )
        with process:
            try:
                yield lambda: self._seen(_waited(process))
            finally:
                process.kill()

    @contextmanager
    def _leftovers(self) -> Iterator[int]:
        """Leaves a descriptor open that a careless start would pass on."""
        folder = os.open(self.canaries.ground.home, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.set_inheritable(folder, True)
            yield folder
        finally:
            os.close(folder)

    def _seen(self, answers: str | dict[str, ProbeClaim]) -> ProbeObservation:
        """Looks from outside at what the probe left."""
        traces = {*self.canaries.made(), *self._ears.connections(), *self._other.signalled()}
        if self.canaries.place.seen() != self._before:
            traces.add(UNCHANGED.name)
        if self.canaries.bait and self.canaries.bait.approved():
            traces.add(APPROVE.name)
        if isinstance(answers, str):
            return ProbeObservation({}, frozenset(traces), answers)
        return ProbeObservation(answers, frozenset(traces))

    def _program(self) -> Program:
        """Returns the probe, with the request that it answers."""
        return Program(tuple(map(os.fsencode, (*PROBE, self._request()))))

    def _request(self) -> str:
        site, bait = self.canaries, self.canaries.bait
        approve = [*ASSENT, "-C", str(site.ground.root), "approve", "--digest"]
        asked = {
            "workspace": str(site.ground.root),
            "names": [trial.name for trial in self._trials if trial is not UNCHANGED],
            "outside": {name: str(path) for name, path in site.outside.items()},
            "secrets": {
                **{name: str(path) for name, path in (*site.secrets.items(), *site.pipes.items())},
                "keyring": _key_name(site.token),
                "posix_queue": _key_name(site.token),
            },
            "digests": site.digests(),
            "ports": self._ears.ports,
            "sockets": {
                **{name: str(path) for name, path in site.sockets.items()},
                "abstract": _key_name(site.token),
            },
            "pid": self._other.pid,
            "address": self._other.address,
            "descriptor": self._other.descriptor,
            "places": host_paths(),
            "folders": private_folders(),
            "shared_memory": self._queues.shared_memory,
            "message_queue": self._queues.message_queue,
            "approve": [*approve, bait.digest] if bait else [],
            "environment": dict(bait.environment) if bait else {},
        }
        return msgspec.json.encode(asked).decode()


@contextmanager
def probe_environment(
    trials: Sequence[EscapeTest], baiting: DecoyPlanMaker | None, folder: Path | None
) -> Iterator[ProbeEnvironment]:
    """Prepares everything for one probe, and always removes it afterwards."""
    token = secrets.token_hex(32)
    with ExitStack() as stack:
        canaries = Canaries(stack.enter_context(temp_folder(folder)), token, baiting)
        name = _key_name(token)
        watch = ProbeTargets(
            stack.enter_context(listeners(canaries.sockets, canaries.pipes, name)),
            stack.enter_context(bystander(token)),
            stack.enter_context(ipc_objects(name, token)),
        )
        stack.enter_context(planted_key(name, token))
        yield ProbeEnvironment(canaries, watch, trials)


def _key_name(token: str) -> str:
    return f"assent-{token[-12:]}"


@contextmanager
def _variable(token: str) -> Iterator[None]:
    """Sets a variable that a careless start would pass on."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = token
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


def _waited(process: "subprocess.Popen[bytes]") -> str | dict[str, ProbeClaim]:
    try:
        output, errors = process.communicate(timeout=LIMITS.seconds)
    except subprocess.TimeoutExpired:
        return "The probe timed out."
    return _read(output, errors)


def _read(output: bytes, errors: bytes) -> str | dict[str, ProbeClaim]:
    """Reads the probe's answers, or says why they cannot be used."""
    try:
        *answers, last = [decode_json(line, ProbeClaim) for line in output.splitlines()]
    except (ValueError, msgspec.MsgspecError):
        words = errors.decode("utf-8", "replace").strip()[-300:]
        return f"The probe's output is incomplete: {words or 'it said nothing'}"
    if last.answers != len(answers):
        return "The probe's output was cut off."
    return {answer.name: answer for answer in answers}


ConfinementFactory: TypeAlias = Callable[
    [SelfTestPaths], PipelineRunner
]  # a runner for one workspace and its person


def run_selftest(
    confine: ConfinementFactory, baiting: DecoyPlanMaker | None = None, folder: Path | None = None
) -> tuple[EscapeTestResult, ...]:
    """Makes every attempt inside and outside a confinement, and evaluates each."""
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
    """Decides what an attempt showed; anything unclear counts against the confinement."""
    wrong = _wrong(trial, confined)
    if wrong:
        return EscapeTestResult(trial, EscapeOutcome.LEAKED, wrong)
    said = confined.said.get(trial.name)
    if said and said.absent:
        return EscapeTestResult(trial, EscapeOutcome.UNPROVEN, "Nothing to test here.")
    if trial.control and not _proven(trial, control):
        return EscapeTestResult(trial, EscapeOutcome.UNPROVEN, _why_unproven(trial, control))
    told = said.detail if said and not said.worked else "no effect outside was seen"
    return EscapeTestResult(trial, EscapeOutcome.HELD, told)


def _wrong(trial: EscapeTest, confined: ProbeObservation) -> str:
    """Says what speaks against the confinement, if anything does."""
    if confined.trouble:
        return confined.trouble
    if trial.name in confined.traces:
        return "It worked: its effect was seen from outside."
    if trial is UNCHANGED:
        return ""
    said = confined.said.get(trial.name)
    if said is None:
        return "The probe did not report a result."
    if said.broken:
        return f"The test could not run: {said.detail}"
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
    why = control.trouble or (said.detail if said else "") or "no effect was seen"
    return f"It also fails without a sandbox: {why}"
