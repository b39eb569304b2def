"""Checks that the tables of a log are exactly those that Assent creates."""

import sqlite3
from contextlib import closing
from typing import Any, Final

from assent.store.database import Rows
from assent.store.schema_migrations import Migrations

SCHEMA_QUERY: Final = (
    "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY 1, 2"
)
INDEXES: Final = "PRAGMA integrity_check(1)"
# Hashes cover what is written and not how: as bytes, a name is none that a question finds.
_WRITTEN: Final = {
    "stream": "text",
    "seq": "integer",
    "at": "text",
    "kind": "text",
    "body": "text",
    "chain": "blob",
}
MISTYPED_QUERY: Final = f"""
    SELECT position, CAST(kind AS BLOB), CAST(seq AS BLOB), CAST(stream AS BLOB) FROM events
    WHERE {" OR ".join(f"typeof({name}) <> '{kind}'" for name, kind in _WRITTEN.items())}
    ORDER BY position LIMIT 1
"""
# Bytes are sorted behind every text, so that an index answers this at once.
HIDDEN: Final = "SELECT EXISTS (SELECT 1 FROM events WHERE stream >= x'')"
HIDES: Final = "it holds events under names that are no text; `assent log --verify` names them"


def schema_difference(found: Rows) -> str:
    """Says what a log has that no migration makes, or lacks; nothing if it is as it should be."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        Migrations().apply(connection)
        made = connection.execute(SCHEMA_QUERY).fetchall()
    here, due = set(map(_plain, found)), set(map(_plain, made))
    if not found or here == due:
        return ""
    kind, name, *_ = min(here - due or due - here)
    told = "was added or changed" if here - due else "is missing"
    return f"The {kind} {name} of the log {told}: Assent makes no log of this form."


def mistyped_event(found: Rows) -> str:
    """Names an event whose values were stored as something else than was written."""
    for position, *rest in found:
        kind, seq, stream = [each.decode("utf-8", "backslashreplace") for each in rest]
        return (
            f"Event {position} ({kind}, number {seq} of {stream}) is stored as another kind of "
            "value than was written, which hides it from whoever looks for it."
        )
    return ""


def index_damage(found: Rows) -> str:
    """Says that the indexes of a log do not tell what its tables hold."""
    details = next((str(row[0]) for row in found), "ok")
    return "" if details == "ok" else f"The file of the log is not in order: {details}."


def _plain(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple([" ".join(str(each).split()) for each in row])
