"""Which git commands only read, what is added to them, and that options are read as git does."""

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from assent.permissions.commands.read_only.classifier import (
    REGISTRY,
    check_spec_examples,
    classify_read_only,
    read_only_stages,
)
from assent.permissions.commands.read_only.spec import OptionSpec, ReadOnlyCommandSpec

WITHOUT = ("--no-ext-diff", "--no-textconv")


def specs(spec: ReadOnlyCommandSpec) -> Iterator[ReadOnlyCommandSpec]:
    """Yields a table and all below it."""
    yield spec
    for child in spec.children.values():
        yield from specs(child)


GIT = tuple(specs(REGISTRY["git"]))


@pytest.mark.parametrize("spec", GIT, ids=lambda spec: spec.name)
def test_every_table_keeps_its_word_and_needs_a_sandbox(spec: ReadOnlyCommandSpec) -> None:
    check_spec_examples(spec)
    assert spec.obeys
    assert spec.environment["GIT_OPTIONAL_LOCKS"] == "0"


RUN = {
    "git log -5": ("git", "log", *WITHOUT, "-5"),
    "git -C sub --no-pager diff -- a b": (
        "git",
        "-C",
        "sub",
        "--no-pager",
        "diff",
        *WITHOUT,
        "--",
        "a",
        "b",
    ),
    "git stash list": ("git", "stash", "list", *WITHOUT),
    "git stash show -p stash@{0}": ("git", "stash", "show", *WITHOUT, "-p", "stash@{0}"),
    "git reflog main": ("git", "reflog", "show", *WITHOUT, "main"),
    "git reflog show main": ("git", "reflog", "show", *WITHOUT, "main"),
    "git blame -L1,5 a": ("git", "blame", "--no-textconv", "-L1,5", "a"),
    "git grep -n x": ("git", "grep", "--no-textconv", "-n", "x"),
    "git rev-parse HEAD^{commit} v1^{}": ("git", "rev-parse", "HEAD^{commit}", "v1^{}"),
    "git --version": ("git", "--version"),
}


@pytest.mark.parametrize(("line", "words"), RUN.items())
def test_what_runs_has_what_keeps_programs_away(line: str, words: tuple[str, ...]) -> None:
    work = read_only_stages(line)[0].work
    assert isinstance(work, tuple)
    assert tuple(word.text for word in work[0].words) == words


UNLISTED = "is not in the list of read-only options; leave it out."
SUCH = (
    "is not in the list of read-only commands; use one that is, "
    "such as `git log`, `git show`, `git whatchanged`, `git shortlog`."
)

REFUSED = {
    "git commit -m x": f"`git commit` {SUCH}",
    "git -c core.pager=x log": f"`git -c` {UNLISTED}",
    "git log --output=x": f"`git log --output` {UNLISTED}",
    "git branch new": "`git branch new` can create a branch; list with `--list PATTERN`.",
    "git tag v2": "`git tag v2` would create a tag; list with `-l PATTERN`.",
    "git config a.b c": "`git config` with these arguments can write; use `git config --get KEY`.",
    "git stash": "`git stash` without a subcommand is not read-only; use one of `git stash "
    "list`, `git stash show`.",
    "git remote show origin": (
        "`git remote show` contacts the remote; use `git remote show -n NAME`."
    ),
    "git reflog expire --all": "`git reflog expire` changes the reflog.",
    "git log --format=%GG": "`%GG` checks signatures, which starts another program.",
    "git grep -Oless x": f"`git grep -O` in `-Oless` {UNLISTED}",
    "git --exec-path": f"`git --exec-path` {UNLISTED}",
    "git fetch": f"`git fetch` {SUCH}",
    "git": "`git` needs a subcommand.",
}


@pytest.mark.parametrize(("line", "reason"), REFUSED.items())
def test_what_is_refused_says_why(line: str, reason: str) -> None:
    found = classify_read_only(line)
    assert (found.read_only, found.reason) == (False, reason)


def test_no_git_runs_without_a_sandbox() -> None:
    assert not classify_read_only("git log", sandboxed=False).read_only
    assert classify_read_only("git log").read_only


# `--contains X` and its like take the next word, which the table checks as an operand instead.
LOOSE = {"--contains", "--no-contains", "--merged", "--no-merged", "--points-at"}
HELPED = (
    *(
        "branch",
        "tag",
        "grep",
        "blame",
        "ls-files",
        "ls-tree",
        "status",
        "for-each-ref",
        "show-ref",
    ),
    *("merge-base", "name-rev", "describe", "shortlog", "cat-file", "config", "check-ignore"),
    *("check-attr", "show-branch", "count-objects", "range-diff", "cherry", "worktree list"),
)


def kinds(options: OptionSpec) -> dict[str, str]:
    """Returns how our table reads each option."""
    return {
        **dict.fromkeys(options.flags, "flag"),
        **dict.fromkeys(options.values | options.files, "value"),
        **dict.fromkeys(options.maybe, "maybe"),
    }


def documented(command: str) -> dict[str, str]:
    """Returns how git reads each option, by its own short help."""
    done = subprocess.run(
        ["git", *command.split(), "-h"], capture_output=True, text=True, check=False, timeout=60
    )
    found = {}
    for line in (done.stdout + done.stderr).splitlines():
        if not (
            shown := re.match(
                r"    (-\w(?:, --\S+)?|--\S+|-\w\S*)(?: (<.+?>|\w+\|\w+))?(?:  |$)", line
            )
        ):
            continue
        names, operand = shown[1], shown[2]
        kind = "maybe" if re.search(r"\[=?<|\[=|\w\[<", names) else "value" if operand else "flag"
        for name in names.split(", "):
            plain = re.sub(r"(?<=\w)\[.*", "", name.replace("[no-]", ""))
            found[plain] = kind
    return found


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("command", HELPED)
def test_options_take_values_as_in_git(command: str) -> None:
    """Else a word could be a value for us and an option for git."""
    spec = next(spec for spec in GIT if spec.name == f"git {command}")
    ours, theirs = kinds(spec.options), documented(command)
    shared = (ours.keys() & theirs.keys()) - LOOSE
    assert len(shared) > 1
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
