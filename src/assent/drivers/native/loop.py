"""The loop of the native driver: ask, settle, repeat, until the session is at rest."""

import time
from collections.abc import Callable, Iterator

from assent.core.agent import Agent
from assent.core.briefing import Briefing
from assent.core.errors import Interrupted, ModelError, UsageError
from assent.core.model import Stop
from assent.core.session_event import TurnEnded
from assent.drivers.native import ending
from assent.drivers.native.asking import Asking
from assent.drivers.native.purse import Limits, Purse
from assent.drivers.native.step import Shown, declined
from assent.ports import Opened, Turn

CUT = 3  # answers in a row that were too long to be carried out; then the turn is over


class NativeDriver:
    """Takes turns forward with Assent's own loop; the budget is for all of its turns together."""

    def __init__(
        self,
        open_model: Callable[[str], Opened],
        briefing: Briefing,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_model = open_model
        self._briefing = briefing
        self._limits = limits or Limits()
        self._purse = Purse(self._limits)
        self._clock = clock
        self._opened: dict[str, Opened] = {}

    def drive(self, turn: Turn) -> Iterator[Shown]:
        """Takes a turn to its end; whichever that is, the session says so."""
        asking = Asking(turn, self._briefing, self._purse, self._clock)
        try:
            yield from self._steps(turn, asking)
        except (KeyboardInterrupt, Interrupted):
            yield from turn.note(*asking.aborted(), ending.interrupted())
            raise Interrupted(ending.INTERRUPTED, ending.GO_ON) from None
        except GeneratorExit:  # whoever listened has gone
            turn.note(*asking.aborted(), ending.interrupted())
            raise
        except (ModelError, UsageError) as error:
            yield from turn.note(*asking.failed(error), TurnEnded("failed", error.message))
            raise ending.told(error) from error

    def _steps(self, turn: Turn, asking: Asking) -> Iterator[Shown]:
        taken = cut = 0
        while True:
            yield from turn.catch_up()
            opened = self._model(turn)
            if spent := self._purse.check(opened):
                yield from turn.note(ending.unpaid(spent))
                return
            taken += 1
            last = taken == _most(turn.agent, self._limits)
            answered = yield from asking.answer(opened, last=last)
            cut = cut + 1 if answered.stop is Stop.LENGTH else 0
            asking.hand_over()
            if last or cut == CUT or answered.stop is Stop.REFUSED or not answered.calls:
                yield from turn.note(*ending.events(answered, opened.name, taken if last else 0))
                return
            if cut:
                yield from turn.note(*declined(answered.calls, ending.TOO_LONG))
                continue
            yield from turn.settle(answered.calls)
            if turn.over:
                yield from turn.note(TurnEnded("presented"))
                return

    def _model(self, turn: Turn) -> Opened:
        """Returns the model that the newest message asks for, else its agent, else the settings."""
        name = turn.record.model or turn.agent.model
        if name not in self._opened:
            self._opened[name] = self._open_model(name)
        return self._opened[name]


def _most(agent: Agent, limits: Limits) -> int:
    """Returns how many steps a turn may have; 0: as many as it takes."""
    return min((most for most in (agent.steps, limits.max_turns) if most), default=0)
