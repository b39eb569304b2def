"""Patches: unified and git diffs as values, and what they make of a content."""
