"""Exit codes: each one by a command that earns it, and how a refusal looks."""

import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.killed_build import kill_build
from tests.support import forked_python

from assent.config.loader import USER_ONLY_WARNING

HEARS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
INTERRUPTIBLE = (PROGRAM[0], "-c", HEARS + PROGRAM[2])  # also below a parent that ignores it
PIPE = 1 << 16  # what a pipe holds


def proposed(world: World) -> str:
    world.plan()
    world.write("a.txt", b"a\n")
    return world.propose()


def test_0_done_and_nothing_to_do(world: World) -> None:
    world.plan()
    world.write("a.txt", b"a\n")
    assert world.build()["outcome"] == "done"
    assert world.ok("recover")["outcome"] == "nothing"


def test_2_a_plan_of_text_alone_needs_a_model_and_spends_nothing(world: World) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=b"# Work\n\nDo it.\n")
    world.approve()
    world.no(2, "build")
    shown = world.ok("plan", "show")
    assert (shown["state"], shown["approved"]) == ("AWAITING_APPROVAL", True)


def test_1_rolled_back_is_an_answer_on_stdout(world: World) -> None:
    proposed(world)
    world.approve()
    kill_build(world, "write", 0)
    answer = world.process("recover", "--json")
    assert (answer.code, answer.json["outcome"], answer.err) == (1, "rolled_back", b"")


def test_1_a_step_outside_the_lifecycle(world: World) -> None:
    world.plan()
    assert world.no(1, "approve", "--digest", "0" * 64) == {
        "error": "illegal_step",
        "message": "This plan is still a draft, so it cannot be approved.",
        "next": "assent propose",
    }


def test_2_usage(world: World) -> None:
    assert world.no(2, "nonsense") == {
        "error": "usage",
        "message": "Unknown command 'nonsense'. A single-word goal needs -p.",
        "next": "assent --help",
    }


def test_3_build_without_any_approval(world: World) -> None:
    world.plan()
    assert world.no(3, "build")["error"] == "not_approved"
    world.write("a.txt", b"a\n")
    world.propose()
    refused = world.no(3, "build")
    assert (refused["error"], refused["next"]) == ("not_approved", "assent review")


def test_4_no_terminal_and_no_input(world: World) -> None:
    digest = proposed(world)
    world.config.unlink()
    for options in ([], ["--digest", digest], ["--no-input"], ["--digest", digest, "--no-input"]):
        answer = world.process("approve", *options, "--json")
        assert (answer.code, answer.error["error"]) == (4, "declined"), options
    assert world.ok("plan", "show")["approved"] is False


def test_4_a_spent_approval(world: World) -> None:
    proposed(world)
    world.approve()
    run = world.ok("build")["run"]
    refused = world.no(4, "build")
    assert refused["error"] == "spent"
    assert run in refused["message"]


def test_4_an_expired_approval(world: World) -> None:
    digest = proposed(world)
    config = world.config.read_text(encoding="utf-8")
    world.config.write_text(config + "expires_s = -1\n", encoding="utf-8")
    assert world.ok("approve", "--digest", digest)["approved"] is False
    assert world.no(4, "build")["error"] == "expired"
    assert world.files() == {}


def test_5_another_digest(world: World) -> None:
    digest = proposed(world)
    other = ("0" if digest[0] != "0" else "1") + digest[1:]
    refused = world.no(5, "approve", "--digest", other)
    assert refused["error"] == "other_digest"
    assert digest in refused["message"]


def test_5_another_workspace(world: World) -> None:
    plan_id = world.plan()["plan_id"]
    other = World(world.base / "other")
    other.env = world.env
    other.plan()
    for line in (["plan", "show", "--plan", plan_id], ["build", "--plan", plan_id]):
        assert other.no(5, *line)["error"] == "other_workspace"


def test_6_needs_you(world: World) -> None:
    world.put("one", b"1\n")
    world.put("two", b"2\n")
    world.plan()
    world.write("one", b"one\n")
    world.write("two", b"two\n")
    world.approve()
    kill_build(world, "rename", 1)
    world.put("one", b"mine\n")
    world.put("two", b"mine\n")
    answer = world.process("recover", "--json")
    assert (answer.code, answer.json["outcome"], answer.err) == (6, "needs_you", b"")
    assert world.no(6, "build")["error"] == "needs_you"


def test_7_refused_by_path(world: World) -> None:
    world.plan()
    assert world.no(7, "stage", "write", "../x", "--from", "-")["error"] == "refused"


@pytest.mark.parametrize("json", [["--json"], []], ids=["json", "text"])
def test_130_interrupted(world: World, json: list[str]) -> None:
    world.plan()
    process = subprocess.Popen(
        [*INTERRUPTIBLE, "stage", "write", "a.txt", "--from", "-", *json],
        cwd=world.root,
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin
    process.stdin.write(bytes(4 * PIPE))  # more than a pipe holds: the program is reading
    process.send_signal(signal.SIGINT)
    # Closed at once: a signal that came just before a read began would otherwise wait with it.
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Interrupted" in err
    assert b"Traceback" not in err
    assert world.ok("stage", "list") == {"operations": []}


def test_a_refusal_in_text_says_what_to_type_next(world: World) -> None:
    error = world.no(1, "build")
    assert (error["message"], error["next"]) == ("No current plan.", "assent plan new NAME")
    told = f"assent: {error['message']}\n  next: {error['next']}\n"
    assert world.run("build") == (1, b"", told.encode())


def test_a_refusal_in_json_stands_alone_even_with_a_warning(world: World) -> None:
    world.put(".opencode/assent.toml", b"[approve]\nwithout_terminal = true\n")
    assert world.no(1, "build")["error"] == "not_found"
    assert USER_ONLY_WARNING.encode() in world.run("build").err


def test_two_builds_at_once_are_one(world: World) -> None:
    world.plan()
    for number in range(50):
        world.write(f"{number}.txt", b"x\n")
    world.approve()
    both = [
        forked_python.Popen(
            [*PROGRAM, "build", "--json"],
            cwd=world.root,
            env=world.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert sorted(process.wait(60) for process in both) == [0, 4]
    assert len(world.files()) == 50


def test_a_reader_that_went_away_is_no_failure(world: World) -> None:
    world.plan()
    world.write("a.txt", b"line\n" * 100_000)
    process = forked_python.Popen(
        [*PROGRAM, "review"],
        cwd=world.root,
        env=world.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0
    process.stderr.close()


def test_a_full_disk_at_stdout_is_said(world: World) -> None:
    world.plan()
    for options in (["--json"], []):
        with Path("/dev/full").open("wb") as full:
            done = forked_python.run(
                [*PROGRAM, "plan", "show", *options],
                cwd=world.root,
                env=world.env,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert done.returncode == 1
        assert b"No space left on device" in done.stderr
        assert b"assent status" in done.stderr
        assert done.stderr.count(b"\n") == (1 if options else 2)
