"""The engine itself: the nouns whose verbs are the whole API of a face."""

from assent.core.event import Recorded
from assent.core.record import PlanRecord, RunNote
from assent.engine.consents import Consents
from assent.engine.doors import Doors, Place
from assent.engine.drafts import Drafts
from assent.engine.plans import Plans
from assent.engine.projections import Projections
from assent.engine.reviews import Reviews
from assent.engine.runs import Runs
from assent.engine.undoing import Undoing
from assent.engine.workspaces import Workspaces


class Engine:
    """Plans, drafts, reviews, consents, runs and undoing for one workspace."""

    def __init__(self, doors: Doors, place: Place) -> None:
        self._doors = doors
        self._workspaces = Workspaces(doors, place)
        self._projections = Projections(doors)
        self.plans = Plans(doors, self._workspaces, self._projections)
        self.drafts = Drafts(doors, place, self.plans, self._projections)
        self.consents = Consents(doors, place, self.plans, self._projections)
        self.reviews = Reviews(doors, self.plans)
        self.runs = Runs(doors, self.plans, self.consents, self._projections)
        self.undoing = Undoing(doors, self.runs, self.consents)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know although everything worked."""
        return tuple(self._projections.warnings)

    def init(self, agent: bytes) -> bool:
        """Makes the folder a workspace; tells whether the plan agent's definition was written."""
        self._workspaces.open()
        self._doors.projection.prepare()
        return self._doors.projection.write_agent(agent)

    def status(
        self, reference: str = ""
    ) -> tuple[PlanRecord | None, tuple[PlanRecord, RunNote] | None]:
        """Returns a plan, or the current one, and the unfinished run or else the plan's last."""
        home = self._workspaces.find()
        if home is None and not reference:
            return None, None
        known = reference or (home and home.current)
        record = self.plans.find(reference) if known else None
        run = self.runs.unfinished()
        if run is None and record and record.runs:
            run = (record, record.runs[-1])
        return record, run

    def log(self, after: int = 0) -> list[Recorded]:
        """Returns the workspace's events in the order in which they happened."""
        home = self._workspaces.find()
        if home is None:
            return []
        streams = [f"{noun}/{home.workspace}" for noun in ("workspace", "plan", "run")]
        return self._doors.store.read_all(streams, after)

    def close(self) -> None:
        self._doors.store.close()
