"""A planning model's commands: what only reads runs, all else is staged as it stands or refused."""

from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events, final
from tests.adversarial.hostile_calls import CONSENT
from tests.cli.harness import TRUSTING

from assent.sandbox.runner.bubblewrap import sandbox_unavailable

WRITES = "sed -i 's/one/two/' src/app.py && echo \"done\" > out.txt  # twice  blank"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return _stage(tmp_path)


def _stage(base: Path, config: str = "") -> Stage:
    stage = Stage(base, config)
    stage.put("src/app.py", b"one\n")
    stage.ok("init")
    return stage


def _shell(stage: Stage, *lines: str, **more: Any) -> list[dict[str, Any]]:
    asked = {"stage": True, **more}
    return stage.called(*[("shell", {"command": line, **asked}) for line in lines])


def test_a_command_that_writes_is_staged_as_it_stands(stage: Stage) -> None:
    before = stage.everything()
    read, written = stage.called(
        ("shell", {"command": "cat src/app.py"}), ("shell", {"command": WRITES, "stage": True})
    )
    assert (read["verdict"], read["result"]["text"]) == ("run", "one")
    assert (written["verdict"], written["result"]["failed"]) == ("stage", False)
    [row] = stage.staged()
    told = f"Staged as command 1 of 1, runs after approval. Id {row['id'][:7]}."
    assert written["result"]["text"] == told
    assert row == {
        "id": row["id"], "kind": "run", "path": None, "to": None, "argv": [], "script": WRITES,
        "cwd": ".", "env": {}, "timeout": 120, "network": False, "undo": [],
        "profile": "workspace",
    }  # fmt: skip
    assert written["metadata"]["operations"] == [row["id"]]
    assert stage.everything() == before
    assert not CONSENT & set(stage.logged())


def test_edits_and_commands_stand_in_the_plan_in_their_order(stage: Stage) -> None:
    edit = {"path": "src/app.py", "old": "one", "new": "two"}
    again = {"path": "src/app.py", "old": "two", "new": "three"}
    stage.called(
        ("edit", edit), ("shell", {"command": "make gen", "stage": True}), ("edit", again),
        ("shell", {"command": "make test", "folder": "src", "seconds": 60, "network": True,
                   "stage": True}),
    )  # fmt: skip
    rows = stage.staged()
    assert [(row["kind"], row["path"], row.get("script")) for row in rows] == [
        ("write", "src/app.py", None), ("run", None, "make gen"), ("write", "src/app.py", None),
        ("run", None, "make test"),
    ]  # fmt: skip
    last = rows[-1]
    assert (last["cwd"], last["timeout"], last["network"]) == ("src", 60, True)


def test_the_same_command_once_more_is_staged_once(stage: Stage) -> None:
    first, second = _shell(stage, "make test", "make test")
    assert "as command 1" in first["result"]["text"]
    assert "was not added again" in second["result"]["text"]
    assert [row["script"] for row in stage.staged()] == ["make test"]


def test_nobody_is_asked_about_staging_not_even_by_the_loop_guard(stage: Stage) -> None:
    rules = '[permission]\nbash = "ask"\n'
    stage.config.write_text(rules, encoding="utf-8")
    ends = _shell(stage, *["make a", "make b"] * 3)
    assert {end["verdict"] for end in ends} <= {"stage", "deny"}
    assert {end["verdict"] for end in ends[:4]} == {"stage"}
    assert "question_asked" not in stage.logged()


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ("[plan]\nstaging = false\n", "make"),
        ('[permission.bash]\n"make *" = "deny"\n', "make"),
        ('[permission.bash]\n"git push *" = "deny"\n', "make && git push"),
        ('[permission.edit]\n"src/*" = "deny"\n', "echo x > src/app.py"),
        ("", "rm -rf ."),
        ("", "assent approve"),
    ],
)
def test_what_is_denied_is_not_staged_either(tmp_path: Path, config: str, line: str) -> None:
    stage = _stage(tmp_path, config)
    before = stage.everything()
    [end] = _shell(stage, line)
    assert (end["verdict"], end["result"]["failed"]) == ("deny", True)
    assert stage.staged() == []
    assert stage.everything() == before


def test_an_agent_without_edits_stages_no_command(stage: Stage) -> None:
    made = ("shell", {"command": "make", "stage": True})
    [end] = stage.called(made, options=("--agent", "explore"))
    assert (end["verdict"], end["result"]["failed"]) == ("deny", True)
    assert "`stage" not in end["result"]["text"]
    assert stage.staged() == []


@pytest.mark.parametrize("shell", ["rehearse", "stage"])
def test_no_word_of_a_call_but_stage_stages_a_command(tmp_path: Path, shell: str) -> None:
    """Neither a command that writes nor one that only reads is staged by accident."""
    stage = _stage(tmp_path, f'[plan]\nshell = "{shell}"\n')
    before = stage.everything()
    others: list[dict[str, Any]] = [
        {}, {"stage": False}, {"network": True}, {"timeout": 60}, {"folder": "src"}, {"stage": 0},
    ]  # fmt: skip
    made = [("shell", {"command": "make", **each}) for each in others]
    ends = stage.called(*made, ("shell", {"command": "cat src/app.py", "network": True}))
    *refused, read = ends
    verdicts = {(end["verdict"], end["result"]["failed"]) for end in refused}
    # There is no Makefile, so it fails in the scratch copy, too.
    assert verdicts == {("deny", True), *([("run", True)] if shell == "rehearse" else [])}
    assert read["verdict"] == "run"
    assert (stage.staged(), stage.everything()) == ([], before)


def test_a_child_stages_no_command(stage: Stage) -> None:
    before = stage.everything()
    task = {"tool": "task", "args": {"prompt": "Do it", "description": "do", "agent": "general"}}
    child: list[dict[str, Any]] = [
        {"calls": [{"tool": "shell", "args": {"command": "make", "stage": True}}]},
        {"text": "Tried."},
    ]
    answer = stage.play({"calls": [task]}, {"text": "Done."}, children={"general": child})
    ends = [event["body"] for event in events(answer) if event["kind"] == "call_ended"]
    assert ("shell", "deny") in [(end["tool"], end["verdict"]) for end in ends]
    assert (stage.staged(), stage.everything()) == ([], before)


def test_what_a_model_staged_runs_once_a_person_approved_it(tmp_path: Path) -> None:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    stage = _stage(tmp_path, TRUSTING)
    line = "sed 's/one/two/' src/app.py > made.py && rm src/app.py"
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("shell", {"command": line, "stage": True}),
        ("write_plan", {"text": "# Make it\n\nTwo of one.\n"}),
        ("present_plan", {}),
    )
    answer = stage.play(*[{"calls": [{"tool": tool, "args": args}]} for tool, args in calls])
    assert answer.code == 3
    assert stage.files().keys() == {b"src", b"src/app.py"}
    row = stage.ok("review")["operations"][0]
    assert (row["script"], row["risks"], row["reversible"]) == (line, ["deletes"], "reversible")
    stage.ok("approve", "--digest", final(answer)["digest"])
    assert stage.ok("build")["operations"] == [{"id": row["id"], "result": "done", "exit": 0}]
    assert stage.files()[b"made.py"][2] == b"two\n"
    assert b"src/app.py" not in stage.files()
    assert stage.undo().code == 0
    assert stage.files()[b"src/app.py"][2] == b"one\n"
