"""Warns about permissions and tools in rules and modes that do not exist here."""

from collections.abc import Collection, Iterable, Iterator
from functools import cache

from assent.config.config_file import path_text
from assent.config.loader import PROJECT
from assent.config.paths import AppPaths
from assent.config.settings import Settings
from assent.core.errors import UsageError
from assent.core.permission.rule import PermissionRule
from assent.core.permission.rule_match import OPENCODE_NAMES, PERMISSION_ALIASES
from assent.core.tool import PERMISSIONS
from assent.tools.registry import TOOLS
from assent.tools.tool_aliases import is_reserved_name

# Of OpenCode's words those that nothing here does: rules for them may stand in shared files.
OPENCODE = ("skill", "lsp", "websearch", "todoread", "codesearch", "plan_enter", "plan_exit")
WILDCARDS = ("*", "?")


def unknown_rule_warnings(rules: Iterable[PermissionRule], settings: Settings) -> tuple[str, ...]:
    """Returns a warning for each word of a file's rules that is no permission and no tool."""
    found = {(rule.source, rule.permission): None for rule in _strange(rules, settings)}
    return tuple(
        f"{source} has a rule for {word!a}, which is no permission and no tool here, "
        f"so it does nothing.{_meant(word, _words())}"
        for source, word in found
    )


def check_rule_names(rules: Iterable[PermissionRule], settings: Settings) -> None:
    """Raises UsageError if a rule of the command line is for something that nobody knows."""
    for rule in _strange(rules, settings):
        word = rule.permission
        raise UsageError(
            f"{word!a} is no permission and no tool here.{_meant(word, _words())}",
            "assent rules list",
        )


def unknown_tool_warnings(settings: Settings, here: AppPaths) -> tuple[str, ...]:
    """Returns a warning for each mode whose list has tools that there are not."""
    names = [tool.name for tool in TOOLS]
    found = []
    for mode in settings.modes.values():
        tools = [tool for tool in mode.tools or () if tool not in names]
        strange = [tool for tool in tools if not _is_foreign(tool, settings)]
        if strange:
            listed = ", ".join([f"{tool!a}" for tool in strange])
            file = PROJECT if mode.source == "project" else path_text(here.file)
            said = f"The mode {mode.id} names tools that there are not: {listed}."
            found.append(f"{said} It stands in {file}.{_meant(strange[0], names)}")
    return tuple(found)


def _strange(rules: Iterable[PermissionRule], settings: Settings) -> Iterator[PermissionRule]:
    for rule in rules:
        word = rule.permission
        if any(sign in word for sign in WILDCARDS) or _is_foreign(word, settings):
            continue
        if word not in _words() and not is_reserved_name(word):
            yield rule


def _is_foreign(word: str, settings: Settings) -> bool:
    """Tells whether a plugin or a server might have a tool of this name."""
    if settings.plugins.enabled or not settings.mcp:
        return bool(settings.plugins.enabled)
    from assent.core.mcp import mcp_tool_name

    return word.startswith(tuple(mcp_tool_name(server, "") for server in settings.mcp))


@cache
def _words() -> Collection[str]:
    others = [
        word for words in (*PERMISSION_ALIASES.values(), *OPENCODE_NAMES.values()) for word in words
    ]
    tools = [tool.name for tool in TOOLS]
    return {*PERMISSIONS.values(), *PERMISSION_ALIASES, *others, *tools, *OPENCODE}


def _meant(word: str, known: Collection[str]) -> str:
    """Asks whether the nearest of some words was meant; nothing if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), sorted(known), 1)
    return f" Did you mean {near[0]}?" if near else ""
