"""What bubblewrap is told, by table; and what a program then sees, for real."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.sandbox.profiles import HOME, Outcome, inside, needs_bubblewrap, profile, python, shell

from assent.core.errors import Refused
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.runner.bubblewrap import (
    MIN_VERSION,
    PathInfo,
    PathKind,
    PathLookup,
    bind_arguments,
    bwrap_version,
    mount_points,
    sandbox_unavailable,
    tmp_folder,
)
from assent.sandbox.status import find_bwrap

FOLDER, FILE, MISSING = (
    PathInfo(PathKind.FOLDER),
    PathInfo(PathKind.FILE),
    PathInfo(PathKind.MISSING),
)


def looking(**seen: PathInfo) -> PathLookup:
    """A look that knows some names by their last part; all others are folders."""
    return lambda path: seen.get(path.rpartition(b"/")[2].decode().strip("."), FOLDER)


def pairs(made: list[bytes], option: bytes) -> list[bytes]:
    """The places at which an option of two values is used."""
    return [made[i + 2] for i, word in enumerate(made) if word == option]


def singles(made: list[bytes], option: bytes) -> list[bytes]:
    return [made[i + 1] for i, word in enumerate(made) if word == option]


def test_the_workspace_lies_over_the_private_folders_and_all_becomes_read_only() -> None:
    made = bind_arguments(
        SandboxProfile(b"/home/u/p", b"/home/u", (b"/usr", b"/home/u/.pyenv")), looking()
    )
    assert pairs(made, b"--ro-bind")[:3] == [b"/home/u/.pyenv", b"/home/u/p", b"/usr"]
    private = [b"/dev/shm", b"/home/u", b"/run", b"/tmp", b"/var/tmp"]
    assert singles(made, b"--tmpfs")[:5] == private
    assert made.index(b"/home/u") < made.index(b"/home/u/.pyenv")
    assert singles(made, b"--remount-ro")[-3:] == [b"/proc", b"/dev", b"/"]
    assert b"--bind" not in made


@pytest.mark.parametrize(
    ("root", "private"),
    [
        (b"/home/u", [b"/dev/shm", b"/run", b"/tmp", b"/var/tmp"]),
        (b"/home", [b"/dev/shm", b"/run", b"/tmp", b"/var/tmp"]),
        (b"/tmp", [b"/dev/shm", b"/home/u", b"/run", b"/var/tmp"]),
        (b"/", [b"/dev/shm", b"/run"]),
        (b"", [b"/dev/shm", b"/run"]),
    ],
)
def test_no_private_folder_hides_a_part_of_the_workspace(root: bytes, private: list[bytes]) -> None:
    look = looking(keys=MISSING)
    assert (
        singles(bind_arguments(SandboxProfile(root, b"/home/u"), look), b"--tmpfs")[: len(private)]
        == private
    )


@pytest.mark.parametrize(("root", "folder"), [(b"/p", b"/tmp"), (b"/tmp", b"/run"), (b"", b"/run")])
def test_temporary_files_never_go_to_the_workspace(root: bytes, folder: bytes) -> None:
    assert tmp_folder(SandboxProfile(root, b"/home/u")) == folder


def test_links_are_made_anew_and_what_is_shown_twice_is_bound_once() -> None:
    look = looking(
        bin=PathInfo(PathKind.LINK, b"usr/bin"), gone=MISSING, python=PathInfo(PathKind.LINK, b"x")
    )
    shown = (b"/usr", b"/usr/lib", b"/bin", b"/gone", b"/p/.venv", b"/usr/python")
    made = bind_arguments(SandboxProfile(b"/p", b"/home/u", shown), look)
    assert [made[i : i + 3] for i, word in enumerate(made) if word == b"--symlink"] == [
        [b"--symlink", b"usr/bin", b"/bin"]
    ]
    assert pairs(made, b"--ro-bind")[:2] == [b"/p", b"/usr"]


def test_masks_come_last_each_once_and_only_over_what_is_visible() -> None:
    look = looking(env=FILE, gone=MISSING)
    masks = (b"/p/a/x", b"/p/a", b"/p/a-b", b"/p/.env", b"/p/gone", b"/home/u/.ssh", b"/opt")
    made = bind_arguments(SandboxProfile(b"/p", b"/home/u", (b"/opt/tool/bin",), masks), look)
    assert singles(made, b"--tmpfs")[-5:-2] == [b"/opt", b"/p/a", b"/p/a-b"]
    assert [made[i + 1] for i, word in enumerate(made) if word == b"/dev/null"] == [b"/p/.env"]
    assert made.index(b"/p/.env") > made.index(b"/opt/tool/bin") < made.index(b"/opt")
    assert b"/home/u/.ssh" not in made


def test_each_folder_above_a_kept_path_is_held_and_a_missing_one_gets_a_place() -> None:
    look = looking(opencode=MISSING, config=FILE)
    kept = (b"/p/.git/hooks", b"/p/.git/config", b"/p/.opencode")
    profile = SandboxProfile(b"/p", b"/home/u", writable=True, kept=kept)
    made = bind_arguments(profile, look)
    assert pairs(made, b"--bind") == [b"/p", b"/p/.git"]
    assert pairs(made, b"--ro-bind")[:2] == [b"/p/.git/config", b"/p/.git/hooks"]
    assert made[made.index(b"/p/.opencode") + 1 :][:2] == [b"--remount-ro", b"/p/.opencode"]
    assert mount_points(profile, look) == tuple(sorted(kept))
    assert mount_points(SandboxProfile(b"/p", b"/home/u", kept=kept), look) == ()


def test_where_there_is_no_git_the_whole_folder_is_held() -> None:
    look = looking(git=MISSING)
    profile = SandboxProfile(
        b"/p", b"/home/u", writable=True, kept=(b"/p/.git/hooks", b"/p/.git/config")
    )
    assert mount_points(profile, look) == (b"/p/.git",)


def test_a_link_cannot_be_kept() -> None:
    profile = SandboxProfile(b"/p", b"/home/u", writable=True, kept=(b"/p/.git/hooks",))
    with pytest.raises(Refused, match=r"/p/\.git is a symbolic link"):
        bind_arguments(profile, looking(git=PathInfo(PathKind.LINK, b"elsewhere")))


@needs_bubblewrap
def test_it_is_found_and_new_enough() -> None:
    tool = find_bwrap()
    assert tool is not None
    assert bwrap_version(tool) >= MIN_VERSION
    assert sandbox_unavailable() is None


@needs_bubblewrap
def test_only_the_profile_is_there(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a").write_text("seen\n", encoding="utf-8")
    (tmp_path / "other").write_text("unseen\n", encoding="utf-8")
    seen = inside(profile(root), shell("cat a; cat ../other; ls -A .. | wc -l; hostname"))
    assert seen == Outcome(0, b"seen\n1\nsandbox\n", b"cat: ../other: No such file or directory\n")


@needs_bubblewrap
@pytest.mark.parametrize("name", [b"new\nline", b"\xff\xfe", b" -- ", b"--bind", b"a\\040b"])
def test_any_name_can_be_shown_and_hidden(tmp_path: Path, name: bytes) -> None:
    root = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(root)
    for file in (b"open", b"secret" + name):
        with open(os.path.join(root, file), "wb") as opened:
            opened.write(b"content\n")
    plain = profile(tmp_path / "x")
    secret = os.path.join(root, b"secret" + name)
    shown = SandboxProfile(root, plain.home, plain.shown, (secret,))
    seen = inside(shown, python("print(open('open').read())\nopen(args[0])", secret))
    assert (seen.code, seen.output) == (1, b"content\n\n")
    assert b"PermissionError" in seen.errors


@needs_bubblewrap
def test_a_workspace_that_is_home_or_holds_it_or_the_temporary_files(tmp_path: Path) -> None:
    home = tmp_path / "home" / "person"
    home.mkdir(parents=True)
    (home / "a").write_text("seen\n", encoding="utf-8")
    code = f"cat {home}/a; for d in {home} /tmp; do mkdir $d/made || echo kept; done 2>/dev/null"
    script = shell(f'{code}; cd "$TMPDIR" && : > x && echo "$TMPDIR"')
    bytes_home = os.fsencode(home)
    for root, said in [
        (home, b"seen\nkept\n/tmp\n"),
        (home.parent, b"seen\nkept\n/tmp\n"),
        (Path("/tmp"), b"seen\nkept\nkept\n/run\n" if home.is_relative_to("/tmp") else None),
    ]:
        seen = inside(profile(root, home=bytes_home), script)
        assert said is None or seen == Outcome(0, said)
    assert os.listdir(home) == ["a"]


@needs_bubblewrap
def test_home_is_private_and_empty_but_for_what_is_bound_into_it(tmp_path: Path) -> None:
    root, home = tmp_path / "work", tmp_path / "home"
    (home / ".pyenv").mkdir(parents=True)
    (home / ".ssh").mkdir()
    root.mkdir()
    plain = profile(root)
    shown = (*plain.shown, os.fsencode(home / ".pyenv"))
    seen = inside(
        SandboxProfile(plain.root, os.fsencode(home), shown),
        shell("ls -A ~; : > ~/made && echo made; mkdir ~/.pyenv/x || echo kept; ls -A ~/.pyenv"),
    )
    assert (seen.code, seen.output) == (0, b".pyenv\nmade\nkept\n")
    assert sorted(os.listdir(home)) == [".pyenv", ".ssh"]


@needs_bubblewrap
def test_a_writable_workspace_keeps_its_own_guards(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    before = (tmp_path / ".git/config").read_bytes()
    kept = [b".git/hooks", b".git/config", b".opencode"]
    base = profile(tmp_path, writable=True)
    root = base.root
    held = SandboxProfile(
        root, HOME, base.shown, writable=True, kept=tuple(os.path.join(root, k) for k in kept)
    )
    script = """
        echo new > made && chmod 755 made && mkdir d && git add made
        exec 2>/dev/null
        for try in 'echo x > .git/hooks/pre-commit' 'git config a.b c' 'mv .git .other' \
            'mv .git/hooks .git/x' 'rm -rf .git/hooks' 'echo x > .git/config' 'rmdir .opencode' \
            'mkdir -p .opencode/agents' 'mv .opencode x' 'ln -f .git/config y && echo z >> y'
        do eval "$try" && echo "$try"
        done
        true
    """
    assert inside(held, shell(script)) == Outcome(0)
    assert (tmp_path / "made").read_bytes() == b"new\n"
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o755
    assert sorted(os.listdir(tmp_path)) == [".git", "d", "made"]
    assert (tmp_path / ".git/config").read_bytes() == before
    assert "pre-commit" not in os.listdir(tmp_path / ".git/hooks")
