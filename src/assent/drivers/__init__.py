"""Drivers: what takes a turn forward, our own agent first."""
