"""Rules from end to end: OpenCode's tables decide about a model's calls, and a deny sticks."""

import json
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events

YOLO = ("--mode", "yolo")
ASK = ("--mode", "ask")


def opencode(stage: Stage, table: object) -> None:
    """Writes the user's own OpenCode configuration."""
    folder = stage.base / "config" / "opencode"
    folder.mkdir(exist_ok=True)
    text = "// mine\n" + json.dumps({"permission": table})
    (folder / "opencode.jsonc").write_text(text, encoding="utf-8")


def write(path: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": path, "content": "new\n"}


def failures(
    stage: Stage, *calls: tuple[str, dict[str, Any]], options: tuple[str, ...]
) -> list[bool]:
    return [ended["result"]["failed"] for ended in stage.called(*calls, options=options)]


def test_f70_an_opencode_table_decides_about_a_models_edits(stage: Stage) -> None:
    opencode(stage, {"edit": {"*": "allow", "vendor/*": "deny"}})
    stage.put("vendor/a.py", b"old\n")
    assert failures(stage, write("src/b.py"), write("vendor/a.py"), options=ASK) == [False, True]
    files = stage.files()
    assert (files[b"src/b.py"][2], files[b"vendor/a.py"][2]) == (b"new\n", b"old\n")


def test_f71_the_last_match_wins_and_nothing_matched_asks(stage: Stage) -> None:
    opencode(stage, {"edit": {"src/*": "allow", "*": "deny"}})
    assert failures(stage, write("src/a.py"), options=YOLO) == [True]
    opencode(stage, {"edit": {"*": "deny", "src/*": "allow"}})
    assert failures(stage, write("src/a.py"), options=ASK) == [False]
    opencode(stage, {"edit": {"src/*": "allow"}})
    assert failures(stage, write("docs/a.md"), options=ASK) == [True]  # nobody could be asked


LOOKS = {
    "list": {"sec*": "deny"},
    "grep": {"*topsecret*": "deny"},
    "glob": {"*.txt": "deny"},
    "todowrite": "ask",
    "question": "deny",
}
LOOKED: list[tuple[str, dict[str, Any]]] = [
    ("list", {"path": "secret"}),
    ("list", {"path": "./src/../secret"}),
    ("grep", {"pattern": "a topsecret"}),
    ("search", {"name": "topsecret"}),
    ("glob", {"pattern": "*.txt"}),
    ("todo", {"todos": [{"content": "x"}]}),
    ("question", {"questions": [{"question": "Why?"}]}),
]
FINE: list[tuple[str, dict[str, Any]]] = [
    ("list", {"path": "src"}),
    ("grep", {"pattern": "secret"}),
    ("search", {"name": "main"}),
    ("glob", {"pattern": "*.py"}),
]


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_f70_opencodes_rules_for_tools_that_look_count_by_what_is_looked_for(
    stage: Stage, mode: str
) -> None:
    opencode(stage, LOOKS)
    stage.put("secret/a.txt", b"x\n")
    stage.put("src/a.py", b"main = 1\n")
    assert failures(stage, *LOOKED, options=("--mode", mode)) == [True] * len(LOOKED)
    assert failures(stage, *FINE, options=("--mode", mode)) == [False] * len(FINE)


def test_f70_an_ask_for_a_tool_that_looks_asks_while_planning(stage: Stage) -> None:
    opencode(stage, {"glob": "ask"})
    looked = {"calls": [{"tool": "glob", "args": {"pattern": "*.py"}}]}
    answer = stage.play(looked, {"text": "Done."})
    [asked] = [event["body"] for event in events(answer) if event["kind"] == "question_asked"]
    assert "searching for *.py" in asked["questions"][0]["question"]
    [ended] = [event["body"] for event in events(answer) if event["kind"] == "call_ended"]
    assert ended["result"]["failed"]


def test_f8_a_mode_with_a_list_of_tools_has_those_that_go_by_another_word(stage: Stage) -> None:
    stage.config.write_text(
        '[modes.few]\nbase = "ask"\ntools = ["todo", "search"]\n', encoding="utf-8"
    )
    assert failures(stage, LOOKED[5], FINE[2], options=("--mode", "few")) == [False, False]


def test_f75_a_patch_that_moves_into_a_denied_folder_is_refused(stage: Stage) -> None:
    opencode(stage, {"edit": {"*": "allow", "vendor/*": "deny"}})
    stage.put("a.py", b"old\n")
    moved = ("move", {"path": "a.py", "to": "vendor/a.py"})
    lines = ("*** Begin Patch", "*** Update File: a.py", "*** Move to: vendor/a.py", "@@", "-old",
             "+new", "*** End Patch")  # fmt: skip
    patched = ("patch", {"patch": "\n".join(lines)})
    ended = stage.called(moved, patched, options=YOLO)
    assert [each["result"]["failed"] for each in ended] == [True, True]
    assert all("denies it" in json.dumps(each) for each in ended)
    assert stage.files()[b"a.py"][2] == b"old\n"


def test_f87_a_rules_deny_lets_the_model_go_on_with_the_reason(stage: Stage) -> None:
    stage.config.write_text(
        '[[rules]]\npermission = "edit"\npattern = "*.lock"\naction = "deny"\n'
        'reason = "Lock files are made by tools."\n',
        encoding="utf-8",
    )
    answer = stage.play(
        {"calls": [{"tool": "write", "args": write("uv.lock")[1]}]},
        {"calls": [{"tool": "write", "args": write("a.py")[1]}]},
        {"text": "Done."},
        options=YOLO,
    )
    ended = [event["body"] for event in events(answer) if event["kind"] == "call_ended"]
    assert [each["result"]["failed"] for each in ended] == [True, False]
    assert "Lock files are made by tools." in json.dumps(ended[0])
    assert b"uv.lock" not in stage.files()


def test_law_9_a_project_allows_nothing_until_it_is_trusted(stage: Stage) -> None:
    stage.put("opencode.json", b'{"permission": "allow"}')
    assert failures(stage, write("a.py"), options=ASK) == [True]
    assert b"a.py" not in stage.files()


def test_law_9_a_project_may_deny(stage: Stage) -> None:
    stage.put("opencode.json", b'{"permission": {"edit": "deny"}}')
    assert failures(stage, write("a.py"), options=YOLO) == [True]


@pytest.mark.parametrize("mode", ["plan", "yolo"])
def test_f72_plan_mode_and_denials_hold_against_every_allow(stage: Stage, mode: str) -> None:
    opencode(stage, {"*": "allow", "bash": {"*": "allow", "touch *": "deny"}})
    before = stage.files()
    calls = [
        ("shell", {"command": "touch x", "subject": "x", "stage": stage}) for stage in (False, True)
    ]
    if mode == "plan":
        calls.append(write("a.py"))
    stage.called(*calls, options=("--mode", mode))
    assert stage.files() == before


def test_f97_a_tool_that_is_denied_for_everything_is_not_offered(stage: Stage) -> None:
    opencode(stage, {"webfetch": "deny", "bash": {"*": "deny", "git *": "allow"}})
    tools = stage.ok("debug", "tools", "--mode", "ask")["tools"]
    withheld = {tool["name"]: tool["why"] for tool in tools if not tool["offered"]}
    assert "webfetch: * = deny" in withheld["fetch"]
    assert "shell" not in withheld


def test_a_broken_table_of_the_users_stops_work_with_its_name(stage: Stage) -> None:
    opencode(stage, {"edit": "maybe"})
    answer = stage.play({"text": "Hello."})
    assert answer.code == 2
    assert b"opencode.jsonc cannot be used" in answer.err
