"""Opens the keyring: whose signatures count here, and the file where a person lists keys."""

from collections.abc import Mapping
from functools import cached_property

from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.keyring import KeyringReader, SystemFile, key_file_problem
from assent.config.paths import AppPaths
from assent.core.errors import Refused, UsageError
from assent.core.plan.keyring import Keyring, TrustedKey, key_name, public_key
from assent.executor.disk import Disk
from assent.store.trust_files import KeyFileWriter


class KeyringTrustedKeys:
    """Implements ports.TrustedKeys with what the person's and the system's files list."""

    def __init__(self, here: AppPaths, root: bytes, of_user: Mapping[str, str]) -> None:
        self._here = here
        self._root = root
        self._of_user = of_user

    def trusted(self, key: str) -> bool:
        return self.ring.counts(key)

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        from assent.store.signing_key import is_signed_by

        return is_signed_by(key, payload, signature)

    @cached_property
    def ring(self) -> Keyring:
        """Every key that is listed for this person."""
        return keyring_reader(self._here, self._root).keyring(self._of_user)


def keyring_reader(here: AppPaths, root: bytes) -> KeyringReader:
    """Returns what reads the lists of keys, for somebody who works in a workspace."""
    return KeyringReader(here, root, Disk().open)


def independence_risks(
    root: bytes, here: AppPaths, of_user: bool | tuple[str, ...]
) -> bool | tuple[str, ...]:
    """Returns for which risks two people are needed: what the user says, and what the system."""
    system: SystemFile = keyring_reader(here, root).system()
    said = (of_user, system.approve.independent)
    if True in said:
        return True
    codes = [code for each in said if isinstance(each, tuple) for code in each]
    return tuple(dict.fromkeys(codes))


class KeyManager:
    """Lists, trusts and revokes keys for a person, in any folder."""

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
        """Returns every key that is listed."""
        return self._reader.keyring(self._of_user)

    def check(self, key: str, name: str) -> None:
        """Refuses what could not be trusted even with a yes."""
        if why := key_file_problem(self._here, self._root):
            raise Refused(f"The file that would list it is ignored: {why}.", "assent keys list")
        if self._reader.user_keys().keys.get(name, key) != key:
            raise UsageError(
                f"Another key has the name {name}.", "assent keys trust KEY --name NAME"
            )

    def trust(self, key: str, name: str) -> TrustedKey:
        """Lists a key from now on, also where it was revoked."""
        given = TrustedKey(public_key(key), key_name(name), "keys")
        with self._book.locked():
            self.check(key, name)
            own = self._reader.user_keys()
            others = {label: each for label, each in own.keys.items() if each != key}
            revoked = [each for each in own.revoked if each != key]
            self._book.write({**others, name: key}, revoked)
        return given

    def revoke(self, key: str) -> str:
        """Makes a key count no longer, wherever it is or will be listed; returns its label."""
        label = self.ring().name(key)
        with self._book.locked():
            own = self._reader.user_keys()
            keys = {name: each for name, each in own.keys.items() if each != key}
            self._book.write(keys, list(dict.fromkeys((*own.revoked, key))))
        return label

    def found(self, reference: str) -> str:
        """Returns the key that a person names: in full, or by its label if only one has it."""
        ring = self.ring()
        named = {each.key for each in ring.listed if each.name == reference}
        if len(named) == 1:
            return named.pop()
        return public_key(reference)
