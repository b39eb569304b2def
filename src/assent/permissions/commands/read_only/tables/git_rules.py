"""What options alone cannot say about git: forms that would start a program, write, or connect."""

import re

from assent.core.errors import Refused
from assent.permissions.commands.read_only.spec import ParsedArguments

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
    """Refuses a branch name, unless the command lists by it in every version of git."""
    no_programs(found)
    if found.operands and not found.has(*_LISTING):
        raise Refused(
            f"`git branch {found.operands[0].text}` can make a branch; list with `--list PATTERN`."
        )


def lists_tags(found: ParsedArguments) -> None:
    """Refuses a tag name, unless the command lists by it."""
    no_programs(found)
    if found.operands and not found.has("-l", "-n", *_LISTING):
        raise Refused(
            f"`git tag {found.operands[0].text}` would make a tag; list with `-l PATTERN`."
        )


def offline(found: ParsedArguments) -> None:
    """Refuses to ask a remote repository about itself."""
    if found.operands and not found.has("-n"):
        raise Refused("`git remote show` asks the remote; `git remote show -n NAME` does not.")


def not_a_verb(found: ParsedArguments) -> None:
    """Refuses sub-commands of reflog that change it."""
    no_programs(found)
    if any(word.text in ("expire", "delete", "drop", "write") for word in found.operands[:1]):
        raise Refused(f"`git reflog {found.operands[0].text}` changes the reflog.")


def reads_config(found: ParsedArguments) -> None:
    """Refuses `git config` unless it reads: by an action that does, or by one key alone."""
    if found.has("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"):
        return
    if len(found.operands) != 1:
        raise Refused("`git config` with these words can write; use `git config --get KEY`.")
    if "." not in found.operands[0].text:  # a key has a dot, a sub-command such as `edit` has none
        raise Refused(f"`{found.operands[0].text}` is no key; use `git config --get KEY`.")
