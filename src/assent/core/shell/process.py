"""Programs to run: words on a line, variables, limits, output, results and exit statuses."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from signal import SIGHUP, SIGINT, Signals
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.paths import one_line
from assent.core.plan.operation import CommandProfile


class StderrMode(StrEnum):
    """Where a program's stderr goes."""

    KEPT = "kept"
    DROPPED = "2>/dev/null"
    MERGED = "2>&1"


class Program(msgspec.Struct, frozen=True):
    """One program of a pipeline: an absolute path, its arguments and its environment.

    `environment` adds to the few variables that every program gets; none is inherited. Only the
    first program of a pipeline can be given input.
    """

    argv: tuple[bytes, ...]
    environment: tuple[tuple[str, str], ...] = ()
    errors: StderrMode = StderrMode.KEPT
    stdin: bytes = b""
    piped: bool = False  # it reads `stdin` as from another program, also where that is empty


class CommandSpec(msgspec.Struct, frozen=True):
    """A command that may change the workspace: a line for the system's shell, or an argv."""

    line: str = ""
    argv: tuple[bytes, ...] = ()
    environment: tuple[tuple[bytes, bytes], ...] = ()
    profile: CommandProfile = "workspace"
    network: bool = False
    stdin: bytes = b""


MAX_COMMAND_S: Final = 86_400  # seconds that a plan's command may be given
MIN_SECONDS = 0.1  # seconds of a command that begins when the time of its turn is over


def never_stopped() -> bool:
    """Never asks a program to stop."""
    return False


class ProcessLimits(msgspec.Struct, frozen=True):
    """How much one call may use before it is stopped, and how to stop it at once."""

    seconds: float = 60
    output: int = 4 << 20
    processes: int = 256
    memory: int = 4 << 30
    stopped: Callable[[], bool] = never_stopped  # polled repeatedly, by any thread
    file: int = 1 << 30  # bytes that any one file may have that it writes; 0: no limit


# Of commands that a person agreed to: builds and tests need more than looking around, and may
# write into files of any size. What is kept of their output is bounded elsewhere.
PLAN_COMMAND_LIMITS: Final = ProcessLimits(output=1 << 30, processes=1024, memory=8 << 30, file=0)


class OutputChunk(msgspec.Struct, frozen=True):
    """A piece of output, as it comes."""

    content: bytes
    error: bool = False


class ProcessResult(msgspec.Struct, frozen=True):
    """How a pipeline ended: the last program's exit code, and the limit that cut it short."""

    code: int
    cut: str = ""
    seconds: float = 0.0
    closed: tuple[str, ...] = ()  # where a confined command could not write, in words
    running: str = ""  # what it left running, in words
    lacks: str = ""  # what is missing here, so that it was not run, such as `sandbox`


INTERRUPTED_RESULT: Final = ProcessResult(130, "interrupted")  # as where a person presses Ctrl+C

# git ends with the code of SIGHUP where its options were wrong. That of SIGINT is also what is on
# record of a command that was interrupted, whichever signal told Assent to.
_UNSURE: Final = (SIGHUP, SIGINT)
_SIGNALS: Final = {128 + signal: signal.name for signal in Signals if signal not in _UNSURE}


def signal_of(code: int) -> str:
    """Returns the signal that an exit code most likely stands for; empty if there is none."""
    return _SIGNALS.get(code, "")


class SandboxState(StrEnum):
    """How programs are confined."""

    HELD = "held"  # a sandbox that its self-test could not leave
    NONE = "none"  # no sandbox can be had here: only the narrower class of commands runs
    OFF = "off"  # there is a sandbox and it leaks: nothing runs


class SandboxStatus(msgspec.Struct, frozen=True):
    """Whether programs can be confined here; `reason` says why not, and `next` what helps."""

    hold: SandboxState
    reason: str = ""
    next: str = ""


# Refuses invalid environment variables, and those that decide which programs run.


_HELP: Final = "assent stage run --help"
_VARIABLE_NAME: Final = rb"[A-Za-z_][A-Za-z0-9_]*"  # compiled by the first plan with variables

# The sandbox sets these itself, a loader or a shell would run what they name before the command,
# or they are ours. A script that really needs one can set it where a reviewer reads it.
_REFUSED_VARIABLES: Final = (
    rb"PATH|HOME|TMPDIR|USER|LOGNAME|LD_\w*|DYLD_\w*|GLIBC_TUNABLES|GCONV_PATH|BASH_ENV|ENV"
    rb"|SHELLOPTS|BASHOPTS|BASH_FUNC_\w*|IFS|PS4|PROMPT_COMMAND|ASSENT_\w*"
)


def refuse_variables(variables: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuses variables that commands never receive, and says what to do instead."""
    known: set[bytes] = set()
    for name, value in variables:
        if not re.fullmatch(_VARIABLE_NAME, name):
            raise Refused(f"{one_line(name)!a} is not a valid variable name.", _HELP)
        if b"\0" in value:
            told = f"The value of {one_line(name)} contains a null byte."
            raise Refused(told, _HELP)
        if re.fullmatch(_REFUSED_VARIABLES, name):
            raise Refused(
                f"{one_line(name)} controls which programs run, so commands do not receive it. A "
                "script can set it for one program, where a reviewer sees it.",
                "assent stage run --script 'NAME=VALUE PROGRAM'",
            )
        if name in known:
            raise Refused(f"{one_line(name)} is given twice.", _HELP)
        known.add(name)


# Shell quoting: words written so that a shell reads them back, and a command as one line.


_PLAIN_WORD: Final = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def shell_quoted(word: str) -> str:
    """Returns a word quoted for the shell."""
    if _PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def script_line(script: str) -> str:
    """Returns the first line of a script that says something, and how many there are if more."""
    lines = script.strip("\r\n").split("\n")
    first = next((line.rstrip("\r") for line in lines if line.strip()), "")
    return first if len(lines) == 1 else f"{first} ({len(lines)} lines)"


def shell_line(argv: Iterable[bytes]) -> str:
    """Returns the words of a command on one line; what does not print is escaped."""
    return " ".join([shell_quoted(one_line(word)) for word in argv])


# Exit status: whether a command that did not end with 0 failed, or only answered "no".


NO: Final = 1  # what predicates end with: nothing found, not equal, not so
SOME_FAILED: Final = 123  # of xargs, where a command that it ran ended with anything but 0

_Words = Sequence[str]
# Patterns are compiled with their first use, and `re` keeps them; most commands need none.
_QUOTED: Final = r"\\(?s:.)|'[^']*'|\"(?:[^\"\\]|\\(?s:.))*\""
_TOKEN: Final = rf"(?P<word>(?:{_QUOTED}|[^\s'\"\\();<>|&])+)|(?P<sign>[();]|[<>|&]+|\n+)|[^\S\n]+"
# What exits with 0 after a predicate, and what reports on stderr if it does not.
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


# Programs whose exit code 1 is an answer, and the arguments with which it is one.
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
    """A word of a line without its quotes; it is never a sign, whatever it contains."""

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
