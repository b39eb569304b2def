"""F143: what a person has not committed is committed by nobody else, whoever changed it further."""

from pathlib import Path

import pytest
from tests.sandbox.profiles import needs_bubblewrap
from tests.support.git_repository import Repository, repository

from assent.core.errors import Refused
from assent.core.plan.git_commit import commit_command
from assent.core.plan.operation import DeleteFile, FileState, MoveFile, WriteFile
from assent.core.run.workspace_changes import FileStateChanges, state_changes
from assent.runs.git_commit import NOT_AS_WRITTEN

pytestmark = needs_bubblewrap

MINE, THEIRS = "a\nmy unfinished work\n", "a\nmy unfinished work\nformatted\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return repository(tmp_path, {"a.txt": "a\n", "b.txt": "b\n", "run.sh": "#!/bin/sh\n"})


def met(repo: Repository, name: str, after: str | None) -> FileStateChanges:
    """Lets a run meet a file as it stands, and leave another content or nothing there."""
    path = name.encode()
    before = repo.standing([name])[path]
    if before is not None:
        repo.blobs.keep([(repo.root / name).read_bytes()])
    if after is None:
        (repo.root / name).unlink()
    else:
        repo.put({name: after})
    return {path: (before, repo.standing([name])[path])}


def refused(repo: Repository, left: FileStateChanges, name: str) -> None:
    """Checks that neither the plan's start nor its end lets such a file be committed."""
    with pytest.raises(Refused, match=rf"uncommitted changes in {name}\."):
        repo.commander().check(commit_command("x"), left)
    not_committed(repo, left, name)


def not_committed(repo: Repository, left: FileStateChanges, name: str) -> None:
    log = repo.git("rev-list", "--all")
    found = repo.commit_as_left(left)
    told = f"the commit would include your own uncommitted changes from before the run, in {name}."
    assert (found.code, told in found.errors.decode()) == (1, True)
    assert repo.git("rev-list", "--all") == log


def test_f143_a_command_that_changes_a_file_with_changes_of_the_persons(repo: Repository) -> None:
    repo.put({"a.txt": MINE})
    not_committed(repo, met(repo, "a.txt", THEIRS), "a.txt")


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_f143_a_file_that_git_is_told_not_to_look_at(repo: Repository, flag: str) -> None:
    repo.git("update-index", flag, "a.txt")
    same = met(repo, "a.txt", "a\nplan\n")
    repo.commander().check(commit_command("x"), same)
    repo.put({"a.txt": MINE})
    refused(repo, met(repo, "a.txt", THEIRS), "a.txt")


def test_f143_a_file_that_git_does_not_know_is_not_committed_whole(repo: Repository) -> None:
    repo.put({"notes": "private\n"})
    refused(repo, met(repo, "notes", "private\nplan\n"), "notes")


def test_f143_such_a_file_under_another_name_is_still_the_persons(repo: Repository) -> None:
    repo.put({"notes": "private\n"})
    state = repo.standing(["notes"])[b"notes"]
    assert isinstance(state, FileState)
    (repo.root / "notes").rename(repo.root / "moved")
    refused(repo, state_changes([MoveFile(b"notes", b"moved", state)]), "moved")


def test_f143_such_a_file_may_go_or_be_ignored(repo: Repository) -> None:
    repo.put({"notes": "private\n", ".gitignore": "*.log\n", "x.log": "private\n"})
    repo.git("add", ".gitignore")
    repo.git("commit", "--quiet", "--message=Ignore")
    left = {**met(repo, "notes", None), **met(repo, "x.log", "1"), **met(repo, "b.txt", "B\n")}
    repo.git("stash", "--quiet")
    repo.commander().check(commit_command("x"), left)
    repo.git("stash", "pop", "--quiet")
    assert repo.commit_as_left(left).code == 0
    assert repo.committed() == ["M b.txt"]


def test_f143_a_mode_or_a_deletion_of_the_persons_is_theirs(repo: Repository) -> None:
    (repo.root / "run.sh").chmod(0o755)
    not_committed(repo, met(repo, "run.sh", "#!/bin/sh\ntrue\n"), "run.sh")
    (repo.root / "b.txt").unlink()
    not_committed(repo, met(repo, "b.txt", "new\n"), "b.txt")


def test_f143_who_changed_a_file_while_the_run_waited_is_whom_the_next_step_met(
    repo: Repository,
) -> None:
    first, mine, last = (FileState(c * 64, 1, 0o644) for c in "abc")
    steps = [WriteFile(b"a", None, first), WriteFile(b"a", mine, last), DeleteFile(b"b", mine)]
    assert state_changes(steps) == {b"a": (mine, last), b"b": (mine, None)}
    assert state_changes([WriteFile(b"a", None, first), WriteFile(b"a", first, last)]) == {
        b"a": (None, last)
    }


def test_f143_a_commit_that_was_made_already_is_not_the_persons(repo: Repository) -> None:
    left = met(repo, "a.txt", "plan\n")
    repo.git("commit", "--quiet", "--message=Same", "a.txt")
    assert repo.commit_as_left(left).code == 0


def test_f143_other_ends_of_lines_are_no_change(repo: Repository) -> None:
    repo.git("config", "--global", "core.autocrlf", "true")
    (repo.root / "a.txt").write_bytes(b"a\r\n")
    left = met(repo, "a.txt", "a\nplan\n")
    assert repo.commit_as_left(left).code == 0
    assert repo.git("cat-file", "blob", "HEAD:a.txt") == "a\nplan\n"


def test_f143_what_cannot_be_read_by_now_was_changed_by_somebody(repo: Repository) -> None:
    left = met(repo, "a.txt", "plan\n")
    (repo.root / "a.txt").unlink()
    (repo.root / "a.txt").mkdir()
    found = repo.commit_as_left(left)
    assert (found.code, f"{NOT_AS_WRITTEN}: a.txt.".encode() in found.errors) == (
        1,
        True,
    )
