"""Where a plan stands: whether an approval counts, which files changed, and what to type next.

An approval counts only while it is valid: an expired one stays expired, even if the clock is set
back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from assent.core.errors import AssentError, Drift
from assent.core.event import ApprovalExpired
from assent.core.permission.rule import CommandLimits
from assent.core.plan.approval import Approval
from assent.core.plan.operation import Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.plan.record import ApprovalRecord, PlanRecord, PlanState
from assent.core.text.hidden_chars import visible_line
from assent.executor.drift import change_text, changed_paths, first_segment_files, state_text
from assent.planning.path_checks import RULES_COMMAND, command_limits, denied_operations
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports import EventBatch, PlanRules, WorkspaceFiles
from assent.render.review_warnings import (
    DriftedFile,
    branch_warnings,
    git_in_progress_warnings,
    workspace_moved_warnings,
)
from assent.render.rows import operation_brief
from assent.render.status import SHORT

# Approval expiry: an expired approval stays expired, even if the clock is set back.


def latest_known_time(
    ports: Ports, stream: str, consents: Iterable[ApprovalRecord]
) -> dict[str, str]:
    """Returns the latest times in the log after approvals that expire, by their ids.

    Times before an approval say nothing about it: the clock may have been wrong then.
    """
    given = [one for one in consents if one.approval.expires_at]
    return {one.approval.id: ports.store.latest(stream, one.seq) for one in given}


def usable_approval(ports: Ports, record: PlanRecord) -> Approval | None:
    """Returns the approval of the current digest that counts now, without recording anything."""
    unused = [one for one in record.consents if not one.run and not one.void]
    return record.usable(ports.clock.now(), latest_known_time(ports, record.stream, unused))


def current_approval(ports: Ports, record: PlanRecord) -> Approval | None:
    """Returns the approval of the current digest that counts; an expired one never does."""
    unused = [one for one in record.consents if not one.run and not one.void]
    seen = latest_known_time(ports, record.stream, unused)
    found = record.usable(ports.clock.now(), seen)
    record_expired(ports, [one.approval for one in unused], seen)
    return found


def is_approved(ports: Ports, record: PlanRecord) -> bool:
    """Tells whether an unspent, unexpired approval of the current digest exists."""
    awaited = record.state is PlanState.AWAITING_APPROVAL
    return awaited and current_approval(ports, record) is not None


def record_expired(ports: Ports, approvals: Iterable[Approval], seen: Mapping[str, str]) -> None:
    """Records which approvals have expired now, unless the log already has a later time.

    `seen` is what `latest_known_time` returned. If the log cannot be written, they are refused all
    the same.
    """
    now = ports.clock.now()
    for one in approvals:
        if one.expires_at and seen.get(one.id, "") < one.expires_at <= now:
            batch = EventBatch(
                f"expired/{one.id}", 0, now, (ApprovalExpired(one.id, one.expires_at),)
            )
            with suppress(AssentError):  # another process has seen it, too
                ports.store.append(batch)


def expiry_reason(approval: Approval, now: str) -> str:
    """Says why an approval has expired."""
    if now < approval.approved_at:
        return (
            f"The approval is dated {approval.approved_at}, but the clock here says {now}. One of "
            "the two clocks is wrong, so its expiry cannot be checked."
        )
    if now < approval.expires_at:
        return (
            f"The approval expired at {approval.expires_at}. The log contains a later time than "
            f"{now}, so the clock was set back."
        )
    return f"The approval expired at {approval.expires_at}."


# Warnings before a build: git is mid-operation, on another branch, or the folder moved.


def build_warnings(ports: Ports, config: WorkspaceConfig, record: PlanRecord) -> tuple[str, ...]:
    """Warns of an unfinished git operation, and of another branch or place than the plan's.

    This does not block a build: the plan itself says which files must be unchanged.
    """
    here = ports.git_state()
    awaited = record.state is PlanState.AWAITING_APPROVAL
    approval = usable_approval(ports, record) if awaited else None
    return (
        *git_in_progress_warnings(here),
        *branch_warnings(record.branch_of(approval), here.branch),
        *(workspace_moved_warnings(record.root, config.recorded_root) if awaited else ()),
    )


# Drift: which files of a proposed plan changed since, for status and review.


MAX_FILES: Final = (
    1000  # files; with more, reading would take too long: an approval checks them all
)
MAX_CHEAP_FILES: Final = 50
MAX_CHEAP_BYTES: Final = 4 << 20  # bytes in them


def drifted_files(plan: Plan, files: WorkspaceFiles) -> tuple[DriftedFile, ...]:
    """Returns the files that changed; none if there are too many to check during a review."""
    operations = first_segment_files(plan)
    if len(operations) > MAX_FILES:
        return ()
    try:
        found = list(changed_paths(plan, operations, files))
    except (AssentError, OSError) as error:
        return (DriftedFile(b"", str(error), str(error)),)
    return tuple(
        DriftedFile(
            path,
            "gone" if seen is None else f"now {state_text(seen)}",
            change_text(before, seen),
        )
        for path, before, seen in found
    )


def drifted_files_if_cheap(plan: Plan, files: WorkspaceFiles) -> tuple[DriftedFile, ...]:
    """Returns the files that changed if they are few and small; else none."""
    paths = [path for op in first_segment_files(plan) for path, _, _ in footprint(op)]
    paths += [file.path for file in plan.relied_on]
    try:
        small = len(paths) <= MAX_CHEAP_FILES and sum(map(files.size, paths)) <= MAX_CHEAP_BYTES
    except (AssentError, OSError):
        return ()
    return drifted_files(plan, files) if small else ()


OPEN_STATES = (
    PlanState.DRAFTING,
    PlanState.AWAITING_APPROVAL,
)  # what rules deny to a run counts at its start


def _command_denied(rules: PlanRules, op: Operation) -> str:
    """Says which rule denies a command; of files that is said for all of them at once."""
    return command_denied_text(op, command_limits(rules, op)) if isinstance(op, RunCommand) else ""


def command_denied_text(op: RunCommand, held: CommandLimits) -> str:
    denial = "" if op.profile == "commit" else visible_line(held.denial)
    return f"{operation_brief(op)}: {denial}" if denial else ""


class PlanStatus:
    """Tells how a plan stands. Changes no file."""

    def __init__(self, ports: Ports, plans: Plans, next_after_run: Callable[[str], str]) -> None:
        """`next_after_run` returns what to type once a run is over, by the run's id."""
        self._ports = ports
        self._plans = plans
        self._next_after_run = next_after_run

    def is_approved(self, record: PlanRecord) -> bool:
        """Tells whether an unspent, unexpired approval of the current digest exists."""
        return is_approved(self._ports, record)

    def drifted(self, record: PlanRecord) -> tuple[DriftedFile, ...]:
        """Returns the files that changed since a plan was proposed, if they are few and small.

        This is for a quick status; an approval and a build check all files.
        """
        if record.state is not PlanState.AWAITING_APPROVAL:
            return ()
        return drifted_files_if_cheap(self._plans.repository().plan(record), self._ports.files)

    def denied(self, record: PlanRecord) -> tuple[tuple[str, ...], str]:
        """Says why rules now deny a proposed plan, and the next command."""
        plan, rules = self._plans.repository().plan(record), self._ports.rules
        commands = [_command_denied(rules, op) for op in plan.operations]
        if record.state not in OPEN_STATES:
            return (), ""
        reasons, told = denied_reasons(self._ports, plan, commands)
        return reasons, self.without_denied(record, plan, told) if reasons else ""

    def without_denied(self, record: PlanRecord, plan: Plan, told: Sequence[str]) -> str:
        """Returns what to type where rules deny something: to take it out, or to see the rules.

        `told` says of each operation why it is denied, or nothing.
        """
        known = set() if record.imported else set(self._plans.repository().operations(record))
        rows = zip(plan.ids, plan.operations, told, strict=True)
        own = [name for name, op, why in rows if why and op in known]
        return f"assent stage remove {own[0][:SHORT]}" if own else RULES_COMMAND

    def next_command(self, record: PlanRecord) -> str:
        """Returns the next command where the state alone does not determine it."""
        if record.state is not PlanState.DRAFTING:
            return self.next_for(
                record, b"", approved=usable_approval(self._ports, record) is not None
            )
        try:
            live = self._plans.live_text(record)
        except AssentError:  # the reason is reported when it is proposed
            return ""
        return "" if live is None else self._plans.first_step(record, live)

    def next_for(self, record: PlanRecord, text: bytes, *, approved: bool) -> str:
        """Returns what to type next for a plan with a text, and whether it is approved."""
        if record.state is PlanState.DRAFTING:
            return self._plans.first_step(record, text)
        if record.imported and approved:
            return f"assent build --plan {record.plan_id}"
        if record.state is not PlanState.COMPLETED or not record.runs:
            return ""
        return self._next_after_run(record.runs[-1].run)


def denied_reasons(
    ports: Ports, plan: Plan, commands: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Says why a plan cannot be built as rules are now, and of each operation why it is denied.

    `commands` says that already of those that are commands.
    """
    try:
        files = denied_operations(ports, plan.operations)
    except AssentError as error:  # if rules cannot be read, nothing can be built
        return (error.message,), tuple(commands)
    told = tuple(why or files.get(at, "") for at, why in enumerate(commands))
    return tuple(dict.fromkeys(filter(None, told))), told


def imported_plan_drift(drift: Drift) -> Drift:
    """Returns the same refusal for an imported plan, which only its authors can change."""
    told = (
        f"{drift.message} The plan must be proposed again where it was created, based on the "
        "files here."
    )
    found = Drift(told, "assent propose --portable --out FILE")
    found.rows |= drift.rows
    return found
