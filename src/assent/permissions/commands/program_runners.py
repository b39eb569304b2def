"""Programs, git among them, that may run what their arguments do not show plainly."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final, TypeAlias

from assent.permissions.commands.programs import is_kind
from assent.permissions.commands.read_only.classifier import only_reads
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import SimpleCommand, arity, without_global_options
from assent.permissions.commands.wrappers import is_input

# Git calls that run a program named in their arguments, or that could be an alias for one.


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
    """Tells whether a call may run more than git; an unknown one may."""
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


RunnerTest: TypeAlias = Callable[[SimpleCommand], bool]

_LOADER: Final = re.compile(r"ld-[\w.-]+\.so[\d.]*|(ba|da|z|k)sh[-\d.][\w.-]*")


def _unwritten(command: SimpleCommand) -> bool:
    return command.open or not all(word.plain for word in command.words)


def _tar(command: SimpleCommand) -> bool:
    words = command.arguments
    long = "--(exclude|strip-components|directory|file|gzip|bzip2|xz|zstd|verbose|list|create"
    known = re.compile(long + r"|extract|null|wildcards)(=.*)?")
    short = re.compile(r"-?[cxtrvzjJZfpkmCahPXO]+")
    options = [word for word in words[1:] if word.startswith("-")]
    fine = all((known if word[:2] == "--" else short).fullmatch(word) for word in options)
    first = not words or (known if words[0][:2] == "--" else short).fullmatch(words[0])
    return _unwritten(command) or not (fine and first)


def _sed(command: SimpleCommand) -> bool:
    """A script that only prints does no more when what it prints replaces a file."""
    kept = [re.sub(r"^(-[nErsz]*)i.*$", r"\1", w) for w in command.arguments]
    words = [w for w in kept if w != "-" and not w.startswith("--in-place")]
    odd = any(is_input(word) for word in command.arguments if "f" in word or word == "-")
    filed = not odd and _is_filed(words, r"-[nErsz]+")
    return _unwritten(command) or not (filed or only_reads("sed", words))


def _awk(command: SimpleCommand) -> bool:
    filed = _is_filed(list(command.arguments), r"-F.*|-v")
    return _unwritten(command) or not (filed or only_reads("awk", command.arguments))


def _is_filed(words: list[str], others: str) -> bool:
    """Tells whether the whole script is in one file that is named, with no doubtful option."""
    options = [word for word in words if word.startswith("-") and word != "-f"]
    files = [then for one, then in pairwise(words) if one == "-f"]
    named = len(files) == words.count("-f") == 1 and re.fullmatch(r"[\w./][\w./-]*", files[0])
    known = all(re.fullmatch(others, word, re.DOTALL) for word in options)
    return bool(named) and known and not is_input(files[0])


def _has(*options: str) -> RunnerTest:
    """Returns a test for words that begin with one of some options, or cannot be told."""
    return lambda command: (
        _unwritten(command) or any(word.startswith(options) for word in command.arguments)
    )


def _only(long: str, letters: str = "", *starts: str) -> RunnerTest:
    """Returns a test for an option that is not known; a long one may be cut short anywhere."""
    known = words_in(long)
    return lambda command: (
        _has(*starts)(command)
        or command.has(letters)
        or any(w[:2] == "--" and w.partition("=")[0] not in known for w in command.arguments)
    )


def _fd(command: SimpleCommand) -> bool:
    return _unwritten(command) or command.has("xX", "--exec", "--exec-batch")


def _make(command: SimpleCommand) -> bool:
    given = any("=" in word and not word.startswith("-") for word in command.arguments)
    odd = any(is_input(word) for word in command.arguments)
    return given or odd or _MAKE(command)


_MAKE: Final = _only(
    "-- --jobs --keep-going --silent --quiet --always-make --directory --file --makefile --dry-run "
    "--just-print --no-print-directory --print-directory --ignore-errors --question --load-average "
    "--output-sync --warn-undefined-variables --no-builtin-rules --version --help --trace",
    "E",
)


def _ssh(command: SimpleCommand) -> bool:
    odd = any(re.search(r"[^\w./:@%+,=-]", word) for word in command.arguments)
    return _unwritten(command) or odd


def _zip(command: SimpleCommand) -> bool:
    tests = any("TT" in word for word in command.arguments if word.startswith("-"))
    known = "-- --recurse-paths --quiet --verbose --test --junk-paths --update --version --help"
    return tests or _only(known)(command)


def _psql(command: SimpleCommand) -> bool:
    odd = any(set(word) & set("\\|") or is_input(word) for word in command.arguments)
    return _unwritten(command) or odd


_TESTS: Final[dict[str, RunnerTest]] = {
    "git": git_runs_program,
    "tar": _tar, "bsdtar": _tar, "gtar": _tar,
    "sed": _sed, "gsed": _sed,
    **dict.fromkeys(words_in("awk gawk mawk nawk"), _awk),
    "fd": _fd, "fdfind": _fd,
    "make": _make, "gmake": _make,
    "ssh": _ssh,
    "rg": _has("--pre", "--hostname-bin"),
    "sort": _only(
        "-- --reverse --numeric-sort --unique --key --field-separator --output --stable --debug "
        "--version-sort --human-numeric-sort --ignore-case --general-numeric-sort --check --merge "
        "--zero-terminated --parallel --random-sort --month-sort --dictionary-order --sort --help "
        "--ignore-leading-blanks --buffer-size --temporary-directory --version"
    ),
    "man": _only("-- --help --version --where --all --regex --apropos --whatis", "PHC"),
    "go": _has("-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay"),
    "cargo": _has("--config", "-Z"),
    "rsync": _only(
        "-- --archive --verbose --delete --exclude --include --dry-run --recursive --progress "
        "--compress --update --checksum --stats --human-readable --partial --relative --links "
        "--perms --times --version --help",
        "eM",
    ),
    "scp": _only("--", "SoF"), "sftp": _only("--", "SoFDb"),
    "zip": _zip,
    "gcc": _has("-wrapper", "--wrapper", "-fplugin", "-specs", "--specs", "-B", "@"),
    "psql": _psql, "sqlite3": _has(".", "-cmd", "--cmd", "-init", "--init"),
    "deno": _has("eval", "repl"),
    "ninja": _has("-t"), "split": _has("--f"),
}  # fmt: skip
_ABOUT: Final = words_in("--version --help -h -V -v -version")
_FLAGS: Final = words_in("--silent -s --offline --no-color --color=never --color=always --frozen")


def _runs_input(command: SimpleCommand) -> bool:
    """Tells whether a program could run unseen input as code."""
    first = command.arguments[0] if command.arguments else ""
    fed = bool(command.fed) or command.given or command.open
    if is_kind(command.name, "runs_input"):
        return fed or any(is_input(word) for word in command.arguments)
    kinds = command.program.kinds
    if "interpreter" not in kinds or "shell" in kinds or first in _ABOUT:
        return False
    if first and not first.startswith("-"):
        return is_input(first)
    return fed or not first or any(is_input(word) for word in command.arguments)


def hidden_execution(command: SimpleCommand) -> list[str]:
    """Says whether a program could run something that its arguments do not show."""
    name, program = command.name, command.program
    test = _TESTS.get(name)
    verb = command.arguments[0] if command.arguments else ""
    if "opaque" in program.kinds or _LOADER.fullmatch(name) or verb in program.hidden_by:
        return [f"it is unknown what `{name}` runs"]
    if test is not None and test(command):
        return [f"`{name}` may run a program named in its arguments"]
    verbs = {*program.runs_by, *program.hidden_by}
    if (
        any(each[0] != "-" for each in verbs)
        and verb.startswith("-")
        and verb not in _ABOUT | _FLAGS
    ):
        return [f"the subcommand of `{name}` is unknown"]
    if _runs_input(command):
        return [f"`{name}` may run code from its input"]
    if command.open and len(command.words) < arity(tuple(word.text for word in command.words)):
        return [f"the subcommand of `{name}` comes from its input"]
    return []
