"""Surroundings: who works in a session, in which posture, and what a call may look at."""

from collections.abc import Mapping
from functools import partial

from assent.core.agent import Agent
from assent.core.mode import agent_of
from assent.core.paths import shown
from assent.core.record import PlanRecord
from assent.core.session import SessionRecord
from assent.core.tool import Action, Posture, Request, Verdict
from assent.engine.session.desk import Desk
from assent.engine.session.tooling import Tooling
from assent.tools.looking.overlay import Overlay
from assent.tools.tool import Around

LARGEST = 1 << 30  # bytes of a file that a model's call may be about: a second of reading


class Surroundings:
    """What follows from a session's record and its plan; what stays the same is made once."""

    def __init__(self, desk: Desk, tooling: Tooling) -> None:
        self._desk = desk
        self._tooling = tooling
        self._overlay: tuple[str, Overlay] | None = None  # with the draft that it shows
        self._scope: tuple[str, tuple[str, ...]] = ("", ())  # of a run of prose

    def agent(self, record: SessionRecord) -> Agent:
        """Returns the agent of the newest message; in a stranger's place the plan agent (F11)."""
        agents = self._tooling.agents
        name = record.agent or agent_of(record.mode)
        return agents.get(name) or agents.get("plan") or Agent("plan")

    def is_stranger(self, record: SessionRecord) -> bool:
        """Tells whether nobody knows the agent that the newest message names."""
        return bool(record.agent) and record.agent not in self._tooling.agents

    def posture(self, record: SessionRecord, plan: PlanRecord | None) -> Posture:
        """Returns everything that decides about a call besides the call itself."""
        scope = self._building(record, plan)
        return Posture(
            "plan" if self.is_stranger(record) else record.mode,
            self._tooling.hosts,
            scope is not None,
            scope or (),
            bool(record.parent),
            self._tooling.staging,
        )

    def around(
        self, record: SessionRecord, plan: PlanRecord | None, seen: Mapping[str, str]
    ) -> Around:
        """Returns what a call has around it: while planning, files with the draft on top."""
        place, posture = self._desk.place, self.posture(record, plan)

        def is_readable(path: bytes) -> bool:
            request = Request(Action.READ, shown(path))
            return self._tooling.gate.decide((request,), posture).verdict is Verdict.RUN

        return Around(
            self._files(plan if posture.mode == "plan" else None),
            self._tooling.process,
            self._tooling.shell,
            self._tooling.fetch,
            posture,
            place.root,
            plan.path if plan else b"",
            partial(self._text, plan),
            place.plan_dir,
            place.private,
            seen,
            is_readable,
        )

    def _text(self, plan: PlanRecord | None) -> bytes:
        return (self._desk.plans.live(plan) or b"") if plan else b""

    def _files(self, plan: PlanRecord | None) -> Overlay:
        """Returns the files with a plan's draft on top; the same draft is put there once."""
        draft = plan.draft if plan else ""
        if self._overlay is None or self._overlay[0] != draft:
            operations = self._desk.drafts.operations(plan) if plan else ()
            doors = self._desk.doors
            self._overlay = (draft, Overlay(doors.files, doors.blobs, operations, largest=LARGEST))
        return self._overlay[1]

    def _building(self, record: SessionRecord, plan: PlanRecord | None) -> tuple[str, ...] | None:
        """Returns the files that an approved plan of prose may touch, in its own turns alone."""
        run = plan.building if plan else None
        if run is None or (run.run, run.session) != (record.build, record.session):
            return None
        if self._scope[0] != run.run:
            self._scope = (run.run, self._desk.plans.ledger().plan(run).scope.files)
        return self._scope[1]
