"""Two people for what is risky: whoever asked for a plan is not the one who agrees."""

from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.machines import OLD, Machines, key_of

WANTED = {
    "always": "independent = true\n",
    "for this risk": 'independent = ["secret", "deletes"]\n',
}


@pytest.mark.parametrize("setting", WANTED.values(), ids=WANTED)
def test_f59_who_asked_for_a_risky_plan_cannot_approve_it(tmp_path: Path, setting: str) -> None:
    world = World(tmp_path, config=TRUSTING + setting)
    world.put("a.txt", b"a\n")
    world.plan()
    world.ok("stage", "delete", "a.txt")
    digest = world.propose()
    error = world.no(7, "approve", "--digest", digest)
    assert error["error"] == "not_independent"
    assert "deletes" in error["message"]
    assert world.ok("status")["plan"]["approved"] is False
    assert world.no(3, "build")["error"] == "not_approved"


def test_f59_a_plan_without_that_risk_needs_one_person(tmp_path: Path) -> None:
    world = World(tmp_path, config=f'{TRUSTING}independent = ["deletes"]\n')
    world.plan()
    world.write("x.txt", b"x\n")
    world.build()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo evil > .github/workflows/ci.yml", "(protected)"),
        ("rm -rf .github", "(protected)"),
        ("python3 -c 'print(1)'", "(its effects cannot be predicted)"),
        ('sh -c "$X"', "(its effects cannot be predicted)"),
    ],
)
def test_f59_a_command_counts_by_what_it_writes_and_by_what_nobody_can_foresee(
    tmp_path: Path, script: str, why: str
) -> None:
    world = World(tmp_path, config=f'{TRUSTING}independent = ["protected"]\n')
    world.plan()
    world.ok("stage", "run", "--script", "-", stdin=script.encode())
    error = world.no(7, "approve", "--digest", world.propose())
    assert error["error"] == "not_independent"
    assert why in error["message"]


def test_f59_an_everyday_command_needs_one_person(tmp_path: Path) -> None:
    world = World(tmp_path, config=f'{TRUSTING}independent = ["protected"]\n')
    world.plan()
    world.ok("stage", "run", "--", "make", "test")
    world.ok("approve", "--digest", world.propose())


def test_f59_a_project_cannot_say_otherwise(tmp_path: Path) -> None:
    world = World(tmp_path, config=f"{TRUSTING}independent = true\n")
    world.put(".opencode/assent.toml", b"[approve]\nindependent = false\n")
    world.plan()
    world.write("x.txt", b"x\n")
    digest = world.propose()
    assert world.no(7, "approve", "--digest", digest)["error"] == "not_independent"


def test_f59_a_file_that_others_can_write_still_wants_two_people(tmp_path: Path) -> None:
    world = World(tmp_path, config=f"{TRUSTING}independent = true\n")
    world.plan()
    world.write("x.txt", b"x\n")
    digest = world.propose()
    world.config.chmod(0o664)
    assert world.no(7, "approve", "--digest", digest)["error"] == "not_independent"


def test_f59_a_name_in_the_environment_makes_nobody_else(tmp_path: Path) -> None:
    world = World(tmp_path, config=f"{TRUSTING}independent = true\n")
    world.plan()
    world.write("x.txt", b"x\n")
    digest = world.propose()
    world.env |= {"LOGNAME": "ada", "USER": "ada", "LNAME": "ada", "USERNAME": "ada"}
    assert world.no(7, "approve", "--digest", digest)["error"] == "not_independent"


def test_f59_another_key_agrees_and_the_runner_insists_on_it(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.plan()
    digest = machines.planner.ok("review", str(machines.file))["digest"]
    machines.planner.ok("approve", str(machines.file), "--digest", digest)
    own, other = key_of(machines.planner), key_of(machines.person)
    keys = f'[keys]\nplanner = "{own}"\nada = "{other}"\n'
    machines.runner.config.write_text(f"{TRUSTING}independent = true\n{keys}", encoding="utf-8")
    assert machines.runner.no(7, "build", str(machines.file))["error"] == "not_independent"
    assert (machines.runner.root / "a.txt").read_bytes() == OLD["a.txt"]
    machines.approve()
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"


def test_f59_who_asked_for_a_file_is_told_before_reading_it_all(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    digest = machines.plan()
    machines.planner.config.write_text(f"{TRUSTING}independent = true\n", encoding="utf-8")
    before = machines.file.read_bytes()
    error = machines.planner.no(7, "approve", str(machines.file), "--digest", digest)
    assert error["error"] == "not_independent"
    assert machines.file.read_bytes() == before
