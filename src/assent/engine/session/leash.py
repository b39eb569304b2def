"""The leash: a child's turn as its driver has it, which others may end before its next step."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import cast

from assent.core.agent import Agent
from assent.core.errors import Interrupted
from assent.core.event import Recorded
from assent.core.message import Call, Message
from assent.core.model import Delta, Offer
from assent.core.session import SessionRecord
from assent.core.session_event import SessionEvent, TurnEnded
from assent.ports import Turn


class Leash:
    """Implements ports.Turn. Once it is pulled, no step begins, and the turn ends as was said."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._end: TurnEnded | None = None
        self._unshown: tuple[Recorded, ...] = ()

    def pull(self, end: TurnEnded) -> None:
        """Wants the turn to end like this, from any thread; the first who pulls decides."""
        self._end = self._end or end

    @property
    def record(self) -> SessionRecord:
        return self._turn.record

    @property
    def agent(self) -> Agent:
        return self._turn.agent

    @property
    def messages(self) -> tuple[Message, ...]:
        return self._turn.messages

    @property
    def over(self) -> bool:
        return self._turn.over

    def offers(self) -> tuple[Offer, ...]:
        return self._turn.offers()

    def note(self, *events: SessionEvent) -> tuple[Recorded, ...]:
        """Appends events; where the driver only knows that it was interrupted, it says why."""
        unshown, self._unshown = self._unshown, ()
        return (*unshown, *self._turn.note(*map(self._told, events)))

    def hold(self, *events: SessionEvent) -> None:
        self._turn.hold(*events)

    def catch_up(self) -> tuple[Recorded, ...]:
        """Takes in what others said; raises Interrupted if the turn is to end."""
        said = self._turn.catch_up()
        try:
            self._check()
        except Interrupted:
            self._unshown = said
            raise
        return said

    def settle(self, calls: Sequence[Call]) -> Iterator[Recorded | Delta]:
        """Settles calls until all are, or the turn is to end."""
        work = cast("Generator[Recorded | Delta, None, None]", self._turn.settle(calls))
        with closing(work):
            for recorded in work:
                yield recorded
                self._check()

    def reminder(self) -> str:
        return self._turn.reminder()

    def may(self, header: str, question: str) -> Generator[Recorded, None, bool]:
        return (yield from self._turn.may(header, question))

    def rest(self) -> Generator[Recorded | Delta, None, bool]:
        return (yield from self._turn.rest())

    def _check(self) -> None:
        if self._end is not None and not self._turn.over:  # else it has said so itself
            raise Interrupted(self._end.words)

    def _told(self, event: SessionEvent) -> SessionEvent:
        match event:
            case TurnEnded(why="interrupted") if self._end is not None:
                return self._end
            case _:
                return event
