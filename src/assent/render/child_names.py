"""Child names: how the child sessions of a session are told apart, such as `explore 2`."""

from assent.core.event import StoredEvent
from assent.core.session.event import ChildStarted
from assent.core.text.hidden_chars import visible_line

UNNAMED_CHILD = "a child"


class ChildNames:
    """The children seen so far. `before` counts those of the root's earlier turns."""

    def __init__(self, root: str = "", before: int = 0) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {root: before}

    def add_event(self, recorded: StoredEvent) -> None:
        """Takes in an event; one that starts a child gives it a name, which it keeps."""
        match recorded.event:
            case ChildStarted(child=child, agent=agent):
                parent = recorded.stream.rpartition("/")[2]
                count = self._counts.get(parent, 0) + 1
                self._counts[parent] = count
                self._names.setdefault(child, f"{visible_line(agent)} {count}")
            case _:
                pass

    def name(self, child: str) -> str:
        """Returns the name of a child, or words for one that nobody heard of."""
        return self._names.get(child, UNNAMED_CHILD)
