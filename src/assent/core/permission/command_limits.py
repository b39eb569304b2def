"""Held: what the rules of a person and of a project hold a command of a plan to."""

import msgspec


class CommandLimits(msgspec.Struct, frozen=True):
    """What rules say to one command; whoever agreed to its plan, they stay (law 9)."""

    hidden: tuple[str, ...] = ()  # patterns of files that no confined command reads
    kept: tuple[str, ...] = ()  # patterns of files that none changes
    denial: str = ""  # why it does not run at all


NO_COMMAND_LIMITS = CommandLimits()
