"""Cancel tokens of the turns that this process runs, by session."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from assent.core.session.event import TurnEnded

CancelCallback = Callable[[TurnEnded], object]


class TurnCancelToken:
    """Ends one turn. It may be cancelled before the turn began, and never after its end."""

    def __init__(self) -> None:
        self._alone = Lock()
        self._end: TurnEnded | None = None
        self._pull: CancelCallback | None = None

    @contextmanager
    def attached(self, pull: CancelCallback) -> Iterator[None]:
        """Has a turn end while this lasts; at once, if that was wanted before it began."""
        with self._alone:
            self._pull = pull
            if self._end is not None:
                pull(self._end)
        try:
            yield
        finally:
            self.detach()

    def detach(self) -> None:
        """Has the turn come to its end as it does; a later stop would hit the driver's next."""
        with self._alone:
            self._pull = None

    def cancel(self, end: TurnEnded) -> None:
        """Wants the turn to end like this; the first who pulls decides."""
        with self._alone:
            self._end = self._end or end
            if self._pull is not None:
                self._pull(self._end)


class RunningTurns:
    """The turns of this process, by session."""

    def __init__(self) -> None:
        self._turns: dict[str, TurnCancelToken] = {}

    @contextmanager
    def registered(self, session: str) -> Iterator[TurnCancelToken]:
        """Holds a session's rein, whose lock the caller has, for as long as its turn lasts."""
        rein = self._turns[session] = TurnCancelToken()
        try:
            yield rein
        finally:
            self._turns.pop(session, None)

    def cancel(self, session: str, end: TurnEnded) -> bool:
        """Wants a session's turn to end like this; tells whether this process is at one."""
        rein = self._turns.get(session)
        if rein is not None:
            rein.cancel(end)
        return rein is not None
