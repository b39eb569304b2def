"""Checks the log of this machine's person, whichever workspace they are in."""

from assent.app.settings import places_here
from assent.ports import Checked


def verify_log() -> Checked:
    """Follows the chain through the whole log; changes nothing."""
    from assent.store.sqlite import SqliteStore

    store = SqliteStore(places_here().state / "log.db")
    try:
        return store.verify()
    finally:
        store.close()
