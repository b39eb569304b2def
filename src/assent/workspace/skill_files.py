"""The other files of a user's own skill, outside the workspace: only what is in its folder."""

import os
from stat import S_ISREG
from typing import Final

from assent.core.errors import NotFound, Refused
from assent.core.paths import base_name, normalize, one_line, parent
from assent.core.permission.sensitive_paths import secret_reason
from assent.core.session.skill import Skill
from assent.executor.disk import Disk, readable_error
from assent.executor.file_states import CHUNK, OPEN_READ
from assent.executor.folder_handles import FolderHandles

SKILL_FILE: Final = "SKILL.md"
MAX_FILE_BYTES: Final = 256 << 10
MAX_FILES: Final = 50  # that are listed
MAX_DEPTH: Final = 3  # folders below a skill that are listed


class SkillFiles:
    """Implements SkillFileReader; no symlink is followed below a skill's folder."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()

    def names(self, skill: Skill) -> tuple[str, ...]:
        """Returns some of a skill's other files, as far as they may be read."""
        handles = self._handles(skill)
        found: list[str] = []
        waiting = [b""]
        try:
            while waiting and len(found) < MAX_FILES:
                here = waiting.pop(0)
                for name, kind in sorted(handles.entries(here)):
                    path = here + b"/" + name if here else name
                    if kind == "folder" and path.count(b"/") < MAX_DEPTH:
                        waiting.append(path)
                    elif kind == "file" and not secret_reason(path):
                        found.append(one_line(path))
        except OSError:
            return ()
        finally:
            handles.forget()
        return tuple(name for name in found if name != SKILL_FILE)[:MAX_FILES]

    def read(self, skill: Skill, file: str) -> bytes:
        """Returns a file of a skill; raises Refused, or NotFound."""
        path = normalize(file.encode("utf-8", "backslashreplace"))
        if why := secret_reason(path):
            raise Refused(f"{one_line(path)} may contain secrets: {why}")
        handles = self._handles(skill)
        try:
            fd = self._disk.open(base_name(path), OPEN_READ, 0, handles.open(parent(path)))
            return self._content(fd, path)
        except FileNotFoundError:
            raise NotFound(f"The skill {skill.name} has no file {one_line(path)}.") from None
        except OSError as error:
            raise readable_error(error, path) from None
        finally:
            handles.forget()

    def _content(self, fd: int, path: bytes) -> bytes:
        try:
            if not S_ISREG(self._disk.stat(fd).st_mode):
                raise Refused(f"{one_line(path)} is not a file.")
            content = b""
            while len(content) <= MAX_FILE_BYTES and (piece := self._disk.read(fd, CHUNK)):
                content += piece
        finally:
            self._disk.close(fd)
        if len(content) > MAX_FILE_BYTES:
            raise Refused(f"{one_line(path)} is larger than {MAX_FILE_BYTES} bytes.")
        return content

    def _handles(self, skill: Skill) -> FolderHandles:
        return FolderHandles(self._disk, os.path.realpath(os.fsencode(skill.folder)))
