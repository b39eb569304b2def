"""`assent log`: what happened in a workspace, who allowed or denied what, and whether it holds."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import click

from assent.app.ports import verify_log
from assent.cli.options import StatusCall, WholeNumber, examples, with_status
from assent.core.errors import UsageError
from assent.core.event import (
    CommandStarted,
    EventBody,
    KeyRevoked,
    KeyTrusted,
    OperationsDeclined,
    PermitGiven,
    PlanApproved,
    PlanDeclined,
    PlanRejected,
    StoredEvent,
    TrustGiven,
    TrustRevoked,
    event_tag,
)
from assent.core.paths import display_path
from assent.core.permission.rule import Grant, GrantGiven, GrantRevoked
from assent.core.plan.operation import footprint
from assent.core.session.event import (
    CallEnded,
    ModeChanged,
    QuestionAnswered,
    QuestionAsked,
    WorkHalted,
)
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line, wrapped_lines
from assent.render.log import event_row, log_check_lines, log_check_row, log_lines, session_of
from assent.render.rows import Row

NOBODY_ANSWERED = "nobody"
PERSON = "person"
EMPTY = "no (empty answer)"

# Who decided, about what, named by which digest, how, and why.
_DecisionFields: TypeAlias = tuple[str, str, str, str, str]


def decision_rows(events: Iterable[StoredEvent], sessions: Mapping[str, str]) -> Iterator[Row]:
    """Yields every decision in the order of the log."""
    asked: dict[str, QuestionAsked] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, QuestionAsked):
            asked[event.id] = event
        told = _told(event, asked)
        if told is None:
            continue
        who, what, digest, decision, reason = told
        yield {
            "seq": recorded.position,
            "at": recorded.at,
            "session": _session(recorded, sessions) or None,
            "kind": event_tag(event),
            "who": who,
            "what": redact(what),
            "digest": digest or None,
            "decision": decision,
            "reason": redact(reason),
        }


def decision_lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Renders decisions, one a line."""
    found = False
    for row in rows:
        found = True
        digest = f"  {str(row['digest'])[:12]}" if row["digest"] else ""
        told = [visible_line(str(row[name])) for name in ("at", "who", "decision", "what")]
        why = f"  ({visible_line(str(row['reason']))})" if row["reason"] else ""
        yield from wrapped_lines("plain", f"{row['seq']!s:>6}  {'  '.join(told)}{digest}{why}")
    if not found:
        yield Line("plain", "No decisions in this workspace yet.")


def _session(recorded: StoredEvent, sessions: Mapping[str, str]) -> str:
    match recorded.body:
        case PermitGiven(permit=permit):
            return permit.session
        case CommandStarted(session=session):
            return session
        case GrantGiven(grant=grant):
            return grant.session
        case _:
            return session_of(recorded, sessions)


def _told(event: EventBody, asked: Mapping[str, QuestionAsked]) -> _DecisionFields | None:
    match event:
        case CallEnded(verdict=verdict) if verdict:
            return "gate", _titled(event.tool, event.title), "", verdict, event.decided
        case QuestionAnswered():
            return _answered(event, asked.get(event.id))
        case ModeChanged(mode=mode, reason=reason, custom=custom):
            return PERSON, f"mode {custom or mode}", "", "chosen", reason
        case WorkHalted(how=how, reason=reason):
            return PERSON, "the turn", "", how, reason
        case PermitGiven() | CommandStarted():
            return _permitted(event)
        case _:
            return _about_a_plan(event)


def _about_a_plan(event: EventBody) -> _DecisionFields | None:
    match event:
        case PlanApproved(approval=yes, access=access):
            how = f"{yes.approver.channel}, {access}" if access else yes.approver.channel
            who = f"{yes.approver.user} ({how})"
            return who, f"plan {yes.plan_id}", yes.digest, "approved", yes.note
        case PlanRejected(digest=digest, note=note, user=user):
            return user, "the plan", digest, "rejected", note
        case OperationsDeclined(digest=digest, declined=ids, followed=also, note=note, user=user):
            what = f"operations {', '.join([*ids, *also])}"
            return user, what, digest, "declined", note
        case PlanDeclined(digest=digest, user=user, channel=channel):
            return f"{user} ({channel})", "the plan", digest, "declined at the prompt", ""
        case _:
            return _remembered(event)


def _remembered(event: EventBody) -> _DecisionFields | None:
    match event:
        case GrantGiven(grant=grant):
            why = f"answer to question {grant.question}" if grant.question else ""
            return grant.user or PERSON, _covered(grant), "", f"granted for the {grant.reach}", why
        case GrantRevoked(grant=id, user=user):
            return user or PERSON, f"grant {id}", "", "revoked", ""
        case TrustGiven(path=path, content_hash=content, does=does, user=user):
            return user or PERSON, path, content, "trusted", "; ".join(does)
        case TrustRevoked(path=path, user=user):
            return user or PERSON, path, "", "no longer trusted", ""
        case KeyTrusted() | KeyRevoked():
            counts = "trusted" if isinstance(event, KeyTrusted) else "no longer trusted"
            key = " ".join(filter(None, ["key", event.name, event.key]))
            return event.user or PERSON, key, "", counts, ""
        case _:
            return None


def _permitted(event: PermitGiven | CommandStarted) -> _DecisionFields:
    if isinstance(event, PermitGiven):
        paths = [display_path(path) for op in event.operations for path, *_ in footprint(op)]
        what = "change " + ", ".join(dict.fromkeys(paths))
        permit = event.permit
        return permit.source, what, permit.digest, "permitted", permit.detail
    held = "confined" if event.confined else "not confined"
    return event.source, f"run {event.line}", "", f"permitted, {held}", event.detail


def _answered(event: QuestionAnswered, asked: QuestionAsked | None) -> _DecisionFields:
    questions = asked.questions if asked else ()
    things = [thing for each in questions for thing in (each.things or (each.question,))]
    what = "; ".join(things) or f"question {event.id}"
    digest = asked.digest if asked else ""
    if event.answers is None:
        return event.by or NOBODY_ANSWERED, what, digest, "no (not answered)", ""
    said = "; ".join(", ".join(answer) for answer in event.answers) or EMPTY
    why = f"remembered as grant {event.grant}" if event.grant else ""
    return event.by or PERSON, what, digest, said, why


def _covered(grant: Grant) -> str:
    return ", ".join(f"{each.permission}: {each.pattern}" for each in grant.patterns)


def _titled(tool: str, title: str) -> str:
    return f"{tool}: {title}" if title and title != tool else tool


# The command.


LAST = (1 << 63) - 1  # the greatest number that an event can have


@click.command(epilog=examples("assent log\nassent log --after 120 --json\nassent log --verify"))
@click.option(
    "--after",
    metavar="N",
    type=WholeNumber(0, LAST),
    default=0,
    help="Only show events after this number.",
)
@click.option("--decisions", is_flag=True, help="Only show who allowed or denied what, and why.")
@click.option(
    "--verify", is_flag=True, help="Check that the log was not modified; exit 1 if it was."
)
@with_status
def log(call: StatusCall, after: int, decisions: bool, verify: bool) -> int:
    """Show the event log of this workspace, oldest first."""
    if verify and (decisions or after):
        raise UsageError(
            "--verify checks the whole log; drop the other options.", "assent log --verify"
        )
    if verify:
        return _verify(call)
    ids = {record.slug: record.session for record in call.workspace.session_list.all()}
    slugs = call.workspace.plans.sessions()
    sessions = {plan: ids.get(slug, slug) for plan, slug in slugs.items()}
    if decisions:
        # A question may have been asked before the events that are wanted.
        found = decision_rows(call.workspace.log(), sessions)
        rows = [row for row in found if int(str(row["seq"])) > after]
        call.output.answer({"decisions": rows}, decision_lines(rows))
        return 0
    rows = [event_row(recorded, sessions) for recorded in call.workspace.log(after)]
    call.output.answer({"events": rows}, log_lines(rows))
    return 0


def _verify(call: StatusCall) -> int:
    """Checks the whole log, that of other workspaces too: the chain runs through all of it."""
    checked = verify_log()
    call.output.answer(log_check_row(checked), log_check_lines(checked))
    return 1 if checked.broken else 0
