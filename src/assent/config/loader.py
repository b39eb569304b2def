"""Loads settings and custom modes: defaults, the user's file, then what the project's file may set.

A file that others could write only restricts.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from assent.config.config_file import (
    ConfigFile,
    Opener,
    edit_command,
    ownership_problem,
    parse_toml,
    path_text,
    read_config,
    read_content,
    setting_error,
    setting_line,
)
from assent.config.settings import (
    AFTER_TRUST,
    MAY_TURN_OFF,
    NEVER,
    NEVER_KEYS,
    USER_ONLY,
    ModeSettings,
    Settings,
    refused_keys,
)
from assent.core.decoding import convert
from assent.core.errors import AssentError, Refused, meant
from assent.core.llm import may_choose, unknown_provider
from assent.core.permission.mode import MODES, CustomMode, CustomModes, Mode, stricter_mode

# Custom modes: reads `[modes.ID]` of the user's and the project's file.
#
# A bad entry is skipped with a warning and affects no other. A project's only restricts (law 9).


MAX_ID_CHARS = 48  # characters of an id
LABEL = 80  # characters of a label
MODE_SKIPPED = " It was skipped."
MAX_PROJECT_MODE: Mode = (
    "ask"  # a project's custom mode may not allow more unless the user trusts its file
)

_ID = r"[a-z0-9]+(-[a-z0-9]+)*"


class _UnusableMode(Exception):
    """An entry that cannot be used, and why."""


def read_modes(
    table: object, source: str, freest: Mode = "yolo"
) -> tuple[dict[str, CustomMode], list[str]]:
    """Returns the modes in a file, and a remark for each that is not as written."""
    if not isinstance(table, dict):
        return {}, ["has modes that are not a table; they were skipped."]
    found, remarks = dict[str, CustomMode](), list[str]()
    for name, entry in table.items():
        try:
            mode = _mode(name, entry, source)
        except _UnusableMode as error:
            remarks.append(f"has a mode {name!a} that cannot be used: {error}.{MODE_SKIPPED}")
            continue
        base = stricter_mode(_own_base(mode), freest if name not in MODES else "yolo")
        if base != mode.base:
            remarks.append(stricter_base_remark(name, mode.base, base))
        found[name] = msgspec.structs.replace(mode, base=base)
    return found, remarks


def mode_problem(name: str, entry: Any) -> str:
    """Returns why an entry cannot be used as a mode; empty if it can."""
    try:
        _mode(name, entry, "user")
    except _UnusableMode as error:
        return str(error)
    return ""


def merge_modes(of_user: CustomModes, of_project: CustomModes) -> dict[str, CustomMode]:
    """Returns all modes; a project only restricts built-in modes and those that both files have."""
    found = dict(of_user)
    for name, mode in of_project.items():
        under = of_user.get(name)
        if under is not None or name in MODES:
            base = stricter_mode(mode.base, under.base) if under else mode.base
            label = under.label if under else ""  # a project cannot pass one mode for another
            mode = msgspec.structs.replace(mode, base=base, label=label, within=under)
        found[name] = mode
    return found


def stricter_base_remark(name: str, wanted: Mode, base: Mode) -> str:
    """Returns that a mode has a stricter base here than its file says."""
    return f"has a mode {name!a} based on {wanted}; here it is based on {base}."


def load_modes(
    of_user: object, of_project: object, *, own: bool = True, trusted: bool = False
) -> tuple[dict[str, CustomMode], tuple[list[str], list[str]]]:
    """Returns the modes of both files, and remarks about each; `own`: the user's file is theirs.

    `trusted`: the user trusts the project's file with this content.
    """
    user, about_user = read_modes(of_user, "user", "yolo" if own else MAX_PROJECT_MODE)
    project, about_project = read_modes(
        of_project, "project", "yolo" if trusted else MAX_PROJECT_MODE
    )
    return merge_modes(user, project), (about_user, about_project)


def _mode(name: str, entry: Any, source: str) -> CustomMode:
    if not re.fullmatch(_ID, name) or len(name) > MAX_ID_CHARS:
        raise _UnusableMode(
            f"an id must be kebab-case, such as `review-docs`, with at most {MAX_ID_CHARS} "
            "characters"
        )
    if name in MODES and isinstance(entry, dict):
        entry = {"base": name, **entry}
    try:
        settings = convert(entry, ModeSettings)
    except msgspec.ValidationError as error:
        raise _UnusableMode(_said(error, entry)) from None
    if len(settings.label) > LABEL:
        raise _UnusableMode(f"its label is longer than {LABEL} characters")
    if any(not glob.strip() or glob.startswith("/") for glob in settings.edit or ()):
        raise _UnusableMode("globs in edit must be relative to the workspace and not empty")
    return CustomMode(
        name,
        settings.base,
        " ".join(settings.label.split()),
        settings.tools,
        settings.edit,
        settings.prompt.strip(),
        source,
    )


def _said(error: msgspec.ValidationError, entry: Any) -> str:
    """Returns what is wrong with an entry, in terms of its own file."""
    if str(error).endswith("`$.base`"):
        return f"base must be one of {', '.join(MODES)}{meant(str(entry['base']), MODES)}"
    return str(error)


def _own_base(mode: CustomMode) -> Mode:
    """Returns the effective base: a built-in mode is its own base."""
    return next((each for each in MODES if each == mode.id), mode.base)


# Merges a trusted project's tables below the user's, which they never override (law 9).


SettingsMerge: TypeAlias = Callable[[Any, Any], Any]


def merge_settings(of_user: Mapping[str, Any], of_project: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the user's tables, with those of a project that require trust."""
    found = dict(of_user)
    for key in AFTER_TRUST:
        if key in of_project:
            found[key] = (
                _JOINS[key](of_user[key], of_project[key]) if key in of_user else (of_project[key])
            )
    return found


def _beside(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Adds what the user has not set; what they named stays as it is, in all its parts."""
    return {**own, **{name: other[name] for name in other if name not in own}}


def _behind(own: list[Any], other: list[Any]) -> list[Any]:
    return [*own, *other]


def _lists_behind(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: list(dict.fromkeys([*own.get(key, ()), *other.get(key, ())]))
        for key in dict.fromkeys((*own, *other))
    }


_JOINS: dict[str, SettingsMerge] = {
    "providers": _beside,
    "models": _beside,
    "mcp": _beside,
    "format": _beside,  # the first glob that matches wins, so the user's come first
    "retry": _beside,
    "http": _beside,
    "hooks": _behind,
    "fetch": _lists_behind,
    "plugins": _lists_behind,
}


# What still counts of a user's file that others could write: only what restricts.
#
# Another user may have loosened settings in such a file, so those do not count. Stricter settings
# count from anywhere: otherwise a wrong file mode would turn restrictions off.


# Numbers where a smaller one is stricter; 0 means no limit, or none of it, and never narrows.
_SMALLER: Final = {
    "approve": ("expires_s",),
    "loops": ("warn", "ask", "block", "failures", "give_up"),
    "budget": ("steps", "tokens", "dollars", "seconds", "children"),
    "tasks": ("depth", "together", "seconds", "steps"),
    "questions": ("expires_s", "grants_expire_s"),
    "shell": ("timeout_s",),
}
_PRESET: Final = "its deny and ask rules"


class RestrictiveSettings(msgspec.Struct, frozen=True):
    """The part of a file that restricts, and the name of each table's part."""

    table: dict[str, Any] = {}
    named: dict[str, str] = {}


def restrictive_settings(table: Mapping[str, Any]) -> RestrictiveSettings:
    """Returns the settings that only restrict, of those that only a user may make."""
    found: dict[str, Any] = {}
    for key in _SMALLER:
        if own := {name: v for name, v in table.get(key, {}).items() if _narrows(key, name, v)}:
            found[key] = own
    named = {key: ", ".join(f"{key}.{name}" for name in own) for key, own in found.items()}
    if preset := table.get("preset"):  # its rules then count like those of the file
        return RestrictiveSettings({**found, "preset": preset}, {**named, "preset": _PRESET})
    return RestrictiveSettings(found, named)


def _narrows(key: str, name: str, value: Any) -> bool:
    if key == "approve" and name in ("independent", "require_rehearsal"):
        return bool(value)
    if name not in _SMALLER[key] or value <= 0:
        return False
    default: float = getattr(getattr(_DEFAULTS, key), name)
    return not default or bool(value < default)


_DEFAULTS: Final = Settings()


PROJECT = ".opencode/assent.toml"
IGNORED_HERE = "The file is ignored here."
SCRIPTED_MODEL = "sets a scripted model, which only the user may choose"
USER_ONLY_WARNING = "which only the user's configuration may set; it is ignored."
UNTRUSTED = (
    "which is ignored until you trust this file; run `assent trust show` to see what it would do."
)
# Kept apart: who says it decides how far it counts.
SEPARATE = ("permission", "rules", "verify", "modes")

# Tells whether the user trusts a file of the project with this content.
IsTrusted: TypeAlias = Callable[[str, bytes], bool]


def nothing_trusted(name: str, content: bytes) -> bool:
    return False


class LoadedSettings(msgspec.Struct, frozen=True):
    """Settings, and warnings about how they were loaded.

    `settings` has the user's permission and rules, `project` only those of the project.
    """

    settings: Settings
    warnings: tuple[str, ...] = ()
    project: Settings = Settings()
    trusted: bool = False  # the project's file is, with this content: what it allows counts
    own: bool = True  # the user's file speaks for the user: what it allows counts
    of_project: dict[str, Any] = {}  # what counts of the project's file


class FilteredSettings(msgspec.Struct, frozen=True):
    """One of the two files: its tables, and what was removed from them."""

    table: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    counts: bool = False  # like the user's own word
    text: bytes = b""


class SettingsLoader(msgspec.Struct, frozen=True):
    """Loads settings from the user's file and the workspace, with what other modules provide."""

    user: Path
    root: bytes
    opener: Opener
    check_plan_dir: Callable[[str], object]  # raises Refused
    trusted: IsTrusted = nothing_trusted

    def load(self, *, lenient: bool = False) -> LoadedSettings:
        """Reads both files; a missing one is empty, and if `lenient` a broken project file too."""
        user = self._of_user()
        try:
            project = self._of_project()
        except AssentError as error:
            if not lenient:
                raise
            project = FilteredSettings({}, (f"{error.message} {IGNORED_HERE}",))
        return self._together(user, project)

    def _together(self, user: FilteredSettings, project: FilteredSettings) -> LoadedSettings:
        narrowed, remarks = _narrowed(user.table, project.table)
        merged = _merged(merge_settings(user.table, narrowed), _shared(narrowed))
        modes, (of_user, of_project) = load_modes(
            merged.pop("modes", {}),
            project.table.get("modes", {}),
            own=user.counts,
            trusted=project.counts,
        )
        warnings = (
            *user.warnings,
            *[f"{path_text(self.user)} {remark}" for remark in of_user],
            *project.warnings,
            *[f"{path_text(self._project)} {remark}" for remark in (*remarks, *of_project)],
        )
        settings = msgspec.structs.replace(convert(merged, Settings), modes=modes)
        warnings += (
            *_unknown_model(self.user, user, user.table, settings),
            *_unknown_model(self._project, project, narrowed, settings),
        )
        return LoadedSettings(
            settings, warnings, _apart(narrowed), project.counts, user.counts, narrowed
        )

    @property
    def _project(self) -> Path:
        return Path(os.fsdecode(self.root)) / PROJECT

    def _of_user(self) -> FilteredSettings:
        source = read_config(self.user, self.opener, follow=True)
        check_settings(source)
        wanting = [key for key in (*USER_ONLY, *SEPARATE, "mode") if key in source.table]
        own = _loosening_keys(source.table)
        why = ownership_problem(source, self.root) if wanting or own else ""
        if not why:
            return FilteredSettings(source.table, counts=True, text=source.text)
        kept = restrictive_settings(source.table)
        refused = USER_ONLY if source.table.get("mode") == MODES[0] else (*USER_ONLY, "mode")
        remark = f"which is ignored: {why}."
        remarks = {
            remark: tuple(key for key in refused if key not in kept.named),
            **{
                f"of which only this applies: {kept.named[key]} ({why}).": (key,)
                for key in kept.named
            },
        }
        table, warnings = _parted(self.user, source.table, remarks)
        table |= kept.table
        remarks_on = [f"{path_text(self.user)} sets {key}, {remark}" for key in own]
        return FilteredSettings(
            _without_keys(table, own), (*warnings, *remarks_on), text=source.text
        )

    def _of_project(self) -> FilteredSettings:
        path = self._project
        try:
            source, text = read_content(path, self.opener, follow=False)
        except FileNotFoundError:
            return FilteredSettings()
        whole = parse_toml(path, text)
        trusted = _wants_trust(whole) and self.trusted(PROJECT, text)
        refused = {UNTRUSTED: () if trusted else AFTER_TRUST, USER_ONLY_WARNING: NEVER}
        table, warnings = _parted(path, whole, refused)
        settings = check_settings(msgspec.structs.replace(source, table=table, text=text))
        if "plan" in table:
            try:
                self.check_plan_dir(settings.plan.dir)
            except Refused as error:
                raise Refused(f"{path_text(path)}: {error.message}", edit_command(path)) from None
        return FilteredSettings(table, warnings, trusted, text)


def _wants_trust(table: Mapping[str, Any]) -> bool:
    """Tells whether a file has anything that trust would change."""
    return any(key in table for key in (*AFTER_TRUST, *SEPARATE))


def _parted(
    path: Path, table: Mapping[str, Any], refused: Mapping[str, tuple[str, ...]]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Removes what a file may not set, with a warning for each table."""
    why = {key: remark for remark, keys in refused.items() for key in keys if key in table}
    allowed = {key: value for key, value in table.items() if key not in why}
    return allowed, tuple(f"{path_text(path)} sets [{key}], {why[key]}" for key in why)


def _shared(table: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a project may set without trust; it overrides the user's settings."""
    return {key: table[key] for key in table if key not in (*AFTER_TRUST, *SEPARATE)}


def _apart(table: Mapping[str, Any]) -> Settings:
    """Returns settings with only a project's permission, rules and verification."""
    return convert({key: table[key] for key in SEPARATE[:3] if key in table}, Settings)


def user_only_remark(key: str) -> str:
    """Returns that a project sets what only the user may, in a table that projects share."""
    return f"sets {key}, which only the user may set;"


def _narrowed(
    of_user: Mapping[str, Any], of_project: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Removes what would give a project more than its user allows (law 9), with remarks."""
    remarks = {}
    mode = of_project.get("mode", MODES[0])
    if MODES.index(mode) > MODES.index(of_user.get("mode", MODES[0])):
        remarks["mode"] = f"sets mode {mode}, but a project can only make the user's mode stricter;"
    own, wish = str(of_user.get("model", "")), str(of_project.get("model", ""))
    if wish.startswith("scripted:"):
        remarks["model"] = f"{SCRIPTED_MODEL};"
    elif wish and not may_choose(own, wish):
        remarks["model"] = f"sets model {wish}, but the user chose another provider;"
    kept = {key: value for key, value in of_project.items() if key not in remarks}
    refused = [key for key in refused_keys(of_project) if key in NEVER_KEYS]
    for key in refused:
        if key not in MAY_TURN_OFF or not _says(of_user, key):  # else it changes nothing
            remarks[key] = user_only_remark(key)
    kept = _without_keys(kept, refused)
    return kept, [f"{remark} it is ignored." for remark in remarks.values()]


# Of those, what another user's hand in a user's file could loosen; the others only restrict.
_LOOSENING: Final = ("plan.commit", "plan.critic")


def _says(table: Mapping[str, Any], key: str) -> bool:
    name, _, last = key.partition(".")
    return bool(table.get(name, {}).get(last))


def _loosening_keys(table: Mapping[str, Any]) -> list[str]:
    return [key for key in _LOOSENING if _says(table, key)]


def _without_keys(table: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Returns a table without single settings of its tables."""
    kept = dict(table)
    for key in keys:
        name, _, last = key.partition(".")
        kept[name] = {of: value for of, value in kept[name].items() if of != last}
    return {name: value for name, value in kept.items() if value != {} or table[name] == {}}


def check_settings(source: ConfigFile) -> Settings:
    """Checks one file by itself, so that the error names the right one."""
    rest = {key: value for key, value in source.table.items() if key != "modes"}
    try:
        return convert(rest, Settings)
    except msgspec.ValidationError as error:
        raise setting_error(source, Settings, error) from None


def _unknown_model(
    path: Path, file: FilteredSettings, table: Mapping[str, Any], settings: Settings
) -> Iterator[str]:
    """Yields a warning where a file names a model of a provider that does not exist.

    Everything that needs no model still works, so this is not an error.
    """
    name = str(table.get("model", ""))
    if why := unknown_provider(name, settings.providers, settings.models):
        yield f"{path_text(path)}: {setting_line(file.text, 'model')}model is {name!a}, but {why}"


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged
