"""Remembered facts that every later session of a workspace is given."""

from assent.core.errors import NotFound, Refused
from assent.core.event import FactForgotten, FactRemembered
from assent.planning.ports import Ports
from assent.planning.workspace_repository import WorkspaceRepository

MAX_FACTS = 50
MAX_CHARS = 500  # characters


class WorkspaceMemory:
    """Lists, remembers and forgets facts."""

    def __init__(self, doors: Ports, workspaces: WorkspaceRepository) -> None:
        self._doors = doors
        self._workspaces = workspaces

    def all(self) -> tuple[FactRemembered, ...]:
        """Returns the facts, oldest first."""
        home = self._workspaces.find()
        return home.facts if home else ()

    def remember(self, text: str) -> FactRemembered:
        """Stores a fact; a known fact is not stored twice."""
        words = " ".join(text.split())
        if not words or len(words) > MAX_CHARS:
            raise Refused(f"A fact must be one sentence of at most {MAX_CHARS} characters.")
        known = self.all()
        same = [fact for fact in known if fact.text == words]
        if same:
            return same[0]
        if len(known) >= MAX_FACTS:
            raise Refused(
                f"Memory is full ({MAX_FACTS} facts); the user must remove one first.",
                "assent memory list",
            )
        fact = FactRemembered(self._doors.clock.new_id(), words)
        self._workspaces.append(fact)
        return fact

    def forget(self, reference: str) -> FactRemembered:
        """Removes a fact by its id or a prefix of it."""
        found = [fact for fact in self.all() if reference and fact.fact.startswith(reference)]
        if len(found) != 1:
            raise NotFound(
                f"{reference!a} matches {len(found)} facts; it must match exactly one.",
                "assent memory list",
            )
        self._workspaces.append(FactForgotten(found[0].fact))
        return found[0]
