"""Loading: the user's file over the defaults, then the project's where it may speak."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assent.config.settings import USER_ONLY, Settings
from assent.core.errors import UsageError


class Loaded(msgspec.Struct, frozen=True):
    """Settings, and what a person should know about how they came about."""

    settings: Settings
    warnings: tuple[str, ...] = ()


def load(user: Path, project: Path) -> Loaded:
    """Reads both files; a missing one is empty."""
    of_user, of_project = _table(user), _table(project)
    refused = [key for key in USER_ONLY if key in of_project]
    warnings = tuple(
        f"{project} sets [{key}], which only the user's configuration may; it is ignored."
        for key in refused
    )
    allowed = {key: value for key, value in of_project.items() if key not in refused}
    return Loaded(_checked(_merged(of_user, allowed), user, project), warnings)


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from None


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _checked(table: Mapping[str, Any], user: Path, project: Path) -> Settings:
    try:
        return msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise UsageError(f"{user} or {project}: {error}.", "docs/configuration.md") from None
