"""The result of a turn: totals of its events, as a JSON object and as lines."""

from collections import Counter
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Final

import msgspec

from assent.core.errors import (
    SANDBOX,
    SCRATCH_COPY,
    AssentError,
    LimitReached,
    SandboxRequired,
)
from assent.core.event import EventBody, StoredEvent
from assent.core.llm import TextPart, TokenUsage
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.event import (
    AttachedFile,
    BatchPlanned,
    CallEnded,
    Compacted,
    CompactionRejected,
    CritiqueEnded,
    FilesAttached,
    PartSaid,
    Question,
    QuestionAnswered,
    QuestionAsked,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.record import SessionRecord, add_usage
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.core.text.secrets import redact
from assent.core.tool import MISSING_CAPABILITY, MISSING_HELP
from assent.render.lines import BLANK, Line, wrapped_lines
from assent.render.log import (
    attachment_problems,
    batch_row,
    compaction_notice,
    count_repeated_rows,
    times_suffix,
)
from assent.render.questions import open_questions_lines
from assent.render.rows import Row, redacted_row

IDLE_STATE: Final = "IDLE"  # the state of a session without a plan
EXIT_PLAN_ENDED: Final = 3
QUESTION_TOOL: Final = "question"  # the tool by which a model asks
MAX_REFUSED_SHOWN: Final = 20  # refused calls that are listed
EXIT_WAITING: Final = 4
EXIT_INTERRUPTED: Final = 130
_EXITS: Final = {
    "failed": 1, "limit": LimitReached.exit,
    "interrupted": EXIT_INTERRUPTED, "paused": EXIT_INTERRUPTED, "cancelled": EXIT_INTERRUPTED,
    "waiting": EXIT_WAITING, "declined": EXIT_WAITING, "budget": EXIT_WAITING,  # not approved
}  # fmt: skip
_HALTS: Final = ("paused", "cancelled")


class UnansweredQuestion(msgspec.Struct, frozen=True):
    """A question without an answer, and the call that it came from."""

    id: str
    call: str
    question: Question
    answered: bool = False  # by Enter alone, which says nothing


class TurnTotals(msgspec.Struct, frozen=True):
    """What a turn amounts to so far. Parts count when their step has ended."""

    agent: str = ""
    model: str = ""
    saying: tuple[str, ...] = ()
    said: str = ""  # by the last step that said anything
    steps: int = 0
    usage: TokenUsage = TokenUsage()
    cost: float | None = 0.0
    why: str = ""
    words: str = ""
    asked: tuple[UnansweredQuestion, ...] = ()
    refused: tuple[
        UnansweredQuestion, ...
    ] = ()  # calls that were not made, because no one could be asked
    unrun: tuple[str, ...] = ()  # commands that were neither run nor staged: no sandbox holds here
    uncopied: tuple[str, ...] = ()  # that could only have run in a scratch copy, which needs one
    help: str = ""  # how the user gets one
    batches: tuple[BatchPlanned, ...] = ()  # what each answer was about to do, children's too
    open_batches: tuple[
        tuple[int, frozenset[str]], ...
    ] = ()  # with their calls that have not ended
    compacted: bool = False  # older messages were replaced by a summary
    attached: tuple[AttachedFile, ...] = ()  # what became of the user's `@path`
    critiques: tuple[CritiqueEnded, ...] = ()  # of the plans that were presented


class LeftDraft(msgspec.Struct, frozen=True):
    """The session's own plan, where it has text or operations and is not proposed."""

    path: bytes
    operations: int
    of: str = ""  # what names it in a command, if one without a name is not about it


class TurnResult(msgspec.Struct, frozen=True):
    """Where a session and its plan stand after a turn."""

    session: SessionRecord
    tally: TurnTotals = TurnTotals()
    plan: PlanRecord | None = None
    operations: int = 0
    approved: bool = False
    draft: LeftDraft | None = None  # may be another plan, if an option waits for its decision
    drafted: bool = False  # it is of this turn
    error: AssentError | None = None
    prefix: str = "assent"  # how a command for this folder begins
    missing: str = ""  # the session's custom mode, if it no longer exists
    of: str = ""  # what names the plan in a command, if it is not the current one
    options: tuple[Row, ...] = ()  # the plans that the user can choose from

    @property
    def option(self) -> str:
        """What a command about the plan needs, so that it means no other one."""
        return f" --plan {quote(self.of)}" if self.of else ""


def is_of_session(recorded: StoredEvent, session: str) -> bool:
    """Tells whether something happened in a session itself, and not in a child of it."""
    return recorded.stream.rpartition("/")[2] == session


def add_child_event(tally: TurnTotals, event: EventBody) -> TurnTotals:
    """Returns the sum with what a child cost; its words are its parent's to tell."""
    match event:
        case (
            StepEnded(usage=usage, cost=cost)
            | Compacted(usage=usage, cost=cost)
            | CompactionRejected(usage=usage, cost=cost)
        ):
            return _counted(tally, usage, cost)
        case QuestionAsked() | QuestionAnswered() | BatchPlanned() | CallEnded():
            return _closed(tally, event)
        case _:
            return tally


def add_event(tally: TurnTotals, event: EventBody) -> TurnTotals:
    """Returns the sum with one more event."""
    changed = msgspec.structs.replace
    match event:
        case StepStarted(agent=agent, model=model):
            steps = tally.steps + 1
            return changed(tally, agent=agent, model=model, steps=steps, saying=())
        case PartSaid(part=TextPart(text)):
            return changed(tally, saying=(*tally.saying, text))
        case StepRetried():
            return changed(tally, saying=())
        case StepEnded(usage=usage, cost=cost):
            return _counted(_spoken(tally), usage, cost)
        case Compacted(usage=usage, cost=cost):
            return _counted(changed(tally, compacted=True), usage, cost)
        case CompactionRejected(usage=usage, cost=cost):
            return _counted(tally, usage, cost)
        case CritiqueEnded(usage=usage, cost=cost):
            return _counted(changed(tally, critiques=(*tally.critiques, event)), usage, cost)
        case FilesAttached(files=files):
            return changed(tally, attached=(*tally.attached, *files))
        case _:
            return _closed(tally, event)


def _closed(tally: TurnTotals, event: EventBody) -> TurnTotals:
    changed = msgspec.structs.replace
    match event:
        case QuestionAsked(id, call, questions):
            asked = [UnansweredQuestion(id, call, question) for question in questions]
            return changed(tally, asked=(*tally.asked, *asked))
        case QuestionAnswered(id, answers) if answers is not None:
            return _answered(tally, id, said=any(answers))
        case CallEnded(call, tool, metadata=metadata):
            tally = _ended(tally, call)
            if tool == QUESTION_TOOL:
                return tally
            lacks, help = metadata.get(MISSING_CAPABILITY), str(metadata.get(MISSING_HELP, ""))
            if lacks == SANDBOX:
                tally = changed(tally, unrun=(*tally.unrun, event.title))
            elif lacks == SCRATCH_COPY:
                tally = changed(tally, uncopied=(*tally.uncopied, event.title))
            tally = changed(tally, help=tally.help or help) if lacks else tally
            # The question whether a call may run is over once the call has ended.
            over = [one for one in tally.asked if one.call == call and not one.answered]
            asked = [one for one in tally.asked if one.call != call]
            return changed(tally, asked=tuple(asked), refused=(*tally.refused, *over))
        case BatchPlanned():
            return _planned(tally, event)
        case TurnEnded(why, words):
            return changed(_spoken(tally), why=why, words=words)
        case _:
            return tally


def _planned(tally: TurnTotals, planned: BatchPlanned) -> TurnTotals:
    """Returns the sum with one more batch, or with what the calls of an open one do instead."""
    changed, batches = msgspec.structs.replace, tally.batches
    instead = {call.call: call for call in planned.calls}
    for at, calls in tally.open_batches:
        if calls & instead.keys():
            now = BatchPlanned(tuple(instead.get(one.call, one) for one in batches[at].calls))
            return changed(tally, batches=(*batches[:at], now, *batches[at + 1 :]))
    opened = (len(batches), frozenset(instead))
    return changed(tally, batches=(*batches, planned), open_batches=(*tally.open_batches, opened))


def _ended(tally: TurnTotals, call: str) -> TurnTotals:
    """Returns the sum after the end of a call: what it was to do is settled."""
    left = [(at, calls - {call}) for at, calls in tally.open_batches]
    return msgspec.structs.replace(tally, open_batches=tuple([each for each in left if each[1]]))


def _answered(tally: TurnTotals, id: str, *, said: bool) -> TurnTotals:
    changed = msgspec.structs.replace
    if said:
        return changed(tally, asked=tuple([one for one in tally.asked if one.id != id]))
    asked = [changed(one, answered=one.answered or one.id == id) for one in tally.asked]
    return changed(tally, asked=tuple(asked))


def _spoken(tally: TurnTotals) -> TurnTotals:
    """Takes in what the step said, as the transcript does."""
    said = "".join(tally.saying) or tally.said
    return msgspec.structs.replace(tally, said=said, saying=())


def _counted(tally: TurnTotals, usage: TokenUsage, cost: float | None) -> TurnTotals:
    total = None if cost is None or tally.cost is None else tally.cost + cost
    return msgspec.structs.replace(tally, usage=add_usage(tally.usage, usage), cost=total)


def exit_code(ending: TurnResult) -> int:
    """Returns the exit code: 3 if a plan was presented, 4 if the user has to answer."""
    tally = ending.tally
    if ending.error is not None:
        return ending.error.exit
    if tally.why in _EXITS:
        return _EXITS[tally.why]
    if _presented(ending):
        return EXIT_PLAN_ENDED
    if _unanswered(tally):
        return EXIT_WAITING
    return SandboxRequired.exit if tally.unrun else 0


def turn_error(ending: TurnResult) -> AssentError | None:
    """Returns the error that a turn ended with, or what else kept it from its end."""
    tally = ending.tally
    if ending.error is not None:
        return ending.error
    if tally.why == "limit":
        return LimitReached(tally.words, _next(ending))
    if tally.why in _EXITS or not tally.unrun or _presented(ending):
        return None
    return SandboxRequired(_not_run(ending), _sandbox_help(ending))


def not_run_notices(ending: TurnResult) -> list[str]:
    """Says which commands were not run, and what helps, where the turn's error does not say so."""
    if isinstance(turn_error(ending), SandboxRequired) or not_run_row(ending) is None:
        return []
    return [_not_run(ending), help_text(_sandbox_help(ending))]


def help_text(command: str) -> str:
    """Returns what helps against a lack, as a sentence of its own."""
    return f"What helps: {command}"


def not_run_row(ending: TurnResult) -> Row | None:
    """Returns the commands that were not run because no sandbox works here, and what helps."""
    commands = [*ending.tally.unrun, *ending.tally.uncopied]
    return {"commands": commands, "next": _sandbox_help(ending)} if commands else None


def _not_run(ending: TurnResult) -> str:
    titles = (*ending.tally.unrun, *ending.tally.uncopied)
    first, more = redact(titles[0]), len(titles) - 1
    others = f", and {more} more {'command' if more == 1 else 'commands'}" if more else ""
    told = f"Not run, because no sandbox works here: {first}{others}."
    which = "them" if more else "it"
    return f"{told} Nothing was staged for {which}." if ending.session.mode == "plan" else told


def _sandbox_help(ending: TurnResult) -> str:
    help = ending.tally.help or "assent doctor"
    return ending.prefix + help.removeprefix("assent") if help.startswith("assent ") else help


DRAFT_LEFT = "Draft, not proposed for approval"
NOT_ASKED = "denied, because you could not be asked."


def draft_notices(ending: TurnResult) -> list[str]:
    """Says that a turn left a draft that was not proposed for approval, and how to continue."""
    draft, prefix = ending.draft, ending.prefix
    if draft is None or not ending.drafted:
        return []
    of = f" --plan {quote(draft.of)}" if draft.of else ""
    return [
        f"{DRAFT_LEFT}: {_count(draft.operations)}, text in {visible_path(draft.path)}.",
        f"Continue: {prefix} -c -p 'WHAT NEXT'. Propose it yourself: {prefix} propose{of}",
    ]


def turn_result_row(ending: TurnResult) -> Row:
    """Returns the one object that `--output-format json` prints."""
    session, tally, plan, error = ending.session, ending.tally, ending.plan, turn_error(ending)
    row: Row = {
        "session": session.session,
        "result": tally.said,
        # Of several options none is the plan: a program must not take one for it.
        "plan_id": plan.plan_id if plan and not ending.options else None,
        "digest": (plan.digest or None) if plan and not ending.options else None,
        "state": str(plan.state) if plan else IDLE_STATE,
        "exit": exit_code(ending),
        "usage": msgspec.to_builtins(tally.usage),
        "cost": tally.cost,
        "slug": session.slug,
        "title": session.title,
        "mode": session.mode,
        "custom_mode": session.custom or None,
        "missing_mode": ending.missing or None,
        "agent": tally.agent or session.agent,
        "model": tally.model or session.model,
        "turns": session.turns,
        "steps": tally.steps,
        "why": tally.why or None,
        "draft": visible_path(ending.draft.path) if ending.draft else None,
        "operations": ending.operations,
        "approved": ending.approved,
        "options": list(ending.options),
        "questions": questions_of(tally),
        "batches": [batch_row(batch) for batch in tally.batches],
        "attachments": [attachment_row(file) for file in tally.attached],
        "critiques": [critique_row(one) for one in tally.critiques],
        "waiting": _open_questions(ending),
        "children": session.children,
        "compactions": session.compactions,
        "notices": compaction_notices(ending),
        "not_run": not_run_row(ending),
        "error": error.word if error else None,
        "message": _valid(error.message if error else tally.words),
        "next": _valid(error.next if error else _next(ending)),
    }
    return redacted_row(row)


def questions_of(tally: TurnTotals) -> list[Row]:
    """Returns the unanswered questions: what the model wanted to know, and to do."""
    asked = (*tally.asked, *tally.refused)
    return count_repeated_rows(
        redacted_row([msgspec.to_builtins(one.question) for one in asked]), ""
    )


def compaction_notices(ending: TurnResult) -> list[str]:
    """Says that a session was compacted often, if this turn did so once more (F123)."""
    count = ending.session.compactions if ending.tally.compacted else 0
    return [words] if (words := compaction_notice(count)) else []


def refused_notices(ending: TurnResult) -> list[str]:
    """Says which calls were denied because the user could not be asked, not those they denied."""
    refused = ending.tally.refused
    if not refused:
        return []
    calls = "1 call was" if len(refused) == 1 else f"{len(refused)} calls were"
    alike = Counter(redact(one.question.question) for one in refused)
    listed = [
        f"{words}{times_suffix(count)}" for words, count in [*alike.items()][:MAX_REFUSED_SHOWN]
    ]
    more = [f"And {len(alike) - MAX_REFUSED_SHOWN} more."] if len(alike) > MAX_REFUSED_SHOWN else []
    way = (
        f"Continue in a terminal, where you can be asked (`{ending.prefix} -c 'continue'`), or "
        "allow more with `--mode`."
    )
    return [f"{calls} {NOT_ASKED}", *listed, *more, way]


def critique_row(critique: CritiqueEnded) -> Row:
    """Returns what came of a critique as JSON shows it; its findings are comments on the plan."""
    return {
        "plan_id": critique.plan_id,
        "option": critique.option or None,
        "model": critique.model,
        "digest": critique.digest,
        "findings": critique.findings,
        "dropped": critique.dropped,
        "unread": critique.unread,
        "warning": _valid(critique.words) or None,
    }


def attachment_row(file: AttachedFile) -> Row:
    """Returns one `@path` as JSON shows it: its name and size, not its content."""
    return {
        "mention": _valid(file.mention),
        "kind": file.kind,
        "path": _valid(file.path) or None,
        "bytes": file.size,
        "why": _valid(file.why) or None,
    }


def attachment_notices(files: Sequence[AttachedFile]) -> list[str]:
    """Says which files of a message the model did not get."""
    return [visible_line(redact(line)) for line in attachment_problems(files)]


def turn_result_lines(ending: TurnResult) -> Iterator[Line]:
    """Renders what a person should know, and can type, after the model's last words."""
    tally, go_on = ending.tally, f"{ending.prefix} -c -p"
    if tally.why in _HALTS:
        yield Line("plain", f"{tally.words.rstrip('.')}; continue: {_next(ending)}")
        return
    if tally.words and tally.why != "limit":  # which is reported as an error
        yield from wrapped_lines("dim", visible_line(redact(tally.words)))
    if tally.why == "declined":
        yield Line("plain", f"Continue: {_next(ending)}")
    if ending.session.questions or tally.why == "waiting":
        yield Line("plain", f"Answer: {ending.prefix} questions list")
    elif asked := [one.question for one in tally.asked if one.call]:  # a budget's is over
        yield from open_questions_lines(redacted_row(asked), go_on)
    if ending.plan is not None and ending.plan.state is PlanState.EXECUTING:
        yield BLANK
        yield Line("heading", "The build of the plan is unfinished.")
        yield Line("plain", f"Continue:  {ending.prefix} build{ending.option}")
        yield Line("plain", f"Roll back: {ending.prefix} recover --roll-back")
    elif ending.session.mode == "plan" and ending.plan is not None:
        yield from _plan_lines(ending, ending.plan)


def _plan_lines(ending: TurnResult, plan: PlanRecord) -> Iterator[Line]:
    where, prefix, of = visible_path(plan.path), ending.prefix, ending.option
    if not _awaits(ending):
        return
    yield BLANK
    if ending.options:
        yield from _option_lines(ending)
        return
    yield from wrapped_lines(
        "heading", f"Plan ready for review: {_count(ending.operations)}, text in {where}."
    )
    yield Line("digest", plan.digest)
    yield Line("plain", f"Review:  {prefix} review{of}")
    yield Line("plain", f"Approve: {prefix} approve{of} --digest {plan.digest} --build")
    yield Line("plain", f"Reject:  {prefix} reject{of} --note 'WHY', then {prefix} -c")


def _option_lines(ending: TurnResult) -> Iterator[Line]:
    yield Line("heading", f"{len(ending.options)} options ready for review.")
    prefix = ending.prefix
    for row in ending.options:
        label, name = visible_line(str(row["label"])), quote(str(row["name"]))
        yield from wrapped_lines("plain", f"{label}: {_count(int(str(row['operations'])))}")
        yield Line("digest", str(row["digest"]))
        yield Line("plain", f"Approve: {prefix} approve --plan {name} --digest {row['digest']}")
    yield Line("plain", f"Compare: {prefix} review")
    yield Line("plain", f"Reject:  {prefix} reject --all --note 'WHY', then {prefix} -c")


def _count(operations: int) -> str:
    return f"{operations} operation{'' if operations == 1 else 's'}"


def _valid(text: str) -> str:
    """Returns a text that can be encoded: half of a pair from a file name becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _open_questions(ending: TurnResult) -> list[str]:
    """Returns the ids of questions that can be answered, also those of children."""
    asked = [one.id for one in ending.tally.asked] if ending.tally.why == "waiting" else []
    return list(dict.fromkeys([*ending.session.questions, *asked]))


def _unanswered(tally: TurnTotals) -> list[Question]:
    """Returns the model's unanswered questions; a budget's question is over."""
    return [one.question for one in tally.asked if one.call and not one.answered]


def _presented(ending: TurnResult) -> bool:
    """Tells whether this turn ended with a plan that waits for its approval."""
    return ending.tally.why == "presented" and _awaits(ending)


def _awaits(ending: TurnResult) -> bool:
    plan = ending.plan
    return plan is not None and plan.state is PlanState.AWAITING_APPROVAL and not ending.approved


def _after_a_person(ending: TurnResult) -> str:
    """Returns what to type after the user stopped the work or denied it, or has to answer."""
    why, prefix = ending.tally.why, ending.prefix
    if why in _HALTS:
        return f"{prefix} sessions resume {ending.session.slug}"
    if _open_questions(ending):
        return f"{prefix} questions list"
    return f"{prefix} -c 'WHAT INSTEAD'" if why == "declined" else ""


def _next(ending: TurnResult) -> str:
    plan, prefix, of = ending.plan, ending.prefix, ending.option
    if way_on := _after_a_person(ending):
        return way_on
    if plan is not None and plan.state is PlanState.EXECUTING:
        return f"{prefix} build{of}"
    if ending.session.mode != "plan" or plan is None:
        return f"{prefix} -c -p 'WHAT NEXT'"
    if _awaits(ending) and ending.options:
        return f"{prefix} review"
    if _awaits(ending):
        return f"{prefix} approve{of} --digest {plan.digest} --build"
    if ending.approved:
        return f"{prefix} build{of}"
    return f"{prefix} -c -p 'WHAT NEXT'"
