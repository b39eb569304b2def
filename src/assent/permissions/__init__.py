"""Permissions: decides which calls and commands may run, rates their risks, and says why not."""
