"""Operations in words: a path, two paths, or a whole command, for lists and for the review."""

from collections.abc import Iterator
from shlex import quote
from typing import assert_never

from assent.core.operation import DeleteFile, MoveFile, Operation, RunCommand, WriteFile
from assent.core.paths import shown
from assent.views.lines import Line, foreign, table, wrapped
from assent.views.visible import visible_line, visible_path


def subject(op: Operation) -> str:
    """Returns on one line what an operation is about: path, path and new path, or command."""
    match op:
        case WriteFile(path) | DeleteFile(path):
            return visible_path(path)
        case MoveFile(path, to):
            return f"{visible_path(path)} → {visible_path(to)}"
        case RunCommand(argv, script):
            return words(argv) if argv else visible_line(shown(script))
        case _:
            assert_never(op)


def words(argv: tuple[bytes, ...]) -> str:
    """Returns an argument vector as a shell would read it, with what hides written out."""
    return " ".join([quote(visible_path(word)) for word in argv])


def command_lines(op: RunCommand) -> Iterator[Line]:
    """Renders a command in full: what runs, where, with what, and what takes it back."""
    if op.argv:
        yield from wrapped("plain", f"$ {words(op.argv)}")
    if op.script:
        yield from foreign(shown(op.script))
    variables = [f"{visible_path(key)}={quote(visible_path(value))}" for key, value in op.env]
    yield from table(
        "dim",
        [
            ("folder", visible_path(op.cwd) or "."),
            *(("variable", variable) for variable in variables),
            ("at most", f"{op.timeout} s"),
            ("network", "allowed" if op.network else "none"),
            ("undo", f"$ {words(op.undo)}" if op.undo else "none"),
        ],
    )
