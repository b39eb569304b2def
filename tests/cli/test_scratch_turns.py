"""Commands of a model in the scratch copy, within its turn: options, presenting, times."""

from typing import Any

import pytest
from tests.cli.harness import World, unsandboxed
from tests.cli.scripts import MODEL, PRESENT, WRITE_PLAN, Talker, Turn, turn, write
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import settle

from assent.agent.scratch_commands import IN_COPY, NOT_KEPT, WITH_DRAFT
from assent.agent.tool_call_runner import NOT_PRESENTED
from assent.permissions.check import NO_COPY

pytestmark = needs_bubblewrap

Call = tuple[str, dict[str, Any]]


@pytest.fixture
def talker(repo: World) -> Talker:
    repo.put("a.txt", b"old\n")
    repo.put(".gitignore", b"script.json\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Start")
    settle()
    return Talker(repo)


def shell(line: str, **more: Any) -> Call:
    return "shell", {"command": line, **more}


def ended(rows: list[dict[str, Any]]) -> list[Any]:
    return [row["body"] for row in rows if row["kind"] == "call_ended"]


def calls(talker: Talker, *turns: Turn, code: int = 0) -> list[Any]:
    """Has the model answer; returns how its calls ended."""
    talker.script(*turns, turn("Done."))
    return ended(talker.stream("Change it", code=code))


def text(end: Any) -> str:
    return str(end["result"]["text"])


def staged(world: World, *of: str) -> list[str]:
    return [row["path"] for row in world.ok("stage", "list", *of)["operations"]]


@pytest.mark.parametrize("more", [{"keep": True}, {"at_end": True}, {"stage": True}])
def test_f14_a_plan_that_lacks_what_a_command_was_to_add_is_not_presented(
    talker: Talker, more: dict[str, Any]
) -> None:
    """The command fails, or may not be staged; a plan without it is not what its author means."""
    config = talker.world.config
    config.write_text(
        config.read_text("utf-8") + '[permission.bash]\n"false *" = "deny"\n', "utf-8"
    )
    lost = shell("echo new > b.txt; false now", **more)
    *_, failed, refused = calls(talker, turn("", WRITE_PLAN, write("n.txt", "n\n"), lost, PRESENT))
    assert failed["result"]["failed"]
    assert text(refused) == NOT_PRESENTED.format(calls="shell echo new > b.txt; false now")
    assert talker.world.ok("status")["plan"]["state"] == "DRAFTING"


def test_f14_a_command_that_was_only_tried_and_failed_holds_up_no_plan(talker: Talker) -> None:
    tried = shell("echo new > b.txt; exit 1")
    *_, failed, presented = calls(
        talker, turn("", WRITE_PLAN, write("n.txt", "n\n"), tried, PRESENT), code=3
    )
    assert failed["result"]["failed"]
    assert not presented["result"]["failed"]


def test_f14_the_time_of_a_call_is_that_of_its_command(talker: Talker) -> None:
    in_copy, kept, tried = calls(
        talker,
        turn("", shell("sleep 0.4; true > x")),
        turn("", shell("sleep 0.4; echo new > a.txt", keep=True)),
        turn("", ("rehearse", {"commands": ["sleep 0.4"]})),
    )
    assert [end["seconds"] >= 0.4 for end in (in_copy, kept, tried)] == [True] * 3


def test_g12_what_a_rehearsal_runs_is_recorded_as_run_and_not_as_staged(talker: Talker) -> None:
    talker.script(
        turn("", write("a.txt", "new\n")),
        turn("", ("rehearse", {"commands": ["grep new a.txt", "echo made > made.txt"]})),
        turn("Done."),
    )
    rows = talker.stream("Change it")
    *_, tried = ended(rows)
    assert (tried["verdict"], tried["result"]["failed"]) == ("run", False)
    planned = [
        one for row in rows if row["kind"] == "batch_planned" for one in row["body"]["calls"]
    ]
    assert [(one["verdict"], one["risk"]) for one in planned if one["tool"] == "rehearse"] == [
        ("run", "low")]  # fmt: skip
    assert staged(talker.world) == ["a.txt"]


def test_f14_a_command_finds_the_draft_of_the_option_that_it_names(talker: Talker) -> None:
    seen = "cat a.txt; true > seen"
    first, second, other, missing = calls(
        talker,
        turn("", shell("echo one > a.txt", keep=True, option="First")),
        turn("", shell("echo two > a.txt; echo b > b.txt", keep="b.txt", option="Second")),
        turn("", shell(seen, option="First"), shell(seen, option="Third")),
    )
    assert "Staged in option First: " in text(first)
    assert "Staged in option Second: " in text(second)
    assert text(other).startswith(f"one\n[{IN_COPY.format(draft=WITH_DRAFT)}")
    assert missing["result"]["failed"]
    assert text(missing) == "There is no option 'Third'. Nothing was done."
    world = talker.world
    plans = [staged(world, "--plan", row["plan_id"]) for row in world.ok("plan", "list")["plans"]]
    assert sorted(plans) == [["a.txt"], ["b.txt"]]
    assert (world.root / "a.txt").read_bytes() == b"old\n"


def test_f14_a_change_of_one_option_is_no_conflict_in_another(talker: Talker) -> None:
    *_, second = calls(
        talker,
        turn("", shell("echo one > a.txt", keep=True, option="First")),
        turn("", shell("cat a.txt; echo two > a.txt", keep=True, option="Second")),
    )
    assert text(second).startswith(f"old\n[{IN_COPY.format(draft='')}")
    assert not second["result"]["failed"]


@pytest.mark.parametrize("option", ["", "First"])
def test_f14_without_a_sandbox_nothing_runs_and_staging_goes_on(
    talker: Talker, option: str
) -> None:
    """A command is refused with the reason then, or staged if the call says so."""
    named = {"option": option} if option else {}
    talker.script(
        turn("", ("write", {"path": "n.txt", "content": "n\n", **named})),
        turn("", shell("echo new > a.txt", **named), shell("touch b.txt", keep=True, **named)),
        turn("", shell("touch b.txt", stage=True, **named)),
        turn("Done."),
    )
    before = talker.world.files()
    answer = unsandboxed(
        talker.world, "-p", "Change it", "--model", MODEL, "--output-format", "stream-json"
    )
    assert answer.code == 0, answer
    wrote, plain, kept, later = ended(Talker.rows(answer))
    assert [end["verdict"] for end in (wrote, plain, kept, later)] == [
        "stage", "deny", "deny", "stage"]  # fmt: skip
    assert [NO_COPY.format(why="") in text(end) for end in (plain, kept)] == [True] * 2
    kinds = [row["kind"] for row in talker.world.ok("stage", "list")["operations"]]
    assert kinds == ["write", "run"]
    assert talker.world.files() == before


def test_f14_a_failed_command_says_that_nothing_was_kept(talker: Talker) -> None:
    (end,) = calls(talker, turn("", shell("echo new > a.txt; exit 3", keep=True)))
    assert text(end).endswith(NOT_KEPT.format(why="the command failed"))
    assert end["verdict"] == "fail"
