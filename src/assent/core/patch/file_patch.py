"""What a patch says about each file: names, modes, hunks, or a binary content."""

from typing import Literal, TypeAlias

import msgspec

PatchKind: TypeAlias = Literal["change", "create", "delete", "rename", "copy"]


class Hunk(msgspec.Struct, frozen=True, gc=False):
    """Lines to find and lines to put there, with their line ends, counted from 1.

    `lead` and `trail` are how many lines of context stand before and after what changes.
    """

    old_start: int
    old: tuple[bytes, ...]
    new_start: int
    new: tuple[bytes, ...]
    lead: int = 0
    trail: int = 0

    @property
    def reversed(self) -> "Hunk":
        """The hunk that takes this one back."""
        return Hunk(self.new_start, self.new, self.old_start, self.old, self.lead, self.trail)


class BinaryPatch(msgspec.Struct, frozen=True, gc=False):
    """A whole content, or a delta that makes it from the old one."""

    kind: Literal["literal", "delta"]
    content: bytes


class FilePatch(msgspec.Struct, frozen=True, gc=False):
    """What becomes of one file. `old` and `new` are the same name unless it is renamed or copied.

    `ids` are git's names of the contents before and after, maybe shortened. Files of one `group`
    are seen from the same tree; the next group from the tree that it left.
    """

    how: PatchKind
    old: bytes
    new: bytes
    line: int  # of the patch
    old_mode: int | None = None
    new_mode: int | None = None
    hunks: tuple[Hunk, ...] = ()
    binary: BinaryPatch | None = None
    ids: tuple[str, str] = ("", "")
    unsure: bool = False  # whether it makes the file, or changes an empty one
    group: int = 0
