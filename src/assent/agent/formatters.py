"""Runs new file contents through the person's formatters before they are shown or applied."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

import msgspec

from assent.core.digest import sha256
from assent.core.errors import AssentError
from assent.core.paths import base_name, display_path, one_line
from assent.core.plan.operation import FileOperation, FileState, WriteFile
from assent.core.shell.process import ProcessLimits, ProcessResult, Program, SandboxState
from assent.core.tool import EditEffect
from assent.ports import ProcessRunner

LIMITS = ProcessLimits(seconds=20, output=64 << 20)
PATH = "{path}"  # in an argument: the file's path in the workspace

Formatters = Mapping[str, tuple[str, ...]]


def formatted_edit(
    edit: EditEffect, process: ProcessRunner, formats: Formatters, root: bytes
) -> tuple[EditEffect, tuple[str, ...]]:
    """Returns the edit with formatted contents, and a note for each that stayed as it was."""
    if not formats:
        return edit, ()
    contents, operations, notes = dict(edit.contents), [], []
    for op in edit.operations:
        command = _command(op, formats)
        if command is None or not isinstance(op, WriteFile) or op.after.digest not in contents:
            operations.append(op)
            continue
        try:
            content = _through(command, contents[op.after.digest], process, root)
        except _FormatterFailed as failed:
            notes.append(f"{one_line(op.path)} was not formatted: {failed}")
            operations.append(op)
            continue
        after = FileState(sha256(content), len(content), op.after.mode)
        contents[after.digest] = content
        operations.append(msgspec.structs.replace(op, after=after))
    changing = tuple(op for op in operations if not _idle(op))
    used = {op.after.digest for op in changing if isinstance(op, WriteFile)}
    left = {digest: content for digest, content in contents.items() if digest in used}
    return EditEffect(changing, left), tuple(notes)


class _FormatterFailed(Exception):
    """A formatter gave nothing that could be used."""


def _command(op: FileOperation, formats: Formatters) -> tuple[str, ...] | None:
    """Returns the formatter of a new content: the first whose glob matches its path or name."""
    if not isinstance(op, WriteFile) or op.after.kind != "file":
        return None
    for glob, words in formats.items():
        where = display_path(op.path if "/" in glob else base_name(op.path))
        if words and fnmatchcase(where, glob):
            return tuple(word.replace(PATH, display_path(op.path)) for word in words)
    return None


def _through(
    command: tuple[str, ...], content: bytes, process: ProcessRunner, root: bytes
) -> bytes:
    """Runs a formatter, confined, with the content on stdin; returns what it prints."""
    if not content:
        return content
    standing = process.sandbox_status()
    if standing.hold is not SandboxState.HELD:
        raise _FormatterFailed(f"{command[0]} runs only in a sandbox. {standing.reason}".strip())
    path = process.program(command[:1], own=True)
    if path is None:
        raise _FormatterFailed(f"{command[0]} is not installed here.")
    program = Program((path, *[word.encode() for word in command[1:]]), stdin=content)
    out, errors, end = bytearray(), bytearray(), ProcessResult(1)
    try:
        for part in process.run([program], root, LIMITS):
            if isinstance(part, ProcessResult):
                end = part
            else:
                (errors if part.error else out).extend(part.content)
    except AssentError as error:
        raise _FormatterFailed(error.message) from error
    if end.code or end.cut or not out:
        raise _FormatterFailed(_why(command[0], end, bytes(errors)))
    return bytes(out)


def _why(program: str, end: ProcessResult, errors: bytes) -> str:
    if end.cut:
        return f"{program} reached its limit of {end.cut}."
    said = errors.decode("utf-8", "replace").strip().splitlines()
    told = f" It said: {said[0][:200]}" if said else ""
    return f"{program} ended with code {end.code}.{told}"


def _idle(op: FileOperation) -> bool:
    """Tells whether formatting made a change no change."""
    return isinstance(op, WriteFile) and op.before == op.after
