"""Custom modes: reads `[modes.ID]` of the user's and the project's file.

A bad entry is skipped with a warning and affects no other. A project's only restricts (law 9).
"""

import re
from typing import Any

import msgspec

from assent.config.settings import ModeSettings
from assent.core.permission.mode import MODES, CustomMode, CustomModes, Mode, stricter_mode

MAX_ID_CHARS = 48  # characters of an id
LABEL = 80  # characters of a label
MODE_SKIPPED = " It is left out."
MAX_PROJECT_MODE: Mode = (
    "ask"  # a project's own mode may be no freer unless the person trusts its file
)

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class _UnusableMode(Exception):
    """An entry that cannot be used, and why."""


def read_modes(
    table: object, source: str, freest: Mode = "yolo"
) -> tuple[dict[str, CustomMode], list[str]]:
    """Returns the modes that a file describes, and a remark for each that is not as written."""
    if not isinstance(table, dict):
        return {}, ["has modes that are no table; they are left out."]
    found, remarks = dict[str, CustomMode](), list[str]()
    for name, entry in table.items():
        try:
            mode = _mode(name, entry, source)
        except _UnusableMode as error:
            remarks.append(f"has a mode {name!a} that cannot be used: {error}.{MODE_SKIPPED}")
            continue
        base = stricter_mode(_own_base(mode), freest if name not in MODES else "yolo")
        if base != mode.base:
            remarks.append(f"has a mode {name!a} on {mode.base}; here it is one on {base}.")
        found[name] = msgspec.structs.replace(mode, base=base)
    return found, remarks


def merge_modes(of_user: CustomModes, of_project: CustomModes) -> dict[str, CustomMode]:
    """Returns all modes; what both have, or one of the four, a project only narrows further."""
    found = dict(of_user)
    for name, mode in of_project.items():
        under = of_user.get(name)
        if under is not None or name in MODES:
            base = stricter_mode(mode.base, under.base) if under else mode.base
            label = under.label if under else ""  # a project cannot pass one mode for another
            mode = msgspec.structs.replace(mode, base=base, label=label, within=under)
        found[name] = mode
    return found


def load_modes(
    of_user: object, of_project: object, *, own: bool = True, trusted: bool = False
) -> tuple[dict[str, CustomMode], tuple[list[str], list[str]]]:
    """Returns the modes of both files, and remarks about each; `own`: the user's speaks for them.

    `trusted`: the person trusts the project's file with this content.
    """
    user, about_user = read_modes(of_user, "user", "yolo" if own else MAX_PROJECT_MODE)
    project, about_project = read_modes(
        of_project, "project", "yolo" if trusted else MAX_PROJECT_MODE
    )
    return merge_modes(user, project), (about_user, about_project)


def _mode(name: str, entry: Any, source: str) -> CustomMode:
    if not _ID.fullmatch(name) or len(name) > MAX_ID_CHARS:
        raise _UnusableMode(
            f"an id is kebab-case, such as `review-docs`, with at most {MAX_ID_CHARS} characters"
        )
    if name in MODES and isinstance(entry, dict):
        entry = {"base": name, **entry}
    try:
        settings = msgspec.convert(entry, ModeSettings)
    except msgspec.ValidationError as error:
        raise _UnusableMode(_said(error)) from None
    if len(settings.label) > LABEL:
        raise _UnusableMode(f"its label has more than {LABEL} characters")
    if any(not glob.strip() or glob.startswith("/") for glob in settings.edit or ()):
        raise _UnusableMode("globs in edit are relative to the workspace and not empty")
    return CustomMode(
        name,
        settings.base,
        " ".join(settings.label.split()),
        settings.tools,
        settings.edit,
        settings.prompt.strip(),
        source,
    )


def _said(error: msgspec.ValidationError) -> str:
    """Says what is wrong with an entry in words of its own file."""
    if str(error).endswith("`$.base`"):
        return f"base is one of {', '.join(MODES)}"
    return str(error)


def _own_base(mode: CustomMode) -> Mode:
    """Returns the base as it may be: that of one of the four is itself."""
    return next((each for each in MODES if each == mode.id), mode.base)
