"""Evidence of a run verifies with a public key alone: by Assent, by a few lines, by OpenSSL."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.machines import Machines, key_of, signer_of
from tests.house.source import ROOT

from assent import __version__
from assent.app.composition import open_engine_at
from assent.config.paths import AppPaths
from assent.core.errors import AssentError
from assent.core.run.evidence import envelope_bytes, pae

PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
NEEDED = ("openssl", "jq", "xxd", "base64")


@pytest.fixture
def built(tmp_path: Path) -> World:
    """A workspace with one run, and its evidence."""
    world = World(tmp_path)
    world.put("old.txt", b"old\n")
    world.put("gone.txt", b"bye\n")
    world.plan()
    world.write("old.txt", b"new\n")
    world.write("bin/tool", b"#!/bin/sh\n", "--mode", "755")
    world.ok("stage", "delete", "gone.txt")
    digest = world.propose()
    world.ok("approve", "--digest", digest, "--note", "Checked with Ada", "--expires", "1h")
    world.ok("build")
    world.ok("export", "--out", str(evidence(world)))
    return world


def evidence(world: World) -> Path:
    return world.base / "run.json"


def statement(world: World) -> dict[str, Any]:
    payload = json.loads(evidence(world).read_bytes())["payload"]
    found: dict[str, Any] = json.loads(b64decode(payload))
    return found


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```\n", PAGE, re.DOTALL)
    assert found
    return found[1]


def checked(world: World, language: str, key: str) -> int:
    """Lets what the page shows decide, in a folder of its own."""
    program = [sys.executable, "-c"] if language == "python" else ["bash", "-c"]
    name = [] if language == "python" else ["verify.sh"]
    folder = world.base / "elsewhere"
    folder.mkdir(exist_ok=True)
    line = [*program, block(language), *name, str(evidence(world)), key]
    return subprocess.run(line, cwd=folder, capture_output=True, check=False, timeout=60).returncode


def languages() -> list[str]:
    return ["python", *(["sh"] if all(map(shutil.which, NEEDED)) else [])]


def test_g16_a_statement_says_what_was_done_and_who_agreed(built: World) -> None:
    run = built.ok("status")["run"]["run"]
    plan = built.ok("review")
    found = statement(built)
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert found["predicateType"] == "urn:assent:run:1"
    names = {each["name"]: each["digest"] for each in found["subject"]}
    assert list(names) == ["bin/tool", "old.txt", "assent://plan"]
    assert names["assent://plan"] == {"sha256": plan["digest"]}
    said = found["predicate"]
    assert (said["run"], said["outcome"]) == (run, "done")
    assert said["tool"] == {"name": "assent", "version": __version__}
    for name in ("digest", "content_hash", "operations_hash"):
        assert said["plan"][name] == plan[name]
    assert [(op["kind"], op["result"]) for op in said["operations"]] == [
        ("write", "done"), ("write", "done"), ("delete", "done"),
    ]  # fmt: skip
    assert [op["id"] for op in said["operations"]] == [op["id"] for op in plan["operations"]]
    (gone,) = said["operations"][2]["files"]
    assert (gone["path"], gone["path_hex"], gone["after"]) == ("gone.txt", b"gone.txt".hex(), None)
    (tool,) = said["operations"][1]["files"]
    assert (tool["before"], tool["after"]["mode"]) == (None, "755")
    yes = said["approval"]
    assert (yes["note"], yes["digest"], yes["key"]) == (
        "Checked with Ada", plan["digest"], key_of(built),
    )  # fmt: skip
    assert yes["expires_at"] > yes["approved_at"]
    assert said["journal"]["entries"] > 1


def test_g16_it_verifies_offline_with_the_public_key(built: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    key = key_of(built)
    found = other.ok("verify", str(evidence(built)), "--key", key)
    assert (found["verified"], found["key"], found["outcome"]) == (True, key, "done")
    assert [each["path"] for each in found["files"]] == ["bin/tool", "old.txt"]
    assert other.no(7, "verify", str(evidence(built)))["error"] == "untrusted"
    other.ok("keys", "trust", key, "--name", "runner")
    assert other.ok("verify", str(evidence(built))) == found
    assert built.ok("verify", str(evidence(built))) == found
    apart = built.base / "the run.json"
    line = built.run("export", "--out", str(apart)).out.decode().splitlines()[-1]
    assert line == f"Next, on any machine: assent verify '{apart}' --key {key}"
    assert other.run(*shlex.split(line.partition(": assent ")[2])).code == 0
    text = other.run("verify", str(evidence(built))).out.decode()
    assert "What this proves:" in text
    assert "What it does not prove:" in text


@pytest.mark.parametrize("language", languages())
def test_g16_what_the_page_shows_verifies_it(built: World, language: str) -> None:
    key = key_of(built)
    assert checked(built, language, key) == 0
    assert checked(built, language, "ab" * 32) != 0
    envelope = json.loads(evidence(built).read_bytes())
    payload = b64decode(envelope["payload"]).replace(b'"outcome":"done"', b'"outcome":"gone"')
    envelope["payload"] = b64encode(payload).decode()
    evidence(built).write_text(json.dumps(envelope), encoding="utf-8")
    assert checked(built, language, key) != 0
    assert built.no(7, "verify", str(evidence(built)))["error"] == "refused"


def test_g16_any_changed_byte_is_noticed_or_means_the_same(built: World) -> None:
    here = AppPaths(built.state / "assent", built.config.parent)
    engine, _ = open_engine_at(str(built.root), here)
    content = evidence(built).read_bytes()
    wanted = engine.evidence.verify(content)
    for at in range(0, len(content), 3):
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        try:
            assert engine.evidence.verify(changed) == wanted, at
        except AssentError:
            continue
    engine.close()


def test_g16_an_approval_that_nobody_signed_is_found(built: World, tmp_path: Path) -> None:
    """The machine itself claims a yes that was not given: its own signature does not help."""
    found = statement(built)
    found["predicate"]["approval"]["note"] = "Anything goes"
    payload, signer = json.dumps(found).encode(), signer_of(built)
    forged = envelope_bytes(payload, signer.key(), signer.sign(pae(payload)))
    evidence(built).write_bytes(forged)
    error = built.no(7, "verify", str(evidence(built)))
    assert "approval" in error["message"]
    assert checked(built, "python", signer.key()) != 0


def test_g16_an_imported_run_names_two_keys(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.ready()
    run = machines.runner.ok("build", str(machines.file))["run"]
    file = tmp_path / "run.json"
    machines.runner.ok("export", run[:20], "--out", str(file))
    found = machines.person.ok("verify", str(file), "--key", key_of(machines.runner))
    assert (found["run"], found["approval"]["key"]) == (run, key_of(machines.person))
    assert found["key"] == key_of(machines.runner)


def test_g16_an_undo_is_a_run_like_any_other(built: World) -> None:
    run = built.undo().json["run"]
    built.ok("export", "--out", str(evidence(built)))
    found = statement(built)
    assert found["predicate"]["run"] == run
    assert found["predicate"]["plan"]["undoes"]
    assert [each["name"] for each in found["subject"]] == ["gone.txt", "old.txt", "assent://plan"]


def test_g16_what_a_command_changed_is_among_the_files(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plan()
    world.ok("stage", "run", "--script", "echo made > made.txt")
    world.build()
    world.ok("export", "--out", str(evidence(world)))
    found = statement(world)
    assert [each["name"] for each in found["subject"]] == ["made.txt", "assent://plan"]
    (command,) = found["predicate"]["operations"]
    assert (command["kind"], command["script"]) == ("run", "echo made > made.txt")


def test_g16_an_accepted_run_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plan()
    world.ok("stage", "run", "--", "false")
    world.write("q", b"q\n")
    world.approve()
    assert world.run("build").code == 6
    world.ok("recover", "--accept")
    world.ok("export", "--out", str(evidence(world)))
    assert statement(world)["predicate"]["outcome"] == "accepted"
    found = world.ok("verify", str(evidence(world)))
    told = [(op["kind"], op["result"]) for op in found["operations"]]
    assert (found["outcome"], found["files"]) == ("accepted", [])
    assert told == [("run", "failed"), ("write", "not_started")]
    assert not any("was applied" in text for text in found["proves"])
    text = world.run("verify", str(evidence(world))).out.decode()
    assert re.search(r"^not_started +write +q$", text, re.MULTILINE)
    assert world.ok("status")["run"]["accepted"] is True
    assert "was accepted as is." in world.run("status").out.decode()


def test_g16_what_nobody_recorded_is_no_subject(tmp_path: Path) -> None:
    """A command changes a file that git ignores: what the plan wrote stands there no more."""
    world = World(tmp_path)
    subprocess.run(["git", "init", "-q", str(world.root)], check=True)
    world.put(".gitignore", b"ignored\n")
    world.plan()
    world.write("ignored", b"ours\n")
    world.write("kept", b"ours\n")
    world.ok("stage", "run", "--script", "echo theirs > ignored; echo made > made")
    world.build()
    world.ok("export", "--out", str(evidence(world)))
    found = world.ok("verify", str(evidence(world)))
    assert [each["path"] for each in found["files"]] == ["kept", "made"]
    (left,) = found["not_covered"]
    assert (left["path"], "Git ignores" in left["why"]) == ("ignored", True)
    assert "Not covered: ignored: " in world.run("verify", str(evidence(world))).out.decode()


def test_g16_a_run_that_is_not_over_has_no_evidence(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.no(1, "export", "--out", "x.json")["error"] == "not_found"
    world.plan()
    world.ok("stage", "run", "--", "false")
    world.approve()
    run = world.run("build", "--json").json["run"]
    assert world.no(6, "export", run, "--out", "x.json")["error"] == "needs_you"
    assert world.no(1, "export", "nothing", "--out", "x.json")["error"] == "not_found"


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_evidence_is_refused(built: World, content: bytes) -> None:
    evidence(built).write_bytes(content)
    assert built.no(7, "verify", str(evidence(built)))["error"] == "damaged"


def test_the_envelope_may_go_to_stdout(built: World) -> None:
    answer = built.run("export")
    assert (answer.code, answer.out) == (0, evidence(built).read_bytes())
    assert built.no(2, "export")["error"] == "usage"
