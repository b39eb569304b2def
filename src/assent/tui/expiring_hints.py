"""Hints in the conversation that go once what they hint at is gone."""

from collections.abc import Callable
from typing import Final

from assent.core.plan.record import PlanState
from assent.tui.conversation.view import ConversationView
from assent.tui.result_messages import (
    APPROVED,
    BUILDING,
    PLAN_STATES,
    REDO_HINTS,
    UNDO_HINT,
    UNDO_HINTS,
    plan_state_text,
)
from assent.tui.session_controller import CONTINUE_HINT
from assent.tui.session_opening import CUT_OFF
from assent.tui.status import StatusSnapshot
from assent.tui.verification import VERIFY_HINT

AFTER_A_RUN: Final = frozenset(UNDO_HINTS.values())
STATES: Final = frozenset({APPROVED, BUILDING, *PLAN_STATES.values()})
TO_CONTINUE: Final = (CUT_OFF, CONTINUE_HINT)


class ExpiringHints:
    """Takes hints out of the notes of a conversation; what happened stays."""

    def __init__(self, view: Callable[[], ConversationView]) -> None:
        self._view = view
        self._before = StatusSnapshot()

    def run_ended(self) -> None:
        """Drops what the runs before this one hinted at, and where the plan stood before it."""
        self._drop(lambda text: text in AFTER_A_RUN or text in STATES)

    def turn_began(self) -> None:
        """Drops the ways to go on: it goes on."""
        self._drop(lambda text: text.endswith(TO_CONTINUE))

    def turn_ended(self) -> None:
        """Drops how to stop the verification of a build."""
        self._drop(lambda text: text == VERIFY_HINT)

    def take(self, now: StatusSnapshot) -> None:
        """Drops what no longer holds now: something may have happened in another terminal."""
        before, self._before = self._before, now
        plan = now.plan
        waits = plan is not None and plan.state is PlanState.AWAITING_APPROVAL and not now.approved
        self._view().hint_at_review(waits)
        if plan is None or before.plan is None or before.plan.plan_id != plan.plan_id:
            return
        holds = plan_state_text(plan, now.undone, approved=now.approved)
        if holds != plan_state_text(before.plan, before.undone, approved=before.approved):
            self._drop(lambda text: text in STATES and text != holds)
        if now.undone != before.undone:
            gone = {"": REDO_HINTS, "some": frozenset[str](), "all": {UNDO_HINT}}[now.undone]
            self._drop(lambda text: text in gone)

    def _drop(self, is_gone: Callable[[str], bool]) -> None:
        self._view().drop_note_lines(is_gone)
