"""Chooses how copies of a workspace are made: by a trial, whose result is kept with its reason."""

import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from errno import EPERM
from typing import Final

from assent.core.errors import without_scratch_copy
from assent.core.paths import one_line
from assent.core.permission.rule import PathLimits
from assent.core.scratch import (
    TEMPORARY_PREFIX,
    ScratchBackend,
    ScratchBackendName,
    ScratchInfo,
    ScratchLimits,
)
from assent.core.shell.process import SandboxState
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.scratch.choice import (
    BackendChoice,
    ScratchPlaces,
    keep_choice,
    known_choice,
    mounts_below,
)
from assent.sandbox.scratch.copy import CopiedLayer, quiet
from assent.sandbox.scratch.folder_tree import take_out_of_copy
from assent.sandbox.scratch.folders import (
    CopyFolders,
    close_to_others,
    make_private_folder,
    not_made,
)
from assent.sandbox.scratch.layer import CopyLayer, Progress
from assent.sandbox.scratch.overlay import (
    UPPER,
    MountNamespace,
    OverlayFailed,
    OverlayLayer,
    make_overlay_folder,
    namespaces,
)
from assent.sandbox.scratch.scratch import CopyPaths, LocalScratchCopy

_TRIAL: Final = b'cd "$0" && : > "$1" && mkdir "$1.d" && rmdir "$1.d" && mv "$1" "$1.kept"'
DOCTOR: Final = "assent doctor"
_SECONDS: Final = 20
_LONGEST: Final = 200


class ScratchCopies:
    """The copies of one workspace: opens, lists and removes them."""

    def __init__(
        self,
        paths: CopyPaths,
        places: ScratchPlaces,
        limits: ScratchLimits,
        open_process: Callable[[], LocalProcessRunner],
        environment: Mapping[str, str] | None = None,
        only: ScratchBackendName | None = None,
    ) -> None:
        """With `only`, no other backend is used; for tests and for the doctor."""
        self._paths, self._places, self._limits = paths, places, limits
        self._open_process, self._environment, self._only = open_process, environment, only
        self._process: LocalProcessRunner | None = None
        self._choice: BackendChoice | None = None

    def backend(self) -> ScratchBackend:
        """Tells how copies are made here; the first time after a boot by a trial."""
        return self._chosen().backend

    def known_backend(self) -> ScratchBackend | None:
        """Returns the choice of an earlier trial, if it still counts."""
        found = None if self._only else known_choice(self._paths.root, self._places)
        return found.backend if found is not None else None

    def open(
        self, name: str, progress: Progress = quiet, fence: PathLimits | None = None
    ) -> LocalScratchCopy:
        """Opens the copy of a session, and makes it if there is none; `fence` also hides files.

        Leftovers are removed first. Raises Refused where no copy is possible, and Busy if another
        process uses it.
        """
        self.sweep()
        choice = self._chosen()
        if choice.backend.name == "none":
            why = choice.backend.reason.rstrip(".")
            help = self.process.sandbox_status().next or DOCTOR
            raise without_scratch_copy(f"No scratch copy is possible here: {why}.", help)
        place = os.fsencode(choice.backend.place)
        _check_private(place)
        folders = CopyFolders(place)
        whole = choice.backend.name == "overlay"
        root = self._paths.root
        folder = folders.acquire(name, root, choice.backend.name, complete=whole)
        layer: CopyLayer
        try:
            if whole:
                brief = name.startswith(TEMPORARY_PREFIX)  # after a crash it is a leftover
                namespace = MountNamespace(user=choice.user)
                layer = OverlayLayer(folder.path, root, namespace, volatile=brief)
            else:
                layer = CopiedLayer(folder.path, root, progress, warm=not folder.fresh)
        except OSError as error:
            folder.let_go()
            raise not_made(error) from error
        process = self.process if fence is None else self.process.with_path_limits(fence)
        return LocalScratchCopy(
            process, self._paths, layer, folder, folders, choice.backend, self._limits,
            self._environment,
        )  # fmt: skip

    def infos(self, *, sizes: bool = True) -> list[ScratchInfo]:
        """Lists the copies on disk, those used last first."""
        places = map(CopyFolders, self._places.all())
        return [info for folders in places for info in folders.infos(sizes=sizes)]

    def check_known(self, names: Iterable[str]) -> None:
        """Raises NotFound unless there is a copy of each of these names."""
        known = {info.name for info in self.infos(sizes=False)}
        for name in names:
            if name not in known:
                raise CopyFolders(self._places.disk).unknown(name)

    def remove(self, name: str) -> None:
        """Removes a copy from the disk; raises NotFound or Busy."""
        for place in self._places.all():
            folders = CopyFolders(place)
            if any(info.name == name for info in folders.infos(sizes=False)):
                folders.remove(name)
                return
        CopyFolders(self._places.disk).remove(name)

    def sweep(self) -> list[str]:
        """Removes what crashes left, and copies that were not used for `scratch.keep_days`.

        Those of other workspaces, too: they may never be opened again.
        """
        removed: list[str] = []
        for place in self._places.all():
            for each in _siblings(place):
                removed += CopyFolders(each).sweep(self._limits, time.time())
        return removed

    @property
    def process(self) -> LocalProcessRunner:
        if self._process is None:
            self._process = self._open_process()
        return self._process

    def _chosen(self) -> BackendChoice:
        if self._choice is None:
            known = None if self._only else known_choice(self._paths.root, self._places)
            self._choice = known or self._tried()
            if not known and not self._only and self._choice.backend.name != "none":
                with suppress(OSError):  # then the next process tries again
                    make_private_folder(self._places.disk)
                keep_choice(self._paths.root, self._places, self._choice)
        return self._choice

    def _tried(self) -> BackendChoice:
        standing = self.process.sandbox_status()
        if standing.hold is not SandboxState.HELD:
            reason = standing.reason or "The sandbox does not work."
            return BackendChoice(ScratchBackend("none", reason))
        reason = ""
        if self._only != "copy":
            reason = unsuitable(self._paths.root)
            for place in () if reason else self._places.all():
                for user, namespace in _ways():
                    if not (failed := try_overlay(self._paths.root, place, namespace)):
                        where = os.fsdecode(place)
                        why = f"In memory: {reason}" if place != self._places.disk else ""
                        return BackendChoice(ScratchBackend("overlay", why, where), user)
                    reason = reason or failed
        if self._only == "overlay":
            return BackendChoice(ScratchBackend("none", reason))
        return BackendChoice(ScratchBackend("copy", reason, os.fsdecode(self._places.disk)))


def _ways() -> list[tuple[bool, MountNamespace]]:
    ways = namespaces()
    return [(len(ways) == 1 or number > 0, way) for number, way in enumerate(ways)]


def unsuitable(root: bytes) -> str:
    """Says why no overlay can be mounted over a workspace, as far as that shows without a trial."""
    if inside := mounts_below(root):
        name = one_line(inside[0][len(root) + 1 :])
        return f"{name} in the workspace is a mount of its own, which an overlay would not show."
    seen = os.stat(root)
    if os.geteuid() and (seen.st_uid, seen.st_gid) != (os.geteuid(), os.getegid()):
        return "The workspace belongs to another user or group."
    return ""


def try_overlay(root: bytes, place: bytes, namespace: MountNamespace) -> str:
    """Mounts an overlay over a workspace and writes in it; says what failed, or nothing.

    What is written is in the upper folder only, which is checked, and is removed again.
    """
    mark = b".assent-" + os.urandom(8).hex().encode()
    folder = place + b"/.new-" + os.urandom(8).hex().encode()
    try:
        make_private_folder(place)
        if not _is_ours(os.path.dirname(place)) or not _is_ours(place):
            return f"{one_line(place)} belongs to another user."
        os.mkdir(folder, 0o700)
        try:
            make_overlay_folder(folder, root)
            with namespace.held(root, folder) as mount:
                done = subprocess.run(
                    [*mount.enter, b"/bin/sh", b"-c", _TRIAL, mount.source, mark],
                    cwd="/",
                    env={"LC_ALL": "C"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=_SECONDS,
                )
            if done.returncode:
                return _words(done.stderr)
            kept = os.path.lexists(folder + b"/" + UPPER + b"/" + mark + b".kept")
            if not kept or os.path.lexists(root + b"/" + mark + b".kept"):
                return "What was written into the overlay did not stay in its upper folder."
        finally:
            _remove(place, os.path.basename(folder))
    except (OverlayFailed, OSError, subprocess.SubprocessError) as error:
        return f"An overlay cannot be mounted here: {str(error)[:_LONGEST].rstrip('.')}."
    return ""


def _remove(place: bytes, name: bytes) -> None:
    at = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        take_out_of_copy(name, at)
    finally:
        os.close(at)


def _words(said: bytes) -> str:
    text = " ".join(said.decode("utf-8", "replace").split())[:_LONGEST]
    return f"Nothing can be written in an overlay here: {text or 'no message'}."


def _siblings(place: bytes) -> Iterable[bytes]:
    """Returns the folders of all workspaces at a place."""
    above = os.path.dirname(place)
    with suppress(OSError):
        close_to_others(above)
    if not _is_ours(above):
        return ()
    with os.scandir(above) as found:
        return [one.path for one in found if one.is_dir(follow_symlinks=False)]


def _check_private(place: bytes) -> None:
    """Makes the folder of copies private again; one of another user is not used."""
    try:
        make_private_folder(place)
    except OSError as error:
        raise not_made(error) from error
    for folder in (os.path.dirname(place), place):
        if not _is_ours(folder):
            raise not_made(OSError(EPERM, f"{one_line(folder)} belongs to another user"))


def _is_ours(folder: bytes) -> bool:
    try:
        seen = os.lstat(folder)
    except OSError:
        return False
    private = not stat.S_IMODE(seen.st_mode) & 0o077
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.geteuid() and private
