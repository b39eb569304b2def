"""The agent loop: ask the model, run its calls, repeat, until the turn is over."""

import time
from collections.abc import Callable, Generator, Iterator

import msgspec

from assent.agent.cancellation.request import RequestCancelToken
from assent.agent.loop import turn_end
from assent.agent.loop.budget import Budget, BudgetLimits
from assent.agent.loop.model_requests import ModelRequests
from assent.agent.loop.step import ModelAnswer, SessionOutput, declined_calls
from assent.agent.loop.step_limit import StepLimit
from assent.core.errors import Interrupted, ModelError, UsageError
from assent.core.llm import StopReason
from assent.core.session.agent import PromptContext
from assent.core.session.event import TurnEnded, interrupted_turn
from assent.ports import OpenedModel, Turn

MAX_CUT_ANSWERS = 3  # answers in a row that were too long to be carried out; then the turn is over


class AgentLoop:
    """Drives turns with Assent's own loop; the budget covers all of its turns together."""

    def __init__(
        self,
        open_model: Callable[[str], OpenedModel],
        briefing: PromptContext,
        limits: BudgetLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_model = open_model
        self._briefing = briefing
        self._limits = limits or BudgetLimits()
        self._clock = clock
        self._opened: dict[str, OpenedModel] = {}
        self._underway = RequestCancelToken()
        self.purse = Budget(self._limits, clock)
        self._is_child = False
        self._steps = 0  # most steps of a child's turn

    def child_driver(self, steps: int = 0) -> "AgentLoop":
        """Returns a driver for a child: it shares the budget, and makes at most so many steps."""
        limits = msgspec.structs.replace(self._limits, max_turns=None)
        other = AgentLoop(self._open_model, self._briefing, limits, self._clock)
        other.purse, other._is_child, other._steps = self.purse, True, steps
        return other

    def stop(self) -> None:
        """Ends the request that is under way, from any thread; `drive` then raises Interrupted."""
        self._underway.cancel()

    def drive(self, turn: Turn) -> Iterator[SessionOutput]:
        """Takes a turn to its end; whichever that is, the session says so."""
        asking = ModelRequests(turn, self._briefing, self.purse, self._clock)
        if not self._is_child:
            self.purse.begin()
        try:
            yield from self._turn(turn, asking)
        except (KeyboardInterrupt, Interrupted):
            end = interrupted_turn(turn.record.mode)
            yield from turn.append_events(*asking.aborted(), end)
            raise Interrupted(end.words, turn_end.RESUME_COMMAND) from None
        except GeneratorExit:  # whoever listened has gone
            turn.append_events(*asking.aborted(), interrupted_turn(turn.record.mode))
            raise
        except (ModelError, UsageError) as error:
            yield from turn.append_events(*asking.failed(error), TurnEnded("failed", error.message))
            raise turn_end.error_with_advice(error, turn.record.mode) from error
        finally:
            self._underway.over()

    def _turn(self, turn: Turn, asking: ModelRequests) -> Iterator[SessionOutput]:
        steps, cut = StepLimit(self._limits.max_turns or 0, self._steps), 0
        while True:
            yield from turn.read_new_messages()
            if turn.is_over:
                return  # and has said so
            self._underway.check()
            opened = self._model(turn)
            if spent := (yield from self._unpaid(turn, opened)):
                yield from turn.append_events(turn_end.budget_end(spent, turn.record.mode))
                return
            last = yield from steps.take(turn)
            answered = yield from asking.answer(opened, last=last)
            cut = cut + 1 if answered.stop is StopReason.LENGTH else 0
            asking.hand_over()
            if _is_at_rest(answered, last=last) and (yield from turn.wait_for_children()):
                continue
            if (
                last
                or cut == MAX_CUT_ANSWERS
                or answered.stop is StopReason.REFUSED
                or not answered.calls
            ):
                taken = steps.taken if last else 0
                mode = turn.record.mode
                yield from turn.append_events(
                    *turn_end.end_events(answered, opened.name, taken, mode)
                )
                return
            yield from self._settle(turn, answered, cut=cut > 0)
            if turn.is_over:
                yield from turn.append_events(TurnEnded("presented")) if turn.record.working else ()
                return

    def _settle(self, turn: Turn, answered: ModelAnswer, *, cut: bool) -> Iterator[SessionOutput]:
        if cut:
            yield from turn.append_events(*declined_calls(answered.calls, turn_end.ANSWER_CUT_OFF))
        else:
            yield from turn.run_calls(answered.calls)

    def _unpaid(self, turn: Turn, opened: OpenedModel) -> Generator[SessionOutput, None, str]:
        """Asks the person where a limit is reached; says why the turn ends if it is no yes."""
        while reached := self.purse.check(opened):
            if self.purse.closed or not (yield from turn.confirm("Budget", reached.question)):
                self.purse.close()
                return reached.words
            self.purse.extend(reached)
        return ""

    def _model(self, turn: Turn) -> OpenedModel:
        """Returns the model that the newest message asks for, else its agent, else the settings."""
        name = turn.record.model or turn.agent.model
        if name not in self._opened:
            self._opened[name] = self._underway.cancellable(self._open_model(name))
        return self._opened[name]


def _is_at_rest(answered: ModelAnswer, *, last: bool) -> bool:
    """Tells whether the model has nothing more to do, and could go on if there were."""
    return not last and not answered.calls and answered.stop in (StopReason.END, StopReason.CALLS)
