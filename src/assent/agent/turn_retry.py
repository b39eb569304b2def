"""How the last turn ended, and the message that asks the model to try it again (F111)."""

from collections.abc import Sequence

from assent.core.errors import IllegalState
from assent.core.event import StoredEvent
from assent.core.session.event import CallEnded, TurnEnded, TurnStarted
from assent.core.session.record import SessionRecord

MAX_ERRORS = 3  # errors that are carried forward
MAX_ERROR_CHARS = 500  # characters of each


def last_turn_end(events: Sequence[StoredEvent]) -> TurnEnded | None:
    """Returns how the last turn of a session ended, if it did."""
    for recorded in reversed(events):
        match recorded.event:
            case TurnEnded() as end:
                return end
            case TurnStarted():
                return None
            case _:
                pass
    return None


def retry_message(record: SessionRecord, events: Sequence[StoredEvent]) -> str:
    """Says what went wrong in the last turn, for a model that is to try again."""
    end = last_turn_end(events)
    if not record.turns:
        raise IllegalState(
            f"Session {record.slug} has had no turn yet, so there is nothing to try again.",
            f'assent -r {record.slug} -p "what should be done"',
        )
    how = f"ended ({end.why}). {end.words}" if end else "was cut off, as its process ended."
    errors = _errors(events)
    listed = "".join(f"\n- {text}" for text in errors)
    went = f"\n\nThe last errors in it:{listed}" if errors else ""
    return (
        "The person wants this tried again. The turn before "
        f"{how.strip()} What was done in it is kept: look at it first, and where the same way "
        f"would fail again, take another.{went}"
    )


def _errors(events: Sequence[StoredEvent]) -> list[str]:
    """Returns what the last calls of the last turn that failed were told."""
    found: list[str] = []
    for recorded in events:
        match recorded.event:
            case TurnStarted():
                found.clear()
            case CallEnded(tool=tool, result=result) if result.failed:
                found.append(f"{tool}: {result.text[:MAX_ERROR_CHARS]}")
            case _:
                pass
    return found[-MAX_ERRORS:]
