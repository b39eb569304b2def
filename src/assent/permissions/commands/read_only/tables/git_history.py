"""git: commands that walk through history, or compare trees, the index and the work tree."""

import msgspec

from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables.git_options import (
    DIFF,
    FORMATS,
    LOG,
    MERGES,
    NO_EXTERNAL_DIFF,
    REVISIONS,
    no_programs,
    not_a_verb,
)

_BLAME = OptionSpec.of(
    flags=(
        "bfnpctlsew --incremental --root --show-stats --progress --no-progress --score-debug"
        " --show-name --show-number --porcelain --line-porcelain --show-email --color-lines"
        " --color-by-age --minimal --first-parent --reverse --no-textconv"
    ),
    values="L --ignore-rev --since --encoding --date",
    files="S --ignore-revs-file --contents",
    maybe="CM --abbrev",
)
# In shortlog this is a flag, and the other meaning cannot be had.
_SHORT_REVISIONS = msgspec.structs.replace(REVISIONS, values=REVISIONS.values - {"--committer"})
_REFLOG_SHOW = ReadOnlyCommandSpec(
    "git reflog show",
    LOG,
    runs=("git reflog show", "git reflog show --date=iso main", "git reflog show -5 HEAD@{2}"),
    refused=("git reflog show --output=x", "git reflog show --format=%GG", "git reflog"),
    rule=no_programs,
    adds=NO_EXTERNAL_DIFF,
)

_WALKS = {
    "log": ReadOnlyCommandSpec(
        "git log",
        LOG,
        runs=(
            "git log --oneline -5",
            "git --no-pager log -n 3 -- src",
            "git log -p -U3 -M90% --stat=100 --since '2 weeks ago' --format='%h %s' main..HEAD",
            "git log -S needle -G re -L10,20:a.py --author=me --graph --all *.py",
            "git log -L :main:a.py -n5 -C --follow --diff-filter=A @{u}..",
        ),
        refused=(
            "git log --output=x",
            "git log --output x",
            "git log --ext-diff",
            "git log --textconv",
            "git log --show-signature",
            "git log --format='%h %G?'",
            "git log --pretty=tformat:%+GK",
            "git log -Oorder",
            "git log --submodule=diff",
            "git log --remerge-diff",
            "git log --stdin",
            "git log --outpu=x",
        ),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "show": ReadOnlyCommandSpec(
        "git show",
        LOG,
        runs=(
            "git show",
            "git show --stat HEAD~2",
            "git show HEAD:src/a.py",
            "git show -s --format=%B",
        ),
        refused=("git show --output=x", "git show --textconv HEAD:a", "git show --pretty=%GS"),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "whatchanged": ReadOnlyCommandSpec(
        "git whatchanged",
        LOG,
        runs=("git whatchanged -3", "git whatchanged --since=1.week -- src"),
        refused=("git whatchanged --output=x", "git whatchanged --format=%GG"),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "shortlog": ReadOnlyCommandSpec(
        "git shortlog",
        _SHORT_REVISIONS
        | OptionSpec.of(
            "nsec --numbered --summary --email --committer", "--group --date --format", maybe="w"
        ),
        runs=(
            "git shortlog -sn HEAD",
            "git shortlog -sne --since=2020-01-01 --all",
            "git shortlog -w80",
        ),
        refused=("git shortlog --output=x", "git shortlog --format=%GS HEAD", "git shortlog -o x"),
        rule=no_programs,
    ),
    "rev-list": ReadOnlyCommandSpec(
        "git rev-list",
        REVISIONS
        | FORMATS
        | OptionSpec.of(
            flags=(
                "--quiet --use-bitmap-index --bisect-vars --bisect-all --objects"
                " --in-commit-order --objects-edge --objects-edge-aggressive --indexed-objects"
                " --unpacked --object-names --no-object-names --no-filter --header"
                " --filter-provided-objects --filter-print-omitted --exclude-promisor-objects"
                " --no-commit-header --commit-header --timestamp --count"
            ),
            values="n --filter --missing --progress",
            maybe="--disk-usage",
        ),
        runs=(
            "git rev-list --count HEAD",
            "git rev-list -n 1 --all -- a",
            "git rev-list HEAD --objects",
        ),
        refused=(
            "git rev-list --stdin",
            "git rev-list --format=%GG HEAD",
            "git rev-list --output=x",
        ),
        rule=no_programs,
    ),
    "reflog": ReadOnlyCommandSpec(
        "git reflog",
        LOG,
        runs=("git reflog", "git reflog -10", "git reflog --date=iso main"),
        refused=(
            "git reflog expire --all",
            "git reflog delete HEAD@{1}",
            "git reflog -5 drop",
            "git reflog write",
            "git reflog --output=x",
        ),
        rule=not_a_verb,
        adds=("show", *NO_EXTERNAL_DIFF),
        children={
            "show": _REFLOG_SHOW,
            "exists": ReadOnlyCommandSpec(
                "git reflog exists",
                operands=OperandSpec(most=1, files=False),
                runs=("git reflog exists refs/heads/main",),
                refused=("git reflog exists --all", "git reflog exists a b"),
            ),
        },
    ),
    "cherry": ReadOnlyCommandSpec(
        "git cherry",
        OptionSpec.of("v --verbose", maybe="--abbrev"),
        OperandSpec(most=3, files=False),
        runs=("git cherry", "git cherry -v main topic"),
        refused=("git cherry-pick x", "git cherry --output=x", "git cherry -n"),
    ),
    "range-diff": ReadOnlyCommandSpec(
        "git range-diff",
        DIFF
        | OptionSpec.of(
            "--no-dual-color --left-only --right-only", "--creation-factor", maybe="--notes"
        ),
        runs=("git range-diff main..a main..b", "git range-diff --stat main a b"),
        refused=("git range-diff --output=x a...b", "git range-diff --ext-diff a...b"),
        rule=no_programs,
        adds=NO_EXTERNAL_DIFF,
    ),
    "show-branch": ReadOnlyCommandSpec(
        "git show-branch",
        OptionSpec.of(
            flags=(
                "ar --all --remotes --list --no-name --current --sha1-name --merge-base"
                " --independent --topo-order --topics --sparse --date-order --no-color"
            ),
            maybe="g --color --more --reflog",
        ),
        runs=(
            "git show-branch",
            "git show-branch -a --topo-order",
            "git show-branch --more=4 main",
        ),
        refused=("git show-branch -d x", "git show-branch --output=x"),
    ),
}

_BLAMES = {
    name: ReadOnlyCommandSpec(
        f"git {name}",
        _BLAME,
        runs=(
            f"git {name} a.py",
            f"git {name} -L 10,20 -w HEAD~3 -- a.py",
            f"git {name} -C -C5 -M --porcelain a.py",
            f"git {name} -L '/def f/,+5' --date=short a.py",
        ),
        refused=(f"git {name} --textconv a", f"git {name} --output=x a", f"git {name} -O a"),
        adds=("--no-textconv",),
    )
    for name in ("blame", "annotate")
}

GIT_HISTORY_COMMANDS = {**_WALKS, **_BLAMES}


# git: commands that compare trees, the index and the work tree.


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
