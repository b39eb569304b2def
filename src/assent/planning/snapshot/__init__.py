"""Snapshots of the workspace around a command, to tell and undo what it changed."""
