"""Trying the sandbox: the self-test that attempts to break out of it, and what it found."""
