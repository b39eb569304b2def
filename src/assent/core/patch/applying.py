"""What a file of a patch makes of the file that stands there: its kind, mode and binary content."""

from assent.core.errors import NoMatch, Refused
from assent.core.operation import FileState
from assent.core.patch.binary import blob_id, is_whole, rebuilt
from assent.core.patch.modes import executable
from assent.core.patch.values import FilePatch

LINK, TYPE = 0o120000, 0o170000
PLAIN, EXECUTABLE = 0o644, 0o755  # all that git knows of modes


def is_link(file: FilePatch, before: FileState | None) -> bool:
    """Tells whether a file becomes a symlink, or stays one."""
    if file.new_mode is not None:
        return file.new_mode & TYPE == LINK
    return before is not None and before.kind == "link"


def check_kind(file: FilePatch, before: FileState) -> None:
    """Refuses to change a symlink as a file, and a file as a symlink."""
    if file.old_mode is None:
        return
    wanted = "link" if file.old_mode & TYPE == LINK else "file"
    if wanted != before.kind:
        thing = "a symlink" if before.kind == "link" else "a file"
        raise NoMatch(f"it is {thing} here, and the patch was made for something else.")


def mode_of(file: FilePatch, before: FileState | None) -> int:
    """Returns the new mode, with no more rights than git gives; of its two, only x counts."""
    bits = None if file.new_mode is None else file.new_mode & EXECUTABLE
    if before is None or before.kind == "link":
        return PLAIN if bits is None else bits
    if bits is None or file.old_mode == file.new_mode:
        return before.mode
    if bits in (PLAIN, EXECUTABLE):
        return executable(before.mode, bits == EXECUTABLE)
    return bits


def binary_content(file: FilePatch, old: bytes, *, fresh: bool) -> bytes:
    """Rebuilds a binary content; what it is made from and what it becomes must be as named."""
    assert file.binary is not None
    was, becomes = file.ids
    if not is_whole(was) or not is_whole(becomes):
        raise Refused("a binary patch needs the whole names of both contents on its index line.")
    now = blob_id(old, was)
    if now == becomes and file.how == "change":
        return old
    if not fresh and now != was:
        raise NoMatch(f"its content is {now[:12]}…, and the binary patch was made for {was[:12]}….")
    made = rebuilt(file.binary, old)
    if file.how != "delete" and blob_id(made, becomes) != becomes:
        raise Refused("its binary part is damaged: it makes another content than it names.")
    return made
