"""What subscribers of the event feed get: events in the envelope that all faces share."""

from time import monotonic

from assent.core.event import StoredEvent
from assent.render.log import event_row, session_of
from assent.render.rows import encoded
from assent.web.event_feed import FeedMessage, encode_message
from assent.web.host import ServerHost

HIDDEN = ("access",)  # streams about who may use the server
SERVED_S = 1.0  # in which a workspace that is no longer served is noticed


class FeedRenderer:
    """Renders recorded events of the workspaces that are served; others are left out."""

    def __init__(self, host: ServerHost) -> None:
        self._host = host
        self._sessions: dict[str, str] = {}  # of plans, by their ids
        self._served: frozenset[str] = frozenset()
        self._looked = 0.0

    def render(self, stored: StoredEvent) -> FeedMessage | None:
        """Returns the message of an event; None if it is not sent."""
        noun, _, rest = stored.stream.partition("/")
        workspace = rest.partition("/")[0]
        if noun in HIDDEN or not self._is_served(workspace):
            return None
        session = getattr(stored.event, "session", "")
        if noun == "plan" and session:
            self._sessions[rest.partition("/")[2]] = session
        found = session_of(stored, self._sessions)
        row = {**event_row(stored, self._sessions), "workspace": workspace}
        message = encode_message(encoded(row), stored.position, str(row["kind"]))
        return FeedMessage(stored.position, workspace, found, message)

    def _is_served(self, workspace: str) -> bool:
        """Tells whether a workspace is served; that is not found out anew for every event."""
        if workspace not in self._served or monotonic() > self._looked + SERVED_S:
            found = [self._host.engine(root).workspace for root in self._host.roots()]
            self._served, self._looked = frozenset(found), monotonic()
        return workspace in self._served
