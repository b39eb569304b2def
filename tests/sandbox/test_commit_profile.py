"""The profile of a commit: git adds to its repository, and nobody leads the next git astray."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.sandbox.profiles import needs_bubblewrap
from tests.sandbox.workspace import Room

from assent.core.errors import Refused
from assent.core.shell.process import CommandSpec

pytestmark = needs_bubblewrap

LED_ASTRAY = (
    "echo x >> .git/config",
    "rm .git/config",
    "mv .git/config .git/old",
    "echo x > .git/config.worktree",
    "echo x > .git/hooks/pre-commit",
    "mv .git/hooks .git/away && mkdir .git/hooks",
    "echo x > .git/info/attributes",
    "rm -r .git/info",
    "echo /elsewhere > .git/objects/info/alternates",
    "mv .git/objects .git/o && mkdir -p .git/objects/info && echo x > .git/objects/info/alternates",
    "mkdir .git/modules/x",
    "mkdir .git/worktrees/x",
    "mv .git away",
    "echo x > file.txt",
    "rm file.txt",
    "echo x > .opencode/assent.toml",
    "echo x > ../beside",
)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    for folder in ("work/.opencode", "home", "state"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "work/file.txt").write_text("mine\n", encoding="utf-8")
    settings = (
        '[user]\n\tname = Ada\n\temail = ada@b.c\n[url "https://secret@h/"]\n\tinsteadOf = h\n'
    )
    (tmp_path / "home/.gitconfig").write_text(settings, encoding="utf-8")
    _git(tmp_path, "init", "--quiet")
    for name in ("modules", "worktrees", "hooks", "info", "objects/info"):
        (tmp_path / "work/.git" / name).mkdir(exist_ok=True)
    (tmp_path / "work/.git/config.worktree").write_text("", encoding="utf-8")
    return Room(tmp_path)


def _git(base: Path, *words: str) -> None:
    env = {"PATH": os.defpath, "HOME": str(base / "home")}
    subprocess.run(["git", *words], cwd=base / "work", env=env, check=True, timeout=60)


def _seen(base: Path) -> dict[str, bytes | None]:
    paths = sorted(base.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


@pytest.mark.parametrize("line", LED_ASTRAY)
def test_g13_a_commit_changes_neither_settings_nor_hooks_nor_the_workspace(
    room: Room, line: str
) -> None:
    before = _seen(room.base / "work")
    words = (b"sh", b"-c", line.encode())
    room.do(CommandSpec(argv=words, profile="commit"))
    assert _seen(room.base / "work") == before
    assert not (room.base / "beside").exists()


def test_f143_a_commit_can_write_objects_references_and_the_index(room: Room) -> None:
    line = "git add file.txt && git commit --quiet -m x && git log --format='%an %ae'"
    found = room.do(CommandSpec(argv=(b"sh", b"-c", line.encode()), profile="commit"))
    assert (found.code, found.output) == (0, b"Ada ada@b.c\n")


def test_g13_a_commit_sees_the_persons_name_and_not_their_passwords(room: Room) -> None:
    line = "env; git config --list; cat $HOME/.gitconfig; git var GIT_COMMITTER_IDENT"
    found = room.do(CommandSpec(argv=(b"sh", b"-c", line.encode()), profile="commit"))
    assert found.code == 0
    assert b"secret" not in found.output + found.errors


def test_g13_a_commit_connects_nowhere(room: Room) -> None:
    words = (b"sh", b"-c", b"cat /proc/net/route | wc -l")
    alone = room.do(CommandSpec(argv=words, profile="commit", network=True)).output
    assert alone.strip() == b"1"


def test_a_part_of_the_repository_that_leads_elsewhere_cannot_be_kept(room: Room) -> None:
    hooks = room.root / ".git/hooks"
    hooks.rename(room.base / "hooks")
    hooks.symlink_to(room.base / "hooks")
    with pytest.raises(Refused, match="symbolic link"):
        room.do(CommandSpec(argv=(b"git", b"status"), profile="commit"))


def test_a_git_file_that_names_a_strange_folder_opens_nothing(room: Room) -> None:
    (room.root / ".git").rename(room.base / "strange")
    (room.root / ".git").write_text("gitdir: ../strange\n", encoding="utf-8")
    with pytest.raises(Refused, match="No Git repository for this workspace found"):
        room.do(CommandSpec(argv=(b"git", b"status"), profile="commit"))
