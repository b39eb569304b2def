"""The overlay: the person's files as they will be, with the draft on top; it only reads."""

from collections.abc import Callable, Iterator, Sequence

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
from assent.core.plan.operation import FileState, Operation, RunCommand, footprint
from assent.core.run.slot_move import PathState, prunable_folders
from assent.ports import BlobStore, WorkspaceFiles

CHUNK = 1 << 20
WHOLE_FILE = 16 << 20  # bytes that a tool may hold at once
OUTPUT = STATE + b"/output"

_HOPS = 40  # symlinks followed before it counts as a loop, as the kernel does


class Overlay:
    """Files with the draft applied. A path is a workspace path; only `locate` follows symlinks."""

    def __init__(
        self,
        files: WorkspaceFiles,
        blobs: BlobStore,
        operations: Sequence[Operation] = (),
        readable_own: Sequence[bytes] = (),
        largest: int = 0,
    ) -> None:
        """With `largest`, a file of more bytes is refused before all of it has to be read."""
        self._files = files
        self._largest = largest
        self._blobs = blobs
        self._own = (OUTPUT, *readable_own)
        self._drafted: dict[bytes, FileState | None] = {}
        self._origins = content_sources(operations)  # where a moved file's content still lies
        self.has_links = False  # whether the draft touches a symlink, so that paths lead elsewhere
        for path, before, after in [step for op in operations for step in footprint(op)]:
            self._drafted[path] = after
            self.has_links |= "link" in (before and before.kind, after and after.kind)
        # Folders that the draft makes, and those that go if it leaves them empty.
        coming = [path for path, after in self._drafted.items() if after]
        self._made = {above for path in coming for above in ancestors(path)}
        moving = [op for op in operations if not isinstance(op, RunCommand)]
        self._pruned = frozenset(prunable_folders(moving))

    def locate(self, argument: str) -> bytes:
        """Returns the real path of what a model typed: from the root, or absolute and inside.

        Symlinks are followed; what lies outside the workspace is refused, with its name.
        """
        path = self._walk(_typed(argument))
        if is_inside(path, STATE) and not any(is_inside(path, own) for own in self._own):
            raise Refused(f"{display_path(path)} is Assent's own; it holds nothing of the project.")
        return path

    def follow(self, path: bytes) -> bytes:
        """Returns where a path of the workspace leads; what it leads to outside is refused."""
        return self._walk(path)

    def outside_target(self, argument: str) -> bytes | None:
        """Returns where a path leads to outside, absolute or from the root; None if it stays."""
        try:
            self._walk(_typed(argument))
        except _LeftWorkspace as left:
            return left.path
        return None

    def state(self, path: bytes) -> PathState:
        """Returns what stands under a name."""
        if not path or path in self._made:
            return "folder"
        if path in self._drafted:
            return self._drafted[path]
        if any(above in self._drafted for above in ancestors(path)):
            return None  # a file takes, or took, the place of a folder on the way
        self._check_size(path)
        seen = self._files.read_states((path,))[path]
        if seen == "folder" and path in self._pruned and not self.below(path):
            return None
        return seen

    def _check_size(self, path: bytes) -> None:
        if self._largest and (size := self._files.size(path)) > self._largest:
            raise Refused(
                f"{one_line(path)} has {size} bytes; tools work with files of at most "
                f"{self._largest}. A person can stage it by hand, with `assent stage`."
            )

    def content(self, path: bytes, limit: int = WHOLE_FILE) -> bytes:
        """Returns a file's whole content; refuses one that is larger than the limit."""
        held = bytearray()
        for chunk in self.chunks(path):
            held += chunk
            if len(held) > limit:
                raise Refused(f"{one_line(path)} has more than {limit} bytes; that is too much.")
        return bytes(held)

    def chunks(self, path: bytes) -> Iterator[bytes]:
        """Streams a file's content; of a symlink, its target."""
        if path in self._made or (path in self._drafted and not self._drafted[path]):
            raise NotFound(f"{one_line(path)} is no file, with the draft applied.")
        state = self._drafted.get(path)
        if state is None:
            return self._from_disk(path)
        if self._blobs.has(state.digest):
            return self._blobs.chunks(state.digest)
        return self._from_disk(self._origins.get(state, path))

    def is_file(self, path: bytes) -> bool:
        """Tells whether a file or symlink stands there, without reading it."""
        if path in self._drafted:
            return self._drafted[path] is not None
        took = path in self._made or any(above in self._drafted for above in ancestors(path))
        return not took and self._files.is_file(path)

    def on_disk(self, path: bytes) -> PathState:
        """Returns what stands under a name now, before the draft."""
        return self._files.read_states((path,))[path] if path else "folder"

    def names(self, folder: bytes) -> dict[bytes, bool]:
        """Returns the names in a folder, and whether each is a folder; nothing if it is none."""
        if any(self._drafted.get(path) for path in (folder, *ancestors(folder))):
            return {}
        prefix = folder + b"/" if folder else b""
        found = {
            name: self._is_folder(prefix + name)
            for name in self._on_disk_in(folder, self._files.names)
            if self._stands(prefix + name)
        }
        for path in (*self._made, *[p for p, after in self._drafted.items() if after]):
            if parent(path) == folder:
                found[path[len(prefix) :]] = path in self._made
        return dict(sorted(found.items()))

    def below(self, folder: bytes) -> list[bytes]:
        """Lists the files and symlinks below a folder; nothing if it is none."""
        if any(self._drafted.get(path) for path in (folder, *ancestors(folder))):
            return []
        here = self._on_disk_in(folder, self._files.below)
        found = {path for path in here if self._stands(path)}
        found.update(p for p, after in self._drafted.items() if after and is_inside(p, folder))
        return sorted(found)

    def drafted(self) -> dict[bytes, FileState | None]:
        """Returns what the draft makes of each path that it touches; None: it is gone."""
        return dict(self._drafted)

    def link_target(self, path: bytes) -> bytes | None:
        """Returns where a symlink points to; None if it is none."""
        if path in self._drafted:
            state = self._drafted[path]
            return self.content(path) if state and state.kind == "link" else None
        if path in self._made or any(above in self._drafted for above in ancestors(path)):
            return None
        return self._files.link_target(path)

    def _stands(self, path: bytes) -> bool:
        """Tells whether a name that is on disk is still there as it is."""
        if path in self._drafted:
            return False  # gone, or listed with the draft
        if any(above in self._drafted for above in ancestors(path)):
            return False
        return path not in self._pruned or bool(self.below(path))

    def _on_disk_in(self, folder: bytes, listed: Callable[[bytes], list[bytes]]) -> list[bytes]:
        """Lists what is on disk in a folder; nothing in one where a file or symlink stood."""
        took = any(path in self._drafted for path in (folder, *ancestors(folder)))
        return [] if took else listed(folder)

    def _is_folder(self, path: bytes) -> bool:
        return path in self._made or not self._files.is_file(path)

    def _from_disk(self, path: bytes) -> Iterator[bytes]:
        with self._files.open(path) as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def _walk(self, typed: bytes) -> bytes:
        """Follows a path name by name, as the kernel would with the draft on disk."""
        waiting = self._from_root(typed, typed, b"").split(b"/")[::-1]
        done, hops, leads_to = b"", 0, typed
        while waiting:
            name = waiting.pop()
            if name in (b"", b"."):
                continue
            if name == b"..":
                if not done:
                    raise _LeftWorkspace(typed, leads_to, b"/".join((b"..", *waiting[::-1])))
                done = parent(done)
                continue
            path = self._spelled(done, name)
            target = self.link_target(path)
            if target is None:
                done = path
                continue
            hops, leads_to = hops + 1, target
            if hops > _HOPS:
                raise Refused(f"{display_path(typed)} is a symlink that leads back to itself.")
            done = b"" if target.startswith(b"/") else done
            rest = b"/".join(waiting[::-1])
            waiting += self._from_root(target, typed, rest).split(b"/")[::-1]
        return done

    def _from_root(self, path: bytes, typed: bytes, rest: bytes) -> bytes:
        """Returns a path as seen from the root, still with its symlinks; it may be relative.

        The rest is what is to be followed after it.
        """
        if not path.startswith(b"/"):
            return path
        parts = path.split(b"/")
        for end in range(1, len(parts) + 1):
            if self._on_disk(b"/".join(parts[:end])) == b"":
                return b"/".join(parts[end:])
        found = self._on_disk(path)  # a symlink outside may lead in
        if found is None:
            raise _LeftWorkspace(typed, path, path + b"/" + rest if rest else path)
        return found

    def _on_disk(self, path: bytes) -> bytes | None:
        """Returns where an absolute path leads in the workspace; None if it leads out of it."""
        try:
            return parent(self._files.locate(path + b"/x"))
        except AssentError:
            return None

    def _spelled(self, folder: bytes, name: bytes) -> bytes:
        """Returns the path of a name; one that was shown with escapes means what it stands for."""
        prefix = folder + b"/" if folder else b""
        if b"\\" not in name:
            return prefix + name
        names = self.names(folder)
        if name in names:
            return prefix + name
        wanted = name.decode()
        meant = [real for real in names if wanted in (display_path(real), one_line(real))]
        return prefix + (meant[0] if len(meant) == 1 else name)


class _LeftWorkspace(Refused):
    """A path leads out of the workspace: what was typed, the step that left, and where to."""

    def __init__(self, typed: bytes, step: bytes, path: bytes) -> None:
        self.path = path
        words = f"{display_path(typed)} lies outside the workspace, where nothing is read."
        if typed != step:
            words = f"{display_path(typed)} leads to {display_path(step)} outside the workspace. "
            words += "Nothing there is read."
        super().__init__(words)


def _typed(argument: str) -> bytes:
    """Returns what a model typed as bytes; refuses what is no path."""
    typed = argument.encode("utf-8", "backslashreplace")
    if b"\0" in typed:
        raise Refused(f"{display_path(typed)} holds a zero byte; no file has such a name.")
    if typed.count(b"/") > MAX_FOLDERS:
        raise Refused(f"A path has at most {MAX_FOLDERS} folders here; this one has more.")
    return typed
