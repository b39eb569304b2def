"""Risks: how much could go wrong with a line, and why, by tables of what programs do (F90)."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from assent.core.session_event import Level
from assent.gate.readonly.judge import judge
from assent.gate.readonly.spec import listed
from assent.gate.shell.arities import without_globals
from assent.gate.shell.dangers import AGENTS, INTERPRETERS, SENDS
from assent.gate.shell.scripts import SHELLS
from assent.gate.shell.simple import Found, Simple

Reason: TypeAlias = tuple[Level, str]

HARMLESS: Final = listed(
    "cd pwd echo printf true false : test [ [[ set export local declare readonly unset sleep exit "
    "return break continue wait read shift command builtin time env nohup nice timeout"
)


class Row(msgspec.Struct, frozen=True):
    """Commands by their text, and what they risk."""

    pattern: re.Pattern[str]
    reason: str
    level: Level = "high"


def _row(pattern: str, reason: str, level: Level = "high") -> Row:
    return Row(re.compile(rf"(?:{pattern})(?=\s|$)", re.DOTALL), reason, level)


_ANY: Final = r"(?:\s.*)?\s"

ROWS: Final = (
    _row(rf"rm{_ANY}-(?:[a-zA-Z]*[rR][a-zA-Z]*|-recursive)", "deletes folders with all in them"),
    _row(rf"find{_ANY}-delete", "deletes every file that it finds"),
    _row(r"(?:rm|rmdir|unlink)", "deletes files", "medium"),
    _row(r"(?:mv|cp|ln|install|tee|touch|mkdir|patch|tar|unzip|dd)", "writes files", "medium"),
    _row(r"(?:shred|srm|truncate)", "destroys the contents of files"),
    _row(rf"git push{_ANY}(?:-[a-zA-Z]*f[a-zA-Z]*|--force\S*|--mirror|--delete|-d|\+\S+)",
         "overwrites what others have on the server"),
    _row(r"git push", "publishes commits"),
    _row(rf"git (?:rebase|filter-branch|filter-repo|replace|commit{_ANY}--amend|"
         rf"reflog (?:expire|delete)|update-ref|gc{_ANY}--prune\S*)", "rewrites history"),
    _row(rf"git (?:reset{_ANY}--(?:hard|merge|keep)|clean|restore|checkout{_ANY}(?:--|\.|-f)|"
         rf"stash (?:drop|clear)|branch{_ANY}-(?:D|d|-delete)|tag{_ANY}-d|worktree remove|"
         r"switch\s.*--discard-changes|rm)", "throws away changes or branches"),
    _row(r"git (?:pull|fetch|clone|remote|submodule|ls-remote|lfs)", "talks to another machine"),
    _row(r"git (?:config|hook|bisect run)", "changes what git does or runs"),
    _row(r"(?:npm|pnpm|yarn|bun) (?:install|i|ci|add|update|upgrade|remove|uninstall|link|exec|dlx"
         r"|x|create|init)", "installs or runs programs of others"),
    _row(r"(?:pip|pip3|pipx|conda|mamba|gem|brew|apt|apt-get|dnf|yum|pacman|apk|snap|flatpak|cpan|"
         r"choco|winget|zypper|emerge|nix-env|port) \S+", "installs or removes programs"),
    _row(r"(?:uv|poetry|pdm|rye) (?:add|remove|sync|install|update|lock|pip|tool|self)",
         "installs programs of others"),
    _row(r"(?:cargo|go) (?:install|add|get|update)", "installs programs of others"),
    _row(r"(?:npx|bunx|uvx|rustup|nvm|asdf|mise|curl|wget)", "gets things from another machine"),
    _row(rf"(?:make|ninja|cmake|meson){_ANY}(?:install|uninstall|--install)",
         "installs to the machine"),
    _row(r"(?:npm|pnpm|yarn|bun|cargo|poetry|uv|pdm|gem|twine|flit|hatch|lerna) "
         r"(?:publish|upload|push|deprecate|unpublish|yank|dist-tag|owner)", "publishes"),
    _row(r"(?:docker|podman|buildah|skopeo|nerdctl|docker-compose|vagrant|virsh|qemu\S*|lxc)",
         "runs or changes containers and machines"),
    _row(r"(?:systemctl|service|launchctl|crontab|at|batch|loginctl|update-rc\.d|journalctl)",
         "changes what runs on the machine"),
    _row(r"(?:kubectl|helm|terraform|tofu|pulumi|ansible\S*|k9s|flux|argocd|nomad|consul|vault)",
         "changes machines elsewhere"),
    _row(r"(?:gh|glab|aws|gcloud|az|heroku|fly|flyctl|vercel|netlify|firebase|wrangler|doctl|"
         r"hub|stripe|supabase|railway)", "changes things at a service"),
    _row(r"(?:mount|umount|iptables|nft|ip|ifconfig|route|useradd|usermod|userdel|passwd|groupadd|"
         r"visudo|chsh|sysctl|modprobe|insmod|rmmod|setcap|chattr)", "changes the machine itself"),
    _row(r"(?:kill|pkill|killall|xkill)", "ends processes"),
    _row(r"(?:psql|mysql|mariadb|mongosh?|redis-cli|sqlite3|sqlcmd|cqlsh)",
         "can change a database"),
    _row(rf"(?:chmod|chown|chgrp){_ANY}-\w*R", "changes who may use whole folders"),
    _row(r"(?:chmod|chown|chgrp|setfacl)", "changes who may use files", "medium"),
    _row(r"git (?:commit|add|merge|cherry-pick|revert|am|apply|stash|tag|branch|checkout|switch|mv|"
         r"init|notes|worktree)", "changes the repository", "medium"),
)  # fmt: skip
_CODE: Final = re.compile(r"-\w*[ceEr]|--eval|--exec|-p|--print|-")


def risk_of(found: Found, writes: tuple[str, ...]) -> tuple[Level, tuple[str, ...]]:
    """Returns the highest level of all commands, and every reason for it."""
    reasons: list[Reason] = [("high", f"It is not certain: {doubt}.") for doubt in found.doubts]
    looked_at = found.commands[:_LOOKED] if found.doubts else found.commands
    for command in looked_at:
        if command.words:
            reasons += _reasons(command)
    reasons += [("medium", f"It writes {path}.") for path in writes[:_NAMED]]
    if any(path.startswith(("/", "~", "..")) for path in writes):
        reasons.append(("high", "It writes outside the workspace."))
    levels: list[Level] = ["low", *(level for level, _ in reasons)]
    level = max(levels, key=_ORDER.index)
    return level, tuple(dict.fromkeys(words for each, words in reasons if each == level))


def runs_code(found: Found) -> bool:
    """Tells whether an interpreter runs what stands in the line or comes by a pipe."""
    told = [each for each in found.commands if each.name not in SHELLS or not each.has("c")]
    return any(_plain_name(each.name) in INTERPRETERS and _has_code(each) for each in told)


def _plain_name(program: str) -> str:
    return program if program in INTERPRETERS else program.rstrip("0123456789.")


_NAMED: Final = 5
_LOOKED: Final = 10  # commands of a line whose level is known to be the highest
_LONGEST: Final = 100  # characters of a word that can tell something
_ORDER: Final[tuple[Level, ...]] = ("low", "medium", "high")


def _reasons(command: Simple) -> list[Reason]:
    words = without_globals(command)
    text = " ".join([command.name, *(word.text[:_LONGEST] for word in words[1:])])
    rows = [row for row in ROWS if row.pattern.match(text)]
    if command.name in SHELLS and command.has("c"):
        return []  # what it runs is judged itself, or in doubt
    if rows:
        return [(row.level, f"`{command.name}` {row.reason}.") for row in rows]
    for names, test, level, reason in _OTHERS:
        if command.name in names and test(command):
            return [(level, f"`{command.name}` {reason}.")]
    if command.name in HARMLESS or _only_reads(command):
        return []
    return [("medium", f"What `{command.name}` does is not known.")]


def _has_code(command: Simple) -> bool:
    return not command.arguments or any(_CODE.fullmatch(word) for word in command.arguments)


def _any(command: Simple) -> bool:
    return True


_OTHERS: Final[tuple[tuple[frozenset[str], Callable[[Simple], bool], Level, str], ...]] = (
    (INTERPRETERS, _has_code, "high", "runs code that stands in the line or comes by a pipe"),
    (INTERPRETERS, _any, "medium", "runs a program that can do anything"),
    (SENDS, _any, "high", "talks to another machine"),
    (AGENTS, _any, "high", "starts another agent"),
)


def _only_reads(command: Simple) -> bool:
    name, *rest = (word.text for word in command.words)
    words = ["'" + word.replace("'", "'\"'\"'") + "'" for word in rest]
    return judge(" ".join([name, *words])).read_only
