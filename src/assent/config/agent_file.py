"""An agent's file: front matter as OpenCode has it, then the prompt."""

from typing import Any

import msgspec

from assent.core.agent import Agent

FENCE = "---"
KINDS = ("primary", "subagent", "all")
RULES = ("allow", "ask", "deny")
HOTTEST = 2.0


class Bad(Exception):
    """A file that cannot be used, and why."""


class AgentFile(msgspec.Struct, frozen=True):
    """What a file may say; members of other programs are passed over."""

    description: str = ""
    mode: str = "all"
    model: str = ""
    temperature: float | None = None
    steps: int | None = None
    maxSteps: int | None = None
    tools: dict[str, bool] = {}
    permission: str | dict[str, Any] = {}
    disable: bool = False
    prompt: str = ""


def parted(content: bytes) -> tuple[str, str]:
    """Returns the front matter and the rest of a file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Bad(f"byte {error.start} is not UTF-8") from None
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != FENCE:
        return "", text
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return "".join(lines[1:number]), "".join(lines[number + 1 :])
    raise Bad("its front matter has no end")


PROJECT = "project"


def agent_of(name: str, file: AgentFile, source: str) -> tuple[Agent, list[str]]:
    """Returns the agent that a file describes, and what was read more strictly than written."""
    steps = file.steps or file.maxSteps or 0
    if file.mode not in KINDS:
        raise Bad(f"mode is {file.mode!r}, and not one of {', '.join(KINDS)}")
    if steps < 0 or not 0 <= (file.temperature or 0) <= HOTTEST:
        raise Bad("steps or temperature is out of bounds")
    permission, remarks = _permission(file.permission)
    agent = Agent(
        name,
        " ".join(file.description.split()),
        file.mode,  # type: ignore[arg-type]
        file.prompt,
        "" if source == PROJECT else file.model,
        file.temperature,
        steps,
        file.tools,
        permission,
        source,
        file.model if source == PROJECT else "",
    )
    return agent, remarks


def _permission(written: str | dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Returns rules by tool; a tool of which a part is denied is denied as a whole."""
    rules = {"*": written} if isinstance(written, str) else written
    found: dict[str, Any] = {}
    remarks = []
    for tool, rule in rules.items():
        several = list(rule.values()) if isinstance(rule, dict) else [rule]
        if any(each not in RULES for each in several):
            raise Bad(f"the permission of {tool} is not one of {', '.join(RULES)}")
        denied = "deny" in several
        found[tool] = "deny" if denied else rule
        if denied and isinstance(rule, dict):
            remarks.append(f"denies a part of {tool}; here all of {tool} is denied.")
    return found, remarks
