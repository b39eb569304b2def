"""F143: a plan's commit holds what its run changed, and touches nothing else of the person's."""

import os
from pathlib import Path

import pytest
from tests.sandbox.profiles import Outcome, needs_bubblewrap
from tests.support.git_repository import DIGEST, Repository, repository

from assent.core.errors import Refused
from assent.core.plan.git_commit import commit_command
from assent.core.plan.operation import RunCommand
from assent.runs.git_commit import NOT_AS_WRITTEN, NOTHING_TO_COMMIT
from assent.sandbox.profile.profile import NO_REPOSITORY

pytestmark = needs_bubblewrap

FILES = {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n", "sub/d.txt": "d\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return repository(tmp_path, FILES)


def test_f143_a_commit_has_title_trailer_and_the_persons_name(repo: Repository) -> None:
    repo.put({"a.txt": "A\n"})
    assert repo.commit(["a.txt"], "Say hello\n#not a comment").code == 0
    body = repo.git("log", "-1", "--format=%an <%ae>%n%cn%n%B")
    assert body == (
        "Ada Person <ada@example.org>\nAda Person\n"
        f"Say hello\\n#not a comment\n\nAssent-Plan: {DIGEST}\n\n"
    )
    assert repo.git("log", "-1", "--format=%(trailers:key=Assent-Plan,valueonly)").strip() == DIGEST
    assert repo.git("status", "--porcelain") == ""


def test_f143_new_changed_deleted_and_renamed_files(repo: Repository) -> None:
    repo.put({"a.txt": "A\n", "new/e.txt": "e\n"})
    (repo.root / "b.txt").unlink()
    (repo.root / "c.txt").rename(repo.root / "moved.txt")
    (repo.root / "sub/d.txt").chmod(0o755)
    (repo.root / "link").symlink_to("a.txt")
    paths = ["a.txt", "new/e.txt", "b.txt", "c.txt", "moved.txt", "sub/d.txt", "link", "never"]
    assert repo.commit(paths).code == 0
    assert repo.committed() == [
        "M a.txt", "D b.txt", "D c.txt", "A link", "A moved.txt", "A new/e.txt", "M sub/d.txt",
    ]  # fmt: skip
    assert repo.git("status", "--porcelain") == ""


def test_f143_what_the_person_staged_or_changed_elsewhere_stays(repo: Repository) -> None:
    repo.put({"b.txt": "staged\n", "theirs.txt": "new, staged\n", "deleted.txt": ""})
    repo.git("add", "b.txt", "theirs.txt")
    repo.put({"b.txt": "staged and changed\n", "c.txt": "changed\n", "loose.txt": "untracked\n"})
    repo.git("rm", "--quiet", "sub/d.txt")
    staged = repo.git("diff", "--cached")
    changed = repo.git("diff")
    repo.put({"a.txt": "A\n", "ours.txt": "o\n"})
    assert repo.commit(["a.txt", "ours.txt"]).code == 0
    assert repo.committed() == ["M a.txt", "A ours.txt"]
    assert repo.git("diff", "--cached") == staged
    assert repo.git("diff") == changed
    assert "?? loose.txt" in repo.git("status", "--porcelain")


def test_f143_bytes_that_the_run_did_not_write_are_not_committed(repo: Repository) -> None:
    repo.put({"a.txt": "ours\n", "b.txt": "ours\n"})
    left = repo.left(["a.txt", "b.txt"])
    repo.put({"a.txt": "ours\nand mine\n"})
    found = repo.commit_as_left(left)
    assert (found.code, f"{NOT_AS_WRITTEN}: a.txt.".encode() in found.errors) == (
        1,
        True,
    )
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"


def test_f143_what_the_person_staged_in_such_a_file_stays(repo: Repository) -> None:
    repo.put({"a.txt": "staged\n"})
    repo.git("add", "a.txt")
    staged = repo.git("diff", "--cached")
    repo.put({"a.txt": "ours\n"})
    found = repo.commit(["a.txt"])
    assert (found.code, b"staged changes of your own in a.txt." in found.errors) == (1, True)
    assert repo.git("diff", "--cached") == staged


@pytest.mark.parametrize("staged", [False, True])
def test_f143_a_file_with_changes_of_the_persons_refuses_it_before_the_start(
    repo: Repository, *, staged: bool
) -> None:
    repo.commander().check(commit_command("x"), repo.left([b"a.txt", b"new"]))
    repo.put({"a.txt": "mine\n", "b.txt": "mine\n"})
    if staged:
        repo.git("add", "a.txt")
    repo.commander().check(commit_command("x"), repo.left([b"c.txt"]))
    with pytest.raises(Refused, match=r"uncommitted changes in a\.txt\."):
        repo.commander().check(commit_command("x"), repo.left([b"a.txt", b"c.txt"]))


def test_f143_names_are_names_and_no_patterns(repo: Repository) -> None:
    odd = [b"line\nbreak", b"*.txt", b"\xff\xfe", b":(top)x", b"-n", b"two words", b'"quoted"']
    for name in odd:
        (repo.root / os.fsdecode(name)).write_bytes(b"x\n")
    repo.put({"a.txt": "A\n"})
    assert repo.commit(odd).code == 0
    assert sorted(os.fsencode(row[2:]) for row in repo.committed()) == sorted(odd)
    assert repo.git("status", "--porcelain") == " M a.txt\n"


def test_f143_no_hook_editor_signature_or_monitor_runs(repo: Repository) -> None:
    mark = repo.room.base / "work/ran"
    for name in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "fsmonitor"):
        hook = repo.root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark} .git/ran\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)
    for key, value in {
        "commit.gpgSign": "true",
        "core.editor": "false",
        "core.fsmonitor": ".git/hooks/fsmonitor",
        "commit.template": "/nowhere",
        "commit.cleanup": "scissors",
    }.items():
        repo.git("config", key, value)
    repo.put({"a.txt": "A\n"})
    assert repo.commit(["a.txt"]).code == 0
    assert repo.committed() == ["M a.txt"]
    assert (mark.exists(), (repo.root / ".git/ran").exists()) == (False, False)


def test_nothing_to_commit_is_done(repo: Repository) -> None:
    assert repo.commit(["a.txt", "no-such-file"]) == Outcome(0, NOTHING_TO_COMMIT, b"")
    assert repo.commit([]) == Outcome(0, NOTHING_TO_COMMIT, b"")
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"


def test_what_is_ignored_or_hidden_or_anothers_is_left_out(repo: Repository) -> None:
    repo.put({".gitignore": "*.log\n", ".env": "TOKEN=1\n", "a.log": "x"})
    repo.git("add", "--force", ".env")
    repo.git("commit", "--quiet", "--message=Secret", ".env")
    (repo.root / "inner").mkdir()
    repo.git("init", "--quiet", folder="inner")
    repo.put({"inner/x": "x", ".env": "TOKEN=2\n"})
    found = repo.commit([".gitignore", "a.log", ".env", "inner/x"])
    assert (found.code, repo.committed()) == (0, ["A .gitignore"])
    assert b"programs are not allowed to read it: .env." in found.output
    assert b"it belongs to another repository: inner/x." in found.output


def test_the_first_commit_of_a_repository(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    repo.put({"a.txt": "a\n", "b.txt": "b\n"})
    assert repo.commit(["a.txt"]).code == 0
    assert repo.git("ls-tree", "--name-only", "HEAD") == "a.txt\n"


def test_files_with_a_filter_are_the_persons_to_commit(repo: Repository) -> None:
    repo.git("config", "filter.mine.clean", "touch .git/ran; tr a-z A-Z")
    repo.put({".gitattributes": "*.big filter=mine\n", "x.big": "x\n"})
    found = repo.commit(["x.big", ".gitattributes"])
    assert (found.code, b"Git filters apply to x.big." in found.errors) == (1, True)
    assert repo.commit([".gitattributes"]).code == 0
    assert not (repo.root / ".git/ran").exists()
    assert repo.git("status", "--porcelain") == "?? x.big\n"


def test_line_ends_are_as_the_person_has_them(repo: Repository) -> None:
    repo.git("config", "--global", "core.autocrlf", "input")
    (repo.root / "a.txt").write_bytes(b"A\r\n")
    assert repo.commit(["a.txt"]).code == 0
    assert repo.git("cat-file", "blob", "HEAD:a.txt") == "A\n"


def test_a_change_of_line_ends_alone_is_nothing_to_commit(repo: Repository) -> None:
    repo.git("config", "--global", "core.autocrlf", "input")
    (repo.root / "a.txt").write_bytes(b"a\r\n")
    assert repo.commit(["a.txt"]) == Outcome(0, NOTHING_TO_COMMIT, b"")


def test_a_commit_that_fails_leaves_nothing_half_staged(repo: Repository) -> None:
    repo.put({"a.txt": "A\n", "new.txt": "n\n"})
    (repo.root / ".git/refs/heads/main.lock").touch()
    found = repo.commit(["a.txt", "new.txt"])
    assert (found.code, b"main.lock" in found.errors) == (128, True)
    (repo.root / ".git/refs/heads/main.lock").unlink()
    assert repo.git("status", "--porcelain") == " M a.txt\n?? new.txt\n"


def test_what_a_commit_that_was_cut_off_told_git_is_taken_back(repo: Repository) -> None:
    repo.put({"a.txt": "A\n", "new.txt": "n\n", "own.txt": "o\n", "later.txt": "l\n"})
    left = repo.left(["a.txt", "new.txt"])
    repo.git("add", "-N", "new.txt", "later.txt")
    repo.git("add", "own.txt")
    assert repo.commander().clean_up(commit_command("Say hello"), left) == ""
    assert repo.git("status", "--porcelain") == " M a.txt\n A later.txt\nA  own.txt\n?? new.txt\n"


def test_what_git_cannot_let_go_of_is_said(repo: Repository) -> None:
    repo.put({"new.txt": "n\n"})
    left = repo.left(["new.txt"])
    repo.git("add", "-N", "new.txt")
    (repo.root / ".git/index.lock").touch()
    told = repo.commander().clean_up(commit_command("Say hello"), left)
    assert told.startswith("Git's index still lists new.txt. ")


def test_while_another_git_is_at_work_the_commit_fails_and_says_so(repo: Repository) -> None:
    repo.put({"new.txt": "n\n"})
    (repo.root / ".git/index.lock").touch()
    found = repo.commit(["new.txt"])
    assert (found.code, b"index.lock" in found.errors) == (128, True)


def test_settings_behind_a_symlink_count(repo: Repository) -> None:
    home = repo.room.base / "home"
    (home / "dotfiles").mkdir()
    (home / ".gitconfig").rename(home / "dotfiles/git")
    (home / ".gitconfig").symlink_to("dotfiles/git")
    repo.commander().check(commit_command("x"))


def test_the_persons_name_may_depend_on_the_folder(repo: Repository) -> None:
    work = repo.room.base / "home/work.inc"
    work.write_text("[user]\n\temail = ada@work.example\n", encoding="utf-8")
    with (repo.room.base / "home/.gitconfig").open("a", encoding="utf-8") as file:
        file.write(f'[includeIf "gitdir:{repo.root}/"]\n\tpath = ~/work.inc\n')
    repo.put({"a.txt": "A\n"})
    assert repo.commit(["a.txt"]).code == 0
    assert repo.git("log", "-1", "--format=%ae").strip() == "ada@work.example"


def test_a_commit_in_a_worktree(repo: Repository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "--quiet", "../side", "-b", "side")
    side = Repository(repo.room.__class__(tmp_path, name="side"))
    side.commander().check(commit_command("x"))
    side.put({"a.txt": "A\n", "new.txt": "n\n"})
    assert side.commit(["a.txt", "new.txt"]).code == 0
    assert side.committed("side") == ["M a.txt", "A new.txt"]
    assert repo.git("rev-parse", "main") != repo.git("rev-parse", "side")
    assert repo.git("status", "--porcelain") == ""


def test_a_commit_in_a_submodule(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    above = repository(tmp_path / "more", FILES)
    allowed = ("-c", "protocol.file.allow=always")
    above.git(*allowed, "submodule", "--quiet", "add", str(repo.root), "module")
    inner = Repository(repo.room.__class__(tmp_path / "more", name="work/module"))
    inner.put({"a.txt": "A\n"})
    inner.commander().check(commit_command("x"))
    assert inner.commit(["a.txt"]).code == 0
    assert inner.committed() == ["M a.txt"]
    above.put({"b.txt": "B\n"})
    assert above.commit(["b.txt", "module/a.txt", "module"]).code == 0
    assert above.committed() == ["M b.txt"]


def test_a_workspace_below_the_top_of_a_repository(repo: Repository, tmp_path: Path) -> None:
    inner = Repository(repo.room.__class__(tmp_path, name="work/sub"))
    with pytest.raises(Refused, match="is inside a larger repository"):
        inner.commander().check(commit_command("x"))


def test_without_a_name_no_commit_begins(repo: Repository) -> None:
    (repo.room.base / "home/.gitconfig").write_text("", encoding="utf-8")
    with pytest.raises(Refused, match="has no name and email to commit with") as refused:
        repo.commander().check(commit_command("x"))
    assert refused.value.next.startswith("git config --global user.name")
    variables = {
        f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    repo.commander(**variables).check(commit_command("x"))


@pytest.mark.parametrize(
    ("name", "what"), [("MERGE_HEAD", "a merge"), ("rebase-merge", "a rebase")]
)
def test_in_the_middle_of_something_no_commit_begins(
    repo: Repository, name: str, what: str
) -> None:
    repo.commander().check(commit_command("x"))
    (repo.root / ".git" / name).mkdir()
    with pytest.raises(Refused, match=what):
        repo.commander().check(commit_command("x"))


def test_where_there_is_no_repository_no_commit_begins(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    (repo.root / ".git").rename(repo.root / "away")
    with pytest.raises(Refused, match=NO_REPOSITORY) as refused:
        repo.commander().check(commit_command("x"))
    assert refused.value.next == "git init"


@pytest.mark.parametrize(
    "command",
    [
        RunCommand((b"git", b"push"), profile="commit"),
        RunCommand((), b"git commit", profile="commit"),
        RunCommand(commit_command("x").argv, network=True, profile="commit"),
        RunCommand((*commit_command("x").argv, b"--amend"), profile="commit"),
    ],
)
def test_only_the_one_form_may_write_into_the_repository(
    repo: Repository, command: RunCommand
) -> None:
    with pytest.raises(Refused, match="Only the commit"):
        repo.commander().check(command)
    with pytest.raises(Refused, match="Only the commit"):
        repo.commander().run(command, DIGEST, {})
