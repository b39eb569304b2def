"""Runs in a mount namespace of its own: what the hands decide and do across file systems.

The folder named on the command line gets a second file system at `disk` and a second mount of the
first one at `bound`, and plans that touch both. What came of it is printed as JSON.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.executor.disk_doubles import file_state, put, tree

from assent.core.plan.operation import DeleteFile, FileOperation, FileState, MoveFile, WriteFile
from assent.core.run.slot_move import (
    ClearFolder,
    MoveFromSlot,
    MoveToSlot,
    SlotLayout,
    SwapWithSlot,
    prunable_folders,
    slot_contents,
    slot_moves,
)
from assent.executor.file_writer import LocalFileWriter

NO_MOUNT = 77
OLD, NEW = b"old", b"new"
WAS, IS = file_state(OLD), file_state(NEW)


def main(root: Path) -> None:
    for folder in ("disk", "bound", "elsewhere"):
        (root / folder).mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "none", f"{root}/disk"]
    bind = ["mount", "--bind", f"{root}/elsewhere", f"{root}/bound"]
    if any(subprocess.run(command, check=False).returncode for command in (mount, bind)):
        sys.exit(NO_MOUNT)
    cases: dict[str, tuple[FileOperation, ...]] = {
        "home": (WriteFile(b"a", WAS, IS), MoveFile(b"b", b"c/d", WAS)),
        "write": (WriteFile(b"disk/a", WAS, IS), WriteFile(b"disk/new/b", None, IS)),
        "bound": (WriteFile(b"bound/a", None, IS), WriteFile(b"b", None, IS)),
        "move": (MoveFile(b"a", b"disk/b", WAS), MoveFile(b"disk/c", b"disk/sub/d", WAS)),
        "prune": (DeleteFile(b"disk/x/y/a", WAS, 2),),
        "prune_mount": (DeleteFile(b"disk/a", WAS, 1),),
        "clear": (DeleteFile(b"disk/x/y/a", WAS), WriteFile(b"disk/x", None, IS)),
    }
    print(json.dumps({name: case(root, name, ops) for name, ops in cases.items()}))


def case(root: Path, run: str, operations: Sequence[FileOperation]) -> object:
    """Applies the operations as the executor would, in a workspace that holds both mounts."""
    for op in operations:
        if op.before is not None:
            put(root, op.path, OLD)
    hands = LocalFileWriter(os.fsencode(root))
    layout = hands.choose_layout(run, operations)
    hands.create_folder(layout.folder)
    for fill in slot_contents(operations, slot_moves(operations, layout)):
        hands.write_slot(fill, [NEW])
    hands.sync_to_disk()
    perform(hands, operations, layout)
    hands.sync_to_disk()
    left = {
        path.decode(): content and content.decode()
        for path, content in tree(root).items()
        if not path.startswith(b".opencode")
    }
    clean(root)
    return {
        "exchange": layout.exchanges,
        "beside": [[path.decode(), folder.decode()] for path, folder in layout.beside],
        "copied": list(layout.copied),
        "left": left,
    }


def perform(
    hands: LocalFileWriter, operations: Sequence[FileOperation], layout: SlotLayout
) -> None:
    slots: list[bytes] = []
    for motion in slot_moves(operations, layout):
        match motion:
            case SwapWithSlot():
                hands.exchange(motion.slot, motion.path)
            case MoveFromSlot():
                hands.create_folder(motion.path.rpartition(b"/")[0])
                hands.rename_unless_taken(motion.slot, motion.path)
            case MoveToSlot() | ClearFolder():
                hands.rename_unless_taken(motion.path, motion.slot)
        slots.append(motion.slot)
    check_and_remove(hands, slots, WAS)
    for folder in prunable_folders(operations):
        hands.delete_empty_folder(folder)


def check_and_remove(hands: LocalFileWriter, slots: Iterable[bytes], expected: FileState) -> None:
    for slot, seen in hands.read_states(slots).items():
        assert seen in (None, expected, "folder"), (slot, seen)
        if seen == expected:
            hands.delete_path(slot)
        hands.delete_empty_folder(slot)


def clean(root: Path) -> None:
    keep = {b"disk", b"bound", b"elsewhere"}
    for path, content in sorted(tree(root).items(), reverse=True):
        full = os.fsencode(root) + b"/" + path
        if path not in keep and not path.startswith(b"bound/"):
            (os.rmdir if content is None else os.unlink)(full)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
