"""Patches: a diff as lines for a person, in full."""

from collections.abc import Iterator

from assent.views.lines import Line, Style
from assent.views.visible import LONG, fold_long, visible

_SIGNS: dict[str, Style] = {"+": "added", "-": "removed", "@": "hunk", "\\": "dim"}


def diff_lines(diff: str) -> Iterator[Line]:
    """Renders a diff in full. The sign at the start of each line says what the colour says."""
    header = True
    if not diff:
        return
    for line in visible(diff).removesuffix("\n").split("\n"):
        sign = line[:1]
        # Content always has a sign before it, so these two can only be ours.
        if header:
            header = not line.startswith("@@ ")
        elif sign == "d":
            header = line.startswith("diff --git ")
        style = "dim" if header else _SIGNS.get(sign, "plain")
        if len(line) <= LONG:
            yield Line(style, line)
        else:
            yield from [Line(style, piece) for piece in fold_long(line)]
