"""Checks an imported plan by itself, before anything on disk is read."""

import re
from collections.abc import Iterable, Sequence

from assent.core.errors import AssentError, CorruptFile, ImpossibleOperations, Refused
from assent.core.paths import display_path, normalize
from assent.core.plan.dependencies import check_dependencies
from assent.core.plan.draft import segments, stage
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    footprint,
)
from assent.core.plan.plan import Plan, declared_reliance, declared_scope

DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")
ID_PATTERN = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")
MAX_TEXT = 1 << 20
_MODES = 0o7777
_LINK_MODE = 0o777


def check_imported_plan(plan: Plan) -> None:
    """Refuses a plan that this program would not have frozen."""
    if plan.workspace or plan.export or plan.is_text_only:
        raise CorruptFile("It holds no portable plan with operations.")
    if len(plan.text) > MAX_TEXT:
        raise CorruptFile("Its text is longer than a plan's can be.")
    if not _follows_from_text(plan):
        raise CorruptFile(
            "Its scope or the files it relies on are not those that its text declares."
        )
    for op in plan.operations:
        _check_operation(op)
    if not _fits_together(plan.operations):
        raise CorruptFile("Its operations do not fit together.")


def named_paths(operations: Iterable[Operation]) -> list[bytes]:
    """Returns every path that operations name, each once, and the folders of commands."""
    touched = [path for op in operations for path, *_ in footprint(op)]
    return list(dict.fromkeys(touched))


def _fits_together(operations: Sequence[Operation]) -> bool:
    """Tells whether staging would have left them so: each path once between two commands."""
    try:
        check_dependencies(operations)
        return all(stage((), segment) == segment for segment in segments(operations))
    except ImpossibleOperations:
        return False


def _follows_from_text(plan: Plan) -> bool:
    try:
        declared = sorted(set(map(normalize, declared_reliance(plan.text))))
        scope = declared_scope(plan.text)
    except AssentError:
        return False
    relied_on = [file.path for file in plan.relied_on]
    sound = all(DIGEST_PATTERN.fullmatch(file.digest) for file in plan.relied_on)
    return scope == plan.scope and declared == relied_on and sound


def _check_operation(op: Operation) -> None:
    for path, *states in footprint(op):
        _check_path(path)
        if not path or not all(state is None or _is_possible_state(state) for state in states):
            raise CorruptFile(f"It describes {display_path(path)} in a way that no file can be.")
    match op:
        case RunCommand(cwd=cwd, timeout=timeout):
            _check_path(cwd)
            if timeout < 1 or bool(op.argv) == bool(op.script):
                raise CorruptFile("It holds a command that cannot be run.")
        case DeleteFile(path, _, prune) | MoveFile(path, _, _, prune):
            if not 0 <= prune <= path.count(b"/"):
                raise CorruptFile(
                    f"It removes more folders above {display_path(path)} than there are."
                )
        case _:
            pass


def _check_path(path: bytes) -> None:
    if normalize(path) != path:
        raise Refused(f"{display_path(path)} is not a plain path inside the workspace.")


def _is_possible_state(state: FileState) -> bool:
    mode = state.mode == _LINK_MODE if state.kind == "link" else 0 <= state.mode <= _MODES
    return bool(DIGEST_PATTERN.fullmatch(state.digest)) and state.size >= 0 and mode
