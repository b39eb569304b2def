"""The port that changes the user's files (law 1).

Only the executor, the composition root and the test doubles may import this module, and the names
of its methods occur nowhere else, so that a call from another module is found.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Protocol

from assent.core.plan.operation import FileOperation, FileState
from assent.core.run.slot_move import SlotContent, SlotLayout
from assent.ports.files import PathStateReader


class FileWriter(PathStateReader, Protocol):
    """Everything that can be done to the user's files; only the executor calls it (law 1).

    Every call raises OSError on failure. None follows a symlink in a parent folder: a path below a
    symlink does not exist, just as below a file.
    """

    def choose_layout(self, run: str, operations: Sequence[FileOperation]) -> SlotLayout:
        """Decides where the slots of a run are and which kernel calls work there."""

    def missing_folders(self, folders: Iterable[bytes]) -> tuple[bytes, ...]:
        """Returns the folders that do not exist."""

    def write_slot(self, fill: SlotContent, content: Iterable[bytes]) -> None:
        """Writes a slot that must not exist, with mode, owner and attributes."""

    def restore_displaced(self, fill: SlotContent, displaced: bytes) -> bool:
        """Fills a slot with the file displaced from another slot; False if it does not fit."""

    def keep_displaced(self, run: str, old: Mapping[bytes, FileState]) -> bool:
        """Keeps the files in the slots of a run, exactly these, for an undo.

        False: nothing was done, and the slots must be emptied.
        """

    def are_only_content(self, old: Mapping[bytes, FileState]) -> bool:
        """Tells whether files in slots are few, small, unchanged, and no one can write to them.

        Then their contents are all that there is to keep of them.
        """

    def rename_unless_taken(self, source: bytes, target: bytes) -> None:
        """Renames without ever replacing: FileExistsError if the target is taken."""

    def exchange(self, one: bytes, other: bytes) -> None: ...

    def create_folder(self, path: bytes) -> bool:
        """Creates a folder and those above it; tells whether it was missing."""

    def delete_empty_folder(self, path: bytes) -> bool:
        """Removes a folder, and empty folders in it, if it has no file; tells whether it did."""

    def folder_holds_files(self, folder: bytes, besides: Container[bytes] = ()) -> bool:
        """Tells whether anything is below a folder except folders and these files."""

    def delete_path(self, path: bytes) -> None: ...

    def delete_paths(self, paths: Sequence[bytes]) -> list[bytes]:
        """Removes files, in any order; returns those that could not be removed, for a retry."""

    def sync_to_disk(self, *, foreign: bool = False) -> None:
        """Returns when everything done so far is on disk; with `foreign`, also others' changes."""

    def sync_besides_slots(self) -> None:
        """Returns when the contents of files are on disk, and all names but those of slots."""
