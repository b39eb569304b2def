"""Opens files outside the workspace for reading, except Assent's own and credentials."""

import os
from pathlib import Path

from assent.config.paths import AppPaths
from assent.ports import OutsideFiles


class LazyOutsideFiles:
    """Implements ports.OutsideFiles; loads it with its tables when first needed."""

    def __init__(self, root: bytes, here: AppPaths) -> None:
        self._root = root
        self._here = here
        self._outside: OutsideFiles | None = None

    def real(self, path: bytes) -> bytes:
        return self._real().real(path)

    def is_folder(self, path: bytes) -> bool:
        return self._real().is_folder(path)

    def read(self, path: bytes, limit: int) -> bytes:
        return self._real().read(path, limit)

    def names(self, folder: bytes) -> dict[bytes, bool]:
        return self._real().names(folder)

    def _real(self) -> OutsideFiles:
        if self._outside is None:
            from assent.workspace.outside_files import LocalOutsideFiles

            self._outside = LocalOutsideFiles(self._root, refused_paths(self._here))
        return self._outside


def refused_paths(here: AppPaths) -> list[bytes]:
    """Lists where Assent's own files and credentials lie, in every home of this machine."""
    from assent.sandbox.profile.credentials import credential_paths

    own = [os.fsencode(path) for path in (here.state, here.config, here.file)]
    return [*own, *(place for home in _homes() for place in credential_paths(home))]


def _homes() -> list[bytes]:
    homes = {Path.home(), Path("/root")}
    for above in (Path("/home"), Path("/Users")):
        try:
            homes.update(above.iterdir())
        except OSError:
            continue
    return sorted(map(os.fsencode, homes))
