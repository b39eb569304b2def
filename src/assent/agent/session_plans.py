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
    "The plan is empty, so there is nothing to decide. Write its text, or stage operations, and "
    "present it then."
)
EMPTY_TEXT = (
    "The plan's text is still the empty template, and the person decides by it. Say in "
    "it what changes, why, and how to tell that it worked; present the plan then."
)

PlanLookup = Generator[SessionEvent, None, PlanRecord]


class SessionPlans:
    """The plans of a session, as far as its model chooses and fills them."""

    def __init__(self, desk: AgentServices) -> None:
        self._desk = desk

    def plan(self, record: SessionRecord, wanted: str = "") -> PlanLookup:
        """Returns the plan to work on; makes one where there is none that can still change.

        What is staged in a draft comes along to a plan of another name.
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
        """Tells whether nobody has put anything into a plan."""
        return self._is_untouched(plan) and not self._desk.drafts.operations(plan)

    def why_not_presentable(self, plan: PlanRecord) -> str:
        """Says why a plan cannot be presented yet; nothing if it can."""
        if self.is_empty(plan):
            return EMPTY_PLAN
        if self._is_untouched(plan):
            return EMPTY_TEXT
        wrong = misspelled_keys(self._desk.plans.live_text(plan) or b"")
        if wrong:
            meant = ", ".join(f"`{key}` is not read; write `{ours}`" for key, ours in wrong)
            return f"In the front matter, {meant}. Present the plan then."
        return ""

    def _is_untouched(self, plan: PlanRecord) -> bool:
        return self._desk.plans.is_untouched(plan, self._desk.plans.live_text(plan) or b"")

    def _renamed(self, record: SessionRecord, plan: PlanRecord, name: str) -> PlanLookup:
        """Goes on under another name: a draft comes along, what was presented stays as it is."""
        made = self._made(record, name)
        if plan.state is PlanState.DRAFTING:
            made = self._moved(plan, made)
        yield self._desk.link(made)
        return made

    def _moved(self, plan: PlanRecord, made: PlanRecord) -> PlanRecord:
        """Stages in one plan what another has, and empties that; both keep it where they differ."""
        drafts = self._desk.drafts
        try:
            made = drafts.stage(made, drafts.operations(plan)).record
        except AssentError:
            self._desk.plans.select(plan)
            raise
        if drafts.operations(plan):
            plan = drafts.clear(plan).record
        if self.is_empty(plan):
            self._desk.plans.delete([plan])
        return made

    def _made(self, record: SessionRecord, wanted: str) -> PlanRecord:
        """Takes up a plan of the session by its name, or makes it under the next free one."""
        known = {plan.name: plan for plan in self._desk.plans.all() if plan.session == record.slug}
        n, name = 1, plan_name(wanted)
        while name in known:
            if known[name].state is not PlanState.COMPLETED:
                return self._desk.plans.select(known[name])
            n += 1
            name = f"{wanted}_{n}"
        return self._desk.plans.new(name, record.slug, record.goal)


def _plain(name: str) -> str:
    """Returns a plan's name where a model gives the name of its file; no secret stands in it."""
    plain = name.rpartition("/PLAN_")[2].removeprefix("PLAN_").removesuffix(".md")
    shown = redact(plain)
    return plain if shown == plain else plan_name_of(shown)
