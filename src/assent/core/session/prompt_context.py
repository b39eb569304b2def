"""Prompt context: what an agent is told about its workspace, gathered once when work begins."""

import msgspec


class InstructionFile(msgspec.Struct, frozen=True):
    """A file in which people tell agents how to work here."""

    path: str
    text: str


class PromptContext(msgspec.Struct, frozen=True):
    """The surroundings of a session. Instructions stand from the farthest to the nearest."""

    environment: tuple[str, ...] = ()  # one line each: workspace, platform, date, branch
    instructions: tuple[InstructionFile, ...] = ()
    facts: tuple[str, ...] = ()  # remembered about this workspace
