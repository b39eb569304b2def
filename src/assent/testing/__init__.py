"""Doubles that implement the ports, and suites that every implementation must pass."""
