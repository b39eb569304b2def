"""Project files that take full effect only once trusted, and what each would do.

Only the user can trust them, and the risks are listed first.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from assent.config.config_file import BadJson, Opener, parse_toml, read_content, read_jsonc
from assent.config.front_matter import UnusableFile, split_front_matter
from assent.config.loader import PROJECT
from assent.config.paths import PROJECT_SKILLS, path_within
from assent.config.permissions import PROJECT_FILES
from assent.config.settings import NEVER, Settings, refused_keys
from assent.config.skills import parse_skill, project_skill_files
from assent.core.decoding import convert
from assent.core.digest import sha256
from assent.core.errors import UsageError
from assent.core.permission.mode import MODES
from assent.core.permission.rule import InvalidRuleTable, parse_rules
from assent.core.permission.trust import Consequence, ProjectFile
from assent.core.session.custom_command import TemplateFile, TemplateShell, template_parts

COMMANDS = (".opencode/commands", ".opencode/command")
MAX_FILES = 200  # files of a folder


def project_files(root: bytes, opener: Opener) -> tuple[tuple[ProjectFile, ...], tuple[str, ...]]:
    """Returns the existing files, each read once, and a warning for each that cannot be read."""
    found, warnings = list[ProjectFile](), list[str]()
    for path in (PROJECT, *PROJECT_FILES, *_commands(root), *project_skill_files(root)):
        try:
            file = project_file(root, path, opener)
        except UsageError as error:
            warnings.append(f"{error.message} It has no effect and cannot be trusted.")
            continue
        found += [file] if file is not None else []
    return tuple(found), tuple(warnings)


def project_file(root: bytes, path: str, opener: Opener) -> ProjectFile | None:
    """Returns a file of the workspace, or None if there is none; symlinks are refused."""
    if path_within(root, os.path.join(root, os.fsencode(os.path.dirname(path)))) is None:
        raise UsageError(f"{path} points outside the workspace through a symlink.")
    try:
        full, reserved = Path(os.fsdecode(root)) / path, path in PROJECT_FILES
        _, text = read_content(full, opener, follow=False, placeholder=reserved)
    except FileNotFoundError:
        return None
    return ProjectFile(path, text, sha256(text))


def _commands(root: bytes) -> Iterator[str]:
    """Yields the custom slash commands, by name."""
    for folder in COMMANDS:
        try:
            names = os.listdir(os.path.join(root, os.fsencode(folder)))
        except OSError:
            continue
        texts = sorted(os.fsdecode(name) for name in names if name.endswith(b".md"))
        # A name that cannot be shown cannot be a command's name either.
        yield from [f"{folder}/{name}" for name in texts if name.isprintable()][:MAX_FILES]


# What a project's file would do if the user trusted it, risks first.


Consequences: TypeAlias = Iterator[Consequence]

_WHEN = {
    "before_tool": "before every tool call",
    "after_tool": "after every tool call",
    "prompt": "whenever you send a message",
    "response": "after every answer of a model",
    "before_write": "before every change to files",
    "before_compact": "before a session is compacted",
    "plan_proposed": "when a plan is proposed",
    "plan_approved": "when a plan is approved",
    "run_finished": "when a run finishes",
}
_MODEL = re.compile(r"^model:(.*)$", re.MULTILINE)
_SAID = "WORDS"  # placeholder for what a user types after a command


def consequences(file: ProjectFile) -> tuple[Consequence, ...]:
    """Returns everything that a file would do; raises UsageError if that is unclear."""
    try:
        if file.path == PROJECT:
            found = [*_settings(parse_toml(Path(file.path), file.content))]
        elif file.path in PROJECT_FILES:
            found = [*_allows(read_jsonc(file.content).get("permission", {}))]
        elif file.path.startswith(PROJECT_SKILLS):
            found = [*_skill(file)]
        else:
            found = [*_command(file)]
    except (UnusableFile, BadJson, InvalidRuleTable, msgspec.ValidationError) as error:
        raise UsageError(f"{file.path} cannot be used: {error}.", f"$EDITOR {file.path}") from None
    return tuple(sorted(found, key=lambda each: not each.risk))


def _settings(table: dict[str, Any]) -> Consequences:
    """Yields what `.opencode/assent.toml` would do; raises if a table is not valid."""
    rest = {key: value for key, value in table.items() if key not in (*NEVER, "modes")}
    settings = convert(rest, Settings)
    for told in (_hooks, _providers, _servers, _programs, _lets, _small):
        yield from told(settings)
    yield from _allows(settings.permission)
    for rule in settings.rules:
        if rule.action == "allow":
            yield _allowed(rule.permission, rule.pattern)
    yield from _modes(table.get("modes"))
    for key in refused_keys(table):
        words = f"sets {key if '.' in key else f'[{key}]'}, which projects cannot set"
        yield Consequence(words, risk=False, counts=False)


def _hooks(settings: Settings) -> Consequences:
    for hook in settings.hooks:
        which = "" if hook.tool == "*" else f" ({hook.tool})"
        free = "" if hook.confined else ", without a sandbox"
        yield _runs(f"{_WHEN[hook.on]}{which}{free}", hook.run)


def _providers(settings: Settings) -> Consequences:
    for name, provider in settings.providers.items():
        if provider.base_url:
            key = (
                f"the value of ${provider.key_env}"
                if provider.key_env
                else "its API key, if you have one"
            )
            where = f"the provider {name} to {provider.base_url}"
            yield Consequence(f"sends every prompt for {where}, together with {key}")
        elif provider.key_env:
            yield Consequence(f"sends the value of ${provider.key_env} to the provider {name}")
        if provider.headers:
            yield Consequence(f"adds headers to its requests: {', '.join(provider.headers)}")
        if provider.options:
            yield Consequence(f"adds to the body of its requests: {', '.join(provider.options)}")


def _servers(settings: Settings) -> Consequences:
    for name, server in settings.mcp.items():
        if not server.enabled:
            continue
        yield _runs(f"as MCP server {name}, whose tools a model may call", server.command)
        if server.environment:
            yield Consequence(f"sets environment variables for it: {', '.join(server.environment)}")
        if server.reads:
            tools = ", ".join(server.reads)
            yield Consequence(f"lets tools of {name} run while planning, as read-only: {tools}")


def _programs(settings: Settings) -> Consequences:
    for glob, words in settings.format.items():
        yield _runs(f"on all new content of {glob}", words)
    if settings.plugins.enabled:
        names = ", ".join(settings.plugins.enabled)
        yield Consequence(f"loads installed Python code as tools: {names}")


def _lets(settings: Settings) -> Consequences:
    if settings.fetch.hosts:
        hosts = ", ".join(settings.fetch.hosts)
        yield Consequence(f"allows fetching pages while planning from {hosts}")
    if settings.plugins.reads:
        tools = ", ".join(settings.plugins.reads)
        yield Consequence(f"lets plugin tools run while planning, as read-only: {tools}")


def _small(settings: Settings) -> Consequences:
    for name in settings.models:
        yield Consequence(f"sets context size and prices of model {name}", risk=False)
    untouched = Settings()
    if (settings.retry, settings.http) != (untouched.retry, untouched.http):
        yield Consequence("sets retries and timeouts of model requests", risk=False)


def _modes(table: object) -> Consequences:
    for name, entry in table.items() if isinstance(table, dict) else ():
        base = entry.get("base") if isinstance(entry, dict) else None
        if name not in MODES and base in MODES[2:]:
            yield Consequence(f"adds the mode {name}, which allows as much as {base}")


def _allows(permission: object) -> Consequences:
    """Yields what an OpenCode permission table allows without asking."""
    for rule in parse_rules(permission):
        if rule.action == "allow":
            yield _allowed(rule.permission, rule.pattern)


def _allowed(permission: str, pattern: str) -> Consequence:
    return Consequence(f"allows `{permission}: {pattern}` without asking")


def _command(file: ProjectFile) -> Consequences:
    """Yields what a command of the project would run, attach and say."""
    name = Path(file.path).stem
    front, body = split_front_matter(file.content)
    for piece in template_parts(body, _SAID):
        match piece:
            case TemplateShell(line):
                yield Consequence(f"adds the command /{name}, which runs: {line}")
            case TemplateFile(path):
                yield Consequence(
                    f"attaches {path} to the text that /{name} sends to a model", risk=False
                )
            case _:
                pass
    yield Consequence(f"adds the command /{name}, which sends its text to a model", risk=False)
    for model in _MODEL.findall(front):
        yield Consequence(f"uses model {model.strip()} for it", risk=False)


def _skill(file: ProjectFile) -> Consequences:
    """Yields what a skill of the project would tell a model, and what of it has no effect."""
    skill = parse_skill(file.content)
    words = f"offers the skill {skill.name} to a model, which may load its text"
    yield Consequence(f"{words}: {skill.description}", risk=False)
    for field in skill.ignored:
        yield Consequence(f"sets {field}, which has no effect", risk=False, counts=False)


def _runs(when: str, words: tuple[str, ...]) -> Consequence:
    """Returns which program would run, and that a project file can change under its name."""
    own = [word for word in words if "/" in word and not word.startswith(("/", "-", "http"))]
    more = f"; {', '.join(own)} can change later without asking you again" if own else ""
    return Consequence(f"runs {shlex.join(words)} {when}{more}")
