"""The agent loop: ask the model, run its calls, repeat, until the turn is over."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence

from msgspec.structs import replace

from assent.agent.cancellation import CancellableModel
from assent.agent.loop.budget import Budget, BudgetLimits, StepLimit
from assent.agent.loop.context import ModelRequests, transcript_text
from assent.agent.loop.step import ModelAnswer, SessionOutput, declined_calls
from assent.agent.prompt import prompt_text
from assent.core.errors import ContextOverflow, Interrupted, ModelError, UsageError
from assent.core.llm import (
    ChatMessage,
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    TextPart,
)
from assent.core.permission.mode import Mode
from assent.core.session.agent import PromptContext
from assent.core.session.event import SessionEvent, TurnEnded, interrupted_turn
from assent.ports import Model, OpenedModel
from assent.ports.cancellation import CancelToken
from assent.ports.session import Turn

# The events and messages with which a turn ends.


CONTINUE_COMMAND = 'assent -c -p "continue"'
RESUME_COMMAND = "assent -c"  # after an interruption, for a user at the terminal
KEPT_STAGED = (
    f"Messages and staged changes are kept; `{CONTINUE_COMMAND}` continues."  # while planning
)
KEPT_DONE = f"Messages and changes are kept; `{CONTINUE_COMMAND}` continues."
CONTEXT_FULL = "Messages and staged changes are kept, but they exceed this model's context."
NOT_COMPACTED = "No message was replaced."
LARGER_MODEL_COMMAND = "assent -c --model PROVIDER/MODEL, with a larger context"
ANSWER_CUT_OFF = (
    "The answer reached the output limit before this call was complete, so it was not run. Make "
    "smaller calls, and fewer of them per answer."
)
NO_TOOLS_IN_LAST_STEP = "No tool can be used in the last step of a turn. The call was not run."


def kept_work_text(mode: Mode) -> str:
    """Returns what was kept of a turn, and how to continue; only plan mode stages anything."""
    return KEPT_STAGED if mode == "plan" else KEPT_DONE


def budget_end(spent: str, mode: Mode) -> TurnEnded:
    """Returns the end of a turn that exceeds its budget."""
    return TurnEnded("budget", f"{spent} {kept_work_text(mode)}")


def end_events(
    answered: ModelAnswer, name: str, limit: int, mode: Mode = "plan"
) -> tuple[SessionEvent, ...]:
    """Returns the events that end a turn; `limit` is the number of steps, if that was reached.

    Raises ModelError if the model refused.
    """
    if answered.stop is StopReason.REFUSED:
        said = f": {answered.words.rstrip('.')}" if answered.words else ""
        raise ModelError(f"{name} refused to answer{said}.")
    if answered.stop is StopReason.LENGTH:
        words = f"The answer of {name} was cut off at the output limit. {kept_work_text(mode)}"
        return *declined_calls(answered.calls, ANSWER_CUT_OFF), TurnEnded("limit", words)
    if limit:
        words = f"{step_limit_text(limit)} {kept_work_text(mode)}"
        return *declined_calls(answered.calls, NO_TOOLS_IN_LAST_STEP), TurnEnded("limit", words)
    return (TurnEnded("end"),)


def step_limit_text(limit: int) -> str:
    """Returns that a turn had as many steps as it may have."""
    return f"The turn reached its limit of {limit} {'steps' if limit > 1 else 'step'}."


def error_with_advice(error: ModelError | UsageError, mode: Mode) -> ModelError | UsageError:
    """Returns an error that also says what was kept and how to continue."""
    if isinstance(error, UsageError):
        return error
    if isinstance(error, ContextOverflow):
        return type(error)(f"{error.message} {CONTEXT_FULL}", LARGER_MODEL_COMMAND)
    return type(error)(f"{error.message} {kept_work_text(mode)}", error.next or CONTINUE_COMMAND)


NO_IMAGES = (
    "{name} cannot see images, so the message was not sent to it. Choose a model that can (/model, "
    "or --model) and continue, or say it again without the image."
)
OTHER_MODEL_COMMAND = "assent -c --model PROVIDER/MODEL"
STOPPED_ELSEWHERE = "Stopped from another process."
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
        self._token = CancelToken[str]()  # of the turn that is driven, or else of the next one
        self.purse = Budget(self._limits, clock)
        self._is_child = False
        self._steps = 0  # most steps of a child's turn

    def child_driver(self, steps: int = 0) -> "AgentLoop":
        """Returns a driver for a child: it shares the budget, and makes at most `steps` steps."""
        limits = replace(self._limits, max_turns=None)
        other = AgentLoop(self._open_model, self._briefing, limits, self._clock)
        other.purse, other._is_child, other._steps = self.purse, True, steps
        return other

    def stop(self) -> None:
        """Ends the current request, from any thread; `drive` then raises Interrupted."""
        self._token.cancel(STOPPED_ELSEWHERE)

    def drive(self, turn: Turn) -> Iterator[SessionOutput]:
        """Drives a turn to its end, and always records how it ended."""
        asking = ModelRequests(turn, self._briefing, self.purse, self._clock)
        if not self._is_child:
            self.purse.begin()
        try:
            yield from self._turn(turn, asking)
        except (KeyboardInterrupt, Interrupted):
            end = interrupted_turn(turn.record.mode)
            yield from turn.append_events(*asking.aborted(), end)
            raise Interrupted(end.words, RESUME_COMMAND) from None
        except GeneratorExit:  # the consumer has gone
            turn.append_events(*asking.aborted(), interrupted_turn(turn.record.mode))
            raise
        except (ModelError, UsageError) as error:
            yield from turn.append_events(*asking.failed(error), TurnEnded("failed", error.message))
            raise error_with_advice(error, turn.record.mode) from error
        finally:
            self._token = CancelToken()

    def compact(self, turn: Turn, model: str = "") -> Generator[SessionOutput, None, bool]:
        """Compacts a session outside a turn; tells whether there was anything to compact.

        No message is replaced if the user interrupts, or the model fails.
        """
        asking = ModelRequests(turn, self._briefing, self.purse, self._clock)
        try:
            return (yield from asking.compact(self._model(turn, model)))
        except ContextOverflow as error:
            raise type(error)(f"{error.message} {NOT_COMPACTED}", CONTINUE_COMMAND) from error
        except (ModelError, UsageError) as error:
            raise error_with_advice(error, turn.record.mode) from error
        finally:
            self._token = CancelToken()

    def _turn(self, turn: Turn, asking: ModelRequests) -> Iterator[SessionOutput]:
        steps, cut = StepLimit(self._limits.max_turns or 0, self._steps), 0
        while True:
            yield from turn.read_new_messages()
            if turn.is_over:
                return  # and has said so
            self._token.raise_if_cancelled()
            opened = self._model(turn)
            if turn.has_new_images and not opened.sees_images:
                raise UsageError(NO_IMAGES.format(name=opened.name), OTHER_MODEL_COMMAND)
            if spent := (yield from self._unpaid(turn, opened)):
                yield from turn.append_events(budget_end(spent, turn.record.mode))
                return
            last = yield from steps.take(turn)
            answered = yield from asking.answer(opened, last=last)
            cut = cut + 1 if answered.stop is StopReason.LENGTH else 0
            asking.hand_over()
            yield from turn.after_response(opened.name, answered.text, answered.calls)
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
                yield from turn.append_events(*end_events(answered, opened.name, taken, mode))
                return
            if cut:
                yield from turn.append_events(*declined_calls(answered.calls, ANSWER_CUT_OFF))
            else:
                yield from turn.run_calls(answered.calls)
            if turn.is_over:
                yield from turn.append_events(TurnEnded("presented")) if turn.record.working else ()
                return

    def _unpaid(self, turn: Turn, opened: OpenedModel) -> Generator[SessionOutput, None, str]:
        """Asks the user when a limit is reached; returns why the turn ends if the answer is no."""
        while reached := self.purse.check(opened):
            if self.purse.closed or not (yield from turn.confirm("Budget", reached.question)):
                self.purse.close()
                return reached.words
            self.purse.extend(reached)
        return ""

    def _model(self, turn: Turn, name: str = "") -> OpenedModel:
        """Returns the model that the newest message asks for, else its agent, else the settings."""
        name = name or turn.record.model or turn.agent.model
        if name not in self._opened:
            self._opened[name] = self._open_model(name)
        return self.cancellable(self._opened[name])

    def cancellable(self, opened: OpenedModel) -> OpenedModel:
        """Returns a model whose requests end when the turn that is driven is stopped."""
        return replace(opened, model=CancellableModel(opened.model, self._token))


def _is_at_rest(answered: ModelAnswer, *, last: bool) -> bool:
    """Tells whether the model has finished its turn."""
    return not last and not answered.calls and answered.stop in (StopReason.END, StopReason.CALLS)


# Asks a model for a session's title.


MAX_TITLE_CHARS = 60
MAX_READ_CHARS = 8_000  # characters of a session that a title is made from


def session_title(model: Model, messages: Sequence[ChatMessage]) -> str:
    """Asks a model for a session title; raises ModelError if it returns none."""
    told = ChatMessage("user", (TextPart(transcript_text(messages, MAX_READ_CHARS)),))
    answers = model.stream(ModelRequest((prompt_text("title"),), (told,), kind="title"))
    texts: list[str] = []
    try:
        for answer in answers:
            match answer:
                case PartCompleted(TextPart(text)):
                    texts.append(text)
                case RequestRetried():
                    texts.clear()
                case _:
                    pass
    finally:
        answers.close()
    found = _clean(" ".join(texts))
    if not found:
        raise ModelError("The model returned no title. The session keeps its current title.")
    return found


def _clean(text: str) -> str:
    """Returns one line without quotes, cut at a word."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line.strip("\"'`*# ").removesuffix(".")
    if len(line) <= MAX_TITLE_CHARS:
        return line
    return line[: MAX_TITLE_CHARS - 1].rsplit(" ", 1)[0].rstrip() + "…"
