"""What git commands share: options, and rules against forms that start programs or write."""

import re

from assent.core.errors import Refused
from assent.permissions.commands.read_only.spec import OptionSpec, ParsedArguments

# In front of everything, so that no program named by attributes or configuration makes the diff.
NO_EXTERNAL_DIFF = ("--no-ext-diff", "--no-textconv")

# Left out: --output, -O (a file that orders), --ext-diff, --textconv, --remerge-diff, which writes
# objects, and --stdin, which takes options from a pipe.
DIFF = OptionSpec.of(
    flags=(
        "psuzRabwWD --patch --no-patch --raw --patch-with-raw --patch-with-stat --numstat"
        " --shortstat --cumulative --summary --compact-summary --name-only --name-status"
        " --binary --full-index --check --exit-code --quiet --text --minimal --patience"
        " --histogram --indent-heuristic --no-indent-heuristic --no-color --no-color-moved"
        " --no-color-moved-ws --no-renames --rename-empty --no-rename-empty --no-prefix"
        " --default-prefix --find-copies-harder --irreversible-delete --pickaxe-all"
        " --pickaxe-regex --no-relative --ignore-cr-at-eol --ignore-space-at-eol"
        " --ignore-space-change --ignore-all-space --ignore-blank-lines --function-context"
        " --no-ext-diff --no-textconv --ita-invisible-in-index --ita-visible-in-index"
    ),
    values=(
        "SGIl --stat-width --stat-name-width --stat-graph-width --stat-count --anchored"
        " --diff-algorithm --color-moved-ws --word-diff-regex --ws-error-highlight"
        " --inter-hunk-context --output-indicator-new --output-indicator-old"
        " --output-indicator-context --src-prefix --dst-prefix --line-prefix --find-object"
        " --diff-filter --skip-to --rotate-to --ignore-matching-lines"
    ),
    maybe=(
        "UMCBX --unified --stat --dirstat --dirstat-by-file --submodule --color --color-moved"
        " --word-diff --color-words --abbrev --find-renames --find-copies --break-rewrites"
        " --relative --ignore-submodules"
    ),
)

MERGES = OptionSpec.of(
    "cmt --cc --dd --combined-all-paths --no-diff-merges", values="--diff-merges"
)

REVISIONS = OptionSpec.of(
    flags=(
        "iEFPg --all-match --invert-grep --regexp-ignore-case --basic-regexp"
        " --extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges"
        " --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not"
        " --all --reflog --alternate-refs --single-worktree --ignore-missing --bisect"
        " --cherry-mark --cherry-pick --left-only --right-only --cherry --walk-reflogs --merge"
        " --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse"
        " --simplify-merges --date-order --author-date-order --topo-order --reverse --do-walk"
    ),
    values=(
        "--max-count --skip --since --after --since-as-filter --until --before --max-age"
        " --min-age --author --committer --grep-reflog --grep --min-parents --max-parents"
        " --glob --exclude --exclude-hidden"
    ),
    maybe="--branches --tags --remotes --no-walk --ancestry-path",
    number=True,
)

FORMATS = OptionSpec.of(
    flags=(
        "--abbrev-commit --no-abbrev-commit --no-abbrev --oneline --no-expand-tabs --no-notes"
        " --standard-notes --no-standard-notes --relative-date --parents --children"
        " --left-right --graph --no-graph"
    ),
    values="--format --encoding --date",
    maybe="--pretty --abbrev --expand-tabs --notes --show-notes --show-linear-break",
)

LOG = (
    DIFF
    | MERGES
    | REVISIONS
    | FORMATS
    | OptionSpec.of(
        flags=(
            "rv --follow --no-decorate --clear-decorations --source --mailmap --no-mailmap"
            " --use-mailmap --no-use-mailmap --full-diff --log-size --root"
        ),
        values="nL --decorate-refs --decorate-refs-exclude",
        maybe="--decorate",
    )
)


# What options alone cannot say about git: forms that would start a program, write, or connect.


_SIGNED = re.compile(r"%[-+ ]?G|%\(\*?signature|^-?\*?signature")
_FORMATS = ("--format", "--pretty", "--sort", "--batch", "--batch-check")
_LISTING = ("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")


def no_programs(found: ParsedArguments) -> None:
    """Refuses formats that start a signature program, and diffs made by a git in a submodule."""
    for value in found.values(*_FORMATS):
        if _SIGNED.search(value):
            raise Refused(f"`{value}` checks signatures, which starts another program.")
    if "diff" in found.values("--submodule"):
        raise Refused("`--submodule=diff` starts git in the submodules; use `--submodule=log`.")
    if {"remerge", "r"} & {*found.values("--diff-merges")}:
        raise Refused("`--diff-merges=remerge` writes objects; use `--diff-merges=combined`.")


def lists_branches(found: ParsedArguments) -> None:
    """Refuses a branch name, unless every version of git only lists with it."""
    no_programs(found)
    if found.operands and not found.has(*_LISTING):
        raise Refused(
            f"`git branch {found.operands[0].text}` can create a branch; list with `--list "
            "PATTERN`."
        )


def lists_tags(found: ParsedArguments) -> None:
    """Refuses a tag name, unless git only lists with it."""
    no_programs(found)
    if found.operands and not found.has("-l", "-n", *_LISTING):
        raise Refused(
            f"`git tag {found.operands[0].text}` would create a tag; list with `-l PATTERN`."
        )


def offline(found: ParsedArguments) -> None:
    """Refuses to contact a remote repository."""
    if found.operands and not found.has("-n"):
        raise Refused("`git remote show` contacts the remote; use `git remote show -n NAME`.")


def not_a_verb(found: ParsedArguments) -> None:
    """Refuses subcommands of reflog that change it."""
    no_programs(found)
    if any(word.text in ("expire", "delete", "drop", "write") for word in found.operands[:1]):
        raise Refused(f"`git reflog {found.operands[0].text}` changes the reflog.")


def reads_config(found: ParsedArguments) -> None:
    """Refuses `git config` unless it reads: by a reading action, or by a single key."""
    if found.has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"):
        return
    if len(found.operands) != 1:
        raise Refused("`git config` with these arguments can write; use `git config --get KEY`.")
    if "." not in found.operands[0].text:  # a key has a dot, a sub-command such as `edit` has none
        raise Refused(f"`{found.operands[0].text}` is not a key; use `git config --get KEY`.")
