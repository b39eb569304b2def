"""Renders what commands changed in a scratch copy, and the copies themselves."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from assent.core.paths import display_path
from assent.core.scratch import ScratchBackend, ScratchInfo, ScratchResult, unread_text
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.lines import Line, table_lines, wrapped_lines
from assent.render.rows import Row

NOTHING_REAL: Final = "Nothing in the workspace was changed."
NO_CHANGES: Final = "The command changed no files in the scratch copy."
JOINED: Final = "Another command still runs in the copy, so this may be incomplete."
LEFT_OUT: Final = {
    "git": "Git's own data",
    "assent": "Assent's own files",
    "special": "not a file",
    "folder": "an empty folder",
    "hidden": "hidden from commands",
}
BACKENDS: Final = {
    "overlay": "Scratch copies are overlays: only what changes takes space.",
    "copy": "Scratch copies are real copies of all files.",
    "none": "No scratch copies are possible here.",
}
_SHOWN: Final = 50


def scratch_result_row(result: ScratchResult) -> Row:
    """Returns what changed in a copy, as JSON."""
    return {
        "changes": [
            {
                "path": display_path(one.path),
                "kind": one.kind,
                "before": one.before and one.before.digest,
                "after": one.after and one.after.digest,
            }
            for one in result.changes
        ],
        "conflicts": [{"path": display_path(one.path), "why": one.why} for one in result.conflicts],
        "ignored": list(map(display_path, result.ignored)),
        "left_out": [{"path": display_path(one.path), "why": one.why} for one in result.left_out],
        "hard_links": list(map(display_path, result.hard_links)),
        "joined": result.joined,
        "complete": result.known,
    }


def scratch_result_lines(result: ScratchResult) -> Iterator[Line]:
    """Renders what changed in a copy, and that nothing real did."""
    rows = [(one.kind, visible_path(one.path)) for one in result.changes]
    if not rows and result.known:
        yield Line("plain", NO_CHANGES)
    elif rows:
        yield Line("heading", "Changed in the scratch copy:")
        for line in table_lines("plain", rows[:_SHOWN]):
            yield Line("plain", f"  {line.text}")
        if len(rows) > _SHOWN:
            yield Line("dim", f"  and {len(rows) - _SHOWN} more; --json lists all")
    for conflict in result.conflicts:
        text = f"Conflict: {visible_path(conflict.path)}: {conflict.why}."
        yield from wrapped_lines("risk", text)
    if result.ignored:
        names = ", ".join(map(visible_path, result.ignored[:_SHOWN]))
        yield from wrapped_lines("dim", f"Ignored files differ in: {names}")
    for other in result.left_out[:_SHOWN]:
        yield from wrapped_lines(
            "dim", f"Never taken: {visible_path(other.path)} ({LEFT_OUT[other.why]})"
        )
    for path in result.hard_links:
        yield from wrapped_lines(
            "dim", f"Only one name of a hard link changed: {visible_path(path)}"
        )
    if not result.known:
        yield from wrapped_lines("risk", unread_text(result.unread))
    if result.joined:
        yield Line("risk", JOINED)
    yield Line("plain", NOTHING_REAL)


def backend_row(backend: ScratchBackend | None) -> Row | None:
    """Returns how copies are made, as JSON; None before the first one."""
    if backend is None:
        return None
    return {"name": backend.name, "reason": backend.reason, "place": backend.place}


def backend_lines(backend: ScratchBackend) -> Iterator[Line]:
    """Renders how copies are made, and why."""
    yield Line("risk" if backend.name == "none" else "plain", BACKENDS[backend.name])
    if backend.reason:
        yield from wrapped_lines("dim", f"  {visible_line(backend.reason)}")
    if backend.place:
        yield from wrapped_lines("dim", f"  Kept in {visible_line(backend.place)}")


def scratch_info_row(info: ScratchInfo) -> Row:
    """Returns a copy on disk, as JSON."""
    return {
        "name": info.name,
        "workspace": display_path(info.root),
        "backend": info.backend,
        "made_at": _time(info.made),
        "used_at": _time(info.used),
        "bytes": info.size,
        "in_use": info.busy,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
