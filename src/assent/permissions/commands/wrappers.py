"""Wrappers and nested shells: programs that run the command or script in their arguments."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.simple_command import CommandWord, SimpleCommand

# Nested shells: the script that a shell is given by its arguments, or why that is unknown.


SHELLS: Final = words_in("sh bash zsh dash ksh mksh ash fish csh tcsh rbash")
_FOREIGN: Final = words_in("fish csh tcsh")  # they read words in another way than bash
_LETTERS: Final = frozenset("abefhlmnptuvxBCEHPTc")
_LONG: Final = words_in("--norc --noprofile --posix --login --verbose --restricted --")
_MODES: Final = words_in("errexit nounset pipefail xtrace errtrace noclobber verbose")


_BASH: Final = re.compile(r"&>|\|&|[<>]&(?!\d|-(?:\s|$))|<<<|[<>]\(|\$['\"\[]|\[\[|\(\(|;;?&")
_SHARED: Final = re.compile(r"[\w\s./:,@%+;&|\"'$>-]*", re.ASCII)
_INPUT: Final = re.compile(r"-|-[a-zA-Z]*f-|--?[\w-]+=-|.*\b(?:dev|proc)/.*", re.DOTALL)


def is_input(text: str) -> bool:
    """Tells whether a word stands for the input, or for a file that only seems to be one."""
    return _INPUT.fullmatch(text) is not None


class _ShellOptions(msgspec.Struct, frozen=True):
    """How many words options take, whether `-c` is among them, and whether all are known."""

    size: int
    runs: bool
    known: bool = True


def shell_script_of(command: SimpleCommand) -> tuple[str, str]:
    """Returns the text that a shell is told to run; or the doubt, if that cannot be told."""
    if command.name not in SHELLS:
        return "", ""
    words = command.words[1:]
    if len(words) == 1 and words[0].text in ("--version", "--help"):
        return "", ""
    options = _options(words)
    if not options.known or command.name in _FOREIGN:
        return "", f"what `{command.name}` runs cannot be told"
    rest = words[options.size :]
    if not options.runs and (not rest or is_input(rest[0].text)):
        return "", f"`{command.name}` runs what it reads from its input"
    if not rest or not rest[0].plain:
        return "", f"what `{command.name}` runs is not written out"
    script = rest[0].text if options.runs else ""
    other = _parts_ways(command.name, script)
    return script, f"`{command.name}` may read it in another way than bash" if other else ""


def _parts_ways(name: str, script: str) -> bool:
    """Tells whether a shell other than bash could see other commands in a text: `a &>f b`."""
    if name in ("bash", "rbash"):
        return False
    odd = name not in ("sh", "dash", "ash") and not _SHARED.fullmatch(script)
    return odd or _BASH.search(script) is not None


def _options(words: Sequence[CommandWord]) -> _ShellOptions:
    at, runs = 0, False
    while at < len(words) and words[at].text[:1] in ("-", "+"):
        text = words[at].text
        at += 1
        if text == "--":
            break
        if text.startswith("--"):
            if text not in _LONG:
                return _ShellOptions(at, runs, known=False)
            continue
        letters = text[1:].replace("o", "")
        modes = [word.text for word in words[at : at + text[1:].count("o")]]
        at += text.count("o")
        runs = runs or "c" in letters
        if text[0] == "+" and "c" in letters:
            return _ShellOptions(at, runs, known=False)
        if not (text[1:] and set(letters) <= _LETTERS and set(modes) <= _MODES):
            return _ShellOptions(at, runs, known=False)
    return _ShellOptions(at, runs, known=all(word.plain for word in words[:at]))


class WrapperSpec(msgspec.Struct, frozen=True):
    """How the words before the inner command look; an unlisted option makes it uncertain."""

    values: frozenset[str] = frozenset()  # options with a value
    flags: frozenset[str] = frozenset()  # options without one; `-#` is any number
    optional: frozenset[str] = frozenset()  # options whose value stands after `=`, if at all
    operands: int = 0
    sets: bool = False  # NAME=VALUE may stand before the command
    silent: frozenset[str] = frozenset()  # with these it runs nothing

    def size(self, text: str) -> int:
        """Returns how many words an option is, with its value; 0 if it is not known."""
        name, sign, _ = text.partition("=")
        known = self.values | self.optional
        if text in self.values:
            return 2
        if text in self.flags | self.optional or (sign and name.startswith("--") and name in known):
            return 1
        if "-#" in self.flags and re.fullmatch(r"--?\d+", text):
            return 1
        return 0 if text.startswith("--") else self._cluster(text)

    def _cluster(self, text: str) -> int:
        if text[:2] in self.values:
            return 1
        before, last = text[1:-1], text[-1]
        if not all(f"-{letter}" in self.flags for letter in before):
            return 0
        return 1 if f"-{last}" in self.flags else 2 * (f"-{last}" in self.values)


class WrappedCommands(msgspec.Struct, frozen=True):
    """The commands that a wrapper runs; `told`: there are no others."""

    commands: tuple[SimpleCommand, ...] = ()
    told: bool = True


def _with(values: str = "", flags: str = "", operands: int = 0, silent: str = "") -> WrapperSpec:
    return WrapperSpec(
        words_in(values), words_in(flags), operands=operands, silent=words_in(silent)
    )


_XARGS: Final = WrapperSpec(
    words_in("-I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file --max-chars"),
    words_in("-0 --null -r --no-run-if-empty -t --verbose -x --exit -i"),
    words_in("--max-lines --replace"),
)
WRAPPERS: Final[dict[str, WrapperSpec]] = {
    "env": WrapperSpec(words_in("-u --unset"), words_in("- -i --ignore-environment"), sets=True),
    "cross-env": WrapperSpec(sets=True),
    "sudo": WrapperSpec(words_in("-u -g -C -h -p -D -r -t -T -U --user --group"), sets=True),
    "doas": _with("-u -C"),
    "nice": _with("-n --adjustment", "-#"),
    "ionice": _with("-c -n --class --classdata", "-t --ignore"),
    "chrt": _with(flags="-b -f -i -o -r", operands=1),
    "taskset": _with(flags="-c --cpu-list", operands=1),
    "nohup": _with(),
    **dict.fromkeys(
        ("timeout", "gtimeout"),
        _with("-k --kill-after -s --signal", "--foreground --preserve-status -v --verbose",
              operands=1),
    ),
    "time": _with(flags="-p"),
    "xargs": _XARGS,
    "command": _with(flags="-p", silent="-v -V"),
    "builtin": _with(),
    "exec": _with(),
    "coproc": _with(),
    "setsid": _with(flags="-c -f -w"),
    "setarch": _with(operands=1),
    **dict.fromkeys(words_in("linux32 linux64 x86_64 i386 i486 i586 i686 uname26"), _with()),
    "stdbuf": _with("-i -o -e --input --output --error"),
    "unbuffer": _with(flags="-p"),
    "chronic": _with(flags="-v -e"),
    "eatmydata": _with(),
    "fakeroot": _with(),
    "flock": _with("-w -E --timeout", operands=1),
    "chroot": _with(operands=1),
    "unshare": _with(),
    "faketime": _with(operands=1),
    "strace": _with("-o -e -p -s -u -E -P -O -S"),
    "ltrace": _with("-o -e -p -s -u -n"),
    "valgrind": _with(),
    "gdb": _with("-x -p"),
    "watch": _with("-n --interval"),
    "entr": _with(),
    "parallel": _with("-j --jobs"),
    "dotenv": _with("-f -e"),
    "busybox": _with(),
    "toybox": _with(),
    "caffeinate": _with("-t -w", "-d -i -m -s -u"),
    "proxychains": _with(flags="-q"),
    "torsocks": _with(),
    "pkexec": _with("--user"),
    "run0": _with("-u -g --user"),
    "runuser": _with("-u -g"),
    "setpriv": _with(),
    "systemd-run": _with("-p -u -M --unit --property"),
    "dbus-run-session": _with(),
    "xvfb-run": _with("-n -s -e -f", "-a"),
    "prlimit": _with(),
    "choom": _with("-n"),
    "nsenter": _with(),
    "ssh": _with("-p -i -l", "-T -q -v -4 -6 -n -t", operands=1),
}  # fmt: skip

# What runs a program by its second word: `uv run pytest`.
SUBCOMMAND_WRAPPERS: Final[dict[tuple[str, str], WrapperSpec]] = {
    **{(name, "run"): _with("-p --python --with --extra --group --package -n --name",
                            "--frozen --locked --no-sync --all-extras --isolated -q --quiet")
       for name in words_in("uv poetry pipenv pdm rye hatch conda mamba pipx")},
    **{(name, "exec"): _with("-w --workspace", "-y --yes") for name in
       words_in("bundle npm pnpm yarn mise asdf rbenv pyenv")},
    **{(name, verb): _with() for name in words_in("npm mise") for verb in ("x",)},
    **{(name, "dlx"): _with() for name in words_in("pnpm yarn")},
    ("direnv", "exec"): _with(operands=1),
}  # fmt: skip
PACKAGE_RUNNERS: Final = words_in("npx bunx uvx")
_NEXT: Final = _with("-p --package --from --with", "-y --yes -q --quiet")
_EXEC: Final = words_in("-exec -execdir -ok -okdir")
_MOST: Final = 10  # programs that one search runs


def wrapped_commands(command: SimpleCommand) -> WrappedCommands:
    """Returns the commands that a wrapper runs, each with the input of the wrapper."""
    if command.name == "find":
        return _by_find(command)
    wrapper, start = _wrapper(command)
    if wrapper is None:
        return WrappedCommands(told=not (command.open and command.name in PACKAGE_RUNNERS))
    rest, sets, told = _after(wrapper, command.words[start:])
    if rest and command.name == "xargs":
        return WrappedCommands((_by_xargs(command, rest),), told)
    if rest:
        run = SimpleCommand(rest, sets, command.fed, command.given, command.open)
        return WrappedCommands((run,), told)
    return WrappedCommands(told=told and not command.open)


def _wrapper(command: SimpleCommand) -> tuple[WrapperSpec | None, int]:
    words = command.words
    if command.name in PACKAGE_RUNNERS:
        return _NEXT, 1
    if command.name in WRAPPERS or len(words) < len(("name", "verb")):
        return WRAPPERS.get(command.name), 1
    return SUBCOMMAND_WRAPPERS.get((command.name, words[1].text)), 2


def _after(
    wrapper: WrapperSpec, words: Sequence[CommandWord]
) -> tuple[tuple[CommandWord, ...], tuple[str, ...], bool]:
    """Returns the words of the inner command, the variables set for it, and if all is known."""
    left, at, sets, ended, told = wrapper.operands, 0, [], False, True
    while at < len(words):
        text = words[at].text
        if text in wrapper.silent:
            return (), (), told
        size = 1
        if text.startswith("-") and not ended:
            ended = text == "--"
            size = 1 if ended else wrapper.size(text)
        elif wrapper.sets and "=" in text:
            sets.append(text)
        elif left:
            left -= 1
        else:
            break
        told = told and size > 0 and all(word.plain for word in words[at : at + size])
        at += size or 1
    return tuple(words[at:]), tuple(sets), told


def _by_xargs(command: SimpleCommand, rest: tuple[CommandWord, ...]) -> SimpleCommand:
    """Returns what is run for the words of its input, which come last or where a mark stands."""
    before = command.arguments[: len(command.words) - len(rest) - 1]
    marks = [then for one, then in pairwise(before) if one == "-I"]
    marks += [text[2:] or "{}" for text in before if text[:2] in ("-I", "-i")]
    marks += [text.partition("=")[2] for text in before if text.startswith("--replace=")]
    marks += ["{}" for text in before if text == "--replace"]
    marks = [mark for mark in marks if mark]
    return SimpleCommand(_marked(rest, marks), (), command.fed, command.given, not marks)


def _marked(words: Sequence[CommandWord], marks: Sequence[str]) -> tuple[CommandWord, ...]:
    return tuple(
        CommandWord(word.text, plain=False) if any(mark in word.text for mark in marks) else word
        for word in words
    )


def _by_find(command: SimpleCommand) -> WrappedCommands:
    told = all(_is_told(word) for word in command.words) and not command.open
    runs = tuple(_runs(command.words))
    return WrappedCommands(runs[:_MOST], told and len(runs) <= _MOST)


def _is_told(word: CommandWord) -> bool:
    return word.plain or word.text == "{}"


def _runs(words: Sequence[CommandWord]) -> Iterator[SimpleCommand]:
    starts = [at for at, word in enumerate(words) if word.text in _EXEC]
    for at in starts[: _MOST + 1]:
        ends = (i for i in range(at + 1, len(words)) if words[i].text in (";", "+"))
        if rest := words[at + 1 : next(ends, len(words))]:
            yield SimpleCommand(_marked(rest, ("{}",)))
