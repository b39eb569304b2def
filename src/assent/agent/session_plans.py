"""Which plan a session writes to, and what is missing before it can be presented."""

from collections.abc import Generator

from assent.agent.services import AgentServices
from assent.core.errors import AssentError
from assent.core.ids import plan_name, plan_name_of
from assent.core.plan.front_matter import misspelled_keys
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import SessionEvent
from assent.core.session.record import SessionRecord
from assent.core.text.secrets import redact

CLOSED_STATES = (PlanState.COMPLETED, PlanState.DISCARDED)
EMPTY_PLAN = (
    "The plan is empty, so there is nothing to decide. Write its text or stage operations, then "
    "present it."
)
EMPTY_TEXT = (
    "The plan's text is still the empty template, and the user decides by it. Write what changes, "
    "why, and how to verify it, then present the plan."
)

PlanLookup = Generator[SessionEvent, None, PlanRecord]


class SessionPlans:
    """The plans of a session, as its model selects and fills them."""

    def __init__(self, desk: AgentServices) -> None:
        self._desk = desk

    def plan(self, record: SessionRecord, wanted: str = "") -> PlanLookup:
        """Returns the plan to work on; creates one if none can still be changed.

        Operations staged in a draft move along to a plan of another name.
        """
        plan, name = self._desk.plan_of(record), _plain(wanted)
        if (
            plan
            and plan.state not in CLOSED_STATES
            and self._desk.plans.live_text(plan) is not None
        ):
            if name in ("", plan.name):
                return plan
            return (yield from self._renamed(record, plan, name))
        made = self._made(record, name or plan_name_of(record.goal or record.title))
        yield self._desk.link(made)
        return made

    def is_empty(self, plan: PlanRecord) -> bool:
        """Tells whether a plan has no content yet."""
        return self._is_untouched(plan) and not self._desk.plans.operations(plan)

    def why_not_presentable(self, plan: PlanRecord) -> str:
        """Returns why a plan cannot be presented yet; nothing if it can."""
        if self.is_empty(plan):
            return EMPTY_PLAN
        if self._is_untouched(plan):
            return EMPTY_TEXT
        wrong = misspelled_keys(self._desk.plans.live_text(plan) or b"")
        if wrong:
            meant = ", ".join(f"`{key}` is ignored; write `{ours}`" for key, ours in wrong)
            return f"Fix the front matter: {meant}. Then present the plan."
        return ""

    def _is_untouched(self, plan: PlanRecord) -> bool:
        return self._desk.plans.is_untouched(plan, self._desk.plans.live_text(plan) or b"")

    def _renamed(self, record: SessionRecord, plan: PlanRecord, name: str) -> PlanLookup:
        """Continues under another name: a draft moves along, a presented plan stays as it is."""
        made = self._made(record, name)
        if plan.state is PlanState.DRAFTING:
            made = self._moved(plan, made)
        yield self._desk.link(made)
        return made

    def _moved(self, plan: PlanRecord, made: PlanRecord) -> PlanRecord:
        """Stages one plan's operations in another and empties it; on a conflict both stay."""
        drafts = self._desk.drafts
        try:
            made = drafts.stage(made, self._desk.plans.operations(plan)).record
        except AssentError:
            self._desk.plans.select(plan)
            raise
        if self._desk.plans.operations(plan):
            plan = drafts.clear(plan).record
        if self.is_empty(plan):
            self._desk.plans.delete([plan])
        return made

    def _made(self, record: SessionRecord, wanted: str) -> PlanRecord:
        """Returns the session's plan of that name, or creates it under the next free name."""
        known = {plan.name: plan for plan in self._desk.plans.all() if plan.session == record.slug}
        n, name = 1, plan_name(wanted)
        while name in known:
            if known[name].state is not PlanState.COMPLETED:
                return self._desk.plans.select(known[name])
            n += 1
            name = f"{wanted}_{n}"
        return self._desk.plans.new(name, record.slug, record.goal)


def _plain(name: str) -> str:
    """Returns a plan's name where a model gives its file name; secrets are removed."""
    plain = name.rpartition("/PLAN_")[2].removeprefix("PLAN_").removesuffix(".md")
    shown = redact(plain)
    return plain if shown == plain else plan_name_of(shown)
