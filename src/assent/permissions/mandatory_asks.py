"""Mandatory asks: what only a user's answer, or their own rule that names the path, allows.

These are looking outside the workspace, and changing what configures agents or Assent. The mode,
`--auto`, rules that name nothing, presets, rules of a project or an agent, grants for the whole
project and the scope of a text plan do not answer them.
"""

import re
from posixpath import join, normpath
from typing import Final

from assent.core.permission.rule import PermissionPolicy, expand_home, matches_everything
from assent.core.permission.rule_match import RuleMatch
from assent.core.permission.sensitive_paths import configures_agents

OWN_LAYERS: Final = ("user", "command line")  # layers in which the person themselves speaks
PRESET_SOURCE: Final = "the preset "  # how the source of a preset's rule begins
_HOME: Final = re.compile(r"(?:~|\$HOME|\$\{HOME\})(?=/|$)")
_FAR: Final = re.compile(r"[/~]|\$\{?HOME\b")
# They hold nothing, or what the program itself was given.
_NOTHING: Final = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty|stdin|stdout|stderr|fd(?:/\d+)?)"
)


def outside_path(path: str, policy: PermissionPolicy) -> str:
    """Returns where a path leads outside the workspace, by its text; nothing if it stays inside."""
    text = _HOME.sub(lambda _: policy.home, path, count=1) if policy.home else path
    if not text or _NOTHING.fullmatch(text):
        return ""
    root = policy.root.rstrip("/")
    if not text.startswith("/") and _FAR.match(text):
        return text  # a home that nobody knows
    whole = normpath(join(root, text))
    if not root:
        return whole if whole.startswith(("/", "../")) or whole == ".." else ""
    return "" if whole == root or whole.startswith(f"{root}/") else whole


def names_path(opinion: RuleMatch, path: str, policy: PermissionPolicy) -> bool:
    """Tells whether a rule is the person's own and names a path: by more than wildcards.

    What stands before its first wildcard has to be the path or a folder around it, other than the
    top of the disk; of agents' configuration, it has to be that configuration itself.
    """
    layer, rule = opinion.layer, opinion.rule
    own = layer.trusted and layer.name in OWN_LAYERS and not rule.source.startswith(PRESET_SOURCE)
    if not own or matches_everything(rule.permission):
        return False
    pattern = expand_home(rule.pattern, policy.home)
    path = path.removeprefix(policy.root.rstrip("/") + "/") if policy.root else path
    start = re.split(r"[*?]", pattern, maxsplit=1)[0]
    if path.startswith("/"):
        folder = start if start == pattern else start.rpartition("/")[0]
        return bool(folder.strip("/")) and f"{path}/".startswith(f"{folder.rstrip('/')}/")
    below = start.removeprefix(policy.root.rstrip("/") + "/") if policy.root else start
    named = below.rstrip("/").encode("utf-8", "surrogateescape")
    return not below.startswith("/") and configures_agents(named)
