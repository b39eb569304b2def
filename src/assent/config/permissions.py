"""Loads permission rules by layer: presets, the user's, OpenCode's files and the project's.

A project's files can only restrict. The same is true for files that other users could have written;
both until the user trusts exactly their content (law 9).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assent.config.config_file import (
    BadJson,
    ConfigFile,
    Opener,
    config_error,
    ownership_problem,
    parse_toml,
    path_text,
    read_content,
    read_jsonc,
    setting_error,
    setting_line,
    text_for_lines,
)
from assent.config.loader import PROJECT, IsTrusted, LoadedSettings, nothing_trusted
from assent.config.paths import AppPaths
from assent.config.settings import Settings
from assent.core.decoding import convert
from assent.core.errors import UsageError
from assent.core.permission.rule import (
    InvalidRuleTable,
    PermissionPolicy,
    PermissionRule,
    RuleAction,
    RuleLayer,
    failed_examples,
    parse_rules,
    parse_tool_rules,
    rule_text,
)

# Rule presets to start from: safe, dev and full; the user's own rules come after them.


NETWORK = "It accesses the network."
INSTALLS = "It installs software, which may run any code."
PUBLISHES = "It publishes work where others can see it."
RECORDS = "It changes Git's own files, which works only with the answer `without the sandbox`."
LOSES_WORK = "It can lose work permanently."
PRIVILEGED = "It acts as another user or on the whole machine."

_DOWNLOADS = ("curl", "wget", "ssh", "scp", "rsync", "nc", "ftp")
_INSTALLERS = (
    "npm install", "npm i", "npm ci", "pnpm add", "pnpm install", "yarn add", "yarn install",
    "pip install", "pip3 install", "python -m pip install", "uv add", "uv pip install", "uv sync",
    "poetry add", "poetry install", "cargo install", "cargo add", "go install", "go get",
    "gem install", "bundle install", "composer require", "composer install", "brew install",
    "apt install", "apt-get install", "dnf install", "apk add", "npx", "uvx", "pipx",
)  # fmt: skip
_TESTERS = (
    "pytest", "python -m pytest", "python -m unittest", "tox", "nox", "npm test", "npm run test",
    "npm run lint", "npm run build", "pnpm test", "yarn test", "cargo test", "cargo check",
    "cargo build", "cargo clippy", "cargo fmt", "go test", "go vet", "go build", "gofmt",
    "make test", "make check", "make lint", "ruff check", "ruff format", "mypy", "pyright",
    "eslint", "tsc", "prettier", "jest", "vitest",
)  # fmt: skip
_PUSHES = ("git push", "gh pr create", "gh release create", "npm publish", "cargo publish",
           "twine upload", "docker push")  # fmt: skip
_KEEPS = ("git status", "git diff", "git log", "git show", "git stash list")
_RECORDS = ("git add", "git commit")
_LOSES = ("git reset --hard", "git clean", "git push --force", "git push -f", "rm -rf", "rm -fr")
_LOOKS = ("read", "list", "glob", "grep", "search")
_POWER = ("sudo", "su", "doas", "dd", "mkfs", "shutdown", "reboot", "systemctl", "chown", "mount")


def _rule(
    preset: str, permission: str, pattern: str, action: RuleAction, reason: str = ""
) -> PermissionRule:
    return PermissionRule(permission, pattern, action, reason, source=f"the preset {preset}")


def _commands(
    preset: str, names: tuple[str, ...], action: RuleAction, reason: str
) -> tuple[PermissionRule, ...]:
    """Returns a rule for each command with any arguments; the examples test each."""
    return tuple(
        PermissionRule(
            "bash",
            f"{name} *",
            action,
            reason,
            (name, f"{name} x -y"),
            (f"{name}x", f"x {name}"),
            f"the preset {preset}",
        )
        for name in names
    )


SAFE = (
    _rule("safe", "*", "*", "ask", "The safe preset asks before almost everything."),
    *[_rule("safe", word, "*", "allow", "Reading the workspace is allowed.") for word in _LOOKS],
    _rule(
        "safe", "task", "*", "allow", "Child sessions have no more permissions than their parent."
    ),
    _rule("safe", "webfetch", "*", "deny", NETWORK),
    *_commands("safe", _DOWNLOADS, "deny", NETWORK),
    *_commands("safe", _INSTALLERS, "deny", INSTALLS),
    *_commands("safe", _PUSHES, "deny", PUBLISHES),
    *_commands("safe", _LOSES, "deny", LOSES_WORK),
    *_commands("safe", _POWER, "deny", PRIVILEGED),
)
DEV = (
    _rule("dev", "edit", "*", "allow", "Workspace files may be changed."),
    *_commands("dev", _TESTERS, "allow", "Common task: it tests, checks or builds."),
    *_commands("dev", _KEEPS, "allow", "Common git command that loses nothing."),
    *_commands("dev", _RECORDS, "ask", RECORDS),
    *_commands("dev", _DOWNLOADS, "ask", NETWORK),
    *_commands("dev", _INSTALLERS, "ask", INSTALLS),
    *_commands("dev", _PUSHES, "ask", PUBLISHES),
    *_commands("dev", _LOSES, "ask", LOSES_WORK),
    *_commands("dev", _POWER, "deny", PRIVILEGED),
)
FULL = (
    _rule("full", "*", "*", "allow", "The full preset allows everything that is not dangerous."),
    _rule("full", "doom_loop", "*", "ask", "Repeating the same call rarely helps."),
    *_commands("full", _PUSHES, "ask", PUBLISHES),
    *_commands("full", _LOSES, "ask", LOSES_WORK),
    *_commands("full", _POWER, "deny", PRIVILEGED),
)

PRESETS: dict[str, tuple[PermissionRule, ...]] = {"safe": SAFE, "dev": DEV, "full": FULL}


OPENCODE = ("opencode.json", "opencode.jsonc")
PROJECT_FILES = (*OPENCODE, ".opencode/opencode.json", ".opencode/opencode.jsonc")


class RuleSources(msgspec.Struct, frozen=True):
    """Where rules come from, and how trust in a project's files is checked."""

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

    Raises UsageError if a file of the user, or the project's `assent.toml`, is not valid.
    """
    warnings = list[str]()
    layers = [*_of_user(sources, warnings), *_of_project(sources, warnings)]
    layers.append(RuleLayer("command line", sources.command_line))
    root = os.fsdecode(os.path.realpath(sources.root))
    kept = tuple(layer for layer in layers if layer.rules)
    return PermissionPolicy(kept, root, sources.home), tuple(warnings)


def rules_in(path: Path, opener: Opener) -> tuple[PermissionRule, ...]:
    """Returns the rules of one file, TOML or JSON, for testing them."""
    try:
        _, text = read_content(path, opener, follow=True)
    except FileNotFoundError:
        raise UsageError(f"{path_text(path)} not found.") from None
    if path.suffix == ".toml":
        return _of_file(path, parse_toml(path, text), text)
    return _of_file(path, _object(path, text))


def _of_user(sources: RuleSources, warnings: list[str]) -> Iterator[RuleLayer]:
    """Yields the user's own layer, and one more for each of their files that is not trusted."""
    preset = _preset(sources)
    rules = list(preset if sources.loaded.own else ())
    folder = sources.places.config.parent / "opencode"
    for path in [folder / name for name in OPENCODE]:
        found = _read(path, sources.opener, follow=True)
        if found is None:
            continue
        source, _, table = found
        own = _of_file(path, table, checked_in=sources)
        warnings += _unread(path, table)
        if own and (why := ownership_problem(source, sources.root)):
            warnings.append(f"Allow rules in {path_text(path)} are ignored: {why}.")
            yield RuleLayer("user", own, trusted=False)
        else:
            rules += own
    path, loaded = sources.places.file, sources.loaded
    own = _of_settings(path, loaded.settings)
    if sources.check:
        check_rules(path, loaded.settings, sources)
    if not loaded.own and _allows(own):
        warnings.append(
            f"Allow rules in {path_text(path)} are ignored: others could have written the file."
        )
    yield RuleLayer("user", () if loaded.own else (*preset, *own), trusted=False)
    yield RuleLayer("user", (*rules, *(own if loaded.own else ())))


def _of_project(sources: RuleSources, warnings: list[str]) -> Iterator[RuleLayer]:
    """Yields a layer for each file of the project; a broken OpenCode file is a warning."""
    root, loaded = Path(os.fsdecode(sources.root)), sources.loaded
    for name in PROJECT_FILES:
        try:
            yield from _layer(root, name, sources)
        except UsageError as error:
            warnings.append(f"{error.message} Its rules are ignored.")
    path = root / PROJECT
    if sources.check:
        check_rules(path, loaded.project, sources)
    yield RuleLayer("project", _of_settings(path, loaded.project), loaded.trusted)


def _layer(root: Path, name: str, sources: RuleSources) -> Iterator[RuleLayer]:
    found = _read(root / name, sources.opener, follow=False)
    if found is None:
        return
    _, text, table = found
    rules = _of_file(root / name, table, checked_in=sources)
    is_trusted = _allows(rules) and sources.is_trusted(name, text)
    yield RuleLayer("project", rules, is_trusted)


def _allows(rules: tuple[PermissionRule, ...]) -> bool:
    return any(rule.action == "allow" for rule in rules)


def _preset(sources: RuleSources) -> tuple[PermissionRule, ...]:
    return PRESETS.get(sources.loaded.settings.preset, ())


def check_rules(path: Path, settings: Settings, sources: RuleSources) -> None:
    """Raises UsageError if a rule of a file fails one of its own examples."""
    for at, why in failed_rules(settings, sources.home):
        text = text_for_lines(path, sources.opener)  # nothing if it is no TOML
        raise config_error(path, f"{setting_line(text, 'rules', at)}rules[{at}] {why}")


def failed_rules(settings: Settings, home: str) -> Iterator[tuple[int, str]]:
    """Yields which of the `[[rules]]` fail one of their own examples, and which one."""
    for at, rule in enumerate(_rows(settings, "")):
        if failed := failed_examples(rule, home):
            yield at, f"(`{rule_text(rule)}`) fails: {failed[0]}"


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


def _of_file(
    path: Path,
    table: Mapping[str, Any],
    text: bytes = b"",
    *,
    checked_in: RuleSources | None = None,
) -> tuple[PermissionRule, ...]:
    """Returns the rules of one file: older `tools`, then `permission`, then `[[rules]]`.

    `text` is that of a file in TOML, so that errors name the line. With `checked_in` the rules must
    pass their examples, unless nothing there has to.
    """
    said = {key: table[key] for key in ("permission", "rules") if key in table}
    try:
        tools = parse_tool_rules(table.get("tools", {}), path_text(path))
        settings = convert(said, Settings)
    except InvalidRuleTable as error:
        raise config_error(path, str(error)) from None
    except msgspec.ValidationError as error:
        raise setting_error(ConfigFile(path, said, text=text), Settings, error) from None
    if checked_in is not None and checked_in.check:
        check_rules(path, settings, checked_in)
    return (*tools, *_of_settings(path, settings))


def _of_settings(path: Path, settings: Settings) -> tuple[PermissionRule, ...]:
    source = path_text(path)
    return (*parse_rules(settings.permission, source), *_rows(settings, source))


def _rows(settings: Settings, source: str) -> Iterator[PermissionRule]:
    for r in settings.rules:
        yield PermissionRule(
            r.permission, r.pattern, r.action, r.reason, r.matches, r.misses, source
        )


def _unread(path: Path, table: Mapping[str, Any]) -> list[str]:
    """Returns warnings about rules of agents in a file where they are not read."""
    agents = table.get("agent", {})
    if not isinstance(agents, Mapping):
        return []
    named_so = [name for name, one in agents.items() if isinstance(one, Mapping)]
    ruled = [name for name in named_so if {"permission", "tools"} & {*agents[name]}]
    return [
        f"{path_text(path)} has rules for agent {name}, but agent rules are read only from the "
        f"agent's own file; move them to agents/{name}.md."
        for name in ruled
    ]
