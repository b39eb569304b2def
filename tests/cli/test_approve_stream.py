"""`assent approve --output-format stream-json`: with --build, all that the run does."""

from pathlib import Path

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.machines import Machines
from tests.cli.scripts import MODEL, Talker, turn
from tests.cli.terminal import Terminal
from tests.cli.test_run_stream import MAKES, STREAM, TEXT, read, said, streamed, unnamed

from assent.core.errors import RUN_WAITS


@pytest.fixture
def proposed(planned: World) -> tuple[World, str]:
    planned.write("a.txt", b"a\n")
    planned.ok("stage", "run", "--script", "cat a.txt")
    return planned, planned.propose()


def test_f124_a_yes_that_builds_is_told_as_a_build_is(proposed: tuple[World, str]) -> None:
    world, digest = proposed
    rows = streamed(world.process("approve", "--digest", digest, "--build", *STREAM))
    assert {row["session"] for row in rows} == {"tests"}
    told = [(row["kind"], row["body"].get("step") or row["body"].get("what")) for row in rows]
    assert told == [
        ("progress", "prepare"),
        ("progress", "finish"),
        ("doing", "before"),
        ("doing", "command"),
        ("delta", None),
        ("doing", "after"),
        ("result", None),
    ]
    assert said(rows) == "a\n"


def test_its_last_line_is_the_object_of_json(tmp_path: Path) -> None:
    answers = []
    for name, form in (("one", STREAM), ("other", ("--json",))):
        world = World(tmp_path / name)
        world.plan()
        world.write("a.txt", b"a\n")
        world.write("b.txt", b"b\n")
        digest = world.propose()
        part = world.ok("approve", "--without", "2", "--dry-run")["digest"]
        assert part != digest
        line = ("approve", "--without", "2", "--digest", part, "--build", *form)
        answers.append(world.run(*line).out.splitlines()[-1])
    one, other = map(msgspec.json.decode, answers)
    assert unnamed(one["body"]) == unnamed(other)


def test_a_halt_keeps_its_exit_code(planned: World) -> None:
    planned.ok("stage", "run", "--script", "echo no; exit 3")
    digest = planned.propose()
    rows = streamed(planned.run("approve", "--digest", digest, "--build", *STREAM), 6)
    assert rows[-1]["body"] == planned.run("recover", "--json").json


def test_the_question_goes_to_the_terminal_and_the_stream_to_stdout(
    proposed: tuple[World, str],
) -> None:
    world, digest = proposed
    terminal = Terminal(world, "approve", "--build", *STREAM)
    answer = terminal.answer(f"{digest[:8]}\n".encode())
    assert answer.code == 0, (answer, terminal.screen)
    assert read(answer.out)[-1]["body"]["outcome"] == "done"


def test_without_build_it_is_the_result_alone(proposed: tuple[World, str]) -> None:
    world, digest = proposed
    rows = streamed(world.run("approve", "--digest", digest, *STREAM))
    assert [(row["kind"], row["session"]) for row in rows] == [("result", "tests")]
    plan = world.ok("plan", "show")
    for outline in ("structure", "steps", "progress"):  # an approval says nothing about the text
        del plan[outline]
    assert rows[0]["body"] == {**plan, "approved": True}


def test_of_a_plan_from_elsewhere_it_is_the_result_alone(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.ready()
    file = str(machines.file)
    digest = machines.person.ok("review", file)["digest"]
    (row,) = streamed(machines.person.run("approve", file, "--digest", digest, *STREAM))
    assert (row["kind"], row["body"]["approved"]) == ("result", True)
    refused = machines.person.run("approve", file, "--build", *STREAM)
    assert (refused.code, refused.error["next"]) == (2, "assent approve --help")


def test_what_is_refused_leaves_stdout_empty(proposed: tuple[World, str]) -> None:
    world, _ = proposed
    line = ("approve", "--digest", "0" * 64, "--build")
    plain, stream = world.run(*line, "--json"), world.run(*line, *STREAM)
    assert (plain.code, plain.error) == (stream.code, stream.error)
    assert plain.code == 5


def test_a_plan_of_prose_is_told_as_its_session_is(planned: World) -> None:
    talker = Talker(planned)
    config = planned.config.read_text("utf-8") + '[permission.bash]\n"mkdir *" = "allow"\n'
    planned.config.write_text(config, encoding="utf-8")
    plans = turn("A plan.", ("write_plan", {"text": TEXT})), turn("Here.", ("present_plan", {}))
    talker.script(*plans, turn("Making.", MAKES), turn("All done."))
    digest = talker.json("Make it", code=3)["digest"]
    line = ("approve", "--digest", digest, "--build", "--model", MODEL)
    rows = streamed(planned.process(*line, *STREAM))
    kinds = [row["kind"] for row in rows if row["kind"] != "delta"]
    assert kinds[-2:] == ["turn_ended", "result"]
    assert len({row["session"] for row in rows}) == 1
    assert rows[-1]["body"]["result"] == "All done."


@pytest.mark.parametrize("options", [(), ("--without", "1")], ids=["whole", "partial"])
def test_no_yes_is_given_to_a_build_that_cannot_begin(
    world: World, options: tuple[str, ...]
) -> None:
    world.plan("first")
    world.ok("stage", "run", "--script", "false")
    world.approve()
    world.run("build", "--json")
    world.plan("second")
    world.write("a", b"a\n")
    world.write("b", b"b\n")
    digest = world.propose()
    error = world.no(6, "approve", "--digest", digest, "--build", *options)
    assert error["message"] == RUN_WAITS
    assert error["next"] == "assent recover"
    assert not world.ok("plan", "show")["approved"]
