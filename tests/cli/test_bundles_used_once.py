"""An approval that travels is used once: wherever, whenever and however it is played again."""

import shutil
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.machines import OLD, Machines, key_of, trust


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path)


def test_g4_the_same_file_is_refused_a_second_time(machines: Machines) -> None:
    machines.ready()
    machines.runner.ok("build", str(machines.file))
    after = machines.runner.files()
    assert machines.runner.no(4, "build", str(machines.file))["error"] == "spent"
    assert machines.runner.files() == after


def test_g4_it_is_refused_after_an_undo_too(machines: Machines) -> None:
    machines.ready()
    machines.runner.ok("build", str(machines.file))
    assert machines.runner.undo().code == 0
    before = machines.runner.files()
    assert machines.runner.no(4, "build", str(machines.file))["error"] == "spent"
    assert machines.runner.files() == before


def test_g4_it_is_refused_in_another_workspace_of_the_machine(machines: Machines) -> None:
    machines.ready()
    copy = machines.runner.base / "copy"
    shutil.copytree(machines.runner.root, copy)
    machines.runner.ok("build", str(machines.file))
    answer = machines.runner.run("build", str(machines.file), "--json", folder=copy)
    assert (answer.code, answer.error["error"]) == (4, "spent")
    assert (copy / "a.txt").read_bytes() == OLD["a.txt"]


def test_g4_a_run_that_was_rolled_back_has_used_it(machines: Machines) -> None:
    machines.planner.plan()
    machines.planner.write("a.txt", b"changed\n")
    machines.planner.ok("stage", "run", "--", "false")
    machines.pack()
    machines.approve()
    trust(machines.runner, key_of(machines.person))
    assert machines.runner.run("build", str(machines.file), "--json").code == 6
    assert machines.runner.run("recover", "--roll-back", "--json").code == 1
    assert (machines.runner.root / "a.txt").read_bytes() == OLD["a.txt"]
    assert machines.runner.no(4, "build", str(machines.file))["error"] == "spent"
    machines.approve("--note", "Again")
    assert machines.runner.run("build", str(machines.file), "--json").code == 6


def test_g4_without_the_state_the_files_themselves_refuse_it(machines: Machines) -> None:
    machines.ready()
    machines.runner.ok("build", str(machines.file))
    shutil.rmtree(machines.runner.state)
    shutil.rmtree(machines.runner.root / ".opencode")
    refused = machines.runner.no(5, "build", str(machines.file))
    assert (refused["error"], refused["next"]) == ("drift", "assent propose --portable --out FILE")
    assert "proposed again where it was created" in refused["message"]


def test_g4_an_approval_of_one_file_does_not_fit_another(machines: Machines) -> None:
    machines.plan()
    apart = str(machines.file.with_name("yes.json"))
    machines.approve("--out", apart)
    machines.pack()  # the same plan, asked for again
    trust(machines.runner, key_of(machines.person))
    error = machines.runner.no(5, "build", str(machines.file), "--approval", apart)
    assert error["error"] == "other_digest"
    machines.planner.write("a.txt", b"quite another\n")
    machines.pack()
    error = machines.runner.no(5, "build", str(machines.file), "--approval", apart)
    assert error["error"] == "other_digest"


def test_g4_a_local_plan_does_not_accept_a_foreign_key(tmp_path: Path) -> None:
    """Only what came in a bundle may be approved by others: here the key of a copied state."""
    one, other = World(tmp_path / "one"), World(tmp_path / "other")
    one.plan()
    one.write("x.txt", b"x\n")
    one.approve()
    trust(one, key_of(one))
    mine = one.state / "assent" / "key"
    key_of(other)
    shutil.copy(other.state / "assent" / "key", mine)
    assert one.no(7, "build")["error"] == "refused"
    assert one.files() == {}
