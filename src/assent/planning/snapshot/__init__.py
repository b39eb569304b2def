"""Snapshots of the workspace around a command, to detect and undo what it changed."""
