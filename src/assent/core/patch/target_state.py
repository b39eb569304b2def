"""Checks a file patch against the file it applies to: its kind, mode and binary content."""

from typing import Literal

from assent.core.errors import NoMatch, Refused
from assent.core.patch.binary import blob_id, is_full_id, rebuild_content
from assent.core.patch.file_modes import (
    MODE_EXECUTABLE,
    MODE_LINK,
    MODE_PLAIN,
    MODE_TYPE,
    git_mode,
    with_executable,
)
from assent.core.patch.file_patch import FilePatch
from assent.core.plan.operation import FileState

_THINGS = {"link": "a symlink", "file": "a file"}


def is_link(file: FilePatch, before: FileState | None) -> bool:
    """Tells whether a file becomes a symlink, or stays one."""
    if file.new_mode is not None:
        return _kind_of_mode(file.new_mode) == "link"
    return before is not None and before.kind == "link"


def check_kind(file: FilePatch, before: FileState) -> None:
    """Refuses to change a symlink as a file, a file as a symlink, and one into the other.

    Git writes the last as two: a file that goes, and one that comes with a content of its own.
    """
    if file.old_mode is not None and _kind_of_mode(file.old_mode) != before.kind:
        thing = _THINGS[before.kind]
        raise NoMatch(f"it is {thing} here, and the patch was made for something else.")
    if file.how == "delete" or file.new_mode is None:
        return
    if _kind_of_mode(file.new_mode) != before.kind:
        old, new = _THINGS[before.kind], _THINGS[_kind_of_mode(file.new_mode)]
        raise NoMatch(f"it is {old} here, and a new mode does not make {new} of it.")


def check_target(content: bytes) -> None:
    """Refuses a symlink that could not be made."""
    if not content or b"\0" in content:
        raise NoMatch("it is a symlink, and the patch does not say where to.")


def target_mode(file: FilePatch, before: FileState | None) -> int:
    """Returns the new mode, with no more rights than git gives; of its two, only x counts."""
    bits = None if file.new_mode is None else git_mode(file.new_mode) & ~MODE_TYPE
    if before is None or before.kind == "link":
        return MODE_PLAIN if bits is None else bits
    if bits is None or file.old_mode == file.new_mode:
        return before.mode
    if bits in (MODE_PLAIN, MODE_EXECUTABLE):
        return with_executable(before.mode, bits == MODE_EXECUTABLE)
    return bits


def _kind_of_mode(mode: int) -> Literal["file", "link"]:
    return "link" if mode & MODE_TYPE == MODE_LINK else "file"


def binary_content(file: FilePatch, old: bytes, *, fresh: bool) -> bytes:
    """Rebuilds a binary content; what it is made from and what it becomes must be as named."""
    assert file.binary is not None
    was, becomes = file.ids
    if not is_full_id(was) or not is_full_id(becomes):
        raise Refused("a binary patch needs the whole names of both contents on its index line.")
    now = blob_id(old, was)
    if now == becomes and file.how == "change":
        return old
    if not fresh and now != was:
        raise NoMatch(f"its content is {now[:12]}…, and the binary patch was made for {was[:12]}….")
    made = rebuild_content(file.binary, old)
    if file.how != "delete" and blob_id(made, becomes) != becomes:
        raise Refused("its binary part is damaged: it makes another content than it names.")
    return made
