"""Patches: unified and git diffs as values, and how they change a file's content."""
