"""The server: the workspaces, who may use them, and the threads in which the engine works."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from assent.core.access import Access
from assent.core.errors import NotFound, UsageError, WorkspaceMismatch
from assent.core.event import Role
from assent.render.rows import path_fields
from assent.web.access import AccessControl, LoginLimiter
from assent.web.answer_cache import AnswerCache
from assent.web.errors import Forbidden, TooBusy
from assent.web.event_feed import EventFeed
from assent.web.host import ServerHost
from assent.web.origins import Origins
from assent.web.plan_files import PlanFiles
from assent.web.plan_worker import PlanWorker
from assent.web.review_memory import ReviewMemory, ViewedOperations
from assent.web.review_pages import KeptReviews, ReviewPages
from assent.web.session_worker import SessionWorker
from assent.web.turn_pool import TurnPool

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord
    from assent.core.session.record import SessionRecord
    from assent.runs.history import PastRun

T = TypeVar("T")
THREADS: Final = 16  # that answer requests; turns have their own
MAX_QUEUED: Final = 512  # requests that may wait for one of them


class ServerOptions(msgspec.Struct, frozen=True):
    """How the server was started, and what the user's configuration says about it."""

    port: int
    origins: Origins  # under which it answers
    remote: bool = False  # others than this machine can reach it, so a login needs the password
    tokens_decide: bool = False
    streams: int = 4_000  # of events that may be open at once


class Server:
    """Everything that a request may need."""

    def __init__(
        self, host: ServerHost, access: AccessControl, feed: EventFeed, options: ServerOptions
    ) -> None:
        self.host = host
        self.access = access
        self.feed = feed
        self.plan_files = PlanFiles(feed)
        self.options = options
        self.logins = LoginLimiter()
        self.reviewed = ReviewMemory()
        self.viewed = ViewedOperations()
        self._worker = SessionWorker(host, feed)
        self.turns = TurnPool(self._worker.work)
        self.pages = ReviewPages()
        self.reviews = KeptReviews()
        self.plan_worker = PlanWorker(host, feed)
        self.answers = AnswerCache()
        self._threads = ThreadPoolExecutor(THREADS, "request")
        self._queued = 0
        self._resumed: frozenset[str] = frozenset()  # folders of workspaces

    @property
    def cookie(self) -> str:
        """The name of the cookie: servers on other ports of a machine get each other's."""
        return f"assent-{self.options.port}"

    def check_role(self, access: Access, role: Role, *, decides: bool) -> None:
        """Raises Forbidden if a role, or being a token, does not allow something."""
        tokens_decide = self.options.tokens_decide
        if access.may(role, decides=decides, tokens_decide=tokens_decide):
            return
        if decides and access.kind == "token" and not tokens_decide:
            raise Forbidden(
                "A token may not decide this: a person does, in the page or on the command line.",
                "assent waiting",
            )
        raise Forbidden(
            f"This needs the role {role}; yours is {access.role}.",
            f"assent serve code --role {role}",
        )

    @property
    def secure_cookie(self) -> str:
        """The name of a cookie that browsers only send, and only take, encrypted."""
        return f"__Host-{self.cookie}"

    @property
    def needs_password(self) -> bool:
        """Whether a login needs the password: others than this machine can reach the server."""
        if self.options.remote:
            return True
        return bool(self.options.origins.public) and self.access.has_password

    async def run(self, act: Callable[[], T]) -> T:
        """Runs something that may wait in a thread; raises TooBusy if too many do already."""
        if self._queued >= THREADS + MAX_QUEUED:
            raise TooBusy("The server is overloaded. Nothing was done.", "try again")
        self._queued += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, act)
        finally:
            self._queued -= 1

    def resume(self) -> None:
        """Goes on with every session in which something waits, or was at work before.

        Called again, it does so in the workspaces that were added since.
        """
        roots = self.host.roots()
        added = [root for root in roots if root not in self._resumed]
        self._resumed = frozenset(roots)
        for engine in map(self.host.engine, added):
            for session in engine.message_queues.pending(engine.workspace):
                self.turns.submit(self.root_of(engine), session)

    def work(self, engine: "Engine", record: "SessionRecord") -> None:
        """Has a session's queue worked on; a person wants it, even if the session was stopped."""
        if record.halt:
            self._worker.restart(record.session)
        self.turns.submit(self.root_of(engine), record.session)

    def engines(self, workspace: str = "") -> "list[Engine]":
        """Returns the engines of the workspaces, or of one by its id or its folder.

        One in which nothing was begun yet has no id.
        """
        found = [self.host.engine(root) for root in self.host.roots()]
        if not workspace:
            return found
        named = [engine for engine in found if workspace in _names(engine)]
        if len(named) == 1:
            return named
        raise NotFound(f"No workspace {workspace!a} is served here.", "assent serve add DIR")

    def choose_engine(self, workspace: str) -> "Engine":
        """Returns the engine of a workspace by its id or folder; without one, of the only one."""
        found = self.engines(workspace)
        if len(found) != 1:
            raise UsageError(
                "Several workspaces are served: name one as `workspace`.", "GET /api/v1/workspaces"
            )
        return found[0]

    def root_of(self, engine: "Engine") -> str:
        """Returns the folder of an engine's workspace."""
        return os.fsdecode(engine.root)

    def find_plan(self, plan_id: str) -> "tuple[Engine, PlanRecord]":
        """Returns a plan by its full id, with the engine of its workspace."""
        return self._find(lambda engine: engine.plans.repository().load(plan_id), "plan", plan_id)

    def find_run(self, run: str) -> "tuple[Engine, PastRun]":
        """Returns a run by its full id or name, with the engine of its workspace."""

        def load(engine: "Engine") -> "PastRun":
            engine.runs.record_lost_command()
            found = engine.history.find(run)
            if run not in (found.unit.name, found.unit.whole, *found.unit.runs):
                raise NotFound(f"Run {run!a} not found.")
            return found

        return self._find(load, "run", run)

    def find_session(self, session: str) -> "tuple[Engine, SessionRecord]":
        """Returns a session by its full id, with the engine of its workspace."""
        return self._find(lambda engine: engine.sessions.load(session), "session", session)

    def _find(self, load: "Callable[[Engine], T]", noun: str, id: str) -> "tuple[Engine, T]":
        for engine in self.engines():
            try:
                return engine, load(engine)
            except (NotFound, WorkspaceMismatch):
                continue
        raise NotFound(f"There is no {noun} {id!a} in the workspaces that are served.")

    def close(self) -> None:
        self.turns.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.plan_worker.close()
        self.host.close()


def _names(engine: "Engine") -> set[object]:
    """Returns how a caller may name a workspace: by its id, or its folder as it is listed."""
    return {engine.workspace, path_fields("root", engine.root)["root"]}
