"""`assent serve …`: starts and stops the server, and manages who may use it."""

import asyncio
import os
import signal
import sys
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.terminal import has_terminal, read_reply, write_line
from assent.core.access import ROLES, Role
from assent.core.errors import AssentError, Busy, Declined, UsageError
from assent.render.lines import Line
from assent.render.rows import Row, encoded
from assent.web.access import AccessControl
from assent.web.host import ServerHost
from assent.web.server import Server, ServerOptions

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.ports.session import Asker

FOLDER: Final = "serve"  # in the state directory: the port that is taken again, and who serves
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class LocalServerHost(ServerHost):
    """Implements web.ServerHost for workspaces of this machine."""

    def __init__(self, roots: list[str], access: AccessControl) -> None:
        self._roots = roots
        self._access = access
        self._engines: dict[str, Engine] = {}
        self._lock = Lock()

    @property
    def user(self) -> str:
        from assent.app.ports import HOST

        return HOST.get().user()

    def roots(self) -> list[str]:
        added = [os.fsdecode(root) for root in self._access.roots]
        return list(dict.fromkeys([*self._roots, *filter(os.path.isdir, added)]))

    def engine(self, root: str) -> "Engine":
        from assent.app.composition import open_engine

        with self._lock:
            if root not in self._engines:
                self._engines[root], warnings = open_engine(root, lenient=True)
                for words in warnings:
                    self._engines[root].warn(words)
            return self._engines[root]

    def runtime(self, root: str, asker: "Asker", model: str, agent: str) -> "SessionRuntime":
        from assent.app.session import SessionOptions, open_session_runtime

        return open_session_runtime(root, asker, SessionOptions(model, agent), self.engine(root))

    def close(self) -> None:
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines = {}
