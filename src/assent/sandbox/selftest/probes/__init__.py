"""Attempts to break out, made by a program inside the sandbox; standard library only."""
