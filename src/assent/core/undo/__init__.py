"""Undo: what runs and commands changed, and the operations that reverse it."""
