"""A story is recorded by answering requests in files, and plays again as it was recorded."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
from bench.record_story import Recording, record, shown_request
from bench.startup import ASSENT
from bench.stories import Step, Story, play, program
from bench.story_code import OtherVersion, make_code_base, make_machine, version_of
from bench.story_server import story_server

CODE = {"iniconfig": version_of("iniconfig")}
FILES = {"tests/test_own.py": "# Our own.\n"}
ASKS = {"text": "I look.", "calls": [{"tool": "read", "args": {"path": "tests/test_own.py"}}]}
STAGES = {
    "calls": [
        {"tool": "write", "args": {"path": "NOTES.md", "content": "One.\n"}},
        {"tool": "read", "args": {"path": "missing.py"}},
        {"tool": "write_plan", "args": {"text": "# Notes\n"}},
    ]
}
PRESENTS = {"calls": [{"tool": "present_plan"}]}


def answer_by_hand(base: Path, answers: list[object]) -> threading.Thread:
    """Starts somebody who reads each request and writes the next answer."""

    def answer() -> None:
        for number, each in enumerate(answers, start=1):
            until = time.monotonic() + 60
            while not (base / f"{number:03}-request.md").exists() and time.monotonic() < until:
                time.sleep(0.05)
            if number == 1:  # one that is no turn is refused, and another may be written
                _answer(base, number, {"says": "hello"})
                while not (base / "001-refused.txt").exists() and time.monotonic() < until:
                    time.sleep(0.05)
            _answer(base, number, each)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread


def _answer(base: Path, number: int, answer: object) -> None:
    part = base / f"{number:03}-answer.part"
    part.write_bytes(msgspec.json.encode(answer))
    part.rename(base / f"{number:03}-answer.json")


def recorded(base: Path) -> Recording:
    base.mkdir()
    steps = (Step(("-p", "Write notes")), Step(("approve", "--digest", "{digest}", "--build")))
    answerer = answer_by_hand(base, [ASKS, STAGES, PRESENTS])
    recording = record(Story("Notes", steps, {"iniconfig": ""}, FILES), base, ASSENT)
    answerer.join(60)
    return recording


@pytest.mark.slow
def test_a_story_is_recorded_by_hand_and_plays_again(tmp_path: Path) -> None:
    base = tmp_path / "recorded"
    recording = recorded(base)
    story, end = recording.story, recording.end
    assert story.code == CODE  # the version that was found
    assert [(step.exit, step.failed, len(step.answers)) for step in story.steps] == [
        (3, 1, 3),
        (0, 0, 0),
    ]
    assert recording.first_plan == end
    assert (end.requests, end.calls) == (3, 5)
    assert (base / "project" / "NOTES.md").read_text(encoding="utf-8") == "One.\n"

    first, second, third = sorted(base.glob("*-request.md"))
    told = first.read_text(encoding="utf-8")
    assert "## Tool `read`" in told
    assert "## system" in told
    assert "Write notes" in told
    told = second.read_text(encoding="utf-8")
    assert "# Our own." in told
    assert "## Tool `read`" not in told
    assert "Write notes" not in told
    assert "# Our own." not in third.read_text(encoding="utf-8")

    with story_server() as server:
        env = make_machine(tmp_path / "played", story.code, story.files)
        run = program(
            ASSENT, tmp_path / "played" / "project", env | {"OPENAI_BASE_URL": server.url}
        )
        cost = play("notes", story, server, run)
    assert (cost.requests, cost.calls) == (end.requests, end.calls)


def test_only_what_is_new_of_a_request_is_shown() -> None:
    def tool(name: str, meaning: str) -> dict[str, object]:
        return {"function": {"name": name, "description": meaning, "parameters": {}}}

    def said(role: str, text: str) -> dict[str, object]:
        return {"role": role, "content": text}

    system, goal, answer = said("system", "Rules"), said("user", "Goal"), said("assistant", "Sure")
    first = {"messages": [system, goal], "tools": [tool("read", "Reads"), tool("list", "Lists")]}
    child = {"messages": [system, said("user", "Task")], "tools": [tool("read", "Reads")]}
    later = {"messages": [system, goal, answer], "tools": [tool("read", "Reads all")]}
    whole = shown_request(first, [])
    assert [word in whole for word in ("Rules", "Goal", "Reads", "Lists")] == [True] * 4
    assert "Rules" in shown_request(child, [first])  # another conversation
    told = shown_request(later, [first, child])
    assert [word in told for word in ("Rules", "Goal", "Sure", "Reads all")] == [
        False,
        False,
        True,
        True,
    ]
    assert "Tool `list` is gone" in told


def test_code_is_what_the_environment_has_in_the_version_that_was_recorded(tmp_path: Path) -> None:
    make_code_base(tmp_path / "one", CODE, FILES)
    make_code_base(tmp_path / "two", CODE, FILES)
    heads = [(tmp_path / name / ".git/refs/heads/main").read_bytes() for name in ("one", "two")]
    assert heads[0] == heads[1]
    assert (tmp_path / "one/iniconfig/__init__.py").is_file()
    assert not list((tmp_path / "one").rglob("*.pyc"))
    version = CODE["iniconfig"]
    with pytest.raises(OtherVersion, match=rf"Recorded with iniconfig 0\.1, found {version}"):
        make_code_base(tmp_path / "three", {"iniconfig": "0.1"})
    with pytest.raises(OtherVersion, match="which is not installed"):
        make_code_base(tmp_path / "four", {"no-such-package": "1"})


def recorder(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the program that records, to its end."""
    line = [sys.executable, "-m", "bench.record_story", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)


def test_a_person_goes_on_by_hand_after_a_step_that_failed(tmp_path: Path) -> None:
    base = tmp_path / "recorded"
    base.mkdir()
    _write_json(base / "step-2.json", ["status"])
    _write_json(base / "step-3.json", [])
    recording = record(Story("Nothing", (Step(("build",)),), CODE), base, ASSENT)
    assert [(step.run, bool(step.exit)) for step in recording.story.steps] == [
        (("build",), True),
        (("status",), False),
    ]
    assert (recording.first_plan, recording.end.requests) == (None, 0)


def test_the_program_writes_a_story_that_can_be_read_again(tmp_path: Path) -> None:
    setup, folder, out = (tmp_path / name for name in ("setup.json", "folder", "story.json"))
    given = {"title": "Look", "code": {"iniconfig": ""}, "files": FILES}
    _write_json(setup, {**given, "steps": [{"run": ["status"]}]})
    done = recorder(setup, folder, out)
    assert done.returncode == 0, done.stderr
    written = msgspec.json.decode(out.read_bytes())
    assert written == {**given, "code": CODE, "steps": [{"run": ["status"]}]}
    assert msgspec.json.decode(out.read_bytes(), type=Story).steps == (Step(("status",)),)
    again = recorder(setup, folder, out)
    assert again.returncode == 1
    assert "exists already" in again.stderr


def test_the_program_says_what_is_wrong_with_a_set_up(tmp_path: Path) -> None:
    setup = tmp_path / "setup.json"
    _write_json(setup, {"title": "Look", "code": {"iniconfig": "0.1"}, "steps": []})
    done = recorder(setup, tmp_path / "folder", tmp_path / "story.json")
    assert done.returncode == 1
    assert "Recorded with iniconfig 0.1, found" in done.stderr
    _write_json(setup, {"titles": "Look"})
    done = recorder(setup, tmp_path / "other", tmp_path / "story.json")
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    assert not (tmp_path / "other").exists()


def _write_json(file: Path, value: object) -> None:
    file.write_bytes(msgspec.json.encode(value))
