"""git: commands that compare trees, the index and the work tree."""

from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables.git_options import (
    DIFF,
    FORMATS,
    LOG,
    MERGES,
    NO_EXTERNAL_DIFF,
)
from assent.permissions.commands.read_only.tables.git_rules import no_programs

_PLUMBING = OptionSpec.of("r --no-commit-id --root --always --merge-base --cached")
_STASHES = {
    "list": ReadOnlyCommandSpec(
        "git stash list",
        LOG,
        runs=("git stash list", "git stash list --date=relative -3", "git stash list -p"),
        refused=("git stash list --output=x", "git stash list --format=%GG", "git stash drop"),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "show": ReadOnlyCommandSpec(
        "git stash show",
        DIFF | OptionSpec.of("--include-untracked --only-untracked"),
        OperandSpec(most=1, files=False),
        runs=("git stash show", "git stash show -p stash@{1}", "git stash show --stat -u"),
        refused=("git stash show --output=x", "git stash show --ext-diff", "git stash pop"),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
        adds_to_options=True,  # alone it shows only numbers, and converts nothing
    ),
}

GIT_DIFF_COMMANDS = {
    "diff": ReadOnlyCommandSpec(
        "git diff",
        DIFF
        | MERGES
        | OptionSpec.of("0123 --cached --staged --merge-base --no-index --base --ours --theirs"),
        runs=(
            "git diff",
            "git diff --cached --stat",
            "git diff -U10 -w main...HEAD -- src *.py",
            "git diff --name-only HEAD~3",
            "git diff --no-index a b",
            "git diff -M -C --word-diff=plain --color=never @{u}",
        ),
        refused=(
            "git diff --output=x",
            "git diff --ext-diff",
            "git diff --textconv",
            "git diff -O order",
            "git diff --submodule=diff",
            "git difftool",
            "git diff --help",
        ),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "diff-tree": ReadOnlyCommandSpec(
        "git diff-tree",
        DIFF | MERGES | FORMATS | _PLUMBING | OptionSpec.of("v"),
        runs=(
            "git diff-tree --no-commit-id --name-only -r HEAD",
            "git diff-tree -p main HEAD -- a",
        ),
        refused=(
            "git diff-tree --output=x a",
            "git diff-tree --stdin",
            "git diff-tree --pretty=%GG a",
        ),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "diff-index": ReadOnlyCommandSpec(
        "git diff-index",
        DIFF | MERGES | _PLUMBING,
        runs=("git diff-index --quiet HEAD --", "git diff-index --cached -p HEAD"),
        refused=("git diff-index --output=x HEAD", "git diff-index --ext-diff HEAD"),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "diff-files": ReadOnlyCommandSpec(
        "git diff-files",
        DIFF | MERGES | OptionSpec.of("q0123 --base --ours --theirs"),
        runs=("git diff-files", "git diff-files --quiet", "git diff-files -p -- a"),
        refused=("git diff-files --output=x", "git diff-files --textconv"),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "status": ReadOnlyCommandSpec(
        "git status",
        OptionSpec.of(
            flags=(
                "sbz --short --branch --show-stash --ahead-behind --no-ahead-behind --long"
                " --null --renames --no-renames --no-column"
            ),
            maybe=(
                "uM --porcelain --untracked-files --ignored --ignore-submodules --column"
                " --find-renames"
            ),
        ),
        runs=(
            "git status",
            "git status -sb",
            "git status --porcelain=v2 -uno -- src",
            "git -C a status -z",
        ),
        refused=("git status -v", "git status --output=x", "git stash", "git status --por"),
    ),
    "stash": ReadOnlyCommandSpec(
        "git stash",
        operands=OperandSpec(most=0),
        refused=("git stash", "git stash push", "git stash -p", "git stash create"),
        alone=False,
        children=_STASHES,
    ),
    "merge-base": ReadOnlyCommandSpec(
        "git merge-base",
        OptionSpec.of("a --all --octopus --independent --is-ancestor --fork-point"),
        OperandSpec(files=False),
        runs=("git merge-base main HEAD", "git merge-base --is-ancestor a b"),
        refused=("git merge-base --output=x", "git merge-file a b c", "git merge a"),
    ),
}
