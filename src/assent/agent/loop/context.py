"""The context of model requests: as much of the session as fits, and compaction of the rest."""

from collections.abc import Callable, Generator, Iterator, Sequence

import msgspec

from assent.agent.loop.budget import Budget
from assent.agent.loop.step import ModelAnswer, ModelStep, RecordUsage, SessionOutput
from assent.agent.prompt import prompt_layers, prompt_text, system_texts
from assent.core.errors import AssentError, ContextOverflow, ModelError, Refused
from assent.core.hook import ADDED_BY_HOOK
from assent.core.llm import (
    ChatMessage,
    ImagePart,
    MessagePart,
    ModelRequest,
    PartCompleted,
    ReasoningPart,
    RequestRetried,
    StreamEnded,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.core.permission.mode import default_agent
from assent.core.session.agent import Agent, PromptContext
from assent.core.session.event import (
    Compacted,
    CompactionRejected,
    MessageAdded,
    PartSaid,
    ResultsPruned,
    SessionEvent,
    StepRetried,
    StepStarted,
)
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import INSTRUCTIONS, SUMMARY, UnseenImages, is_prunable
from assent.ports import OpenedModel
from assent.ports.session import Turn

# Summarizes the older part of a session before it exceeds the model's context.
#
# An estimate of tokens decides when.


# Estimates the tokens of the next request, counting each message once.


CHARS_PER_TOKEN = 4  # of a token, about
IMAGE_TOKENS = 1_500  # tokens, about
TOOLS_TOKENS = 1_500  # tokens of all tools together, about, until a provider tells the whole


class TokenMeter:
    """Estimates tokens from characters and, once a provider has counted, from its number (F114)."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forgets everything, because the messages were replaced."""
        self._tokens = 0
        self._counted = 0  # messages
        self._told = False

    def estimate(self, system: Sequence[str], messages: Sequence[ChatMessage]) -> int:
        """Returns the tokens of a request; only counts messages that it has not seen."""
        self._tokens += sum(map(estimated_tokens, messages[self._counted :]))
        self._counted = len(messages)
        fixed = 0 if self._told else TOOLS_TOKENS + sum(map(len, system)) // CHARS_PER_TOKEN
        return self._tokens + fixed

    def update(self, usage: TokenUsage, sent: int) -> None:
        """Takes in a provider's token count for a request with `sent` messages, and its answer."""
        if usage.input:
            self._tokens, self._counted, self._told = usage.input + usage.output, sent + 1, True


def estimated_tokens(message: ChatMessage) -> int:
    """Returns roughly how many tokens a message has."""
    return sum(map(_tokens, message.parts))


def _tokens(part: MessagePart) -> int:
    match part:
        case TextPart(text) | ReasoningPart(text):
            return len(text) // CHARS_PER_TOKEN
        case ToolResult(_, text, _, images):
            return len(text) // CHARS_PER_TOKEN + IMAGE_TOKENS * len(images)
        case ToolCall():
            return len(msgspec.json.encode(part.args)) // CHARS_PER_TOKEN
        case ImagePart():
            return IMAGE_TOKENS


DEFAULT_CONTEXT = 128_000  # tokens that a model can read if nothing better is known
MAX_OUTPUT = 32_000  # most tokens that are held free for the answer
FULL_SHARE = 0.8  # of the window: then the past is summarised
KEPT_TOKENS = 20_000  # tokens of the newest messages that are kept verbatim
MAX_RESULT_CHARS = 2_000  # characters of a tool's output that the summary is made from
KEPT_SHARES = (1, 0.25, 0)  # of that, if the one before was too much
ATTEMPTS = len(KEPT_SHARES)
MIN_TOKENS = 200  # tokens; less is not worth a request
OMITTED = "(Earlier content omitted.)\n"
PRUNE_PROTECTED = 40_000  # tokens of the newest tool results that are never pruned (F121)
PRUNE_MINIMUM = (
    20_000  # tokens; with less to gain, a prompt that a provider has cached is left alone
)
TOO_LONG = (
    "Your previous summary had {size} characters, which is too long. Write a much shorter one."
)
NOT_SHORTER = (
    "The conversation (about {before} tokens) could not be compacted: {count} not shorter."
)
STILL_FULL = (
    "After compaction the conversation still has about {used} tokens; {name} accepts {room}."
)


def context_window(opened: OpenedModel) -> int:
    """Returns how many tokens a request to a model may have."""
    context = opened.context or DEFAULT_CONTEXT
    return context - min(opened.output or MAX_OUTPUT, MAX_OUTPUT, context // 4)


def is_full(used: int, opened: OpenedModel) -> bool:
    """Tells whether the session must be compacted."""
    return used > FULL_SHARE * context_window(opened)


def kept_messages(messages: Sequence[ChatMessage], most: int) -> int:
    """Returns how many of the newest messages are kept; a result is never kept without its call."""
    size, stay = 0, 0
    for count, message in enumerate(reversed(messages), start=1):
        size += estimated_tokens(message)
        if size > most:
            break
        if not any(isinstance(part, ToolResult) for part in message.parts):
            stay = count
    return stay


def prunable_results(messages: Sequence[ChatMessage]) -> ResultsPruned | None:
    """Returns which old tool results are worth pruning, if any (F121).

    The newest 40,000 tokens of them stay, and whatever the model has not answered yet.
    """
    kept, held, answered = 0, 0, False
    for message in reversed(messages):
        held += _result_tokens(message)
        answered = answered or message.role == "assistant"
        if held > PRUNE_PROTECTED and answered:
            break
        kept += 1
    old = messages[: len(messages) - kept]
    found = [part for one in old for part in one.parts if is_prunable(part)]
    tokens = sum(map(_tokens, found))
    return ResultsPruned(kept, len(found), tokens) if tokens >= PRUNE_MINIMUM else None


def _result_tokens(message: ChatMessage) -> int:
    return sum(_tokens(part) for part in message.parts if isinstance(part, ToolResult))


class Compaction:
    """One compaction of a session: old tool results go first, then all that is old.

    Each attempt at a summary keeps fewer of the newest messages. `told` is what hooks add to the
    instructions for it.
    """

    def __init__(self, turn: Turn, opened: OpenedModel, pay: RecordUsage, told: str = "") -> None:
        self._turn = turn
        self._opened = opened
        self._pay = pay
        self._told = told
        self.attempt = 0  # the next one
        self._done = False  # a summary of this compaction is in use

    def prune(self) -> Generator[SessionOutput, None, bool]:
        """Prunes old tool results; tells whether there were enough of them."""
        pruned = prunable_results(self._turn.messages)
        if pruned is not None:
            yield from self._turn.append_events(pruned)
        return pruned is not None

    def summarise(self) -> Generator[SessionOutput, None, bool]:
        """Summarizes the older messages; tells whether there were enough to summarize.

        A summary that would make the request no shorter is thrown away; raises ContextOverflow if
        that was the last attempt, and none before it helped (F120).
        """
        messages, size, rejected = self._turn.messages, 0, 0
        room = context_window(self._opened)
        before = sum(map(estimated_tokens, messages))
        while self.attempt < ATTEMPTS:
            most = int(min(KEPT_TOKENS, room // 4) * KEPT_SHARES[self.attempt])
            self.attempt += 1
            stay = kept_messages(messages, most)
            old = self._without_instructions(messages[: len(messages) - stay])
            new = messages[len(messages) - stay :]
            if sum(estimated_tokens(one) for one in old if not _summary(one)) < MIN_TOKENS:
                continue
            done = yield from self._summarise(old, stay, room * CHARS_PER_TOKEN, size)
            reminder = self._reminder()
            size = len(done.summary)
            after = (len(SUMMARY) + size) // CHARS_PER_TOKEN + sum(map(estimated_tokens, new))
            after += sum(_tokens(part) for one in reminder for part in one.parts)
            if after < before:
                yield from self._turn.append_events(done, *reminder)
                self._done = True
                return True
            rejected += 1
            told = CompactionRejected(before, after, done.usage, done.cost)
            yield from self._turn.append_events(told)
        if rejected and not self._done:
            raise ContextOverflow(NOT_SHORTER.format(count=_times(rejected), before=before))
        return False

    def _without_instructions(self, old: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
        """Returns messages without the agent's instructions, which are given again after it."""
        known = TextPart(self._turn.instructed)
        if not known.text:
            return old
        return [
            msgspec.structs.replace(one, parts=tuple(part for part in one.parts if part != known))
            if known in one.parts
            else one
            for one in old
        ]

    def _summarise(
        self, old: Sequence[ChatMessage], stay: int, most: int, rejected: int
    ) -> Generator[SessionOutput, None, Compacted]:
        """Asks for a summary, of fewer messages if the model cannot read them all.

        `rejected` is the length of the one before, if that was too long.
        """
        system = [prompt_text("compact")]
        system += [f"{ADDED_BY_HOOK}{self._told}"] if self._told else []
        system += [TOO_LONG.format(size=rejected)] if rejected else []
        for attempt in range(1, ATTEMPTS + 1):
            told = ChatMessage("user", (TextPart(transcript_text(old, most >> attempt)),))
            try:
                return (yield from self._ask(ModelRequest(tuple(system), (told,)), stay))
            except ContextOverflow as error:
                trouble = error
        raise trouble

    def _ask(self, prompt: ModelRequest, stay: int) -> Generator[SessionOutput, None, Compacted]:
        asked = ModelRequest(prompt.system, prompt.messages, kind="compact")
        texts: list[str] = []
        answers = self._opened.model.stream(asked)
        try:
            for answer in answers:
                match answer:
                    case PartCompleted(TextPart(text)):
                        texts.append(text)
                    case RequestRetried(attempt, wait, reason):
                        texts.clear()
                        yield from self._turn.append_events(StepRetried(attempt, wait, reason))
                    case StreamEnded(usage=usage):
                        summary = _checked("".join(texts), self._opened.name)
                        cost = self._pay(usage, [PartSaid(TextPart(summary))])
                        return Compacted(summary, stay, usage, cost)
                    case _:
                        pass
        finally:
            answers.close()
        raise ModelError(f"{self._opened.name} stopped while summarizing the session.")

    def _reminder(self) -> tuple[MessageAdded, ...]:
        """Repeats the current mode, plan, todos and approvals, which no summary contains (F33)."""
        text = self._turn.reminder()
        record = self._turn.record
        told = instruction_messages(self._turn, again=True)
        if not text:
            return told
        id, agent = f"reminder_{record.seq + 2 + len(told)}", _agent_name(record)
        return (*told, MessageAdded(id, agent, (TextPart(text),), "reminder", record.model))


def instruction_messages(turn: Turn, *, again: bool = False) -> tuple[MessageAdded, ...]:
    """Returns the agent's instructions as a message, if the model does not have them."""
    text, record = turn.mode_instructions(), turn.record
    if not text or (text == turn.instructed and not again):
        return ()
    id, parts = f"agent_{record.seq + 2}", (TextPart(text),)
    return (MessageAdded(id, _agent_name(record), parts, INSTRUCTIONS, record.model),)


def _agent_name(record: SessionRecord) -> str:
    """Returns the agent as the session names it: one that is not there stays not there (F11)."""
    return record.agent or default_agent(record.mode)


def transcript_text(messages: Sequence[ChatMessage], most: int) -> str:
    """Returns messages as plain text of at most `most` characters; the oldest are cut first."""
    first = _words(messages[0]) + "\n" if messages and _summary(messages[0]) else ""
    rest = messages[1:] if first else messages
    text = "\n".join(map(_words, rest))
    room = max(0, most - len(first))
    return first + (text if len(text) <= room else OMITTED + text[len(text) - room :])


def _words(message: ChatMessage) -> str:
    said = [words for part in message.parts if (words := _part_words(part))]
    who = "Agent" if message.role == "assistant" else "User or tool"
    return f"# {who}\n" + "\n".join(said) + "\n"


def _part_words(part: MessagePart) -> str:
    match part:
        case TextPart(text):
            return text
        case ToolCall():
            return _short(f"[calls {part.tool} with {part.args}]")
        case ToolResult(_, text, failed):
            return f"[{'failed' if failed else 'result'}] {_short(text)}"
        case ImagePart():
            return "[image]"
        case ReasoningPart():
            return ""


def _short(text: str) -> str:
    return (
        text
        if len(text) <= MAX_RESULT_CHARS
        else f"{text[:MAX_RESULT_CHARS]} (and {len(text) - MAX_RESULT_CHARS} more)"
    )


def _summary(message: ChatMessage) -> bool:
    match message.parts:
        case (TextPart(text),):
            return message.role == "user" and text.startswith(SUMMARY)
        case _:
            return False


def _times(count: int) -> str:
    return "the summary was" if count == 1 else f"{count} summaries were"


def _checked(summary: str, name: str) -> str:
    if not summary.strip():
        raise ModelError(f"{name} returned no summary of the session.")
    return summary.strip()


# Makes the model requests of a turn, with as much of the session as fits the context.


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
        self._stuck = False  # the context stays full, whatever is summarised
        self._step: ModelStep | None = None
        self._unseen: tuple[str, UnseenImages] | None = None  # for a model that sees none
        # The system prompt, with what it was made of.
        self._told: tuple[tuple[Agent, str, frozenset[str]], tuple[str, ...]] | None = None

    def answer(
        self, opened: OpenedModel, *, last: bool
    ) -> Generator[SessionOutput, None, ModelAnswer]:
        """Makes one step, with fewer messages if the model cannot read them all."""
        turn, agent = self._turn, self._turn.agent
        self._instruct()
        yield from self._make_room(opened)
        self._instruct()
        number = turn.record.steps + 1
        yield from turn.append_events(
            StepStarted(number, agent.name, opened.name, turn.record.mode)
        )
        self._step = step = ModelStep(turn, opened, self._payer(opened), self._clock)
        compaction: Compaction | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                compaction = compaction or self._compaction(opened)
                if compaction is None or not (yield from self._shrink(compaction)):
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

    def _instruct(self) -> None:
        """Tells the model what it has to do in this mode, unless it knows that already."""
        if told := instruction_messages(self._turn):
            self._turn.defer_events(*told)

    def hand_over(self) -> None:
        """Leaves the calls of the newest answer to the code that runs them."""
        if self._step:
            self._step.hand_over()

    def aborted(self) -> tuple[SessionEvent, ...]:
        """Returns the events to record when the user interrupts."""
        return self._step.aborted() if self._step else ()

    def failed(self, error: AssentError) -> tuple[SessionEvent, ...]:
        """Returns the events to record after a failure."""
        return self._step.failed(error) if self._step else ()

    def compact(self, opened: OpenedModel) -> Generator[SessionOutput, None, bool]:
        """Compacts the session because the user wants it; tells whether that was possible.

        Raises Refused if a hook objects.
        """
        told = self._turn.before_compaction(asked=True)
        compaction = Compaction(self._turn, opened, self._payer(opened), told)
        pruned = yield from compaction.prune()
        return (yield from compaction.summarise()) or pruned

    def _make_room(self, opened: OpenedModel) -> Iterator[SessionOutput]:
        """Compacts the session before the context is full; not again if that did not help."""
        if self._stuck or not self._is_full(opened):
            return
        compaction = self._compaction(opened)
        if compaction is None:
            self._stuck = True
            return
        if (yield from compaction.prune()):
            self._gauge.restart()
        while self._is_full(opened) and (yield from compaction.summarise()):
            self._gauge.restart()
        self._stuck = self._is_full(opened)
        if self._stuck and opened.context and self._used > context_window(opened):
            room = context_window(opened)
            raise ContextOverflow(STILL_FULL.format(used=self._used, name=opened.name, room=room))

    def _compaction(self, opened: OpenedModel) -> Compaction | None:
        """Returns a compaction; None if a hook objects, of which the user is warned."""
        try:
            told = self._turn.before_compaction(asked=False)
        except Refused:
            return None
        return Compaction(self._turn, opened, self._payer(opened), told)

    def _shrink(self, compaction: Compaction) -> Generator[SessionOutput, None, bool]:
        """Makes a request shorter that a model could not read; the last time nothing stays."""
        done = not compaction.attempt and (yield from compaction.prune())
        if not done:
            done = yield from compaction.summarise()
            compaction.attempt = max(compaction.attempt, ATTEMPTS - 1)
        self._gauge.restart()
        return done

    def _is_full(self, opened: OpenedModel) -> bool:
        self._used = self._gauge.estimate(self._system(opened), self._turn.messages)
        return is_full(self._used, opened)

    def _prompt(self, opened: OpenedModel, number: int) -> ModelRequest:
        turn = self._turn
        return ModelRequest(
            self._system(opened),
            turn.messages if opened.sees_images else self._without_images(opened),
            turn.available_tools(),
            kind=turn.agent.name if turn.record.parent else "main",
            turn=number,
            temperature=turn.agent.temperature,
        )

    def _without_images(self, opened: OpenedModel) -> tuple[ChatMessage, ...]:
        """Returns the messages for a model that cannot see the images of earlier ones."""
        if self._unseen is None or self._unseen[0] != opened.name:
            self._unseen = (opened.name, UnseenImages(opened.name))
        return self._unseen[1].replaced(self._turn.messages)

    def _system(self, opened: OpenedModel) -> tuple[str, ...]:
        """Returns the system prompt; it only changes with the agent, the model or the mode.

        A tool that is offered later changes nothing in it, so that providers' caches hold.
        """
        agent, absent = self._turn.agent, self._turn.absent_tools()
        told = (agent, opened.name, absent)
        if self._told is None or self._told[0] != told:
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
