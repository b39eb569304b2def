"""The system prompt in layers, the least changing first, so that prompt caches work."""

import os
from collections.abc import Collection

import msgspec

from assent.core.session.agent import Agent, PromptContext
from assent.core.text.tool_mentions import without_missing_tools

_FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "prompts")
# Which providers' models are told something of their own, and in which file it stands.
_HEADERS = {"openai": "openai", "ollama": "local", "lmstudio": "local", "llamacpp": "local"}
_kept: dict[str, str] = {}


class PromptLayer(msgspec.Struct, frozen=True):
    """One part of the system prompt; an empty one is omitted."""

    name: str
    text: str


def prompt_layers(
    agent: Agent,
    briefing: PromptContext,
    model: str = "",
    message: str = "",
    absent: Collection[str] = (),
) -> tuple[PromptLayer, ...]:
    """Returns every layer; `message` is the one that is sent with the messages.

    Assent's own texts name no tool that is absent; texts written by users stay as they are.
    """
    prompt = agent.prompt.strip()
    return (
        PromptLayer("base", prompt_text("base")),
        PromptLayer("provider", _header(model)),
        PromptLayer(
            "agent", without_missing_tools(prompt, absent) if agent.source == "builtin" else prompt
        ),
        PromptLayer("tools", without_missing_tools(prompt_text("tools"), absent)),
        PromptLayer("environment", without_missing_tools("\n".join(briefing.environment), absent)),
        PromptLayer("instructions", _instructions(briefing)),
        PromptLayer("facts", _facts(briefing.facts)),
        PromptLayer("message", message),
        PromptLayer("hooks", ""),
    )


def system_texts(all_layers: tuple[PromptLayer, ...]) -> tuple[str, ...]:
    """Returns the texts that make up the system prompt."""
    return tuple(layer.text for layer in all_layers if layer.text and layer.name != "message")


def prompt_text(name: str) -> str:
    """Returns a prompt text of the package; it is read once."""
    if name not in _kept:
        content: bytes = __spec__.loader.get_data(os.path.join(_FOLDER, f"{name}.md"))  # type: ignore[union-attr]
        _kept[name] = content.decode("utf-8").strip()
    return _kept[name]


def _header(model: str) -> str:
    name = _HEADERS.get(model.partition("/")[0])
    return prompt_text(name) if name else ""


def _instructions(briefing: PromptContext) -> str:
    if not briefing.instructions:
        return ""
    told = [f"From {each.path}:\n{each.text.strip()}" for each in briefing.instructions]
    first = "Instructions for this workspace; where they conflict, the later ones apply."
    return "\n\n".join([first, *told])


def _facts(facts: tuple[str, ...]) -> str:
    if not facts:
        return ""
    return "\n".join(["Memory of this workspace:", *[f"- {fact}" for fact in facts]])
