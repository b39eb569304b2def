"""Agents come from the package, the user and the project, and a project's can only narrow."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assent.config.agents import AgentFolders, load_agents
from assent.config.config_file import OTHERS_CAN_WRITE
from assent.config.front_matter import read_yaml
from assent.core.permission.rule import PermissionRule
from assent.core.session.agent import Agent

PACKAGE = Path(__file__).parents[2] / "src" / "assent" / "agents"
EDITS = ("write", "edit", "patch", "delete", "move", "notebook_edit")


class Desk:
    """A user's folder and a project, and how loading them goes."""

    def __init__(self, base: Path) -> None:
        self.user = base / "config" / "agents"
        self.project = base / "project" / ".opencode" / "agents"
        for folder in (self.user, self.project):
            folder.mkdir(parents=True)

    def write(self, path: Path, front: str, body: str = "") -> None:
        path.write_text(f"---\n{front}\n---\n{body}\n", encoding="utf-8")
        path.chmod(0o644)

    def load(self) -> tuple[dict[str, Agent], tuple[str, ...]]:
        root = os.fsencode(os.path.realpath(self.project.parents[1]))
        return load_agents(AgentFolders((self.user,), root), os.open)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_package_has_four_agents_and_reads_them_without_yaml(desk: Desk) -> None:
    agents, warnings = desk.load()
    assert (list(agents), warnings) == (["plan", "build", "explore", "general"], ())
    code = (
        "import os, sys; from assent.config.agents import (AgentFolders, load_agents); "
        "load_agents(AgentFolders((), b'/'), os.open); print('yaml' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code]) == b"False\n"
    assert all(agent.prompt and agent.description for agent in agents.values())
    assert [tool for tool in EDITS if not agents["explore"].denies(tool)] == []
    assert [tool for tool in EDITS if agents["plan"].denies(tool)] == []
    assert {agent.kind for agent in agents.values()} == {"primary", "all", "subagent"}


@pytest.mark.parametrize("name", ["plan", "build", "explore", "general"])
def test_the_front_matter_of_the_package_is_yaml_too(name: str) -> None:
    _, front, _ = (PACKAGE / f"{name}.md").read_text(encoding="utf-8").split("---\n", 2)
    assert {"description", "mode"} <= set(read_yaml(front)) <= {"description", "mode", "tools"}


def test_f10_an_agent_has_everything_that_its_file_says(desk: Desk) -> None:
    front = (
        "description: >\n  Writes\n  poems.\nmode: subagent\nmodel: openai/gpt-5\n"
        "temperature: 0.7\nmaxSteps: 4\ntools:\n  write: false\n  '*': true\n"
        "permission:\n  edit: deny\n  bash: ask\ncolor: '#fff'"
    )
    desk.write(desk.project / "poet.md", front, "Rhyme.")
    agents, warnings = desk.load()
    assert warnings == ()
    assert agents["poet"] == Agent(
        "poet", "Writes poems.", "subagent", "Rhyme.", "", 0.7, 4,
        {"write": False, "*": True}, {"edit": "deny", "bash": "ask"}, "project", "openai/gpt-5",
        (
            PermissionRule("edit", "*", "deny", source="the agent poet"),
            PermissionRule("bash", "*", "ask", source="the agent poet"),
        ),
    )  # fmt: skip
    assert (agents["poet"].denies("write"), agents["poet"].denies("read")) == (True, False)


def test_f10_project_beats_user_beats_package_in_words_and_limits(desk: Desk) -> None:
    desk.write(desk.user / "plan.md", "description: Mine.\nsteps: 9", "User's way.")
    desk.write(desk.project / "plan.md", "steps: 4", "Project's way.")
    agents, _ = desk.load()
    plan = agents["plan"]
    assert (plan.description, plan.prompt, plan.steps) == ("Mine.", "Project's way.", 4)


def test_a_project_cannot_have_more_steps_than_the_user_gives(desk: Desk) -> None:
    desk.write(desk.user / "plan.md", "steps: 4")
    desk.write(desk.project / "plan.md", "steps: 90")
    assert desk.load()[0]["plan"].steps == 4


def test_a_project_gives_nothing_back_that_a_user_denies_by_a_star(desk: Desk) -> None:
    desk.write(desk.user / "rev.md", "permission: {'*': deny, read: allow}", "Review.")
    desk.write(desk.project / "rev.md", "permission: {write: allow, '*': allow, grep: deny}")
    agent = desk.load()[0]["rev"]
    denied = [name for name in ("read", "write", "edit", "shell", "grep") if agent.denies(name)]
    assert denied == ["write", "edit", "shell", "grep"]


WIDER = {
    "a tool": "tools: {write: true}",
    "all tools": "tools: {'*': true, write: true, edit: true}",
    "a permission": "permission: {edit: allow, write: allow}",
    "everything": "permission: allow",
}


@pytest.mark.parametrize("front", WIDER.values(), ids=WIDER)
def test_law_9_a_project_gives_no_tool_back(desk: Desk, front: str) -> None:
    desk.write(desk.user / "build.md", "permission: {shell: deny}\ntools: {'*': false, read: true}")
    desk.write(desk.project / "explore.md", front)
    desk.write(desk.project / "build.md", front)
    agents, _ = desk.load()
    assert [tool for tool in EDITS if not agents["explore"].denies(tool)] == []
    assert [tool for tool in (*EDITS, "shell") if not agents["build"].denies(tool)] == []
    assert not agents["build"].denies("read")


def test_a_user_may_give_a_tool_back(desk: Desk) -> None:
    desk.write(desk.user / "explore.md", "tools: {write: true}")
    agents, _ = desk.load()
    assert (agents["explore"].denies("write"), agents["explore"].denies("edit")) == (False, True)


def test_a_users_file_that_others_can_write_only_narrows(desk: Desk) -> None:
    desk.write(desk.user / "explore.md", "tools: {write: true}")
    (desk.user / "explore.md").chmod(0o666)
    agents, warnings = desk.load()
    assert agents["explore"].denies("write")
    assert f"is treated as a project file: {OTHERS_CAN_WRITE}" in warnings[0]


def test_f70_a_tool_that_is_denied_in_part_has_rules_and_is_offered(desk: Desk) -> None:
    desk.write(desk.project / "poet.md", "permission:\n  bash: {'*': deny, 'git *': allow}")
    desk.write(desk.project / "mute.md", "permission:\n  bash: {'git *': allow, '*': deny}")
    agents, warnings = desk.load()
    assert warnings == ()
    assert (agents["poet"].denies("bash"), agents["mute"].denies("bash")) == (False, True)
    assert agents["poet"].rules == (
        PermissionRule("bash", "*", "deny", source="the agent poet"),
        PermissionRule("bash", "git *", "allow", source="the agent poet"),
    )


def test_law_9_a_projects_rules_stand_apart_from_those_of_the_user(desk: Desk) -> None:
    desk.write(desk.user / "build.md", "permission: {bash: deny}")
    desk.write(desk.project / "build.md", "permission: {bash: allow, edit: ask}", "Ours.")
    build = desk.load()[0]["build"]
    assert build.rules == (PermissionRule("bash", "*", "deny", source="the agent build"),)
    assert build.narrowing == (
        (
            PermissionRule("bash", "*", "allow", source="the agent build"),
            PermissionRule("edit", "*", "ask", source="the agent build"),
        ),
    )
    assert (build.source, build.denies("bash")) == ("project", True)


def test_one_word_can_deny_everything(desk: Desk) -> None:
    desk.write(desk.project / "mute.md", "permission: deny")
    assert desk.load()[0]["mute"].denies("read")


def test_agents_can_be_disabled_but_not_those_of_the_modes(desk: Desk) -> None:
    desk.write(desk.user / "explore.md", "disable: true")
    desk.write(desk.project / "plan.md", "disable: true")
    agents, warnings = desk.load()
    assert list(agents) == ["plan", "build", "general"]
    assert "disables plan, which a mode needs" in warnings[0]


def test_a_project_disables_nobodys_agent_but_its_own(desk: Desk) -> None:
    """In a missing agent's place the plan agent works, which may have more tools."""
    desk.write(desk.project / "explore.md", "disable: true")
    agents, warnings = desk.load()
    assert list(agents) == ["plan", "build", "explore", "general"]
    assert "disables explore, " in warnings[0]
    assert warnings[0].endswith(" only the user may do; this is ignored.")


def test_what_init_wrote_for_opencode_does_not_replace_our_plan_agent(desk: Desk) -> None:
    written = (PACKAGE / "opencode-plan.md").read_bytes()
    (desk.project / "plan.md").write_bytes(written)
    agents, warnings = desk.load()
    assert (agents["plan"].source, warnings) == ("builtin", ())
    assert not agents["plan"].denies("edit")


BILLION = "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]"
BAD: dict[str, tuple[bytes, str]] = {
    "no end": (b"---\nmode: all\n", "its front matter is not closed"),
    "no YAML": (b"---\na: [\n---\n", "its front matter is not valid YAML"),
    "a tag": (b"---\na: !!python/object/apply:os.system [ls]\n---\n", "is not valid YAML"),
    "aliases": (f"---\n{BILLION}\n---\n".encode(), "has an alias"),
    "a list": (b"---\n- a\n---\n", "Expected `object`"),
    "deep": (b"---\na: " + b"[" * 30_000 + b"\n---\n", "nested too deeply"),
    "a number too long": (b"---\nsteps: " + b"9" * 9000 + b"\n---\n", "has an invalid value"),
    "a day that is none": (b"---\na: 2026-02-30\n---\n", "has an invalid value"),
    "a wrong mode": (b"---\nmode: boss\n---\n", "mode is 'boss'"),
    "wrong tools": (b"---\ntools: [write]\n---\n", "Expected `object`"),
    "a wrong rule": (b"---\npermission: {edit: maybe}\n---\n", "permission.edit must be one of"),
    "too hot": (b"---\ntemperature: 9\n---\n", "out of range"),
    "no UTF-8": (b"---\n\xff\n---\n", "byte 4 is not UTF-8"),
    "a script": (b"---\nmodel: scripted:x.json\n---\n", "which only the user may choose"),
    "too long": (b"x" * 70_000, "longer than 65536 bytes"),
}


@pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
def test_f10_a_file_that_cannot_be_used_is_left_out_and_named(
    desk: Desk, content: bytes, why: str
) -> None:
    (desk.project / "odd.md").write_bytes(content)
    agents, warnings = desk.load()
    assert list(agents) == ["plan", "build", "explore", "general"]
    assert len(warnings) == 1
    assert "odd.md" in warnings[0]
    assert why in warnings[0]
    assert warnings[0].endswith("The agent was skipped.")


def test_an_agent_has_a_plain_name(desk: Desk) -> None:
    desk.write(desk.project / "a\nb.md", "mode: all")
    desk.write(desk.project / "code-review_2.md", "mode: all")
    agents, warnings = desk.load()
    assert list(agents) == ["plan", "build", "explore", "general", "code-review_2"]
    assert "its name has characters other than" in warnings[0]
    assert "\n" not in warnings[0]


def _outside(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def _nowhere(path: Path) -> None:
    path.symlink_to("missing.md")


PLACED: dict[str, Callable[[Path], Any]] = {
    "a symlink": _outside,
    "a dangling symlink": _nowhere,
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
}


@pytest.mark.parametrize("place", PLACED.values(), ids=PLACED)
def test_what_is_no_plain_file_of_the_project_is_left_out(
    desk: Desk, place: Callable[[Path], Any]
) -> None:
    place(desk.project / "odd.md")
    agents, warnings = desk.load()
    assert (list(agents), len(warnings)) == (["plan", "build", "explore", "general"], 1)


def test_a_folder_of_the_project_that_leads_elsewhere_is_left_out(desk: Desk) -> None:
    desk.project.rmdir()
    other = desk.project.parents[2] / "elsewhere"
    other.mkdir()
    desk.write(other / "poet.md", "mode: all", "Rhyme.")
    desk.project.symlink_to(other)
    agents, warnings = desk.load()
    assert "poet" not in agents
    assert "points elsewhere" in warnings[0]
