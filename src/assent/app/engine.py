"""Opens an engine: chooses every concrete class that it works with."""

import hashlib
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from assent.app.held import LateRules
from assent.app.machine import MACHINE
from assent.app.settings import load_settings, located, places_here
from assent.config.places import Places, private_paths
from assent.config.settings import Settings
from assent.core.changes import Bounds
from assent.core.command_line import CommandLine
from assent.core.errors import UsageError
from assent.core.paths import normal
from assent.core.process import Hold
from assent.engine.doors import Doors, NoHooks, Place, Retention
from assent.engine.engine import Engine
from assent.execute.executor import Executor
from assent.ports import Blobs, Commander, Files, Hooks, Keys, Signer

MOUNT_POINTS = "mountpoints"  # where the state keeps which ones stand in which workspace


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
    from assent.store.collecting import BlobCollector
    from assent.store.locks import FileLocks
    from assent.store.sqlite import SqliteStore
    from assent.workspace.branch import repository
    from assent.workspace.hands import LocalHands
    from assent.workspace.local import LocalFiles
    from assent.workspace.projection import LocalProjection
    from assent.workspace.spares import LocalSpares
    from assent.workspace.states import Digests

    plan_dir = normal(os.fsencode(settings.plan.dir))
    blobs = FileBlobs(here.state / "blobs")
    digests = Digests()  # what reading has hashed, applying need not hash again
    files = LocalFiles(root, cwd, digests=digests)
    place = _place(root, plan_dir, here, settings)
    spares = LocalSpares(os.fsencode(here.state / "spares"), place.retention.spares)
    hands = LocalHands(root, digests=digests, spares=spares)
    rules = LateRules(root, here)
    commander = _commander(rules, files, blobs, place)
    doors = Doors(
        store=SqliteStore(here.state / "log.db"),
        blobs=blobs,
        signer=LateSigner(here.state / "key"),
        locks=FileLocks(here.state / "locks"),
        clock=SystemClock(MACHINE.get().nanoseconds),
        files=files,
        projection=LocalProjection(root, plan_dir),
        executor=partial(Executor, hands, blobs, commander=commander),
        commander=commander,
        hooks=_hooks(root, here, settings) if settings.hooks else NoHooks(),
        collector=BlobCollector(here.state / "blobs"),
        spares=spares,
        keys=LateKeys(here, root, settings.keys),
        read_line=partial(_read_line, os.fsdecode(root)),
        rules=rules,
        unheld=_unheld,
        repository=partial(repository, root),
    )
    engine = Engine(doors, place)
    engine.swept = _swept(root, here)
    return engine


def folder_name(root: bytes) -> str:
    """Returns the name of a workspace's folder where the state keeps one for each."""
    return hashlib.sha256(root).hexdigest()[:32]


def _swept(root: bytes, here: Places) -> tuple[bytes, ...]:
    """Removes the empty folders that a command left which was killed; returns what it removed."""
    folder = here.state / MOUNT_POINTS / folder_name(root)
    try:
        if not os.listdir(folder):
            return ()
    except OSError:
        return ()
    from assent.sandbox.running.mountpoints import MountPoints

    found = MountPoints(os.fspath(folder)).sweep()
    return tuple(path[len(root) :].lstrip(b"/") for path in found)


def _place(root: bytes, plan_dir: bytes, here: Places, settings: Settings) -> Place:
    undo, machine = settings.undo, MACHINE.get()
    known_as, inode = machine.identity(root)
    return Place(
        root=root,
        inode=inode,
        plan_dir=plan_dir,
        user=machine.user(),
        expires_s=settings.approve.expires_s,
        private=private_paths(here, root, Path.home() / ".config" / "opencode"),
        export=os.fsencode(settings.plan.export),
        staging=settings.plan.staging,
        max_file=settings.stage.max_file_mb << 20,
        commit=settings.plan.commit,
        bounds=Bounds(undo.file_mb << 20, undo.total_mb << 20, undo.files),
        modes=settings.modes,
        retention=Retention(undo.keep_days, undo.keep_mb << 20, undo.spare_mb << 20),
        independent=_independent(root, here, settings),
        account=machine.account(),
        known_as=known_as,
    )


def _commander(rules: LateRules, files: Files, blobs: Blobs, place: Place) -> Commander:
    """Returns what runs the commands of plans; most builds have none, and never load it."""
    from assent.app.commander import LateCommander

    def make() -> Commander:
        from assent.engine.run.commanding import ProcessCommander

        return ProcessCommander(rules.process(), files, blobs, place, rules)

    return LateCommander(make)


def _unheld() -> str:
    """Says why no sandbox holds here; nothing where one does, or nobody has tried yet."""
    from assent.app.standing import known_standing

    standing = known_standing()
    return "" if standing is None or standing.hold is Hold.HELD else standing.reason


def _read_line(root: str, text: str) -> CommandLine:
    """Reads a command line by tables and a grammar that are loaded for the first one."""
    from assent.gate.shell.lines import read_line

    return read_line(text, root=root, home=str(Path.home()))


def _hooks(root: bytes, here: Places, settings: Settings) -> Hooks:
    """Returns hooks that are loaded with the first thing to hear, and where there are any."""
    from assent.app.late import LateHooks

    user = MACHINE.get().user  # as of now: the first thing to hear may happen in another thread

    def make() -> Hooks:
        from assent.app.hooks import open_hooks

        return open_hooks(root, here, settings, user())

    return LateHooks(make)


def may_approve_without_terminal(folder: str, *, lenient: bool = False) -> bool:
    """Tells whether the user's configuration lets a full digest approve without a question."""
    _, root = located(folder)
    return load_settings(root, places_here(), lenient=lenient).settings.approve.without_terminal


def _independent(root: bytes, here: Places, settings: Settings) -> bool | tuple[str, ...]:
    """Returns for which risks two people are needed; the system's file is rarely there."""
    own = settings.approve.independent
    try:
        if own is True or not here.system.exists():
            return own
        from assent.app.keyring import independence

        return independence(root, here, own)
    except (UsageError, OSError):
        return True  # what cannot be read could say anything: nobody approves alone


class LateKeys:
    """Implements ports.Keys; reads lists and loads the library with the first question."""

    def __init__(self, here: Places, root: bytes, of_user: Mapping[str, str]) -> None:
        self._made = (here, root, of_user)
        self._keys: Keys | None = None

    def trusted(self, key: str) -> bool:
        return self._real().trusted(key)

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        return self._real().verify(key, payload, signature)

    def _real(self) -> Keys:
        if self._keys is None:
            from assent.app.keyring import ListedKeys

            self._keys = ListedKeys(*self._made)
        return self._keys


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
