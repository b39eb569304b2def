"""Messages that tell the parent's model what a child session did."""

from collections.abc import Sequence
from typing import Final

from assent.core.event import StoredEvent
from assent.core.llm import TextPart
from assent.core.session.event import (
    ChildStarted,
    PartSaid,
    StepRetried,
    StepStarted,
    TurnEnded,
    TurnEndReason,
)
from assent.core.session.record import SessionRecord
from assent.core.tool import EffectResult, TaskEffect

MAX_FINAL_MESSAGE_CHARS = 30_000  # characters of last words
# What a parent's model is told about a child that did not come to its own end.
_ENDS: Final[dict[TurnEndReason, str]] = {
    "limit": "It was stopped before it was done: ",
    "budget": "It was stopped before it was done: ",
    "interrupted": "It was interrupted: ",
    "failed": "It failed: ",
    "declined": "The person said no to it: ",
    "waiting": "It waits for an answer of the person: ",
    "paused": "The person paused it: ",
    "cancelled": "The person cancelled it: ",
}
_FAILED: Final[tuple[TurnEndReason, ...]] = ("interrupted", "failed", "declined", "cancelled")


def child_result(
    record: SessionRecord, task: TaskEffect, end: tuple[TurnEndReason, str], said: str
) -> EffectResult:
    """Says what a child came to, and how to go on with it."""
    why, about = end
    told = f"{_ENDS[why]}{about}".strip() if why in _ENDS else ""
    way_on = f"(session={record.session} agent={task.agent} continues it.)"
    text = "\n\n".join(filter(None, [said or "It said nothing.", told, way_on]))
    return EffectResult(text, why in _FAILED, metadata={"child": record.session, "why": why})


def declined_children(tasks: Sequence[TaskEffect], of: int) -> str:
    """Says to the person which children they said no to, and that the others' results are kept."""
    named = " and ".join(f'the child {task.agent} with the task "{task.title}"' for task in tasks)
    others = " What the other children came to is kept." if of > len(tasks) else ""
    return f"You said no to {named}; nothing of what you were asked about was done.{others}"


def background_started(record: SessionRecord) -> EffectResult:
    """Says that a child works on while its parent does."""
    text = f"It works in the background as session={record.session}. A message tells when it ends."
    return EffectResult(text, metadata={"child": record.session, "background": True})


def not_started(why: str) -> EffectResult:
    """Says why nobody was started."""
    return EffectResult(why, failed=True)


def background_report(title: str, carried: EffectResult) -> str:
    """Returns the message with which a child in the background comes back."""
    return f"The task in the background has ended: {title}\n\n{carried.text}"


def lost_children(lost: Sequence[ChildStarted]) -> str:
    """Returns the message about children whose process died."""
    named = "\n".join(f"- {one.agent}: {one.title} (session={one.child})" for one in lost)
    return f"These sub-agents were interrupted, as the process ended:\n{named}"


def final_message(events: Sequence[StoredEvent]) -> str:
    """Returns what the model said last in some events, cut where it is very long."""
    said, saying = "", list[str]()
    for recorded in events:
        match recorded.event:
            case StepStarted() | StepRetried():
                saying.clear()
            case PartSaid(part=TextPart(text)) if text.strip():
                saying.append(text)
                said = "\n\n".join(saying)
            case _:
                pass
    if len(said) <= MAX_FINAL_MESSAGE_CHARS:
        return said.strip()
    return f"{said[:MAX_FINAL_MESSAGE_CHARS].strip()}\n(It said more; ask it to be brief.)"


def end_reason(events: Sequence[StoredEvent]) -> tuple[TurnEndReason, str]:
    """Returns why the last turn in some events ended, and the words about it."""
    ends = [one.event for one in events if isinstance(one.event, TurnEnded)]
    return (ends[-1].why, ends[-1].words) if ends else ("interrupted", "")
