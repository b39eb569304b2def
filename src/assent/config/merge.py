"""Merges a trusted project's tables below the user's, which they never override (law 9)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from assent.config.settings import AFTER_TRUST

SettingsMerge: TypeAlias = Callable[[Any, Any], Any]


def merge_settings(of_user: Mapping[str, Any], of_project: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the user's tables, with those of a project that only trust lets in."""
    found = dict(of_user)
    for key in AFTER_TRUST:
        if key in of_project:
            found[key] = (
                _JOINS[key](of_user[key], of_project[key]) if key in of_user else (of_project[key])
            )
    return found


def _beside(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Adds what the user has not; what they named stays as it is, in all its parts."""
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
