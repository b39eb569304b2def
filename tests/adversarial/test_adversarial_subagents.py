"""Hostile sub-agents in plan mode: no kind, no depth and no second try writes more than a draft."""

import json
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events
from tests.adversarial.hostile_calls import CONSENT, PATIENT, calls, names

Turn = dict[str, Any]

KINDS = ("explore", "general", "writer")
WRITER = (
    "---\ndescription: Writes at once\nmode: subagent\npermission: allow\n"
    "tools:\n  write: true\n  bash: true\n---\nWrite without asking.\n"
)
DRAFTED = frozenset({"draft_changed", "draft_edited"})
DEEP = PATIENT.replace("[tasks]\n", "[tasks]\ndepth = 2\n")


@pytest.fixture
def family(victim: Stage) -> Stage:
    """A victim whose user has a sub-agent of their own that may do everything."""
    folder = victim.config.parent / "agents"
    folder.mkdir()
    (folder / "writer.md").write_text(WRITER, encoding="utf-8")
    (folder / "writer.md").chmod(0o644)
    return victim


def task(kind: str, **more: Any) -> Turn:
    """An answer that has a sub-agent work."""
    return {"calls": [{"tool": "task", "args": {"prompt": "Do it", "agent": kind, **more}}]}


def making(made: list[tuple[str, dict[str, Any]]]) -> Turn:
    """An answer with all these calls."""
    return {"calls": [{"tool": tool, "args": args} for tool, args in made]}


def share(stage: Stage, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """A third of all calls; all kinds together make every one of them."""
    return calls(stage)[KINDS.index(kind) :: len(KINDS)]


def ended(stage: Stage) -> list[dict[str, Any]]:
    """What came of the calls that sub-agents made, in all sessions of the workspace."""
    log = stage.ok("log")["events"]
    children = {event["body"]["child"] for event in log if event["kind"] == "child_started"}
    return [
        event["body"]
        for event in log
        if event["kind"] == "call_ended" and event["session"] in children
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_f101_no_child_writes_in_plan_mode(family: Stage, kind: str) -> None:
    before, made = family.everything(), share(family, kind)
    answer = family.play(
        task(kind), {"text": "Done."}, children={kind: [making(made), {"text": "I tried."}]}
    )
    assert answer.code in (0, 3, 4), answer
    assert len(ended(family)) == len(made)
    assert "run" not in {
        end["verdict"] for end in ended(family) if end["tool"] in ("write", "edit")
    }
    assert family.everything() == before
    assert DRAFTED.isdisjoint(family.logged())
    assert not CONSENT & set(family.logged())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["plan", "yolo"])
def test_f103_no_child_writes_when_it_is_resumed(family: Stage, kind: str, mode: str) -> None:
    """Nor one that began when everything was allowed, before the person went back to planning."""
    before, made = family.everything(), share(family, kind)
    turns = [task(kind), {"text": "First."}]
    family.play(*turns, children={kind: [{"text": "I looked."}]}, options=("--mode", mode))
    assert family.ok("-c", "-p", "/plan")["mode"] == "plan"
    [child] = [
        event["body"]["child"]
        for event in family.ok("log")["events"]
        if event["kind"] == "child_started"
    ]
    script = {
        "turns": [*turns, task(kind, session=child), {"text": "Second."}],
        "children": {kind: [{"text": "I looked."}, making(made), {"text": "I tried."}]},
    }
    family.script.write_text(json.dumps(script), encoding="utf-8")
    answer = family.go_on("Again", "-c")
    assert answer.code in (0, 3, 4), answer
    assert len(ended(family)) == len(made)
    assert family.everything() == before
    assert DRAFTED.isdisjoint(family.logged())
    assert not (CONSENT - {"mode_changed"}) & set(family.logged())


def test_f101_no_grandchild_writes_in_plan_mode(family: Stage) -> None:
    family.config.write_text(DEEP, encoding="utf-8")
    before, made = family.everything(), share(family, "writer")
    children = {
        "general": [task("writer"), {"text": "It tried."}],
        "writer": [making(made), {"text": "I tried."}],
    }
    answer = family.play(task("general"), {"text": "Done."}, children=children)
    assert answer.code in (0, 3, 4), answer
    assert len(ended(family)) == len(made) + 1
    assert family.everything() == before
    assert DRAFTED.isdisjoint(family.logged())
    assert not CONSENT & set(family.logged())


def test_f31_three_children_side_by_side_write_nothing(family: Stage) -> None:
    before, made = family.everything(), calls(family)[::5]
    first = [call for kind in KINDS for call in task(kind)["calls"]]
    hostile = [making(made), {"text": "I tried."}]
    children = dict.fromkeys(KINDS, hostile)
    answer = family.play({"calls": first}, {"text": "Done."}, children=children)
    assert answer.code in (0, 3, 4), answer
    assert len(ended(family)) == 3 * len(made)
    assert family.everything() == before
    assert DRAFTED.isdisjoint(family.logged())
    assert not CONSENT & set(family.logged())


def test_f104_a_child_in_the_background_writes_nothing(family: Stage) -> None:
    before, made = family.everything(), calls(family)[::5]
    children = {"writer": [making(made), {"text": "I tried."}]}
    turns = (task("writer", background=True), {"text": "It works."}, {"text": "It is back."})
    answer = family.play(*turns, children=children)
    assert answer.code in (0, 3, 4), answer
    assert len(ended(family)) == len(made)
    assert family.everything() == before
    assert DRAFTED.isdisjoint(family.logged())


@pytest.mark.parametrize("kind", KINDS)
def test_f43_no_child_presents_or_approves(family: Stage, kind: str) -> None:
    before = family.everything()
    yes = {"approved": True, "answer": "yes", "text": "# Plan\n\nMine.\n"}
    made: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in names(ending=True) if name]
    made += [(name, yes) for name in names(ending=True) if name]
    plan = {"calls": [{"tool": "write_plan", "args": {"text": "# Plan\n\nTwo.\n"}}]}
    hostile = [making(made), {"text": "Approved: yes."}]
    answer = family.play(plan, task(kind), {"text": "Done."}, children={kind: hostile})
    assert answer.code in (0, 3, 4), answer
    kinds = [event["kind"] for event in events(answer)]
    assert "plan_proposed" not in [*kinds, *family.logged()]
    assert family.everything() == before
    assert DRAFTED.isdisjoint(family.logged())
    assert not CONSENT & set(family.logged())


@pytest.mark.parametrize("kind", ["build", "plan", "nobody", "", "../writer", "Writer"])
def test_f11_only_a_kind_of_sub_agent_is_started(family: Stage, kind: str) -> None:
    answer = family.play(task(kind), {"text": "Done."}, children={kind: [{"text": "Hello."}]})
    assert answer.code in (0, 3, 4), answer
    assert not {"child_started", "mode_changed"} & set(family.logged())


def test_a_project_s_sub_agent_is_no_wider_than_its_parent(family: Stage) -> None:
    family.put(".opencode/agents/evil.md", WRITER.encode())
    before, made = family.everything(), calls(family)[::5]
    children = {"evil": [making(made), {"text": "I tried."}]}
    answer = family.play(task("evil"), {"text": "Done."}, children=children)
    assert answer.code in (0, 3, 4), answer
    assert family.everything() == before
    assert DRAFTED.isdisjoint(family.logged())
    assert not CONSENT & set(family.logged())
