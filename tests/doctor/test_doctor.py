"""The doctor: what it reports, what it says of a gate that does not hold, what it leaves alone."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.harness import World, files_below
from tests.sandbox.leaky_sandboxes import ENVIRONMENT, real_tool, unconfined

from assent.app.ports import folder_name
from assent.cli.doctor import doctor_lines, report_on
from assent.cli.output import CliOutput
from assent.config.paths import AppPaths
from assent.config.skills import untrusted_skills_text
from assent.core.errors import Refused
from assent.core.plan.record import PlanRecord
from assent.core.shell.process import SandboxState, SandboxStatus
from assent.doctor import approvals, paths
from assent.doctor.check import DoctorCheck, DoctorCheckResult, SafeguardFailed, run_check
from assent.doctor.report import ENGINE, DoctorTarget
from assent.doctor.sandbox import escape_checks, limit_checks
from assent.doctor.scratch import CHANNEL
from assent.doctor.scratch import ROWS as COPIES
from assent.doctor.workspace import DoctorWorkspace, doctor_workspace
from assent.runs.run_status import RunReport
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.profile.profile import ProfileBuilder
from assent.sandbox.read_only_shell import LocalReadOnlyShell
from assent.sandbox.selftest.checker import NOT_SAFE, SandboxChecker
from assent.sandbox.selftest.escape_tests import ESCAPE_TESTS
from assent.sandbox.selftest.selftest import ConfinementFactory
from assent.sandbox.status import FILE

LACK = SandboxStatus(SandboxState.NONE, "bubblewrap is not installed.", "apt install bubblewrap")


def patient(standings: SandboxChecker, state: Path) -> DoctorTarget:
    """A machine whose sandbox is what we say."""

    def opening(place: DoctorWorkspace) -> LocalReadOnlyShell:
        sight = ProfileBuilder(bytes(place.root), b"/nowhere", [], ENVIRONMENT)
        return LocalReadOnlyShell(LocalProcessRunner(sight, standings, ENVIRONMENT))

    return DoctorTarget(standings, opening, AppPaths(state, state))


def leaky(state: Path) -> DoctorTarget:
    def confine(_: bytes) -> ConfinementFactory:
        return unconfined

    return patient(SandboxChecker(state, confine), state)


def lacking(state: Path) -> DoctorTarget:
    def confine(_: bytes) -> ConfinementFactory:
        raise AssertionError("there is nothing to confine with")

    return patient(SandboxChecker(state, confine, None, lambda: None, lambda: LACK), state)


def answered(one: DoctorTarget, *, strict: bool = False, as_json: bool = True) -> tuple[int, str]:
    """The exit code and the output of `assent doctor` on some machine."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with redirect_stdout(out):
        code = report_on(one, CliOutput(as_json=as_json), strict=strict)
    return code, out.buffer.getvalue().decode()


def results(report: dict[str, Any], channel: str) -> dict[str, str]:
    return {c["name"]: c["result"] for c in report["checks"] if c["channel"] == channel}


def test_f137_skills_that_cannot_be_used_are_listed_with_the_reason(world: World) -> None:
    skills = world.config.parent / "skills"
    for name, content in (
        ("tidy", "---\nname: tidy\ndescription: Tidies\n---\nTidy up.\n"),
        ("loud", "---\nname: LOUD\ndescription: Shouts\n---\nShout.\n"),
        ("endless", "---\nname: endless\ndescription: Has no end\nText.\n"),
    ):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(content, encoding="utf-8")
    (skills / "folder" / "SKILL.md").mkdir(parents=True)
    world.put(".opencode/skills/theirs/SKILL.md", b"---\nname: theirs\n---\n")
    report = world.run("doctor", "--json").json
    told = dict(zip(("endless", "folder", "loud", "theirs"), report["skills"], strict=True))
    assert told["endless"].startswith(f"{skills}/endless/SKILL.md cannot be used: ")
    assert told["loud"].startswith(f"{skills}/loud/SKILL.md cannot be used: its name must have ")
    assert told["folder"].startswith(f"{skills}/folder/SKILL.md ")
    assert told["theirs"] == untrusted_skills_text(["theirs"])
    lines = [line.text for line in doctor_lines(report)]
    shown = " ".join(" ".join(lines[lines.index("skills") :]).split())
    assert all(words in shown for words in told.values())
    assert report["ok"] is not any(check["result"] == "FAILED" for check in report["checks"])


def test_g13_doctor_reports_every_channel(world: World) -> None:
    real_tool()
    answer = world.run("doctor", "--json")
    report = answer.json
    assert answer.code == 0
    fields = {"checks", "standing", "versions", "missing", "places", "scratch", "skills", "ok"}
    assert report.keys() == fields
    assert report["scratch"]["name"] in ("overlay", "copy")
    assert results(report, CHANNEL).keys() == COPIES.keys()
    assert results(report, CHANNEL)["copy"] == "held"
    assert report["ok"] is True
    assert report["standing"] == {"hold": "held", "reason": "", "next": ""}
    assert [c for c in report["checks"] if c["result"] == "FAILED"] == []
    for channel, rows in ENGINE.items():
        assert results(report, channel) == dict.fromkeys(rows, "held")
    rows = ("judged", "run", "contained", "secrets")
    assert results(report, "shell") == dict.fromkeys(rows, "held")
    for channel in {trial.channel for trial in ESCAPE_TESTS} | {"approval", "call"}:
        assert results(report, f"sandbox: {channel}")
    assert {"assent", "python", "sqlite", "kernel", "bwrap"} <= report["versions"].keys()
    assert report["places"]["state"] == str(world.state / "assent")


def test_g13_doctor_says_it_in_words(world: World) -> None:
    real_tool()
    answer = world.run("doctor")
    text = answer.out.decode()
    assert (answer.code, answer.err) == (0, b"")
    assert "  held           build twice with one approval\n" in text
    assert "  held           connect to a listener on 127.0.0.1\n" in text
    assert "The sandbox holds: every escape attempt failed.\n" in text
    assert text.endswith(" 0 FAILED.\n")


def test_g22_doctor_warns_of_a_critic_that_cannot_be_used(world: World) -> None:
    config = world.config.read_text("utf-8")
    world.config.write_text(f"{config}\n[plan]\ncritic = 'nobody/model'\n", encoding="utf-8")
    answer = world.run("doctor", "--json")
    told = b"plan.critic is nobody/model, but no plan will be commented on: nobody/model is not"
    assert told in answer.err
    assert answer.json["checks"]


def test_g13_doctor_leaves_everything_alone_but_its_own_result(world: World) -> None:
    world.on_a_fresh_machine().put("kept.txt", b"kept\n")
    before = files_below(world.base)
    world.run("doctor", "--json")
    after = files_below(world.base)
    scratch = f"state/assent/scratch/{folder_name(os.fsencode(world.root))}".encode()
    ours = {b"state", b"state/assent", f"state/assent/{FILE}".encode()}
    ours |= {os.path.dirname(scratch), scratch, scratch + b"/backend.json"}
    assert {path: found for path, found in after.items() if path not in ours} == before
    assert not (world.root / ".opencode").exists()


def test_g13_a_sandbox_that_leaks_is_said_and_exits_with_1(tmp_path: Path) -> None:
    real_tool()
    code, text = answered(leaky(tmp_path))
    report = msgspec.json.decode(text)
    assert (code, report["ok"], report["standing"]["hold"]) == (1, False, "off")
    for channel, name in (
        ("workspace", "create"),
        ("network", "tcp"),
        ("processes", "signal"),
        ("secrets", "read_key"),
        ("outside", "write_home"),
        ("call", "left_behind"),
    ):
        assert results(report, f"sandbox: {channel}")[name] == "FAILED"
    assert results(report, "approval") == dict.fromkeys(ENGINE["approval"], "held")
    assert results(report, "shell") == {
        "judged": "held",
        "run": "held",
        "contained": "FAILED",
        "secrets": "not available",
    }


def test_g13_a_leak_is_said_in_words(tmp_path: Path) -> None:
    real_tool()
    code, text = answered(leaky(tmp_path), as_json=False)
    assert code == 1
    assert "  FAILED         create a file " in text
    assert "It worked: created a file.\n" in text
    assert f"The shell is off: no command can run.\n  {NOT_SAFE}" in text
    assert "next: assent doctor" not in text


def test_g13_no_sandbox_is_not_available_and_strictly_exits_with_1(tmp_path: Path) -> None:
    code, text = answered(lacking(tmp_path))
    report = msgspec.json.decode(text)
    assert (code, report["ok"]) == (0, True)
    assert results(report, "sandbox") == {"self-test": "not available"}
    assert results(report, "sandbox: call") == {"limits": "not available"}
    assert report["standing"]["reason"] == LACK.reason
    code, text = answered(lacking(tmp_path), strict=True, as_json=False)
    assert code == 1
    assert "No sandbox: only a smaller set of commands can run.\n" in text
    assert "bubblewrap is not installed." in text


def test_a_self_test_that_breaks_has_failed(tmp_path: Path) -> None:
    def broken(_: bytes) -> ConfinementFactory:
        raise RuntimeError("out of order")

    standings = SandboxChecker(tmp_path, broken, None, real_tool, lambda: None)
    standing, rows = escape_checks(standings)
    assert standing.hold is SandboxState.OFF
    assert [(row.channel, row.name, row.result) for row in (*rows, *limit_checks(standings))] == [
        ("sandbox", "self-test", DoctorCheckResult.FAILED),
        ("sandbox: call", "limits", DoctorCheckResult.FAILED),
    ]


def test_a_check_that_breaks_has_failed_and_the_others_go_on(tmp_path: Path) -> None:
    def broken(_: DoctorWorkspace) -> LocalReadOnlyShell:
        raise RuntimeError("no shell today")

    whole = lacking(tmp_path)
    code, text = answered(DoctorTarget(whole.standings, broken, whole.places))
    report = msgspec.json.decode(text)
    assert code == 1
    shell = [check for check in report["checks"] if check["channel"] == "shell"]
    assert [check["result"] for check in shell] == ["held", "FAILED", "not available", "FAILED"]
    assert shell[1]["detail"] == "The check itself failed: RuntimeError: no shell today"
    assert results(report, "undo") == dict.fromkeys(ENGINE["undo"], "held")


class Careless(DoctorWorkspace):
    """A desk where a build writes without asking anybody."""

    def build(self, record: PlanRecord) -> RunReport:
        for name in ("new.txt", "other.txt", "kept.txt"):
            self.put(name, b"written without a yes\n")
        self.place.write("outside/inner.txt", b"written without a yes\n")
        return RunReport("run", "done")


@pytest.fixture
def careless(tmp_path: Path) -> Iterator[DoctorWorkspace]:
    with doctor_workspace(tmp_path) as place:
        place.engine.close()
        other = Careless(place.place)
        yield other
        other.engine.close()


BUILDING = (
    approvals.unapproved,
    approvals.forged_event,
    approvals.forged_copy,
    approvals.replayed,
    approvals.changed_plan,
    approvals.drifted,
    approvals.edited_text,
    paths.swapped_parent,
)


@pytest.mark.parametrize("check", BUILDING, ids=lambda check: check.__name__)
def test_g13_a_build_that_asks_nobody_is_found(
    careless: DoctorWorkspace, check: Callable[[DoctorWorkspace], str]
) -> None:
    with pytest.raises(SafeguardFailed):
        check(careless)


def test_a_check_says_how_it_ended() -> None:
    def refused() -> str:
        raise Refused("not a check's own answer")

    row = ("channel", "name", "tried")
    assert run_check(*row, lambda: "No.") == DoctorCheck(*row, DoctorCheckResult.HELD, "No.")
    words = "The check itself failed: Refused: not a check's own answer"
    assert run_check(*row, refused) == DoctorCheck(*row, DoctorCheckResult.FAILED, words)
