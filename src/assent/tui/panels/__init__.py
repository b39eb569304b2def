"""Panels: what opens over the screen to decide or to choose something."""
