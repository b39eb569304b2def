"""Access to the server: one-time codes, cookies for people, tokens for programs, a password.

A code is shown on a terminal and works once; it is exchanged for a cookie. Everything is recorded
as events in the user's log, by hashes, so that it survives a restart and works once however many
processes try it.
"""

import hashlib
import hmac
import secrets
from base64 import b32encode
from threading import Lock
from time import monotonic
from typing import Final, TypeVar

from assent.core.access import ACCESS_STREAM, CODE_S, COOKIE_S, Access, AccessList
from assent.core.digest import sha256
from assent.core.errors import ConcurrentChange, NotFound, UsageError
from assent.core.event import (
    AccessCodeIssued,
    AccessEvent,
    AccessGranted,
    AccessKind,
    AccessRevoked,
    PasswordChanged,
    Role,
    WorkspaceServed,
)
from assent.ports.storage import Clock, EventBatch, EventStore
from assent.web.errors import LoginFailed, LoginSlowed

Found = TypeVar("Found")

CODE_BYTES: Final = 5  # 40 bits: guessing is slowed, and a code is gone after five minutes
SECRET_BYTES: Final = 32
TOKEN_PREFIX: Final = "assent_"  # so that scanners for leaked secrets can know one
MAX_NAME_CHARS: Final = 60
MIN_PASSWORD_CHARS: Final = 10
MAX_TRIES: Final = 20  # at a log that others append to as well
SCRYPT: Final = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32}
FREE_FAILURES: Final = 5  # before a failed login makes the next one wait
MAX_WAIT_S: Final = 30.0


def new_code() -> str:
    """Returns a one-time code that people can read and type, such as `K7QM-2XPD`."""
    letters = b32encode(secrets.token_bytes(CODE_BYTES)).decode("ascii")
    return f"{letters[:4]}-{letters[4:]}"


def code_hash(code: str) -> str:
    """Returns the hash of a code, however it was typed."""
    return sha256("".join(code.upper().replace("-", "").split()).encode())


def secret_hash(secret: str) -> str:
    return sha256(secret.encode())


def hash_password(password: str) -> str:
    """Returns a password salted and hashed by a slow function."""
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


def is_password(password: str, stored: str) -> bool:
    """Tells whether a password is the one that was stored."""
    _, salt, digest = stored.split("$")
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, **SCRYPT)


class LoginLimiter:
    """Slows logins down after a few that failed; a successful one forgets them."""

    def __init__(self) -> None:
        self._failures = 0
        self._until = 0.0
        self._lock = Lock()

    def check(self) -> None:
        """Raises LoginSlowed while nobody may try."""
        with self._lock:
            wait = self._until - monotonic()
        if wait > 0:
            raise LoginSlowed(wait)

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            over = self._failures - FREE_FAILURES
            if over >= 0:
                self._until = monotonic() + min(2.0**over, MAX_WAIT_S)

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._until = 0, 0.0


class AccessControl:
    """Issues codes, cookies and tokens, and finds what a secret allows."""

    def __init__(self, store: EventStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._list = AccessList()
        self._position = 0  # of the log, up to which it was read
        self._lock = Lock()

    def issue_code(self, role: Role, user: str) -> tuple[str, str]:
        """Returns a new one-time code, and when it expires."""
        code, expires = new_code(), self._clock.later(CODE_S)
        self._append(AccessCodeIssued(code_hash(code), role, expires, user))
        return code, expires

    def exchange(self, code: str, name: str, user: str, password: str | None = None) -> str:
        """Exchanges a one-time code for the secret of a cookie; raises LoginFailed.

        With a `password`, that is checked, too: the login comes from another machine.
        """
        digest = code_hash(code)
        for _ in range(MAX_TRIES):
            known = self._current()
            found = known.find_code(digest, self._clock.now())
            if password is not None:  # in any case, so that nobody learns which one was wrong
                right = bool(known.password) and is_password(password, known.password)
                found = found if right else None
            if found is None:
                raise LoginFailed
            try:
                return self._grant("cookie", found.role, name, user, digest, known.seq)
            except ConcurrentChange:
                continue  # maybe this code was used right now
        raise LoginFailed

    def create_token(self, name: str, role: Role, user: str) -> str:
        """Returns a new token for a program; it is shown once and stored by its hash."""
        if not 0 < len(name) <= MAX_NAME_CHARS or any(each.name == name for each in self.current()):
            raise UsageError(
                f"A token needs a name of its own with 1 to {MAX_NAME_CHARS} characters.",
                "assent serve token --name NAME",
            )
        for _ in range(MAX_TRIES):
            try:
                return self._grant("token", role, name, user, "", self._current().seq)
            except ConcurrentChange:
                continue
        raise ConcurrentChange("The list of tokens keeps changing.", "assent serve token --list")

    def revoke(self, reference: str, user: str) -> Access:
        """Revokes a cookie or token by its name or id; this takes effect at once."""
        found = [
            each
            for each in self.current()
            if reference and (each.name == reference or each.access.startswith(reference))
        ]
        if len(found) != 1:
            raise NotFound(
                f"{reference!a} matches {len(found)} cookies and tokens; it must match one.",
                "assent serve token --list",
            )
        self._append(AccessRevoked(found[0].access, user))
        return found[0]

    def revoke_all(self, kind: AccessKind, user: str) -> list[Access]:
        """Revokes all cookies, or all tokens."""
        found = [each for each in self.current() if each.kind == kind]
        self._append(*(AccessRevoked(each.access, user) for each in found))
        return found

    def set_password(self, password: str, user: str) -> None:
        """Sets the password that logins from other machines need; an empty one removes it."""
        if password and len(password) < MIN_PASSWORD_CHARS:
            raise UsageError(
                f"A password needs at least {MIN_PASSWORD_CHARS} characters.",
                "assent serve password",
            )
        self._append(PasswordChanged(hash_password(password) if password else "", user))

    @property
    def has_password(self) -> bool:
        return bool(self._current().password)

    @property
    def roots(self) -> tuple[bytes, ...]:
        """The folders of workspaces that are served wherever the server is started."""
        return self._current().roots

    def serve_workspace(self, root: bytes, user: str, *, served: bool = True) -> None:
        """Adds a workspace to those that are served, or removes it."""
        self._append(WorkspaceServed(root, served, user))

    def find(self, secret: str) -> Access | None:
        """Returns what a cookie or a token allows now; None: nothing."""
        return self._current().find(secret_hash(secret), self._clock.now()) if secret else None

    def is_valid(self, access: Access) -> bool:
        """Tells whether a cookie or token that was found before is still valid."""
        return access in self.current()

    def current(self) -> list[Access]:
        """Returns all cookies and tokens that are valid now, oldest first."""
        return self._current().current(self._clock.now())

    def _grant(
        self, kind: AccessKind, role: Role, name: str, user: str, code: str, after: int
    ) -> str:
        secret = secrets.token_urlsafe(SECRET_BYTES)
        secret = f"{TOKEN_PREFIX}{secret}" if kind == "token" else secret
        expires = self._clock.later(COOKIE_S) if kind == "cookie" else ""
        granted = AccessGranted(
            self._clock.new_id(), kind, secret_hash(secret), role, name, user, code, expires
        )
        self._store.append(EventBatch(ACCESS_STREAM, after, self._clock.now(), (granted,)))
        return secret

    def _append(self, *events: AccessEvent) -> None:
        for _ in range(MAX_TRIES):
            batch = EventBatch(ACCESS_STREAM, self._current().seq, self._clock.now(), events)
            try:
                self._store.append(*[batch] * bool(events))
                return
            except ConcurrentChange:
                continue
        raise ConcurrentChange("The list of tokens keeps changing.", "assent serve token --list")

    def _current(self) -> AccessList:
        """Returns the list as it is now; it is read again only if something was recorded."""
        with self._lock:
            last = self._store.last()
            if last != self._position:
                for stored in self._store.read(ACCESS_STREAM, self._list.seq):
                    self._list.add((stored.event,), stored.at)  # type: ignore[arg-type]
                self._position = last
            return self._list
