"""Modes: how much may happen without asking. Only a person raises one (law 9)."""

from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["plan", "ask", "auto-edit", "yolo"]

MODES: tuple[Mode, ...] = ("plan", "ask", "auto-edit", "yolo")  # from the strictest on


def agent_of(mode: Mode) -> str:
    """Returns the agent that works in a mode unless a person names another."""
    return "plan" if mode == "plan" else "build"
