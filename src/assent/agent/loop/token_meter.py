"""Estimates the tokens of the next request, counting each message once."""

from collections.abc import Sequence

import msgspec

from assent.core.llm import (
    ChatMessage,
    ImagePart,
    MessagePart,
    ReasoningPart,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)

CHARS_PER_TOKEN = 4  # of a token, about
IMAGE_TOKENS = 1_500  # tokens, about
TOOLS_TOKENS = 1_500  # tokens of all tools together, about, until a provider tells the whole


class TokenMeter:
    """Estimates by characters and, once a provider has counted, by its number (F114)."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forgets everything: the messages are others now."""
        self._tokens = 0
        self._counted = 0  # messages
        self._told = False

    def estimate(self, system: Sequence[str], messages: Sequence[ChatMessage]) -> int:
        """Returns the tokens of a request; looks only at messages that it has not seen."""
        self._tokens += sum(map(estimated_tokens, messages[self._counted :]))
        self._counted = len(messages)
        fixed = 0 if self._told else TOOLS_TOKENS + sum(map(len, system)) // CHARS_PER_TOKEN
        return self._tokens + fixed

    def update(self, usage: TokenUsage, sent: int) -> None:
        """Takes in what a provider counted for a request with so many messages, and its answer."""
        if usage.input:
            self._tokens, self._counted, self._told = usage.input + usage.output, sent + 1, True


def estimated_tokens(message: ChatMessage) -> int:
    """Returns how many tokens a message has, about."""
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
