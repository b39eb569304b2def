"""Exit status: whether a command that did not end with 0 failed, or only answered "no"."""

import re
from collections.abc import Callable, Sequence
from typing import Final

NO: Final = 1  # what predicates end with: nothing found, not equal, not so
SOME_FAILED: Final = 123  # of xargs, where a command that it ran ended with anything but 0

_Words = Sequence[str]
# Patterns are compiled with their first use, and `re` keeps them; most commands need none.
_QUOTED: Final = r"\\(?s:.)|'[^']*'|\"(?:[^\"\\]|\\(?s:.))*\""
_TOKEN: Final = rf"(?P<word>(?:{_QUOTED}|[^\s'\"\\();<>|&])+)|(?P<sign>[();]|[<>|&]+|\n+)|[^\S\n]+"
# What ends with 0 behind a predicate, and what says so on stderr where it does not.
_NEVER_FAIL: Final = frozenset({"echo", "printf", "true", ":"})
_COMPLAIN: Final = frozenset({"cd", "cat", "ls", "head", "tail", "wc"})
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh"})
_ASSIGNMENT: Final = r"[A-Za-z_]\w*="
_VALUED: Final = frozenset({"-n", "-I", "-P", "-L", "-d", "-s", "-E", "-a", "-u", "-k"})
# Programs that run the command after their own options, and how many operands come before it.
_WRAPPERS: Final = {
    **dict.fromkeys(("command", "builtin", "env", "nice", "nohup", "sudo", "time", "xargs"), 0),
    "timeout": 1,
}
_GIT_VALUED: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


def _always(words: _Words) -> bool:
    return True


def _with(*options: str) -> Callable[[_Words], bool]:
    """Returns what tells whether one of some options is there, a short one also in a cluster."""
    short = {option[1] for option in options if len(option) == len("-e")}

    def found(words: _Words) -> bool:
        clusters = [word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word)]
        return bool(set(options) & set(words) or short & set("".join(clusters)))

    return found


# Programs whose 1 is an answer, and with which words it is one.
_PREDICATES: Final[dict[str, Callable[[_Words], bool]]] = {
    **dict.fromkeys(
        ("grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep", "rg", "ag", "ack", "pgrep", "pidof",
         "test", "[", "[[", "diff", "zdiff", "sdiff", "diff3", "colordiff", "cmp", "zcmp", "expr",
         "which", "type", "hash", "look", "locate"),
        _always,
    ),
    "command": _with("-v", "-V"),
    "jq": _with("-e", "--exit-status"),
    "yq": _with("-e", "--exit-status"),
    "fd": _with("-q", "--quiet"),
    "fdfind": _with("-q", "--quiet"),
    "sort": _with("-c", "-C", "--check"),
}  # fmt: skip
_GIT: Final[dict[str, Callable[[_Words], bool]]] = {
    "grep": _always,
    "check-ignore": _always,
    "show-ref": _always,
    "merge-tree": _always,
    **dict.fromkeys(
        ("diff", "diff-index", "diff-files", "diff-tree"),
        _with("--exit-code", "--quiet", "--no-index"),
    ),
    "merge-base": _with("--is-ancestor"),
    "config": _with("--get", "--get-all", "--get-regexp", "get"),
    "rev-parse": _with("-q", "--quiet"),
    "symbolic-ref": _with("-q", "--quiet"),
}


def is_expected_exit(line: str, code: int, *, complained: bool = False) -> bool:
    """Tells whether the exit code of a command line is a normal answer, not a failure.

    It is for `grep` without a match, a `test` that does not hold and a `diff` of two different
    files, also at the end of a pipe. `complained`: something was written to stderr.
    """
    if code not in (NO, SOME_FAILED):
        return False
    silent = _NEVER_FAIL if complained else _NEVER_FAIL | _COMPLAIN
    last = [words for words in _last(line) if words[0] not in silent]
    return bool(last) and all(_answers(words, code) for words in last)


def _last(line: str) -> list[tuple[str, ...]]:
    """Returns the commands that the line's code may come from; none where that is not clear."""
    tokens = _tokens(line.strip())
    if tokens[:1] == ["("] and tokens[-1:] == [")"]:
        tokens = tokens[1:-1]
    found: list[tuple[str, ...]] = []
    words: list[str] = []
    joined, redirected = "", False
    for token in [*tokens, "\n"]:
        match token:
            case _UnquotedWord(text):
                words += [] if redirected else [text]
                redirected = False
            case "\n" | ";" | "&&" | "||":
                if words:
                    found = [*(found if joined == "&&" else []), tuple(words)]
                joined, words, redirected = token, [], False
            case "|" | "|&":
                words, redirected = [], False
            case ">" | ">>" | "<" | ">&" | "&>" | "<<<" | ">|":
                if words and words[-1].isdecimal():
                    words.pop()  # the number of what is redirected
                redirected = True
            case _:
                return []  # a subshell in the middle, or something in the background
    return found


class _UnquotedWord(str):
    """A word of a line without its quotes, which is no sign whatever it holds."""

    __match_args__ = ("text",)

    @property
    def text(self) -> str:
        return str(self)


def _tokens(line: str) -> list[str]:
    """Splits a line into words and signs; nothing where a quote has no end."""
    found: list[str] = []
    at = 0
    while at < len(line):
        match = re.compile(_TOKEN).match(line, at)
        if match is None:
            return []
        at = match.end()
        if word := match["word"]:
            found.append(_UnquotedWord(re.sub(_QUOTED, _unquoted, word)))
        elif sign := match["sign"]:
            found.append(sign.strip("\n") or "\n")
    return found


def _unquoted(piece: re.Match[str]) -> str:
    text = piece[0]
    if text[0] == "\\":
        return text[1:].strip("\n")
    return text[1:-1] if text[0] == "'" else re.sub(r"\\([$`\"\\])", r"\1", text[1:-1])


def _answers(words: tuple[str, ...], code: int) -> bool:
    """Tells whether a command says something by ending with that code."""
    while words and (words[0] == "!" or re.match(_ASSIGNMENT, words[0])):
        words = words[1:]
    if not words:
        return False
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name in _PREDICATES and _PREDICATES[name](rest):
        return code == NO
    if name == "git":
        command = _without_options(rest, 0, _GIT_VALUED)
        return code == NO and bool(command) and _GIT.get(command[0], _never)(command[1:])
    if name in _SHELLS and len(rest) == len(("-c", "line")) and re.fullmatch("-[a-z]*c", rest[0]):
        return is_expected_exit(rest[1], code)
    if name == "find" and rest[-1:] == ("+",) and "-exec" in rest:
        return code == NO and _answers(rest[rest.index("-exec") + 1 : -1], NO)
    if name in _WRAPPERS:
        if (name == "xargs") != (code == SOME_FAILED):
            return False
        return _answers(_without_options(rest, _WRAPPERS[name], _VALUED), NO)
    return False


def _never(words: _Words) -> bool:
    return False


def _without_options(
    words: tuple[str, ...], operands: int, valued: frozenset[str]
) -> tuple[str, ...]:
    """Returns what follows the options at the beginning, and so many operands."""
    at = 0
    while at < len(words) and (words[at].startswith("-") or operands):
        operands -= 0 if words[at].startswith("-") else 1
        at += 2 if words[at] in valued else 1
    return words[at:]
