"""Slash commands of the terminal UI."""
