"""Renders a diff in full, as lines or as plain text."""

from assent.core.text.hidden_chars import fold_long, has_long_line, visible_diff
from assent.render.lines import Line, Style

_SIGNS: dict[str, Style] = {"+": "added", "-": "removed", "@": "hunk", "\\": "dim"}


_PART = "\ndiff --git "  # content always has a sign before it, so this can only be ours


def diff_lines(diff: str) -> list[Line]:
    """Renders a diff in full. The sign at the start of each line says what the colour says."""
    if not diff:
        return []
    first, *others = visible_diff(diff).removesuffix("\n").split(_PART)
    found = _part_lines(first)
    for other in others:
        found += _part_lines(_PART[1:] + other)
    return found


def diff_text(diff: str) -> str:
    """Renders the same as one text without colour: values for each line take far longer."""
    text = visible_diff(diff).removesuffix("\n")
    return "\n".join([line.text for line in diff_lines(diff)]) if has_long_line(text) else text


def _part_lines(part: str) -> list[Line]:
    """Renders what a diff says of one file: lines about it, then its hunks."""
    header, hunk, rest = part.partition("\n@@ ")
    about, hunks = header.split("\n"), f"@@ {rest}".split("\n") if hunk else []
    lines = [Line("dim", line) for line in about]
    lines += [Line(_SIGNS.get(line[:1], "plain"), line) for line in hunks]
    if not has_long_line(part):
        return lines
    return [Line(line.style, piece) for line in lines for piece in fold_long(line.text)]
