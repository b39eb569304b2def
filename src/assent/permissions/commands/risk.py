"""Command risk: how much could go wrong with a line, and why, by tables of programs (F90)."""

import re
from collections.abc import Callable
from posixpath import normpath
from typing import Final, TypeAlias

import msgspec

from assent.core.permission.command_analysis import (
    CommandEffectKind,
    command_effects,
    sorted_effects,
)
from assent.core.permission.sensitive_paths import protecting_pattern, secret_reason
from assent.core.session.event import RiskLevel
from assent.permissions.commands.denylist import AGENTS, INTERPRETERS, SENDS
from assent.permissions.commands.read_only.classifier import classify_read_only
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import (
    ParsedCommandLine,
    SimpleCommand,
    without_global_options,
)
from assent.permissions.commands.wrappers import SHELLS

RiskReason: TypeAlias = tuple[RiskLevel, str]

HARMLESS: Final = words_in(
    "cd pwd echo printf true false : test [ [[ set export local declare readonly unset sleep exit "
    "return break continue wait read shift command builtin time env nohup nice timeout"
)


class CommandRiskRule(msgspec.Struct, frozen=True):
    """Commands by their text, and what they risk."""

    pattern: re.Pattern[str]
    reason: str
    level: RiskLevel = "high"
    effects: tuple[CommandEffectKind, ...] = ()


def _row(
    pattern: str, reason: str, *effects: CommandEffectKind, level: RiskLevel = "high"
) -> CommandRiskRule:
    return CommandRiskRule(re.compile(rf"(?:{pattern})(?=\s|$)", re.DOTALL), reason, level, effects)


_ANY: Final = r"(?:\s.*)?\s"

COMMAND_RISK_RULES: Final = (
    _row(rf"rm{_ANY}-(?:[a-zA-Z]*[rR][a-zA-Z]*|-recursive)",
         "deletes folders with all in them", "deletes"),
    _row(rf"find{_ANY}-delete", "deletes every file that it finds", "deletes"),
    _row(r"(?:rm|rmdir|unlink)", "deletes files", "deletes", level="medium"),
    _row(r"(?:mv|cp|ln|install|tee|touch|mkdir|patch|tar|unzip|dd)",
         "writes files", level="medium"),
    _row(r"(?:shred|srm|truncate)", "destroys the contents of files", "deletes"),
    _row(rf"git push{_ANY}(?:-[a-zA-Z]*f[a-zA-Z]*|--force\S*|--mirror|--delete|-d|\+\S+)",
         "overwrites what others have on the server", "network"),
    _row(r"git push", "publishes commits", "network"),
    _row(rf"git (?:rebase|filter-branch|filter-repo|replace|commit{_ANY}--amend|"
         rf"reflog (?:expire|delete)|update-ref|gc{_ANY}--prune\S*)",
         "rewrites history", "deletes"),
    _row(rf"git (?:reset{_ANY}--(?:hard|merge|keep)|clean|restore|checkout{_ANY}(?:--|\.|-f)|"
         rf"stash (?:drop|clear)|branch{_ANY}-(?:D|d|-delete)|tag{_ANY}-d|worktree remove|"
         r"switch\s.*--discard-changes|rm)", "throws away changes or branches", "deletes"),
    _row(r"git (?:pull|fetch|clone|remote|submodule|ls-remote|lfs)",
         "talks to another machine", "network"),
    _row(r"git (?:config|hook|bisect run)", "changes what git does or runs", "protected"),
    _row(r"(?:npm|pnpm|yarn|bun) (?:install|i|ci|add|update|upgrade|remove|uninstall|link|exec|dlx"
         r"|x|create|init)", "installs or runs programs of others", "installs", "network"),
    _row(r"(?:pip|pip3|pipx|conda|mamba|gem|brew|apt|apt-get|dnf|yum|pacman|apk|snap|flatpak|cpan|"
         r"choco|winget|zypper|emerge|nix-env|port) \S+",
         "installs or removes programs", "installs", "network"),
    _row(r"(?:uv|poetry|pdm|rye) (?:add|remove|sync|install|update|lock|pip|tool|self)",
         "installs programs of others", "installs", "network"),
    _row(r"(?:cargo|go) (?:install|add|get|update)",
         "installs programs of others", "installs", "network"),
    _row(r"(?:npx|bunx|uvx|rustup|nvm|asdf|mise|curl|wget)",
         "gets things from another machine", "network"),
    _row(rf"(?:make|ninja|cmake|meson){_ANY}(?:install|uninstall|--install)",
         "installs to the machine", "installs"),
    _row(r"(?:npm|pnpm|yarn|bun|cargo|poetry|uv|pdm|gem|twine|flit|hatch|lerna) "
         r"(?:publish|upload|push|deprecate|unpublish|yank|dist-tag|owner)",
         "publishes", "network"),
    _row(r"(?:docker|podman|buildah|skopeo|nerdctl|docker-compose|vagrant|virsh|qemu\S*|lxc)",
         "runs or changes containers and machines", "network"),
    _row(r"(?:systemctl|service|launchctl|crontab|at|batch|loginctl|update-rc\.d|journalctl)",
         "changes what runs on the machine", "writes_outside"),
    _row(r"(?:kubectl|helm|terraform|tofu|pulumi|ansible\S*|k9s|flux|argocd|nomad|consul|vault)",
         "changes machines elsewhere", "network"),
    _row(r"(?:gh|glab|aws|gcloud|az|heroku|fly|flyctl|vercel|netlify|firebase|wrangler|doctl|"
         r"hub|stripe|supabase|railway)", "changes things at a service", "network"),
    _row(r"(?:mount|umount|iptables|nft|ip|ifconfig|route|useradd|usermod|userdel|passwd|groupadd|"
         r"visudo|chsh|sysctl|modprobe|insmod|rmmod|setcap|chattr)",
         "changes the machine itself", "writes_outside"),
    _row(r"(?:kill|pkill|killall|xkill)", "ends processes", "writes_outside"),
    _row(r"(?:psql|mysql|mariadb|mongosh?|redis-cli|sqlite3|sqlcmd|cqlsh)",
         "can change a database", "deletes"),
    _row(rf"(?:chmod|chown|chgrp){_ANY}-\w*R", "changes who may use whole folders", "protected"),
    _row(r"(?:chmod|chown|chgrp|setfacl)", "changes who may use files", level="medium"),
    _row(r"git (?:commit|add|merge|cherry-pick|revert|am|apply|stash|tag|branch|checkout|switch|mv|"
         r"init|notes|worktree)", "changes the repository", level="medium"),
)  # fmt: skip
# What the table of the review knows of a command, where no row here says it.
_WORDS: Final[dict[CommandEffectKind, RiskReason]] = {
    "installs": ("high", "installs or runs programs of others"),
    "network": ("high", "talks to another machine"),
    "deletes": ("medium", "deletes files or throws away changes"),
}
_CODE: Final = re.compile(r"-\w*[ceEr]|--eval|--exec|-p|--print|-")


def line_effects(found: ParsedCommandLine) -> tuple[CommandEffectKind, ...]:
    """Returns what the commands of a line do, by the rows here and by the table of the review."""
    commands = [each for each in found.commands if each.words]
    rows = [effect for each in commands for row in _rows(each) for effect in row.effects]
    table = [effect for each in commands for effect in command_effects(_words(each))]
    return sorted_effects([*rows, *table])


def command_risk(
    found: ParsedCommandLine, writes: tuple[str, ...], root: str = "", names: tuple[str, ...] = ()
) -> tuple[RiskLevel, tuple[str, ...]]:
    """Returns the highest level of all commands, and every reason for it."""
    reasons: list[RiskReason] = [("high", f"It is not certain: {doubt}.") for doubt in found.doubts]
    looked_at = found.commands[:_LOOKED] if found.doubts else found.commands
    for command in looked_at:
        if command.words:
            reasons += _reasons(command)
    reasons += [("medium", f"It writes {path}.") for path in writes[:_NAMED]]
    if _is_far(writes, root):
        reasons.append(("high", "It writes outside the workspace."))
    told = {normpath(path) for path in writes}  # whoever writes is told so of each file
    reasons += [("high", _about(name)) for name in names if normpath(name) not in told]
    levels: list[RiskLevel] = ["low", *(level for level, _ in reasons)]
    level = max(levels, key=_ORDER.index)
    return level, tuple(dict.fromkeys(words for each, words in reasons if each == level))


def _about(name: str) -> str:
    path = name.encode("utf-8", "replace")
    row = protecting_pattern(path)
    because = row.because if row is not None and not secret_reason(path) else "it may hold secrets"
    return f"It names {name}: {because}."


def _is_far(writes: tuple[str, ...], root: str) -> bool:
    """Tells whether a line writes outside the workspace, by the names of its files."""
    near = f"{root.rstrip('/')}/" if root.strip("/") else "\0"
    return any(path.startswith(("/", "~", "..")) and not path.startswith(near) for path in writes)


def runs_code(found: ParsedCommandLine) -> bool:
    """Tells whether an interpreter runs what stands in the line or comes by a pipe."""
    told = [each for each in found.commands if each.name not in SHELLS or not each.has("c")]
    return any(is_interpreter(each) and has_code(each) for each in told)


def is_interpreter(command: SimpleCommand) -> bool:
    """Tells whether a program runs code, whatever the version in its name."""
    return command.name in INTERPRETERS or command.name.rstrip("0123456789.") in INTERPRETERS


_NAMED: Final = 5
_LOOKED: Final = 10  # commands of a line whose level is known to be the highest
_LONGEST: Final = 100  # characters of a word that can tell something
_ORDER: Final[tuple[RiskLevel, ...]] = ("low", "medium", "high")


def _words(command: SimpleCommand) -> list[str]:
    return [command.name, *(word.text for word in without_global_options(command)[1:])]


def _rows(command: SimpleCommand) -> list[CommandRiskRule]:
    text = " ".join(word[:_LONGEST] for word in _words(command))
    return [row for row in COMMAND_RISK_RULES if row.pattern.match(text)]


def _reasons(command: SimpleCommand) -> list[RiskReason]:
    if command.name in SHELLS and command.has("c"):
        return []  # what it runs is judged itself, or in doubt
    rows = _rows(command)
    told = {effect for row in rows for effect in row.effects}
    others = [
        _WORDS[each]
        for each in sorted_effects(command_effects(_words(command)) - told)
        if each in _WORDS
    ]
    found = [*((row.level, row.reason) for row in rows), *others]
    if found:
        return [(level, f"`{command.name}` {reason}.") for level, reason in found]
    for names, test, level, reason in _OTHERS:
        if command.name in names and test(command):
            return [(level, f"`{command.name}` {reason}.")]
    if command.name in HARMLESS or _only_reads(command):
        return []
    return [("medium", f"What `{command.name}` does is not known.")]


def has_code(command: SimpleCommand) -> bool:
    """Tells whether an interpreter's code stands in its words, or comes by its input."""
    return not command.arguments or any(_CODE.fullmatch(word) for word in command.arguments)


def _any(command: SimpleCommand) -> bool:
    return True


_OTHERS: Final[
    tuple[tuple[frozenset[str], Callable[[SimpleCommand], bool], RiskLevel, str], ...]
] = (
    (INTERPRETERS, has_code, "high", "runs code that stands in the line or comes by a pipe"),
    (INTERPRETERS, _any, "medium", "runs a program that can do anything"),
    (SENDS, _any, "high", "talks to another machine"),
    (AGENTS, _any, "high", "starts another agent"),
)


def _only_reads(command: SimpleCommand) -> bool:
    name, *rest = (word.text for word in command.words)
    words = ["'" + word.replace("'", "'\"'\"'") + "'" for word in rest]
    return classify_read_only(" ".join([name, *words])).read_only
