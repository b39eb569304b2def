"""Effects: carries out what a call wished for, as far as the gate's verdict goes (law 1)."""

from collections.abc import Generator
from typing import Any

import msgspec

from assent.core.digest import sha256
from assent.core.errors import AssentError
from assent.core.ids import plan_name, plan_name_of
from assent.core.lifecycle import State
from assent.core.message import Call
from assent.core.operation import WriteFile
from assent.core.paths import one_line, shown
from assent.core.permit import PermitSource
from assent.core.plan import template
from assent.core.record import PlanRecord
from assent.core.session import SessionRecord
from assent.core.session_event import Question, SessionEvent, TodosChanged
from assent.core.tool import (
    Carried,
    Decision,
    Edit,
    Effect,
    EnterPlan,
    Fact,
    PlanText,
    Present,
    Questions,
    TodoList,
    Verdict,
)
from assent.engine.asking import Answers, asked, refusal, yes_or_no
from assent.engine.desk import Desk
from assent.engine.formats import formatted
from assent.engine.reminders import mode_events
from assent.engine.tooling import Tooling
from assent.views.commands import subject
from assent.views.rows import kind

SHORT = 12  # characters of an operation's id
MOST = 20  # operations that a result names
UNANSWERED = (
    "Nobody answered. Decide yourself what is most likely wanted, and write the assumption into "
    "the plan."
)
PRESENTED = (
    "The plan is frozen under the digest {digest} and was presented. You cannot approve your own "
    "plan: a person decides. The turn ends here."
)
OVER = (State.COMPLETED, State.DISCARDED)
_SOURCES: dict[str, PermitSource] = {"scope": "scope", "user": "rule"}  # else the mode's


class Wish(msgspec.Struct, frozen=True):
    """An effect that a call wants, in the session as it is now."""

    record: SessionRecord
    call: Call
    effect: Effect
    decision: Decision
    text: str  # what the tool itself says
    planning: bool = False


class Done(msgspec.Struct, frozen=True):
    """What became of a wish, and what is recorded together with the call's end."""

    carried: Carried
    events: tuple[SessionEvent, ...] = ()
    changed: bool = False  # the plan is another than before
    wrote: str = ""  # the hash of the plan's text, if it was written


Doing = Generator[SessionEvent, None, Done]


class Effects:
    """The hands of a turn: the draft, the plan's text, the person, or the executor by a permit."""

    def __init__(self, desk: Desk, tooling: Tooling) -> None:
        self._desk = desk
        self._tooling = tooling

    def carry(self, wish: Wish) -> Doing:
        """Carries an effect out; yields what has to be recorded at once, before it goes on."""
        try:
            return (yield from self._carry(wish))
        except AssentError as error:
            return _failed(error.message)

    def _carry(self, wish: Wish) -> Doing:
        match wish.effect:
            case Edit() as edit if _stages(wish):
                return (yield from self._stage(wish, edit))
            case PlanText() as text:
                return (yield from self._write(wish, text))
            case Questions(questions):
                return (yield from self._ask(wish, questions))
            case EnterPlan(reason):
                return (yield from self._enter_plan(wish, reason))
            case other:
                return self._do(wish, other)

    def _do(self, wish: Wish, effect: Edit | Present | TodoList | Fact) -> Done:
        """Carries out what needs nothing to be recorded on the way."""
        match effect:
            case Edit() as edit:
                return self._apply(wish, edit)
            case Present():
                return self._present(wish.record)
            case TodoList(todos):
                self._desk.show_todos(wish.record, todos)
                return Done(Carried(wish.text), (TodosChanged(todos),))
            case Fact(text):
                fact = self._desk.facts.remember(text)
                return Done(Carried(f"Remembered: {fact.text}", metadata={"fact": fact.fact}))

    def _ask(self, wish: Wish, questions: tuple[Question, ...]) -> Doing:
        answers = yield from self._asked(wish, questions)
        if answers is None:
            return Done(Carried(UNANSWERED))
        pairs = zip(questions, answers, strict=True)
        told = [{"question": each.question, "answers": words} for each, words in pairs]
        return Done(Carried(msgspec.json.encode(told).decode()))

    def _asked(
        self, wish: Wish, questions: tuple[Question, ...]
    ) -> Generator[SessionEvent, None, Answers | None]:
        new = self._desk.doors.clock.new_id()
        return (yield from asked(self._tooling.asker, new, wish.call.id, questions))

    def _enter_plan(self, wish: Wish, reason: str) -> Doing:
        if wish.record.mode == "plan":
            return Done(Carried("This session is in plan mode already."))
        question = yes_or_no("Plan mode", f"Go back to planning? {reason}".strip())
        answers = yield from self._asked(wish, (question,))
        if no := refusal(answers):
            return _failed(f"The person did not say yes: {no} The mode stays {wish.record.mode}.")
        events = mode_events(wish.record, "plan", self._desk.doors.clock.new_id(), reason)
        return Done(Carried("The person agreed: plan mode is on."), events)

    def _stage(self, wish: Wish, wanted: Edit) -> Doing:
        edit, notes, seen = self._formatted(wanted)
        for content in edit.contents.values():
            self._desk.doors.blobs.keep([content])
        plan = yield from self._plan(wish.record)
        staged = self._desk.drafts.stage(plan, edit.operations)
        rows = [f"{name[:SHORT]} {kind(op)} {subject(op)}" for name, op in staged.added[:MOST]]
        told = ", ".join(rows) or "nothing, because it is there already"
        more = len(staged.added) - MOST
        further = f", and {more} more" if more > 0 else ""
        text = f"{wish.text}{notes}\nStaged in the plan, not on disk: {told}{further}."
        ids = [name for name, _ in staged.added]
        metadata = {"operations": ids, "plan": plan.plan_id, **seen}
        return Done(Carried(text, metadata=metadata), changed=True)

    def _apply(self, wish: Wish, wanted: Edit) -> Done:
        edit, notes, seen = self._formatted(wanted)
        decision = wish.decision
        source = _SOURCES.get(decision.layer, "mode")
        if decision.verdict is Verdict.ASK:
            source = "answer"
        detail = decision.reason or wish.record.mode
        report = self._desk.permits.apply(wish.record, wish.call.id, edit, source, detail)
        lines = "".join(f"\n{note}" for note in report.notes)
        return Done(Carried(f"{wish.text}{notes}{lines}", metadata={"run": report.run, **seen}))

    def _formatted(self, edit: Edit) -> tuple[Edit, str, dict[str, Any]]:
        """Returns an edit as the person's formatters leave it, with what the model must know."""
        tooling = self._tooling
        done, notes = formatted(edit, tooling.process, tooling.formats, self._desk.place.root)
        if done == edit:
            return edit, "".join(f"\n{note}" for note in notes), {}
        writes = [op for op in edit.operations if isinstance(op, WriteFile)]
        after = {
            op.path: op.after for op in [*writes, *done.operations] if isinstance(op, WriteFile)
        }
        seen = {shown(op.path): after[op.path].digest for op in writes}
        changed = [one_line(op.path) for op in writes if after[op.path] != op.after]
        if changed:
            notes = (*notes, f"Formatted: {', '.join(changed)}. Read it before you edit it again.")
        return done, "".join(f"\n{note}" for note in notes), {"seen": seen}

    def _write(self, wish: Wish, wanted: PlanText) -> Doing:
        plan = yield from self._plan(wish.record, wanted.name)
        text = wanted.text.encode("utf-8", "backslashreplace")
        plan = self._desk.plans.write(plan, text)
        told = f"{wish.text} It is in {one_line(plan.path)}."
        carried = Carried(told, metadata={"plan": plan.plan_id})
        return Done(carried, changed=True, wrote=sha256(text))

    def _present(self, record: SessionRecord) -> Done:
        if record.mode != "plan":
            return _failed(f"A plan is presented in plan mode only; the mode is {record.mode}.")
        if record.parent:
            return _failed("Only the session that the person talks to presents a plan.")
        plan = self._desk.plan_of(record)
        if plan is None or self.is_bare(plan):
            return _failed(
                "The plan is empty, so there is nothing to decide. Write its text with write_plan, "
                "or stage operations, and present it then."
            )
        proposed = self._desk.consents.propose(plan)
        text = PRESENTED.format(digest=proposed.digest)
        metadata = {"plan": proposed.plan_id, "digest": proposed.digest}
        return Done(Carried(text, ends=True, metadata=metadata), changed=True)

    def is_bare(self, plan: PlanRecord) -> bool:
        """Tells whether nobody has put anything into a plan."""
        text = self._desk.plans.live(plan) or b""
        untouched = not text.strip() or text == template(plan.name, plan.goal)
        return untouched and not self._desk.drafts.operations(plan)

    def _plan(
        self, record: SessionRecord, name: str = ""
    ) -> Generator[SessionEvent, None, PlanRecord]:
        """Returns the plan to work on; makes one where there is none that can still change."""
        plan = self._desk.plan_of(record)
        if plan and plan.state not in OVER and self._desk.plans.live(plan) is not None:
            if name in ("", plan.name):
                return plan
        elif not name:
            name = plan_name_of(record.goal or record.title)
        made = self._made(record, name)
        yield self._desk.link(made)
        return made

    def _made(self, record: SessionRecord, wanted: str) -> PlanRecord:
        """Takes up a plan of the session by its name, or makes it under the next free one."""
        known = {plan.name: plan for plan in self._desk.plans.all() if plan.session == record.slug}
        n, name = 1, plan_name(wanted)
        while name in known:
            if known[name].state is not State.COMPLETED:
                return self._desk.plans.select(known[name])
            n += 1
            name = f"{wanted}_{n}"
        return self._desk.plans.new(name, record.slug, record.goal)


def _stages(wish: Wish) -> bool:
    """In plan mode nothing is ever applied, whatever a person or a rule said to the call."""
    return wish.planning or wish.decision.verdict is Verdict.STAGE


def _failed(text: str) -> Done:
    return Done(Carried(text, failed=True))
