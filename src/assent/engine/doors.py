"""The doors an engine stands between: one value with everything that touches the world."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from assent.core.mode import Modes
from assent.execute.executor import Executor
from assent.ports import (
    Blobs,
    Clock,
    Files,
    Heard,
    Hooks,
    Journal,
    Locks,
    Projection,
    Signer,
    Store,
)

NOTHING = Heard()


class NoHooks:
    """Implements ports.Hooks where nobody wants to hear anything."""

    def fire(self, on: str, facts: Mapping[str, Any]) -> Heard:
        return NOTHING


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
    hooks: Hooks = NoHooks()


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
    modes: Modes = {}  # of the person's and the project's own
