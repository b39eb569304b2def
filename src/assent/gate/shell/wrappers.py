"""Wrappers: programs that run another one, and where in their words that stands."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from assent.gate.readonly.spec import listed
from assent.gate.shell.simple import Simple, Word


class Wrapper(msgspec.Struct, frozen=True):
    """How the words before the inner command look: options with values, and operands of its own."""

    values: frozenset[str] = frozenset()
    operands: int = 0
    sets: bool = False  # NAME=VALUE may stand before the command
    silent: frozenset[str] = frozenset()  # with these it runs nothing
    bare: bool = False  # the shell's own word: an option is a command already


def _with(values: str = "", operands: int = 0, silent: str = "") -> Wrapper:
    return Wrapper(listed(values), operands, silent=listed(silent))


WRAPPERS: Final[dict[str, Wrapper]] = {
    "env": Wrapper(listed("-u --unset -C --chdir"), sets=True),
    "sudo": Wrapper(listed("-u -g -C -h -p -D -r -t -T -U --user --group"), sets=True),
    "doas": _with("-u -C"),
    "nice": _with("-n --adjustment"),
    "ionice": _with("-c -n -p --class --classdata"),
    "chrt": _with(operands=1),
    "taskset": _with(operands=1),
    "nohup": _with(),
    "timeout": _with("-k --kill-after -s --signal", operands=1),
    "time": Wrapper(bare=True),
    "xargs": _with("-I -n -P -L -d -a -s -E --max-args --max-procs --max-lines --delimiter "
                   "--arg-file --replace --max-chars"),
    "command": _with(silent="-v -V"),
    "builtin": _with(),
    "exec": _with("-a"),
    "coproc": Wrapper(bare=True),
    "setsid": _with(),
    "setarch": _with(operands=1),
    "stdbuf": _with("-i -o -e --input --output --error"),
    "unbuffer": _with(),
    "chronic": _with(),
    "ts": _with(),
    "flock": _with("-w -E --timeout", operands=1),
    "chroot": _with("--userspec --groups", operands=1),
    "unshare": _with(),
    "fakeroot": _with(),
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
    "caffeinate": _with("-t -w"),
    "proxychains": _with(),
    "torsocks": _with(),
    "pkexec": _with("--user"),
    "run0": _with("-u -g --user"),
    "runuser": _with("-u -g", operands=0),
    "setpriv": _with("--reuid --regid"),
    "systemd-run": _with("-p -u -M --unit --property"),
    "dbus-run-session": _with(),
    "xvfb-run": _with("-n -s -e -f"),
}  # fmt: skip

# What runs a program by its second word: `uv run pytest`.
RUNNERS: Final[dict[tuple[str, str], Wrapper]] = {
    **{(name, "run"): _with("-p --python --with --extra --group --package") for name in
       listed("uv poetry pipenv pdm rye hatch conda pipx")},
    **{(name, "exec"): _with("-c -w --workspace") for name in
       listed("bundle npm pnpm yarn mise asdf rbenv pyenv")},
    **{(name, "dlx"): _with() for name in listed("pnpm yarn")},
    ("direnv", "exec"): _with(operands=1),
}  # fmt: skip
NEXT: Final = listed("npx bunx uvx")
_EXEC: Final = listed("-exec -execdir -ok -okdir")


def inner(command: Simple) -> Iterator[Simple]:
    """Yields the commands that a wrapper runs, each with the input of the wrapper."""
    words = command.words
    if command.name == "find":
        yield from _by_find(command)
        return
    wrapper = WRAPPERS.get(command.name)
    start = 1
    if wrapper is None and command.name in NEXT:
        wrapper = _with("-p --package --from --with")
    if wrapper is None and len(words) > 1:
        wrapper, start = RUNNERS.get((command.name, words[1].text)), 2
    if wrapper is None:
        return
    rest, sets = _after(wrapper, words[start:])
    if rest:
        yield Simple(rest, sets, command.fed, command.given)


def _after(wrapper: Wrapper, words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """Returns the words of the inner command, and the variables that are set for it."""
    left, at, sets = wrapper.operands, 0, []
    while at < len(words):
        text = words[at].text
        if text in wrapper.silent:
            return (), ()
        if text == "--":
            at += 1 + left
            break
        if text.startswith("-") and text != "-" and not (wrapper.bare and text != "-p"):
            at += 2 if text in wrapper.values else 1
        elif wrapper.sets and "=" in text:
            sets.append(text.partition("=")[0])
            at += 1
        elif left:
            left, at = left - 1, at + 1
        else:
            break
    return tuple(words[at:]), tuple(sets)


def _by_find(command: Simple) -> Iterator[Simple]:
    words = command.words
    for at, word in enumerate(words):
        if word.text not in _EXEC:
            continue
        ends = [i for i, each in enumerate(words) if i > at and each.text in (";", "+")]
        if rest := words[at + 1 : ends[0] if ends else len(words)]:
            yield Simple(rest)
