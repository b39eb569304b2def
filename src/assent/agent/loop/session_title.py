"""Asks a model for a session's title."""

from collections.abc import Sequence

from assent.agent.loop.compaction import transcript_text
from assent.agent.loop.system_prompt import prompt_text
from assent.core.errors import ModelError
from assent.core.llm import ChatMessage, ModelRequest, PartCompleted, RequestRetried, TextPart
from assent.ports import Model

MAX_TITLE_CHARS = 60
MAX_READ_CHARS = 8_000  # characters of a session that a title is made from


def session_title(model: Model, messages: Sequence[ChatMessage]) -> str:
    """Asks a model for the title of a session; raises ModelError if it gives none."""
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
        raise ModelError("The model gave no title. The session keeps the one it has.")
    return found


def _clean(text: str) -> str:
    """Returns one line without quotes, cut at a word."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line.strip("\"'`*# ").removesuffix(".")
    if len(line) <= MAX_TITLE_CHARS:
        return line
    return line[: MAX_TITLE_CHARS - 1].rsplit(" ", 1)[0].rstrip() + "…"
