"""Options of a session: several drafts that its model writes, for the user to choose from."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeAlias

from assent.core.errors import IllegalState, NotFound, UsageError
from assent.core.ids import NAME_LENGTH, plan_name_of, slug
from assent.core.plan.option import MIN_OPTIONS, distinct_labels, is_same_label, option_label
from assent.core.plan.plan import NO_SCOPE
from assent.core.plan.record import MAX_OPTIONS, PlanRecord, PlanState
from assent.core.session.event import PlanLink, SessionEvent, plan_link
from assent.core.session.record import SessionRecord
from assent.core.tool import EffectResult
from assent.planning.approvals import Approvals
from assent.planning.plans import Plans
from assent.planning.repositories import WorkspaceRepository

MOST_LABELS = 20  # of one call, before they are compared
LABEL_LENGTH = 24  # characters of a label in a plan's name
HOW_MANY = (
    f"options: name {MIN_OPTIONS} or {MAX_OPTIONS} different labels; for a single plan, call "
    "`present_plan` without it. Nothing was presented."
)
PRESENTED = (
    "{count} options ready for review: {listed}. The user approves one of them, which discards the "
    "others, or sends them back. The turn ends here."
)
TOO_MANY = (
    f"options: at most {MAX_OPTIONS} wait for the user's choice, and with these there would be "
    "more: {listed}. Present fewer, or present one of those again under its label. Nothing was "
    "presented."
)
OTHER_DRAFTS = (
    "There are more drafts: {others}. Present {example}, or remove a draft first: `options` with "
    "`drop`. Nothing was presented."
)


Lookup: TypeAlias = Generator[SessionEvent, None, PlanRecord]


class OptionDrafts:
    """The drafts of a session that are options of one choice. None of this decides anything."""

    def __init__(self, plans: Plans, approvals: Approvals, workspaces: WorkspaceRepository) -> None:
        self._plans = plans
        self._approvals = approvals
        self._workspaces = workspaces

    def open(self, record: SessionRecord) -> list[PlanRecord]:
        """Returns the options that the session's plan is one of, in order, without deleted ones."""
        plan = self._plan_of(record)
        found = self._plans.options(plan) if plan else []
        return [one for one in found if self._plans.live_text(one) is not None]

    def find(self, record: SessionRecord, label: str) -> PlanRecord | None:
        """Returns the draft with a label; None if a call that names it would begin one."""
        wanted = option_label(label)
        found = [one for one in self.open(record) if is_same_label(one.option, wanted)]
        return found[0] if found else None

    def selected(self, record: SessionRecord, label: str) -> Lookup:
        """Returns the draft with a label, or begins it; calls without a label go there as well."""
        current, plan = self._plan_of(record), self.find(record, label)
        siblings = {one.plan_id for one in self.open(record)}
        if plan is None:
            plan = self._begun(record, current, option_label(label))
        if current is None or plan.plan_id != current.plan_id:
            known = {**record.others, record.plan_id: record.plan_seq}
            others = {p: n for p, n in known.items() if p in siblings and p != plan.plan_id}
            yield self._link(plan, others)
        return plan

    def present(
        self,
        record: SessionRecord,
        labels: Sequence[str],
        why_not: Callable[[PlanRecord], str],
    ) -> EffectResult:
        """Freezes several options and lets the user choose, all of them or none.

        One that waits already and is not named here stays as it is; one that is named is frozen
        anew. So what is presented later adds to the choice, which never has more than three.
        `why_not` returns why a plan cannot be presented yet; nothing if it can.
        """
        if len(labels) > MOST_LABELS:
            raise UsageError(HOW_MANY)
        wanted = distinct_labels([option_label(label) for label in labels])
        if not MIN_OPTIONS <= len(wanted) <= MAX_OPTIONS:
            raise UsageError(HOW_MANY)
        plans = [self._known(record, label) for label in wanted]
        waiting = [one for one in self.open(record) if one.state is PlanState.AWAITING_APPROVAL]
        choice = {one.plan_id: one.option for one in (*waiting, *plans)}
        if len(choice) > MAX_OPTIONS:  # a log may have more from before there was a limit
            raise UsageError(TOO_MANY.format(listed=", ".join(choice.values())))
        for plan in plans:
            if why := why_not(plan):
                raise UsageError(f"Option {plan.option}: {why}")
        proposed = self._approvals.propose_options(plans, record)
        listed = ", ".join(f"{one.option} (digest {one.digest})" for one in proposed)
        text = PRESENTED.format(count=len(proposed), listed=listed)
        repository = self._plans.repository()
        loose = [one.option for one in proposed if repository.plan(one).covers_nothing]
        if loose:
            text = f"{text} {', '.join(loose)}: {NO_SCOPE}"
        rows = [
            {"plan": one.plan_id, "label": one.option, "digest": one.digest} for one in proposed
        ]
        return EffectResult(text, ends=True, metadata={"options": rows})

    def other_drafts(self, record: SessionRecord, plan: PlanRecord) -> str:
        """Says which drafts a plan cannot be presented without; nothing if there is none."""
        others = [
            one
            for one in self.open(record)
            if one.state is PlanState.DRAFTING
            and one.plan_id != plan.plan_id
            and not self._plans.is_empty(one)
        ]
        if not others:
            return ""
        labels = [one.option for one in (*others, plan)]
        named = ", ".join(f'"{label}"' for label in labels[:MAX_OPTIONS])
        return OTHER_DRAFTS.format(
            others=", ".join(labels), example=f"several with `options`: [{named}]"
        )

    def listed(
        self, record: SessionRecord, option: str, drop: str
    ) -> Generator[SessionEvent, None, EffectResult]:
        """Selects a draft or removes one, if that is wanted, and lists all of them."""
        gone = self._dropped(record, drop) if drop.strip() else None
        current = self._plan_of(record)
        left = self._plans.options(current) if current else []
        if gone is not None:
            ids = [one.plan_id for one in left]
            if current and gone.plan_id == current.plan_id:
                current = left[0] if left else None
            others = {p: n for p, n in record.others.items() if p in ids}
            if current:
                others.pop(current.plan_id, None)
            yield self._link(current, others)
        if option:
            current = yield from self.selected(record, option)
            left = self._plans.options(current)
        rows = [self._row(one, current) for one in left]
        told = f"Removed option {gone.option}.\n" if gone else ""
        text = "\n".join(rows) or "There are no options yet: name a label in `option` to begin one."
        metadata = {"option": current.option} if current else {}
        return EffectResult(told + text, metadata=metadata)

    def _plan_of(self, record: SessionRecord) -> PlanRecord | None:
        return self._plans.repository().load(record.plan_id) if record.plan_id else None

    def _link(self, plan: PlanRecord | None, others: Mapping[str, int]) -> PlanLink:
        """Returns the marker that the session is about this plan, and which others it knows."""
        home = self._workspaces.open().seq
        if plan is None:
            return plan_link("", 0, home)
        return plan_link(plan.plan_id, plan.seq, home, plan.option, others)

    def _row(self, plan: PlanRecord, current: PlanRecord | None) -> str:
        staged = len(self._plans.operations(plan))
        here = (
            "; calls without `option` are about it"
            if current and (plan.plan_id == current.plan_id)
            else ""
        )
        count = f"{staged} operation{'' if staged == 1 else 's'}"
        return f"- {plan.option}: {plan.state.label.lower()}, {count}, plan {plan.name}{here}"

    def _known(self, record: SessionRecord, label: str) -> PlanRecord:
        plan = self.find(record, label)
        if plan is None:
            there = ", ".join(one.option for one in self.open(record)) or "none"
            raise NotFound(
                f"There is no option {label}; there are: {there}. Stage or write it with `option` "
                "first. Nothing was presented."
            )
        return plan

    def _dropped(self, record: SessionRecord, label: str) -> PlanRecord:
        """Removes a draft that the user has not been shown, or has sent back."""
        plan = self._known(record, option_label(label))
        if plan.state is not PlanState.DRAFTING:
            raise IllegalState(
                f"Option {plan.option} is waiting for the user's decision and stays."
            )
        return self._plans.delete([plan])[0]

    def _begun(self, record: SessionRecord, current: PlanRecord | None, label: str) -> PlanRecord:
        """Begins a draft; the session's own plan goes if nothing was written there."""
        plans = self._plans
        options = current.options if current and plans.options(current) else ""
        made = plans.new(self._free_name(record, label), record.slug, record.goal, label, options)
        empty = current and not current.option and current.state is PlanState.DRAFTING
        there = current and empty and plans.live_text(current) is not None
        if current and there and self._plans.is_empty(current):
            plans.delete([current])
        return made

    def _free_name(self, record: SessionRecord, label: str) -> str:
        """Returns the name of a new plan: that of the goal and its label, and a number if taken."""
        goal = plan_name_of(record.goal or record.title)
        short = slug(label)[:LABEL_LENGTH].replace("-", "_").rstrip("_")
        base = f"{goal[: NAME_LENGTH - LABEL_LENGTH - 8]}_{short}"
        taken = {plan.name for plan in self._plans.all(everything=True)}
        n, name = 1, base
        while name in taken:
            n += 1
            name = f"{base}_{n}"
        return name
