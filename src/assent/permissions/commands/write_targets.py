"""Write targets of a command, and whether they are protected, run later, or confusable."""

from collections.abc import Iterable, Sequence
from posixpath import join, normpath
from typing import Final, TypeAlias

from assent.core.paths import GIT, casefolded, display_path
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.sensitive_paths import executed_later, holds_protected, protected_reason
from assent.core.plan.operation import RunCommand
from assent.core.text.confusables import confusable_letters, is_confusable_program

CommandWords: TypeAlias = tuple[str, ...]

# What has no output, so that a file it is redirected to is left empty.
_SILENT: Final[tuple[CommandWords, ...]] = (
    (":",), ("true",), ("echo", "-n"), ("printf", ""), ("cat", "/dev/null"),
)  # fmt: skip


def write_targets(op: RunCommand, line: CommandAnalysis | None, root: str) -> tuple[str, ...]:
    """Returns what a command writes, or may, as seen from the workspace.

    A folder that is meant with all in it ends with a slash.
    """
    if line is None or line.reads is not None:
        return ()
    folder = display_path(op.cwd)
    found = [_placed(target, folder, root) for target in (*line.writes, *line.perhaps)]
    return tuple(dict.fromkeys(found))


def touches_protected(found: Iterable[str]) -> bool:
    """Tells whether a target is what other programs obey, or may have such below it."""
    return any(_is_protected(target) for target in found)


def writes_executed(found: Iterable[str]) -> bool:
    """Tells whether a target is a file that other programs run later."""
    return any(executed_later(t.encode("utf-8", "surrogateescape")) for t in found)


def has_confusable_name(programs: Iterable[str], found: Iterable[str]) -> bool:
    """Tells whether a program or a file that is written has a name that passes for another."""
    names = list(programs)
    paths = {name for name in names if "/" in name}
    known = {path.rpartition("/")[2] for path in paths}  # by their path, so not by name alone
    parts = [part for target in found if not target.isascii() for part in target.split("/")]
    return any(is_confusable_program(name) for name in names if name not in known) or any(
        map(confusable_letters, parts)
    )


def truncates_file(commands: Sequence[CommandWords], line: CommandAnalysis | None) -> bool:
    """Tells whether a command throws away what stands in a file, without removing it."""
    if any(_truncates(command) for command in commands):
        return True
    if line is None or not line.writes:
        return False
    # A redirect without a command is no command that anybody could name.
    bare = any(text.startswith(">") and not text.startswith(">>") for text in line.commands)
    return bare or any(command in _SILENT for command in commands)


def _truncates(command: CommandWords) -> bool:
    match command:
        case ("truncate", *_):
            return True
        case ("cp" | "install", *words):
            return "/dev/null" in words
        case ("dd", *words):
            return "if=/dev/null" in words
        case _:
            return False


def _placed(target: str, folder: str, root: str) -> str:
    end = "/" if target.endswith("/") else ""
    place = normpath(join(folder, target))
    if root and place.startswith(f"{root}/"):
        place = place[len(root) + 1 :]
    return place + end


def _is_protected(target: str) -> bool:
    path = target.rstrip("/").encode("utf-8", "surrogateescape")
    if protected_reason(path) is not None or GIT in casefolded(path).split(b"/"):
        return True
    return target.endswith("/") and holds_protected(path)
