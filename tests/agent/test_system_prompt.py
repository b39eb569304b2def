"""The system prompt has its layers in order, and is short."""

import os
from pathlib import Path

from tests.support.model import Spoken, driver, says

from assent.agent.loop.loop import AgentLoop
from assent.agent.prompt import (
    REVOKED,
    PromptLayer,
    mode_instructions,
    prompt_layers,
    prompt_text,
    system_texts,
)
from assent.config.agents import AgentFolders, load_agents
from assent.core.llm import ToolCall
from assent.core.permission.mode import MODE_AGENTS
from assent.core.session.agent import Agent, InstructionFile, PromptContext
from assent.core.tool import TOOL_NAMES, mentions_tool, missing_tools
from assent.ports import OpenedModel
from assent.testing.memory_turn import MemoryTurn

MOST = 2_100  # characters of base, plan agent, guidance and environment
NAMES = [
    "base", "provider", "agent", "tools", "environment", "instructions", "facts", "message",
    "hooks",
]  # fmt: skip
BRIEFING = PromptContext(
    ("Workspace: /home/someone/projects/example", "Platform: linux", "Date: 2026-01-01",
     "Git branch: main"),
    (InstructionFile("AGENTS.md", "Use tabs.\n"), InstructionFile("a/AGENTS.md", "Use spaces.")),
    ("Tests run with make.",),
)  # fmt: skip


def agents() -> dict[str, Agent]:
    nowhere = Path(__file__).parent / "nowhere"
    places = AgentFolders((nowhere,), os.fsencode(nowhere))
    return load_agents(places, os.open)[0]


def test_f136_the_layers_stand_in_order_and_empty_ones_are_left_out() -> None:
    found = prompt_layers(Agent("x", prompt="Be x."), BRIEFING, "openai/gpt", "Mode: plan.")
    assert [layer.name for layer in found] == NAMES
    assert found[2:] == (
        PromptLayer("agent", "Be x."),
        PromptLayer("tools", prompt_text("tools")),
        PromptLayer("environment", "\n".join(BRIEFING.environment)),
        PromptLayer(
            "instructions",
            "Instructions for this workspace; where they conflict, the later ones apply.\n\nFrom "
            "AGENTS.md:\nUse tabs.\n\nFrom a/AGENTS.md:\nUse spaces.",
        ),
        PromptLayer("facts", "Memory of this workspace:\n- Tests run with make."),
        PromptLayer("message", "Mode: plan."),
        PromptLayer("hooks", ""),
    )
    assert system_texts(found) == tuple(layer.text for layer in found[:-2])
    assert system_texts(prompt_layers(Agent("x"), PromptContext())) == (
        prompt_text("base"),
        prompt_text("tools"),
    )


def test_f136_a_provider_has_its_own_words_where_that_helps() -> None:
    said = {
        name: prompt_layers(Agent("x"), BRIEFING, name)[1].text for name in ("openai/a", "ollama/b")
    }
    assert said == {"openai/a": prompt_text("openai"), "ollama/b": prompt_text("local")}
    assert prompt_layers(Agent("x"), BRIEFING, "anthropic/c")[1].text == ""


def test_f136_the_request_has_what_the_layers_say() -> None:
    model, turn = Spoken(says("Hello.")), MemoryTurn(agents=agents())
    opened = OpenedModel(model, "openai/gpt")
    list(AgentLoop(lambda name: opened, BRIEFING).drive(turn))
    absent = missing_tools([offer.name for offer in turn.available_tools()])
    told = prompt_layers(turn.agent, BRIEFING, "openai/gpt", absent=absent)
    assert model.asked[0].system == system_texts(told)


def test_the_system_prompt_is_made_once_in_a_turn() -> None:
    turn = MemoryTurn(tools={"read": lambda args: "x"})
    model = Spoken(says(ToolCall("c1", "read", {})), says("Done."))
    list(driver(model).drive(turn))
    first, second = model.asked
    assert first.system is second.system


def test_f136_the_plan_agents_prompt_is_short() -> None:
    plan = agents()["plan"]
    found = prompt_layers(plan, PromptContext(BRIEFING.environment), "openai/gpt")
    own = len(mode_instructions(plan))
    assert own > 900
    assert sum(len(layer.text) for layer in found) + own <= MOST


def test_f136_the_plan_agent_knows_all_that_planning_takes() -> None:
    text = mode_instructions(agents()["plan"])
    needed = (
        "write_plan", "present_plan", "`question`", "scope:", "relies_on:", "goal", "verification",
        "Read a file before you change it", "Nothing touches the disk", "cannot approve",
    )  # fmt: skip
    assert [word for word in needed if word not in text] == []


def test_g12_the_plan_agent_is_to_rehearse_before_it_presents_if_it_can() -> None:
    plan = agents()["plan"]
    told = mode_instructions(plan)
    tried = (
        " Its `rehearse` tries all in a copy first and shows nothing that fails: no need to probe."
    )
    assert told.index("`present_plan`") < told.index(tried)
    assert mode_instructions(plan, absent={"rehearse"}) == told.replace(tried, "")


def test_f136_the_system_prompt_is_the_same_whatever_agent_a_mode_chooses() -> None:
    plan, build = [prompt_layers(agents()[name], BRIEFING, "openai/x") for name in MODE_AGENTS]
    assert plan == build
    assert not mentions_tool("\n".join(system_texts(plan)), TOOL_NAMES)


def test_f136_what_the_mode_changes_comes_behind_and_is_revoked_where_nothing_does() -> None:
    found = agents()
    assert mode_instructions(found["explore"]) == ""
    assert mode_instructions(found["explore"], before="You plan.") == REVOKED
    assert mode_instructions(found["explore"], "Be kind.", before="You plan.") == "Be kind."
    told = mode_instructions(found["build"], "Be kind.")
    assert told == f"{found['build'].prompt.strip()}\n\nBe kind."
