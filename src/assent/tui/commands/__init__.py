"""Slash commands of the terminal UI."""

from assent.tui.commands.registry import choices, learn, run

__all__ = ["choices", "learn", "run"]
