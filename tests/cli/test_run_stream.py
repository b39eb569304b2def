"""`--output-format stream-json` of build, recover, undo and redo: a line for all that happens."""

import io
import os
import signal
import subprocess
from fcntl import ioctl
from pathlib import Path
from struct import unpack
from termios import FIONREAD
from time import monotonic, sleep
from typing import Any

import msgspec
import pytest
from tests.cli.harness import PROGRAM, TICK_S, Answer, World
from tests.cli.killed_build import kill_build
from tests.cli.machines import Machines
from tests.cli.scripts import MODEL, PLANS, PRESENT, Talker, turn, write
from tests.llm.server import Turn, serving
from tests.llm.wire_responses import Reply
from tests.support import forked_python

from assent.cli.output import output_failed

STREAM = ("--output-format", "stream-json")
ENVELOPE = ["seq", "at", "kind", "session", "body"]
KEY = "AKIA" + "IOSFODNN7EXAMPLZ"
PATIENCE = 60
TEXT = '---\nscope:\n  files: ["*"]\n  commands: [mkdir]\n---\n# Make it\n\nMake a folder.\n'
MAKES = ("shell", {"command": "mkdir -v made"})

Rows = list[dict[str, Any]]


def approved(world: World, *scripts: str) -> None:
    for script in scripts:
        world.ok("stage", "run", "--script", script)
    world.approve()


def two_files(world: World) -> None:
    """Approves a plan that replaces one file and makes another."""
    world.put("old.txt", b"old\n")
    world.plan()
    world.write("old.txt", b"new\n")
    world.write("more.txt", b"more\n")
    world.approve()


def read(out: bytes) -> Rows:
    """Reads every line; all have the envelope, and the result is the last one and no other."""
    assert out.endswith(b"\n")
    rows: Rows = [msgspec.json.decode(line) for line in out.splitlines()]
    assert all(list(row) == ENVELOPE for row in rows)
    assert [row["kind"] for row in rows].count("result") == 1
    assert rows[-1]["kind"] == "result"
    return rows


def streamed(answer: Answer, code: int = 0) -> Rows:
    assert (answer.code, answer.err) == (code, b""), answer
    return read(answer.out)


def said(rows: Rows, stream: str = "stdout") -> str:
    bodies = [row["body"] for row in rows if row["kind"] == "delta"]
    assert {body["kind"] for body in bodies} <= {"output"}
    return "".join(body["text"] for body in bodies if body["stream"] == stream)


def unnamed(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the id of its run, which no other run has."""
    assert answer["run"]
    return {**answer, "run": ""}


def started(
    world: World, *line: str, stdout: int = subprocess.PIPE, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    return forked_python.Popen(
        [*PROGRAM, *line, *STREAM],
        cwd=world.root,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def heard(work: subprocess.Popen[bytes], text: str) -> None:
    """Reads lines until a command has said something."""
    assert work.stdout is not None
    for line in work.stdout:
        if text in str(msgspec.json.decode(line)["body"].get("text")):
            return
    pytest.fail(f"nobody said {text}")


def test_f124_the_first_words_are_read_while_the_command_still_runs(planned: World) -> None:
    approved(planned, "echo begun; until [ -e go ]; do sleep 0.02; done; echo over")
    with started(planned, "build") as work:
        heard(work, "begun\n")
        planned.put("go")
        assert work.stdout is not None
        rows = read(work.stdout.read())
    assert work.returncode == 0
    assert said(rows) == "over\n"
    assert rows[-1]["body"]["outcome"] == "done"


def test_f124_files_and_commands_are_told_in_order(planned: World) -> None:
    planned.write("a.txt", b"a\n")
    line = "cat a.txt; printf b >&2"
    approved(planned, line)
    rows = streamed(planned.process("build", *STREAM))
    assert {(row["seq"], row["session"]) for row in rows} == {(None, "tests")}
    told = [(row["kind"], row["body"].get("step") or row["body"].get("what")) for row in rows]
    assert [each for each in told if each[0] != "delta"] == [
        ("progress", "prepare"),
        ("progress", "finish"),
        ("doing", "before"),
        ("doing", "command"),
        ("doing", "after"),
        ("result", None),
    ]
    command = next(row["body"] for row in rows if row["body"].get("what") == "command")
    assert command == {"what": "command", "index": 1, "total": 2, "command": line}
    output = [row["body"] for row in rows if row["kind"] == "delta"]
    assert sorted(output, key=lambda body: str(body["text"])) == [
        {"kind": "output", "text": "a\n", "index": 1, "stream": "stdout"},
        {"kind": "output", "text": "b", "index": 1, "stream": "stderr"},
    ]
    assert told.index(("doing", "command")) < told.index(("delta", None))
    assert told[-2:] == [("doing", "after"), ("result", None)]


def test_the_last_line_is_the_object_of_json(tmp_path: Path) -> None:
    one, other = World(tmp_path / "one"), World(tmp_path / "other")
    two_files(one)
    two_files(other)
    rows = streamed(one.process("build", *STREAM))
    assert unnamed(rows[-1]["body"]) == unnamed(other.ok("build"))
    assert one.files() == other.files()


def test_a_plan_of_a_session_is_told_with_its_id(talker: Talker) -> None:
    talker.script(*PLANS)
    planned = talker.json("Greet", code=3)
    talker.world.ok("approve", "--digest", planned["digest"])
    rows = streamed(talker.world.run("build", *STREAM))
    assert {row["session"] for row in rows} == {planned["session"]}


def test_a_failed_command_ends_with_a_result_and_the_three_ways(planned: World) -> None:
    approved(planned, "echo no; exit 3", "echo never")
    rows = streamed(planned.process("build", *STREAM), 6)
    assert said(rows) == "no\n"
    again = planned.run("recover", "--json")
    assert rows[-1]["body"] == again.json
    assert streamed(planned.run("recover", *STREAM), 6)[-1]["body"] == again.json
    assert again.json["outcome"] == "needs_you"


def test_resuming_tells_the_command_again(planned: World) -> None:
    approved(planned, "cat wanted", "echo last")
    assert planned.run("build", "--json").code == 6
    planned.put("wanted", b"here\n")
    rows = streamed(planned.process("recover", "--resume", *STREAM))
    assert said(rows) == "here\nlast\n"
    assert {row["session"] for row in rows} == {"tests"}
    body = rows[-1]["body"]
    assert body["outcome"] == "done"
    assert [each["result"] for each in body["operations"]] == ["done", "done"]


def test_rolling_back_ends_with_a_result(planned: World) -> None:
    planned.write("a.txt", b"a\n")
    approved(planned, "false")
    assert planned.run("build", "--json").code == 6
    rows = streamed(planned.process("recover", "--roll-back", *STREAM), 1)
    assert rows[-1]["body"]["outcome"] == "rolled_back"
    assert planned.files() == {}


def test_recovering_after_a_crash_tells_what_it_does(world: World) -> None:
    two_files(world)
    kill_build(world, "rename", 0)
    rows = streamed(world.run("recover", *STREAM))
    assert {row["kind"] for row in rows} == {"progress", "result"}
    assert rows[-1]["body"]["outcome"] == "done"
    nothing = streamed(world.run("recover", *STREAM))
    assert [row["body"] for row in nothing] == [world.ok("recover")]


def test_an_interrupt_ends_with_a_result(planned: World) -> None:
    approved(planned, "echo begun; while :; do sleep 1; done")
    with started(planned, "build", stderr=subprocess.PIPE) as work:
        heard(work, "begun\n")
        work.send_signal(signal.SIGTERM)
        out, err = work.communicate(timeout=PATIENCE)
    assert (work.returncode, err) == (130, b"")
    assert read(out)[-1]["body"] == planned.run("recover", "--json").json


def test_an_interrupt_tears_no_line_that_a_slow_reader_has_not_taken(planned: World) -> None:
    """What the command says fills the pipe, so that the signal comes in the middle of a write."""
    approved(planned, "head -c 300000 /dev/zero | tr '\\0' '\\1'; echo; while :; do sleep 1; done")
    with started(planned, "build", stderr=subprocess.PIPE) as work:
        assert work.stdout is not None
        until = monotonic() + PATIENCE
        while unpack("i", ioctl(work.stdout, FIONREAD, b"\0" * 4))[0] < 40_000:
            assert monotonic() < until
            sleep(TICK_S)
        work.send_signal(signal.SIGTERM)
        out, err = work.communicate(timeout=PATIENCE)
    assert (work.returncode, err) == (130, b"")
    rows = read(out)
    assert set(said(rows)) <= {"\1", "\n"}
    assert max(map(len, out.splitlines()[:-1])) < io.DEFAULT_BUFFER_SIZE


def test_f92_no_secret_is_told_in_the_stream_of_a_run(planned: World) -> None:
    approved(planned, f"echo {KEY}; printf 'AKIA'; printf '{KEY[4:]} end' >&2; printf '{KEY[4:]}'")
    answer = planned.process("build", *STREAM)
    rows = streamed(answer)
    assert KEY.encode() not in answer.out
    assert said(rows) == "[masked: AWS access key]\n[masked: AWS access key]"
    commands = [row["body"]["command"] for row in rows if row["kind"] == "doing"]
    assert all(each.startswith("echo [masked: AWS access key];") for each in commands)


def test_bytes_that_are_no_text_are_escaped_and_letters_stay_whole(planned: World) -> None:
    approved(planned, "printf 'a\\377b\\n\\303'; sleep 0.2; printf '\\251\\n\\033[2J\\0\\342'")
    answer = planned.process("build", *STREAM)
    assert said(streamed(answer)) == "a\\xffb\né\n\x1b[2J\0\\xe2"
    assert b"\x1b" not in answer.out


def test_a_reader_that_went_away_ends_no_run(planned: World) -> None:
    approved(planned, "until [ -e go ]; do sleep 0.02; done; seq 100000; echo x > done.txt")
    with started(planned, "build", stderr=subprocess.PIPE) as work:
        assert work.stdout is not None
        work.stdout.readline()
        work.stdout.close()
        planned.put("go")
        assert work.stderr is not None
        assert work.stderr.read() == b""
    assert work.returncode == 0
    assert planned.ok("status")["run"]["outcome"] == "done"
    assert b"done.txt" in planned.files()


def test_a_full_disk_ends_no_run_and_is_told(planned: World) -> None:
    approved(planned, "seq 100000; echo x > done.txt")
    full = os.open("/dev/full", os.O_WRONLY)
    work = started(planned, "build", stdout=full, stderr=subprocess.PIPE)
    os.close(full)
    _, err = work.communicate(timeout=PATIENCE)
    assert work.returncode == 1
    run = planned.ok("status")["run"]
    assert run["outcome"] == "done"
    assert output_failed("No space left on device", run).message.encode() in err
    assert b"done.txt" in planned.files()


def test_a_plan_from_elsewhere_is_told_like_any_other(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.ready()
    rows = streamed(machines.runner.process("build", str(machines.file), *STREAM))
    assert {row["kind"] for row in rows} == {"progress", "result"}
    assert rows[-1]["body"]["outcome"] == "done"
    assert machines.runner.files()[b"a.txt"][2] == b"one\n2\n"
    refused = machines.runner.run("build", str(machines.file), *STREAM)
    assert (refused.code, refused.error["error"]) == (4, "spent")


@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_going_back_and_forth_is_told(tmp_path: Path, verb: str) -> None:
    one, other = World(tmp_path / "one"), World(tmp_path / "other")
    for world in (one, other):
        two_files(world)
        world.ok("build")
        if verb == "redo":
            assert world.undo().code == 0
    shown = one.ok(verb, "--dry-run")
    assert [row["body"] for row in streamed(one.run(verb, "--dry-run", *STREAM))] == [shown]
    unasked = one.process(verb, *STREAM)  # nothing is asked on stdout
    assert (unasked.code, unasked.error) == (4, one.process(verb, "--json").error)
    rows = streamed(one.process(verb, "--digest", shown["digest"], *STREAM))
    assert {row["kind"] for row in rows} == {"progress", "result"}
    assert {row["session"] for row in rows} == {"tests"}
    digest = other.ok(verb, "--dry-run")["digest"]
    twin = other.ok(verb, "--digest", digest)
    assert unnamed(rows[-1]["body"]) == unnamed(twin)
    assert one.files() == other.files()


@pytest.mark.parametrize("verb", ["build", "undo", "redo", "recover"])
def test_what_is_refused_leaves_stdout_empty(world: World, verb: str) -> None:
    line = (verb, "--resume", "--accept") if verb == "recover" else (verb,)
    plain, stream = world.run(*line, "--json"), world.run(*line, *STREAM)
    assert plain.code == stream.code != 0
    assert plain.error == stream.error


@pytest.mark.parametrize(
    "options",
    [("--output-format", "json"), ("--output-format=stream-json", "--json"), ("--json", *STREAM)],
    ids=" ".join,
)
def test_of_several_forms_the_last_one_counts(world: World, options: tuple[str, ...]) -> None:
    plain = world.ok("recover")
    answer = world.run("recover", *options)
    if options[-1] == "stream-json":
        assert streamed(answer)[-1]["body"] == plain
    else:
        assert (answer.code, answer.json) == (0, plain)


def test_the_form_is_one_of_three(world: World) -> None:
    text = world.run("recover", "--json", "--output-format", "text")
    assert text.out == world.run("recover").out
    answer = world.run("build", "--output-format", "xml")
    assert answer.code == 2
    assert b"must be one of text, json, stream-json, not 'xml'" in answer.err
    assert b"next: assent build --help" in answer.err
    for line in (("build", "--output-format", "jsn"), ("-p", "Hello", "--output-format", "jsn")):
        assert b"Did you mean json?" in world.run(*line).err


def prose(talker: Talker, *turns: dict[str, Any]) -> None:
    """Approves a plan of prose, and says how the model carries it out."""
    world = talker.world
    config = world.config.read_text("utf-8") + '[permission.bash]\n"mkdir *" = "allow"\n'
    world.config.write_text(config, encoding="utf-8")
    talker.script(turn("A plan.", ("write_plan", {"text": TEXT})), turn("Here.", PRESENT), *turns)
    digest = talker.json("Make it", code=3)["digest"]
    world.ok("approve", "--digest", digest)


def test_a_build_by_a_model_is_told_as_its_session_is(planned: World) -> None:
    prose(Talker(planned), turn("Making.", MAKES), turn("All done."))
    rows = streamed(planned.process("build", "--model", MODEL, *STREAM))
    assert len({row["session"] for row in rows}) == 1
    kinds = [row["kind"] for row in rows if row["kind"] != "delta"]
    assert kinds[-2:] == ["turn_ended", "result"]
    assert kinds.index("message_added") < kinds.index("turn_started") < kinds.index("call_ended")
    stored = [row["seq"] for row in rows if row["seq"] is not None]
    assert stored == sorted(set(stored))
    pieces = [row["body"] for row in rows if row["kind"] == "delta"]
    output = "".join(body["text"] for body in pieces if body["kind"] == "output")
    assert output == "mkdir: created directory 'made'\n"
    body = rows[-1]["body"]
    assert (body["result"], body["session"]) == ("All done.", rows[-1]["session"])


def test_a_build_by_a_model_has_the_object_of_json_as_its_last_line(tmp_path: Path) -> None:
    answers = []
    for name, form in (("one", STREAM), ("other", ("--json",))):
        talker = Talker(World(tmp_path / name))
        prose(talker, turn("Writing.", write("a.txt", "a\n")), turn("All done."))
        answers.append(talker.world.run("build", "--model", MODEL, *form))
    stream, plain = answers
    body = streamed(stream)[-1]["body"]
    assert body.keys() == plain.json.keys()
    same = ("outcome", "operations", "result", "left", "refused", "questions", "usage")
    assert [body[key] for key in same] == [plain.json[key] for key in same]


def test_an_error_in_the_middle_ends_the_stream_and_stands_on_stderr(talker: Talker) -> None:
    prose(talker, turn("Writing.", write("a.txt", "a\n")))  # and then the script has no more
    answer = talker.world.run("build", "--model", MODEL, *STREAM)
    assert answer.code == 1
    told = msgspec.json.decode(answer.err)
    assert told.keys() == {"error", "message", "next"}
    rows = read(answer.out)
    assert rows[-1]["body"] == told
    assert [row["kind"] for row in rows][-2] == "turn_ended"


def test_an_interrupted_build_by_a_model_tells_the_end_of_its_turn(talker: Talker) -> None:
    prose(talker)
    with serving(Turn(Reply("Half of it."), "stall")) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        line = ("build", "--model", "openai/m")
        with started(talker.world, *line, stderr=subprocess.PIPE) as work:
            assert server.arrived.acquire(timeout=PATIENCE)
            work.send_signal(signal.SIGTERM)
            out, err = work.communicate(timeout=PATIENCE)
    assert work.returncode == 130
    rows = read(out)
    assert [row["kind"] for row in rows][-2:] == ["turn_ended", "result"]
    assert rows[-2]["body"]["why"] == "interrupted"
    assert rows[-1]["body"] == msgspec.json.decode(err)
