"""Opens the permission rules of the user, the project and the command line.

It warns about names in rules and modes that do not exist. Rules, settings, agents and accounts
together are the configuration of turns, which a process that drives many of them keeps.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from threading import Lock

import msgspec

from assent.app.ports import (
    RuleFileStamps,
    files_read_by,
    line_classifier,
    load_rules,
    rule_file_stamps,
)
from assent.app.settings import (
    known_secrets,
    load_settings,
    locate_workspace,
    stored_credentials,
    user_paths,
)
from assent.config.agents import agent_files, agent_folders, load_agents
from assent.config.config_file import Opener, parse_toml, path_text, setting_line, text_for_lines
from assent.config.loader import PROJECT, LoadedSettings
from assent.config.paths import AppPaths
from assent.config.permissions import rules_in
from assent.config.settings import Settings
from assent.core.errors import UsageError, meant
from assent.core.llm import may_choose
from assent.core.permission.rule import WILDCARD_CHARS, PermissionPolicy, PermissionRule
from assent.core.permission.rule_match import OPENCODE_NAMES, PERMISSION_ALIASES
from assent.core.session.agent import Agent
from assent.core.tool import PERMISSIONS, Action, mcp_tool_name
from assent.llm.catalog import ProviderAccount, provider_accounts
from assent.permissions.gate import NO_COPIES, RuleGate
from assent.tools.aliases import is_reserved_name
from assent.tools.registry import TOOLS
from assent.tools.tool import ToolOffers

# Warns about permissions and tools in rules and modes that do not exist here.


# OpenCode's words that nothing here uses: rules for them may be in shared files.
OPENCODE = ("lsp", "websearch", "todoread", "codesearch", "plan_enter", "plan_exit")


def unknown_rule_warnings(
    rules: Iterable[PermissionRule], settings: Settings, files: Iterable[Path] = ()
) -> tuple[str, ...]:
    """Returns a warning for each name in a file's rules that is not a permission or a tool.

    Of a rule in one of the files, in TOML, it has the line.
    """
    found = {(rule.source, rule.permission): None for rule in _strange(rules, settings)}
    paths = {path_text(file): file for file in files} if found else {}
    return tuple(
        f"{source}{_rule_line(paths.get(source), word)} has a rule for {word!a}, which is not a "
        f"permission or tool here, so the rule has no effect.{meant(word, _words())}"
        for source, word in found
    )


def _rule_line(file: Path | None, word: str) -> str:
    """Returns which line of a file names a permission; empty if that is not known."""
    text = text_for_lines(file, _opener()) if file is not None else b""
    table = parse_toml(Path(), text) if text else {}
    rules = table.get("rules")  # of the file as it is now, which another program may have changed
    rows = rules if isinstance(rules, list) else []
    names = [row.get("permission") if isinstance(row, dict) else None for row in rows]
    named = ("rules", names.index(word), "permission") if word in names else ("permission", word)
    line = setting_line(text, *named) if table else ""
    return f": {line.removesuffix(': ')}" if line else ""


def check_rule_names(rules: Iterable[PermissionRule], settings: Settings) -> None:
    """Raises UsageError if a rule of the command line has an unknown name."""
    for rule in _strange(rules, settings):
        word = rule.permission
        raise UsageError(
            f"{word!a} is not a permission or tool here.{meant(word, _words())}",
            "assent rules list",
        )


def unknown_tool_warnings(settings: Settings, here: AppPaths) -> tuple[str, ...]:
    """Returns a warning for each mode that lists tools that do not exist."""
    names = [*(tool.name for tool in TOOLS), PERMISSIONS[Action.SKILL]]
    found = []
    for mode in settings.modes.values():
        tools = [tool for tool in mode.tools or () if tool not in names]
        strange = [tool for tool in tools if not _is_foreign(tool, settings)]
        if strange:
            listed = ", ".join([f"{tool!a}" for tool in strange])
            file = PROJECT if mode.source == "project" else path_text(here.file)
            said = f"Mode {mode.id} lists unknown tools: {listed}."
            found.append(f"{said} The mode is defined in {file}.{meant(strange[0], names)}")
    return tuple(found)


def _strange(rules: Iterable[PermissionRule], settings: Settings) -> Iterator[PermissionRule]:
    for rule in rules:
        word = rule.permission
        if any(sign in word for sign in WILDCARD_CHARS) or _is_foreign(word, settings):
            continue
        if word not in _words() and not is_reserved_name(word):
            yield rule


def _is_foreign(word: str, settings: Settings) -> bool:
    """Tells whether a plugin or a server might have a tool of this name."""
    if settings.plugins.enabled or not settings.mcp:
        return bool(settings.plugins.enabled)
    return word.startswith(tuple(mcp_tool_name(server, "") for server in settings.mcp))


@cache
def _words() -> Collection[str]:
    others = [
        word for words in (*PERMISSION_ALIASES.values(), *OPENCODE_NAMES.values()) for word in words
    ]
    tools = [tool.name for tool in TOOLS]
    return {*PERMISSIONS.values(), *PERMISSION_ALIASES, *others, *tools, *OPENCODE}


class WorkspaceRules(msgspec.Struct, frozen=True):
    """The policy of a workspace, the agents with their own rules, and warnings."""

    policy: PermissionPolicy
    agents: dict[str, Agent]
    warnings: tuple[str, ...] = ()


def open_rules(folder: str, *, check: bool = True) -> WorkspaceRules:
    """Opens the rules of the workspace around a folder; unchecked, examples may fail."""
    here = user_paths()
    _, root = locate_workspace(folder)
    loaded = load_settings(root, here, lenient=False)
    policy, remarks = open_policy(root, here, loaded, check=check)
    agents, more = load_agents(agent_folders(here.config, Path.home(), root), _opener())
    own = [rule for agent in agents.values() for rule in agent.rules]
    strange = unknown_rule_warnings(own, loaded.settings)
    return WorkspaceRules(policy, agents, (*loaded.warnings, *remarks, *more, *strange))


def open_policy(
    root: bytes,
    here: AppPaths,
    loaded: LoadedSettings,
    command_line: tuple[PermissionRule, ...] = (),
    *,
    check: bool = True,
) -> tuple[PermissionPolicy, tuple[str, ...]]:
    """Reads every layer of rules but the agents', with warnings for the user."""
    policy, warnings = load_rules(root, here, loaded, command_line, check=check)
    rules = [rule for layer in policy.layers for rule in layer.rules]
    files = (here.file, Path(os.fsdecode(root)) / PROJECT)
    strange = unknown_rule_warnings(rules, loaded.settings, files) if rules else ()
    return policy, (*warnings, *strange)


def rule_gate(
    policy: PermissionPolicy, why_no_copy: Callable[[], str] = lambda: NO_COPIES
) -> RuleGate:
    """Returns the gate, which loads its command tables with the first command line."""
    read_line = line_classifier(policy.root, policy.home)
    return RuleGate(policy, read_line, files_read_by, why_no_copy)


def rules_from_file(path: str) -> tuple[PermissionRule, ...]:
    """Returns the rules of a file that a user names."""
    return rules_in(Path(path), _opener())


def _opener() -> Opener:
    from assent.executor.disk import Disk

    return Disk().open


# Everything that turns are configured by; read again only where a file changed.


class Configuration:
    """The settings of a workspace, and each other part as it was when it was first needed.

    Raises UsageError if the settings are unusable, as each part does when it is read.
    """

    def __init__(self, root: bytes, here: AppPaths) -> None:
        self._root = root
        self._here = here
        self.loaded: LoadedSettings = load_settings(root, here, lenient=False)

    @cached_property
    def agents(self) -> tuple[Mapping[str, Agent], tuple[str, ...]]:
        """The agents, and warnings about their files.

        A project's choice of model counts if the user's choice allows it.
        """
        places = agent_folders(self._here.config, Path.home(), self._root)
        agents, remarks = load_agents(places, _opener())
        own = self.loaded.settings.model
        for name, agent in agents.items():
            if agent.wish and may_choose(agent.model or own, agent.wish):
                agents[name] = msgspec.structs.replace(agent, model=agent.wish)
            elif agent.wish:
                remark = (
                    f"The project sets model {agent.wish} for its agent {name}, but you chose "
                    "another provider, so it is ignored."
                )
                remarks = (*remarks, remark)
        return agents, remarks

    @cached_property
    def policy(self) -> tuple[PermissionPolicy, tuple[str, ...]]:
        """Every layer of rules but the agents' and the command line's, with warnings."""
        return open_policy(self._root, self._here, self.loaded)

    @cached_property
    def offers(self) -> ToolOffers:
        """What turns with the built-in tools and these rules found out about what to offer."""
        return ToolOffers()

    @cached_property
    def secrets(self) -> list[str]:
        """The secret values of settings and environment."""
        settings = self.loaded.settings
        servers = [server.environment for server in settings.mcp.values()]
        return known_secrets(dict(os.environ), settings.providers, servers)

    @cached_property
    def accounts(self) -> Mapping[str, ProviderAccount] | None:
        """The providers; None if keys are stored, which are looked up each time."""
        if stored_credentials(self._here, self._root) is not None:
            return None
        return provider_accounts(dict(os.environ), self.loaded.settings.providers)


class ConfigurationCache:
    """Keeps the configuration of workspaces for a process that drives many turns.

    What was read counts as long as every file that it came from, or could have come from, is the
    same file, unchanged, in the same folders: that is looked at each time, so that no change is
    noticed late. A process keeps its environment.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, AppPaths], tuple[RuleFileStamps, Configuration]] = {}
        self._lock = Lock()

    def read(self, root: bytes, here: AppPaths) -> Configuration:
        """Returns the configuration as it is now; raises UsageError if it is unusable."""
        stamps = configuration_stamps(root, here)  # before anything is read
        with self._lock:
            known = self._known.get((root, here))
        if stamps is not None and known is not None and known[0] == stamps:
            return known[1]
        found = Configuration(root, here)
        with self._lock:
            if stamps is None:
                self._known.pop((root, here), None)
            else:
                self._known[root, here] = stamps, found
        return found


def configuration_stamps(root: bytes, here: AppPaths) -> RuleFileStamps | None:
    """Returns what shows a change of any file that a turn is configured by.

    None if one of the files is so young that a change might not show.
    """
    keys, folders = _other_paths(root, here, os.path.expanduser("~"))
    return rule_file_stamps(root, here, (keys, *agent_files(folders)))


@cache
def _other_paths(root: bytes, here: AppPaths, home: str) -> tuple[str, tuple[str, ...]]:
    """Returns where keys are stored, and the folders of agents."""
    places = agent_folders(here.config, Path(home), root)
    return os.fspath(here.credentials), tuple(map(os.fspath, (*places.user, places.project)))
