"""A machine for tests of plans that travel: a name that signs, and names that it trusts."""

import os
from functools import partial
from pathlib import Path

import msgspec
from tests.support.engine import NamedSigner, World

from assent.app.engine import Engine
from assent.executor.executor import Executor
from assent.executor.file_writer import LocalFileWriter
from assent.executor.projection import PLANS, LocalProjection
from assent.planning.ports import Ports, WorkspaceConfig
from assent.workspace.files import LocalWorkspaceFiles


class NamedKeys:
    """Implements ports.Keys for NamedSigner: whoever knows a name can sign with it."""

    def __init__(self, *trusted: str) -> None:
        self._trusted = trusted

    def trusted(self, key: str) -> bool:
        return key in self._trusted

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        return NamedSigner(key).verify(key, payload, signature)


class Machine(World):
    """A machine with a name of its own, and the keys that it trusts."""

    def __init__(self, base: Path, name: str, *trusted: str) -> None:
        base.mkdir()
        super().__init__(base)
        self.signer = NamedSigner(name)
        self.keys = NamedKeys(*trusted)
        self.independent: bool | tuple[str, ...] = False
        self.user = "tester"

    def opened(self) -> Engine:
        root = os.fsencode(self.root)
        doors = Ports(
            store=self.store,
            blobs=self.blobs,
            signer=self.signer,
            locks=self.locks,
            clock=self.clock,
            files=LocalWorkspaceFiles(root, root),
            projection=LocalProjection(root),
            executor=partial(Executor, LocalFileWriter(root), self.blobs),
            keys=self.keys,
        )
        place = WorkspaceConfig(root, os.stat(root).st_ino, PLANS, self.user, self.expires_s)
        return Engine(doors, msgspec.structs.replace(place, independent=self.independent))
