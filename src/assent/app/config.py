"""Reads and changes single settings of the user's or the project's file, comments kept.

A change is written only if the file has no error with it that it did not have without it, and if
it changes nothing else.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as File
from shlex import quote
from stat import S_IMODE
from typing import Any, Literal, TypeAlias

import msgspec

from assent.app.rules import unknown_rule_warnings
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.config_file import (
    ConfigFile,
    config_error,
    ownership_problem,
    parse_toml,
    path_text,
    read_content,
)
from assent.config.loader import PROJECT, SEPARATE, check_settings, mode_problem
from assent.config.permissions import failed_rules
from assent.config.schema import SettingProblem, key_text, problem_text, setting_problems
from assent.config.settings import (
    AFTER_TRUST,
    MEANINGS,
    ModeSettings,
    RuleSettings,
    Settings,
    refused_keys,
)
from assent.config.toml_edit import CannotEdit, parse_key, toml_literal, with_value, without_key
from assent.core.decoding import convert
from assent.core.errors import NotFound, Refused, UsageError, meant, nearest
from assent.core.llm import PROVIDERS, ModelSettings, unknown_provider
from assent.core.permission.mode import MODES
from assent.core.permission.rule import parse_rules
from assent.executor.disk import Disk
from assent.executor.projection import LocalProjection
from assent.llm.catalog import ModelCatalog, is_model_name, unknown_model
from assent.store.files import PRIVATE, refuse_shared, store_errors, write_atomically
from assent.store.locks import FileLocks

SettingSource: TypeAlias = Literal["default", "user", "project"]

MODEL_KEYS = (("model",), ("plan", "critic"))
SCRIPTED = "scripted:"
UNCHANGED = "Nothing was changed."
MAX_PROBLEMS = 5  # told at once
LIST = "assent config list --all"


class Setting(msgspec.Struct, frozen=True):
    """A setting with the value that counts, and where that comes from."""

    key: str
    value: Any
    source: SettingSource
    meaning: str = ""


class ConfigEditor:
    """One configuration file of a workspace: the user's, or with `project` the project's."""

    def __init__(self, folder: str, *, project: bool = False) -> None:
        self._here = user_paths()
        _, self._root = locate_workspace(folder)
        self._project = project
        self._projection = LocalProjection(self._root)
        in_project = File(os.fsdecode(self._root)) / PROJECT
        self.path = in_project if project else self._here.file
        self.warnings: tuple[str, ...] = ()  # about the file, after a change

    @property
    def path_text(self) -> str:
        """The file as messages name it."""
        return path_text(self.path)

    def settings(self) -> tuple[list[Setting], tuple[str, ...]]:
        """Lists every setting that counts, with warnings; those of the two files by name."""
        loaded = load_settings(self._root, self._here, lenient=True)
        counts = msgspec.to_builtins(loaded.settings)
        user, project = _filled(self._table(self._here.file)), _filled(loaded.of_project)
        keys = dict.fromkeys([*_leaves(counts), *_leaves(user), *_leaves(project)])
        rows = [_setting(key, counts, user, project) for key in keys]
        return [row for row in rows if row is not None], loaded.warnings

    def get(self, key: str) -> list[Setting]:
        """Returns a setting, or all settings of a table; raises NotFound."""
        parts = parsed_key(key)
        found = [each for each in self.settings()[0] if parse_key(each.key)[: len(parts)] == parts]
        if not found:
            raise self._unknown(parts)
        return found

    def unread(self, key: str) -> list[str]:
        """Returns what the project's file sets below a key although it does not count."""
        parts = parsed_key(key)
        loaded = load_settings(self._root, self._here, lenient=True)
        file = File(os.fsdecode(self._root)) / PROJECT
        found = []
        for leaf in _leaves(self._project_table()):
            path = parse_key(leaf)
            if path[: len(parts)] != parts or _at(loaded.of_project, path) is not None:
                continue
            why = "only your own configuration may set it"
            if path[0] in AFTER_TRUST:
                why = "you do not trust the file (assent trust show)"
            elif not refused_keys(_with({}, path, None)):
                why = "a project may only make it stricter (assent config list)"
            found.append(f"{path_text(file)} sets {leaf}, which does not count: {why}.")
        return found

    def set(self, key: str, typed: str) -> Any:
        """Sets one setting to what a person typed; returns the value."""
        parts = parsed_key(key)
        if self._project and all(refused_keys(_with({}, parts, v)) for v in _meanings(typed)):
            raise self._user_only(key_text(parts))
        with self._changing() as text:
            table = parse_toml(self.path, text.encode())
            problems: list[SettingProblem] = []
            for value in _meanings(typed):
                wrong = _caused(table, _with(table, parts, value), parts)
                if not wrong:
                    self._check_model(parts, value)
                    self._write(text, self._with(text, parts, value), parts, value)
                    return value
                problems += wrong[:1]
            raise _problem_error(problems[0], parts)

    def _check_model(self, path: tuple[str, ...], name: Any) -> None:
        """Refuses the name of a model whose provider does not exist."""
        if path not in MODEL_KEYS:
            return
        try:
            settings = load_settings(self._root, self._here, lenient=True).settings
            known = [settings.providers, settings.models]
        except UsageError:  # of another setting, which does not block this one
            user = self._table(self._here.file)
            known = [user.get("providers"), user.get("models")]
        custom, models = [dict(each) if isinstance(each, dict) else {} for each in known]
        of_project = self._project_table() if self._project else {}
        custom |= of_project.get("providers", {})
        if why := unknown_provider(name, custom, models):
            raise UsageError(
                f"{key_text(path)} cannot be {name!a}: {why} {UNCHANGED}", "assent models list"
            )
        providers = [*dict.fromkeys([*(each.name for each in PROVIDERS), *custom])]
        catalog = ModelCatalog({key: ModelSettings() for key in models})
        if name and not name.startswith(SCRIPTED) and not is_model_name(name, providers, catalog):
            raise unknown_model(name, providers, catalog, f" {UNCHANGED}")

    def put(self, path: tuple[str, ...], table: dict[str, Any]) -> None:
        """Adds a whole table, such as a server of tools; raises UsageError if it is there."""
        if self._project and (refused := refused_keys(_with({}, path, table))):
            raise self._user_only(refused[0])
        with self._changing() as text:
            before = parse_toml(self.path, text.encode())
            if wrong := _caused(before, _with(before, path, table), path):
                raise _problem_error(wrong[0])
            if _at(before, path) is not None:
                raise UsageError(
                    f"{self.path_text} already has {key_text(path)}. {UNCHANGED}",
                    f"assent mcp remove {path[-1]}" + (" --project" if self._project else ""),
                )
            after = text
            for name, value in table.items():
                after = self._with(after, (*path, name), value)
            self._write(text, after, path, table)

    def remove(self, path: tuple[str, ...]) -> None:
        """Removes a setting or a table; raises NotFound if the file does not have it."""
        with self._changing() as text:
            before = parse_toml(self.path, text.encode())
            if _at(before, path) is None:
                key, known = key_text(path), _known_keys()
                hint = meant(key, _leaves(before)) or ("" if key in known else meant(key, known))
                raise NotFound(
                    f"{key} is not set in {self.path_text}. {UNCHANGED}{hint}",
                    "assent config list",
                )
            try:
                after = without_key(text, path)
            except CannotEdit:
                raise self._cannot(path) from None
            left = parse_toml(self.path, after.encode())
            if _pruned(left, path[:-1]) != _without(before, path):
                raise self._cannot(path)
            if wrong := _caused(before, left):
                raise _problem_error(wrong[0])
            self._store(after)
            self._warn(after, left)

    def text(self) -> str:
        """Returns the whole file."""
        return self._content()[1].decode("utf-8", "replace")

    def replace(self, before: str, after: str) -> None:
        """Replaces the whole file with an edited text, if it is valid and was not changed since."""
        with self._changing() as text:
            if text != before:
                raise UsageError(
                    f"{self.path_text} was changed by another program. {UNCHANGED}",
                    "assent config edit",
                )
            self._refuse_new(parse_toml(self.path, before.encode()), self._check(after))
            self._store(after)

    @contextmanager
    def _changing(self) -> Iterator[str]:
        """Lets one process at a time change the file; gives its text."""
        with FileLocks(self._here.state / "locks").hold("config", "assent config"):
            source, content = self._content()
            if why := "" if self._project else ownership_problem(source, self._root):
                raise Refused(
                    f"{self.path_text} was not changed: {why}.", f"ls -ld {quote(self.path_text)}"
                )
            parse_toml(self.path, content)  # else nobody knows where anything is
            yield content.decode("utf-8")

    def _with(self, text: str, path: tuple[str, ...], value: Any) -> str:
        try:
            return with_value(text, path, value)
        except CannotEdit:
            raise self._cannot(path) from None

    def _write(self, before: str, after: str, path: tuple[str, ...], value: Any) -> None:
        """Writes a text, if it is valid and differs from the one before in this setting alone."""
        table = parse_toml(self.path, after.encode())
        old = parse_toml(self.path, before.encode())
        if table != _with(old, path, value):
            raise self._cannot(path)
        self._refuse_new(old, table)
        self._store(after)
        self._warn(after, table, path)

    def _check(self, text: str) -> dict[str, Any]:
        """Raises UsageError with line and key unless a text is a valid configuration."""
        table = parse_toml(self.path, text.encode())
        for problem in _problems(table):
            raise config_error(self.path, problem_text(text, problem))
        check_settings(ConfigFile(self.path, table, text=text.encode()))
        return table

    def _warn(self, text: str, table: dict[str, Any], path: tuple[str, ...] = ()) -> None:
        """Keeps as warnings which errors the file still has, and that a new rule has no effect."""
        problems = [*_problems(table)]
        self.warnings = tuple(
            f"{self.path_text} still has an error: {problem_text(text, problem)}."
            for problem in problems[:MAX_PROBLEMS]
        )
        if path[:1] == ("permission",) and not problems:
            settings = load_settings(self._root, self._here, lenient=True).settings
            rules = parse_rules(table["permission"], self.path_text)
            named = [rule for rule in rules if rule.permission in path[1:2] or len(path) == 1]
            self.warnings = unknown_rule_warnings(named, settings, [self.path])

    def _refuse_new(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Refuses a change that adds to a project's file what only the user may set."""
        known = refused_keys(before)
        for key in refused_keys(after) if self._project else ():
            if key not in known:
                raise self._user_only(key)

    def _store(self, text: str) -> None:
        content = text.encode()
        if self._project:
            self._projection.write_settings(content)
            return
        target = os.path.realpath(self.path)
        refuse_shared("The folder", os.path.dirname(target))
        with store_errors("read", target):
            mode = S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else PRIVATE
        write_atomically(target, content, mode)

    def _content(self) -> tuple[ConfigFile, bytes]:
        try:
            return read_content(self.path, Disk().open, follow=not self._project)
        except FileNotFoundError:
            return ConfigFile(self.path, {}, os.geteuid(), 0), b""

    def _table(self, path: File) -> dict[str, Any]:
        try:
            _, text = read_content(path, Disk().open, follow=True)
        except FileNotFoundError:
            return {}
        return parse_toml(path, text)

    def _project_table(self) -> dict[str, Any]:
        try:
            return self._table(File(os.fsdecode(self._root)) / PROJECT)
        except UsageError:  # `settings` warns of it
            return {}

    def needs_trust(self, path: tuple[str, ...]) -> bool:
        """Tells whether a project's setting counts only after the user trusts its file."""
        return self._project and path[0] in AFTER_TRUST

    @staticmethod
    def _user_only(key: str) -> Refused:
        return Refused(
            f"{key} can only be set in your own configuration, not in a project's. {UNCHANGED}",
            f"assent config set {key} VALUE",
        )

    def _cannot(self, path: tuple[str, ...]) -> UsageError:
        return UsageError(
            f"{key_text(path)} in {self.path_text} cannot be changed without rewriting other parts "
            f"of the file. {UNCHANGED}",
            "assent config edit" + (" --project" if self._project else ""),
        )

    @staticmethod
    def _unknown(parts: tuple[str, ...]) -> NotFound:
        known = _known_keys()
        key = key_text(parts)
        near = nearest(key, known)
        if parts[0] in Settings.__struct_fields__ and (key in known or _is_named(parts)):
            return NotFound(f"{key} is not set.", "assent config list")
        next = f"assent config get {near}" if near else LIST
        return NotFound(f"There is no setting {key}.{meant(key, known)}", next)


def _known_keys() -> list[str]:
    """Returns every setting that has a name of its own, and every table."""
    return [*MEANINGS, *dict.fromkeys(key.partition(".")[0] for key in MEANINGS)]


def parsed_key(key: str) -> tuple[str, ...]:
    """Returns the parts of a key; raises UsageError."""
    try:
        return parse_key(key)
    except (ValueError, IndexError):
        raise UsageError(
            f'{key!a} is not a key. Keys look like plan.export or models."openai/gpt-5".context.',
            LIST,
        ) from None


def _meanings(typed: str) -> Iterator[Any]:
    """Yields what a typed value can mean: a value of TOML first, else the text as it is."""
    try:
        table = parse_toml(File("The value"), f"value = {typed}\n".encode())
    except UsageError:
        table = {}
    if table.keys() == {"value"}:
        yield table["value"]
    yield typed


def _problems(table: dict[str, Any]) -> Iterator[SettingProblem]:
    """Yields everything that is wrong with a file: settings, examples of rules, and modes."""
    spoilt = False
    rest = {key: value for key, value in table.items() if key != "modes"}
    for problem in setting_problems(rest, Settings):
        spoilt = spoilt or problem.path[0] == "rules"
        yield problem
    if not spoilt:
        rules = convert(table.get("rules", ()), tuple[RuleSettings, ...])
        for at, why in failed_rules(Settings(rules=rules), str(File.home())):
            yield SettingProblem(("rules", at), why)
    modes = table.get("modes", {})
    if not isinstance(modes, dict):
        yield SettingProblem(("modes",), "must be a table")
    else:
        for name, entry in modes.items():
            yield from _mode_problems(name, entry)


def _mode_problems(name: str, entry: Any) -> Iterator[SettingProblem]:
    """Yields what is wrong with a custom mode; modes are read one by one."""
    based = {"base": name, **entry} if name in MODES and isinstance(entry, dict) else entry
    if not isinstance(based, dict):
        yield SettingProblem(("modes", name), "must be a table")
        return
    found = [*setting_problems(based, ModeSettings)]
    for problem in found:
        yield SettingProblem(("modes", name, *problem.path), problem.why)
    if not found and (why := mode_problem(name, entry)):
        yield SettingProblem(("modes", name), f"cannot be used: {why}")


def _caused(
    before: dict[str, Any], after: dict[str, Any], path: tuple[str, ...] = ()
) -> list[SettingProblem]:
    """Returns what is wrong after a change and was not before, or is wrong with what was set."""
    known = [*_problems(before)]
    return [each for each in _problems(after) if each not in known or _concerns(each.path, path)]


def _concerns(wrong: tuple[str | int, ...], path: tuple[str, ...]) -> bool:
    """Tells whether a problem is in a setting, below it, or in a table that has it."""
    shared = min(len(wrong), len(path))
    return bool(path) and wrong[:shared] == path[:shared]


def _problem_error(problem: SettingProblem, typed: tuple[str, ...] = ()) -> UsageError:
    """Returns why a setting cannot be used; `typed` is the key whose value a person typed."""
    if typed and typed == problem.path and typed[0] == "models":  # not a table: a model's name
        return UsageError(
            f"{key_text(problem.path)} {problem.why}. {UNCHANGED} The default model is the "
            "setting model.",
            "assent config set model PROVIDER/MODEL",
        )
    return UsageError(f"{key_text(problem.path)} {problem.why}. {UNCHANGED}", LIST)


def _filled(table: dict[str, Any]) -> dict[str, Any]:
    """Returns a file's tables without those that set nothing."""
    return {key: value for key, value in table.items() if value != {}}


def _is_named(parts: tuple[str, ...]) -> bool:
    return parts[0] in {"providers", "models", "mcp", "modes", "format", "check", "keys"}


def _leaves(table: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(table, dict) and table and path[:1] not in {("permission",), ("rules",)}:
        for key, value in table.items():
            yield from _leaves(value, (*path, key))
    elif path:
        yield key_text(path)


def _setting(
    key: str, counts: dict[str, Any], user: dict[str, Any], project: dict[str, Any]
) -> Setting | None:
    path = parse_key(key)
    value = _at(counts, path)
    if path[0] in {"permission", "rules", "verify"}:  # those of a project are kept apart
        of_project = _at(project, path)
        value = of_project if of_project is not None and _at(user, path) is None else value
    if value is None:
        return None
    source: SettingSource = "default"
    of_user = _at(user, path) is not None
    if _at(project, path) == value and not (of_user and path[0] in (*AFTER_TRUST, *SEPARATE)):
        source = "project"
    elif of_user:
        source = "user"
    return Setting(key, value, source, MEANINGS.get(key, ""))


def _at(table: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(table, dict) or key not in table:
            return None
        table = table[key]
    return table


def _with(table: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    key, *rest = path
    inner = table.get(key, {})
    below = _with(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value
    return {**table, key: below}


def _without(table: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    key, *rest = path
    others = {name: value for name, value in table.items() if name != key}
    below = _without(table[key], tuple(rest)) if rest else {}
    return {**others, key: below} if below else others


def value_text(value: Any) -> str:
    """Returns a value as `config set` would take it."""
    return value if isinstance(value, str) else toml_literal(value)


def _pruned(table: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Returns a table without those on a path that are empty, such as the header of no setting."""
    if not path or not isinstance(table.get(path[0]), dict):
        return table
    key, *rest = path
    below = _pruned(table[key], tuple(rest))
    others = {name: value for name, value in table.items() if name != key}
    return {**table, key: below} if below else others
