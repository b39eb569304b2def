"""Descriptions: what a model reads about a tool, from the Markdown file beside its module."""

import sys

from assent.tools.tool import Tool

_kept: dict[str, str] = {}


def description(tool: Tool) -> str:
    """Returns a tool's description; it is read once, when it is first offered."""
    if tool.text:
        return tool.text
    module = tool.args.__module__
    if module not in _kept:
        _kept[module] = _read(module)
    return _kept[module]


def _read(module: str) -> str:
    spec = sys.modules[module].__spec__
    assert spec is not None
    assert spec.origin is not None
    loader = spec.loader
    content: bytes = loader.get_data(f"{spec.origin.removesuffix('.py')}.md")  # type: ignore[union-attr]
    return content.decode("utf-8").strip()
