"""Path suggestions: what a model may have meant by a path that does not exist."""

from typing import Literal

from assent.core.errors import NotFound
from assent.core.paths import base_name, casefolded, one_line, parent
from assent.core.plan.operation import FileState
from assent.tools.file_listing import list_files
from assent.tools.tool import ToolContext

MAX_SUGGESTIONS = 3
_ALIKE = 0.5


def existing_state(around: ToolContext, path: bytes) -> FileState | Literal["folder"]:
    """Returns what stands under a path; raises NotFound, with what may have been meant."""
    state = around.overlay.state(path)
    if state is None:
        raise NotFound(f"{one_line(path)} does not exist.{suggest_paths(around, path)}")
    return state


def suggest_paths(around: ToolContext, path: bytes) -> str:
    """Returns a sentence with paths of the same or a similar name; empty if there are none."""
    wanted = casefolded(base_name(path))
    same = [file for file in list_files(around, b"").files if casefolded(base_name(file)) == wanted]
    found = same[:MAX_SUGGESTIONS] or _alike(around, path)
    if not found:
        return " Look for it with glob."
    return f" Did you mean {', '.join(one_line(each) for each in found)}?"


def _alike(around: ToolContext, path: bytes) -> list[bytes]:
    folder = parent(path)
    while folder and around.overlay.state(folder) != "folder":
        folder = parent(folder)
    prefix = folder + b"/" if folder else b""
    scored = [
        (_likeness(base_name(path), each), prefix + each) for each in around.overlay.names(folder)
    ]
    best = sorted((score, each) for score, each in scored if score >= _ALIKE)
    return [each for _, each in reversed(best)][:MAX_SUGGESTIONS]


def _likeness(one: bytes, other: bytes) -> float:
    """Compares two names by the pairs of letters that they share."""
    ours, theirs = _pairs(casefolded(one)), _pairs(casefolded(other))
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


def _pairs(text: bytes) -> set[bytes]:
    return {text[at : at + 2] for at in range(len(text) - 1)}
