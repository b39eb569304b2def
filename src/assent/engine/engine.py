"""The engine itself: the nouns whose verbs are the whole API of a face.

What every command needs is made at once. The rest is loaded with its first use: reading modules is
most of the time that a short command takes.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.plan.record import PlanRecord, PlanRun
from assent.engine.doors import Doors, Place
from assent.engine.noun import noun
from assent.engine.plan.consents import Consents
from assent.engine.plan.drafts import Drafts
from assent.engine.plan.plans import Plans
from assent.engine.projections import Projections
from assent.engine.run.onward import standing
from assent.engine.run.orphans import Orphans
from assent.engine.run.runs import Runs
from assent.engine.run.takeback import Takeback
from assent.engine.run.undoing import Undoing
from assent.engine.workspaces import Workspaces

if TYPE_CHECKING:
    from assent.engine.agent_file import AgentFile
    from assent.engine.key_log import KeyLog
    from assent.engine.parts import Parts
    from assent.engine.plan.checkouts import Checkouts
    from assent.engine.plan.comments import Comments
    from assent.engine.plan.partials import Partials
    from assent.engine.plan.patches import Patches
    from assent.engine.plan.readings import Readings
    from assent.engine.plan.rebasing import Rebasing
    from assent.engine.plan.reviews import Reviews
    from assent.engine.run.commands import Commands
    from assent.engine.run.keeping import Keeping
    from assent.engine.run.past import Past
    from assent.engine.run.permits import Permits
    from assent.engine.session.building import Building
    from assent.engine.session.desk import Desk
    from assent.engine.session.facts import Facts
    from assent.engine.session.grants import Grants
    from assent.engine.session.questions import Questions
    from assent.engine.session.session_list import SessionList
    from assent.engine.session.sessions import Sessions
    from assent.engine.session.summary import Summary
    from assent.engine.session.surroundings import Surroundings
    from assent.engine.session.tooling import Tooling
    from assent.engine.trusts import Trusts
    from assent.engine.waiting import Waiting
    from assent.render.pending_decisions import PendingDecision

NOUNS = ("workspace", "session", "plan", "run", "permit", "grant", "reading", "comment")

OF_PERSON = ("bundle/", "keys/")  # what a person decided about that belongs to no workspace


class Engine:
    """Sessions, plans, drafts, reviews, consents, runs and undoing for one workspace."""

    def __init__(self, doors: Doors, place: Place) -> None:
        self._doors = doors
        self._place = place
        self.swept: tuple[bytes, ...] = ()  # of a killed command; removed when this was opened
        self._workspaces = Workspaces(doors, place)
        self._projections = Projections(doors)
        self._projections.warnings = self._workspaces.warnings  # one list for all of them
        self._projections.todos_of = lambda plan: self.sessions.todos_of(plan)
        self.plans = Plans(doors, self._workspaces, self._projections)
        self.drafts = Drafts(doors, place, self.plans, self._projections)
        self.approvals = Consents(doors, place, self.plans, self._projections)
        self.approvals.reviewed = lambda record: self.reviews.review(record)
        self.approvals.next_after_run = self._next_after_run
        self.orphan_slots = Orphans(doors, place, self._workspaces)
        self.runs = Runs(doors, self.plans, self.approvals, self._projections, self.orphan_slots)
        self.undo = Undoing(doors, self.runs, self.approvals)

    @noun
    def patches(self) -> "Patches":
        """Patches that become operations."""
        from assent.engine.plan.patches import Patches

        return Patches(self._doors, self._place, self.drafts)

    @noun
    def folder_import(self) -> "Checkouts":
        """Folders whose difference becomes operations."""
        from assent.engine.plan.checkouts import Checkouts

        return Checkouts(self._doors, self._place, self.drafts)

    @noun
    def reviews(self) -> "Reviews":
        """What a person reads before they decide."""
        from assent.engine.plan.reviews import Reviews

        return Reviews(self._doors, self.plans, self._place, self._next_after_run)

    @noun
    def partial_approvals(self) -> "Partials":
        """Approvals of a part of a plan."""
        from assent.engine.plan.partials import Partials

        return Partials(self._doors, self._place, self.plans, self.approvals, self._projections)

    @noun
    def review_history(self) -> "Readings":
        """What people have read."""
        from assent.engine.plan.readings import Readings

        readings = Readings(
            self._doors, self._place, self.reviews, self.partial_approvals, self._projections
        )
        readings.commented = lambda record, review: self.comments.shown(record, review)
        return readings

    @noun
    def comments(self) -> "Comments":
        """What people say about plans."""
        from assent.engine.plan.comments import Comments

        return Comments(self._doors, self._place, self.plans, self.reviews, self.approvals)

    @noun
    def rebaser(self) -> "Rebasing":
        """New plans from those whose files changed."""
        from assent.engine.plan.rebasing import Rebasing

        return Rebasing(self._doors, self.plans, self.approvals, self._projections)

    @noun
    def planning_services(self) -> "Parts":
        """What `app` makes further nouns of."""
        from assent.engine.parts import Parts

        return Parts(self._doors, self._place, self.plans, self.approvals, self.reviews)

    @noun
    def key_log(self) -> "KeyLog":
        """Which keys were trusted, and since when."""
        from assent.engine.key_log import KeyLog

        return KeyLog(self._doors, self._place)

    @noun
    def trust_log(self) -> "Trusts":
        """What was trusted by its content."""
        from assent.engine.trusts import Trusts

        return Trusts(self._doors, self._place, self._workspaces)

    @noun
    def permits(self) -> "Permits":
        """Steps that were allowed outside plans."""
        from assent.engine.run.permits import Permits

        return Permits(self._doors, self._place, self.runs)

    @noun
    def history(self) -> "Past":
        """The runs that were."""
        from assent.engine.run.past import Past

        return Past(self._doors, self.runs)

    @noun
    def retention(self) -> "Keeping":
        """What is kept of runs for an undo."""
        from assent.engine.run.keeping import Keeping

        return Keeping(self._doors, self._place, self._workspaces, self.history, self._projections)

    @noun
    def session_commands(self) -> "Commands":
        """Command lines outside plans."""
        from assent.engine.run.commands import Commands

        commands = Commands(self._doors, self._place, self.runs, self._workspaces)
        commands.told = lambda record, words: self.sessions.add_context(record, words)
        return commands

    @noun
    def memory(self) -> "Facts":
        """What is remembered of a workspace."""
        from assent.engine.session.facts import Facts

        return Facts(self._doors, self._workspaces)

    @noun
    def grants(self) -> "Grants":
        """Answers that are remembered."""
        from assent.engine.session.grants import Grants

        return Grants(self._doors, self._workspaces, self._place)

    @noun
    def pending_questions(self) -> "Questions":
        """What waits for an answer."""
        from assent.engine.session.questions import Questions

        return Questions(self._doors, self._workspaces, self._place, self.grants)

    @noun
    def sessions(self) -> "Sessions":
        """Conversations with a model."""
        from assent.engine.session.sessions import Sessions

        return Sessions(self._desk)

    @noun
    def session_list(self) -> "SessionList":
        """Conversations with a model, for looking at them."""
        from assent.engine.session.session_list import SessionList

        return SessionList(self._doors, self._workspaces, self._place.modes)

    @noun
    def text_plan_builds(self) -> "Building":
        """Plans of prose that a model carries out."""
        from assent.engine.session.building import Building

        return Building(self._desk, self.sessions)

    @noun
    def _desk(self) -> "Desk":
        from assent.engine.session.desk import Desk

        return Desk(
            self._doors,
            self._place,
            self._workspaces,
            self._projections,
            self.plans,
            self.drafts,
            self.approvals,
            self.runs,
            self.permits,
            self.memory,
            self.grants,
            self.pending_questions,
            self.session_commands,
        )

    @noun
    def _waiting(self) -> "Waiting":
        from assent.engine.waiting import Waiting

        return Waiting(self._desk, self.sessions, self.reviews)

    @property
    def turn_changes(self) -> "Summary":
        """What the turns of sessions changed."""
        from assent.engine.session.summary import Summary

        return Summary(self._desk)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know although everything worked."""
        found = tuple(self._projections.warnings)
        if not self.swept:
            return found
        from assent.render.removed_leftovers import removed_folders_text

        return (removed_folders_text(self.swept), *found)

    def warn(self, words: str) -> None:
        """Adds to what a person should know."""
        self._projections.warnings.append(words)

    def init(self, agent: bytes) -> "AgentFile":
        """Makes the folder a workspace, and keeps the plan agent's file in step."""
        from assent.engine.agent_file import sync_agent

        self._workspaces.open()
        self._doors.projection.prepare()
        return sync_agent(self._doors.projection, agent)

    @property
    def workspace(self) -> str:
        """The id of the folder's workspace; empty if it is none yet."""
        home = self._workspaces.find()
        return home.workspace if home else ""

    def session_context(self, tooling: "Tooling") -> "Surroundings":
        """Returns what tells who works in a session and what is around its calls."""
        from assent.engine.session.surroundings import Surroundings

        return Surroundings(self._desk, tooling)

    def status(self, reference: str = "") -> tuple[PlanRecord | None, tuple[str, PlanRun] | None]:
        """Returns a plan, or the current one, and the unfinished run or else the last one."""
        home = self._workspaces.find()
        if home is None and not reference:
            return None, None
        known = reference or (home and home.current)
        record = self.plans.find(reference) if known else None
        run = self.runs.unfinished()
        if run is None and record and record.runs:
            run = (record.plan_id, record.runs[-1])
        if run is None and record is None:
            with suppress(AssentError):  # there is nothing that could be undone
                run = ("", PlanRun(self.undo.preview().run, "", "", "done"))
        return record, run

    def waiting(self) -> "tuple[PendingDecision, ...]":
        """Returns everything that waits for a person, over all sessions."""
        return self._waiting.all()

    def _next_after_run(self, run: str) -> str:
        """Returns what to type once a run is over; the verbs about plans know no runs."""
        return standing(Takeback(self._doors, self.plans.repository()), run)[1]

    def log(self, after: int = 0) -> list[StoredEvent]:
        """Returns the workspace's events in the order in which they happened."""
        home = self._workspaces.find()
        streams = [f"{noun}/{home.workspace}" for noun in NOUNS] if home else []
        streams += OF_PERSON
        return self._doors.store.read_all(streams, after)

    @property
    def max_file(self) -> int:
        """Most bytes that are read from one file or stdin that a person names."""
        return self._place.max_file

    def stamp(self) -> tuple[int, ...]:
        """Returns what anything that is recorded anywhere would show in; cheap, and never waits."""
        return self._doors.store.stamp()

    def close(self) -> None:
        self._doors.blobs.close()
        self._doors.store.close()
