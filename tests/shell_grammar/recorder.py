"""What bash makes of command lines: it runs them with a recorder in place of every program."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from assent.core.shell.parser import ListOperator, Pipeline, Subshell
from assent.core.shell.process import StderrMode

LINE, COMMAND, ARGUMENT = "\x1d", "\x1e", "\x1f"  # no accepted line can hold these

# Every name is unknown, so bash calls this with the words of the command. What came in by a pipe
# goes out first, so a pipeline's records come out in its order. The builtins are switched off.
DRIVER = r"""
command_not_found_handle() {
  local before= piped=- errors=kept
  if [[ -p /dev/fd/0 ]]; then piped='|'; IFS= read -r -d '' before; fi
  [[ /dev/fd/1 -ef /dev/fd/2 ]] && errors='2>&1'
  [[ /dev/fd/2 -ef /dev/null ]] && errors='2>/dev/null'
  printf '%s' "$before"
  printf '\x1e%s\x1f%s' "$piped" "$errors"
  printf '\x1f%s' "$@"
  return "$code"
}
enable -n . : [ test
while IFS= read -r -d '' folder <&8 && IFS= read -r -d '' line <&8; do
  cd "$folder" || continue
  for code in 0 1; do printf '\x1d'; eval -- "$line"; done
  cd "$OLDPWD"
done
"""


class Record(msgspec.Struct, frozen=True):
    """One command as it was started."""

    piped: bool
    errors: StderrMode
    words: tuple[str, ...]


class Runs(msgspec.Struct, frozen=True):
    """What started when every command works, and when every command fails.

    Together they tell `;`, `&&` and `||` apart.
    """

    working: tuple[Record, ...]
    failing: tuple[Record, ...]


def runs_of(pipelines: Sequence[Pipeline], folder: str = "") -> Runs:
    """Returns what should start according to our own reading; `folder` is where it does."""
    values = {"HOME": ENVIRONMENT["HOME"], "PWD": folder}
    return Runs(
        _started(pipelines, values, skipped=ListOperator.IF_IT_FAILED),
        _started(pipelines, values, skipped=ListOperator.IF_IT_WORKED),
    )


def _started(
    pipelines: Sequence[Pipeline],
    values: Mapping[str, str],
    *,
    skipped: ListOperator,
    errors: StderrMode = StderrMode.KEPT,
) -> tuple[Record, ...]:
    found: list[Record] = []
    for pipeline in pipelines:
        if pipeline.joint is skipped:
            continue
        began = len(found)
        for place, command in enumerate(pipeline.commands):
            own = errors if command.errors is StderrMode.KEPT else command.errors
            if isinstance(command, Subshell):
                found += _started(command.pipelines, values, skipped=skipped, errors=own)
                continue
            if command.input is not None:
                del found[began:]  # what came by the pipe is not read, so it is not recorded
            words = tuple(word.filled(values).text for word in command.words)
            found.append(Record(place > 0 and command.input is None, own, words))
    return tuple(found)


def bash_runs(lines: Sequence[str], scratch: Path, *, wildcards: bool = False) -> list[Runs]:
    """Returns what bash starts for each line; wildcards see the folder `0`, `1`, ... of the line.

    Without `wildcards` every line runs in an empty folder.
    """
    empty = scratch / "empty"
    empty.mkdir(exist_ok=True)
    places = [f"./{at}" if wildcards else "./empty" for at in range(len(lines))]
    fed = "".join(f"{place}\0{line}\0" for place, line in zip(places, lines, strict=True))
    out = _bash(fed.encode(), scratch, () if wildcards else ("-f",)).decode("utf-8", "replace")
    shown = [_records(part) for part in out.split(LINE)[1:]]
    assert len(shown) == 2 * len(lines), "a line escaped from its place"
    return [Runs(*pair) for pair in zip(shown[::2], shown[1::2], strict=True)]


def _records(text: str) -> tuple[Record, ...]:
    found = []
    for part in text.split(COMMAND)[1:]:
        piped, errors, *words = part.split(ARGUMENT)
        found.append(Record(piped == "|", StderrMode(errors), tuple(words)))
    return tuple(found)


def _bash(fed: bytes, scratch: Path, options: Sequence[str]) -> bytes:
    """Runs the driver where no program can be found, and in a sandbox if there is one."""
    (scratch / "driver").write_text(DRIVER, encoding="utf-8")
    (scratch / "fed").write_bytes(fed)
    inner = "exec 8<fed 2>errors; . ./driver"
    bash = [_program("bash"), "--norc", "--noprofile", *options, "-c", inner]
    with (scratch / "out").open("wb") as out:
        subprocess.run(
            [*_cage(scratch), *bash],
            cwd=scratch,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            check=False,
            timeout=100,
        )
    return (scratch / "out").read_bytes()


ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/nowhere",
    "HOME": "/a-home",
    "LC_ALL": "C.UTF-8",
    "a": "a variable",
}


@cache
def _program(name: str) -> str:
    return shutil.which(name) or name


def _cage(scratch: Path) -> list[str]:
    bwrap = shutil.which("bwrap")
    if bwrap is None or not _works(bwrap):
        return []
    folder = str(scratch)
    shown = [f"--ro-bind-try {part} {part}" for part in ("/usr", "/bin", "/lib", "/lib64")]
    words = " ".join([*shown, "--dev /dev --proc /proc --unshare-all --die-with-parent"]).split()
    return [bwrap, *words, "--bind", folder, folder, "--chdir", folder]


@cache
def _works(bwrap: str) -> bool:
    tried = [bwrap, "--ro-bind", "/", "/", "--unshare-all", "true"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0
