"""Undo and redo: finds what can be undone, builds the inverse plan, and applies it."""
