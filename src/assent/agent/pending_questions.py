"""Questions that wait for an answer, and the permissions that answers grant."""

import msgspec

from assent.agent.session_repository import PendingQuestionList, SessionRepository
from assent.core.decoding import json_decoder
from assent.core.errors import Busy, ConcurrentChange, NotFound
from assent.core.event import StoredEvent
from assent.core.llm import ToolCall
from assent.core.permission.mode import Mode
from assent.core.permission.rule import Grant, GrantEvent, GrantGiven, GrantRevoked
from assent.core.session.event import PartSaid, QuestionAnswered, SessionEvent, StepStarted
from assent.core.session.question import (
    QUESTION_WITHDRAWN,
    QUESTIONS_COMMAND,
    AcceptedAnswer,
    QuestionReply,
    StoredQuestion,
    accepted_answer,
    answered_elsewhere_text,
    check_answerable,
    check_reply,
    grant_from_reply,
    stored_questions,
)
from assent.core.session.record import SessionRecord
from assent.permissions.grants import is_edited_pattern
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import WorkspaceRepository, decoded_head
from assent.ports import EventBatch

# Remembered permission answers: listed, looked up and revoked.


MAX_TRIES = 20  # at grants, or in a session, that others change, too
LIST_COMMAND = "assent rules list"


class GrantLog(msgspec.Struct, frozen=True):
    """The grants of a workspace according to its events, without the revoked ones."""

    seq: int = 0
    grants: tuple[Grant, ...] = ()


NO_GRANTS = GrantLog()
_decode = json_decoder(GrantLog).decode
_encode = msgspec.json.Encoder().encode


class Grants:
    """Remembers, finds and revokes permission answers."""

    def __init__(
        self, ports: Ports, workspaces: WorkspaceRepository, config: WorkspaceConfig
    ) -> None:
        self._ports = ports
        self._workspaces = workspaces
        self._config = config
        self._known: dict[str, GrantLog] = {}  # by workspace, as it was last seen

    def all(self) -> tuple[Grant, ...]:
        """Returns every grant that was not revoked, oldest first."""
        home = self._workspaces.find()
        return self._book(home.workspace).grants if home else ()

    def of(
        self,
        record: SessionRecord,
        who: tuple[str, Mode, str],
        plan: str = "",
        expires_s: int = 0,
    ) -> tuple[Grant, ...]:
        """Returns the grants that apply in a session, for an agent and a mode.

        `who` is the agent, the mode in effect, and the name of the custom mode, if it is one;
        `plan` is the digest of the text plan that is being built, if any. In plan mode no grant
        applies.
        """
        if who[1] == "plan":
            return ()
        grants = self._book(record.workspace).grants
        if not grants:
            return ()
        oldest = self._ports.clock.later(-expires_s) if expires_s else ""
        return tuple(
            grant
            for grant in grants
            if ((grant.agent, grant.mode, grant.custom), grant.plan) == (who, plan)
            and grant.given_at > oldest
            and (grant.reach == "project" or grant.session == record.session)
        )

    def give(self, grant: Grant) -> Grant:
        """Stores a grant."""
        self._append(GrantGiven(grant))
        return grant

    def batch(self, workspace: str, event: GrantEvent) -> EventBatch:
        """Returns the batch that appends an event to the grants, together with other events."""
        grants = self._book(workspace)
        changed = _folded(grants, event)
        at = self._ports.clock.now()
        return EventBatch(_stream(workspace), grants.seq, at, (event,), _encode(changed))

    def revoke(self, reference: str, user: str = "") -> Grant:
        """Revokes a grant by its id or a prefix of it; this takes effect at once."""
        found = [grant for grant in self.all() if reference and grant.id.startswith(reference)]
        if len(found) != 1:
            raise NotFound(
                f"{reference!a} matches {len(found)} saved permissions; it must match exactly one.",
                LIST_COMMAND,
            )
        self._append(GrantRevoked(found[0].id, user or self._config.user))
        return found[0]

    def _append(self, event: GrantEvent) -> None:
        workspace = self._workspaces.open().workspace
        for _ in range(MAX_TRIES):
            try:
                self._ports.store.append(self.batch(workspace, event))
                return
            except ConcurrentChange:
                continue  # the book is read again
        raise Busy(
            "Saved permissions are being changed by another process; nothing was changed. Retry.",
            LIST_COMMAND,
        )

    def _book(self, workspace: str) -> GrantLog:
        """Returns the grants of a workspace; after the first call only new events are read."""
        stream, store = _stream(workspace), self._ports.store
        grants = self._known.get(workspace)
        if grants is None:
            grants = decoded_head(store.head(stream), _decode) or NO_GRANTS
        for recorded in store.read(stream, grants.seq):
            grants = _taken(grants, recorded)
        self._known[workspace] = grants
        return grants


def _stream(workspace: str) -> str:
    return f"grant/{workspace}"


def _taken(grants: GrantLog, recorded: StoredEvent) -> GrantLog:
    match recorded.event:
        case GrantGiven() | GrantRevoked() as event:
            return _folded(grants, event)
        case _:
            raise AssertionError("not a grant's event")


def _folded(grants: GrantLog, event: GrantEvent) -> GrantLog:
    match event:
        case GrantGiven(grant):
            return GrantLog(grants.seq + 1, (*grants.grants, grant))
        case GrantRevoked(gone):
            return GrantLog(
                grants.seq + 1, tuple(each for each in grants.grants if each.id != gone)
            )


RECENT_EVENTS = 100  # events back, where a call is looked for first
BUSY = "Another process keeps changing this session; nothing was answered. Retry."


class PendingQuestions(PendingQuestionList):
    """Finds, answers and expires open questions."""

    def __init__(
        self, ports: Ports, workspaces: WorkspaceRepository, config: WorkspaceConfig, grants: Grants
    ) -> None:
        super().__init__(ports, workspaces)
        self._grants = grants
        self.user = config.user

    def check_open(self, one: StoredQuestion) -> None:
        """Raises an error that says why, if a question can no longer be answered."""
        check_answerable(one, self.clock.now())

    def answer(self, reference: str, digest: str, reply: QuestionReply) -> AcceptedAnswer:
        """Answers a question that a user saw under this digest, at most once."""
        found = self.find(reference)
        return self.record_answer(found.session, found.id, digest, reply)

    def record_answer(
        self, record: SessionRecord, id: str, digest: str, reply: QuestionReply
    ) -> AcceptedAnswer:
        """Records the answer to a question of a known session, with its consequences, at once."""
        diary = SessionRepository(self._ports, record.workspace)
        for _ in range(MAX_TRIES):
            current = diary.load(record.session)
            known = stored_questions(diary.read(record.session))
            done, batches = self._batches(current, known, (id, digest), reply)
            try:
                self._ports.store.append(*batches)
            except ConcurrentChange:
                continue  # who was faster may have answered this very question
            return done
        raise Busy(BUSY, QUESTIONS_COMMAND)

    def expire(self, record: SessionRecord, id: str, by: str = "") -> None:
        """Records that a question expired, unless it was just answered; that counts as denied."""
        diary = SessionRepository(self._ports, record.workspace)
        for _ in range(MAX_TRIES):
            current = diary.load(record.session)
            if id not in current.questions:
                return
            event = QuestionAnswered(id, None, by)
            try:
                self._ports.store.append(diary.batch(current, current.session, (event,))[1])
                return
            except ConcurrentChange:
                continue
        raise Busy(BUSY, QUESTIONS_COMMAND)

    def is_open(self, record: SessionRecord, id: str) -> bool:
        """Tells whether a question is still open; cheap enough to be polled."""
        return id in SessionRepository(self._ports, record.workspace).load(record.session).questions

    def answered_elsewhere(self, record: SessionRecord, id: str) -> str:
        """Returns how a question was closed; nothing while it is open."""
        if self.is_open(record, id):
            return ""
        found = self.reply_to(record, id, 0)
        return answered_elsewhere_text(found.answers, found.by) if found else QUESTION_WITHDRAWN

    def reply_to(self, record: SessionRecord, id: str, after: int) -> QuestionAnswered | None:
        """Returns the answer to a question that was asked after an event, if there is one."""
        said = SessionRepository(self._ports, record.workspace).read(record.session, after)
        answers = [one.event for one in said if isinstance(one.event, QuestionAnswered)]
        return next((one for one in answers if one.id == id), None)

    def call_on_record(self, record: SessionRecord, call: ToolCall) -> ToolCall:
        """Returns a call of the current step as the model made it, before normalization."""
        diary = SessionRepository(self._ports, record.workspace)
        for back in (RECENT_EVENTS, record.seq):
            events = [one.event for one in diary.read(record.session, max(0, record.seq - back))]
            begins = [at for at, event in enumerate(events) if isinstance(event, StepStarted)]
            if begins:
                said = [event.part for event in events[begins[-1] :] if isinstance(event, PartSaid)]
                calls = [part for part in said if isinstance(part, ToolCall)]
                return next((each for each in calls if each.id == call.id), call)
        return call

    def _batches(
        self,
        record: SessionRecord,
        known: tuple[StoredQuestion, ...],
        named: tuple[str, str],
        reply: QuestionReply,
    ) -> tuple[AcceptedAnswer, list[EventBatch]]:
        """Returns the result of an answer, and the batches that store all of it together."""
        (id, digest), now = named, self.clock.now()
        one = next((each for each in known if each.asked.id == id), None)
        if one is None:
            raise NotFound(f"Question {id!a} not found.", QUESTIONS_COMMAND)
        check_answerable(one, now)
        check_reply(record.session, one, digest, reply)
        reply = msgspec.structs.replace(
            reply, by=reply.by or self.user, grant=reply.grant or self.clock.new_id()
        )
        others = [each for each in known if each is not one and each.status(now) == "open"]
        edited = is_edited_pattern(one.asked.questions[0].always, reply.patterns)
        grant = grant_from_reply(one, record.session, reply, now, edited=edited)
        done = accepted_answer(one, others, reply, grant)
        diary = SessionRepository(self._ports, record.workspace)
        events: tuple[SessionEvent, ...] = (done.answered, *done.others)
        batches = [diary.batch(record, record.session, events)[1]]
        if done.grant is not None:
            batches.append(self._grants.batch(record.workspace, GrantGiven(done.grant)))
        return done, batches
