"""Installs: which commands bring other people's code onto the machine."""

import re
from collections.abc import Iterator
from itertools import dropwhile
from typing import Final

from assent.core.operation import RunCommand

# Programs, and the words with which they install. `*` is any word, `-` is none at all.
_TABLE: Final = {
    "pip pip3": "install",
    "pipx": "install inject upgrade run",
    "uv": "install add sync",
    "conda mamba micromamba": "install create update",
    "poetry pdm": "install add update sync",
    "npm pnpm": "install i ci add update up exec dlx",
    "yarn": "install add up upgrade dlx -",
    "bun": "install i add update x",
    "npx uvx bunx pnpx cpan cpanm": "*",
    "deno": "install add",
    "apt apt-get aptitude dnf yum microdnf zypper": "install upgrade full-upgrade dist-upgrade in",
    "apk": "add upgrade",
    "pacman yay paru": "-S -Sy -Syu -Syyu -U",
    "dpkg rpm": "-i -U -ivh -Uvh --install",
    "brew port snap flatpak choco winget scoop": "install upgrade reinstall",
    "nix nix-env": "install -i -iA --install profile",
    "cargo": "install add",
    "go": "install get",
    "gem luarocks opam cabal stack helm make": "install",
    "bundle": "install add update -",
    "composer": "install require update",
    "mix": "deps.get",
    "dart flutter": "get add",
    "dotnet nuget": "add install restore",
}
INSTALLERS: Final = {
    program: frozenset(words.split())
    for group, words in _TABLE.items()
    for program in group.split()
}

_SEPARATORS = re.compile(r"[;&|\n(){}`]+")
_WRAPPER = re.compile(r"sudo|doas|env|command|exec|time|nice|nohup|then|do|-.*|\w+=.*", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_FETCHERS = frozenset({"curl", "wget"})


def installs(op: RunCommand) -> bool:
    """Tells whether a command installs something, or fetches a program and runs it."""
    commands = list(pieces(op))
    programs = {command[0] for command in commands}
    if programs & _SHELLS and programs & _FETCHERS:
        return True
    return any(_installs(command) for command in commands)


def _installs(command: list[str]) -> bool:
    program, *words = command
    if _PYTHON.fullmatch(program) and "-m" in words[:-1]:
        program, *words = words[words.index("-m") + 1 :]
    wanted = INSTALLERS.get(program, frozenset())
    return "*" in wanted or not wanted.isdisjoint(words or ["-"])


def pieces(op: RunCommand) -> Iterator[list[str]]:
    """Splits a command line roughly: a word too many is a false alarm, one too few is worse."""
    argv = [_text(word) for word in op.argv]
    of_shell = bool(argv) and argv[0].rpartition("/")[2] in _SHELLS
    scripts = [_text(op.script), *(word for word in argv[1:] if of_shell or " " in word)]
    pieces = [piece.split() for script in scripts for piece in _SEPARATORS.split(script)]
    for words in [argv, *pieces]:
        unquoted = [word.strip("\"'$") for word in words]
        command = list(dropwhile(_WRAPPER.fullmatch, unquoted))
        if command:
            yield [command[0].rpartition("/")[2], *command[1:]]


def _text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")
