"""Plan documents: creating, writing, finding, listing and deleting plans.

Notes that people attach to approvals are kept until a later plan lists them as items.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Condition

from assent.core.digest import sha256
from assent.core.errors import (
    Busy,
    ConcurrentChange,
    IllegalState,
    InvalidPlan,
    NotFound,
    PlanTextDiffers,
    UsageError,
    WorkspaceMismatch,
)
from assent.core.event import (
    Event,
    NotesCarried,
    OptionAdded,
    OptionNamed,
    PlanCreated,
    PlanDiscarded,
    PlanRevised,
    StoredEvent,
    TextRevised,
)
from assent.core.ids import plan_name, session_name, slug
from assent.core.paths import base_name as name_of
from assent.core.paths import display_path, parent
from assent.core.plan.draft_index import Draft
from assent.core.plan.operation import Operation
from assent.core.plan.plan import is_template_text, plan_template
from assent.core.plan.record import (
    MAX_OPTIONS,
    UNDECIDED_STATES,
    PlanAction,
    PlanRecord,
    PlanState,
    next_state,
)
from assent.core.text.secrets import redact
from assent.planning.ports import Ports
from assent.planning.projections import PlanProjections
from assent.planning.repositories import PlanRepository, WorkspaceRepository
from assent.ports import EventBatch, PlanFile
from assent.render.approval import SOURCE, ApprovalNote, notes_in_text, notes_section

# Notes that people attach to approvals, kept until a later plan lists them as items.


MAX_NOTE_CHARS = 1 << 16  # so that every note finds room in a plan


class ApprovalNotes:
    """The notes of a workspace's approvals, and the plan that each became part of."""

    def __init__(self, workspaces: WorkspaceRepository) -> None:
        self._workspaces = workspaces

    def waiting(
        self, repository: PlanRepository, known: Sequence[PlanRecord] = ()
    ) -> tuple[ApprovalNote, ...]:
        """Returns the notes that no plan lists as items yet, oldest first.

        A plan that was discarded before it was built does not count. `known` are all plans, if the
        caller has just read them.
        """
        home = self._workspaces.find()
        if home is None:
            return ()
        records = {record.plan_id: record for record in known or repository.all()}
        approved = [record for record in records.values() if record.consents]  # few of them
        found = [noted for record in approved for noted in notes_of(record)]
        if not found:
            return ()
        idle = {p for p, r in records.items() if r.state is PlanState.DISCARDED and not r.runs}
        left = [n for n in found if home.carried.get(n.approval, "") in ("", *idle)]
        return tuple(sorted(left, key=lambda noted: (noted.at, noted.approval)))

    def of_plan(self, repository: PlanRepository, plan_id: str) -> tuple[ApprovalNote, ...]:
        """Returns the notes that became items of a plan."""
        home = self._workspaces.find()
        own = {a for a, plan in home.carried.items() if plan == plan_id} if home else set[str]()
        if not own:
            return ()
        found = [noted for record in repository.all() for noted in notes_of(record)]
        return tuple(sorted((n for n in found if n.approval in own), key=lambda n: n.at))

    def with_items(self, text: bytes, notes: tuple[ApprovalNote, ...], most: int) -> bytes:
        """Returns a text that lists notes as items; those that do not fit keep waiting.

        Notes that are already among its items are not added.
        """
        there = notes_in_text(notes, text)
        added: tuple[ApprovalNote, ...] = ()
        for noted in notes:
            longer = (*added, noted)
            if noted not in there and len(text) + len(notes_section(longer).encode()) <= most:
                added = longer
        end = b"" if text.endswith(b"\n") or not text else b"\n"
        return text + end + notes_section(added).encode() if added else text

    def carrying(
        self, repository: PlanRepository, plan_id: str, text: bytes
    ) -> tuple[EventBatch, ...]:
        """Prepares the event that notes became items of a plan, if its text has any."""
        if SOURCE.encode() not in text:
            return ()
        there = tuple(noted.approval for noted in notes_in_text(self.waiting(repository), text))
        return (self._workspaces.batch(NotesCarried(plan_id, there)),) if there else ()


def check_note(note: str) -> str:
    """Refuses a note that is too long to become an item of a plan; returns any other."""
    if len(note.encode()) > MAX_NOTE_CHARS:
        raise UsageError(
            f"A note can have at most {MAX_NOTE_CHARS} bytes. Nothing was approved.",
            "assent approve --help",
        )
    return note


def notes_of(record: PlanRecord, digest: str = "") -> tuple[ApprovalNote, ...]:
    """Returns the notes of a plan's approvals, or of those of one digest."""
    approvals = [consent.approval for consent in record.consents]
    return tuple(
        ApprovalNote(
            a.id, record.plan_id, record.name, a.digest, a.approver.user, a.approved_at, a.note
        )
        for a in approvals
        if a.note.strip() and digest in ("", a.digest)
    )


def live_text_warning(path: bytes, became: str) -> str:
    """Returns that the live file is not the text that was proposed."""
    return (
        f"{display_path(path)} {became} since the plan was proposed. `assent diff --live` shows "
        "the difference."
    )


class PlanFileLock:
    """Lets many threads change a plan's file and its record, or one list them all.

    A listing between the two would take the file for another plan. Neither may be done within the
    other one.
    """

    def __init__(self) -> None:
        self._change = Condition()
        self._changing = 0
        self._listing = False

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Waits until nothing is listed; a listing then waits for it."""
        begun = False
        try:
            with self._change:
                while self._listing:
                    self._change.wait()
                self._changing += 1
                begun = True
            yield
        finally:
            if begun:
                with self._change:
                    self._changing -= 1
                    self._change.notify_all()

    @contextmanager
    def listing(self) -> Iterator[None]:
        """Waits until no file is being changed; later changes wait for it."""
        begun = False
        try:
            with self._change:
                while self._listing:
                    self._change.wait()
                self._listing = begun = True
                while self._changing:
                    self._change.wait()
            yield
        finally:
            if begun:  # also after an interrupt while it waited
                with self._change:
                    self._listing = False
                    self._change.notify_all()


class Plans:
    """Works on a plan's text, its file, and which plan of the workspace is current."""

    def __init__(
        self, ports: Ports, workspaces: WorkspaceRepository, projections: PlanProjections
    ) -> None:
        self._ports = ports
        self._workspaces = workspaces
        self._projections = projections
        self._repository: PlanRepository | None = None
        self._notes = ApprovalNotes(workspaces)
        self.last_draft = Draft("", ())  # the version that was used last
        self._files = PlanFileLock()

    def new(
        self,
        name: str,
        session: str = "",
        goal: str = "",
        option: str = "",
        options: str = "",
        *,
        synced: bool = True,
    ) -> PlanRecord:
        """Creates a plan with its Markdown file and makes it the current one.

        `option` labels one of several plans to choose from; `options` is empty for the first.
        Without `synced` the caller records something else next, and waits for that.
        """
        plan_name(name)
        goal = redact(goal)  # it names a folder, and is in a file that others read
        session = session_name(session) if session else slug(goal or name)
        path = self._ports.projection.plan_path(session, name)
        if self._ports.projection.read_plan(path) is not None:
            raise IllegalState(f"{display_path(path)} exists.", f"assent plan use {session}/{name}")
        self._workspaces.open()
        repository = self.repository()
        if options:
            self._check_room(repository, options)
        known = repository.all()
        alive = [record for record in known if record.state is not PlanState.DISCARDED]
        lost = [record for record in alive if record.path == path]  # its file was deleted
        self.delete(lost)
        self._ports.projection.prepare()
        waiting = self._notes.waiting(repository, () if lost else known)
        text = self._notes.with_items(plan_template(name, goal), waiting, MAX_TEXT)
        with self._files.changing():
            # The file first: a crash in between leaves a plan file, which the next list takes in.
            self._ports.projection.write_plan(path, text)
            file = PlanFile(session, name, path, 0)
            try:
                # That it is the current one is recorded next, and waited for.
                record = self._create(repository, file, text, goal, (option, options), synced=False)
            except IllegalState:  # another process chose an option, or added one
                self._ports.projection.delete_plan(path)
                raise
        return self.select(record, synced=synced)

    def waiting_notes(self) -> tuple[ApprovalNote, ...]:
        """Returns the notes of approvals that no plan lists as items yet."""
        return self._notes.waiting(self.repository())

    def missing_notes(self, plan_id: str, text: bytes) -> tuple[ApprovalNote, ...]:
        """Returns the notes that became items of a plan and are missing from a text of it."""
        notes = self._notes.of_plan(self.repository(), plan_id)
        there = notes_in_text(notes, text)
        return tuple(noted for noted in notes if noted not in there)

    def with_notes(self, record: PlanRecord, text: bytes) -> bytes:
        """Returns a new text for a plan, with the notes that are items of it."""
        notes = self._notes.of_plan(self.repository(), record.plan_id)
        return self._notes.with_items(text, (*notes, *self.waiting_notes()), MAX_TEXT)

    def write(self, record: PlanRecord, text: bytes | None) -> PlanRecord:
        """Replaces the plan's text, or records the live file as a revision if none is given."""
        if text is None:
            return self.draft(record)
        check_length(text)
        first = reopening_events(record)
        taken = self._taken(record, self.live_text(record))
        kept = self._kept(record, text, taken)
        self._ports.projection.write_plan(record.path, text)
        return self._append(record, text, *first, *taken, *kept)

    def draft(self, record: PlanRecord, *events: Event, synced: bool = True) -> PlanRecord:
        """Records the live file and appends what a drafting command does to the plan."""
        text, drafted = self.read_live(record)
        return self._append(record, text, *drafted, *events, synced=synced)

    def read_live(self, record: PlanRecord) -> tuple[bytes, list[Event]]:
        """Returns the live text, and the events that drafting needs first."""
        live = self.live_text(record)
        if live is None:
            raise NotFound(
                f"The plan's file {display_path(record.path)} was deleted, which removed the plan.",
                "assent plan new NAME",
            )
        return live, [*reopening_events(record), *self._taken(record, live)]

    def live_text(self, record: PlanRecord) -> bytes | None:
        """Returns the text in the plan's file, or None if the file is gone."""
        if record.imported:
            return self.text(record.content_hash)  # it has no file that could be changed
        return self._ports.projection.read_plan(record.path)

    def stamp(self, record: PlanRecord) -> tuple[int, ...]:
        """Returns a value that changes when the plan's file does, without opening the file."""
        if record.imported or not record.path:
            return ()
        return (self._ports.files.stamps(parent(record.path)) or {}).get(name_of(record.path), ())

    def check_live(self, record: PlanRecord) -> None:
        """Refuses to continue while the file differs from the proposed text (law 4)."""
        if difference := self.difference(record):
            raise PlanTextDiffers(difference, "assent propose")

    def difference(self, record: PlanRecord) -> str:
        """Says how the live file differs from the proposed text, if it does."""
        if not record.path or not record.frozen:
            return ""
        live = self.live_text(record)
        if live is not None and sha256(live) == record.content_hash:
            return ""
        became = "was deleted" if live is None else "changed"
        return live_text_warning(record.path, became)

    def is_untouched(self, record: PlanRecord, text: bytes) -> bool:
        """Tells whether a plan's text, by default the live one, is still the template."""
        first = bool(record.revisions) and sha256(text) == record.revisions[0].content_hash
        return is_template_text(text, record.name, record.goal, first=first)

    def is_empty(self, record: PlanRecord) -> bool:
        """Tells whether a plan has no content yet."""
        untouched = self.is_untouched(record, self.live_text(record) or b"")
        return untouched and not self.operations(record)

    def first_step(self, record: PlanRecord, text: bytes) -> str:
        """Returns the command that is needed before a draft can be proposed; empty if none is."""
        if record.state is not PlanState.DRAFTING or not self.is_untouched(record, text):
            return ""
        if not text.strip() or not record.goal.strip():
            return WRITE_COMMAND
        return "" if self.repository().operations(record) else STAGE_COMMAND

    def operations(self, record: PlanRecord) -> tuple[Operation, ...]:
        """Returns the staged operations."""
        return self.staged(record).operations

    def staged(self, record: PlanRecord) -> Draft:
        """Returns the staged operations as the record's version has them."""
        last = self.last_draft  # others may look at the same time
        if (last.name, last.at_end) != (record.draft, record.at_end):
            last = self.last_draft = self.repository().draft(record)
        return last

    def text(self, content_hash: str) -> bytes:
        """Returns one version of a plan's text."""
        return self._ports.blobs.read(content_hash)

    def all(self, *, everything: bool = False) -> list[PlanRecord]:
        """Returns the plans, newest first; discarded ones and deleted files only on demand."""
        with self._files.listing():
            return self._all(everything=everything)

    def _all(self, *, everything: bool) -> list[PlanRecord]:
        found = {file.path: file for file in self._ports.projection.find_plans()}
        self._projections.warnings += self._ports.projection.skipped()
        home = self._workspaces.find()
        if home is None and not found:
            return []
        if home is None:
            self._workspaces.open()
        repository = self.repository()
        records = [record for record in repository.all() if not record.undoes]
        shown_ones = [
            r
            for r in records
            if everything
            or ((r.path in found or r.imported) and r.state is not PlanState.DISCARDED)
        ]
        known = {r.path for r in records if r.state is not PlanState.DISCARDED}
        known |= {r.path for r in records if r.left and self._is_left(r)}
        strangers = [file for path, file in found.items() if path not in known]
        adopted = [self._adopt(repository, file) for file in reversed(strangers)]
        return [*reversed(adopted), *shown_ones]

    def find(self, reference: str = "") -> PlanRecord:
        """Returns a plan by id, start of an id, name, session/name or path; or the current one."""
        if reference:
            return self._named(reference)
        home = self._workspaces.find()
        if home is None and (was := self._workspaces.moved_from()):
            raise NotFound(
                f"No current plan. This folder was moved or copied from {display_path(was)} and "
                "counts as a new workspace: plans and approvals from there do not apply here.",
                "assent plan list",
            )
        if home is None or not home.current:
            raise NotFound("No current plan.", "assent plan new NAME")
        return self.repository().load(home.current)

    def reference(self, record: PlanRecord, *, current: bool = True) -> str:
        """Returns how a command names a plan: its name, or its id if others share the name.

        Empty for a plan that is not in the log here, and, unless `current`, for the current one if
        a command without a name means it.
        """
        home = self._workspaces.find()
        if home is None:
            return ""
        if not current and self._is_meant(home.current, record):
            return ""
        known = [one for one in self.repository().all() if not one.undoes]
        if all(one.plan_id != record.plan_id for one in known):
            return ""
        alive = [one for one in known if one.state is not PlanState.DISCARDED]
        alike = [one.plan_id for one in alive if one.name == record.name]
        return record.name if alike == [record.plan_id] else record.plan_id

    def options(self, record: PlanRecord) -> list[PlanRecord]:
        """Returns the options that a plan is one of, in order, that are not decided yet.

        None if it is not one of several, or if a user has chosen one.
        """
        return self._undecided(self.repository(), record.options)

    def _undecided(self, repository: PlanRepository, options: str) -> list[PlanRecord]:
        if not options or repository.chosen_option(options):
            return []
        events = [one.event for one in repository.option_events(options)]
        ids = [event.plan_id for event in events if isinstance(event, OptionAdded)]
        found = [repository.load(plan_id) for plan_id in ids]
        return [one for one in found if one.state in UNDECIDED_STATES]

    def _check_room(self, repository: PlanRepository, options: str) -> None:
        """Refuses another option where there are as many as people can compare.

        One whose file the user deleted is gone, as any plan is.
        """
        there = [one for one in self._undecided(repository, options) if self._has_file(one)]
        if len(there) >= MAX_OPTIONS:
            labels = ", ".join(one.option for one in there)
            raise IllegalState(
                f"There are {len(there)} options already, and no more than {MAX_OPTIONS} are "
                f"offered: {labels}. Work on one of these, or remove a draft first: `options` with "
                "`drop`. Nothing was done.",
                "assent plan list",
            )

    def _has_file(self, record: PlanRecord) -> bool:
        return self.live_text(record) is not None

    def presented_options(self, record: PlanRecord) -> list[PlanRecord]:
        """Returns the options to choose from; none where at most one waits for approval."""
        found = self.waiting_options(record)
        return found if len(found) > 1 else []

    def waiting_options(self, record: PlanRecord) -> list[PlanRecord]:
        """Returns the options that wait for approval, however few they are."""
        return [r for r in self.options(record) if r.state is PlanState.AWAITING_APPROVAL]

    def meant(self, record: PlanRecord) -> PlanRecord:
        """Returns the plan that a command means which names none and would be about this one.

        Where one option waits alone, it is that one, and not a draft of the same choice that was
        sent back or has just been begun; unless the user made the draft the current plan.
        """
        if record.state is PlanState.AWAITING_APPROVAL or not record.options:
            return record
        home = self._workspaces.find()
        if home is not None and home.chosen and home.current == record.plan_id:
            return record
        waiting = self.waiting_options(record)
        return waiting[0] if len(waiting) == 1 else record

    def _is_meant(self, current: str, record: PlanRecord) -> bool:
        """Tells whether a command without a name is about this plan."""
        if not current or self.presented_options(record):
            return False
        if not record.options:
            return current == record.plan_id
        here = record if current == record.plan_id else self.repository().load(current)
        return self.meant(here).plan_id == record.plan_id

    def leave(self, record: PlanRecord) -> None:
        """Makes another option current where this one was sent back and others still wait."""
        home = self._workspaces.find() if record.options else None
        waiting = self.waiting_options(record)
        if home is not None and home.current == record.plan_id and waiting:
            with suppress(Busy):  # it is recorded that this one was sent back, which counts
                self.select(waiting[0])

    def use(self, reference: str) -> PlanRecord:
        """Makes a plan the current one at the user's request."""
        record = self.find(reference)
        self._workspaces.select(record.plan_id, chosen=True)
        return record

    def select(self, record: PlanRecord, *, synced: bool = True) -> PlanRecord:
        """Makes this plan the current one."""
        self._workspaces.select(record.plan_id, synced=synced)
        return record

    def since(self, record: PlanRecord) -> list[StoredEvent]:
        """Returns what happened to a plan since a record of it was read."""
        return self._ports.store.read(self.repository().stream(record.plan_id), record.seq)

    def events(self, record: PlanRecord) -> list[Event]:
        """Returns everything that happened to a plan."""
        stream = self.repository().stream(record.plan_id)
        return [recorded.event for recorded in self._ports.store.read(stream)]

    def of_session(self, session: str) -> list[PlanRecord]:
        """Returns the plans of a session."""
        records = [record for record in self.all() if record.session == session]
        if not records:
            raise NotFound(f"Session {session!a} not found.", "assent plan list")
        return records

    def sessions(self) -> dict[str, str]:
        """Returns the session of each plan, by plan id."""
        return {record.plan_id: record.session for record in self.records()}

    def records(self) -> list[PlanRecord]:
        """Returns every plan in the log here, undo plans too."""
        return self.repository().all()

    def delete(self, records: list[PlanRecord]) -> list[PlanRecord]:
        """Discards plans and removes their files; what their runs did can still be undone."""
        for record in records:
            next_state(record.state, PlanAction.DISCARD)
        with self._files.changing():
            return [self._deleted(record) for record in records]

    def _deleted(self, record: PlanRecord) -> PlanRecord:
        user = self._workspaces.user
        events = [*self._taken(record, self.live_text(record)), PlanDiscarded(user=user)]
        gone = self.repository().append(record, record.plan_id, *events)
        if record.path:
            self._ports.projection.delete_plan(record.path)
        return gone

    def discard(self, record: PlanRecord) -> PlanRecord:
        """Discards a plan and keeps its file, which is not a plan until it changes."""
        next_state(record.state, PlanAction.DISCARD)
        user = self._workspaces.user
        events = [*self._taken(record, self.live_text(record)), PlanDiscarded(kept=True, user=user)]
        return self.repository().append(record, record.plan_id, *events)

    def discard_batch(self, record: PlanRecord) -> EventBatch:
        """Prepares that an option is discarded because another one is approved, with its text."""
        user = self._workspaces.user
        taken = self._taken(record, self.live_text(record))
        gone = PlanDiscarded(kept=True, user=user)
        return self.repository().batch(record, record.plan_id, *taken, gone)

    def remove_file(self, record: PlanRecord) -> None:
        """Removes the file of a plan that was discarded; the log has its text."""
        with self._files.changing():
            self._ports.projection.delete_plan(record.path)

    def _is_left(self, record: PlanRecord) -> bool:
        """Tells whether a file is still as a discarded plan left it."""
        live = self.live_text(record)
        return live is not None and sha256(live) == record.left

    def _named(self, reference: str) -> PlanRecord:
        records = self.all(everything=True)
        exact = [r for r in records if reference in _names(r)]
        alive = [r for r in exact if r.state is not PlanState.DISCARDED] or exact
        alive = [r for r in alive if not r.imported] or alive  # what was made here comes first
        matches = alive or [r for r in records if r.plan_id.startswith(reference)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            choices = ", ".join(f"{r.session}/{r.name}" for r in matches[:5])
            raise NotFound(f"{reference!a} is ambiguous: {choices}.", "assent plan list")
        self._refuse_foreign(reference)
        raise NotFound(f"Plan {reference!a} not found.", "assent plan list")

    def _refuse_foreign(self, reference: str) -> None:
        streams = self._ports.store.streams("plan/")
        if any(stream.endswith("/" + reference) for stream in streams):
            raise WorkspaceMismatch(
                f"Plan {reference} was created for another workspace.", "assent plan list"
            )

    def repository(self) -> PlanRepository:
        """Returns the plans of this workspace; none if the folder is not a workspace yet."""
        if self._repository is None:
            home = self._workspaces.find()
            if home is None:
                return PlanRepository(self._ports, "")
            self._repository = PlanRepository(
                self._ports, home.workspace
            )  # which never changes for a folder
        return self._repository

    def _create(
        self,
        repository: PlanRepository,
        file: PlanFile,
        text: bytes,
        goal: str = "",
        option: tuple[str, str] = ("", ""),
        *,
        synced: bool = True,
    ) -> PlanRecord:
        plan_id, (label, options) = self._ports.clock.new_id(), option
        created = PlanCreated(
            plan_id, repository.workspace, file.session, file.name, file.path, goal,
            user=self._workspaces.user,
        )  # fmt: skip
        named = [OptionNamed(label, options or plan_id)] if label else []
        revised = self._revision(text)
        for _ in range(MAX_TRIES):
            beside = [*self._notes.carrying(repository, plan_id, text)]
            for one in named:
                self._check_room(repository, one.options)
                beside.append(repository.option_batch(one.options, OptionAdded(plan_id, label)))
            try:
                record = repository.append(
                    None, plan_id, created, *named, revised, beside=beside, synced=synced
                )
            except ConcurrentChange:  # something else was recorded about the workspace meanwhile
                continue
            self._projections.plan(record, text)
            return record
        raise Busy(
            "Other processes keep changing this workspace. No plan was created; try again.",
            "assent status",
        )

    def _adopt(self, repository: PlanRepository, file: PlanFile) -> PlanRecord:
        """Adopts a plan file that another writer put there."""
        return self._create(repository, file, self._ports.projection.read_plan(file.path) or b"")

    def _taken(self, record: PlanRecord, live: bytes | None) -> list[Event]:
        """Returns the revision that the live file is, if it differs from the last one."""
        if live is None or sha256(live) == record.content_hash:
            return []
        return [self._revision(live)]

    def _kept(self, record: PlanRecord, text: bytes, taken: list[Event]) -> list[Event]:
        last = taken[-1].content_hash if taken and isinstance(taken[-1], TextRevised) else ""
        return [] if sha256(text) == (last or record.content_hash) else [self._revision(text)]

    def _revision(self, text: bytes) -> TextRevised:
        digest, size = self._ports.blobs.keep([text])
        self._ports.blobs.flush()
        return TextRevised(digest, size)

    def _append(
        self, record: PlanRecord, text: bytes, *events: Event, synced: bool = True
    ) -> PlanRecord:
        if not events:
            return record
        revised = any(isinstance(event, TextRevised) for event in events)
        beside = self._notes.carrying(self.repository(), record.plan_id, text) if revised else ()
        changed = self.repository().append(
            record, record.plan_id, *events, beside=beside, synced=synced
        )
        self._projections.plan(changed, text)
        return changed


MAX_TEXT = 1 << 20
WRITE_COMMAND = "assent plan write FILE"
STAGE_COMMAND = "assent stage write PATH --from FILE"
MAX_TRIES = 20  # at a workspace that others are working on, too


def reopening_events(record: PlanRecord) -> list[Event]:
    """Returns the events that make the plan a draft again; refuses if that is not allowed."""
    if record.imported:
        raise IllegalState(
            "The plan was imported and cannot be changed here.", "assent plan new NAME"
        )
    if record.state is PlanState.AWAITING_APPROVAL:
        return [PlanRevised()]
    next_state(record.state, PlanAction.DRAFT)
    return []


def check_length(text: bytes) -> None:
    """Refuses a text that is too long for a plan."""
    if len(text) > MAX_TEXT:
        raise InvalidPlan(f"A plan can have at most {MAX_TEXT} bytes.")


def _names(record: PlanRecord) -> tuple[str, ...]:
    full = f"{record.session}/{record.name}"
    return (record.plan_id, record.name, full, display_path(record.path))
