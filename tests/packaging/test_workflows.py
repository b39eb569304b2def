"""Workflows of the server run what is checked here, on every Python, from pinned packages."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_everything_that_is_installed_is_pinned_by_hash(path: Path) -> None:
    lines = [line for step in steps(path) for line in str(step.get("run", "")).splitlines()]
    installs = [line for line in lines if "pip install" in line]
    assert installs
    for line in installs:
        (pinned,) = re.findall(r"--require-hashes -r (\S+)|--no-deps .*(?:dist/)", line) or [None]
        assert pinned is not None, line
        if pinned:
            rows = re.findall(
                r"^[a-z][\w.-]*==(?:.*\\\n)+.*sha256:", (ROOT / pinned).read_text(), re.M
            )
            names = re.findall(r"^[a-z][\w.-]*==", (ROOT / pinned).read_text(), re.M)
            assert len(rows) == len(names) > 0


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_have_a_version_and_no_job_keeps_the_token(path: Path) -> None:
    for step in steps(path):
        if uses := step.get("uses"):
            assert re.fullmatch(r"[\w-]+/[\w/-]+@(v\d+|release/v\d+|[0-9a-f]{40})", uses), uses
        if str(step.get("uses")).startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_pushes_and_pull_requests_are_tested_and_installed_on_every_python() -> None:
    flow = read(ROOT / ".github" / "workflows" / "ci.yml")
    assert {*flow[True]} == {"push", "pull_request"}  # YAML reads `on` as true
    jobs = flow["jobs"]
    rows = jobs["test"]["strategy"]["matrix"]["include"]
    assert [row["python"] for row in rows] == PYTHONS
    assert "test" in {row["target"] for row in rows} <= {"test", "quick"}
    assert jobs["install"]["strategy"]["matrix"]["python"] == PYTHONS
    runs = [step.get("run", "") for step in jobs["test"]["steps"]]
    assert "make system" in runs
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert {"system", "test", "quick"} <= {*targets}
