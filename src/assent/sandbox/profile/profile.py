"""Sandbox profiles: what a program sees of this machine, and how that is determined."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.paths import ancestors, casefolded, display_path, is_inside, one_line
from assent.core.permission.rule import PathLimits
from assent.core.permission.sensitive_paths import configures_agents
from assent.sandbox.profile.exposure import exposure_limits
from assent.sandbox.profile.file_system import (
    Mount,
    covered_by,
    is_covered,
    local_devices,
    mounts,
    outermost_paths,
    read_table,
    symlink_chain,
)
from assent.sandbox.profile.git_dirs import GitDir, commit_git_dir, gitdirs
from assent.sandbox.profile.scanner import (
    LimitedPathFinder,
    OpenScanCache,
    no_scan_cache,
    secret_scanner,
)
from assent.sandbox.profile.toolchains import (
    active_environments,
    base_programs,
    is_python,
    known_folders,
    named_folders,
    path_folders,
    system_paths,
)


class SandboxProfile(msgspec.Struct, frozen=True):
    """What is visible in a sandbox; nothing else exists there.

    All paths are absolute and without a final `/`. The parents of each path are real folders; only
    a path of `shown` may itself be a symlink, which is created again inside and points to something
    that is shown too. What `masks` names is hidden last, over every other entry, so that nothing
    shows it again.
    """

    root: bytes
    home: bytes
    shown: tuple[bytes, ...] = ()
    masks: tuple[bytes, ...] = ()
    writable: bool = False
    # Of a writable workspace only: these stay read-only. They may be missing, because what can be
    # made later needs protection too. A mount needs an existing path, so the runner of the
    # program makes an empty folder for a missing one, mounts it read-only, and removes it after
    # the run. A folder above a mount can still be renamed away with all that is in it; so each
    # folder between the root and an entry of `kept` or `masks` is mounted on itself first.
    kept: tuple[bytes, ...] = ()
    ruled: frozenset[bytes] = frozenset()  # entries of `masks` and `kept` that a rule put there
    # To commit, without a writable workspace: git's own folders, and what in them stays as it is.
    opened: tuple[bytes, ...] = ()
    sealed: tuple[bytes, ...] = ()
    network: bool = False  # that of the machine, with its names and certificates
    chosen: tuple[bytes, ...] = ()  # real paths among `shown` that the user named
    # Where a copy of the workspace is that programs see under the path of the workspace. Nothing
    # of the workspace itself is then mounted, except what masks hide.
    source: bytes = b""

    def visible(self, path: bytes) -> bool:
        """Tells whether a program inside could read what a path resolves to."""
        return self.shows(os.path.realpath(path))

    def shows(self, path: bytes) -> bool:
        """Tells whether a path exists inside under this exact name; symlinks are not followed."""
        inside = {b"", path, *ancestors(path)}  # all folders that `is_inside` holds for
        if not inside.isdisjoint(self.masks):
            return False
        return self.root in inside or not inside.isdisjoint(self.shown)

    def hidden_below(self, folder: bytes) -> bytes | None:
        """Returns the first masked path in a folder; the mask over it, if it is masked itself."""
        real = os.path.realpath(folder)
        return next((m for m in self.masks if is_inside(m, real) or is_inside(real, m)), None)

    def closed(self) -> tuple[str, ...]:
        """Describes what in a writable workspace cannot change, or by a rule cannot be read."""
        orders = {path for path in self.kept if configures_agents(path[len(self.root) + 1 :])}
        kept = [(path, "a rule denies edits there") for path in self.kept if path not in orders]
        masked = [(path, "a rule hides it") for path in self.masks if path in self.ruled]
        ruled = [
            self._name(path) + (f" ({why})" if path in self.ruled else "")
            for path, why in (*kept, *masked)
        ]
        return (*ruled, *map(self._name, sorted(orders)))

    def _name(self, path: bytes) -> str:
        return one_line(path[len(self.root) + 1 :]) if path != self.root else "the workspace"


# Profile variants: with the machine's network, or with the access that a commit needs.


RESOLVER_FILES: Final = (
    b"/etc/resolv.conf",
    b"/etc/gai.conf",
)  # name resolution; certificates are always shown

# With these, the user's next git command would run something else, or work somewhere else.
_SEALED: Final = (
    b"hooks", b"info", b"commondir", b"gitdir", b"modules", b"worktrees", b"branches", b"remotes",
    b"objects/info",
)  # fmt: skip
_SETTINGS: Final = b"config"  # and `config.worktree`
_SHARED: Final = (b"objects", b"refs", b"logs", b"reftable")  # that worktrees write to


def with_network(profile: SandboxProfile) -> SandboxProfile:
    """Returns the profile with the machine's network and name resolution."""
    ways = [
        step
        for path in RESOLVER_FILES
        for step in symlink_chain(path)
        if not is_inside(step, profile.root)
    ]
    return msgspec.structs.replace(
        profile, shown=outermost_paths((*profile.shown, *ways)), network=True
    )


def in_copy(profile: SandboxProfile, source: bytes, gone: Iterable[bytes]) -> SandboxProfile:
    """Returns the profile of a copy: all of it can be written, and masks hide what they hide.

    `gone` are paths that do not exist in the copy, so that nothing can be mounted there.
    """
    lost = tuple(gone)
    masks = tuple(path for path in profile.masks if not any(is_inside(path, one) for one in lost))
    return msgspec.structs.replace(profile, writable=True, source=source, kept=(), masks=masks)


NO_REPOSITORY = "No Git repository for this workspace found; nothing can be committed."


def with_commit_access(profile: SandboxProfile) -> SandboxProfile:
    """Returns a profile that reads the workspace and writes what a commit needs, nothing else."""
    found = commit_git_dir(profile.root)
    if found is None:
        raise Refused(NO_REPOSITORY, "git init")
    if not os.path.lexists(profile.root + b"/.git"):
        # Git looks at every file when it writes its list of them; those beyond it cannot see here.
        raise Refused(
            "The workspace is inside a larger repository; commits are possible only from its top "
            "folder.",
            "git rev-parse --show-toplevel",
        )
    opened = _opened(found)
    if hidden := [path for path in opened if not profile.shows(path)]:
        raise Refused(
            f"{display_path(hidden[0])} is hidden in the sandbox; nothing can be committed."
        )
    return msgspec.structs.replace(profile, writable=False, opened=opened, sealed=_sealed(opened))


def _opened(git: GitDir) -> tuple[bytes, ...]:
    if git.own == git.common:
        return (git.own, git.own + b"/objects")  # a separate mount cannot be renamed away
    shared = [git.common + b"/" + name for name in _SHARED]
    return (git.own, *(path for path in shared if os.path.isdir(path)))


def _sealed(opened: Iterable[bytes]) -> tuple[bytes, ...]:
    found: list[bytes] = []
    for folder in opened:
        settings = [name for name in os.listdir(folder) if name.startswith(_SETTINGS)]
        names = (*settings, *_SEALED, *((b"info",) if folder.endswith(b"/objects") else ()))
        found += [folder + b"/" + name for name in names]
    return tuple(path for path in dict.fromkeys(found) if os.path.lexists(path))


# Builds profiles: what a program in the sandbox sees of this machine, and what is hidden.


# Hooks and settings in `.git` make git run programs, and so does a `commondir` put beside them;
# `.opencode` holds rules and plans. Nothing in them may appear, change or move away.
_KEPT = (b".git", b".opencode")


# Toolchains hold hundreds of thousands of files; what a person puts there lies near the top.
TOOLS_DEPTH = 3

# Each mask is a mount to make, and bubblewrap takes only so many arguments.
MAX_MASKS = 1000
MAX_PATH_LIMITS = 8  # that are remembered, each with the folders that were looked at


def _is_git(path: bytes, folder: bool) -> bool:
    return casefolded(path.rpartition(b"/")[2]) == b".git"


# Working in a repository below the workspace also runs what its own settings say.
GIT_LIMITS = PathLimits(keeps=_is_git, keeps_key=b"git")


class ProfileBuilder:
    """Builds profiles for one workspace. It remembers the last scan, so keep it for later calls."""

    def __init__(
        self,
        root: bytes,
        home: bytes,
        hidden: Sequence[bytes],
        environment: Mapping[str, str],
        show: Sequence[bytes] = (),
        scan_cache: OpenScanCache = no_scan_cache,
        caches: Sequence[bytes] = (),
    ) -> None:
        """`show` are further paths that the user wants programs to read, absolute.

        `scan_cache` opens what earlier processes found out about this workspace. `caches` are
        folders of package managers; they are shown where they exist, as those of toolchains are.
        """
        self._show = tuple(show)
        self._caches = tuple(caches)
        self._bounds = exposure_limits(root, home, hidden)
        self._places = (root, home, tuple(hidden))
        self._environment = environment
        self._scan_cache = scan_cache
        self._scanner = secret_scanner(scan_cache)
        self._links: dict[bytes, bytes] = {}  # seen while one profile is built
        self._fenced: dict[tuple[PathLimits, bytes], LimitedPathFinder] = {}

    def profile(self, *, writable: bool = False, fence: PathLimits | None = None) -> SandboxProfile:
        """Builds a profile from the disk as it is now; later files are seen by the next profile."""
        bounds = self._bounds = exposure_limits(*self._places)
        self._links.clear()
        system = [step for path in system_paths() for step in symlink_chain(path, self._links)]
        programs = self._trails(path_folders(self._environment), known=False)
        git = [path for path in gitdirs(bounds.root) if self._may_show_git(path)]
        tools = (*programs, *self._toolchains(programs), *self._trails(self._caches, known=True))
        named = [path for path, refused in self.chosen().items() if not refused]
        chosen = [step for path in named for step in symlink_chain(path)]
        exact = frozenset(os.path.realpath(path) for path in named)
        shown = _around(bounds.root, (*system, *tools, *git, *chosen))
        in_sight = frozenset((bounds.root, *shown))
        table = mounts(read_table())
        devices = local_devices(table)
        first = self._first_masks(in_sight, table)
        foreign = frozenset(system)
        own = [path for path in tools if not is_covered(path, foreign)]
        opened = [path for path in chosen if os.path.isdir(path) and not os.path.islink(path)]
        self._scanner.recall(devices)
        second = self._scanned((bounds.root, *git, *opened), own, first)
        self._scanner.keep()
        hidden, closed = self._ruled(fence, devices, writable=writable)
        repositories = self._found(GIT_LIMITS).read_only(devices) if writable else []
        others = [path for path in second if self._may_mask(path, foreign)]
        masks = outermost_paths(
            path
            for path in (*first, *others, *hidden)
            if is_covered(path, in_sight) and not is_inside(bounds.root, path) and path not in exact
        )
        ours = (bounds.root, *opened)
        _refuse_many([path for path in (*masks, *closed) if is_covered(path, ours)])
        return SandboxProfile(
            root=bounds.root,
            home=bounds.home,
            shown=shown,
            masks=masks,
            writable=writable,
            kept=self._kept([*closed, *repositories]) if writable else (),
            ruled=frozenset((*hidden, *closed)).difference(first, others),
            chosen=tuple(sorted(exact)),
        )

    def chosen(self) -> dict[bytes, str]:
        """Returns what the user chose to show, and why each is not shown; empty if it is."""
        return {path: self._bounds.refusal(symlink_chain(path)) for path in self._show}

    def _ruled(
        self, fence: PathLimits | None, devices: frozenset[int], *, writable: bool
    ) -> tuple[list[bytes], list[bytes]]:
        """Returns what rules hide in the workspace, and what they keep as it is."""
        if fence is None:
            return [], []
        fenced = self._found(fence)
        return fenced.hidden(devices), fenced.read_only(devices) if writable else []

    def _found(self, fence: PathLimits) -> LimitedPathFinder:
        key = (fence, self._bounds.root)
        if key not in self._fenced:
            if len(self._fenced) >= MAX_PATH_LIMITS:
                self._fenced.clear()
            self._fenced[key] = LimitedPathFinder(*key, self._scan_cache)
        return self._fenced[key]

    def _toolchains(self, programs: Sequence[bytes]) -> list[bytes]:
        """Returns the folders of toolchains and of the active virtual environment."""
        found = self._trails(known_folders(self._bounds.home), known=True)
        found += self._trails(named_folders(self._environment), known=False)
        active = self._trails(active_environments(self._environment), known=False)
        behind = [os.path.realpath(base) for venv in active if (base := base_programs(venv))]
        bases = [
            os.path.dirname(folder)
            for folder in behind
            if (folder in programs or is_covered(folder, found)) and is_python(folder)
        ]
        return found + active + self._trails(bases, known=False)

    def _trails(self, paths: Iterable[bytes], *, known: bool) -> list[bytes]:
        """Returns those folders that are harmless, each with the symlinks that lead to it."""
        found: list[bytes] = []
        for path in paths:
            steps = symlink_chain(path, self._links)
            if steps and self._bounds.may_expose_chain(steps, known=known):
                found += steps
        return list(dict.fromkeys(found))

    def _may_show_git(self, path: bytes) -> bool:
        outside = not is_inside(path, self._bounds.root)
        return outside and (os.path.isfile(path) or self._bounds.may_expose(path, known=False))

    def _first_masks(self, in_sight: frozenset[bytes], table: Iterable[Mount]) -> list[bytes]:
        """Returns what is hidden whatever its content: ours, credentials, and the machine's."""
        is_seen = covered_by(in_sight)
        mounted = [mount for mount in table if is_seen(mount.point)]
        tops = in_sight.union(mount.point for mount in mounted)
        ours = [path for one in self._bounds.hidden for path in _aliases(one, tops)]
        machine = [mount.point for mount in mounted if mount.machine]
        candidates = (*ours, *self._bounds.places, *machine)
        return [path for path in dict.fromkeys(candidates) if is_seen(path) and _is_real(path)]

    def _scanned(
        self, tops: Sequence[bytes], tools: Sequence[bytes], skip: Sequence[bytes]
    ) -> list[bytes]:
        """Returns the secrets below some folders, and near the top of those of tools."""
        own = [path for path in tools if not os.path.islink(path) and not is_covered(path, tops)]
        return [
            *(path for top in tops for path in self._scanner.below(top, skip, closed=True)),
            *(path for top in own for path in self._scanner.below(top, skip, depth=TOOLS_DEPTH)),
        ]

    def _may_mask(self, path: bytes, system: frozenset[bytes]) -> bool:
        """Refuses a mask over the system: a symlink in a project could name /usr/bin."""
        return is_inside(path, self._bounds.root) or not is_covered(path, system)

    def _kept(self, closed: Sequence[bytes]) -> tuple[bytes, ...]:
        """Returns what stays as it is, there or not; what Assent hides and is missing, too."""
        root = self._bounds.root
        ours = [
            path for path in self._bounds.hidden if is_inside(path, root) and not _is_real(path)
        ]
        return outermost_paths((*(root + b"/" + name for name in _KEPT), *ours, *closed))


def _refuse_many(masks: Sequence[bytes]) -> None:
    if len(masks) > MAX_MASKS:
        example = one_line(masks[-1])
        raise Refused(
            f"{len(masks)} files here would have to be hidden or made read-only by rules, such as "
            f"{example}; the limit is {MAX_MASKS}, so no program can run. Remove some of these "
            "files, or use a rule for their whole folder.",
        )


def _around(root: bytes, paths: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(path for path in outermost_paths(paths) if not is_inside(path, root))


def _is_real(path: bytes) -> bool:
    """Tells whether something is there, under a path without symlinks."""
    return os.path.lexists(path) and os.path.realpath(path) == path


def _aliases(path: bytes, tops: Iterable[bytes]) -> list[bytes]:
    """Returns every name that a path has below some folders.

    Without case, or by a bind mount, one folder has many names; its inode tells.
    """
    found, here, below = [path], path, b""
    identities = [(_identity(top), top) for top in tops]
    while here not in (b"", b"/"):
        me = _identity(here)
        found += [top + below for one, top in identities if me and me == one]
        here, _, name = here.rpartition(b"/")
        below = b"/" + name + below
    return found


def _identity(path: bytes) -> tuple[int, int] | None:
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino
