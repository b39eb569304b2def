"""Assent's own files in a workspace: plans, readable copies of state, a line of .gitignore."""

import errno
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from shlex import quote
from stat import S_ISLNK, S_ISREG
from threading import local
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from assent.core.decoding import decode_json
from assent.core.errors import AssentError, InvalidPlan, Refused, UsageError, WorkspaceError
from assent.core.ids import plan_name, session_name
from assent.core.paths import GIT, STATE, TREE, casefolded, display_path, is_inside, normalize
from assent.executor.disk import Disk, EntryKind, readable_error, readable_errors, symlink_in_path
from assent.executor.file_states import OPEN_READ
from assent.executor.folder_handles import FolderHandles
from assent.ports import PlanFile

# Reads and replaces Assent's own files in the workspace, always whole and never through a link.


P = ParamSpec("P")
R = TypeVar("R")

LIMIT = 1 << 20  # bytes of one file
MAX_IDLE = 4  # sets of open folders that are kept for later calls

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def check_size(path: bytes, size: int) -> None:
    """Refuses a file that is larger than Assent's own files can be."""
    if size > LIMIT:
        raise WorkspaceError(
            f"{display_path(path)} has {size} bytes; Assent reads at most {LIMIT} bytes of such a "
            "file. Make it smaller. Nothing was changed."
        )


def _on_own_folders(
    method: Callable[Concatenate["ProjectionFiles", P], R],
) -> Callable[Concatenate["ProjectionFiles", P], R]:
    """Gives a call folder handles that no other thread uses: one is good until the next call."""

    @wraps(method)
    def on_own_folders(tree: "ProjectionFiles", /, *args: P.args, **more: P.kwargs) -> R:
        with tree.folders_taken():
            return method(tree, *args, **more)

    return on_own_folders


class ProjectionFiles:
    """Small files below a root. Every call sees the folders as they are then.

    It may be used from several threads: sessions work at the same time, and none waits for the
    disk of another one.
    """

    def __init__(self, root: bytes, disk: Disk) -> None:
        self._disk = disk
        self._root = root
        self._idle: list[FolderHandles] = []
        self._of_thread = local()

    @property
    def _folders(self) -> FolderHandles:
        """The handles of the call that this thread is in."""
        taken: FolderHandles = self._of_thread.folders
        return taken

    @contextmanager
    def folders_taken(self) -> Iterator[None]:
        """Takes handles for one call and what it calls itself."""
        mine = self._of_thread
        if getattr(mine, "folders", None) is not None:
            yield
            return
        try:
            mine.folders = self._idle.pop()
        except IndexError:
            mine.folders = FolderHandles(self._disk, self._root)
        try:
            yield
        finally:
            folders, mine.folders = mine.folders, None
            if len(self._idle) < MAX_IDLE:
                self._idle.append(folders)
            else:
                folders.forget()

    def close(self) -> None:
        """Closes the folders that are open; a later call opens them again."""
        while self._idle:
            self._idle.pop().forget()

    @_on_own_folders
    def make_folder(self, folder: bytes) -> None:
        """Creates a folder and those above it, if they are missing."""
        with readable_errors(folder):
            self._folders.forget()
            self._folders.make(folder)

    @_on_own_folders
    def entries(self, folder: bytes) -> list[tuple[bytes, EntryKind]]:
        """Lists a folder; nothing if it is missing."""
        with readable_errors(folder):
            self._folders.forget()
            try:
                return self._disk.scan(self._folders.open(folder))
            except FileNotFoundError:
                return []

    @_on_own_folders
    def find(self, path: bytes) -> os.stat_result | None:
        """Returns the state of a name, or None; refuses all but a file with a single link."""
        folder, _, name = path.rpartition(b"/")
        with readable_errors(path):
            self._folders.forget()
            try:
                found = self._disk.lstat(name, self._folders.open(folder))
            except FileNotFoundError:
                return None
        _refuse_links(path, found)
        return found

    @_on_own_folders
    def probe(self, path: bytes) -> os.stat_result | None:
        """Returns the state of a name, or None; refuses what could not be read."""
        if self.find(path) is None:
            return None
        with self._opened(path) as opened:
            return opened[1] if opened else None

    @_on_own_folders
    def read(self, path: bytes, check: Callable[[bytes, int], None] = check_size) -> bytes | None:
        """Returns a file's content, or None if there is none; `check` refuses its size."""
        if self.find(path) is None:
            return None
        with self._opened(path) as opened:
            if opened is None:
                return None
            fd, found = opened
            check(path, found.st_size)
            content = b"".join(iter(lambda: self._disk.read(fd, LIMIT), b""))
        check(path, len(content))
        return content

    @_on_own_folders
    def replace(self, path: bytes, content: bytes, *, durable: bool = True) -> None:
        """Replaces a file's content in one step; readers see the old or the new content."""
        found = self.find(path)
        folder, _, name = path.rpartition(b"/")
        draft = b".%s.%d.%d" % (name, os.getpid(), time.monotonic_ns())
        with readable_errors(path):
            self._folders.make(folder)
            at = self._folders.open(folder)
            try:
                self._write(draft, at, content, found, durable=durable)
                self._disk.rename(draft, at, name, at)
            except OSError:
                with suppress(OSError):
                    self._disk.unlink(draft, at)
                raise
            if durable:
                self._disk.fsync(at)

    @_on_own_folders
    def remove(self, path: bytes) -> None:
        """Removes a file if it is there."""
        if self.find(path) is None:
            return
        folder, _, name = path.rpartition(b"/")
        with readable_errors(path), suppress(FileNotFoundError):
            self._disk.unlink(name, self._folders.open(folder))

    @_on_own_folders
    def remove_folder(self, folder: bytes) -> None:
        """Removes a folder if it is there and empty."""
        above, _, name = folder.rpartition(b"/")
        with readable_errors(folder):
            self._folders.forget()
            try:
                self._disk.rmdir(name, self._folders.open(above))
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                    raise

    @contextmanager
    def _opened(self, path: bytes) -> Iterator[tuple[int, os.stat_result] | None]:
        """Opens a file; None if another process has just removed it."""
        folder, _, name = path.rpartition(b"/")
        with readable_errors(path):
            fd = None
            with suppress(FileNotFoundError):
                fd = self._disk.open(name, OPEN_READ, 0, self._folders.open(folder))
            if fd is None:
                yield None
                return
            try:
                found = self._disk.stat(fd)
                _refuse_links(path, found)
                yield fd, found
            finally:
                self._disk.close(fd)

    def _write(
        self, name: bytes, at: int, content: bytes, like: os.stat_result | None, *, durable: bool
    ) -> None:
        fd = self._disk.open(name, _CREATE, 0o666, at)
        try:
            if like is not None:
                self._disk.chmod(fd, like.st_mode & 0o777)
            rest = memoryview(content)
            while rest:
                rest = rest[self._disk.write(fd, rest) :]
            if durable:
                self._disk.fsync(fd)
        finally:
            self._disk.close(fd)


NOT_REGULAR = "is not a regular file; Assent keeps its own files there."


def _refuse_links(path: bytes, found: os.stat_result) -> None:
    if S_ISLNK(found.st_mode):
        refused = readable_error(symlink_in_path(path), path)
        raise Refused(refused.message, _aside(path))
    if not S_ISREG(found.st_mode):
        raise Refused(
            f"{display_path(path)} {NOT_REGULAR}",
            _aside(path),
        )
    if found.st_nlink > 1:  # 0: another process replaced it just now; what was opened is whole
        raise Refused(
            f"{display_path(path)} has {found.st_nlink} hard links; Assent's own files have only "
            "one.",
            _aside(path),
        )


def _aside(path: bytes) -> str:
    """Returns what to type to have the name free."""
    return f"mv {quote(display_path(path))} {quote(display_path(path))}.aside"


PLANS = b".opencode/plans"

_IGNORE = TREE + b"/.gitignore"
_AGENTS = TREE + b"/agents"
_SETTINGS = b".opencode/assent.toml"
_MARKER = STATE + b"/workspace.json"
_COPIES = STATE + b"/plans"

# As texts: `re` compiles each with its first use and keeps it, and what only reads needs few.
_PLAN_FILE = rb"(?s)PLAN_(.+)\.md"
_ID = r"[0-9a-z_-]{1,64}"
_COPY = r"([a-z0-9_-]+/)?[A-Za-z0-9_-][A-Za-z0-9_.-]*"
_HIDES = rb"!?((\*\*/|/)?assent/?(\*\*?)?|/?\*\*?)"  # `!`: a person decided otherwise


class _WorkspaceMarker(msgspec.Struct, frozen=True):
    workspace: str


class LocalProjection:
    """Implements Projection. What it writes grants nothing; little is read back."""

    def __init__(self, root: bytes, plan_dir: bytes = PLANS, disk: Disk | None = None) -> None:
        self._plans = _checked(plan_dir)
        self._tree = ProjectionFiles(root, disk or Disk())
        self._skipped: list[str] = []

    def close(self) -> None:
        """Closes the folders that are open; a later call opens them again."""
        self._tree.close()

    def prepare(self) -> None:
        """Creates the folders and the .gitignore line if they are missing."""
        for folder in (TREE, self._plans, STATE):
            self._tree.make_folder(folder)
        text = self._tree.read(_IGNORE) or b""
        wanted = hiding_state(text)
        if wanted != text:
            self._tree.replace(_IGNORE, wanted)

    def plan_path(self, session: str, name: str) -> bytes:
        """Returns where a plan's Markdown is; without a session, directly in the plans folder."""
        file = f"PLAN_{plan_name(name)}.md"
        below = f"{session_name(session)}/{file}" if session else file
        return self._plans + b"/" + below.encode()

    def find_plans(self, session: str = "") -> list[PlanFile]:
        """Lists the plan files, newest first; those that cannot be used are skipped."""
        self._skipped.clear()
        if session:
            return _newest_first(self._plans_of(session_name(session)))
        entries = self._tree.entries(self._plans)
        found = self._plans_among("", entries)
        for entry, kind in entries:
            owner = _name(session_name, entry)
            if owner and kind in ("folder", "link"):
                found += self._plans_of(owner)
        return _newest_first(found)

    def skipped(self) -> list[str]:
        """Describes which plan files could not be used at the last listing, and why."""
        return list(self._skipped)

    def read_plan(self, path: bytes) -> bytes | None:
        """Returns a plan file's bytes, or None if it is gone or outside plan.dir."""
        return None if self._session_of(path) is None else self._tree.read(path, _check_text)

    def write_plan(self, path: bytes, text: bytes) -> None:
        """Replaces a plan file."""
        if self._session_of(path) is None:
            raise Refused(
                f"{display_path(path)} is not in the plan folder: plan.dir was changed to "
                f"{display_path(self._plans)} after the plan was created. Nothing was written.",
                "assent plan new NAME",
            )
        _check_text(path, len(text))
        self._tree.replace(path, text)

    def delete_plan(self, path: bytes) -> None:
        """Removes a plan file, and its session's folder if that is left empty."""
        session = self._session_of(path)
        if session is None:
            return  # what lies outside plan.dir is not ours to remove
        self._tree.remove(path)
        if session:
            self._tree.remove_folder(self._plans + b"/" + session.encode())

    def write_state(self, plan_id: str, files: Mapping[str, bytes]) -> None:
        """Writes readable copies to the state folder; they grant nothing."""
        if not re.fullmatch(_ID, plan_id):
            raise Refused(f"{plan_id!a} is not a plan ID.")
        folder = _COPIES + b"/" + plan_id.encode()
        self._tree.make_folder(folder + b"/backups")
        for name, content in files.items():
            if not re.fullmatch(_COPY, name):
                raise Refused(f"{name!a} is not a valid name for a copy of a plan's state.")
            # Not synced: they are copies, and are written again with the next change.
            self._tree.replace(folder + b"/" + name.encode(), content, durable=False)

    def remove_state(self, plan_id: str, name: str) -> None:
        """Removes one of those copies, if it is there."""
        if not re.fullmatch(_ID, plan_id) or not re.fullmatch(_COPY, name):
            raise Refused(f"{plan_id!a} and {name!a} do not name a copy of a plan's state.")
        self._tree.remove(_COPIES + b"/" + plan_id.encode() + b"/" + name.encode())

    def remove_all_state(self, plan_id: str) -> None:
        """Removes all copies of a plan; what is not a copy stays, and so does its folder."""
        if not re.fullmatch(_ID, plan_id):
            raise Refused(f"{plan_id!a} is not a plan ID.")
        folder = _COPIES + b"/" + plan_id.encode()
        for name, kind in self._tree.entries(folder):
            if kind == "file":
                self._tree.remove(folder + b"/" + name)
            elif kind == "folder":
                self._tree.remove_folder(folder + b"/" + name)
        self._tree.remove_folder(folder)

    def tidy(self) -> bool:
        """Removes the tree if it contains no plan, no copy and nothing of anyone else's.

        Tells whether it removed anything.

        Only folders that are empty then are removed, so that a plan that another process makes at
        the same time stays.
        """
        for folder in (_COPIES, self._plans):
            if self._tree.entries(folder):
                return False
        own = {_COPIES, _MARKER, _IGNORE, STATE, self._plans}
        for folder in (TREE, STATE):
            if any(folder + b"/" + name not in own for name, _ in self._tree.entries(folder)):
                return False
        if self._tree.read(_IGNORE) not in (None, hiding_state(b"")):
            return False
        for folder, file in ((_COPIES, _MARKER), (STATE, b""), (self._plans, _IGNORE)):
            self._tree.remove_folder(folder)
            if file:
                self._tree.remove(file)
        self._tree.remove_folder(TREE)
        return True

    def read_agent(self) -> bytes | None:
        """Returns the plan agent's definition in the workspace, if it has one."""
        return self._tree.read(_AGENTS + b"/plan.md")

    def write_agent(self, text: bytes) -> None:
        """Writes the plan agent's definition."""
        self._tree.replace(_AGENTS + b"/plan.md", text)

    def write_settings(self, text: bytes) -> None:
        """Writes the project's configuration."""
        self._tree.replace(_SETTINGS, text)

    def marker(self) -> str:
        """Returns the workspace id stored in the workspace, or an empty string."""
        try:
            text = self._tree.read(_MARKER)
            found = decode_json(text or b"", _WorkspaceMarker).workspace
        except Refused:
            raise
        except (AssentError, msgspec.MsgspecError, UnicodeError):
            return ""
        return found if re.fullmatch(_ID, found) else ""

    def write_marker(self, workspace: str) -> None:
        """Stores the workspace's id in the workspace."""
        self._tree.replace(_MARKER, msgspec.json.encode(_WorkspaceMarker(workspace)) + b"\n")

    def _plans_of(self, session: str) -> list[PlanFile]:
        try:
            entries = self._tree.entries(self._plans + b"/" + session.encode())
        except AssentError as error:
            self._skip(error)
            return []
        return self._plans_among(session, entries)

    def _plans_among(self, session: str, entries: list[tuple[bytes, EntryKind]]) -> list[PlanFile]:
        found = []
        for entry, _ in entries:
            match = re.fullmatch(_PLAN_FILE, entry)
            name = _name(plan_name, match[1]) if match else ""
            if not name:
                continue
            path = self.plan_path(session, name)
            try:
                status = self._usable(path)
            except AssentError as error:
                self._skip(error)
                continue
            if status is not None:
                found.append(PlanFile(session, name, path, status.st_mtime))
        return found

    def _usable(self, path: bytes) -> os.stat_result | None:
        status = self._tree.probe(path)
        if status is not None:
            _check_text(path, status.st_size)
        return status

    def _skip(self, error: AssentError) -> None:
        self._skipped.append(f"Plan file skipped: {error.message}")

    def _session_of(self, path: bytes) -> str | None:
        """Returns the session in a plan file's path; None if no plan can lie there."""
        below = path.removeprefix(self._plans + b"/")
        session, _, file = below.rpartition(b"/")
        match = re.fullmatch(_PLAN_FILE, file)
        known = not session or _name(session_name, session)
        if below == path or not match or not _name(plan_name, match[1]) or not known:
            return None
        return session.decode()


def hiding_state(text: bytes) -> bytes:
    """Returns a .gitignore that hides the state folder, otherwise unchanged."""
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if any(re.fullmatch(_HIDES, line.rstrip(b" \r")) for line in lines):
        return text
    newline = b"\r\n" if b"\r\n" in text else b"\n"
    gap = b"" if not text or text.endswith(b"\n") else newline
    return text + gap + b"assent/" + newline


def _check_text(path: bytes, size: int) -> None:
    """Refuses a text that no person can review."""
    if size > LIMIT:
        raise InvalidPlan(
            f"{display_path(path)} has {size} bytes; a plan can have at most {LIMIT}."
        )


def _checked(plan_dir: bytes) -> bytes:
    """Refuses a place for plans outside the workspace, in git's data, or around our own state."""
    try:
        path = normalize(plan_dir)
    except Refused:
        path = b""
    if not path:
        raise Refused(
            f"plan.dir must be a folder inside the workspace; the default is {display_path(PLANS)}."
        )
    low = casefolded(path)
    if GIT in low.split(b"/") or is_inside(low, STATE) or is_inside(STATE, low):
        raise Refused(
            f"plan.dir cannot be {display_path(plan_dir)}; the default is {display_path(PLANS)}."
        )
    return path


def _newest_first(plans: list[PlanFile]) -> list[PlanFile]:
    return sorted(plans, key=lambda plan: (-plan.changed, plan.path))


def _name(check: Callable[[str], str], name: bytes) -> str:
    """Returns a valid name as text, and an empty string for all others."""
    try:
        return check(name.decode("ascii"))
    except (UsageError, UnicodeDecodeError):
        return ""
