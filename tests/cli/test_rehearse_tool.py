"""The model's tool `rehearse`: it tries its draft in a copy, and that approves nothing."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from tests.cli.harness import PROGRAM, TRUSTING, World, unsandboxed
from tests.cli.scripts import MODEL, PRESENT, WRITE_PLAN, Talker, Turn, turn, write
from tests.cli.terminal import Terminal
from tests.sandbox.profiles import needs_bubblewrap

from assent.agent.effects import EACH_OPTION, EMPTY_TEXT, NO_REHEARSAL, NOT_SHOWN
from assent.agent.rehearsal import (
    NO_COPY,
    NOTHING_REAL,
    NOTHING_STAGED,
    ONLY_APPLIED,
    OWN_ONLY,
    SUGGESTED,
)
from assent.agent.tool_call_runner import NOT_PRESENTED
from assent.runs.rehearsal import STOPPED

pytestmark = needs_bubblewrap

PATIENCE = 30
Call = tuple[str, dict[str, Any]]
TEST = "grep -q new a.txt"
VERIFY = f'[verify]\ncommands = ["{TEST}"]\n'
CHANGE = write("a.txt", "new\n")


class Planner(Talker):
    """A scripted model in a repository, and what became of its calls."""

    def calls(self, *turns: Turn, code: int = 0, options: tuple[str, ...] = ()) -> list[Any]:
        """Has the model answer in a new session; returns how its calls ended."""
        self.script(*turns, turn("Done."))
        return ended(self.stream("Change it", *options, code=code))

    def result(self, *turns: Turn, code: int = 0) -> str:
        """Returns the text that the last call gave."""
        return str(self.calls(*turns, code=code)[-1]["result"]["text"])


def ended(rows: list[dict[str, Any]]) -> list[Any]:
    """How calls ended, from a stream of events."""
    return [row["body"] for row in rows if row["kind"] == "call_ended"]


@pytest.fixture
def planner(repo: World) -> Planner:
    repo.put("a.txt", b"old\n")
    repo.put(".gitignore", b"script.json\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Start")
    return Planner(repo)


def rehearse(*commands: str, **more: Any) -> Call:
    return "rehearse", {**({"commands": [*commands]} if commands else {}), **more}


def configure(world: World, text: str) -> None:
    world.config.write_text(text, encoding="utf-8")


def copies(world: World) -> list[str]:
    return [one["name"] for one in world.ok("scratch", "list")["copies"]]


def test_g12_a_model_tries_its_draft_and_nothing_real_changes(planner: Planner) -> None:
    before, world = planner.world.files(), planner.world
    *_, tried, presented = planner.calls(
        turn("", WRITE_PLAN, CHANGE, rehearse(TEST, "echo it works"), PRESENT), code=3
    )
    assert not presented["result"]["failed"]
    assert tried["metadata"]["passed"] is True
    text = tried["result"]["text"]
    assert text.startswith(f"Passed: 2 commands. {NOTHING_REAL}\n- {TEST} (yours): exit 0 in ")
    assert text.endswith(" s\nit works")
    del (after := world.files())[b"script.json"]
    assert after == before
    assert copies(world) == []
    found = world.ok("review")["rehearsal"]
    assert (found["passed"], found["by"], found["network"]) == (True, "model", False)
    assert [(one["line"], one["source"]) for one in found["commands"]] == [
        (TEST, "model"), ("echo it works", "model")]  # fmt: skip
    shown = world.run("review").out
    assert b"Rehearsed by the model: grep -q new a.txt, echo it works passed" in shown
    assert b"grep -q new a.txt: passed in" in shown
    assert b"chosen by the model" in shown
    assert world.no(3, "build")["error"] == "not_approved"


def test_g12_its_output_is_streamed_while_it_runs(planner: Planner) -> None:
    planner.script(turn("", CHANGE, rehearse("echo one; echo two")), turn("Done."))
    rows = planner.stream("Change it")
    kinds = [(row["kind"], row.get("body", {}).get("kind")) for row in rows]
    end = max(at for at, row in enumerate(rows) if row["kind"] == "call_ended")
    assert kinds.index(("delta", "output")) < end
    said = "".join(
        r["body"]["text"] for r in rows if r["kind"] == "delta" and r["body"]["kind"] == "output"
    )
    assert "[1/1] echo one; echo two\n" in said
    assert "one\ntwo\n" in said


def test_g12_a_plan_that_fails_is_not_presented_in_the_same_answer(planner: Planner) -> None:
    *_, failed, refused, mended, again, presented = planner.calls(
        turn("", WRITE_PLAN, write("a.txt", "other\n"), rehearse(TEST, "true"), PRESENT),
        turn("", CHANGE, rehearse(TEST), PRESENT),
        code=3,
    )
    assert (failed["result"]["failed"], failed["metadata"]["passed"]) == (True, False)
    first, second, third = failed["result"]["text"].splitlines()
    assert first == f"Failed: 1 of 2 commands ran. {NOTHING_REAL}"
    assert second.startswith(f"- {TEST} (yours): exit 1 in ")
    assert third == "- true (yours): not run, an earlier command did not succeed"
    assert refused["result"]["text"] == NOT_PRESENTED.format(calls=f"rehearse {TEST}, true")
    assert not any(each["result"]["failed"] for each in (mended, again, presented))
    assert "rehearsal_failed" not in planner.world.ok("review")["risks"]


def test_g12_what_the_project_suggests_is_named_and_nobody_is_asked(planner: Planner) -> None:
    planner.world.put("Makefile", b"test:\n\tgrep -q new a.txt\n")
    suggested, passed = planner.calls(
        turn("", CHANGE, rehearse()), turn("", rehearse("make test"))
    )[1:]
    assert suggested["result"]["text"] == SUGGESTED.format(lines="`make test`")
    assert passed["metadata"]["passed"] is True
    assert planner.world.ok("waiting")["waiting"] == []


def test_g12_without_any_known_command_the_draft_is_only_applied(planner: Planner) -> None:
    nothing, _, applied = planner.calls(turn("", rehearse()), turn("", CHANGE, rehearse()))
    assert nothing["result"]["text"] == NOTHING_STAGED
    assert (applied["result"]["failed"], applied["metadata"]["passed"]) == (False, None)
    assert NOTHING_REAL in applied["result"]["text"]


def test_g12_the_users_own_commands_run_and_still_a_person_has_to_rehearse(
    planner: Planner,
) -> None:
    world = planner.world
    configure(world, f"{TRUSTING}require_rehearsal = true\n{VERIFY}")
    *_, tried, _ = planner.calls(turn("", WRITE_PLAN, CHANGE, rehearse(), PRESENT), code=3)
    assert f"- {TEST} (of the user): exit 0 in " in tried["result"]["text"]
    review = world.ok("review")
    assert review["rehearsal"]["commands"][0]["source"] == "user"
    digest = review["digest"]
    assert world.no(7, "approve", "--digest", digest)["error"] == "not_rehearsed"
    world.ok("rehearse")
    world.ok("approve", "--digest", digest)


def test_g12_a_model_does_not_cover_up_what_failed_for_a_person(planner: Planner) -> None:
    world = planner.world
    configure(world, f"{TRUSTING}require_rehearsal = true\n{VERIFY}")
    planner.calls(turn("", WRITE_PLAN, CHANGE))
    typed = ("rehearse", "--json", "--")
    assert Terminal(world, *typed, TEST).end().json["passed"] is True
    assert Terminal(world, *typed, "false").end().json["passed"] is False
    planner.script(turn(), turn(), turn("", rehearse("true"), PRESENT), turn("Done."))
    planner.stream("-c", "Go on", code=3)
    review = world.ok("review")
    assert (review["rehearsal"]["by"], review["rehearsal"]["passed"]) == ("person", False)
    assert review["risks"][0] == "rehearsal_failed"
    refused = world.no(7, "approve", "--digest", review["digest"])
    assert refused["error"] == "not_rehearsed"


def test_g12_rules_and_dangers_hold_for_what_a_model_wants_to_try(planner: Planner) -> None:
    configure(planner.world, '[permission.bash]\n"make *" = "deny"\n')
    text = "---\nverify: [make test]\n---\n# Plan\n\nChange it.\n"
    *_, denied, danger, _, by_text = planner.calls(
        turn("", CHANGE, rehearse("make test"), rehearse("rm -rf /")),
        turn("", ("write_plan", {"text": text}), rehearse()),
    )
    verdicts = [(each["verdict"], each["result"]["failed"]) for each in (denied, danger, by_text)]
    assert verdicts == [("deny", True)] * 3
    assert planner.world.ok("review")["rehearsal"] is None


def test_g12_it_has_no_network_and_takes_none(planner: Planner) -> None:
    connect = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9), 2)'"
    _, _, partly, unknown, failed = planner.calls(
        turn("", CHANGE, ("shell", {"command": "touch got", "stage": True, "network": True})),
        turn("", rehearse("true"), ("rehearse", {"commands": ["true"], "network": True})),
        turn("", ("unstage", {"ids": ["x"]})),
    )
    assert partly["metadata"]["passed"] is None
    assert "touch got (of the draft): not run, it needs the network" in partly["result"]["text"]
    assert "`network` is unknown" in unknown["result"]["text"]
    assert failed["result"]["failed"]
    lost = planner.calls(turn("", CHANGE, rehearse(connect)))[-1]
    assert lost["metadata"]["passed"] is False


def test_g12_it_sees_no_file_that_the_model_may_not_read(planner: Planner) -> None:
    configure(planner.world, '[permission.read]\n"notes/*" = "ask"\n')
    planner.world.put("notes/own.txt", b"between you and me\n")
    text = planner.result(turn("", CHANGE, rehearse("cat notes/own.txt || echo hidden")))
    assert "hidden" in text
    assert "between you and me" not in text


def test_g12_secrets_are_masked_before_the_output_is_cut(planner: Planner) -> None:
    key = "sk-ant-" + "a1B2c3D4" * 5
    text = planner.result(turn("", CHANGE, rehearse(f"seq 2000; echo {key}; false")))
    assert key not in text
    assert "[...]\n" in text
    assert len(text) < 5000


def test_g12_options_are_tried_each_for_itself(planner: Planner) -> None:
    def option(label: str, content: str) -> Turn:
        path = {"path": "a.txt", "content": content, "option": label}
        return turn("", ("write", path), rehearse(TEST, option=label))

    calls = planner.calls(option("New", "new\n"), option("Other", "other\n"))
    passed = [each["metadata"]["passed"] for each in calls if each["tool"] == "rehearse"]
    assert passed == [True, False]


def test_g12_without_a_scratch_copy_it_says_so_and_the_plan_is_presented(planner: Planner) -> None:
    planner.script(turn("", WRITE_PLAN, CHANGE, rehearse(TEST), PRESENT))
    options = ("--model", MODEL, "--output-format", "stream-json")
    answer = unsandboxed(planner.world, "-p", "Change it", *options)
    assert answer.code == 3, answer
    *_, tried, presented = ended(planner.rows(answer))
    assert tried["result"]["failed"]
    assert tried["metadata"]["lacks"] == "scratch_copy"
    assert tried["result"]["text"].endswith(NO_COPY.removeprefix("{why}"))
    assert not presented["result"]["failed"]


TRIED = ("present_plan", {"rehearse": True})


def staged(command: str) -> Call:
    return "shell", {"command": command, "stage": True, "at_end": True}


def test_g12_one_answer_edits_checks_tries_and_presents(planner: Planner) -> None:
    """What fails is not shown; the next answer fixes it, and no call is made only to try it."""
    wrong = turn("", WRITE_PLAN, write("a.txt", "other\n"), staged(TEST), TRIED)
    *_, failed, _, presented = planner.calls(wrong, turn("", CHANGE, TRIED), code=3)
    assert (failed["result"]["failed"], failed["metadata"]["passed"]) == (True, False)
    lead = (
        f"{NOT_SHOWN} Failed: 1 of 1 command ran. {NOTHING_REAL}\n- {TEST} (of the draft): exit 1"
    )
    assert failed["result"]["text"].startswith(lead)
    assert not presented["result"]["failed"]
    assert f"\nPassed: 1 command. {OWN_ONLY} {NOTHING_REAL}\n" in presented["result"]["text"]
    review = planner.world.ok("review")
    found = review["rehearsal"]
    assert (found["passed"], found["by"]) == (True, "model")
    assert [(one["line"], one["source"]) for one in found["commands"]] == [(TEST, "operation")]
    assert "rehearsal_failed" not in review["risks"]
    assert planner.world.no(3, "build")["error"] == "not_approved"


def test_g12_a_plan_that_is_tried_before_it_is_shown_runs_the_users_checks(
    planner: Planner,
) -> None:
    configure(planner.world, VERIFY)
    *_, tried = planner.calls(turn("", WRITE_PLAN, CHANGE, TRIED), code=3)
    assert f"- {TEST} (of the user): exit 0 in " in tried["result"]["text"]


def test_g12_a_draft_without_checks_is_only_applied_and_shown(planner: Planner) -> None:
    """The project suggests a command; no model runs it without naming it."""
    planner.world.put("Makefile", b"test:\n\tfalse\n")
    *_, tried = planner.calls(turn("", WRITE_PLAN, CHANGE, TRIED), code=3)
    assert f"\n{ONLY_APPLIED} {NOTHING_REAL}" in tried["result"]["text"]
    assert planner.world.ok("review")["rehearsal"]["commands"] == []


def test_g12_what_cannot_be_shown_is_not_tried(planner: Planner) -> None:
    template, mixed = planner.calls(
        turn("", CHANGE, staged("touch ran"), TRIED),
        turn("", ("present_plan", {"rehearse": True, "options": ["A", "B"]})),
    )[-2:]
    assert [each["result"]["text"] for each in (template, mixed)] == [EMPTY_TEXT, EACH_OPTION]
    assert "plan_rehearsed" not in [one["kind"] for one in planner.world.ok("log")["events"]]


def test_g12_a_rule_denies_what_the_text_of_a_shown_plan_wants_to_try(planner: Planner) -> None:
    configure(planner.world, '[permission.bash]\n"make *" = "deny"\n')
    text = "---\nverify: [make test]\n---\n# Plan\n\nChange it.\n"
    *_, denied = planner.calls(turn("", CHANGE, ("write_plan", {"text": text}), TRIED))
    assert (denied["verdict"], denied["result"]["failed"]) == ("deny", True)
    assert planner.world.ok("review")["rehearsal"] is None


def test_g12_without_a_scratch_copy_a_plan_is_shown_untried(planner: Planner) -> None:
    planner.script(turn("", WRITE_PLAN, CHANGE, TRIED))
    options = ("--model", MODEL, "--output-format", "stream-json")
    answer = unsandboxed(planner.world, "-p", "Change it", *options)
    assert answer.code == 3, answer
    *_, presented = ended(planner.rows(answer))
    assert not presented["result"]["failed"]
    assert "Not rehearsed: present the plan without it" in presented["result"]["text"]


def test_g12_where_commands_may_only_read_nothing_is_tried(planner: Planner) -> None:
    configure(planner.world, f'{TRUSTING}[plan]\nshell = "read-only"\n')
    *_, refused = planner.calls(turn("", WRITE_PLAN, CHANGE, TRIED))
    assert (refused["result"]["failed"], refused["result"]["text"]) == (True, NO_REHEARSAL)


@contextmanager
def rehearsing(planner: Planner) -> Iterator[subprocess.Popen[bytes]]:
    """The program, at the moment when a command of a rehearsal has begun."""
    planner.script(turn("", CHANGE, rehearse("echo begun; sleep 60")), turn("Done."))
    world = planner.world
    process = subprocess.Popen(
        [*PROGRAM, "-p", "--model", MODEL, "--output-format", "stream-json", "Change it"],
        cwd=world.root, env=world.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    while b'"text":"begun' not in process.stdout.readline():
        assert process.poll() is None
    yield process
    assert copies(world) == []
    assert "plan_rehearsed" not in [one["kind"] for one in world.ok("log")["events"]]


def test_g12_an_interrupted_rehearsal_ends_and_leaves_nothing(planner: Planner) -> None:
    with rehearsing(planner) as process:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        last = [msgspec.json.decode(row) for row in out.splitlines()][-1]
        assert last["body"]["why"] == "interrupted"


def test_g12_a_rehearsal_ends_if_its_session_is_cancelled_elsewhere(planner: Planner) -> None:
    with rehearsing(planner) as process:
        planner.world.ok("sessions", "cancel")
        out, _ = process.communicate(timeout=PATIENCE)
        (*_, tried) = ended([msgspec.json.decode(row) for row in out.splitlines()])
        assert tried["result"] == {**tried["result"], "text": STOPPED, "failed": True}
