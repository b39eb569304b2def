"""Loads the permission rules of the user, of OpenCode's files and of the project, by layer.

A project's files, and files that other users could have written, can only restrict, until the
person trusts exactly their content (law 9).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assent.config.config_file import (
    ConfigFile,
    Opener,
    config_error,
    parse_toml,
    path_text,
    read_content,
)
from assent.config.file_ownership import ownership_problem
from assent.config.jsonc import BadJson, read_jsonc
from assent.config.loader import PROJECT, IsTrusted, LoadedSettings, nothing_trusted
from assent.config.paths import AppPaths
from assent.config.presets import PRESETS
from assent.config.settings import RuleSettings, Settings
from assent.core.errors import UsageError
from assent.core.permission.rule import (
    InvalidRuleTable,
    PermissionPolicy,
    PermissionRule,
    RuleLayer,
    failed_examples,
    parse_rules,
    parse_tool_rules,
    rule_text,
)

OPENCODE = ("opencode.json", "opencode.jsonc")
PROJECT_FILES = (*OPENCODE, ".opencode/opencode.json", ".opencode/opencode.jsonc")


class RuleSources(msgspec.Struct, frozen=True):
    """Where rules come from, and who is asked about a project's files."""

    loaded: LoadedSettings
    places: AppPaths
    root: bytes
    home: str
    opener: Opener
    is_trusted: IsTrusted = nothing_trusted
    command_line: tuple[PermissionRule, ...] = ()
    check: bool = True  # whether examples that fail are an error


def load_policy(sources: RuleSources) -> tuple[PermissionPolicy, tuple[str, ...]]:
    """Returns every layer but the agents', and a warning for each file that cannot be used.

    Raises UsageError where a file of the user, or the project's `assent.toml`, makes no sense.
    """
    warnings = list[str]()
    layers = [*_of_user(sources, warnings), *_of_project(sources, warnings)]
    layers.append(RuleLayer("command line", sources.command_line))
    root = os.fsdecode(os.path.realpath(sources.root))
    kept = tuple(layer for layer in layers if layer.rules)
    return PermissionPolicy(kept, root, sources.home), tuple(warnings)


def rules_in(path: Path, opener: Opener) -> tuple[PermissionRule, ...]:
    """Returns the rules of one file, TOML or JSON, for somebody who tests them."""
    try:
        _, text = read_content(path, opener, follow=True)
    except FileNotFoundError:
        raise UsageError(f"There is no file {path_text(path)}.") from None
    table = parse_toml(path, text) if path.suffix == ".toml" else _object(path, text)
    return _of_file(path, table)


def _of_user(sources: RuleSources, warnings: list[str]) -> Iterator[RuleLayer]:
    """Yields the user's own layer, and one more for each file of theirs that is in doubt."""
    preset = _preset(sources)
    rules = list(preset if sources.loaded.own else ())
    folder = sources.places.config.parent / "opencode"
    for path in [folder / name for name in OPENCODE]:
        found = _read(path, sources.opener, follow=True)
        if found is None:
            continue
        source, _, table = found
        own = _checked(path, _of_file(path, table), sources)
        warnings += _unread(path, table)
        if own and (why := ownership_problem(source, sources.root)):
            warnings.append(f"What {path_text(path)} allows is ignored: {why}.")
            yield RuleLayer("user", own, trusted=False)
        else:
            rules += own
    path, loaded = sources.places.file, sources.loaded
    own = _checked(path, _of_settings(path, loaded.settings), sources)
    if not loaded.own and _allows(own):
        warnings.append(f"What {path_text(path)} allows is ignored: others could have written it.")
    yield RuleLayer("user", () if loaded.own else (*preset, *own), trusted=False)
    yield RuleLayer("user", (*rules, *(own if loaded.own else ())))


def _of_project(sources: RuleSources, warnings: list[str]) -> Iterator[RuleLayer]:
    """Yields a layer for each file of the project; a broken one of OpenCode's is a warning."""
    root, loaded = Path(os.fsdecode(sources.root)), sources.loaded
    for name in PROJECT_FILES:
        try:
            yield from _layer(root, name, sources)
        except UsageError as error:
            warnings.append(f"{error.message} Its rules are ignored.")
    path = root / PROJECT
    rules = _checked(path, _of_settings(path, loaded.project), sources)
    yield RuleLayer("project", rules, loaded.trusted)


def _layer(root: Path, name: str, sources: RuleSources) -> Iterator[RuleLayer]:
    found = _read(root / name, sources.opener, follow=False)
    if found is None:
        return
    _, text, table = found
    rules = _checked(root / name, _of_file(root / name, table), sources)
    is_trusted = _allows(rules) and sources.is_trusted(name, text)
    yield RuleLayer("project", rules, is_trusted)


def _allows(rules: tuple[PermissionRule, ...]) -> bool:
    return any(rule.action == "allow" for rule in rules)


def _preset(sources: RuleSources) -> tuple[PermissionRule, ...]:
    name = sources.loaded.settings.preset
    if name and name not in PRESETS:
        known = ", ".join(PRESETS)
        raise config_error(sources.places.file, f"preset is {name!r}, and not one of {known}")
    return PRESETS.get(name, ())


def _read(
    path: Path, opener: Opener, *, follow: bool
) -> tuple[ConfigFile, bytes, dict[str, Any]] | None:
    try:
        source, text = read_content(path, opener, follow=follow, placeholder=not follow)
    except FileNotFoundError:
        return None
    return source, text, _object(path, text)


def _object(path: Path, text: bytes) -> dict[str, Any]:
    try:
        return read_jsonc(text)
    except BadJson as error:
        raise config_error(path, str(error)) from None


def _of_file(path: Path, table: Mapping[str, Any]) -> tuple[PermissionRule, ...]:
    """Returns the rules of one file: older `tools`, then `permission`, then `[[rules]]`."""
    try:
        tools = parse_tool_rules(table.get("tools", {}), path_text(path))
        rows = msgspec.convert(table.get("rules", ()), tuple[RuleSettings, ...])
    except (InvalidRuleTable, msgspec.ValidationError) as error:
        raise config_error(path, str(error)) from None
    settings = Settings(permission=table.get("permission", {}), rules=rows)
    return (*tools, *_of_settings(path, settings))


def _of_settings(path: Path, settings: Settings) -> tuple[PermissionRule, ...]:
    source = path_text(path)
    try:
        said = parse_rules(settings.permission, source)
    except InvalidRuleTable as error:
        raise config_error(path, str(error)) from None
    rows = [
        (r.permission, r.pattern, r.action, r.reason, r.matches, r.misses) for r in settings.rules
    ]
    return (*said, *[PermissionRule(*row, source) for row in rows])


def _checked(
    path: Path, rules: tuple[PermissionRule, ...], sources: RuleSources
) -> tuple[PermissionRule, ...]:
    """Returns the rules; raises UsageError if one does not keep its own examples."""
    for rule in rules if sources.check else ():
        if failed := failed_examples(rule, sources.home):
            raise config_error(path, f"the rule `{rule_text(rule)}` fails: {failed[0]}")
    return rules


def _unread(path: Path, table: Mapping[str, Any]) -> list[str]:
    """Warns of rules that stand where nobody looks."""
    agents = table.get("agent", {})
    if not isinstance(agents, Mapping):
        return []
    named_so = [name for name, one in agents.items() if isinstance(one, Mapping)]
    ruled = [name for name in named_so if {"permission", "tools"} & {*agents[name]}]
    return [
        f"{path_text(path)} has rules for the agent {name}, which are read only from an agent's "
        f"own file; write them to agents/{name}.md."
        for name in ruled
    ]
