"""A keyring in a file: a real backend for tests, chosen by keyring's own configuration."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

FILE = "TEST_KEYRING_FILE"
LOCKED = "TEST_KEYRING_LOCKED"


class FileKeyring(KeyringBackend):
    """Keeps passwords in the JSON file that the environment names, and fails while it is locked."""

    priority = 5  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        found = self._all().get(f"{service}/{username}")
        return found

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._all(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        left = self._all()
        if left.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError(username)
        self._write(left)

    def _all(self) -> dict[str, str]:
        if os.environ.get(LOCKED):
            raise RuntimeError(f"locked; it has {self._read()}")  # a backend may say anything
        return self._read()

    def _read(self) -> dict[str, str]:
        path = Path(os.environ[FILE])
        found: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return found

    def _write(self, content: dict[str, str]) -> None:
        Path(os.environ[FILE]).write_text(json.dumps(content), encoding="utf-8")
