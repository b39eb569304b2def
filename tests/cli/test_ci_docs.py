"""docs/ci.md can be followed as written: its steps are run, on three homes that share nothing."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tests.cli.harness import World
from tests.cli.terminal import Terminal
from tests.house.source import ROOT

from assent.core import errors
from assent.core.errors import AssentError

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```yaml\n# (\S+)\n(.*?)```\n", re.DOTALL)
EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
NOT_OURS = "pip "  # needs a network
NOBODY = {  # no machine's own settings, and git guesses no name: as on a runner that starts empty
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.useConfigOnly",
    "GIT_CONFIG_VALUE_0": "true",
}


class Home:
    """A machine as a job has it: a checkout, a home, and nothing else."""

    def __init__(self, base: Path) -> None:
        self.world = World(base, config="")
        self.world.config.unlink()
        self.world.env.pop("XDG_CONFIG_HOME")
        self.world.env.pop("XDG_STATE_HOME")
        folder = str(Path(sys.executable).parent)
        self.world.env["PATH"] = os.pathsep.join([folder, self.world.env["PATH"]])
        self.world.env |= NOBODY
        self.world.put("VERSION", b"1.2.0\n")

    def check_out(self) -> None:
        """Makes the folder a clone with one commit, of a repository that it may push to."""
        remote = str(self.world.base / "remote.git")
        for line in (
            ("init", "-q", "--bare", "-b", "main", remote),
            ("init", "-q", "-b", "main"),
            ("add", "VERSION"),
            ("commit", "-q", "-m", "Release 1.2.0"),
            ("remote", "add", "origin", remote),
            ("push", "-q", "-u", "origin", "main"),
        ):
            self.world.git(*line)

    def pushed(self) -> tuple[bytes, bytes]:
        """The last commit's title and the version in it, as others would fetch them."""
        at = f"--git-dir={self.world.base / 'remote.git'}"
        title = self.world.git(at, "log", "-1", "--format=%s", "main")
        return title, self.world.git(at, "show", "main:VERSION")

    def run(self, script: str, **variables: str) -> None:
        """Runs the lines of a step as a runner does: the first that fails ends it."""
        lines = [line for line in script.splitlines() if not line.startswith(NOT_OURS)]
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=self.world.root,
            env={**self.world.env, **variables},
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, (script, done.stdout, done.stderr)

    @property
    def version(self) -> bytes:
        return (self.world.root / "VERSION").read_bytes()


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home, Home]:
    planner, person, runner = (Home(tmp_path / name) for name in ("planner", "person", "runner"))
    return planner, person, runner


def shell(who: str) -> str:
    """Returns the lines that the page lets one of the three type."""
    found = re.search(rf"<!-- runs: {who} -->\n```sh\n(.*?)```\n", PAGE, re.DOTALL)
    assert found, who
    return found[1]


def example(name: str) -> dict[str, Any]:
    found = dict(BLOCK.findall(PAGE))
    read: dict[str, Any] = yaml.safe_load(found[name])
    return read


def carried(name: str, source: Home, target: Home) -> None:
    """Carries a file from one machine to another, as an artifact or a person does."""
    target.world.put(name, (source.world.root / name).read_bytes())


def approved(person: Home) -> str:
    """Lets a person follow the page on their terminal; returns their key."""
    lines = shell("person").splitlines()
    assert [line.split()[1] for line in lines] == ["keys", "review", "approve"]
    for line in lines[:2]:
        person.run(line)
    digest = person.world.ok("review", str(person.world.root / "plan.json"))["digest"]
    terminal = Terminal(person.world, *lines[2].split()[1:])
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    return str(person.world.ok("keys", "show")["key"])


def job(steps: list[dict[str, Any]], home: Home, values: Mapping[str, str]) -> None:
    """Runs the steps of a job that are commands, with the values that the service fills in."""
    for step in steps:
        variables = {
            name: EXPRESSION.sub(lambda found: values[found[1]], text)
            for name, text in step.get("env", {}).items()
        }
        home.run(step.get("run", ""), **variables)


def test_g14_the_flow_of_the_page_works(homes: tuple[Home, Home, Home]) -> None:
    planner, person, runner = homes
    planner.run(shell("planner"))
    carried("plan.json", planner, person)
    key = approved(person)
    for name, source in (("plan.json", planner), ("approval.json", person)):
        carried(name, source, runner)
    runner.run(shell("runner"), ADA_KEY=key)
    assert (runner.version, planner.version) == (b"1.3.0\n", b"1.2.0\n")
    runner.run("assent verify evidence.json")


def test_g14_the_workflows_of_github_work(homes: tuple[Home, Home, Home]) -> None:
    planner, person, runner = homes
    runner.check_out()
    job(example(".github/workflows/plan.yml")["jobs"]["plan"]["steps"], planner, {})
    carried("plan.json", planner, person)
    key = approved(person)
    carried("plan.json", planner, runner)
    line = (person.world.root / "approval.json").read_text(encoding="utf-8").rstrip("\n")
    apply = example(".github/workflows/apply.yml")["jobs"]["apply"]["steps"]
    job(apply, runner, {"vars.ADA_KEY": key, "inputs.approval": line})
    assert runner.version == b"1.3.0\n"
    assert runner.pushed() == (b"Release 1.3.0\n", b"1.3.0\n")
    assert not (runner.world.base / "home" / ".gitconfig").exists()
    scripts = "".join(step.get("run", "") for step in apply)
    assert "${{" not in scripts, "what others typed never becomes part of a script"


def test_g14_the_pipeline_of_gitlab_works(homes: tuple[Home, Home, Home]) -> None:
    planner, person, runner = homes
    runner.check_out()
    jobs = example(".gitlab-ci.yml")
    planner.run("\n".join(jobs["plan"]["script"]))
    carried("plan.json", planner, person)
    key = approved(person)
    carried("plan.json", planner, runner)
    line = (person.world.root / "approval.json").read_text(encoding="utf-8").rstrip("\n")
    runner.run("\n".join(jobs["apply"]["script"]), ADA_KEY=key, APPROVAL=line)
    assert runner.version == b"1.3.0\n"


def test_g14_a_job_without_a_yes_fails_with_three(homes: tuple[Home, Home, Home]) -> None:
    planner, _, runner = homes
    planner.run(shell("planner"))
    carried("plan.json", planner, runner)
    file = str(runner.world.root / "plan.json")
    assert runner.world.process("build", file, "--json").code == 3
    assert runner.version == b"1.2.0\n"


def test_every_word_of_the_table_has_the_code_of_its_row() -> None:
    rows = re.findall(r"^\| (\d) \| (.*?) \|", PAGE, re.MULTILINE)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.word: kind.exit for kind in kinds if issubclass(kind, AssentError)}
    assert [code for code, _ in rows] == list("01234567")
    for code, words in rows:
        assert {codes[word] for word in re.findall(r"`(\w+)`", words)} <= {int(code)}
