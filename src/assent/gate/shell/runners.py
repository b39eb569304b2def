"""Runners: programs that run what their words say, in ways that the wrappers do not know."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from assent.gate.readonly.judge import judge
from assent.gate.readonly.spec import listed
from assent.gate.shell.arities import arity
from assent.gate.shell.dangers import INTERPRETERS
from assent.gate.shell.gits import git_runs
from assent.gate.shell.simple import Simple
from assent.gate.shell.wrappers import RUNNERS

Test: TypeAlias = Callable[[Simple], bool]

HIDES: Final = listed(
    "parallel watch script scriptreplay expect tmux screen byobu zellij hyperfine bwrap proot "
    "firejail nsenter unshare chroot perf strace ltrace rr gdb lldb valgrind entr watchexec "
    "nodemon concurrently run-parts start-stop-daemon systemd-run systemd-inhibit systemd-nspawn "
    "dbus-run-session xvfb-run cpulimit prlimit choom flock dotenv faketime setpriv runcon "
    "catchsegv pwsh powershell nu elvish xonsh oil osh yash posh lksh static-sh bash-static "
    "ld.so vi vim view nvim ex ed emacs emacsclient nano pico at batch ansible nix-shell numactl "
    "capsh daemonize setcpuset sg newgrp socat"
)
_LOADER: Final = re.compile(r"ld-[\w.-]+\.so[\d.]*|(ba|da|z|k)sh[-\d.][\w.-]*")
_VERBS: Final = frozenset(
    [*((name, "exec") for name in listed("stack cabal opam dotnet rustup poetry devbox")),
     *(("nix", verb) for verb in listed("develop run shell")),
     *((name, "shell") for name in listed("pipenv poetry devbox")),
     ("bazel", "run"), ("vagrant", "ssh"), ("gh", "alias"), ("gh", "extension"),
     ("rails", "runner"), ("cmake", "-E"), ("cmake", "-P")]
)  # fmt: skip


def _unwritten(command: Simple) -> bool:
    return command.open or not all(word.plain for word in command.words)


def _tar(command: Simple) -> bool:
    words = command.arguments
    long = "--(exclude|strip-components|directory|file|gzip|bzip2|xz|zstd|verbose|list|create"
    known = re.compile(long + r"|extract|null|files-from|wildcards)(=.*)?")
    short = re.compile(r"-?[cxtrvzjJZfpkmCahPTXO]+")
    options = [word for word in words[1:] if word.startswith("-")]
    fine = all((known if word[:2] == "--" else short).fullmatch(word) for word in options)
    first = not words or (known if words[0][:2] == "--" else short).fullmatch(words[0])
    return _unwritten(command) or not (fine and first)


def _sed(command: Simple) -> bool:
    """A script that only prints does no more when what it prints replaces a file."""
    kept = [re.sub(r"^(-[nErsz]*)i.*$", r"\1", w) for w in command.arguments]
    words = [w for w in kept if w != "-" and not w.startswith("--in-place")]
    filed = command.has("", "--file") or any(w.startswith("-f") for w in words)
    return _unwritten(command) or not (filed or _prints("sed", words))


def _awk(command: Simple) -> bool:
    filed = any(word.startswith("-f") for word in command.arguments)
    return _unwritten(command) or not (filed or _prints("awk", list(command.arguments)))


def _prints(name: str, words: list[str]) -> bool:
    quoted = ["'" + word.replace("'", "'\"'\"'") + "'" for word in words]
    return judge(" ".join([name, *quoted])).read_only


def _has(*options: str) -> Test:
    """Returns a test for words that begin with one of some options, or cannot be told."""
    return lambda command: (
        _unwritten(command) or any(word.startswith(options) for word in command.arguments)
    )


def _fd(command: Simple) -> bool:
    return _unwritten(command) or command.has("xX", "--exec", "--exec-batch")


def _make(command: Simple) -> bool:
    given = any("=" in word and not word.startswith("-") for word in command.arguments)
    return _unwritten(command) or given or command.has("E", "--eval")


def _ssh(command: Simple) -> bool:
    odd = any(re.search(r"[^\w./:@%+,=-]", word) for word in command.arguments)
    return _unwritten(command) or odd


_TESTS: Final[dict[str, Test]] = {
    "git": git_runs,
    "tar": _tar, "bsdtar": _tar, "gtar": _tar,
    "sed": _sed, "gsed": _sed,
    **dict.fromkeys(listed("awk gawk mawk nawk"), _awk),
    "fd": _fd, "fdfind": _fd,
    "make": _make, "gmake": _make,
    "ssh": _ssh,
    "rg": _has("--pre", "--hostname-bin"),
    "sort": _has("--comp"),
    "man": _has("-P", "-H", "--pager", "--html", "-C", "--config"),
    "go": _has("-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay"),
    "cargo": _has("--config", "-Z"),
    "rsync": _has("-e", "--rsh", "--rsync-path"),
    "scp": _has("-S", "-o", "-F"), "sftp": _has("-S", "-o", "-F"),
    "zip": _has("-TT", "--unzip-command"),
    "gcc": _has("-wrapper", "-fplugin", "-B", "@"),
    "psql": _has("\\"), "sqlite3": _has(".", "-cmd"),
    "deno": _has("eval", "repl"),
    "ninja": _has("-t"), "split": _has("--f"),
}  # fmt: skip
CODE: Final = frozenset(_TESTS) - listed("git make gmake sort go cargo rg deno ninja") | HIDES

_MANY: Final = {name for name, _ in RUNNERS} | {name for name, _ in _VERBS} - {"cmake"}
_ABOUT: Final = listed("--version --help -h -V -v -version")
_FLAGS: Final = listed("--silent -s --offline --no-color --color=never --color=always --frozen")


def hides(command: Simple) -> list[str]:
    """Says whether a program could run something that its words do not show plainly."""
    name = command.name
    test = _TESTS.get(name)
    verb = command.arguments[0] if command.arguments else ""
    if name in HIDES or _LOADER.fullmatch(name) or (name, verb) in _VERBS:
        return [f"what `{name}` runs cannot be told"]
    if test is not None and test(command):
        return [f"`{name}` may run a program that its words name"]
    if name in _MANY and verb.startswith("-") and verb not in _ABOUT | _FLAGS:
        return [f"which command of `{name}` it is cannot be told"]
    if command.open and name in INTERPRETERS and not command.operands:
        return [f"what `{name}` runs comes by its input"]
    if command.open and len(command.words) < arity(tuple(word.text for word in command.words)):
        return [f"which command of `{name}` it is comes by its input"]
    return []
