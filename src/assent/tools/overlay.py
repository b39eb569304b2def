"""The overlay: the user's files with the draft applied; it only reads."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from assent.core.errors import AssentError, NotFound, Refused
from assent.core.paths import (
    MAX_FOLDERS,
    STATE,
    ancestors,
    display_path,
    is_inside,
    one_line,
    parent,
)
from assent.core.plan.draft import content_sources
from assent.core.plan.draft_index import DraftIndex
from assent.core.plan.operation import FileState, Operation, RunCommand, footprint
from assent.core.run.slot_move import PathState, prunable_folders
from assent.ports import BlobStore, WorkspaceFiles

CHUNK = 1 << 20
FIRST_CHUNK = 1 << 16  # most files are smaller, and room for a large chunk costs more than the read
WHOLE_FILE = 16 << 20  # bytes that a tool may hold at once
OUTPUT = STATE + b"/output"

CANNOT_READ = "It cannot be read."
_HOPS = 40  # symlinks followed before it counts as a loop, as the kernel does


class Overlay:
    """Files with the draft applied; takes workspace paths, and only `locate` follows symlinks."""

    def __init__(
        self,
        files: WorkspaceFiles,
        blobs: BlobStore,
        operations: Sequence[Operation] | DraftIndex = (),
        readable_own: Sequence[bytes] = (),
        largest: int = 0,
    ) -> None:
        """With `largest`, a file of more bytes is refused before it is read completely."""
        self._files = files
        self._largest = largest
        self._blobs = blobs
        self._own = (OUTPUT, *readable_own)
        self._operations = operations
        self._origins: dict[FileState, bytes] | None = None  # few ask for it
        if isinstance(operations, DraftIndex):
            self._drafted: Mapping[bytes, FileState | None] = operations.drafted
            self._made: Collection[bytes] = operations.made
            self._pruned: Collection[bytes] = operations.pruned
            # Whether the draft touches a symlink, so that paths lead elsewhere.
            self.has_links = operations.has_links
        else:
            self._apply(operations)

    def _apply(self, operations: Sequence[Operation]) -> None:
        self._drafted = drafted = dict[bytes, FileState | None]()
        self.has_links = False
        for path, before, after in [step for op in operations for step in footprint(op)]:
            drafted[path] = after
            self.has_links |= "link" in (before and before.kind, after and after.kind)
        # Folders that the draft makes, and those that go if it leaves them empty.
        coming = [path for path, after in self._drafted.items() if after]
        self._made = {above for path in coming for above in ancestors(path)}
        moving = [op for op in operations if not isinstance(op, RunCommand)]
        self._pruned = frozenset(prunable_folders(moving))

    def locate(self, argument: str) -> bytes:
        """Returns the real path of what a model typed: relative to the root or absolute inside it.

        Symlinks are followed; a path outside the workspace is refused, with its name.
        """
        path = self._walk(_typed(argument))
        if is_inside(path, STATE) and not any(is_inside(path, own) for own in self._own):
            raise Refused(f"{display_path(path)} belongs to Assent and is not part of the project.")
        return path

    def follow(self, path: bytes) -> bytes:
        """Returns the target of a workspace path; a target outside is refused."""
        return self._walk(path)

    def outside_target(self, argument: str) -> bytes | None:
        """Returns the outside target of a path, absolute or from the root; None if it is inside."""
        try:
            self._walk(_typed(argument))
        except LeftWorkspace as left:
            return left.path
        return None

    def state(self, path: bytes) -> PathState:
        """Returns the state of a path."""
        return self.states((path,))[path]

    def states(self, paths: Sequence[bytes]) -> dict[bytes, PathState]:
        """Returns the state of each path; neighbours on disk are read together."""
        found: dict[bytes, PathState] = {}
        on_disk = []
        for path in paths:
            if not path or path in self._made:
                found[path] = "folder"
            elif path in self._drafted:
                found[path] = self._drafted[path]
            elif self._drafted and any(above in self._drafted for above in ancestors(path)):
                found[path] = None  # a file takes, or took, the place of a folder on the way
            else:
                self._check_size(path)
                on_disk.append(path)
        for path, seen in self._files.read_states(on_disk).items() if on_disk else ():
            emptied = seen == "folder" and path in self._pruned and not self.below(path)
            found[path] = None if emptied else seen
        return found

    def _check_size(self, path: bytes) -> None:
        if self._largest and (size := self._files.size(path)) > self._largest:
            raise Refused(
                f"{one_line(path)} has {size} bytes; the limit for tools is {self._largest}. The "
                "user can stage it with `assent stage`."
            )

    def content(self, path: bytes, limit: int = WHOLE_FILE) -> bytes:
        """Returns a file's whole content; refuses one that is larger than the limit."""
        held = bytearray()
        for chunk in self.chunks(path):
            held += chunk
            if len(held) > limit:
                raise Refused(f"{one_line(path)} is larger than {limit} bytes, which is the limit.")
        return bytes(held)

    def chunks(self, path: bytes) -> Iterator[bytes]:
        """Streams a file's content; of a symlink, its target."""
        if path in self._made or (path in self._drafted and not self._drafted[path]):
            raise NotFound(f"{one_line(path)} is not a file with the draft applied.")
        state = self._drafted.get(path)
        if state is None:
            return self._from_disk(path)
        if self._blobs.has(state.digest):
            return self._blobs.chunks(state.digest)
        return self._from_disk(self._sources().get(state, path))

    def _sources(self) -> dict[FileState, bytes]:
        """Returns where contents still are that the draft moves and that are not stored."""
        if self._origins is None:
            whole = self._operations
            staged = whole.operations if isinstance(whole, DraftIndex) else whole
            self._origins = content_sources(staged)
        return self._origins

    def is_file(self, path: bytes) -> bool:
        """Tells whether a path is a file or symlink, without reading it."""
        if path in self._drafted:
            return self._drafted[path] is not None
        took = path in self._made or any(above in self._drafted for above in ancestors(path))
        return not took and self._files.is_file(path)

    def on_disk(self, path: bytes) -> PathState:
        """Returns the current state of a path on disk, without the draft."""
        return self._files.read_states((path,))[path] if path else "folder"

    def names(self, folder: bytes) -> dict[bytes, bool]:
        """Returns the names in a folder, and whether each is a folder; empty for a file."""
        return self.first_names(folder, None)[0]

    def first_names(self, folder: bytes, most: int | None) -> tuple[dict[bytes, bool], int]:
        """Returns at most so many of the names in a folder on disk, and how many more there are.

        What each name is has to be looked up; those that are most likely folders come first.
        """
        if any(self._drafted.get(path) for path in (folder, *ancestors(folder))):
            return {}, 0
        prefix = folder + b"/" if folder else b""
        on_disk = self._on_disk_in(folder, self._files.names)
        more = 0 if most is None else max(0, len(on_disk) - most)
        if more:
            on_disk = sorted(on_disk, key=lambda name: b"." in name[1:])[:most]
        found = {
            name: self._is_folder(prefix + name) for name in on_disk if self._stands(prefix + name)
        }
        for path in (*self._made, *[p for p, after in self._drafted.items() if after]):
            if parent(path) == folder:
                found[path[len(prefix) :]] = path in self._made
        return dict(sorted(found.items())), more

    def below(self, folder: bytes) -> list[bytes]:
        """Lists the files and symlinks below a folder; empty if it is not a folder."""
        if any(self._drafted.get(path) for path in (folder, *ancestors(folder))):
            return []
        here = self._on_disk_in(folder, self._files.below)
        found = {path for path in here if self._stands(path)}
        found.update(p for p, after in self._drafted.items() if after and is_inside(p, folder))
        return sorted(found)

    def drafted(self) -> dict[bytes, FileState | None]:
        """Returns the draft's state of each path that it touches; None if it is deleted."""
        return dict(self._drafted)

    def link_target(self, path: bytes) -> bytes | None:
        """Returns the target of a symlink; None if it is not a symlink."""
        if path in self._drafted:
            state = self._drafted[path]
            return self.content(path) if state and state.kind == "link" else None
        if path in self._made or any(above in self._drafted for above in ancestors(path)):
            return None
        return self._files.link_target(path)

    def _stands(self, path: bytes) -> bool:
        """Tells whether a name on disk is unchanged by the draft."""
        if path in self._drafted:
            return False  # gone, or listed with the draft
        if any(above in self._drafted for above in ancestors(path)):
            return False
        return path not in self._pruned or bool(self.below(path))

    def _on_disk_in(self, folder: bytes, listed: Callable[[bytes], list[bytes]]) -> list[bytes]:
        """Lists what is on disk in a folder; empty if it was a file or symlink before the draft."""
        took = any(path in self._drafted for path in (folder, *ancestors(folder)))
        return [] if took else listed(folder)

    def _is_folder(self, path: bytes) -> bool:
        return path in self._made or not self._files.is_file(path)

    def _from_disk(self, path: bytes) -> Iterator[bytes]:
        with self._files.open(path) as file:
            size = FIRST_CHUNK
            while chunk := file.read(size):
                yield chunk
                size = CHUNK if len(chunk) == size else FIRST_CHUNK

    def _walk(self, typed: bytes) -> bytes:
        """Follows a path name by name, as the kernel would if the draft was on disk."""
        waiting = self._from_root(typed, typed, b"").split(b"/")[::-1]
        done, hops, leads_to = b"", 0, typed
        while waiting:
            name = waiting.pop()
            if name in (b"", b"."):
                continue
            if name == b"..":
                if not done:
                    raise LeftWorkspace(typed, leads_to, b"/".join((b"..", *waiting[::-1])))
                done = parent(done)
                continue
            path = self._spelled(done, name)
            target = self.link_target(path)
            if target is None:
                done = path
                continue
            hops, leads_to = hops + 1, target
            if hops > _HOPS:
                raise Refused(f"{display_path(typed)} is a symlink that points to itself.")
            done = b"" if target.startswith(b"/") else done
            rest = b"/".join(waiting[::-1])
            waiting += self._from_root(target, typed, rest).split(b"/")[::-1]
        return done

    def _from_root(self, path: bytes, typed: bytes, rest: bytes) -> bytes:
        """Returns a path relative to the root, still with its symlinks.

        `rest` is the part that is followed after it.
        """
        if not path.startswith(b"/"):
            return path
        parts = path.split(b"/")
        for end in range(1, len(parts) + 1):
            if self._on_disk(b"/".join(parts[:end])) == b"":
                return b"/".join(parts[end:])
        found = self._on_disk(path)  # a symlink outside may lead in
        if found is None:
            raise LeftWorkspace(typed, path, path + b"/" + rest if rest else path)
        return found

    def _on_disk(self, path: bytes) -> bytes | None:
        """Returns the workspace path of an absolute path; None if it points outside."""
        try:
            return parent(self._files.locate(path + b"/x"))
        except AssentError:
            return None

    def _spelled(self, folder: bytes, name: bytes) -> bytes:
        """Returns the path of a name; one that was shown with escapes means the real name."""
        prefix = folder + b"/" if folder else b""
        if b"\\" not in name:
            return prefix + name
        names = self.names(folder)
        if name in names:
            return prefix + name
        wanted = name.decode()
        meant = [real for real in names if wanted in (display_path(real), one_line(real))]
        return prefix + (meant[0] if len(meant) == 1 else name)


class LeftWorkspace(Refused):
    """A path points outside the workspace: what was typed, the step that left, and the target."""

    def __init__(self, typed: bytes, step: bytes, path: bytes) -> None:
        self.path = path
        words = f"{display_path(typed)} is outside the workspace."
        if typed != step:
            words = f"{display_path(typed)} points to {display_path(step)} outside the workspace."
        super().__init__(f"{words} {CANNOT_READ}")


def _typed(argument: str) -> bytes:
    """Returns what a model typed as bytes; refuses what is not a path."""
    typed = argument.encode("utf-8", "backslashreplace")
    if b"\0" in typed:
        raise Refused(f"{display_path(typed)} contains a null byte, which file names cannot.")
    if typed.count(b"/") > MAX_FOLDERS:
        raise Refused(f"The path has more than {MAX_FOLDERS} folders.")
    return typed
