"""Hostile repositories: what a repository can hold so that looking at it runs a program."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
from tests.shell.scratch import Git, build, settle

CANARY = """#!/bin/bash
echo hit >>'{marker}'
echo hit >pwned
exec 3<>/dev/tcp/127.0.0.1/{port} && echo hit >&3
"""
SIGNED = """tree {tree}
author Ada <ada@example.org> 1700000000 +0000
committer Ada <ada@example.org> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 
 iQ==
 -----END PGP SIGNATURE-----

Signed
"""


class Ground(NamedTuple):
    """A repository to plant in, and the program that tells on whoever runs it."""

    root: Path
    outside: Path
    canary: Path

    @property
    def git(self) -> Git:
        return Git(self.root)

    def put(self, name: str, content: str = "", mode: int = 0o644) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        path.chmod(mode)
        return path

    def program(self, name: str) -> Path:
        """Plants the canary under another name."""
        return self.put(name, self.canary.read_text(encoding="utf-8"), 0o755)

    def set(self, **settings: str) -> None:
        """Writes settings into .git/config; two underscores stand for a dot."""
        for key, value in settings.items():
            self.git("config", key.replace("__", "."), value)


class Plant(msgspec.Struct, frozen=True):
    """Something planted; `trigger` makes it go off in bash. `{root}` is filled in `env`."""

    sow: Callable[[Ground], None]
    trigger: str = "git status"
    env: dict[str, str] = {}


def ground(root: Path, outside: Path, port: int) -> Ground:
    """Makes a repository in which one tracked file has another time than git remembers."""
    build(root)
    canary = root / "evil" / "canary"
    text = CANARY.format(marker=outside / "marker", port=port)
    canary.write_text(text, encoding="utf-8")
    canary.chmod(0o755)
    settle(root)
    os.utime(root / "README.md", (1_600_000_000, 1_600_000_000))
    return Ground(root, outside, canary)


def _setting(key: str, value: str = "{canary}", **more: str) -> Callable[[Ground], None]:
    def sow(place: Ground) -> None:
        for name, given in {key: value, **more}.items():
            place.set(**{name: given.format(canary=place.canary)})

    return sow


def _attribute(key: str, kind: str) -> Callable[[Ground], None]:
    def sow(place: Ground) -> None:
        place.put(".gitattributes", f"* {kind}=evil\n")
        place.set(**{key: str(place.canary)})

    return sow


def _hooks(folder: str) -> Callable[[Ground], None]:
    def sow(place: Ground) -> None:
        for name in ("post-index-change", "reference-transaction", "post-checkout", "pre-commit"):
            place.program(f"{folder}/{name}")
        if folder != ".git/hooks":
            place.set(core__hooksPath=str(place.root / folder))

    return sow


def _signed(place: Ground) -> None:
    tree = place.git("rev-parse", "HEAD^{tree}").decode().strip()
    path = place.put(".git/signed", SIGNED.format(tree=tree))
    commit = place.git("hash-object", "-t", "commit", "-w", str(path)).decode().strip()
    place.git("update-ref", "refs/heads/signed", commit)
    place.set(log__showSignature="true", gpg__program=str(place.canary))


def _included(place: Ground) -> None:
    place.put("evil/config", f"[core]\n\tfsmonitor = {place.canary}\n")
    place.set(include__path=str(place.root / "evil" / "config"))


def _elsewhere(place: Ground) -> None:
    other = place.outside / "other"
    other.mkdir()
    build(other)
    Git(other)("config", "core.fsmonitor", str(place.canary))
    (place.root / ".git").rename(place.outside / "own")
    place.put(".git", f"gitdir: {other / '.git'}\n")


def _worktree(place: Ground) -> None:
    place.set(core__worktree=str(place.outside), core__fsmonitor=str(place.canary))


def _nested(place: Ground) -> None:
    sub = place.root / "sub"
    sub.mkdir()
    build(sub)
    Git(sub)("config", "core.fsmonitor", str(place.canary))
    place.git("add", "sub")


def _bare(place: Ground) -> None:
    bare = place.root / "embedded"
    bare.mkdir()
    Git(bare)("init", "-q", "--bare", ".")
    for key, value in {"bare": "false", "worktree": ".", "fsmonitor": str(place.canary)}.items():
        Git(bare)("config", "--file", "config", f"core.{key}", value)


def _lazy(place: Ground) -> None:
    blob = place.git("rev-parse", "HEAD:data/old.txt").decode().strip()
    (place.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    place.set(
        core__repositoryformatversion="1",
        extensions__partialClone="origin",
        remote__origin__promisor="true",
        remote__origin__url=str(place.root),
        remote__origin__uploadpack=str(place.canary),
    )


def _programs(*names: str) -> Callable[[Ground], None]:
    def sow(place: Ground) -> None:
        for name in names:
            place.program(name)

    return sow


def _files(*names: str) -> Callable[[Ground], None]:
    def sow(place: Ground) -> None:
        for name in names:
            place.put(f"trap/{name}", "b\na\n")

    return sow


def _nothing(_: Ground) -> None: ...


def _ripgreprc(place: Ground) -> None:
    place.put("evil/rgrc", f"--pre={place.canary}\n")
    place.put(".rgignore", "!*\n")


_CANARY = "{root}/evil/canary"
_GITS = ("git", "ls", "rg", "cat", "find", "sh", "bwrap", "sort")

PLANTS = {
    "fsmonitor": Plant(_setting("core__fsmonitor")),
    "hooks path": Plant(_hooks("evil/hooks")),
    "hooks": Plant(_hooks(".git/hooks")),
    "pager": Plant(
        _setting("core__pager", pager__log="{canary}", pager__branch="{canary}"),
        "script -qec 'git log' /dev/null",
    ),
    "external diff": Plant(_setting("diff__external"), "git diff"),
    "textconv": Plant(_attribute("diff__evil__textconv", "diff"), "git log -p -1 v1.1"),
    "diff driver": Plant(_attribute("diff__evil__command", "diff"), "git diff"),
    "clean": Plant(_attribute("filter__evil__clean", "filter"), "git diff"),
    "smudge": Plant(
        _attribute("filter__evil__smudge", "filter"), "git cat-file --filters HEAD:README.md"
    ),
    "process": Plant(_attribute("filter__evil__process", "filter"), "git diff"),
    "signature": Plant(_signed, "git log -1 signed"),
    "ssh": Plant(_setting("core__sshCommand"), "git ls-remote ssh://127.0.0.1/x"),
    "credential": Plant(
        _setting("credential__helper"), "echo url=http://127.0.0.1/x | git credential fill"
    ),
    "alias": Plant(_setting("alias__st", "!{canary}", alias__log="!{canary}"), "git st"),
    "include": Plant(_included),
    "other git folder": Plant(_elsewhere),
    "other work tree": Plant(_worktree),
    "nested repository": Plant(_nested),
    "bare repository": Plant(_bare, "cd embedded && git status"),
    "lazy fetch": Plant(_lazy, "git cat-file -p HEAD:data/old.txt"),
    "programs in the folder": Plant(_programs(*_GITS), "ls", {"PATH": ".:/usr/bin:/bin"}),
    "programs on PATH": Plant(
        _programs(*(f"evil/bin/{name}" for name in _GITS)),
        "git status",
        {"PATH": "{root}/evil/bin:/usr/bin:/bin"},
    ),
    "git's programs": Plant(
        _programs("evil/git-st", "evil/git-log"), "git st", {"GIT_EXEC_PATH": "{root}/evil"}
    ),
    "ripgrep's settings": Plant(
        _ripgreprc, "rg TODO README.md", {"RIPGREP_CONFIG_PATH": "{root}/evil/rgrc"}
    ),
    "external diff by variable": Plant(_nothing, "git diff", {"GIT_EXTERNAL_DIFF": _CANARY}),
    "settings by variable": Plant(
        _nothing,
        "git status",
        {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": _CANARY,
        },
    ),
    "settings file by variable": Plant(
        lambda place: place.put(
            "evil/config", f"[core]\n\tfsmonitor = {place.canary}\n"
        ).chmod(0o644),
        "git status",
        {"GIT_CONFIG_GLOBAL": "{root}/evil/config"},
    ),
    "trace": Plant(_nothing, "git status", {"GIT_TRACE": "{root}/pwned"}),
    "trace2": Plant(_nothing, "git status", {"GIT_TRACE2_EVENT": "{root}/pwned"}),
    "shell start": Plant(_nothing, "bash -c :", {"BASH_ENV": _CANARY, "ENV": _CANARY}),
    "sort option by name": Plant(_files("-opwned", "a"), "cd trap && sort *"),
    "find action by name": Plant(_files("+a", "-delete"), "cd trap && find *"),
    "uniq output by name": Plant(_files("a", "b"), "cd trap && uniq *"),
    "sed script by name": Plant(_files("1w pwned", "a"), "cd trap && sed -n *"),
    "awk script by name": Plant(
        _files('BEGIN{print "x" >"pwned"}', "a"), "cd trap && awk *"
    ),
    "branch by name": Plant(_files("pwned"), "cd trap && git branch *"),
    "diff output by name": Plant(_files("--output=pwned"), "cd trap && git diff *"),
    "tree output by name": Plant(_files("-o", "pwned"), "cd trap && tree *"),
}  # fmt: skip
