"""Makes the model requests of a turn, with as much of the session as fits the context."""

from collections.abc import Callable, Generator, Iterator, Sequence

import msgspec

from assent.agent.loop.budget import Budget
from assent.agent.loop.compaction import ATTEMPTS, CHARS_PER_TOKEN, Compaction, TokenMeter, is_full
from assent.agent.loop.step import ModelAnswer, ModelStep, SessionOutput
from assent.agent.loop.system_prompt import prompt_layers, prompt_text, system_texts
from assent.core.errors import AssentError, ContextOverflow
from assent.core.llm import ChatMessage, ModelRequest, TextPart, TokenUsage, ToolDefinition
from assent.core.session.agent import Agent, PromptContext
from assent.core.session.event import PartSaid, SessionEvent, StepStarted
from assent.core.text.tool_mentions import missing_tools
from assent.ports import OpenedModel
from assent.ports.session import Turn


class ModelRequests:
    """The requests of one turn; the cost of a step here does not grow with the session."""

    def __init__(
        self, turn: Turn, briefing: PromptContext, purse: Budget, clock: Callable[[], float]
    ) -> None:
        self._turn = turn
        self._briefing = briefing
        self._purse = purse
        self._clock = clock
        self._gauge = TokenMeter()
        self._used = 0  # tokens of the newest request, about
        self._stuck = False  # whatever is summarised, it stays full
        self._step: ModelStep | None = None
        # The system prompt, with what it was made of.
        self._told: tuple[tuple[Agent, str, tuple[ToolDefinition, ...]], tuple[str, ...]] | None = (
            None
        )

    def answer(
        self, opened: OpenedModel, *, last: bool
    ) -> Generator[SessionOutput, None, ModelAnswer]:
        """Makes one step, with fewer messages if the model cannot read them all."""
        turn, agent = self._turn, self._turn.agent
        yield from self._make_room(opened)
        number = turn.record.steps + 1
        yield from turn.append_events(
            StepStarted(number, agent.name, opened.name, turn.record.mode)
        )
        self._step = step = ModelStep(turn, opened, self._payer(opened), self._clock)
        for attempt in range(ATTEMPTS):
            # The first time the newest stay as they are, the second time nothing does.
            if attempt and not (yield from self._compact(opened, 2 * (attempt - 1))):
                break
            prompt = self._prompt(opened, number)
            try:
                answered = yield from step.ask(_without_tools(prompt) if last else prompt)
            except ContextOverflow as error:
                trouble = error
                yield from step.void(attempt + 1, 0.0, error.message)
            else:
                self._gauge.update(answered.usage, len(prompt.messages))
                return answered
        raise trouble

    def hand_over(self) -> None:
        """Leaves the calls of the newest answer to whoever runs them."""
        if self._step:
            self._step.hand_over()

    def aborted(self) -> tuple[SessionEvent, ...]:
        """Returns the events to record when the user interrupts."""
        return self._step.aborted() if self._step else ()

    def failed(self, error: AssentError) -> tuple[SessionEvent, ...]:
        """Returns the events to record after a failure."""
        return self._step.failed(error) if self._step else ()

    def _make_room(self, opened: OpenedModel) -> Iterator[SessionOutput]:
        """Compacts the session before the context is full; not again if that did not help."""
        attempt = 0
        while self._is_full(opened) and not self._stuck:
            done = yield from self._compact(opened, attempt)
            attempt += 1
            self._stuck = not done or attempt == ATTEMPTS

    def _is_full(self, opened: OpenedModel) -> bool:
        self._used = self._gauge.estimate(self._system(opened), self._turn.messages)
        return is_full(self._used, opened)

    def _compact(self, opened: OpenedModel, attempt: int) -> Generator[SessionOutput, None, bool]:
        compaction = Compaction(self._turn, opened, self._payer(opened))
        done = yield from compaction.run(attempt)
        self._gauge.restart()
        return done

    def _prompt(self, opened: OpenedModel, number: int) -> ModelRequest:
        turn = self._turn
        return ModelRequest(
            self._system(opened),
            turn.messages,
            turn.available_tools(),
            kind=turn.agent.name if turn.record.parent else "main",
            turn=number,
            temperature=turn.agent.temperature,
        )

    def _system(self, opened: OpenedModel) -> tuple[str, ...]:
        """Returns the system prompt; it only changes with the agent, the model or the tools."""
        agent, offers = self._turn.agent, self._turn.available_tools()
        told = (agent, opened.name, offers)
        if self._told is None or self._told[0] != told:
            absent = missing_tools([each.name for each in offers])
            texts = system_texts(prompt_layers(agent, self._briefing, opened.name, absent=absent))
            self._told = (told, texts)
        return self._told[1]

    def _payer(
        self, opened: OpenedModel
    ) -> Callable[[TokenUsage, Sequence[PartSaid]], float | None]:
        def pay(usage: TokenUsage, said: Sequence[PartSaid]) -> float | None:
            if usage != TokenUsage():
                return self._purse.spend(opened, usage)
            spoken = sum(len(str(each.part)) for each in said) // CHARS_PER_TOKEN
            self._purse.spend(opened, TokenUsage(self._used, spoken), guessed=True)
            return None

        return pay


def _without_tools(prompt: ModelRequest) -> ModelRequest:
    """Returns the request of a turn's last step, which must end with a message (F109)."""
    last = ChatMessage("user", (TextPart(prompt_text("last")),))
    return msgspec.structs.replace(prompt, messages=(*prompt.messages, last), tools=())
