"""Themes: dark, light and plain."""
