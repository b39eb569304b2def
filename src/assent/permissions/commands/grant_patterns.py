"""Grant patterns of a command: the prefix, or exact text, that an answer covers (F81, F84)."""

from collections.abc import Sequence
from typing import Final

from assent.core.permission.rule import PermissionPattern
from assent.permissions.commands.program_runners import CODE_RUNNERS
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import arity
from assent.permissions.commands.wrappers import SUBCOMMAND_WRAPPERS, WRAPPERS

BASH: Final = "bash"

# Their words are code, or name what is run, deleted or sent: no prefix says what they would do.
_NAMED: Final = words_in(
    "sh bash zsh dash ksh mksh ash fish csh tcsh python python2 python3 pypy pypy3 node nodejs "
    "deno bun ruby perl php lua luajit tclsh osascript pwsh powershell Rscript julia groovy guile "
    "racket elixir awk gawk mawk nawk sed gsed jq ed ex vi vim nvim emacs xargs find fd parallel "
    "npx bunx uvx pipx ssh scp sftp rsync curl wget nc ncat socat docker podman kubectl helm "
    "terraform tofu env nice ionice nohup timeout time command builtin exec coproc setsid stdbuf "
    "busybox toybox watch flock strace ltrace unshare chroot entr script expect gdb tar zip rm "
    "rmdir mv cp ln dd install shred truncate chmod chown chgrp kill pkill killall tee psql mysql "
    "sqlite3 redis-cli systemctl service crontab at gh glab aws gcloud az java rake just task "
    "git-filter-repo openssl gpg man less cc gcc g++ c++ clang clang++ rustc javac ansible dotnet"
)
EXACT_ONLY: Final = _NAMED | CODE_RUNNERS | frozenset(WRAPPERS)
_RUNNERS: Final = frozenset(
    [
        *SUBCOMMAND_WRAPPERS,
        *((name, verb) for name in words_in("npm pnpm yarn") for verb in words_in("exec dlx x")),
        *((name, "run") for name in words_in("uv poetry pipenv pdm rye hatch conda go cargo")),
        *(("git", verb) for verb in words_in(
            "push config rebase bisect filter-branch submodule clean reset checkout restore rm "
            "clone remote grep diff log show difftool mergetool hook"
        )),
        ("bundle", "exec"), ("direnv", "exec"), ("go", "generate"), ("cargo", "install"),
    ]
)  # fmt: skip


def command_patterns(
    commands: Sequence[str], *, exactly: bool = False
) -> tuple[PermissionPattern, ...]:
    """Returns one pattern for each command, without those that say the same."""
    if exactly:
        return tuple(PermissionPattern(BASH, command, exact=True) for command in commands)
    return tuple(dict.fromkeys(_pattern(command) for command in commands))


def _pattern(command: str) -> PermissionPattern:
    words = tuple(command.split(" "))
    size = arity(words)
    head = words[:size]
    if _exactly(words, head) or len(words) < size:
        return PermissionPattern(BASH, command, exact=True)
    return PermissionPattern(BASH, " ".join([*head, "*"]))


def _exactly(words: tuple[str, ...], head: tuple[str, ...]) -> bool:
    name = words[0]
    if "/" in name or name in EXACT_ONLY or words[:2] in _RUNNERS or _runs(words):
        return True
    if any(word.startswith("-") or not word or _is_odd(word) for word in head):
        return True
    return name in words_in("make gmake") and len(words) > len(head)


def _runs(words: tuple[str, ...]) -> bool:
    """Tells whether a program runs another one, by its name; npm's kind runs scripts by theirs."""
    verb = words[1:2]
    own = verb == ("run",) and words[0] not in words_in("npm pnpm yarn bun")
    short = verb == ("x",) and words[0] in words_in("npm pnpm yarn bun mise")
    return own or short or verb in [(each,) for each in words_in("exec dlx shell develop")]


def _is_odd(word: str) -> bool:
    return any(sign in word for sign in "*?$`'\"\\\n<>|&;(){}=~")
