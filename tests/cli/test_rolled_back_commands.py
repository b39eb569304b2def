"""`runs show` of a run that was rolled back: each command under its own operation."""

from tests.cli.harness import World

UNDO = "echo taking back; rm made"


def rolled_back(world: World, undo: str, code: int) -> str:
    """Halts at the third of three commands and rolls back, which undoes the second one."""
    world.ok("stage", "run", "--script", "echo one > one")
    world.ok("stage", "run", "--undo", undo, "--script", "echo making; echo x > made")
    world.ok("stage", "run", "--script", "echo failing; exit 3")
    world.approve()
    run = str(world.run("build", "--json").json["run"])
    assert world.run("recover", "--roll-back", "--json").code == code
    return run


def test_what_a_roll_back_ran_is_told_of_the_operation_that_it_took_back(planned: World) -> None:
    run = rolled_back(planned, UNDO, 1)
    first, second, third = planned.ok("runs", "show", run)["operations"]
    assert [row["command"]["output"] for row in (first, second, third)] == [
        "",
        "making\n",
        "failing\n",
    ]
    assert [row["command"]["changed"] for row in (first, second)] == [
        [{"path": "one", "how": "new"}],
        [{"path": "made", "how": "new"}],
    ]
    assert "roll_back" not in first
    assert "roll_back" not in third
    undo = second["roll_back"]
    assert (undo["line"], undo["code"], undo["output"]) == (f"sh -c '{UNDO}'", 0, "taking back\n")
    assert undo["changed"] == [{"path": "made", "how": "gone"}]
    assert second["command"]["ended"] <= undo["began"] <= undo["ended"]


def test_in_words_it_stands_below_the_command_that_it_took_back(planned: World) -> None:
    run = rolled_back(planned, UNDO, 1)
    lines = planned.run("runs", "show", run).out.decode().splitlines()
    (at,) = [n for n, line in enumerate(lines) if "rolled back by" in line]
    assert lines[at] == f"     rolled back by its undo command: sh -c '{UNDO}'"
    assert lines[at + 1].startswith("     exit 0, ")
    assert any("echo making" in line for line in lines[:at])
    assert any("echo failing" in line for line in lines[at:])


def test_every_try_of_an_undo_counts_and_the_last_one_tells_how_it_ended(planned: World) -> None:
    run = rolled_back(planned, "echo try > try; test -e wanted && rm made", 6)
    (row,) = [row for row in planned.ok("runs", "show", run)["operations"] if "roll_back" in row]
    assert (row["number"], row["roll_back"]["code"]) == (2, 1)
    planned.put("wanted")
    assert planned.run("recover", "--roll-back").code == 1
    undo = planned.ok("runs", "show", run)["operations"][1]["roll_back"]
    assert undo["code"] == 0
    assert [row["path"] for row in undo["changed"]] == ["try", "made"]


def test_what_one_try_took_back_stays_so_in_the_next_and_is_never_undone_twice(
    planned: World,
) -> None:
    log = planned.base / "undone"
    for name, after in (("one", "test -e ok"), ("two", "true")):
        undo = f"echo {name} >> {log}; {after} && rm {name}"
        planned.ok("stage", "run", "--no-sandbox", "--undo", undo, "--script", f"echo x > {name}")
    planned.ok("stage", "run", "--script", "exit 3")
    planned.approve()
    assert planned.run("build", "--json").code == 6
    for _ in range(2):
        tried = planned.run("recover", "--roll-back", "--json")
        results = [row["result"] for row in tried.json["operations"]]
        assert (tried.code, results) == (6, ["done", "undone", "failed"])
    kept = planned.ok("recover", "--accept")["operations"]
    assert [row["result"] for row in kept] == ["done", "undone", "failed"]
    planned.put("ok")
    assert planned.undo().code == 0
    assert log.read_text(encoding="utf-8").split() == ["two", "one", "one", "one"]
