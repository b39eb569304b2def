"""How many of our modules a start loads: loading them is most of the time of a short command."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.house.source import functions, modules, nodes
from tests.llm.server import serving

STATUS_LIMIT = 120
REVIEW_LIMIT = 158
# Slow to load, and of no use to a review: of files that are read, in a folder without settings.
NOT_FOR_REVIEWS = {"typing_extensions", "tomllib", "ctypes", "difflib", "shutil"}
REQUEST_LIMIT = 200

# Prints which modules are loaded once a command is over.
AT_THE_END = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from assent.cli import main
main()
"""
# Prints them at the moment when the first byte of a request is about to go out.
AT_THE_REQUEST = """
import json, socket, sys
sendall = socket.socket.sendall
def tell(sock, *rest):
    print(json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True)
    socket.socket.sendall = sendall
    return sendall(sock, *rest)
socket.socket.sendall = tell
from assent.cli import main
main()
"""


class Machine:
    """A repository with an initialised workspace, and a person of its own."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.root.mkdir()
        (base / "home").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(base / "home"),
            "XDG_STATE_HOME": str(base / "state"),
            "XDG_CONFIG_HOME": str(base / "config"),
        }
        subprocess.run(["git", "init", "-q"], cwd=self.root, env=self.env, check=True)
        self.loaded(AT_THE_END, "init")

    def loaded(self, code: str, *words: str) -> list[str]:
        """Runs a command, which must succeed, and returns our modules that it loaded."""
        ran = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        told = [line for line in ran.stderr.splitlines() if line.startswith(b"[")]
        self.all_loaded: set[str] = set(json.loads(told[0]))
        return sorted(name for name in self.all_loaded if name.split(".")[0] == "assent")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_status_loads_few_modules(machine: Machine) -> None:
    machine.loaded(AT_THE_END, "plan", "new", "one", "--goal", "A first file")
    (machine.root / "draft").write_text("text\n", encoding="utf-8")
    machine.loaded(AT_THE_END, "stage", "write", "a.txt", "--from", "draft")
    machine.loaded(AT_THE_END, "propose")
    found = machine.loaded(AT_THE_END, "status")
    assert "assent.planning.plans" in found, "the command was not run"
    assert len(found) <= STATUS_LIMIT, by_package(found)


def test_a_review_of_files_loads_nothing_that_signs_runs_or_asks(machine: Machine) -> None:
    machine.loaded(AT_THE_END, "plan", "new", "one", "--goal", "A first file")
    (machine.root / "draft").write_text("text\n", encoding="utf-8")
    machine.loaded(AT_THE_END, "stage", "write", "a.txt", "--from", "draft")
    machine.loaded(AT_THE_END, "propose")
    found = machine.loaded(AT_THE_END, "review")
    assert "assent.planning.reviews" in found, "the command was not run"
    assert len(found) <= REVIEW_LIMIT, by_package(found)
    assert not machine.all_loaded & NOT_FOR_REVIEWS
    assert "assent.agent.sessions" not in found
    assert "assent.runs.undo.service" not in found
    assert "assent.runs.run_status" not in found  # nothing has run


def test_staging_loads_no_session(machine: Machine) -> None:
    machine.loaded(AT_THE_END, "plan", "new", "one", "--goal", "A first file")
    (machine.root / "draft").write_text("text\n", encoding="utf-8")
    machine.loaded(AT_THE_END, "stage", "write", "a.txt", "--from", "draft")
    found = machine.loaded(AT_THE_END, "stage", "write", "b.txt", "--from", "draft")
    assert "assent.planning.drafts" in found, "the command was not run"
    assert "assent.agent.sessions" not in found, by_package(found)


def test_a_first_request_loads_few_modules(machine: Machine) -> None:
    with serving() as server:
        machine.env |= {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1",
            "OPENAI_API_KEY": "key-of-a-test",
        }
        found = machine.loaded(AT_THE_REQUEST, "-p", "Say hello", "--model", "openai/any")
    assert "assent.llm.http_client" in found, "nothing was asked"
    assert len(found) <= REQUEST_LIMIT, by_package(found)


def test_nothing_stands_in_for_what_is_loaded_later() -> None:
    classes = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in modules().items()
        for node in nodes(tree)
        if isinstance(node, ast.ClassDef)
    ]
    assert [one for one in (*classes, *functions()) if "lazy" in one.split()[1].lower()] == []


def by_package(names: list[str]) -> str:
    """Lists modules by package, for whoever has to find out which are too many."""
    packages = Counter(".".join(name.split(".")[:2]) for name in names if "." in name)
    rows = [
        f"{count:4} {package}: "
        + " ".join(name[len(package) + 1 :] for name in names if name.startswith(f"{package}."))
        for package, count in sorted(packages.items())
    ]
    return "\n".join([f"{len(names)} modules", *rows])
