"""Renders the models that can be used here, and why."""

from collections.abc import Iterable, Sequence
from typing import Any

from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line

NONE = "No model can be used here: no key is set, no provider configured, no local server answers."
NEXT = "Next: export ANTHROPIC_API_KEY=... (or OPENAI_API_KEY), or start a local server"


def models_lines(rows: Sequence[dict[str, Any]]) -> Iterable[Line]:
    """Renders a line for each model, under the reason why it can be used."""
    if not rows:
        yield Line("plain", NONE)
        yield Line("plain", NEXT)
    why = ""
    width = max((len(visible_line(row["model"])) for row in rows), default=0)
    for row in rows:
        if row["why"] != why:
            why = row["why"]
            yield Line("heading", f"{row['provider']}: {visible_line(why)}")
        mark = "*" if row["default"] else " "
        yield Line("plain", f"{mark} {visible_line(row['model']):{width}}  {_limits(row)}".rstrip())
    if any(row["default"] for row in rows):
        yield Line("dim", "* is asked where no other is named.")


def _limits(row: dict[str, Any]) -> str:
    words = ((row["context"], "reads"), (row["output"], "says"))
    return ", ".join(f"{word} {number:,}" for number, word in words if number)
