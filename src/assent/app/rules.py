"""Opens the permission rules of a person, a project and the command line."""

from functools import partial
from pathlib import Path

import msgspec

from assent.app.lazy import lazy_yaml
from assent.app.settings import load_settings, locate_workspace, open_workspace_trust, user_paths
from assent.app.unknown_names import unknown_rule_warnings
from assent.config.agents import agent_folders, load_agents
from assent.config.config_file import Opener
from assent.config.loader import LoadedSettings
from assent.config.paths import AppPaths
from assent.config.permissions import RuleSources, load_policy, rules_in
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.rule import PermissionPolicy, PermissionRule
from assent.core.session.agent import Agent
from assent.permissions.gate import RuleGate
from assent.permissions.plan_rules import PolicyPlanRules


class WorkspaceRules(msgspec.Struct, frozen=True):
    """The policy of a workspace, the agents with rules of their own, and warnings."""

    policy: PermissionPolicy
    agents: dict[str, Agent]
    warnings: tuple[str, ...] = ()


def open_rules(folder: str, *, check: bool = True) -> WorkspaceRules:
    """Opens the rules of the workspace around a folder; unchecked, examples may fail."""
    here = user_paths()
    _, root = locate_workspace(folder)
    loaded = load_settings(root, here, lenient=False)
    policy, remarks = open_policy(root, here, loaded, check=check)
    agents, more = load_agents(agent_folders(here.config, Path.home(), root), _opener(), lazy_yaml)
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
    """Reads every layer of rules but the agents', with what a person should know about them."""
    trusted = open_workspace_trust(root, here)
    sources = RuleSources(
        loaded, here, root, str(Path.home()), _opener(), trusted.holds, command_line, check
    )
    policy, warnings = load_policy(sources)
    rules = [rule for layer in policy.layers for rule in layer.rules]
    strange = unknown_rule_warnings(rules, loaded.settings) if rules else ()
    return policy, (*warnings, *trusted.warnings, *strange)


def rule_gate(policy: PermissionPolicy) -> RuleGate:
    """Returns the gate, which loads its tables of commands when the first line is judged."""
    return RuleGate(policy, partial(_line, policy), _operands)


def plan_rules(policy: PermissionPolicy) -> PolicyPlanRules:
    """Returns what the person's and the project's rules hold commands of plans to."""
    return PolicyPlanRules(policy, partial(_line, policy))


def rules_from_file(path: str) -> tuple[PermissionRule, ...]:
    """Returns the rules of a file that a person names."""
    return rules_in(Path(path), _opener())


def _line(policy: PermissionPolicy, text: str) -> CommandAnalysis:
    from assent.permissions.commands.read_only_line import read_only_line

    found = read_only_line(text)
    if found is not None:
        return found
    from assent.permissions.commands.classifier import classify_command_line

    return classify_command_line(text, root=policy.root, home=policy.home)


def _operands(text: str) -> tuple[str, ...]:
    from assent.permissions.commands.read_only.read_files import files_read_by

    return files_read_by(text)


def _opener() -> Opener:
    from assent.executor.disk import Disk

    return Disk().open
