"""Opens an engine: chooses every concrete class that it works with."""

import getpass
import os
from functools import partial
from pathlib import Path

from assent.app.settings import load_settings, located, places_here
from assent.config.places import Places, private_paths
from assent.config.settings import Settings
from assent.core.paths import normal
from assent.engine.doors import Doors, NoHooks, Place
from assent.engine.engine import Engine
from assent.execute.executor import Executor
from assent.ports import Hooks, Signer


def open_engine(folder: str, *, lenient: bool = False) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine for the workspace around a folder, with what a person should know.

    Leniently, a project's configuration that cannot be used is a warning and no error.
    """
    return open_engine_at(folder, places_here(), lenient=lenient)


def open_engine_at(
    folder: str, here: Places, *, lenient: bool = False
) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine with state and configuration at given places."""
    cwd, root = located(folder)
    loaded = load_settings(root, here, lenient=lenient)
    return engine_of(cwd, root, here, loaded.settings), loaded.warnings


def engine_of(cwd: bytes, root: bytes, here: Places, settings: Settings) -> Engine:
    """Puts an engine together: for a person in the folder `cwd` of the workspace `root`."""
    from assent.store.blobs import FileBlobs
    from assent.store.clock import SystemClock
    from assent.store.locks import FileLocks
    from assent.store.sqlite import SqliteStore
    from assent.workspace.hands import LocalHands
    from assent.workspace.local import LocalFiles
    from assent.workspace.projection import LocalProjection
    from assent.workspace.states import Digests

    plan_dir = normal(os.fsencode(settings.plan.dir))
    blobs = FileBlobs(here.state / "blobs")
    digests = Digests()  # what reading has hashed, applying need not hash again
    doors = Doors(
        store=SqliteStore(here.state / "log.db"),
        blobs=blobs,
        signer=LateSigner(here.state / "key"),
        locks=FileLocks(here.state / "locks"),
        clock=SystemClock(),
        files=LocalFiles(root, cwd, digests=digests),
        projection=LocalProjection(root, plan_dir),
        executor=partial(Executor, LocalHands(root, digests=digests), blobs),
        hooks=_hooks(root, here, settings) if settings.hooks else NoHooks(),
    )
    place = Place(
        root=root,
        inode=os.stat(root).st_ino,
        plan_dir=plan_dir,
        user=_user(),
        expires_s=settings.approve.expires_s,
        private=private_paths(here, root, Path.home() / ".config" / "opencode"),
        export=os.fsencode(settings.plan.export),
        staging=settings.plan.staging,
        modes=settings.modes,
    )
    return Engine(doors, place)


def _hooks(root: bytes, here: Places, settings: Settings) -> Hooks:
    """Returns hooks that are loaded with the first thing to hear, and where there are any."""
    from assent.app.late import LateHooks

    def make() -> Hooks:
        from assent.app.hooks import open_hooks

        return open_hooks(root, here, settings, _user())

    return LateHooks(make)


def may_approve_without_terminal(folder: str, *, lenient: bool = False) -> bool:
    """Tells whether the user's configuration lets a full digest approve without a question."""
    _, root = located(folder)
    return load_settings(root, places_here(), lenient=lenient).settings.approve.without_terminal


class LateSigner:
    """Loads the signing library when something is signed or verified, and not before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._signer: Signer | None = None

    def key(self) -> str:
        return self._real().key()

    def sign(self, payload: bytes) -> str:
        return self._real().sign(payload)

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        return self._real().verify(key, payload, signature)

    def _real(self) -> Signer:
        if self._signer is None:
            from assent.store.keys import FileSigner

            self._signer = FileSigner(self._path)
        return self._signer


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
