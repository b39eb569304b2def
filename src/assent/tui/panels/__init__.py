"""Panels: what opens over the screen when a person has something to decide or to choose."""
