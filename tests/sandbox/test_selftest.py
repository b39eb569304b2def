"""The self-test: what holds is said to hold, every hole is found, and silence is no proof."""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.sandbox.leaky_sandboxes import (
    Less,
    answering,
    changing,
    confined,
    holed,
    names,
    real_tool,
    seeing,
    unconfined,
)

from assent.app.shell import make_decoy_plan
from assent.core.shell.process import (
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
)
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.runner.seccomp import is_supported, seccomp_filter
from assent.sandbox.selftest.canaries import SelfTestPaths
from assent.sandbox.selftest.checker import status_from_results
from assent.sandbox.selftest.escape_tests import APPROVE, ESCAPE_TESTS, UNCHANGED, EscapeOutcome
from assent.sandbox.selftest.host_paths import COMMAND
from assent.sandbox.selftest.limit_tests import FORK, QUICK, run_limit_tests
from assent.sandbox.selftest.selftest import (
    PipelineRunner,
    ProbeClaim,
    ProbeObservation,
    evaluate_attempt,
    run_selftest,
)

TRIES = 10
EVERYTHING = {trial.name for trial in (*ESCAPE_TESTS, APPROVE, UNCHANGED)}

MACHINE = os.uname().machine

# A machine may lack IPv6, attributes in its temporary folder, keyrings, queues, other kinds of
# calls or daemons; it may let nobody type; and who is not root may change no device.
OPTIONAL = {
    "tcp6", "setxattr", "keyring", "key_names", "shared_memory", "message_queue", "posix_queue",
    "i386", "type", "daemons", "device_mode", "machine_secrets",
    *(() if MACHINE == "x86_64" else ("x32",)),
}  # fmt: skip

UNFILTERED = {"socket_in_tool", "datagram_by_pair", "families", "refused_calls", "device_mode"}

HOLES: dict[str, tuple[Less, set[str]]] = {
    "network": (Less(flags=("--unshare-net",)), {"tcp", "tcp6", "udp"}),
    "network and filter": (
        Less(flags=("--unshare-net",), options=("--seccomp",)),
        {"tcp", "tcp6", "udp", "abstract_socket"},
    ),
    "processes": (Less(flags=("--unshare-pid",)), {"signal"}),
    "queues": (
        Less(flags=("--unshare-ipc",)),
        {"shared_memory", "message_queue", "posix_queue"},
    ),
    "workspace": (
        Less(writable="/workspace$"),
        {"create", "overwrite", "delete", "rename", "unchanged"},
    ),
    "system": (Less(writable="^/usr$"), {"write_system"}),
    "etc": (Less(writable="^/etc/"), {"write_etc"}),
    "programs": (Less(writable="/home/programs$"), {"write_programs", "unchanged"}),
    "toolchain": (Less(writable="/home/[.]pyenv$"), {"write_tool", "unchanged"}),
    "repository": (Less(writable="/repository[.]git$"), {"write_repository", "unchanged"}),
    "unmasked": (
        Less(unmasked="/(?:workspace|home)/"),
        {"read_env_file", "read_tool_secret", "pipe_in_workspace", "pipe_in_tool"},
    ),
    "unmasked and unfiltered": (
        Less(unmasked=".", options=("--seccomp",)),
        {"read_env_file", "socket_in_workspace", "key_names", "keyring"},
    ),
    "names of keys": (Less(unmasked="^/proc/"), {"key_names"}),
    "filter": (Less(options=("--seccomp",)), {*UNFILTERED, "keyring", "i386"}),
}

if is_supported(MACHINE):
    for_builds = seccomp_filter(MACHINE, writable=True)
    HOLES["filter of a build"] = (Less(filter=for_builds), UNFILTERED)

if os.geteuid() == 0:  # only root has capabilities that could be kept
    HOLES["capabilities"] = (
        Less(flags=("--disable-userns",), options=("--cap-drop", "--seccomp")),
        {"capabilities", "remount", "unmask", "mount", "chroot", "new_namespace"},
    )


def shown_too(*more: bytes) -> Callable[[SandboxProfile], SandboxProfile]:
    return lambda usual: msgspec.structs.replace(usual, shown=(*usual.shown, *more))


def beside(usual: SandboxProfile) -> SandboxProfile:
    return shown_too(os.path.dirname(usual.root) + b"/beside")(usual)


def unhidden(word: bytes) -> Callable[[SandboxProfile], SandboxProfile]:
    def change(usual: SandboxProfile) -> SandboxProfile:
        masks = tuple(mask for mask in usual.masks if word not in mask)
        assert masks != usual.masks
        return msgspec.structs.replace(usual, masks=masks)

    return change


VIEWS: dict[str, tuple[Callable[[SandboxProfile], SandboxProfile], str]] = {
    "beside": (beside, "read_beside"),
    "var": (shown_too(b"/var"), "look_around"),
    "etc": (shown_too(b"/etc"), "look_around"),
    "credentials": (unhidden(b"/.dotnet/corefx"), "read_credential"),
    "secrets of tools": (unhidden(b"/.pyenv/.env"), "read_tool_secret"),
    "pipes of tools": (unhidden(b"/.pyenv/service.pipe"), "pipe_in_tool"),
    "state": (unhidden(b"/private/state"), "read_key"),
}


def test_g13_nothing_gets_out_of_the_sandbox(tmp_path: Path) -> None:
    attempts = run_selftest(confined(), make_decoy_plan, tmp_path)
    assert names(attempts, EscapeOutcome.LEAKED) == set()
    assert names(attempts, EscapeOutcome.HELD) >= EVERYTHING - OPTIONAL
    assert status_from_results(attempts).hold is SandboxState.HELD
    assert list(tmp_path.iterdir()) == []


def test_g13_without_a_sandbox_everything_ordinary_works(tmp_path: Path) -> None:
    attempts = run_selftest(unconfined, make_decoy_plan, tmp_path)
    ordinary = {trial.name for trial in (*ESCAPE_TESTS, APPROVE, UNCHANGED) if trial.control}
    # Even a plain start hands on neither variables nor descriptors.
    leaked = names(attempts, EscapeOutcome.LEAKED)
    assert leaked >= ordinary - OPTIONAL - {"descriptors", "variable"}
    standing = status_from_results(attempts)
    assert standing.hold is SandboxState.OFF
    assert "create a file; overwrite a file" in standing.reason
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("hole", HOLES)
def test_g13_every_hole_is_found(tmp_path: Path, hole: str) -> None:
    less, expected = HOLES[hole]
    attempts = run_selftest(holed(tmp_path, less))
    leaked = names(attempts, EscapeOutcome.LEAKED)
    assert leaked >= expected - names(attempts, EscapeOutcome.UNPROVEN)
    assert leaked < EVERYTHING
    assert status_from_results(attempts).hold is SandboxState.OFF


@pytest.mark.parametrize("view", VIEWS)
def test_g13_whatever_is_shown_too_much_is_found(view: str) -> None:
    change, expected = VIEWS[view]
    attempts = run_selftest(seeing(change))
    assert expected in names(attempts, EscapeOutcome.LEAKED)
    assert status_from_results(attempts).hold is SandboxState.OFF


def test_g13_inherited_descriptors_and_variables_are_found() -> None:
    def careless(_: SelfTestPaths) -> PipelineRunner:
        def run(
            pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
        ) -> Iterator[OutputChunk | ProcessResult]:
            done = subprocess.run(
                pipeline[0].argv, cwd=folder, capture_output=True, close_fds=False, check=False
            )
            yield OutputChunk(done.stdout)
            yield ProcessResult(done.returncode)

        return run

    assert names(run_selftest(careless), EscapeOutcome.LEAKED) >= {
        "descriptors",
        "variable",
        "create",
    }


@pytest.mark.parametrize(
    "pieces",
    [
        (ProcessResult(0),),
        (ProcessResult(126, "start"),),
        (OutputChunk(b""), ProcessResult(1)),
        (OutputChunk(b"hello\n"), ProcessResult(0)),
        (OutputChunk(b"{}\n"), ProcessResult(0)),
        (OutputChunk(b"[]\n{"), ProcessResult(0)),
        (OutputChunk(b'{"name": "create", "worked": false}\n'), ProcessResult(0)),
        (OutputChunk(b'{"answers": 0}\n'), ProcessResult(0)),
        (OutputChunk(b'{"answers": 5}\n'), ProcessResult(0)),
        (OutputChunk(b'{"answers": 0}\n', error=True), ProcessResult(0)),
    ],
)
def test_a_probe_that_does_not_answer_properly_shows_that_nothing_holds(
    pieces: tuple[OutputChunk | ProcessResult, ...],
) -> None:
    attempts = run_selftest(answering(*pieces))
    assert names(attempts, EscapeOutcome.LEAKED) >= EVERYTHING - {"approve", "unchanged"}
    assert status_from_results(attempts).hold is SandboxState.OFF


def test_an_answer_that_lacks_one_attempt_is_no_proof() -> None:
    def one_less(output: bytes) -> bytes:
        lines = [line for line in output.splitlines() if b'"tcp"' not in line]
        return b"\n".join([*lines[:-1], b'{"answers": %d}' % (len(lines) - 1)])

    attempts = run_selftest(changing(confined(), one_less))
    assert names(attempts, EscapeOutcome.LEAKED) == {"tcp"}


def test_an_answer_that_was_cut_is_no_proof() -> None:
    attempts = run_selftest(changing(confined(), lambda output: output[: len(output) // 2]))
    assert names(attempts, EscapeOutcome.LEAKED) == EVERYTHING - {"approve"}


def test_what_is_seen_from_outside_counts_more_than_what_the_probe_says(tmp_path: Path) -> None:
    def liar(output: bytes) -> bytes:
        return output.replace(b'"worked": true', b'"worked": false')

    leaked = names(
        run_selftest(changing(unconfined, liar), make_decoy_plan, tmp_path), EscapeOutcome.LEAKED
    )
    seen = {"unchanged", "approve", "tcp", "udp", "socket_in_workspace", "socket_outside"}
    assert leaked >= seen | {"abstract_socket", "write_home", "write_state", "write_temporary"}
    assert leaked >= {"signal", "signal_by_descriptor", "signal_by_pipe"}


def test_an_attempt_that_fails_without_a_sandbox_too_shows_nothing() -> None:
    trial = next(trial for trial in ESCAPE_TESTS if trial.name == "tcp")
    failed = ProbeClaim("tcp", detail="Network is down")
    worked = ProbeClaim("tcp", worked=True)
    inside = ProbeObservation({"tcp": failed}, frozenset())
    proofs = [
        evaluate_attempt(
            trial, inside, ProbeObservation({"tcp": answer} if answer else {}, frozenset(), trouble)
        ).proof
        for answer, trouble in ((worked, ""), (failed, ""), (None, ""), (None, "It broke."))
    ]
    assert proofs == [EscapeOutcome.HELD, *[EscapeOutcome.UNPROVEN] * 3]


def test_an_attempt_with_nothing_to_try_it_on_shows_nothing() -> None:
    trial = next(trial for trial in ESCAPE_TESTS if trial.name == "daemons")
    absent = ProbeObservation({"daemons": ProbeClaim("daemons", absent=True)}, frozenset())
    found = evaluate_attempt(trial, absent, ProbeObservation({}, frozenset()))
    assert (found.proof, found.detail) == (EscapeOutcome.UNPROVEN, "Nothing to test here.")


def test_a_vital_attempt_that_shows_nothing_turns_the_shell_off() -> None:
    trial = next(trial for trial in ESCAPE_TESTS if trial.name == "tcp")
    nothing = evaluate_attempt(
        trial,
        ProbeObservation({"tcp": ProbeClaim("tcp")}, frozenset()),
        ProbeObservation({}, frozenset()),
    )
    assert trial.vital
    assert status_from_results([nothing]).hold is SandboxState.OFF
    assert status_from_results([]).hold is SandboxState.OFF


def test_an_attempt_that_breaks_is_no_proof() -> None:
    trial = next(trial for trial in ESCAPE_TESTS if trial.name == "tcp")
    broken = ProbeObservation(
        {"tcp": ProbeClaim("tcp", broken=True, detail="NameError")}, frozenset()
    )
    found = evaluate_attempt(
        trial, broken, ProbeObservation({"tcp": ProbeClaim("tcp", worked=True)}, frozenset())
    )
    assert (found.proof, found.detail) == (
        EscapeOutcome.LEAKED,
        "The test could not run: NameError",
    )


def test_the_boundaries_of_a_call_hold() -> None:
    real_tool()
    found = {one.trial.name: (one.proof, one.detail) for one in run_limit_tests(confined())}
    assert set(found.values()) == {(EscapeOutcome.HELD, "")}


def test_g13_a_process_that_lives_on_is_found() -> None:
    leaked = names(run_limit_tests(unconfined), EscapeOutcome.LEAKED)
    for _ in range(TRIES):  # on a busy machine it may be cut before it has left anybody
        if "left_when_cut" in leaked:
            break
        leaked |= names(run_limit_tests(unconfined, ["left_when_cut"]), EscapeOutcome.LEAKED)
    assert leaked == {"left_behind", "left_when_cut"}
    assert status_from_results(run_limit_tests(unconfined, QUICK)).hold is SandboxState.OFF


def test_g13_a_sandbox_that_leaves_processes_behind_is_found(tmp_path: Path) -> None:
    less = Less(flags=("--unshare-pid", "--die-with-parent"))
    attempts = run_limit_tests(holed(tmp_path, less), QUICK)
    assert names(attempts, EscapeOutcome.LEAKED) == {"left_behind"}
    assert status_from_results(attempts).hold is SandboxState.OFF


def test_children_that_no_sandbox_ends_start_none_of_their_own() -> None:
    at_once = FORK.replace("time.sleep(30)", "pass")
    assert at_once != FORK
    done = subprocess.run([*COMMAND, "-c", at_once, "3", "9"], capture_output=True, check=True)
    assert done.stdout == b"3\n"
