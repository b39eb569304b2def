"""A user's file and a project's, next to each other, and how loading them goes."""

import os
from pathlib import Path

from assent.config.loader import IsTrusted, LoadedSettings, SettingsLoader, nothing_trusted
from assent.core.errors import Refused


class Sources:
    """A workspace and a user's configuration in a temporary folder."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.project = self.root / ".opencode" / "assent.toml"
        self.user = base / "config" / "assent" / "config.toml"
        for file in (self.project, self.user):
            file.parent.mkdir(parents=True)

    def load(
        self,
        user: Path | None = None,
        *,
        lenient: bool = False,
        trusted: IsTrusted = nothing_trusted,
    ) -> LoadedSettings:
        """Loads both files as `app` would."""
        root = os.fsencode(os.path.realpath(self.root))
        return SettingsLoader(user or self.user, root, os.open, no_dots, trusted).load(
            lenient=lenient
        )


def no_dots(folder: str) -> None:
    """Stands for the workspace's own rule about where plans may lie."""
    if ".." in folder:
        raise Refused(f"plan.dir cannot be {folder}.")
