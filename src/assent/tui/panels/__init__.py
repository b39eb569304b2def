"""Panels: views over the main screen in which something is decided or selected."""
