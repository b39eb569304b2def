"""Options: several plans to choose from, of which a user approves one and discards the others."""

from collections.abc import Sequence

import msgspec

from assent.core.errors import AssentError, ConcurrentChange, IllegalState, UsageError
from assent.core.event import OptionChosen
from assent.core.plan.record import PlanRecord, PlanState
from assent.planning.plans import Plans
from assent.planning.projections import PlanProjections
from assent.ports import EventBatch

MAX_TRIES = 5
SHORT = 12  # characters of a digest
APPROVE, BUILD, REJECT = "assent approve", "assent build", "assent reject"


class OptionChoice(msgspec.Struct, frozen=True):
    """What is recorded together with the approval of an option, and the options that it ends."""

    batches: tuple[EventBatch, ...] = ()
    discarded: tuple[PlanRecord, ...] = ()


class PlanOptions:
    """Prepares the choice of an option. The approval itself is a user's, recorded elsewhere."""

    def __init__(self, plans: Plans, projections: PlanProjections, user: str) -> None:
        self._plans = plans
        self._projections = projections
        self._user = user

    def choice(self, record: PlanRecord) -> OptionChoice:
        """Returns what an approval of this plan means for the other options; nothing for most.

        It is only valid for their current state: another change makes the approval fail.
        """
        repository = self._plans.repository()
        if not record.options or repository.chosen_option(record.options):
            return OptionChoice()
        others = [r for r in self._plans.options(record) if r.plan_id != record.plan_id]
        chosen = OptionChosen(
            record.plan_id, record.option, tuple(one.plan_id for one in others), self._user
        )
        gone = [self._plans.discard_batch(one) for one in others]
        try:
            own = repository.option_batch(record.options, chosen)
        except IllegalState as error:  # another process chose one since this one looked
            raise ConcurrentChange(error.message, error.next) from error
        return OptionChoice((*gone, own), tuple(others))

    def finish(self, approved: PlanRecord, choice: OptionChoice) -> None:
        """Goes on with the chosen plan, and removes the files of the others, which the log has."""
        if choice.discarded:
            self._plans.select(approved)
        for one in choice.discarded:
            try:
                self._plans.remove_file(one)
            except AssentError as error:  # it is no plan any more, whether its file stays or not
                self._projections.warnings.append(error.message)
            self._projections.plan(self._plans.repository().load(one.plan_id))

    def discarded_with(self, record: PlanRecord) -> list[PlanRecord]:
        """Returns the options that were discarded because this plan was approved."""
        repository = self._plans.repository()
        chosen = repository.chosen_option(record.options) if record.options else None
        if chosen is None or chosen.plan_id != record.plan_id:
            return []
        return [repository.load(plan_id) for plan_id in chosen.discarded]

    def explained(self, record: PlanRecord, error: ConcurrentChange) -> AssentError:
        """Returns why an approval was not recorded: another option may have been approved."""
        told = other_choice(self._plans, record)
        return ConcurrentChange(*told) if told else error

    def check_open(self, record: PlanRecord) -> None:
        """Refuses an option that was discarded because a user approved another one."""
        if record.state is PlanState.DISCARDED and (told := other_choice(self._plans, record)):
            raise IllegalState(*told)


def other_choice(plans: Plans, record: PlanRecord) -> tuple[str, str] | None:
    """Says which option was approved instead of a plan, and the command that shows it."""
    instead = plans.repository().chosen_instead(record)
    if instead is None:
        return None
    chosen = plans.repository().load(instead.plan_id)
    return (
        f"Option {chosen.option} was approved, so option {record.option} was discarded and cannot "
        "be approved. Nothing was done.",
        f"assent plan show --plan {plans.reference(chosen)}",
    )


def choice_needed(plans: Plans, options: Sequence[PlanRecord], command: str) -> UsageError:
    """Returns the refusal of a command that does not say which of several options it means."""
    # None of them is approved yet: that would have ended the choice.
    named = APPROVE if command == BUILD else command
    rows = [
        {
            "plan": one.plan_id,
            "label": one.option,
            "name": one.name,
            "digest": one.digest,
            "next": f"{named} --plan {plans.reference(one)}",
        }
        for one in options
    ]
    listed = "; ".join(
        f"{row['label']}: plan {row['name']}, digest {row['digest'][:SHORT]}, `{row['next']}`"
        for row in rows
    )
    every = f" `{REJECT} --all` sends all of them back." if command == REJECT else ""
    refusal = UsageError(
        f"{len(options)} options are waiting for your decision; name one with --plan. "
        f"{listed}.{every} Nothing was done.",
        "assent review",
    )
    refusal.rows = {"options": rows}
    return refusal
