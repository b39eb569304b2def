"""Rendering that all faces share, as pure functions: no disk, no terminal, no clock."""
