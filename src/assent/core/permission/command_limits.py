"""Command limits: what user and project rules forbid a command of a plan."""

import msgspec


class CommandLimits(msgspec.Struct, frozen=True):
    """What rules forbid one command, whoever approved its plan (law 9)."""

    hidden: tuple[str, ...] = ()  # patterns of files that no confined command reads
    kept: tuple[str, ...] = ()  # patterns of files that none changes
    denial: str = ""  # why it does not run at all


NO_COMMAND_LIMITS = CommandLimits()
