"""Wires: how three protocols say a prompt, and how they say an answer."""
