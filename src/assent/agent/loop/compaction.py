"""Summarizes the older part of a session before it exceeds the model's context.

An estimate of tokens decides when.
"""

from collections.abc import Generator, Sequence

import msgspec

from assent.agent.loop.step import RecordUsage, SessionOutput
from assent.agent.loop.system_prompt import prompt_text
from assent.core.errors import ContextOverflow, ModelError
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
from assent.core.session.event import Compacted, MessageAdded, PartSaid, StepRetried
from assent.core.session.transcript import SUMMARY
from assent.ports import OpenedModel
from assent.ports.session import Turn

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


DEFAULT_CONTEXT = 128_000  # tokens that a model can read if nobody knows better
MAX_OUTPUT = 32_000  # most tokens that are held free for the answer
FULL_SHARE = 0.8  # of the window: then the past is summarised
KEPT_TOKENS = 20_000  # tokens of the newest messages that stay word for word
MAX_RESULT_CHARS = 2_000  # characters of a tool's output that the summary is made from
KEPT_SHARES = (1, 0.25, 0)  # of that, if the one before was too much
ATTEMPTS = len(KEPT_SHARES)
MIN_TOKENS = 200  # tokens; less is not worth a request
OMITTED = "(Earlier content omitted.)\n"


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


class Compaction:
    """Compacts the session of a turn; each attempt keeps fewer of the newest messages."""

    def __init__(self, turn: Turn, opened: OpenedModel, pay: RecordUsage) -> None:
        self._turn = turn
        self._opened = opened
        self._pay = pay

    def run(self, attempt: int = 0) -> Generator[SessionOutput, None, bool]:
        """Summarizes the older messages; tells whether there were enough to summarize."""
        messages = self._turn.messages
        room = context_window(self._opened)
        for share in KEPT_SHARES[attempt:]:
            stay = kept_messages(messages, int(min(KEPT_TOKENS, room // 4) * share))
            old = messages[: len(messages) - stay]
            if (
                sum(estimated_tokens(message) for message in old if not _summary(message))
                >= MIN_TOKENS
            ):
                done = yield from self._summarise(old, stay, room * CHARS_PER_TOKEN)
                yield from self._turn.append_events(done, *self._reminder())
                return True
        return False

    def _summarise(
        self, old: Sequence[ChatMessage], stay: int, most: int
    ) -> Generator[SessionOutput, None, Compacted]:
        """Asks for a summary, of fewer messages if the model cannot read them all."""
        for attempt in range(1, ATTEMPTS + 1):
            told = ChatMessage("user", (TextPart(transcript_text(old, most >> attempt)),))
            try:
                return (
                    yield from self._ask(ModelRequest((prompt_text("compact"),), (told,)), stay)
                )
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
        if not text:
            return ()
        id = f"reminder_{record.seq + 2}"
        parts = (TextPart(text),)
        return (MessageAdded(id, self._turn.agent.name, parts, "reminder", record.model),)


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


def _checked(summary: str, name: str) -> str:
    if not summary.strip():
        raise ModelError(f"{name} returned no summary of the session.")
    return summary.strip()
