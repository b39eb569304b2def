"""Test doubles of the ports, and conformance suites that every implementation must pass."""
