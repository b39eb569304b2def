"""Trust: which content of which project file a user has allowed to take effect."""

import msgspec


class TrustedFile(msgspec.Struct, frozen=True):
    """One file, in one folder, with exactly one content."""

    root: bytes  # the real path of the workspace
    path: str  # as seen from there
    content_hash: str
    at: str = ""


class TrustList(msgspec.Struct, frozen=True):
    """Everything that a user trusts on this machine; a file has at most one trusted content."""

    trusted: tuple[TrustedFile, ...] = ()

    def of(self, root: bytes, path: str) -> TrustedFile | None:
        """Returns the trust in a file, with any content."""
        found = [each for each in self.trusted if (each.root, each.path) == (root, path)]
        return found[-1] if found else None

    def with_trusted(self, trust: TrustedFile) -> "TrustList":
        """Returns the list with this content in place of what was trusted of the file before."""
        return TrustList((*self.without(trust.root, trust.path).trusted, trust))

    def without(self, root: bytes, path: str) -> "TrustList":
        """Returns the list without any trust in a file."""
        kept = [each for each in self.trusted if (each.root, each.path) != (root, path)]
        return TrustList(tuple(kept))


class Consequence(msgspec.Struct, frozen=True):
    """One thing that a project file would do, as text; a risk is shown first."""

    text: str
    risk: bool = True
    counts: bool = True  # with trust; what never counts is shown, too


class ProjectFile(msgspec.Struct, frozen=True):
    """A file of a project as it was read once: what is shown is what is hashed."""

    path: str  # as seen from the workspace's root
    content: bytes
    content_hash: str
