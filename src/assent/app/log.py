"""Verifies the whole event log of the person on this machine."""

from pathlib import Path

import msgspec

from assent.app.settings import user_paths
from assent.ports import LogCheck


def verify_log() -> LogCheck:
    """Follows the chain through the whole log; changes nothing."""
    from assent.store.sqlite import SqliteEventStore

    state = user_paths().state
    store = SqliteEventStore(state / "log.db")
    try:
        checked = store.verify()
    finally:
        store.close()
    if checked.events or not _has_leftovers(state):
        return checked
    return msgspec.structs.replace(checked, leftovers=True)


def _has_leftovers(state: Path) -> bool:
    """Tells whether the key, contents or locks of sessions are there, which no empty log has."""
    return any(next(state.glob(each), None) for each in ("key", "blobs/??", "locks/session-*"))
