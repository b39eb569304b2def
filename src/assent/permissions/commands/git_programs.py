"""Git calls that run a program named in their arguments, or that could be an alias for one."""

import re
from typing import Final

from assent.permissions.commands.arity import without_global_options
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import SimpleCommand

_GIT_VERBS: Final = words_in(
    "status diff log show add commit stash push pull fetch clone checkout switch restore reset "
    "branch tag merge rebase cherry-pick revert rm mv init clean apply am blame annotate describe "
    "rev-parse rev-list ls-files ls-tree ls-remote cat-file grep remote config worktree submodule "
    "bisect notes reflog shortlog show-ref show-branch for-each-ref format-patch archive gc prune "
    "fsck symbolic-ref update-ref update-index write-tree read-tree commit-tree hash-object mktree "
    "merge-base name-rev range-diff diff-tree diff-index diff-files check-ignore check-attr "
    "count-objects version sparse-checkout pack-refs repack var whatchanged replace lfs cherry"
)
_BEFORE: Final = words_in(
    "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects --version --help "
    "-h -v --html-path --man-path --info-path"
)
# Options of any command that name a program or bring settings; git also takes their beginnings.
_RUNS: Final = words_in(
    "upload-pack receive-pack exec open-files-in-pager ext-diff extcmd tool template config "
    "strategy interactive edit-todo separate-git-dir"
)
_SHORT: Final = {"rebase": "xis", "grep": "O", "clone": "uc", "merge": "s", "pull": "s"}
_RISKY: Final = words_in(
    "rebase grep clone merge pull push fetch ls-remote archive submodule bisect remote config am "
    "cherry-pick revert init"
)
_LOOKS: Final = words_in("--get --get-all --get-regexp --list -l list get --show-origin")
_KEYS: Final = re.compile(r"(user|color|advice)\.\w+|init\.defaultbranch|pull\.\w+|push\.default")


def git_runs_program(command: SimpleCommand) -> bool:
    """Tells whether a call may run more than git; what is not known may."""
    words = without_global_options(command)[1:]
    if not words:
        return command.open
    verb, rest = words[0], words[1:]
    if verb.text.startswith("-") or not _begins_plainly(command):
        return verb.text not in _BEFORE
    if verb.text not in _GIT_VERBS:
        return True
    vague = command.open or not all(word.plain for word in rest)
    named = _names_program(verb.text, [word.text for word in rest])
    return named or (verb.text in _RISKY and vague)


def _begins_plainly(command: SimpleCommand) -> bool:
    """Tells whether nothing stands before the command of git but what is known to be harmless."""
    size = len(command.words) - len(without_global_options(command))
    before = command.words[1 : size + 1]
    folders = [at for at, word in enumerate(before) if word.text == "-C"]
    own = [word for at, word in enumerate(before) if at - 1 not in folders]
    return all(word.plain and word.text in _BEFORE | {"-C"} for word in own)


def _names_program(verb: str, words: list[str]) -> bool:
    if any(_is_program(word) or "::" in word for word in words):
        return True
    letters = _SHORT.get(verb, "")
    if any(re.match(rf"-\w*[{letters}]", word) for word in words if letters):
        return True
    match (verb, words):
        case ("submodule", ["foreach", *_]) | ("bisect", ["run", *_]):
            return True
        case ("submodule" | "bisect", [first, *_]):
            return first.startswith("-") and any(word in ("foreach", "run") for word in words)
        case ("config", _):
            keys = [word for word in words if not word.startswith("-")]
            return not (_LOOKS & {*words[:1]} or (keys and _KEYS.fullmatch(keys[0].lower())))
        case _:
            return False


def _is_program(word: str) -> bool:
    name = word[2:].partition("=")[0]
    return word.startswith("--") and bool(name) and any(each.startswith(name) for each in _RUNS)
