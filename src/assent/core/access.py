"""Access to the server: who may do what with a cookie or a token, as a fold of its events.

Secrets are never stored: a code, a cookie and a token are known by their SHA-256 only.
"""

from typing import Final

import msgspec

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

ROLES: Final[tuple[Role, ...]] = (
    "viewer",
    "author",
    "approver",
)  # each may do what those before may

CODE_S: Final = 300  # in which a one-time code can be exchanged
COOKIE_S: Final = 30 * 24 * 3600
ACCESS_STREAM: Final = "access"


class Access(msgspec.Struct, frozen=True):
    """What a cookie or a token allows, and since when."""

    access: str
    kind: AccessKind
    role: Role
    name: str
    granted_at: str
    expires_at: str = ""

    def is_expired(self, now: str) -> bool:
        return bool(self.expires_at) and now >= self.expires_at

    def may(self, role: Role, *, decides: bool, tokens_decide: bool) -> bool:
        """Tells whether it may do something that needs a role.

        What `decides` needs a person: a token may do it only if the user's configuration says so.
        """
        if decides and self.kind == "token" and not tokens_decide:
            return False
        return ROLES.index(self.role) >= ROLES.index(role)


class AccessList(msgspec.Struct, frozen=True):
    """Everything that was issued and is not revoked, found by the hash of its secret."""

    codes: dict[str, AccessCodeIssued] = {}
    granted: dict[str, Access] = {}
    password: str = ""
    roots: tuple[bytes, ...] = ()  # of the workspaces that are served, wherever it is started
    seq: int = 0

    def after(self, event: AccessEvent, at: str) -> "AccessList":
        """Returns the list after an event; what had expired when it happened is gone."""
        codes = {key: code for key, code in self.codes.items() if at < code.expires_at}
        granted = {key: each for key, each in self.granted.items() if not each.is_expired(at)}
        password, roots = self.password, self.roots
        match event:
            case AccessCodeIssued():
                codes[event.code] = event
            case AccessGranted():
                codes.pop(event.code, None)
                granted[event.secret] = Access(
                    event.access, event.kind, event.role, event.name, at, event.expires_at
                )
            case AccessRevoked():
                granted = {k: each for k, each in granted.items() if each.access != event.access}
            case PasswordChanged():
                password = event.password
            case WorkspaceServed():
                roots = tuple(root for root in roots if root != event.root)
                roots = (*roots, event.root) if event.served else roots
        return AccessList(codes, granted, password, roots, self.seq + 1)

    def find_code(self, code: str, now: str) -> AccessCodeIssued | None:
        """Returns the code of a hash, unless it was used or is too old."""
        found = self.codes.get(code)
        return found if found is not None and now < found.expires_at else None

    def find(self, secret: str, now: str) -> Access | None:
        """Returns what the hash of a secret allows now; None: nothing."""
        found = self.granted.get(secret)
        return found if found is not None and not found.is_expired(now) else None

    def current(self, now: str) -> list[Access]:
        """Returns everything that is valid now, oldest first."""
        valid = [each for each in self.granted.values() if not each.is_expired(now)]
        return sorted(valid, key=lambda each: each.granted_at)
