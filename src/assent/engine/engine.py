"""The engine itself: the nouns whose verbs are the whole API of a face."""

from contextlib import suppress

from assent.core.errors import AssentError
from assent.core.event import Recorded
from assent.core.record import PlanRecord, RunNote
from assent.engine.agent_file import AgentFile, sync_agent
from assent.engine.doors import Doors, Place
from assent.engine.key_log import KeyLog
from assent.engine.parts import Parts
from assent.engine.plan.checkouts import Checkouts
from assent.engine.plan.comments import Comments
from assent.engine.plan.consents import Consents
from assent.engine.plan.drafts import Drafts
from assent.engine.plan.partials import Partials
from assent.engine.plan.patches import Patches
from assent.engine.plan.plans import Plans
from assent.engine.plan.readings import Readings
from assent.engine.plan.rebasing import Rebasing
from assent.engine.plan.reviews import Reviews
from assent.engine.projections import Projections
from assent.engine.run.commands import Commands
from assent.engine.run.keeping import Keeping
from assent.engine.run.past import Past
from assent.engine.run.permits import Permits
from assent.engine.run.runs import Runs
from assent.engine.run.undoing import Undoing
from assent.engine.session.building import Building
from assent.engine.session.desk import Desk
from assent.engine.session.facts import Facts
from assent.engine.session.grants import Grants
from assent.engine.session.questions import Questions
from assent.engine.session.sessions import Sessions
from assent.engine.session.summary import Summary
from assent.engine.session.surroundings import Surroundings
from assent.engine.session.tooling import Tooling
from assent.engine.trusts import Trusts
from assent.engine.waiting import Waiting
from assent.engine.workspaces import Workspaces
from assent.views.waits import Waits

NOUNS = ("workspace", "session", "plan", "run", "permit", "grant", "reading", "comment")

OF_PERSON = ("bundle/", "keys/")  # what a person decided about that belongs to no workspace


class Engine:
    """Sessions, plans, drafts, reviews, consents, runs and undoing for one workspace."""

    def __init__(self, doors: Doors, place: Place) -> None:
        self._doors = doors
        self._workspaces = Workspaces(doors, place)
        self._projections = Projections(doors)
        self.plans = Plans(doors, self._workspaces, self._projections)
        self.drafts = Drafts(doors, place, self.plans, self._projections)
        self.patches = Patches(doors, place, self.drafts)
        self.checkouts = Checkouts(doors, place, self.drafts)
        self.consents = Consents(doors, place, self.plans, self._projections)
        self.rebasing = Rebasing(doors, self.plans, self.consents, self._projections)
        self.reviews = Reviews(doors, self.plans, place)
        self.partials = Partials(doors, place, self.plans, self.consents, self._projections)
        self.readings = Readings(doors, place, self.reviews, self.partials, self._projections)
        self.comments = Comments(doors, place, self.plans, self.reviews, self.consents)
        self.key_log = KeyLog(doors, place)
        self.parts = Parts(doors, place, self.plans, self.consents, self.reviews)
        self.runs = Runs(doors, self.plans, self.consents, self._projections)
        self.permits = Permits(doors, place, self.runs)
        self.undoing = Undoing(doors, self.runs, self.consents)
        self.past = Past(doors, self.runs)
        self.keeping = Keeping(doors, place, self._workspaces, self.past, self._projections)
        self.commands = Commands(doors, place, self.runs, self._workspaces)
        self.trusts = Trusts(doors, place, self._workspaces)
        self.facts = Facts(doors, self._workspaces)
        self.grants = Grants(doors, self._workspaces, place)
        self.questions = Questions(doors, self._workspaces, place, self.grants)
        self._own = desk = self._desk(place)
        self.sessions = Sessions(desk)
        self.building = Building(desk, self.sessions)
        self._waiting = Waiting(desk, self.sessions, self.reviews)
        self._introduce()

    def _introduce(self) -> None:
        """Tells nouns of others that were made after them."""
        self.consents.reviewed = self.reviews.review
        self.readings.commented = self.comments.shown
        self._projections.todos_of = self.sessions.todos_of
        self.commands.told = self.sessions.overhear

    def _desk(self, place: Place) -> Desk:
        return Desk(
            self._doors,
            place,
            self._workspaces,
            self._projections,
            self.plans,
            self.drafts,
            self.consents,
            self.runs,
            self.permits,
            self.facts,
            self.grants,
            self.questions,
            self.commands,
        )

    @property
    def summary(self) -> Summary:
        """What the turns of sessions changed."""
        return Summary(self._own)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know although everything worked."""
        return tuple(self._projections.warnings)

    def warn(self, words: str) -> None:
        """Adds to what a person should know."""
        self._projections.warnings.append(words)

    def init(self, agent: bytes) -> AgentFile:
        """Makes the folder a workspace, and keeps the plan agent's file in step."""
        self._workspaces.open()
        self._doors.projection.prepare()
        return sync_agent(self._doors.projection, agent)

    @property
    def workspace(self) -> str:
        """The id of the folder's workspace; empty if it is none yet."""
        home = self._workspaces.find()
        return home.workspace if home else ""

    def surroundings(self, tooling: Tooling) -> Surroundings:
        """Returns what tells who works in a session and what is around its calls."""
        return Surroundings(self._own, tooling)

    def status(self, reference: str = "") -> tuple[PlanRecord | None, tuple[str, RunNote] | None]:
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
                run = ("", RunNote(self.undoing.preview().run, "", "", "done"))
        return record, run

    def waiting(self) -> tuple[Waits, ...]:
        """Returns everything that waits for a person, over all sessions."""
        return self._waiting.all()

    def log(self, after: int = 0) -> list[Recorded]:
        """Returns the workspace's events in the order in which they happened."""
        home = self._workspaces.find()
        streams = [f"{noun}/{home.workspace}" for noun in NOUNS] if home else []
        streams += OF_PERSON
        return self._doors.store.read_all(streams, after)

    def close(self) -> None:
        self._doors.store.close()
