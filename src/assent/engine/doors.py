"""The doors an engine stands between: one value with everything that touches the world."""

from collections.abc import Callable

import msgspec

from assent.execute.executor import Executor
from assent.ports import Blobs, Clock, Files, Journal, Locks, Projection, Signer, Store


class Doors(msgspec.Struct, frozen=True):
    """What `app` hands to the engine. Nothing below `app` knows which implementations these are."""

    store: Store
    blobs: Blobs
    signer: Signer
    locks: Locks
    clock: Clock
    files: Files
    projection: Projection
    executor: Callable[[Journal], Executor]  # the engine has no hands of its own (law 1)


class Place(msgspec.Struct, frozen=True):
    """Where the engine works, and for whom."""

    root: bytes
    inode: int
    plan_dir: bytes
    user: str
    expires_s: int = 0
    private: tuple[bytes, ...] = ()  # state and configuration, where they lie in the workspace
    export: bytes = b""  # plan.export: a file that gets a proposed plan's text
    staging: bool = True  # plan.staging
