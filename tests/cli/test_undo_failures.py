"""A command's own undo that fails, or may overwrite somebody's work: what a person is told."""

import pytest
from tests.cli.harness import World
from tests.cli.terminal import QUESTION, Terminal
from tests.cli.test_undo_remainder import content, said

from assent.render.status import RESTORED


@pytest.fixture
def halted(planned: World) -> tuple[World, str]:
    """An undo of a run, halted because the undo of its command failed."""
    planned.put("a", b"1\n")
    planned.write("z", b"z")
    planned.ok("stage", "run", "--undo", "false", "--script", "echo c >> a")
    planned.write("b", b"b")
    run = str(planned.build()["run"])
    assert planned.undo().code == 6
    return planned, run


def test_law_8_an_accepted_undo_that_took_nothing_back_is_not_called_done(
    halted: tuple[World, str],
) -> None:
    world, run = halted
    before = world.files()
    onward = f"assent undo {run} --operation 3"
    assert (
        f"To undo without it: assent recover --roll-back, then {onward}."
        in said(world, "recover")[-3]
    )
    told = said(world, "recover", "--accept")
    assert told[0] == "Accepted as is: nothing was undone."
    assert "failed       run     echo c >> a (exit 1)" in told
    assert f"Undoing the whole run runs $ false again. To undo without it: {onward}." in told
    assert (told[-1], world.files()) == (f"Next: {onward}", before)
    assert world.no(1, "redo")["error"] == "not_found"
    assert said(world, "status")[-1] == "Next: assent undo"
    assert world.undo(*onward.split()[2:]).code == 0
    assert world.undo(run, "--operation", "1").code == 0
    assert sorted(world.files()) == [b"a"]


def test_law_8_an_accepted_undo_says_what_it_did_not_take_back(planned: World) -> None:
    planned.put("a", b"1\n")
    planned.ok("stage", "run", "--undo", "false", "--script", "echo 1 > b")
    planned.ok("stage", "run", "--undo", "rm c", "--script", "echo 1 > c")
    run = str(planned.build()["run"])
    assert planned.undo().code == 6
    told = said(planned, "recover", "--accept")
    assert told[0] == "Accepted as is: not everything was undone."
    assert told[-1] == f"Next: assent runs show {run}"
    shown = [row["result"] for row in planned.ok("runs", "show", run)["operations"]]
    assert shown == ["done", "undone"]
    assert planned.ok("redo", "--dry-run")["operations"]


def test_law_8_an_undo_that_was_rolled_back_left_every_file_as_it_was(
    halted: tuple[World, str],
) -> None:
    world, run = halted
    before = world.files()
    told = said(world, "recover", "--roll-back")
    assert told[0].startswith(RESTORED)
    assert not any("Still different" in line for line in told)
    assert told[-2:] == [f"Not undone: run {run}", f"Next: assent undo {run} --operation 3"]
    assert world.files() == before


def test_f142_what_the_undo_of_a_command_may_overwrite_is_named_before_the_yes(
    planned: World,
) -> None:
    planned.put("a", b"1\n")
    planned.ok("stage", "run", "--undo", "cp a.bak a", "--script", "cp a a.bak; echo c >> a")
    planned.ok("stage", "run", "--script", "echo later > a.bak")
    planned.build()
    unchanged = planned.ok("undo", "--dry-run")
    assert "notes" not in unchanged
    planned.put("a", b"my own\n")
    words = "its undo command may overwrite this: a ($ cp a.bak a)."
    told = f"Changed since $ cp a a.bak; echo c >> a; {words}"
    preview = planned.ok("undo", "--dry-run")
    assert (preview["notes"], preview["digest"] != unchanged["digest"]) == ([told], True)
    assert told in said(planned, "undo", "--dry-run")
    assert planned.no(5, "undo", "--digest", unchanged["digest"])["error"] == "other_digest"
    assert content(planned, "a") == b"my own\n"
    answer = planned.run("undo", "--digest", preview["digest"], "--json")
    assert told in answer.json["notes"]


def test_f142_the_review_of_an_undo_names_it_at_the_terminal(planned: World) -> None:
    planned.put("a", b"1\n")
    planned.ok("stage", "run", "--undo", "cp a.bak a", "--script", "cp a a.bak; echo c >> a")
    planned.build()
    planned.put("a", b"my own\n")
    planned.config.unlink()
    terminal = Terminal(planned, "undo", "--json", env={"NO_COLOR": "1"})
    assert terminal.answer(b"no\n").code == 4
    shown = terminal.screen.partition(QUESTION)[0]
    assert b"May be overwritten" in shown
    assert b"; its undo command may overwrite this: a" in b" ".join(shown.split())
    assert content(planned, "a") == b"my own\n"
