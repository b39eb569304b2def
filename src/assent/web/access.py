"""Access to the server: one-time codes, cookies for people, tokens for programs, a password.

A code is shown on a terminal and works once; it is exchanged for a cookie. Everything is recorded
as events in the user's log, by hashes, so that it survives a restart and works once however many
processes try it.
"""

import hashlib
import hmac
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import Lock
from time import monotonic
from typing import Final

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
from assent.web.errors import LoginFailed

CODE_CHARS: Final = 10  # of 5 bits each
CODE_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
SECRET_BYTES: Final = 32
TOKEN_PREFIX: Final = "assent_"  # so that scanners for leaked secrets can know one
MAX_NAME_CHARS: Final = 60
MIN_PASSWORD_CHARS: Final = 10
MAX_TRIES: Final = 20  # at a log that others append to as well
SCRYPT: Final = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32}
FREE_FAILURES: Final = 5  # before a failed login makes the next one wait
FORGET_S: Final = 60.0  # after which a failed login no longer counts
MAX_WAIT_S: Final = 30.0
MAX_HELD_S: Final = 2.0  # for which the answer to a failed login is held back
MAX_HELD: Final = 64  # such answers at a time: more would be connections that others need
MAX_PASSWORD_TRIES: Final = 5  # with one code


def new_code() -> str:
    """Returns a one-time code that people can read and type, such as `K7QMA-2XPDV`."""
    letters = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_CHARS))
    return f"{letters[:5]}-{letters[5:]}"


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
    """Tells whether a password is the one that was stored; without one, none is."""
    if not stored:
        return False
    _, salt, digest = stored.split("$")
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, **SCRYPT)


class LoginLimiter:
    """Slows failed logins down. A code that is right always counts, however many were wrong.

    Else a program that sends wrong codes would keep the user out. A code has 50 bits: a thousand
    guesses a second, for the five minutes that it lives, find it in one of three billion cases.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._failed: deque[float] = deque(maxlen=64)  # when
        self._held = 0
        self._lock = Lock()

    def failed(self) -> float:
        """Notes a failed login; returns how many seconds to wait before the next one."""
        with self._lock:
            while self._failed and self._failed[0] < self._now() - FORGET_S:
                self._failed.popleft()
            self._failed.append(self._now())
            over = len(self._failed) - FREE_FAILURES
        return float(min(2.0**over, MAX_WAIT_S)) if over > 0 else 0.0

    @contextmanager
    def holding(self, wait: float) -> Iterator[float]:
        """Yields how long the answer to a failed login is held back; not if many are already."""
        with self._lock:
            held = self._held < MAX_HELD
            self._held += held
        try:
            yield min(wait, MAX_HELD_S) if held else 0.0
        finally:
            with self._lock:
                self._held -= held


class AccessControl:
    """Issues codes, cookies and tokens, and finds what a secret allows."""

    def __init__(self, store: EventStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._list = AccessList()
        self._position = 0  # of the log, up to which it was read
        self._lock = Lock()
        self._tries: dict[str, int] = {}  # passwords that were tried, by the hash of a right code

    def issue_code(self, role: Role, user: str) -> tuple[str, str]:
        """Returns a new one-time code, and when it expires."""
        code, expires = new_code(), self._clock.later(CODE_S)
        self._append(AccessCodeIssued(code_hash(code), role, expires, user))
        return code, expires

    def is_open(self, code: str) -> bool:
        """Tells whether a one-time code can still be used."""
        return self._current().find_code(code_hash(code), self._clock.now()) is not None

    def log_in(self, code: str, name: str, user: str, password: str | None = None) -> str:
        """Uses a one-time code up, and returns the secret of a cookie; raises LoginFailed.

        With a `password`, that has to be right, too, and can be tried a few times.
        """
        digest = code_hash(code)
        for attempt in range(MAX_TRIES):
            known = self._current()
            found = known.find_code(digest, self._clock.now())
            if found is None:
                raise LoginFailed
            if password is not None and attempt == 0:
                self._check_password(digest, password, known)
            try:
                return self._grant("cookie", found.role, name, user, digest, known.seq)
            except ConcurrentChange:
                continue  # maybe this code was used right now
        raise LoginFailed

    def _check_password(self, code: str, password: str, known: AccessList) -> None:
        """Raises LoginFailed; only a few passwords can be tried with one code."""
        with self._lock:
            self._tries = {each: self._tries[each] for each in self._tries if each in known.codes}
            tries = self._tries[code] = self._tries.get(code, 0) + 1
        if tries > MAX_PASSWORD_TRIES or not is_password(password, known.password):
            raise LoginFailed

    def free_name(self) -> str:
        """Returns a name that no token has."""
        taken = {each.name for each in self.current()}
        return next(name for n in count(1) if (name := f"token-{n}") not in taken)

    def create_token(self, name: str, role: Role, user: str) -> str:
        """Returns a new token for a program; it is shown once and stored by its hash."""
        if not 0 < len(name) <= MAX_NAME_CHARS or not name.isprintable():
            raise UsageError(
                f"The name of a token has 1 to {MAX_NAME_CHARS} printable characters.",
                "assent serve token --name NAME",
            )
        if any(each.name == name for each in self.current()):
            raise UsageError(
                f"There is a token or a login with the name {name!a}.", "assent serve token --list"
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
        return self.end(found[0], user)

    def end(self, access: Access, user: str) -> Access:
        """Revokes exactly one cookie or token."""
        self._append(AccessRevoked(access.access, user))
        return access

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

    def is_valid(self, secret: str) -> bool:
        """Tells whether a cookie or token was valid when something was last looked up.

        It reads nothing, and the clock only for what expires: many event streams ask each time.
        """
        found = self._list.granted.get(secret_hash(secret))
        if found is None or not found.expires_at:
            return found is not None
        return not found.is_expired(self._clock.now())

    def current(self) -> list[Access]:
        """Returns all cookies and tokens that are valid now, oldest first."""
        return self._current().current(self._clock.now())

    def revision(self) -> int:
        """Returns a number that grows whenever something is issued or revoked, by any process."""
        return self._current().seq

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
        """Returns the list as it is now; it is read again only if something may be new in it."""
        with self._lock:
            last = self._store.last()  # what is recorded afterwards is read the next time
            if last != self._position:
                for stored in self._store.read(ACCESS_STREAM, self._list.seq):
                    self._list = self._list.after(stored.event, stored.at)  # type: ignore[arg-type]
                self._position = last
            return self._list
