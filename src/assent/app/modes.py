"""Opens the modes of the user and the project, and adds modes to the user's file."""

import os
from collections.abc import Sequence
from pathlib import Path
from stat import S_IMODE

from assent.app.rules import unknown_tool_warnings
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.config_file import (
    ConfigFile,
    edit_command,
    ownership_problem,
    parse_toml,
    path_text,
    read_content,
)
from assent.config.loader import MODE_SKIPPED, read_modes
from assent.core.errors import Refused, UsageError
from assent.core.permission.mode import CustomMode
from assent.executor.disk import Disk
from assent.render.modes import mode_toml

HELP = "assent modes import --help"


class ModeManager:
    """The modes of the workspace around a folder."""

    def __init__(self, folder: str) -> None:
        here = user_paths()
        _, self._root = locate_workspace(folder)
        loaded = load_settings(self._root, here, lenient=True)
        self.file = here.file
        self.modes = loaded.settings.modes
        self.warnings = (*loaded.warnings, *unknown_tool_warnings(loaded.settings, here))

    def read(self, text: bytes) -> list[CustomMode]:
        """Returns the modes in a text; raises UsageError unless all can be used."""
        try:
            table = parse_toml(Path("The input"), text)
        except UsageError as error:
            raise UsageError(error.message, HELP) from None
        if not table.get("modes") or set(table) != {"modes"}:
            raise UsageError(
                "The input must contain `[modes.ID]` and nothing else. Nothing was changed.",
                "assent modes --help",
            )
        found, remarks = read_modes(table["modes"], "user")
        if remarks:
            raise UsageError(
                f"The input {remarks[0].removesuffix(MODE_SKIPPED)} Nothing was changed.",
                "assent modes --help",
            )
        return list(found.values())

    def add(self, modes: Sequence[CustomMode]) -> None:
        """Appends modes to the user's file, if it is their own and stays valid."""
        from assent.store.files import PRIVATE, write_atomically

        source, before = self._user_file()
        more = "\n".join(map(mode_toml, modes))
        gap = "" if not before else "\n" if before.endswith(b"\n") else "\n\n"
        after = before + (gap + more).encode("utf-8")
        self._check(before, after, modes)
        rights = S_IMODE(source.mode) if source.mode else PRIVATE
        write_atomically(os.path.realpath(self.file), after, rights)

    def _user_file(self) -> tuple[ConfigFile, bytes]:
        try:
            source, text = read_content(self.file, Disk().open, follow=True)
        except FileNotFoundError:
            source, text = ConfigFile(self.file, {}, os.geteuid(), 0), b""
        why = ownership_problem(source, self._root)
        if why:
            raise Refused(
                f"{path_text(self.file)} was not changed: {why}.", "assent modes export ID"
            )
        return source, text

    def _check(self, before: bytes, after: bytes, modes: Sequence[CustomMode]) -> None:
        """Raises unless the file has the same content as before, plus the new modes."""
        was = parse_toml(self.file, before)
        known = was.get("modes", {})
        again = [mode.id for mode in modes if mode.id in known]
        if again:
            message = f"{path_text(self.file)} already has a mode {again[0]}. Nothing was changed."
            raise UsageError(message, edit_command(self.file))
        try:
            now = parse_toml(self.file, after)
        except UsageError:
            now = {}
        added = {mode.id: now.get("modes", {}).get(mode.id) for mode in modes}
        same = {**was, "modes": {**known, **added}} == now
        if not same or read_modes(added, "user") != ({mode.id: mode for mode in modes}, []):
            message = f"The mode cannot be appended to {path_text(self.file)}. Nothing was changed."
            raise UsageError(f"{message} Add it to the file yourself.", edit_command(self.file))
