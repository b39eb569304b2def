"""Runs new file contents through the user's formatters before they are shown or applied."""

from collections.abc import Mapping
from typing import Any

import msgspec

from assent.agent.services import AgentServices, ToolEnvironment
from assent.core.digest import sha256
from assent.core.errors import AssentError
from assent.core.paths import base_name, display_path, one_line
from assent.core.plan.operation import FileOperation, FileState, WriteFile, footprint
from assent.core.shell.process import ProcessLimits, ProcessResult, Program, SandboxState
from assent.core.text import counted
from assent.core.text.glob_pattern import FNMATCH, glob_matches
from assent.core.tool import EditEffect
from assent.ports import ProcessRunner
from assent.render.diff import IS_NOT_SHOWN, LIMIT, operation_diff
from assent.render.rows import operation_kind, operation_subject

LIMITS = ProcessLimits(seconds=20, output=64 << 20)
PATH = "{path}"  # in an argument: the file's path in the workspace

Formatters = Mapping[str, tuple[str, ...]]


def formatted_edit(
    edit: EditEffect, process: ProcessRunner, formats: Formatters, root: bytes
) -> tuple[EditEffect, tuple[str, ...]]:
    """Returns the edit with formatted contents, and a note for each that was not formatted."""
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
    """A formatter returned nothing usable."""


def _command(op: FileOperation, formats: Formatters) -> tuple[str, ...] | None:
    """Returns the formatter of a new content: the first whose glob matches its path or name."""
    if not isinstance(op, WriteFile) or op.after.kind != "file":
        return None
    for glob, words in formats.items():
        where = display_path(op.path if "/" in glob else base_name(op.path))
        if words and glob_matches(where, glob, FNMATCH):
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
        raise _FormatterFailed(f"{command[0]} is not installed.")
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
    told = f" Output: {said[0][:200]}" if said else ""
    what = f"failed with exit code {end.code}" if end.code else "returned no content"
    return f"{program} {what}.{told}"


def _idle(op: FileOperation) -> bool:
    """Tells whether formatting left an operation without any change."""
    return isinstance(op, WriteFile) and op.before == op.after


# Formats an edit once, and shows it as a patch before a person approves it.


MAX_PATCH_CHARS = 200_000  # characters of a patch that goes into a question


class FormattedEdit(msgspec.Struct, frozen=True):
    """An edit after the user's formatters ran, with notes for the model."""

    edit: EditEffect
    notes: str = ""
    metadata: dict[str, Any] = {}


class EditFormatter:
    """Formats edits, so that the edit the user is asked about is the one that is applied."""

    def __init__(self, services: AgentServices, tools: ToolEnvironment) -> None:
        self._services = services
        self._tools = tools
        self._last: tuple[EditEffect, FormattedEdit] | None = None

    def formatted(self, edit: EditEffect) -> FormattedEdit:
        """Returns an edit with formatted contents; the same edit always gives the same bytes."""
        if self._last is None or self._last[0] is not edit:
            self._last = (edit, self._shape(edit))
        return self._last[1]

    def operation_lines(self, edit: EditEffect) -> tuple[str, ...]:
        """Returns a description of every operation of an edit."""
        return tuple(
            f"{operation_kind(op)} {' → '.join(one_line(path) for path, *_ in footprint(op))}"
            for op in self.formatted(edit).edit.operations
        )

    def patch(self, edit: EditEffect) -> str:
        """Returns what an edit would do to the files, as a diff."""
        done = self.formatted(edit).edit
        whole = "".join([self._operation(op, done) for op in done.operations])
        cut = whole[:MAX_PATCH_CHARS]
        left = len(whole) - len(cut)
        return f"{cut}\n… {counted(left, 'more character')} not shown.\n" if left else cut

    def _shape(self, edit: EditEffect) -> FormattedEdit:
        tools = self._tools
        done, notes = formatted_edit(
            edit, tools.open_process(), tools.formatters, self._services.config.root
        )
        if done == edit:
            return FormattedEdit(edit, _lines(notes))
        writes = [op for op in edit.operations if isinstance(op, WriteFile)]
        after = {
            op.path: op.after for op in [*writes, *done.operations] if isinstance(op, WriteFile)
        }
        seen = {display_path(op.path): after[op.path].digest for op in writes}
        changed = [one_line(op.path) for op in writes if after[op.path] != op.after]
        if changed:
            notes = (*notes, f"Formatted: {', '.join(changed)}. Read it before you edit it again.")
        return FormattedEdit(done, _lines(notes), {"seen": seen})

    def _operation(self, op: FileOperation, edit: EditEffect) -> str:
        path, before, after = footprint(op)[0]
        old = self._old(path, before)
        same = before is not None and after is not None and before.digest == after.digest
        new = old if same else edit.contents.get(after.digest) if after else None
        patch = operation_diff(op, old, new)
        unshown = f"{operation_kind(op)} {operation_subject(op)}: {IS_NOT_SHOWN}\n"
        return unshown if patch is None else patch

    def _old(self, path: bytes, state: FileState | None) -> bytes | None:
        if state is None or state.size > LIMIT:
            return None
        try:
            with self._services.ports.files.open(path) as stream:
                return stream.read()
        except (OSError, AssentError):
            return None


def _lines(notes: tuple[str, ...]) -> str:
    return "".join(f"\n{note}" for note in notes)
