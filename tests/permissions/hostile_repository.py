"""A repository whose configuration names a marker program wherever git could start one."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PROGRAMS = {  # configuration key: what to write there; {} is a program that leaves a mark
    "core.fsmonitor": "{}",
    "core.pager": "{}",
    "pager.log": "{}",
    "pager.diff": "{}",
    "core.editor": "{}",
    "sequence.editor": "{}",
    "core.askPass": "{}",
    "core.sshCommand": "{}",
    "core.gitProxy": "{}",
    "core.alternateRefsCommand": "{}",
    "credential.helper": "!{}",
    "interactive.diffFilter": "{}",
    "diff.external": "{}",
    "diff.named.command": "{}",
    "diff.shown.textconv": "{}",
    "filter.cleaned.clean": "{}",
    "filter.cleaned.smudge": "{}",
    "filter.processed.process": "{}",
    "gpg.program": "{}",
    "gpg.openpgp.program": "{}",
    "gpg.ssh.program": "{}",
    "gpg.x509.program": "{}",
    "gpg.ssh.defaultKeyCommand": "{}",
    "alias.log": "!{}",
    "alias.status": "!{}",
    "alias.whatchanged": "!{}",
    "merge.driven.driver": "{}",
    "mergetool.vimdiff.cmd": "{}",
    "difftool.vimdiff.cmd": "{}",
    "browser.firefox.cmd": "{}",
    "man.man.cmd": "{}",
    "trailer.signed-off-by.command": "{}",
    "trailer.signed-off-by.cmd": "{}",
    "submodule.sub.update": "!{}",
    "uploadpack.packObjectsHook": "{}",
    "remote.origin.url": "ext::{} x",
    "remote.origin.uploadpack": "{}",
}
PLAIN = {  # and what makes git reach for them
    "log.showSignature": "true",
    "log.diffMerges": "remerge",
    "format.pretty": "named",
    "pretty.named": "%h %G? %s %(trailers)",
    "diff.submodule": "diff",
    "status.submoduleSummary": "true",
    "submodule.recurse": "true",
    "diff.autoRefreshIndex": "true",
    "core.untrackedCache": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.origin.promisor": "true",
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
    "extensions.partialClone": "origin",
    "color.ui": "always",
    "stash.showPatch": "true",
    "gpg.ssh.allowedSignersFile": "/dev/null",
    "remote.second.url": "ssh://nowhere.invalid/a",
    "remote.second.promisor": "true",
    "remote.third.url": "git://nowhere.invalid/a",
    "remote.third.promisor": "true",
}
ATTRIBUTES = """\
*.named diff=named
*.shown diff=shown
*.cleaned filter=cleaned
*.processed filter=processed
"""
FILES = ("a.txt", "a.named", "a.shown", "a.cleaned", "a.processed")
HOOKS = (
    "post-index-change",
    "pre-commit",
    "fsmonitor-watchman",
    "post-checkout",
    "reference-transaction",
)
SIGNED = """\
tree {tree}
parent {parent}
author a <a@example.org> 1700000000 +0000
committer a <a@example.org> 1700000000 +0000
gpgsig -----BEGIN {kind} SIGNATURE-----
 {body}
 -----END {kind} SIGNATURE-----

signed by {kind}

Signed-off-by: a <a@example.org>
"""
QUIET = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nowhere",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


class Hostile:
    """The repository, the marks that its programs leave, and a way to run git in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self._marks = folder / "marks"
        self._marks.mkdir()
        self._programs = folder / "programs"
        self._programs.mkdir()
        self._plant()

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> int:
        """Runs git on a terminal, where it would use a pager, and returns its exit code."""
        told = {"PATH": QUIET["PATH"], "HOME": "/nowhere", "TERM": "xterm", **environment}
        ours, its = os.openpty()
        with subprocess.Popen(
            words, cwd=self.root, env=told, stdin=subprocess.DEVNULL, stdout=its, stderr=its
        ) as git:
            os.close(its)
            with suppress(OSError):  # how a terminal says that nobody writes to it any more
                while os.read(ours, 1 << 16):
                    pass
        os.close(ours)
        return git.returncode

    def marks(self) -> set[str]:
        """Returns the programs that were started since the last look."""
        found = set()
        for mark in self._marks.iterdir():
            found.add(mark.name)
            mark.unlink()
        return found

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Returns everything in the repository: modes, times, contents."""
        return {
            str(path.relative_to(self.root)): (
                path.lstat().st_mode,
                path.lstat().st_mtime_ns,
                path.read_bytes() if path.is_file() else b"",
            )
            for path in sorted(self.root.rglob("*"))
        }

    def _git(self, *words: str, at: str = "", stdin: str = "") -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root / at,
            env=QUIET,
            input=stdin.encode(),
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def _plant(self) -> None:
        inner = self.root / "sub"
        inner.mkdir(parents=True)
        for folder in ("", "sub"):
            self._git("init", "-q", "-b", "main", at=folder)
            self._fill(self.root / folder, "one\n")
            self._git("add", ".gitattributes", *FILES, at=folder)
            self._git("commit", "-qm", "first\n\nSigned-off-by: a <a@example.org>", at=folder)
        (self.root / ".gitmodules").write_text(
            '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n', encoding="utf-8"
        )
        self._git("add", ".gitmodules", "sub")
        self._git("commit", "-qm", "second")
        self._sign()
        self._fill(self.root, "two\n")
        self._git("stash", "-q")
        self._git("notes", "add", "-m", "a note")
        self._git("tag", "-am", "one", "v1")
        self._merge()
        for folder in ("", "sub"):
            self._fill(self.root / folder, "three\n")
            self._hooks(self.root / folder / ".git")
            self._configure(self.root / folder / ".git")
        self.marks()

    def _fill(self, folder: Path, text: str) -> None:
        (folder / ".gitattributes").write_text(ATTRIBUTES, encoding="utf-8")
        for name in FILES:
            (folder / name).write_text(text, encoding="utf-8")

    def _sign(self) -> None:
        kinds = {"PGP": "x", "SSH": "U1NIU0lH"}
        for kind, body in kinds.items():
            text = SIGNED.format(
                tree=self._git("rev-parse", "HEAD^{tree}"),
                parent=self._git("rev-parse", "HEAD"),
                kind=kind,
                body=body,
            )
            signed = self._git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
            self._git("update-ref", "refs/heads/main", signed)

    def _merge(self) -> None:
        self._git("checkout", "-qb", "side", "HEAD~1")
        (self.root / "a.txt").write_text("side\n", encoding="utf-8")
        self._git("commit", "-qam", "side")
        self._git("checkout", "-q", "main")
        self._git("merge", "-q", "--no-ff", "-m", "merge", "side")

    def _hooks(self, data: Path) -> None:
        for name in HOOKS:
            hook = data / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.symlink_to(self._program("hook"))

    def _program(self, mark: str) -> Path:
        """Makes a program that leaves a mark, and passes on what it is given."""
        program = self._programs / mark
        program.write_text(
            f'#!/bin/sh\n: > "{self._marks}/{mark}"\ncase $# in 0) exec cat ;; esac\n',
            encoding="utf-8",
        )
        program.chmod(0o755)
        return program

    def _configure(self, data: Path) -> None:
        """Writes through an included file, as a clone with `include.path` would."""
        lines = {key: text.format(self._program(key)) for key, text in PROGRAMS.items()}
        included = data / "included"
        for key, value in {**lines, **PLAIN}.items():
            self._git("config", "--file", str(included), key, value)
        self._git("config", "--file", str(data / "config"), "include.path", "included")
        if data.parent == self.root:
            other = data.parent.parent / "other.git"
            self._git("init", "-q", "--bare", str(other))
            alternates = data / "objects" / "info" / "alternates"
            alternates.write_text(f"{other / 'objects'}\n", encoding="utf-8")
