"""Carries out the effect of a tool call, as far as the permission decision allows (law 1).

The plan that a session writes is found, or begun, here.
"""

import re
from collections.abc import Generator, Iterator
from math import ceil

import msgspec

from assent.agent.formatters import EditFormatter
from assent.agent.permission_request import (
    PermissionRequester,
    QuestionOutcome,
    is_answered,
    refusal_reason,
)
from assent.agent.plan_updates import plan_changed_text
from assent.agent.prompt import ModeSwitch, mode_events
from assent.agent.services import AgentServices, ToolEnvironment
from assent.core.digest import sha256
from assent.core.errors import SCRATCH_COPY, AssentError, UsageError
from assent.core.ids import plan_name, plan_name_of
from assent.core.llm import StreamDelta, TextPart, ToolCall
from assent.core.paths import one_line
from assent.core.permission.mode import default_agent
from assent.core.plan.operation import RunCommand
from assent.core.plan.plan import NO_SCOPE, declaration_problem, misspelled_keys
from assent.core.plan.record import CLOSED_STATES, PlanRecord, PlanState
from assent.core.run.permit import PermitSource
from assent.core.session.event import (
    MessageAdded,
    Question,
    SessionEvent,
    Todo,
    TodosChanged,
)
from assent.core.session.question import yes_no_question
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import CALL_EDITS, STAGED_OPERATIONS
from assent.core.shell.process import MAX_COMMAND_S, MIN_SECONDS
from assent.core.text.secrets import redact
from assent.core.tool import (
    MISSING_CAPABILITY,
    CommandEffect,
    Decision,
    DraftEffect,
    EditEffect,
    Effect,
    EffectResult,
    EnterPlanEffect,
    MemoryEffect,
    OptionsEffect,
    PermissionContext,
    PlanTextEffect,
    PresentPlanEffect,
    QuestionsEffect,
    RehearseEffect,
    ScratchCommandEffect,
    SessionCommandRequest,
    TaskEffect,
    TodosEffect,
    ToolOutcome,
    UnstageEffect,
    Verdict,
)
from assent.planning.plans import check_length
from assent.ports import ProcessRunner
from assent.tools.outcome import missing_capability

# Which plan a session writes to, and what is missing before it can be presented.


EMPTY_PLAN = (
    "The plan is empty, so there is nothing to decide. Write its text or stage operations, then "
    "present it."
)
EMPTY_TEXT = (
    "The plan's text is still the empty template, and the user decides by it. Write what changes, "
    "why, and how to verify it, then present the plan."
)

PLAN_WORDS = r"[\w ,.:'&()-]+"  # of a title; what may be a path is no name

PlanLookup = Generator[SessionEvent, None, PlanRecord]


class SessionPlans:
    """The plans of a session, as its model selects and fills them."""

    def __init__(self, services: AgentServices) -> None:
        self._services = services

    def plan(self, record: SessionRecord, wanted: str = "") -> PlanLookup:
        """Returns the plan to work on; creates one if none can still be changed.

        Operations staged in a draft move along to a plan of another name.
        """
        plan, name = self._services.plan_of(record), _plain(wanted)
        if (
            plan
            and plan.state not in CLOSED_STATES
            and self._services.plans.live_text(plan) is not None
        ):
            if name in ("", plan.name):
                return plan
            if plan.option:
                raise UsageError(
                    f"Option {plan.option} keeps its name; name another one with `option`. Nothing "
                    "was done."
                )
            return (yield from self._renamed(record, plan, name))
        made = self._made(record, name or plan_name_of(record.goal or record.title))
        # Before anything is put into it: a session whose process dies then knows its plan.
        yield self._services.link(made)
        if record.todos:
            text = self._services.plans.live_text(made) or b""
            self._services.projections.todos(made, text, record.todos)
        yield from self._told(record, plan, made)
        return made

    def why_not_presentable(self, plan: PlanRecord) -> str:
        """Returns why a plan cannot be presented yet; nothing if it can."""
        if self._services.plans.is_empty(plan):
            return EMPTY_PLAN
        if self._is_untouched(plan):
            return EMPTY_TEXT
        wrong = misspelled_keys(self._services.plans.live_text(plan) or b"")
        if wrong:
            meant = ", ".join(f"`{key}` is ignored; write `{ours}`" for key, ours in wrong)
            return f"Fix the front matter: {meant}. Then present the plan."
        return ""

    def _is_untouched(self, plan: PlanRecord) -> bool:
        return self._services.plans.is_untouched(plan, self._services.plans.live_text(plan) or b"")

    def _renamed(self, record: SessionRecord, plan: PlanRecord, name: str) -> PlanLookup:
        """Continues under another name: a draft moves along, a presented plan stays as it is."""
        made = self._made(record, name)
        if plan.state is PlanState.DRAFTING:
            made = self._moved(plan, made)
        yield self._services.link(made)
        yield from self._told(record, plan, made)
        return made

    def _told(
        self, record: SessionRecord, before: PlanRecord | None, made: PlanRecord
    ) -> Iterator[MessageAdded]:
        """Tells user and model that another plan is the session's from now on, if one is.

        The first plan of a session is no change, nor is one in the place of a plan that was
        deleted: that was said when it happened.
        """
        gone = before is None or before.state is PlanState.DISCARDED
        if gone and self._services.plans.is_empty(made):
            return
        words = TextPart(plan_changed_text(made, None if gone else before))
        agent = record.agent or default_agent(record.mode)
        new = self._services.ports.clock.new_id()
        yield MessageAdded(new, agent, (words,), synthetic="plan_used", model=record.model)

    def _moved(self, plan: PlanRecord, made: PlanRecord) -> PlanRecord:
        """Stages one plan's operations in another and empties it; on a conflict both stay."""
        drafts = self._services.drafts
        try:
            staged = self._services.plans.operations(plan)
            own = len(staged) - plan.at_end
            made = drafts.stage(made, staged[:own]).record
            if plan.at_end:
                made = drafts.stage(made, staged[own:], at_end=True).record
        except AssentError:
            self._services.plans.select(plan)
            raise
        if self._services.plans.operations(plan):
            plan = drafts.clear(plan).record
        if self._services.plans.is_empty(plan):
            self._services.plans.delete([plan])
        return made

    def _made(self, record: SessionRecord, wanted: str) -> PlanRecord:
        """Returns the session's plan of that name, or creates it under the next free name."""
        known = {
            plan.name: plan for plan in self._services.plans.all() if plan.session == record.slug
        }
        n, name = 1, plan_name(wanted)
        wanted = name
        while name in known:
            if known[name].state is not PlanState.COMPLETED:
                return self._services.plans.select(known[name])
            n += 1
            name = f"{wanted}_{n}"
        # That the session works on it is recorded next, and waited for.
        return self._services.plans.new(name, record.slug, record.goal, synced=False)


def _plain(name: str) -> str:
    """Returns a plan's name where a model gives its file name; secrets are removed."""
    plain = name.rpartition("/PLAN_")[2].removeprefix("PLAN_").removesuffix(".md")
    shown = redact(plain)
    is_words = " " in plain.strip() and re.fullmatch(PLAN_WORDS, plain)
    return plan_name_of(shown) if is_words or shown != plain else plain


UNANSWERED = "No answer. Decide what is most likely wanted and write the assumption into the plan."
NO_ANSWER = "The user interrupted the turn and did not answer."
STOPPED = "The turn was {why} before this could happen; nothing was done."
MAX_CALL_EDITS = 50  # operations that the record of a call has; a face shows fewer
STAGED_ALREADY = (
    "It is already the last operation of the plan, staged and not run; it was not added again."
)
KEPT_NOTES = (
    "The user's notes from earlier approvals were added at its end as open items, because your "
    "text did not contain them: read them there and plan for them."
)
EACH_OPTION = (
    "Options are rehearsed each for itself: call `rehearse` with `option`, then present them "
    "together. Nothing was presented."
)
NO_REHEARSAL = (
    "Only commands that read run while planning (`plan.shell`), so nothing can be rehearsed: "
    "present it without. Nothing was presented."
)
NOT_SHOWN = "Not presented: fix what fails and present again."
PRESENTED = (
    "Plan ready for review (digest {digest}). You cannot approve your own plan: the user decides. "
    "The turn ends here."
)
# Else the mode's.
_SOURCES: dict[str, PermitSource] = {
    "scope": "scope",
    "user": "rule",
    "project": "rule",
    "agent": "rule",
    "command line": "rule",
    "grant": "answer",
}


class EffectRequest(msgspec.Struct, frozen=True):
    """An effect that a call requests, in the session as it is now."""

    record: SessionRecord
    call: ToolCall
    effect: Effect
    decision: Decision
    text: str  # what the tool itself says
    planning: bool = False
    unconfined: bool = False  # the user lets a command run without the sandbox
    process: ProcessRunner | None = (
        None  # what starts programs for this call; None: as for everybody
    )
    option: str = ""  # the label of the draft that the call names
    presents: bool = False  # a call of the same answer presents the plan, which lists its draft
    permissions: PermissionContext | None = None  # of the call


class EffectDone(msgspec.Struct, frozen=True):
    """The result of an effect, and the events that are recorded together with the call's end."""

    carried: EffectResult
    events: tuple[SessionEvent, ...] = ()
    changed: bool = False  # the plan is another than before
    wrote: str = ""  # the hash of the plan's text, if it was written
    draft: str = ""  # the draft that is left, if something was staged
    later: bool = False  # it waits for an answer that may come some day
    rest: bytes = b""  # the whole output of a command, where its text is only a part of it


EffectSteps = Generator[SessionEvent | StreamDelta, None, EffectDone]


class EffectRunner:
    """Carries out effects: in the draft, the plan's text, a question, or in files by a permit."""

    def __init__(self, services: AgentServices, tools: ToolEnvironment) -> None:
        self._services = services
        self._tools = tools
        self.shaping = EditFormatter(services, tools)
        self.authoring = SessionPlans(services)
        self.permission = PermissionRequester(services.pending_questions, tools, self.shaping)

    def building(self, record: SessionRecord) -> str:
        """Returns the digest of the text plan that is being built in a session, if any."""
        plan = self._services.plan_of(record)
        run = plan.building if plan else None
        return run.digest if run and run.run == record.build else ""

    def run_effect(self, wish: EffectRequest) -> EffectSteps:
        """Carries out an effect; yields the events that must be recorded before it continues."""
        try:
            return (yield from self._carry(wish))
        except AssentError as error:
            return EffectDone(
                EffectResult(error.message, failed=True, metadata=missing_capability(error))
            )

    def _carry(self, wish: EffectRequest) -> EffectSteps:
        match wish.effect:
            case EditEffect() as edit if _is_staged(wish):
                return (yield from self._stage(wish, edit))
            case PlanTextEffect() as text:
                return (yield from self._write(wish, text))
            case QuestionsEffect(questions):
                return (yield from self._ask(wish, questions))
            case EnterPlanEffect(reason):
                return (yield from self._enter_plan(wish, reason))
            case OptionsEffect(drop):
                found = yield from self._services.options.listed(wish.record, wish.option, drop)
                return EffectDone(found, changed=True)
            case UnstageEffect(ids):
                return (yield from self._unstage(wish, ids))
            case DraftEffect() as wanted:
                return self._draft(wish, wanted)
            case RehearseEffect(commands):
                return (yield from self._rehearse(wish, commands))
            case PresentPlanEffect(options, True):
                return (yield from self._present_rehearsed(wish, options))
            case CommandEffect() as command:
                work = self._stage_command if wish.planning else self._run
                return (yield from work(wish, command))
            case ScratchCommandEffect() as command:
                return (yield from self._run_in_copy(wish, command))
            case other:
                return self._do(wish, other)

    def _do(
        self,
        wish: EffectRequest,
        effect: EditEffect | PresentPlanEffect | TodosEffect | MemoryEffect | TaskEffect,
    ) -> EffectDone:
        """Carries out effects that need no event recorded in between."""
        match effect:
            case EditEffect() as edit:
                return self._apply(wish, edit)
            case PresentPlanEffect(options):
                return self._present(wish.record, options)
            case TodosEffect(todos):
                self._services.show_todos(wish.record, todos)
                return EffectDone(EffectResult(wish.text), (TodosChanged(todos),))
            case MemoryEffect(text):
                fact = self._services.facts.remember(text)
                return EffectDone(
                    EffectResult(f"Remembered: {fact.text}", metadata={"fact": fact.fact})
                )
            case TaskEffect():
                return _failed("A sub-agent cannot be started here.")

    def _ask(self, wish: EffectRequest, questions: tuple[Question, ...]) -> EffectSteps:
        said = yield from self._asked(wish, questions)
        if said.later:
            return UNANSWERED_YET
        answers = said.answers
        if answers is None or not is_answered(answers):
            cut = self._tools.cancel_reason() == "interrupted"
            return _failed(NO_ANSWER) if cut else EffectDone(EffectResult(UNANSWERED))
        pairs = zip(questions, answers, strict=True)
        told = [{"question": each.question, "answers": words} for each, words in pairs]
        return EffectDone(EffectResult(msgspec.json.encode(told).decode()))

    def _asked(
        self, wish: EffectRequest, questions: tuple[Question, ...]
    ) -> Generator[SessionEvent, None, QuestionOutcome]:
        tool = wish.call.tool
        return (yield from self.permission.ask_questions(wish.record, wish.call, tool, questions))

    def _enter_plan(self, wish: EffectRequest, reason: str) -> EffectSteps:
        if wish.record.mode == "plan":
            return EffectDone(EffectResult("This session is already in plan mode."))
        question = yes_no_question("Plan mode", f"Switch to plan mode? {reason}".strip())
        said = yield from self._asked(wish, (question,))
        if said.later:
            return UNANSWERED_YET
        if no := refusal_reason(said.answers):
            return _failed(f"The user did not agree: {no} The mode stays {wish.record.mode}.")
        switch = ModeSwitch("plan", reason, staging=self._tools.staging, modes=self._tools.modes)
        events = mode_events(wish.record, switch, self._services.ports.clock.new_id())
        return EffectDone(EffectResult("The user agreed: plan mode is on."), events)

    def _plan(self, wish: EffectRequest, name: str = "") -> PlanLookup:
        """Returns the plan that a call is about: the option that it names, or the session's."""
        if not wish.option:
            return (yield from self.authoring.plan(wish.record, name))
        if name:
            raise UsageError("Name an `option` or another plan, not both. Nothing was done.")
        return (yield from self._services.options.selected(wish.record, wish.option))

    def _stage(self, wish: EffectRequest, wanted: EditEffect) -> EffectSteps:
        shaped = self.shaping.formatted(wanted)
        edit = shaped.edit
        for content in edit.contents.values():
            self._services.ports.blobs.keep([content])
        plan = yield from self._plan(wish)
        # The end of the call follows at once, or the end of the turn; either is waited for.
        staged = self._services.drafts.stage(plan, edit.operations, synced=False)
        told = self._services.draft_results.staged(plan, staged, wish.text)
        text = f"{wish.text}{shaped.notes}\n{told}"
        if (
            self._tools.checks
            and wish.permissions is not None
            and self._tools.plan_shell == "rehearse"
        ):
            text += self._services.edit_checks.failures(
                wish.record.session,
                staged.record,
                edit.operations,
                self._tools.checks,
                self._tools,
                wish.permissions,
            )
        ids = [name for name, _ in staged.added]
        metadata = {STAGED_OPERATIONS: ids, **_edited(edit), **_named(plan), **shaped.metadata}
        return EffectDone(
            EffectResult(text, metadata=metadata), changed=True, draft=staged.record.draft
        )

    def _stage_command(self, wish: EffectRequest, wanted: CommandEffect) -> EffectSteps:
        """Stages a command that may change something, if the gate or the user decided so."""
        meant = wish.decision.verdict in (Verdict.STAGE, Verdict.ASK)
        if not meant or wish.record.parent or not self._tools.staging:
            return _failed("Plan mode allows only read-only commands. Nothing was run.")
        command = planned_command(wanted, self._tools.shell_s)
        plan = yield from self._plan(wish)
        before = self._services.plans.operations(plan)
        if before[-1:] == (command,):
            return EffectDone(EffectResult(STAGED_ALREADY, metadata=_named(plan)))
        staged = self._services.drafts.run(plan, command, at_end=wanted.at_end)
        ids = [name for name, _ in staged.added]
        metadata = {STAGED_OPERATIONS: ids, **_named(plan)}
        of = f"Option {plan.option}: " if plan.option else ""
        told = f"{of}{self._services.draft_results.staged_command(staged)}"
        carried = EffectResult("\n".join(filter(None, [told, wish.text])), metadata=metadata)
        return EffectDone(carried, changed=True, draft=staged.record.draft)

    def _run_in_copy(self, wish: EffectRequest, command: ScratchCommandEffect) -> EffectSteps:
        """Runs a command in the session's scratch copy; what it keeps of it is staged."""
        if not wish.planning or self._tools.plan_shell != "rehearse" or wish.permissions is None:
            return _failed("Nothing was run: there is no scratch copy here.")
        if why := self._tools.cancel_reason():
            return _failed(STOPPED.format(why=why))
        find = self._services.options.find
        # An option that does not exist yet begins with what is kept; else it is a mistake.
        begins = wish.option and command.keep
        plan = find(wish.record, wish.option) if begins else self._drafted(wish)
        done = yield from self._services.scratch_commands.run(
            wish.record.session,
            command,
            plan,
            lambda: self._plan(wish),
            self._tools,
            wish.permissions,
            wish.call,
        )
        outcome, metadata = done.outcome, dict(done.outcome.metadata)
        if done.staged is not None and done.plan is not None:
            ids = [name for name, _ in done.staged.added]
            metadata |= {STAGED_OPERATIONS: ids, **_named(done.plan)}
        return EffectDone(
            EffectResult(outcome.text, outcome.failed, metadata=metadata),
            changed=done.plan is not None,
            draft=done.staged.record.draft if done.staged is not None else "",
            rest=outcome.rest,
        )

    def _unstage(self, wish: EffectRequest, ids: tuple[str, ...]) -> EffectSteps:
        """Takes operations out of the draft; what later ones build on stays, and is named."""
        plan = self._drafted(wish)
        if plan is None:
            return _failed("There is no draft yet. Nothing was taken out.")
        if wish.option:
            plan = yield from self._services.options.selected(wish.record, wish.option)
        carried, record = self._services.draft_results.unstaged(plan, ids)
        carried = msgspec.structs.replace(carried, metadata={**carried.metadata, **_named(plan)})
        return EffectDone(carried, changed=not carried.failed, draft=record.draft)

    def _draft(self, wish: EffectRequest, wanted: DraftEffect) -> EffectDone:
        """Lists what is staged; only looks."""
        plan = self._drafted(wish)
        listed = self._services.draft_results.listed(plan, wanted)
        metadata = _named(plan) if plan else {}
        return EffectDone(EffectResult(listed.text, metadata=metadata), rest=listed.rest)

    def _rehearse(
        self, wish: EffectRequest, commands: tuple[str, ...], *, suggest: bool = True
    ) -> EffectSteps:
        """Tries the draft in a copy; its output is streamed."""
        if why := self._tools.cancel_reason():
            return _failed(STOPPED.format(why=why))
        if not wish.planning or wish.record.parent or wish.permissions is None:
            return _failed("Only the main session can rehearse its plan, in plan mode.")
        tools = self._tools
        carried = yield from self._services.draft_rehearsals.run(
            self._drafted(wish),
            commands,
            tools.path_limits(wish.permissions),
            stopped=lambda: bool(tools.cancel_reason()),
            seconds_left=tools.seconds_left,
            mask=tools.redact,
            suggest=suggest,
            call=StreamDelta("output", "", wish.call.id, wish.call.tool),
        )
        return EffectDone(carried)

    def _present_rehearsed(self, wish: EffectRequest, options: tuple[str, ...]) -> EffectSteps:
        """Tries the draft in a copy and presents the plan, unless that fails.

        Where no copy can be made, it is presented all the same, and the result says so.
        """
        if options:
            return _failed(EACH_OPTION)
        if why := self._why_not_presented(wish.record):
            return _failed(why)
        if self._tools.plan_shell == "read-only":
            return _failed(NO_REHEARSAL)
        tried = (yield from self._rehearse(wish, (), suggest=False)).carried
        lacks_copy = tried.metadata.get(MISSING_CAPABILITY) == SCRATCH_COPY
        if tried.failed and not lacks_copy:
            text = f"{NOT_SHOWN} {tried.text}"
            return EffectDone(msgspec.structs.replace(tried, text=text))
        done = self._present(wish.record)
        said = msgspec.structs.replace(done.carried, text=f"{done.carried.text}\n{tried.text}")
        return msgspec.structs.replace(done, carried=said)

    def _drafted(self, wish: EffectRequest) -> PlanRecord | None:
        """Returns the plan whose draft a call is about, as far as there is one; begins none."""
        if not wish.option:
            return self._services.plan_of(wish.record)
        plan = self._services.options.find(wish.record, wish.option)
        if plan is None:
            raise UsageError(f"There is no option {wish.option!a}. Nothing was done.")
        return plan

    def _apply(self, wish: EffectRequest, wanted: EditEffect) -> EffectDone:
        shaped = self.shaping.formatted(wanted)
        if why := self._tools.cancel_reason():  # a formatter was ended, say
            return _failed(STOPPED.format(why=why))
        source, detail = _consent(wish)
        report = self._services.permits.apply(
            wish.record, wish.call.id, shaped.edit, source, detail
        )
        lines = "".join(f"\n{note}" for note in report.notes)
        metadata = {"run": report.run, **_edited(shaped.edit), **shaped.metadata}
        return EffectDone(EffectResult(f"{wish.text}{shaped.notes}{lines}", metadata=metadata))

    def _run(self, wish: EffectRequest, command: CommandEffect) -> EffectSteps:
        """Runs a command outside plan mode; its output is streamed."""
        if why := self._tools.cancel_reason():
            return _failed(STOPPED.format(why=why))
        confined = not (wish.unconfined or self._tools.unconfined)
        left, most = self._tools.seconds_left(), self._tools.shell_s
        seconds = most if left is None else min(most, max(left, MIN_SECONDS))
        order = SessionCommandRequest(
            wish.record, wish.call.id, command, *_consent(wish), confined, seconds
        )
        work = self._services.session_commands.run(
            order, wish.process or self._tools.open_process()
        )
        while True:
            try:
                chunk = next(work)
            except StopIteration as end:
                outcome: ToolOutcome = end.value
                break
            text = chunk.content.decode("utf-8", "backslashreplace")
            said = self._tools.redact(text)
            yield StreamDelta("output", said, wish.call.id, wish.call.tool)
        carried = EffectResult(outcome.text, outcome.failed, metadata=outcome.metadata)
        return EffectDone(carried, rest=outcome.rest)

    def _write(self, wish: EffectRequest, wanted: PlanTextEffect) -> EffectSteps:
        text = wanted.text.encode("utf-8", "backslashreplace")
        check_length(text)
        plan = yield from self._plan(wish, wanted.name)
        whole = self._services.plans.with_notes(plan, text)
        plan = self._services.plans.write(plan, whole)
        is_listed = bool(plan.draft) and (bool(plan.option) or not wish.presents)
        has = self._services.draft_results.summary(plan) if is_listed else ""
        kept = f" {KEPT_NOTES}" if whole != text else ""
        problem = declaration_problem(whole)
        bad = f" {problem} It cannot be presented before that is fixed." if problem else ""
        of = f"Option {plan.option}: " if plan.option else ""
        told = f"{of}{wish.text} It is in {one_line(plan.path)}.{kept}{bad}{has}"
        carried = EffectResult(told, metadata=_named(plan))
        return EffectDone(carried, changed=True, wrote=sha256(whole), draft=plan.draft)

    def _why_not_presented(self, record: SessionRecord, options: tuple[str, ...] = ()) -> str:
        """Returns why nothing can be presented now; nothing if it can."""
        if record.mode != "plan":
            return f"A plan can only be presented in plan mode; the mode is {record.mode}."
        if record.parent:
            return "Only the main session can present a plan."
        if options:
            return ""  # each of them is looked at where they are presented
        plan = self._services.plan_of(record)
        if plan is None or (why := self.authoring.why_not_presentable(plan)):
            return EMPTY_PLAN if plan is None else why
        return self._services.options.other_drafts(record, plan) if plan.option else ""

    def _present(self, record: SessionRecord, options: tuple[str, ...] = ()) -> EffectDone:
        if why := self._why_not_presented(record, options):
            return _failed(why)
        closed = _closed_todo(record.todos)
        events = (TodosChanged(closed),) if closed != record.todos else ()
        if options:
            why_not = self.authoring.why_not_presentable
            presented = self._services.options.present(record, options, why_not)
            return EffectDone(presented, () if presented.failed else events, changed=True)
        plan = self._services.plan_of(record)
        assert plan is not None, "there is something to present"
        proposed = self._services.approvals.propose(plan, record)
        text = PRESENTED.format(digest=proposed.digest)
        if self._services.plans.repository().plan(proposed).covers_nothing:
            text = f"{text} {NO_SCOPE}"
        text += self._services.draft_results.summary(proposed)
        metadata = {"plan": proposed.plan_id, "digest": proposed.digest}
        self._services.show_todos(record, closed)
        return EffectDone(EffectResult(text, ends=True, metadata=metadata), events, changed=True)


def _closed_todo(todos: tuple[Todo, ...]) -> tuple[Todo, ...]:
    """Returns the list with the item about presenting the plan done, if that is in progress.

    Presenting ends the turn, so that no later call could say so.
    """
    now = [todo for todo in todos if todo.status == "in_progress"]
    if len(now) != 1 or not re.search(r"\b(plan|present|propos)", now[0].content.lower()):
        return todos
    done = Todo(now[0].content, "completed")
    return tuple(done if todo is now[0] else todo for todo in todos)


def planned_command(wanted: CommandEffect, most_s: float) -> RunCommand:
    """Returns the operation for a planning model's command; it gets at most `most_s` seconds."""
    most = int(min(most_s, MAX_COMMAND_S))
    seconds = ceil(wanted.seconds) if 0 < wanted.seconds < most else most
    return RunCommand(
        script=wanted.line.encode("utf-8", "surrogateescape"),
        cwd=wanted.folder,
        timeout=max(seconds, 1),
        network=wanted.network,
    )


UNANSWERED_YET = EffectDone(EffectResult("Not answered yet."), later=True)


def _is_staged(wish: EffectRequest) -> bool:
    """Tells whether an effect is staged; plan mode never applies one, whatever was allowed."""
    return wish.planning or wish.decision.verdict is Verdict.STAGE


def _consent(wish: EffectRequest) -> tuple[PermitSource, str]:
    """Returns who or what permitted an effect."""
    decision = wish.decision
    source = _SOURCES.get(decision.layer, "mode")
    if decision.verdict is Verdict.ASK:
        source = "answer"
    return source, " ".join(filter(None, [decision.rule, decision.reason])) or wish.record.mode


def _edited(edit: EditEffect) -> dict[str, list[object]]:
    """Returns the metadata of a call that say what it changed in files, which faces show."""
    return {CALL_EDITS: [msgspec.to_builtins(op) for op in edit.operations[:MAX_CALL_EDITS]]}


def _named(plan: PlanRecord) -> dict[str, str]:
    """Returns the metadata of a call that say which plan it was about."""
    return {"plan": plan.plan_id, **({"option": plan.option} if plan.option else {})}


def _failed(text: str) -> EffectDone:
    return EffectDone(EffectResult(text, failed=True))
