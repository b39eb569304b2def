"""Modes for display: a list, one mode in full, and as text for a configuration file."""

from collections.abc import Iterator, Sequence

from assent.core.permission.mode import MODES, CustomMode, CustomModes, Mode, mode_names
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, untrusted_lines
from assent.render.rows import Row

MODE_SUMMARIES: dict[Mode, str] = {
    "plan": "plans, changes nothing",
    "ask": "asks before each change",
    "auto-edit": "edits files without asking, asks for the rest",
    "yolo": "never asks; deny rules still apply",
}

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def mode_rows(modes: CustomModes) -> list[Row]:
    """Returns every mode as JSON: the four built-in ones, then custom ones."""
    return [mode_row(find_mode(name, modes)) for name in mode_names(modes)]


def find_mode(name: str, modes: CustomModes) -> CustomMode:
    """Returns a mode by name; an unchanged built-in one has no extra limits."""
    base = next((mode for mode in MODES if mode == name), MODES[0])
    return modes.get(name) or CustomMode(name, base)


def mode_row(mode: CustomMode) -> Row:
    """Returns one mode as JSON, with its further restrictions."""
    return {
        "id": mode.id,
        "base": mode.base,
        "label": mode.label or None,
        "source": mode.source,
        "tools": list(mode.tools) if mode.tools is not None else None,
        "edit": list(mode.edit) if mode.edit is not None else None,
        "prompt": mode.prompt or None,
        "within": mode_row(mode.within) if mode.within else None,
    }


def modes_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders modes in columns."""
    title = ("MODE", "BASE", "FROM", "WHAT IT IS")
    first, *rest = table_lines("plain", [title, *map(_listed, rows)])
    yield Line("heading", first.text)
    yield from rest
    yield Line("plain", 'Next: assent --mode MODE "what should be done"')


def mode_lines(mode: CustomMode) -> Iterator[Line]:
    """Renders one mode, and below it its further restrictions."""
    yield from table_lines("plain", [(name, visible_line(text)) for name, text in _facts(mode)])
    if mode.prompt:
        yield Line("plain", "Added to the agent's prompt:")
        yield from untrusted_lines(mode.prompt)
    if mode.within is not None:
        yield BLANK
        yield Line("plain", "Further restricts this mode; both must allow an action:")
        yield from mode_lines(mode.within)


def mode_toml(mode: CustomMode) -> str:
    """Returns one mode as TOML for a configuration file."""
    members = {
        "base": _quoted(mode.base),
        "label": _quoted(mode.label) if mode.label else "",
        "tools": _array(mode.tools),
        "edit": _array(mode.edit),
        "prompt": _quoted(mode.prompt) if mode.prompt else "",
    }
    rows = [f"{name} = {value}" for name, value in members.items() if value]
    return "\n".join([f"[modes.{mode.id}]", *rows]) + "\n"


def _facts(mode: CustomMode) -> Iterator[tuple[str, str]]:
    yield "mode", mode.id
    yield "base", f"{mode.base}: {MODE_SUMMARIES[mode.base]}"
    yield "from", mode.source
    if mode.label:
        yield "label", mode.label
    if mode.tools is not None:
        yield "tools", ", ".join(mode.tools) or "none"
    if mode.edit is not None:
        yield "edit", ", ".join(mode.edit) or "nothing"


def _listed(row: Row) -> tuple[str, ...]:
    base = next(mode for mode in MODES if mode == row["base"])
    about = str(row["label"] or MODE_SUMMARIES[base])
    limits = [name for name in ("tools", "edit") if row[name] is not None]
    narrowed = f" (limits {' and '.join(limits)})" if limits else ""
    return str(row["id"]), base, str(row["source"]), visible_line(about) + narrowed


def _array(texts: tuple[str, ...] | None) -> str:
    return "" if texts is None else f"[{', '.join(map(_quoted, texts))}]"


def _quoted(text: str) -> str:
    """Returns a text as a basic string of TOML."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    return char if char.isprintable() else f"\\U{ord(char):08x}"
