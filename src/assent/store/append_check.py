"""Checks that a batch directly follows the last event that its writer saw."""

from assent.core.errors import ConcurrentChange
from assent.ports import EventBatch


def require_last_seq(batch: EventBatch, last: int) -> None:
    """Refuses a batch that does not follow its stream's last event."""
    if batch.after != last:
        raise ConcurrentChange(
            f"{batch.stream} is at event {last}, and this was decided at event {batch.after}: "
            "somebody else was faster. Nothing was recorded; look again and repeat."
        )
