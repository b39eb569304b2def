"""The commit of a plan: one form, of which only the title is free."""

import msgspec
import pytest

from assent.core.plan.git_commit import (
    MAX_TITLE,
    NO_TITLE,
    commit_argv,
    commit_command,
    is_commit,
    plan_title,
    without_commit,
)
from assent.core.plan.operation import DeleteFile, FileState, Operation, RunCommand, inverse

COMMIT = commit_command("Say hello")
FILE = DeleteFile(b"a", FileState("0" * 64, 1, 0o644))


def changed(**fields: object) -> RunCommand:
    return msgspec.structs.replace(COMMIT, **fields)


def test_f143_the_form_has_no_hook_no_editor_no_pattern_and_only_its_own_paths() -> None:
    assert RunCommand(
        (
            b"git", b"--literal-pathspecs", b"-c", b"core.hooksPath=/dev/null",
            b"-c", b"core.fsmonitor=false", b"commit", b"--only", b"--no-verify",
            b"--no-gpg-sign", b"--cleanup=whitespace", b"--pathspec-from-file=-",
            b"--pathspec-file-nul", b"--message", b"Say hello",
            b"--message", b"Assent-Plan: {digest}",
        ),
        timeout=120,
        profile="commit",
    ) == COMMIT  # fmt: skip
    assert inverse(COMMIT) is None


@pytest.mark.parametrize(
    ("op", "is_one"),
    [
        (COMMIT, True),
        (commit_command("Grüße — {digest} --amend"), True),
        (commit_command(""), True),
        (changed(profile="workspace"), False),
        (changed(network=True), False),
        (changed(timeout=121), False),
        (changed(cwd=b"sub"), False),
        (changed(env=((b"GIT_DIR", b"x"),)), False),
        (changed(undo=(b"git", b"reset")), False),
        (changed(script=b"true"), False),
        (changed(argv=(*COMMIT.argv, b"--amend")), False),
        (changed(argv=COMMIT.argv[:-1]), False),
        (changed(argv=(b"./git", *COMMIT.argv[1:])), False),
        (changed(argv=(*COMMIT.argv[:-3], b"two\nlines", *COMMIT.argv[-2:])), False),
        (changed(argv=(*COMMIT.argv[:-3], b"", *COMMIT.argv[-2:])), False),
        (changed(argv=(*COMMIT.argv[:-3], b"\xff", *COMMIT.argv[-2:])), False),
        (changed(argv=(*COMMIT.argv[:-1], b"Assent-Plan: other")), False),
        (RunCommand((b"ls",)), False),
        (FILE, False),
    ],
)
def test_f143_nothing_else_is_a_commit(op: Operation, is_one: bool) -> None:
    assert is_commit(op) == is_one


def test_the_digest_stands_in_one_argument() -> None:
    command = commit_command("{digest}")
    words = commit_argv(command, "abc")
    assert words == (*command.argv[:-1], b"Assent-Plan: abc")
    assert words[-3] == b"{digest}"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (b"# Say hello\n\n## Goal\n", "Say hello"),
        (b"---\nscope: {files: [a]}\n# no title\n---\n\nWords.\n\n## Later ##\n", "Later"),
        (b"no heading\n", NO_TITLE),
        (b"", NO_TITLE),
        (b"#\n", NO_TITLE),
        (b"#no blank\n#  Blank  \n", "Blank"),
    ],
)
def test_a_plan_is_called_by_its_first_heading(text: bytes, title: str) -> None:
    assert plan_title(text) == title


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("a\n\n b\x1b[31m\u202e", b"a\\n\\n b\\x1b[31m\\u202e"),
        ("x" * 200, b"x" * (MAX_TITLE - 1) + "…".encode()),
        ("  ", NO_TITLE.encode()),
    ],
)
def test_a_title_is_one_line_that_shows_what_it_is(title: str, word: bytes) -> None:
    assert commit_command(title).argv[-3] == word
    assert is_commit(commit_command(title))


def test_only_a_commit_at_the_end_is_taken_out() -> None:
    assert without_commit((FILE, COMMIT)) == (FILE,)
    assert without_commit((COMMIT, FILE)) == (COMMIT, FILE)
    assert without_commit(()) == ()
