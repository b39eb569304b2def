"""Formats an edit once, and shows it as a patch before a person approves it."""

from typing import Any

import msgspec

from assent.agent.formatters import formatted_edit
from assent.agent.services import AgentServices
from assent.agent.tool_environment import ToolEnvironment
from assent.core.errors import AssentError
from assent.core.paths import display_path, one_line
from assent.core.plan.operation import FileOperation, FileState, WriteFile, footprint
from assent.core.tool import EditEffect
from assent.render.diff import LIMIT, operation_diff
from assent.render.operation_text import operation_subject
from assent.render.rows import operation_kind

MAX_PATCH_CHARS = 200_000  # characters of a patch that goes into a question


class FormattedEdit(msgspec.Struct, frozen=True):
    """An edit as the person's formatters leave it, with what the model must know of that."""

    edit: EditEffect
    notes: str = ""
    metadata: dict[str, Any] = {}


class EditFormatter:
    """Formats edits. The edit that a person was asked about is the one that is applied."""

    def __init__(self, desk: AgentServices, tooling: ToolEnvironment) -> None:
        self._desk = desk
        self._tooling = tooling
        self._last: tuple[EditEffect, FormattedEdit] | None = None

    def formatted(self, edit: EditEffect) -> FormattedEdit:
        """Returns an edit with formatted contents; the same edit again is the same bytes again."""
        if self._last is None or self._last[0] is not edit:
            self._last = (edit, self._shape(edit))
        return self._last[1]

    def operation_lines(self, edit: EditEffect) -> tuple[str, ...]:
        """Returns every operation of an edit in words."""
        return tuple(
            f"{operation_kind(op)} {' → '.join(one_line(path) for path, *_ in footprint(op))}"
            for op in self.formatted(edit).edit.operations
        )

    def patch(self, edit: EditEffect) -> str:
        """Returns what an edit would do to the files, as people read it."""
        done = self.formatted(edit).edit
        whole = "".join([self._operation(op, done) for op in done.operations])
        cut = whole[:MAX_PATCH_CHARS]
        left = len(whole) - len(cut)
        return f"{cut}\n… {left} more characters are not shown.\n" if left else cut

    def _shape(self, edit: EditEffect) -> FormattedEdit:
        tooling = self._tooling
        done, notes = formatted_edit(
            edit, tooling.process, tooling.formatters, self._desk.config.root
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
        unshown = (
            f"{operation_kind(op)} {operation_subject(op)}: "
            "not shown, because it is binary or too large.\n"
        )
        return unshown if patch is None else patch

    def _old(self, path: bytes, state: FileState | None) -> bytes | None:
        if state is None or state.size > LIMIT:
            return None
        try:
            with self._desk.ports.files.open(path) as stream:
                return stream.read()
        except (OSError, AssentError):
            return None


def _lines(notes: tuple[str, ...]) -> str:
    return "".join(f"\n{note}" for note in notes)
