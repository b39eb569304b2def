"""Opens trust: the project files that need it, what is trusted of them, and trusted keys."""

import os
from collections.abc import Sequence

import msgspec

from assent.agent.project_files import TrustLog
from assent.app.ports import keyring_reader
from assent.app.settings import load_settings, locate_workspace, open_workspace_trust, user_paths
from assent.config.keyring import key_file_problem
from assent.config.project_files import consequences, project_files
from assent.config.trust_list import FILE, WorkspaceTrust
from assent.core.errors import NotFound, Refused, UsageError
from assent.core.paths import display_path
from assent.core.permission.trust import Consequence, ProjectFile, TrustedFile
from assent.core.plan.keyring import Keyring, TrustedKey, key_name, public_key
from assent.executor.disk import Disk
from assent.store.trust_files import KeyFileWriter, TrustListFile


class ProjectFileTrust(msgspec.Struct, frozen=True):
    """A project's file, what it would do, and whether it is trusted; or why it is unreadable."""

    file: ProjectFile
    does: tuple[Consequence, ...]
    trusted: bool
    broken: str = ""
    changed: bool = False  # another content of it is trusted

    @property
    def is_pending(self) -> bool:
        """Whether trust would change anything."""
        counts = any(each.counts for each in self.does)
        return counts and not self.trusted and not self.broken


class TrustManager:
    """Lists, gives and revokes trust in the workspace around a folder."""

    def __init__(self, folder: str) -> None:
        here = user_paths()
        self._cwd, self.root = locate_workspace(folder)
        self._trusted: WorkspaceTrust = open_workspace_trust(self.root, here)
        self._book = TrustListFile(here.state / FILE)
        self._unread: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be read, and what is no longer trusted."""
        return (*self._unread, *self._trusted.warnings)

    def project_files(self) -> list[ProjectFileTrust]:
        """Reads every project file that has consequences."""
        files, self._unread = project_files(self.root, Disk().open)
        return [self._look(file) for file in files]

    def all(self) -> tuple[TrustedFile, ...]:
        """Returns everything that is trusted on this machine."""
        return self._trusted.trust_list.trusted

    def chosen(self, names: Sequence[str]) -> list[ProjectFileTrust]:
        """Returns the files that a user names, or all that wait for trust."""
        looks = self.project_files()
        if not names:
            return [look for look in looks if look.is_pending]
        known = {look.file.path: look for look in looks}
        wanted = [self._path(name) for name in names]
        for path in wanted:
            if path not in known:
                message = f"{path!a} is not a project file that can be trusted."
                raise NotFound(message, "assent trust show")
        return [known[path] for path in dict.fromkeys(wanted)]

    def check(self, look: ProjectFileTrust) -> None:
        """Refuses a key that could not be trusted even if the user confirms."""
        why = self._trusted.unsafe()
        if why:
            raise Refused(
                f"Trust cannot be saved here, because the trust list would be ignored: {why}.",
                "assent doctor",
            )
        if look.broken:
            raise UsageError(look.broken, "assent trust show")

    def give(self, trusts: TrustLog, look: ProjectFileTrust) -> None:
        """Trusts a file with the content that was shown; recorded before it takes effect."""
        self._book.give(trusts.give(look.file, [each.text for each in look.does]))

    def revoke(self, trusts: TrustLog, names: Sequence[str]) -> list[str]:
        """Revokes trust, for all files of the workspace if none is named; returns which."""
        root = os.path.realpath(self.root)
        held = [each.path for each in self.all() if each.root == root]
        wanted = [self._path(name) for name in names] or held
        for path in wanted:
            if path not in held:
                raise NotFound(f"{path!a} is not trusted here.", "assent trust list")
        for path in wanted:
            self._book.revoke(root, path)
            trusts.revoke(path)
        return wanted

    def from_here(self, path: str) -> str:
        """Returns a project file as the user would name it from the current folder."""
        return display_path(os.path.relpath(os.path.join(self.root, os.fsencode(path)), self._cwd))

    def _look(self, file: ProjectFile) -> ProjectFileTrust:
        trusted = self._trusted.holds(file.path, file.content)
        root = os.path.realpath(self.root)
        known = any((each.root, each.path) == (root, file.path) for each in self.all())
        changed = known and not trusted
        try:
            return ProjectFileTrust(file, consequences(file), trusted, changed=changed)
        except UsageError as error:
            return ProjectFileTrust(file, (), trusted, error.message, changed)

    def _path(self, name: str) -> str:
        """Returns the path from the root of a file that the user names from the current folder."""
        full = os.path.normpath(os.path.join(self._cwd, os.fsencode(name)))
        return display_path(os.path.relpath(full, self.root))


# Opens the file where a user lists the keys whose signatures count.


class KeyManager:
    """Lists, trusts and revokes keys for a user, in any folder."""

    def __init__(self, folder: str) -> None:
        self._here = user_paths()
        _, self._root = locate_workspace(folder)
        settings = load_settings(self._root, self._here, lenient=True).settings
        self._of_user = settings.keys
        self._reader = keyring_reader(self._here, self._root)
        self._book = KeyFileWriter(self._here.keys, self._here.state / "locks")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be used, and why."""
        return tuple(dict.fromkeys(self._reader.warnings))

    def ring(self) -> Keyring:
        """Returns every listed key."""
        return self._reader.keyring(self._of_user)

    def check(self, key: str, name: str) -> None:
        """Refuses a key that could not be trusted even if the user confirms."""
        if why := key_file_problem(self._here, self._root):
            raise Refused(
                f"Keys cannot be saved here, because the key file would be ignored: {why}.",
                "assent keys list",
            )
        if self._reader.user_keys().keys.get(name, key) != key:
            raise UsageError(
                f"Another key already has the name {name}.", "assent keys trust KEY --name NAME"
            )

    def trust(self, key: str, name: str) -> TrustedKey:
        """Trusts a key, even if it was revoked before."""
        given = TrustedKey(public_key(key), key_name(name), "keys")
        with self._book.locked():
            self.check(key, name)
            own = self._reader.user_keys()
            others = {label: each for label, each in own.keys.items() if each != key}
            revoked = [each for each in own.revoked if each != key]
            self._book.write({**others, name: key}, revoked)
        return given

    def revoke(self, key: str) -> str:
        """Revokes a key, wherever it is or will be listed; returns its label."""
        label = self.ring().name(key)
        with self._book.locked():
            own = self._reader.user_keys()
            keys = {name: each for name, each in own.keys.items() if each != key}
            self._book.write(keys, list(dict.fromkeys((*own.revoked, key))))
        return label

    def found(self, reference: str) -> str:
        """Returns the key that a user names: in full, or by its label if that is unique."""
        ring = self.ring()
        named = {each.key for each in ring.listed if each.name == reference}
        if len(named) == 1:
            return named.pop()
        return public_key(reference)
