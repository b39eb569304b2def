"""Migrates a log to the current schema with numbered SQL files."""

import os
import sqlite3
from collections.abc import Callable

from assent.core.errors import StoreError
from assent.store.errors import damaged_log
from assent.store.hash_chain import chain_all_events

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")

# What SQL cannot compute is done after its step, in the same transaction.
_FILLS: dict[str, Callable[[sqlite3.Connection], None]] = {"0002_chain.sql": chain_all_events}


class Migrations:
    """All steps from an empty file to the newest schema; user_version counts those applied."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._folder = folder
        self._files = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))

    def check(self, connection: sqlite3.Connection, path: str) -> None:
        """Refuses what is no log and what a newer version of Assent wrote."""
        found, known = _version(connection), len(self._files)
        if found > known:
            raise StoreError(
                f"{path} was written by a newer version of Assent (its form is {found}, this "
                f"version knows {known}). Nothing was changed.",
                "pip install --upgrade assent",
            )
        if found < 1:
            raise damaged_log("use the log", path, "it has no tables of Assent")

    def missing(self, connection: sqlite3.Connection) -> bool:
        """Tells whether a log lacks a step."""
        return _version(connection) < len(self._files)

    def apply(self, connection: sqlite3.Connection) -> None:
        """Takes the steps that a log lacks, each in one transaction. The caller holds its lock."""
        found = _version(connection)
        for number, name in enumerate(self._files[found:], found + 1):
            with open(os.path.join(self._folder, name), encoding="utf-8") as file:
                steps = file.read()
            with connection:  # rolls back what a failed script leaves open
                connection.executescript(f"BEGIN IMMEDIATE;\n{steps}")
                if fill := _FILLS.get(name):
                    fill(connection)
                connection.execute(f"PRAGMA user_version = {number}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
