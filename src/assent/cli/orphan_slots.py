"""Renders orphan slots for `status` and `recover`, and what became of them.

Orphan slots belong to runs that the log does not know.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from assent.core.paths import parent
from assent.core.run.orphan_slot import OrphanCleanup, OrphanSlot
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.lines import Line, counted, wrapped_lines
from assent.render.rows import Row, path_fields

SHOWN: Final = 40  # slots that are listed; --json lists all
RECOVER_COMMANDS: Final = ("assent recover --roll-back", "assent recover --accept")
RECOVER_COMMANDS_HELP: Final = (
    "assent recover --roll-back: restores old content where the path is free or has only the "
    "content meant to replace it; moves the rest to .opencode/assent/lost+found.",
    "assent recover --accept: keeps every file as it is and moves the slots to "
    ".opencode/assent/lost+found. Neither deletes anything.",
)


def orphan_rows(orphans: Sequence[OrphanSlot]) -> list[Row]:
    """Returns such slots as rows; what a slot holds is null where nothing tells."""
    return [
        {
            **path_fields("slot", one.slot),
            "run": one.run,
            "size": one.size,
            **path_fields("path", one.path),
            "holds": one.holds or None,
        }
        for one in orphans
    ]


def orphan_lines(orphans: Sequence[OrphanSlot]) -> Iterator[Line]:
    """Renders such slots, each with its file and size."""
    if not orphans:
        return
    runs = ", ".join(dict.fromkeys(visible_line(one.run) for one in orphans))
    several = len(orphans) > 1
    told = f"{len(orphans)} slot{'s' if several else ''} of a run missing from the log: {runs}"
    yield from wrapped_lines("risk", told)
    for one in orphans[:SHOWN]:
        yield from wrapped_lines(
            "plain", f"  {visible_path(one.slot)}  {counted(one.size, 'byte')}  {_about(one)}"
        )
    if len(orphans) > SHOWN:
        yield Line("plain", f"  and {len(orphans) - SHOWN} more; --json lists all")
    yield from wrapped_lines(
        "plain", "The log was lost or replaced during a run, or this folder was copied during "
                 "one. You cannot build until you decide; a slot can be the only copy of a file."
    )  # fmt: skip


def orphans_waiting_lines(orphans: Sequence[OrphanSlot]) -> Iterator[Line]:
    """Renders them with the ways on."""
    yield from orphan_lines(orphans)
    for way in RECOVER_COMMANDS_HELP:
        yield from wrapped_lines("plain", way)
    yield Line("plain", f"Next: {RECOVER_COMMANDS[0]}, or --accept")


def orphans_waiting_row(orphans: Sequence[OrphanSlot], notes: Sequence[str] = ()) -> Row:
    """Returns that they wait, as `recover` answers."""
    told: Row = {"notes": list(notes)} if notes else {}
    row: Row = {
        "run": None,
        "outcome": "needs_you",
        "operations": [],
        **told,
        "next": list(RECOVER_COMMANDS),
    }
    return {**row, "slots": orphan_rows(orphans)}


def orphans_cleared_row(cleared: OrphanCleanup) -> Row:
    """Returns what became of them."""
    return {
        "run": None,
        "outcome": "partial" if cleared.taken or cleared.failed else "done",
        "operations": [],
        "put_back": [path_fields("path", path) for path in cleared.put_back],
        "kept": [{**path_fields("slot", at), **path_fields("to", to)} for at, to in cleared.kept],
        "taken": [path_fields("path", path) for path in cleared.taken],
        "failed": [{**path_fields("path", path), "why": why} for path, why in cleared.failed],
    }


def orphans_cleared_lines(cleared: OrphanCleanup) -> Iterator[Line]:
    """Renders what became of them."""
    partly = bool(cleared.taken or cleared.failed)
    yield Line("risk" if partly else "heading", "Partly done:" if partly else "Done.")
    for path in cleared.put_back:
        yield from wrapped_lines("plain", f"restored  {visible_path(path)}")
    for at, to in cleared.kept:
        yield from wrapped_lines("plain", f"kept      {visible_path(at)} → {visible_path(to)}")
    for path in cleared.taken:
        words = f"{visible_path(path)} was not restored: another file has its name."
        yield from wrapped_lines("risk", words)
    for path, why in cleared.failed:
        yield from wrapped_lines("risk", f"{visible_path(path)}: {visible_line(why)}.")
    yield Line("plain", "Next: assent status")


def _about(one: OrphanSlot) -> str:
    if one.path is not None:
        kept = "old content of" if one.holds == "old" else "new content for"
        return f"{kept} {visible_path(one.path)}"
    beside = parent(one.slot)
    if not one.slot.startswith(b".opencode/assent/stage/"):
        return f"next to the files of {visible_path(beside) if beside else 'the workspace'}"
    return "of an unknown file"
