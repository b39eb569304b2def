"""Loading: the user's file over the defaults, then the project's where it may speak."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assent.config.reading import Opener, Source, edit, named, read, wrong
from assent.config.settings import USER_ONLY, Settings
from assent.config.trust import doubt
from assent.core.errors import AssentError, Refused
from assent.core.mode import MODES
from assent.core.provider import may_choose

PROJECT = ".opencode/assent.toml"
NOT_YOURS = "which only the user's configuration may; it is ignored."


class Loaded(msgspec.Struct, frozen=True):
    """Settings, and what a person should know about how they came about."""

    settings: Settings
    warnings: tuple[str, ...] = ()


class Loader(msgspec.Struct, frozen=True):
    """What loading needs: the user's file, the workspace, and two things that others know."""

    user: Path
    root: bytes
    opener: Opener
    check_plan_dir: Callable[[str], object]  # raises Refused

    def load(self, *, lenient: bool = False) -> Loaded:
        """Reads both files; a missing one is empty, and leniently a broken project's is, too."""
        of_user, warnings = self._of_user()
        try:
            of_project, more = self._of_project()
        except AssentError as error:
            if not lenient:
                raise
            of_project, more = {}, (f"{error.message} It counts as empty here.",)
        of_project, narrowed = _narrowed(of_user, of_project)
        more = (*more, *[f"{named(self._project)} {remark}" for remark in narrowed])
        merged = _merged(of_user, of_project)
        return Loaded(msgspec.convert(merged, Settings), (*warnings, *more))

    @property
    def _project(self) -> Path:
        return Path(os.fsdecode(self.root)) / PROJECT

    def _of_user(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        source = read(self.user, self.opener, follow=True)
        _settings(source.path, source.table)
        why = doubt(source, self.root) if _user_only(source) else ""
        return _parted(source, f"which is ignored: {why}.") if why else (source.table, ())

    def _of_project(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        source = read(self._project, self.opener, follow=False)
        table, warnings = _parted(source, NOT_YOURS)
        settings = _settings(source.path, table)
        if "plan" in table:
            try:
                self.check_plan_dir(settings.plan.dir)
            except Refused as error:
                raise Refused(f"{named(source.path)}: {error.message}", edit(source.path)) from None
        return table, warnings


def _user_only(source: Source) -> list[str]:
    return [key for key in USER_ONLY if key in source.table]


def _parted(source: Source, remark: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Takes out what only a user may say, with a warning for each table."""
    refused = _user_only(source)
    allowed = {key: value for key, value in source.table.items() if key not in refused}
    return allowed, tuple(f"{named(source.path)} sets [{key}], {remark}" for key in refused)


def _narrowed(
    of_user: Mapping[str, Any], of_project: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Takes out what would give a project more than its user gives (law 9), with remarks."""
    remarks = {}
    mode = of_project.get("mode", MODES[0])
    if MODES.index(mode) > MODES.index(of_user.get("mode", MODES[0])):
        remarks["mode"] = f"sets the mode {mode}, but it can only make the user's stricter;"
    own, wish = str(of_user.get("model", "")), str(of_project.get("model", ""))
    if wish.startswith("scripted:"):
        remarks["model"] = "sets a scripted model, which only the user may choose;"
    elif wish and not may_choose(own, wish):
        remarks["model"] = f"sets the model {wish}, and the user has chosen another provider;"
    kept = {key: value for key, value in of_project.items() if key not in remarks}
    return kept, [f"{remark} it is ignored." for remark in remarks.values()]


def _settings(path: Path, table: Mapping[str, Any]) -> Settings:
    """Checks one file by itself, so that the error names the right one."""
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise wrong(path, str(error)) from None


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged
