"""A person who reads a plan on the screen: opens panels, presses keys when they count, looks."""

from typing import Any

from tests.tui.harness import Seat, Stage
from textual.events import Key

from assent.core.plan.record import PlanRecord
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.decision import DecisionPanel

LONG = "".join(f"line {n}\n" for n in range(60)).encode()


def proposed(stage: Stage, name: str = "work", **files: bytes) -> dict[str, Any]:
    """Proposes a plan that writes files, by default a short and a long one."""
    stage.plan(name, "Do the work")
    for file, content in (files or {"short": b"short\n", "long": LONG}).items():
        stage.write(f"{file}.txt", content)
    return stage.ok("propose")


class Reader:
    """Sits in front of a panel that takes decisions."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.app = seat.app

    @property
    def panel(self) -> DecisionPanel:
        panel = self.app.screen
        assert isinstance(panel, DecisionPanel), panel
        return panel

    @property
    def record(self) -> PlanRecord:
        return self.app.engine.plans.find()

    @property
    def approvals(self) -> list[tuple[str, str, str]]:
        """Returns whose yes is on record: digest, channel and note."""
        found = [consent.approval for consent in self.record.consents]
        return [(yes.digest, yes.approver.channel, yes.note) for yes in found]

    def at(self) -> At:
        """Returns what the person is doing, as the panel sees it."""
        return self.panel.standing.stage

    async def open(self, plan_id: str = "") -> None:
        """Opens the approval panel, and waits until it can be read."""
        self.app.review_plan(plan_id)
        await self.seat.until(lambda: isinstance(self.app.screen, ApprovalPanel))
        await self.reads()

    async def reads(self) -> None:
        """Waits until a plan is on the screen, and keys count."""
        await self.seat.until(
            lambda: self.panel.listening and self.panel.standing.stage is At.READING
        )

    async def press(self, *keys: str) -> None:
        """Presses keys one after the other, each when what it answers can be seen."""
        for key in keys:
            if isinstance(self.app.screen, DecisionPanel):
                await self.seat.until(lambda: self.panel.listening)
            await self.seat.press(key)

    async def to_the_end(self) -> None:
        await self.press("end")
        await self.seat.until(lambda: self.panel.standing.read)

    async def closed(self) -> None:
        """Waits until no panel is open, and nobody is at work."""
        await self.seat.until(lambda: len(self.app.screen_stack) == 1)
        await self.seat.rest()

    def burst(self, *keys: str) -> None:
        """Types keys so fast that nobody can see what they answer."""
        for key in keys:
            self.app.post_message(Key(key, key if len(key) == 1 else None))
