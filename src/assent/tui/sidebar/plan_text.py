"""Renders a plan for the sidebar: title, state, digest, and the text of its file."""

from collections.abc import Iterator
from typing import Final

from assent.core.digest import sha256
from assent.core.paths import display_path
from assent.core.plan.record import PlanRecord
from assent.core.text.hidden_chars import (
    fold_long,
    source_line_count,
    visible,
    visible_line,
    visible_path,
)
from assent.core.text.line_diff import line_changes
from assent.core.text.secrets import redact
from assent.render.lines import GUTTER, Line, Style
from assent.render.review import state_text

DIGEST_CHARS: Final = 12
NO_PLAN: Final = "No plan yet. Say what should be done."
PLAN_FILE_DELETED: Final = "The plan's file was deleted."
DIFFERS: Final = "The text changed since it was proposed; propose it again before a yes."
UNDONE: Final = {"": "", "some": ", partly undone", "all": ", undone"}
_FENCES: Final = ("```", "~~~")


def plan_header_lines(
    plan: PlanRecord, text: bytes | None, *, approved: bool, undone: str = ""
) -> Iterator[Line]:
    """Renders what a plan is called, its state and how much was undone, digest and file."""
    yield Line("heading", plan_title(plan, text))
    digest = plan.digest[:DIGEST_CHARS]
    state = f"{state_text(plan.state, approved=approved)}{UNDONE[undone]}"
    yield Line("digest" if digest else "plain", state)
    if digest:
        yield Line("digest", f"digest {digest}")
    if plan.path:
        yield Line("dim", visible_path(plan.path))
    if plan.frozen and text is not None and sha256(text) != plan.content_hash:
        yield Line("risk", DIFFERS)


def plan_title(plan: PlanRecord, text: bytes | None) -> str:
    """Returns the first heading of a plan's text, else its name."""
    for line in display_path(text or b"").split("\n"):
        if line.startswith("# ") and line[2:].strip():
            return visible_line(redact(line[2:].strip()))
    return visible_line(plan.name)


def text_lines(text: bytes) -> list[list[Line]]:
    """Renders the lines of a Markdown text behind a gutter; a very long one is several.

    Of empty lines that are only counted, all but the first are nothing.
    """
    fenced, found = False, []
    for line in visible(redact(display_path(text))).removesuffix("\n").split("\n"):
        fence = line.lstrip().startswith(_FENCES)
        style = _style(line, fenced=fenced or fence)
        fenced ^= fence
        found.append([Line(style, GUTTER + piece) for piece in fold_long(line)])
        found += [[]] * (source_line_count(line) - 1)
    return found


def changed_lines(old: bytes, new: bytes) -> frozenset[int]:
    """Returns which lines of a text are new, or come after lines that went, counted from 0."""
    before, after = _split(old), _split(new)
    last = len(after) - 1
    found: set[int] = set()
    for _, _, start, end in line_changes(before, after):
        found |= set(range(start, end)) if end > start else {min(start, last)}
    return frozenset(found)


def _split(text: bytes) -> list[bytes]:
    return text.removesuffix(b"\n").split(b"\n")


def _style(line: str, *, fenced: bool) -> Style:
    if fenced:
        return "code"
    return "heading" if line.startswith("#") else "plain"
