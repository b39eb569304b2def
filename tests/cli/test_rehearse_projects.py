"""Rehearsals and staged results in projects as people have them.

A virtual environment, installed packages of npm, a Makefile with generated code: each is made here
and tested by its own tools.
"""

import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.scripts import PRESENT, WRITE_PLAN, Talker, turn, write
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import settle

pytestmark = needs_bubblewrap

PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or ""
NPM_TEST = "npm test" if shutil.which("npm") else "node --test"  # npm runs just that


def python_project(world: World) -> None:
    """A virtual environment with an installed package, which the code and its test import."""
    if not PYTHON:
        pytest.skip("python3 of the system is missing")
    venv = world.root / ".venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(venv)], check=True)
    [packages] = venv.glob("lib/python*/site-packages")
    (packages / "polite.py").write_text("def hello(name):\n    return f'Hello, {name}!'\n")
    world.put(".gitignore", b".venv/\n__pycache__/\nscript.json\n")
    world.put("greet.py", b"import polite\n\nWORD = polite.hello('you')\n")
    world.put("names.py", b"import greet\nopen('names.txt', 'w').write(greet.WORD + '\\n')\n")
    world.put(
        "test_greet.py",
        b"import unittest, greet\n\n"
        b"class Test(unittest.TestCase):\n"
        b"    def test_it(self):\n        self.assertEqual(greet.WORD, 'Hello, world!')\n",
    )


def npm_project(world: World) -> None:
    """A package in `node_modules`, which the code requires; node's own test runner tests it."""
    if not shutil.which("node"):
        pytest.skip("node is missing; `make system` installs it")
    package = {"name": "greeter", "private": True, "scripts": {"test": "node --test"}}
    world.put("package.json", msgspec.json.encode(package))
    world.put(".gitignore", b"node_modules/\nscript.json\n")
    world.put("node_modules/polite/package.json", b'{"name": "polite", "main": "index.js"}')
    world.put("node_modules/polite/index.js", b"exports.hello = (name) => `Hello, ${name}!`;\n")
    world.put("greet.js", b"exports.word = require('polite').hello('you');\n")
    world.put(
        "names.js",
        b"require('fs').writeFileSync('names.txt', require('./greet').word + '\\n');\n"
        b"require('fs').writeFileSync('node_modules/.cache', 'warm');\n",
    )
    world.put(
        "greet.test.js",
        b"require('node:test')('greets', () =>\n"
        b"  require('assert').equal(require('./greet').word, 'Hello, world!'));\n",
    )


def make_project(world: World) -> None:
    """A header that a Makefile generates from a list; tests compare the two."""
    if not shutil.which("make"):
        pytest.skip("make is missing")
    world.put(".gitignore", b"*.tmp\nscript.json\n")
    world.put("words.list", b"Hello\nyou\n")
    world.put(
        "Makefile",
        b"names.txt: words.list\n\ttr '\\n' ' ' < words.list > words.tmp\n"
        b"\tcp words.tmp names.txt\n\n"
        b"generate: names.txt\n\n"
        b"test: names.txt\n\tgrep -q 'Hello world' names.txt\n\n"
        b".PHONY: generate test\n",
    )


class Project(msgspec.Struct, frozen=True):
    """How a project is made, tested and generated, and the change that makes its tests pass."""

    make: Callable[[World], None]
    test: str
    generate: str
    path: str
    right: str
    wrong: str
    caches: tuple[str, ...]  # what generating leaves behind, and is no part of the result


PROJECTS = {
    "python": Project(
        python_project, ".venv/bin/python -m unittest -q",
        "env -u PYTHONDONTWRITEBYTECODE .venv/bin/python names.py", "greet.py",
        "import polite\n\nWORD = polite.hello('world')\n", "WORD = 'Hi'\n",
        (".venv", "__pycache__")),
    "npm": Project(
        npm_project, NPM_TEST, "node names.js", "greet.js",
        "exports.word = require('polite').hello('world');\n", "exports.word = 'Hi';\n",
        ("node_modules",)),
    "make": Project(
        make_project, "make test", "make generate", "words.list",
        "Hello\nworld\n", "Hi\n", ("words.tmp",)),
}  # fmt: skip


@pytest.fixture(params=PROJECTS.values(), ids=PROJECTS)
def project(request: pytest.FixtureRequest, repo: World) -> Project:
    """A project with a commit; everything in it, installed packages too, is in the workspace."""
    found: Project = request.param
    found.make(repo)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Start")
    return found


def test_g12_a_person_rehearses_a_real_project(project: Project, repo: World) -> None:
    repo.plan()
    repo.write(project.path, project.wrong.encode())
    before = repo.files()
    failed = repo.run("rehearse", "--json", "--", project.test)
    assert (failed.code, failed.json["passed"]) == (1, False)
    repo.write(project.path, project.right.encode())
    found = repo.ok("rehearse", "--", project.test)
    assert found["passed"] is True, found
    generated = {"names.txt"} if project.make is make_project else set()
    assert {one["path"] for one in found["commands"][0]["changed"]} == generated
    assert repo.files() == before


def test_f61_what_a_real_project_generates_is_staged_without_caches(
    project: Project, repo: World
) -> None:
    repo.plan()
    repo.write(project.path, project.right.encode())
    before = repo.files()
    settle()
    found = repo.ok("stage", "result", "--", project.generate)
    assert [(one["kind"], one["path"]) for one in found["operations"]] == [("write", "names.txt")]
    left_out = [(one["path"], one["why"]) for one in found["not_staged"]]
    assert left_out == [(path, "ignored") for path in project.caches]
    assert repo.files() == before
    assert repo.ok("rehearse", "--", project.test)["passed"] is True
    assert repo.build()["outcome"] == "done"
    assert "world" in (repo.root / "names.txt").read_text("utf-8")


def test_g12_a_model_rehearses_a_real_project(project: Project, repo: World) -> None:
    talker, tries = Talker(repo), ("rehearse", {"commands": [project.test]})
    talker.script(
        turn("", WRITE_PLAN, write(project.path, project.wrong), tries, PRESENT),
        turn("", write(project.path, project.right), tries, PRESENT),
    )
    before = repo.files()
    rows = talker.stream("Greet the world", code=3)
    ended: list[Any] = [row["body"] for row in rows if row["kind"] == "call_ended"]
    failed, passed = (each for each in ended if each["tool"] == "rehearse")
    assert failed["metadata"]["passed"] is False
    assert f"- {project.test} (yours): exit " in failed["result"]["text"]
    assert passed["metadata"]["passed"] is True, passed["result"]["text"]
    presented = [each["result"]["failed"] for each in ended if each["tool"] == "present_plan"]
    assert presented == [True, False]
    assert repo.ok("review")["rehearsal"]["by"] == "model"
    assert repo.files() == before
