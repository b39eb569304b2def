"""Slash commands: what a line that begins with `/` does on this screen."""

from assent.tui.commands.dispatcher import choices, learn, run

__all__ = ["choices", "learn", "run"]
