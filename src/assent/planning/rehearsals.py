"""Rehearsals of plans: which commands verify a plan, what was recorded, and what it is worth."""

from collections.abc import Sequence
from typing import Final

import msgspec

from assent.core.errors import AssentError, ConcurrentChange, InvalidPlan, NotRehearsed
from assent.core.event import PlanRehearsed, VerificationConfirmed
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord
from assent.core.plan.rehearsal import (
    Rehearsal,
    Rehearser,
    VerifyCommand,
    counts_for,
    decode_rehearsal,
    is_approvable,
    shown_rehearsal,
)
from assent.core.plan.verification import PROJECT_FILES, suggested_commands, verify_commands
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import WorkspaceRepository
from assent.ports import EventBatch

MAX_PROJECT_FILE: Final = 1 << 20  # bytes of a file that says how a project is tested
MAX_TRIES: Final = 50  # of recording a rehearsal while others are recorded
REHEARSE: Final = "assent rehearse"
REHEARSE_WITH: Final = "assent rehearse -- CMD"


class Rehearsals:
    """The log of rehearsals. A rehearsal changes no plan, so it has a stream of its own."""

    def __init__(
        self, ports: Ports, config: WorkspaceConfig, workspaces: WorkspaceRepository
    ) -> None:
        self._ports = ports
        self._config = config.verification
        self._user = config.user
        self._workspaces = workspaces

    def record(self, record: PlanRecord, rehearsal: Rehearsal) -> None:
        """Records what a rehearsal showed."""
        details, _ = self._ports.blobs.keep([msgspec.json.encode(rehearsal)])
        self._ports.blobs.flush()
        event = PlanRehearsed(record.plan_id, rehearsal.operations_hash, details)
        stream, at = _stream(record), self._ports.clock.now()
        for _ in range(MAX_TRIES):
            known = len(self._ports.store.read(stream))
            try:
                self._ports.store.append(EventBatch(stream, known, at, (event,)))
            except ConcurrentChange:  # another rehearsal of the plan ended meanwhile: both count
                continue
            return
        raise ConcurrentChange(
            "Other rehearsals of this plan keep ending, so this one was not recorded.", REHEARSE
        )

    def of(self, record: PlanRecord, plan: Plan) -> Rehearsal | None:
        """Returns the rehearsal that counts for exactly these operations, files and commands."""
        try:
            verification = self.verification(plan.text)
        except InvalidPlan:  # a draft; proposing it is refused
            return None
        return shown_rehearsal(
            [one for one in self._of(record, plan) if counts_for(one, plan, verification)]
        )

    def verification(
        self, text: bytes, given: Sequence[str] = (), by: Rehearser = "person"
    ) -> tuple[VerifyCommand, ...]:
        """Returns the commands that verify a plan with this text; `by` is who gives some."""
        home = self._workspaces.find()
        confirmed = home.verify if home else ()
        user, project, required = self._config.user, self._config.project, self._config.required
        return verify_commands(given, text, user, project, confirmed, by, required=required)

    def suggested(self) -> tuple[str, ...]:
        """Returns the command that the project's files suggest, for a person to confirm."""
        there = {name.decode("utf-8", "replace") for name in self._ports.files.names(b"")}
        texts = {name: self._small(name) for name in PROJECT_FILES if name in there}
        found = {name: text for name, text in texts.items() if text is not None}
        return suggested_commands(found, sorted(there))

    def _small(self, name: str) -> bytes | None:
        """Reads a file of the project, if it can be read and is not too large."""
        files, path = self._ports.files, name.encode()
        try:
            if files.size(path) > MAX_PROJECT_FILE:
                return None
            with files.open(path) as stream:
                return stream.read()
        except (OSError, AssentError):
            return None

    def confirm(self, commands: Sequence[str]) -> None:
        """Remembers which commands verify plans here, once a person has confirmed them."""
        self._workspaces.append(VerificationConfirmed((*commands,), self._user))

    def check_required(self, record: PlanRecord, plan: Plan) -> None:
        """Refuses an approval without a rehearsal, if `approve.require_rehearsal` asks for one."""
        if not self._config.required or not plan.operations:
            return
        matching = [one for one in self._of(record, plan) if counts_for(one, plan)]
        if is_approvable(matching, self._config.user):
            return
        raise NotRehearsed(
            "approve.require_rehearsal is set, and these operations have not passed a rehearsal "
            "with your own verify.commands, or with commands that you gave on a terminal. Nothing "
            "was approved.",
            self._next_for(plan),
        )

    def _next_for(self, plan: Plan) -> str:
        """Returns the command that leads to a rehearsal which counts for an approval."""
        chosen = self.verification(plan.text)
        own = any(line.strip() for line in self._config.user)
        others = any(one.source in ("plan", "project") for one in chosen)
        return REHEARSE_WITH if others and not own else REHEARSE

    def _of(self, record: PlanRecord, plan: Plan) -> list[Rehearsal]:
        """Returns the rehearsals of these operations, oldest first."""
        events = [one.event for one in self._ports.store.read(_stream(record))]
        return [
            decode_rehearsal(self._ports.blobs.read(event.details))
            for event in events
            if isinstance(event, PlanRehearsed) and event.operations_hash == plan.operations_hash
        ]


def _stream(record: PlanRecord) -> str:
    return f"rehearsal/{record.workspace}/{record.plan_id}"
