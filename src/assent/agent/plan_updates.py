"""Messages that tell the model what others did to its plan, as read from the log.

What users wrote is quoted verbatim.
"""

from collections.abc import Iterable, Sequence

import msgspec

from assent.agent.services import AgentServices
from assent.core.digest import operation_ids, sha256
from assent.core.errors import StoreError
from assent.core.event import (
    DraftChanged,
    DraftEdited,
    Event,
    EventBody,
    JournalWritten,
    OperationsDeclined,
    PlanApproved,
    PlanCreated,
    PlanDiscarded,
    PlanProposed,
    PlanRebased,
    PlanRejected,
    PlanSelected,
    RunEnded,
    RunHalted,
    StoredEvent,
    TextRevised,
)
from assent.core.llm import TextPart
from assent.core.paths import one_line
from assent.core.permission.mode import default_agent
from assent.core.plan.approval import Approval
from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord, PlanRun, PlanState
from assent.core.run.journal import RunOutcome
from assent.core.session.event import MessageAdded, OptionLinked, PlanLink, SessionEvent, plan_link
from assent.core.session.record import SessionRecord
from assent.render.diff import text_diff
from assent.render.rows import operation_kind, operation_subject
from assent.runs.journal import AppliedChanges

MAX_FILES = 50  # that one message names
MAX_DIFF_CHARS = 4000  # characters

PARTLY_APPROVED = (
    "The user excluded operations and approved the plan without them; the excluded ones are "
    "rejected."
)
NOT_CHOSEN = " The other options were discarded."
APPROVED_WITH_NOTE = "They approved with a note, which becomes an item of the next plan."


def rejected_text(event: PlanRejected, option: str = "", *, over: bool = False) -> str:
    """Returns the message that the user rejected the plan, or an option.

    If something else was decided since (`over`), only their words still count.
    """
    said = f"User's message:\n\n{event.note}" if event.note.strip() else "They gave no reason."
    what = f"option {option}" if option else "the plan"
    if over:
        return f"The user had rejected {what} before. {said}" if event.note.strip() else ""
    return (
        f"The user rejected {what}. It is a draft again: take out with `unstage` what they do not "
        f"want, revise the rest and present it again. {said}"
    )


def approved_text(event: PlanApproved, option: str = "") -> str:
    """Returns the message that the user approved the plan, or an option."""
    said = f" {_noted(event.approval)}" if event.approval.note.strip() else ""
    what, others = ("option " + option, NOT_CHOSEN) if option else ("the plan", "")
    return (
        f"The user approved {what} with digest {event.approval.digest}.{others} Exactly that is "
        f"applied when they build it; until then you have nothing to do.{said}"
    )


def built_lead(yes: Approval | None, option: str = "") -> str:
    """Returns how a report about a run begins: what was built, and who approved it."""
    what, others = (f"Option {option}", NOT_CHOSEN) if option else ("The plan", "")
    by = f", approved by {yes.approver.user} ({yes.approver.channel})" if yes else ""
    return f"{what} was built{by}.{others}"


def _noted(yes: Approval) -> str:
    return f"{APPROVED_WITH_NOTE} User's message:\n\n{yes.note}"


def declined_text(gone: Sequence[Operation]) -> str:
    """Returns the message that lists the operations the user declined."""
    rows = "\n".join(f"- {operation_kind(op)} {operation_subject(op)}" for op in gone[:MAX_FILES])
    return (
        "The user removed these operations from the plan. Do not stage them again unless the user "
        f"asks for it.\n{rows}{_more(gone)}"
    )


def partly_approved_text(gone: Sequence[Operation], followed: Sequence[Operation]) -> str:
    """Returns the message that lists the operations excluded from an approved plan."""
    rows = "\n".join(f"- {operation_kind(op)} {operation_subject(op)}" for op in gone[:MAX_FILES])
    told = (
        f"{PARTLY_APPROVED} Do not stage these again unless the user asks for it.\n"
        f"{rows}{_more(gone)}"
    )
    if not followed:
        return told
    rest = "\n".join(
        f"- {operation_kind(op)} {operation_subject(op)}" for op in followed[:MAX_FILES]
    )
    return f"{told}\n\nThese depend on them and were excluded too:\n{rest}{_more(followed)}"


def staged_text(added: Sequence[Operation]) -> str:
    """Returns the message that lists operations added to the draft that the model has not seen."""
    rows = "\n".join(f"- {operation_kind(op)} {operation_subject(op)}" for op in added[:MAX_FILES])
    return f"These operations were staged in the plan in the meantime:\n{rows}{_more(added)}"


def rebased_text(paths: Sequence[bytes]) -> str:
    """Returns the message that the plan was rebased onto files that changed."""
    rows = "\n".join(f"- {one_line(path)}" for path in paths[:MAX_FILES])
    return (
        "These files changed in the meantime, and the plan was rebased onto them; changes they "
        "already contain were removed from it. Read them again before you change them.\n"
        f"{rows}{_more(paths)}"
    )


def edited_text(plan: PlanRecord, diff: str | None) -> str:
    """Returns the message that shows how the user changed the plan's text."""
    shown = diff or "The diff is too large to show."
    cut = shown[:MAX_DIFF_CHARS] + ("\n…" if len(shown) > MAX_DIFF_CHARS else "")
    return f"The user edited the plan's text in {one_line(plan.path)}; follow it.\n\n{cut}"


def selected_text(plan: PlanRecord, text: bytes) -> str:
    """Returns the message that the user selected another plan."""
    return (
        f"The user selected another plan to work on: {plan_title(plan, text)!r} in "
        f"{one_line(plan.path)}, {plan.state.label.lower()}. Plan text and staged "
        "operations go there from now on."
    )


def plan_changed_text(plan: PlanRecord, before: PlanRecord | None) -> str:
    """Returns the message that a session goes on with another plan, and what became of the last."""
    where = f"{plan.name} in {one_line(plan.path)}"
    if before is None:
        return f"The current plan is now {where}, {plan.state.label.lower()}."
    return (
        f"The current plan is now {where}, {plan.state.label.lower()}. The plan {before.name} is "
        f"{before.state.label.lower()} and no longer the current one."
    )


def option_followed_text(plan: PlanRecord) -> str:
    """Returns the message that another option is the current one."""
    return f"Option {plan.option} is now the current plan."


def deleted_text(plan: PlanRecord) -> str:
    """Returns the message that a plan was deleted."""
    return f"The plan {plan.name} was deleted with everything staged in it."


def discarded_text(plan: PlanRecord) -> str:
    """Returns the message that the user discarded the plan."""
    return (
        f"The user ended planning: the plan {plan.name} was discarded with everything staged in "
        "it. Do not present it again unless the user asks for a plan."
    )


def plan_title(plan: PlanRecord, text: bytes) -> str:
    """Returns the first heading of a plan's text, or its name."""
    lines = text.decode("utf-8", "replace").splitlines()
    heads = [line.lstrip("#").strip() for line in lines if line.startswith("# ")]
    return heads[0] if heads and heads[0] else plan.name


def _more(things: Sequence[object]) -> str:
    left = len(things) - MAX_FILES
    return f"\n- and {left} more" if left > 0 else ""


UpdateText = tuple[str, str]  # what a message is about, and its words


class OwnChanges(msgspec.Struct, frozen=True):
    """What a turn itself did to the plan, which its model knows already."""

    text: str = ""  # the hash of the text that it wrote
    draft: str = ""  # the draft that its staging left


class _Undo(msgspec.Struct, frozen=True):
    """A run that took runs of the session back, or brought them back again."""

    plan: PlanRecord
    run: str
    taken: frozenset[str] = frozenset()
    again: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether all of those runs is undone."""
        parts = ":" in self.plan.undoes
        return bool(self.taken) and not self.again and not self.plan.left_alone and not parts


# In which a plan still has the operations that a run did not apply.
STAGED_STATES = (PlanState.DRAFTING, PlanState.AWAITING_APPROVAL)


class PlanUpdates:
    """Reads the log from where the last read ended; each event is seen once."""

    def __init__(self, services: AgentServices, record: SessionRecord, position: int) -> None:
        self._services = services
        self._store = services.ports.store
        self._repository = services.plans.repository()
        self._streams = (f"plan/{record.workspace}/", f"workspace/{record.workspace}")
        self._position = position
        self._unread = self._before(record, position)

    def read(
        self, record: SessionRecord, known: int, own: OwnChanges | None = None
    ) -> list[SessionEvent]:
        """Returns messages about plan changes, and the log position that the model then knows.

        `known` is a position that the log had already reached: the next read starts there.
        """
        events = [*self._unread, *self._since(record)]
        self._unread = []
        self._position = max([self._position, known, *[one.position for one in events[-1:]]])
        if not events:
            return []
        told, link = self._told(record, events, own)
        return [*[self._message(record, about, words) for about, words in told], link]

    def _since(self, record: SessionRecord) -> list[StoredEvent]:
        """Returns what was recorded about the session's plans and the workspace, and all undos."""
        if self._store.last() == self._position:
            return []
        plans, home = self._streams
        own = [self._repository.stream(plan) for plan in (record.plan_id, *record.others) if plan]
        events = self._store.read_all([*own, home], self._position)
        known = {one.position for one in events}
        ended = self._store.read_all([plans], self._position, [RunEnded])
        events += [one for one in ended if one.position not in known]
        return sorted(events, key=lambda one: one.position)

    def take_in(self, plan: PlanRecord) -> bool:
        """Makes a revision of what the user wrote into a draft's file; tells whether they did."""
        if plan.state is not PlanState.DRAFTING:
            return False
        live = self._services.plans.live_text(plan)
        if live is not None and sha256(live) == plan.content_hash:
            return False
        plan = self._repository.load(plan.plan_id)  # another process may have recorded it already
        if plan.state is not PlanState.DRAFTING:
            return False
        if live is None:
            self._services.plans.delete([plan])
        else:
            self._services.plans.write(plan, None)
        return True

    def _before(self, record: SessionRecord, position: int) -> list[StoredEvent]:
        """Returns the events up to a position that the session's model has not read yet."""
        unread = self._store.read(f"workspace/{record.workspace}", record.home_seq)
        if record.plan_id:
            unread += self._store.read(self._repository.stream(record.plan_id), record.plan_seq)
        for plan_id, seq in record.others.items():
            unread += self._store.read(self._repository.stream(plan_id), seq)
        return [one for one in unread if one.position <= position]

    def _told(
        self, record: SessionRecord, events: Sequence[StoredEvent], own: OwnChanges | None
    ) -> tuple[list[UpdateText], PlanLink]:
        told: list[UpdateText] = []
        stream = self._repository.stream(record.plan_id)
        undos = self._undos(record, [one for one in events if one.stream != stream])
        link = plan_link(
            record.plan_id, record.plan_seq, record.home_seq, record.option, record.others
        )
        about = [one for one in events if one.stream == stream] if record.plan_id else []
        if about:
            plan = self._repository.load(record.plan_id)
            undone = frozenset(run for one in undos if one.is_whole for run in one.taken)
            told += self._of_plan(plan, about, own, undone)
            built = {one.event.run for one in about if isinstance(one.event, RunEnded)}
            undos = [one for one in undos if not (one.is_whole and one.taken <= built)]
            gone = plan.state is PlanState.DISCARDED
            link = plan_link(
                "" if gone else plan.plan_id,
                0 if gone else about[-1].seq,
                link.home,
                "" if gone else plan.option,
                record.others,
            )
        if record.others:
            others, link = self._of_options(record, link, events)
            told += others
        told += [("undone", self._undone(one)) for one in undos]
        home = [one for one in events if one.stream == self._streams[1]]
        if home:
            used, link = self._of_home(link, home)
            told += used
        return told, link

    def _of_options(
        self, record: SessionRecord, link: PlanLink, events: Sequence[StoredEvent]
    ) -> tuple[list[UpdateText], PlanLink]:
        """Reports what others did to the options apart from the session's own, and follows them.

        An option that the user approved is the session's plan from then on; one that they sent
        back, where its own still waits for them; and any that is left, where its own is gone.
        """
        told: list[UpdateText] = []
        known, open_ones = dict(record.others), dict[str, PlanRecord]()
        sent_back: list[str] = []
        for plan_id, seq in record.others.items():
            stream, plan = self._repository.stream(plan_id), self._repository.load(plan_id)
            about = [one for one in events if one.stream == stream and one.seq > seq]
            if about:
                said = self._of_plan(plan, about, None)
                told += [(what, _of_option(plan, words)) for what, words in said]
                known[plan_id] = about[-1].seq
            if plan.state is not PlanState.DISCARDED:
                open_ones[plan_id] = plan
            if any(isinstance(one.event, PlanRejected) for one in about):
                sent_back.append(plan_id)
        own = self._repository.load(link.plan_id) if link.plan_id else None
        follow = [*open_ones][:1] if own is None else []
        if own is not None and own.state is PlanState.AWAITING_APPROVAL:
            follow = sent_back[:1]
        if own is not None:
            open_ones[own.plan_id], known[own.plan_id] = own, link.seq
        current = open_ones.get((follow or [link.plan_id])[0])
        rest = {p: n for p, n in known.items() if p in open_ones and open_ones[p] is not current}
        if current is None:
            return told, plan_link("", 0, link.home)
        if current.plan_id != record.plan_id:
            told.append(("plan_used", option_followed_text(current)))
        seq = known[current.plan_id]
        return told, plan_link(current.plan_id, seq, link.home, current.option, rest)

    def _of_plan(
        self,
        plan: PlanRecord,
        events: Sequence[StoredEvent],
        own: OwnChanges | None,
        undone: frozenset[str] = frozenset(),
    ) -> Iterable[UpdateText]:
        """Reports what others did to a plan, without what something later made untrue.

        `undone` are runs that were undone since, which their own report says.
        """
        if text := self._edited(plan, events, own):
            yield text
        said = [one for one in events if isinstance(one.event, OperationsDeclined | PlanRebased)]
        partly = {one.seq - 1 for one in said}
        last = _last_decision(events)
        for recorded in events:
            match recorded.body:
                case DraftChanged() | DraftEdited() if recorded.seq in partly:
                    pass  # what comes next says it better
                case DraftChanged() | DraftEdited() as change if (
                    own is None or change.draft != own.draft
                ):
                    yield self._draft(recorded, change)
                case OperationsDeclined() as partial:
                    yield "declined", self._partly(recorded, partial)
                case PlanRejected() as no if recorded.seq < last:
                    if words := rejected_text(no, plan.option, over=True):
                        yield "rejected", words
                case PlanApproved() | RunHalted() if recorded.seq < last:
                    pass  # the report about the run, or what was decided since, says it
                case RunEnded(run, outcome):
                    about = "undone" if run in undone else "run"
                    yield about, self._ran(plan, run, outcome, undone=run in undone)
                case RunHalted(run):
                    yield "run", self._ran(plan, run, "needs_you")
                case PlanDiscarded() if self._repository.chosen_instead(plan):
                    pass  # the approval of the other option says it
                case event:
                    yield from _decided(plan, event)

    def _edited(
        self, plan: PlanRecord, events: Sequence[StoredEvent], own: OwnChanges | None
    ) -> UpdateText | None:
        """Compares the text that the model knows with the one that another writer left."""
        if own is not None and isinstance(events[0].event, PlanCreated):
            return None  # the turn made the plan, and with it the text that it begins with
        mine = own.text if own else ""
        texts = [(e.seq, e.event.content_hash) for e in events if isinstance(e.event, TextRevised)]
        foreign = [t for _, t in texts if t != mine]
        if not foreign:
            return None
        history = self._history(plan.plan_id, texts[0][0])
        known = [event.content_hash for event in history if isinstance(event, TextRevised)]
        before = self._services.plans.text(known[-1]) if known else b""
        after = self._services.plans.text(foreign[-1])
        diff = text_diff(before, after, "before", "after")
        return ("edited", edited_text(plan, diff)) if before != after else None

    def _draft(self, recorded: StoredEvent, change: DraftChanged | DraftEdited) -> UpdateText:
        if change.added:
            return "staged", staged_text(change.added)
        plan_id = recorded.stream.rpartition("/")[2]
        history = self._history(plan_id, recorded.seq)
        operations = self._repository.draft_after(history)
        ids = operation_ids(operations)
        gone = [op for name, op in zip(ids, operations, strict=True) if name in change.removed]
        return "declined", declined_text(gone)

    def _partly(self, recorded: StoredEvent, event: OperationsDeclined) -> str:
        """Returns the message about operations that the user excluded from an approval."""
        history = self._history(recorded.stream.rpartition("/")[2], recorded.seq)
        frozen = [
            e.frozen for e in history if isinstance(e, PlanProposed) and e.digest == event.digest
        ]
        try:
            was = self._repository.plan(PlanRun("", event.digest, frozen[-1]))
        except StoreError:  # it is long ago, and that plan is not kept any more
            return PARTLY_APPROVED
        named = dict(zip(was.ids, was.operations, strict=True))
        return partly_approved_text(
            [named[i] for i in event.declined], [named[i] for i in event.followed]
        )

    def _history(self, plan_id: str, seq: int) -> list[Event]:
        """Returns what happened to a plan before one of its events."""
        events = self._store.read(self._repository.stream(plan_id))
        return [one.event for one in events if one.seq < seq]

    def _ran(self, plan: PlanRecord, run: str, outcome: RunOutcome, *, undone: bool = False) -> str:
        from assent.agent.run_report import read_run, run_text, still_staged

        spent = [c.approval for c in plan.consents if c.run == run]
        yes = spent[0] if spent else None
        notes = [note for note in plan.runs if note.run == run]
        operations = self._repository.plan(notes[0]).operations if notes else ()
        stream = self._store.read(f"run/{self._repository.workspace}/{run}")
        rows = [(one.at, e.entry) for one in stream if isinstance(e := one.event, JournalWritten)]
        end = read_run(outcome, operations, rows, self._services.ports.blobs)
        told = run_text(built_lead(yes, plan.option), end, undone=undone)
        if outcome == "rolled_back" and plan.state in STAGED_STATES:
            told += still_staged(len(self._services.plans.operations(plan)), len(operations))
        return f"{told}\n\n{_noted(yes)}" if yes and yes.note.strip() else told

    def _undos(self, record: SessionRecord, events: Sequence[StoredEvent]) -> list["_Undo"]:
        """Returns the undos, and redos, of this session's runs that are still in effect."""
        found: dict[frozenset[str], list[_Undo]] = {}
        for recorded in events:
            if not isinstance(recorded.event, RunEnded) or recorded.event.outcome != "done":
                continue
            undo = self._repository.load(recorded.stream.rpartition("/")[2])
            if undo.rewound_to:
                if undo.session == record.slug:
                    found[frozenset([undo.plan_id])] = [_Undo(undo, recorded.event.run)]
                continue
            taken, again = self._taken_back(undo)
            if not self._runs(record).isdisjoint(taken):
                one = _Undo(undo, recorded.event.run, frozenset(taken), again=again)
                found.setdefault(one.taken, []).append(one)
        # What was undone and redone in between is as the model knows it.
        return [ones[-1] for ones in found.values() if not (ones[-1].again and len(ones) > 1)]

    def _undone(self, undo: "_Undo") -> str:
        """Reports that changes of this session were undone, or redone."""
        from assent.agent.run_report import redone_text, restored_text, undone_text

        notes = [note for note in undo.plan.runs if note.run == undo.run]
        operations = self._repository.plan(notes[0]).operations if notes else ()
        left = [reason for _, reason in undo.plan.left_alone]
        if undo.plan.rewound_to:
            return restored_text(operations, left)
        return (redone_text if undo.again else undone_text)(operations, left)

    def _runs(self, record: SessionRecord) -> set[str]:
        """Returns the runs of the session's plan, and of its calls."""
        plan = self._services.plan_of(record)
        own = {note.run for note in plan.runs} if plan else set()
        changes = AppliedChanges(self._services.ports, self._repository)
        own |= {one.started.id for one in changes.commands if one.started.session == record.session}
        return own | {one.run for one in changes.permits if one.permit.session == record.session}

    def _taken_back(self, undo: PlanRecord) -> tuple[set[str], bool]:
        """Returns the runs that an undo finally concerns, and whether they are redone."""
        undos = {note.run: one for one in self._repository.all() if one.undoes for note in one.runs}
        again = False
        taken = {token.partition(":")[0] for token in undo.undoes.split()}
        while earlier := [undos[run] for run in taken if run in undos]:
            again = not again
            taken = {token.partition(":")[0] for token in earlier[0].undoes.split()}
        return taken, again

    def _of_home(
        self, link: PlanLink, events: Sequence[StoredEvent]
    ) -> tuple[list[UpdateText], PlanLink]:
        """Follows the user to the plan that they selected."""
        chosen = [e.event for e in events if isinstance(e.event, PlanSelected) and e.event.chosen]
        home = events[-1].seq
        if not chosen or chosen[-1].plan_id == link.plan_id:
            return [], msgspec.structs.replace(link, home=home)
        plan = self._repository.load(chosen[-1].plan_id)
        text = self._services.plans.live_text(plan) or b""
        others = dict(link.others) if isinstance(link, OptionLinked) else {}
        others = {**others, link.plan_id: link.seq} if plan.plan_id in others else {}
        others.pop(plan.plan_id, None)
        told = ("plan_used", selected_text(plan, text))
        return [told], plan_link(plan.plan_id, plan.seq, home, plan.option, others)

    def _message(self, record: SessionRecord, about: str, words: str) -> MessageAdded:
        agent = record.agent or default_agent(record.mode)
        new = self._services.ports.clock.new_id()
        return MessageAdded(new, agent, (TextPart(words),), synthetic=about, model=record.model)


def _last_decision(events: Sequence[StoredEvent]) -> int:
    """Returns the number of the last event after which an earlier decision no longer holds."""
    decisions = (PlanApproved, PlanRejected, PlanDiscarded, RunHalted, RunEnded)
    return max([one.seq for one in events if isinstance(one.event, decisions)], default=0)


def _decided(plan: PlanRecord, event: EventBody) -> Iterable[UpdateText]:
    """Reports what the user decided about a plan."""
    match event:
        case PlanRejected() as no:
            yield "rejected", rejected_text(no, plan.option)
        case PlanApproved() as yes:
            yield "approved", approved_text(yes, plan.option)
        case PlanRebased(paths=paths):
            yield "rebased", rebased_text(paths)
        case PlanDiscarded(kept):
            yield (
                "deleted",
                discarded_text(plan) if kept else deleted_text(plan),
            )
        case _:
            pass


def _of_option(plan: PlanRecord, words: str) -> str:
    """Returns a message about an option that is not the session's own, with its label."""
    named = f"option {plan.option}"
    return words if named in words else f"About {named}: {words}"
