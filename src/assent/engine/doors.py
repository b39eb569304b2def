"""The doors an engine stands between: one value with everything that touches the world."""

import msgspec

from assent.ports import Blobs, Clock, Files, Hands, Locks, Projection, Signer, Store


class Doors(msgspec.Struct, frozen=True):
    """What `app` hands to the engine. Nothing below `app` knows which implementations these are."""

    store: Store
    blobs: Blobs
    signer: Signer
    locks: Locks
    clock: Clock
    files: Files
    hands: Hands
    projection: Projection


class Place(msgspec.Struct, frozen=True):
    """Where the engine works, and for whom."""

    root: bytes
    inode: int
    plan_dir: bytes
    user: str
    expires_s: int = 0
