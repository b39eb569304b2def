"""Asks the user whether a call is allowed, on record, and reads the answer (law 9)."""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from assent.agent.formatters import EditFormatter
from assent.agent.pending_questions import PendingQuestions
from assent.agent.services import ToolEnvironment
from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.llm import ToolCall
from assent.core.paths import one_line, typed_line
from assent.core.permission.mode import Mode
from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import (
    AnswerTaken,
    Question,
    QuestionAsked,
    SessionEvent,
    StepStarted,
)
from assent.core.session.question import (
    NO_CALL,
    PERMISSION,
    PermissionAnswer,
    QuestionAnswers,
    QuestionReply,
    StoredQuestion,
    asks_the_same,
    calls_awaiting_answers,
    grant_confirmation,
    has_passed,
    is_permission,
    permission_options,
    question_digest,
    read_permission_answer,
    stored_questions,
    yes_no_question,
)
from assent.core.session.record import SessionRecord
from assent.core.tool import Action, Decision, EditEffect, ResourceAccess
from assent.tools.dispatcher import ToolCallResult

# The text of a permission question, and whether an answer allows the call (law 9).


T = TypeVar("T")
R = TypeVar("R")

MAX_INLINE_CHARS = 100  # characters of a command that is shown in the question itself
MAX_INLINE_THINGS = 3  # things that are shown in the question itself; all are listed below it

_WORDS = {
    Action.READ: "reading",
    Action.EDIT: "edit to",
    Action.SHELL: "running",
    Action.FETCH: "fetching",
    Action.PLAN: "setting",
    Action.PRESENT: "presenting",
    Action.TASK: "starting a sub-agent for",
    Action.TOOL: "using",
    Action.OUTSIDE: "reading outside the workspace:",
    Action.LOOP: "continuing with",
    Action.SEEK: "searching for",
    Action.SKILL: "loading the skill",
}


def drain(work: Generator[T, None, R], take: Callable[[T], object]) -> R:
    """Drives a generator to its end, passes what it yields to `take`, and returns its result."""
    while True:
        try:
            take(next(work))
        except StopIteration as end:
            answer: R = end.value
            return answer


def permission_question(
    requests: Sequence[ResourceAccess],
    decision: Decision,
    wishes: Sequence[str] = (),
    patch: str = "",
) -> Question:
    """Returns the question whether a call is allowed, with everything that approval would do."""
    touched = [_touched(each) for each in requests]
    more = [f"{len(touched) - MAX_INLINE_THINGS} more"] if len(touched) > MAX_INLINE_THINGS else []
    listed = ", ".join([*touched[:MAX_INLINE_THINGS], *more])
    question = yes_no_question(PERMISSION, f"Allow {listed}? {decision.reason}".rstrip())
    things = wishes or (touched if more else ())
    long = [each.resource for each in requests if _is_long(each)]
    return msgspec.structs.replace(
        question, things=tuple(things), detail=patch, command="\n".join(long)
    )


def _touched(request: ResourceAccess) -> str:
    word = _WORDS[request.action]
    if _is_long(request):
        return f"{word} this command"
    if request.action is Action.SHELL:
        return f"{word} `{request.resource}`"
    led = f"{_one_line(request.link)} -> " if request.link else ""
    return f"{word} {led}{_one_line(request.resource)}"


def _is_long(request: ResourceAccess) -> bool:
    """Tells whether a command line is shown in its own block, so that all of it can be read."""
    line = request.resource
    if request.action is not Action.SHELL:
        return False
    return len(line) > MAX_INLINE_CHARS or "`" in line or _one_line(line) != line


def _one_line(resource: str) -> str:
    """Returns a path, a command line or an address so that it cannot look like several lines."""
    return typed_line(resource)


def refusal_reason(answers: QuestionAnswers | None) -> str:
    """Returns why an answer is not an approval, with the user's words; nothing if it is one."""
    return read_permission_answer(yes_no_question("", ""), answers).why


def is_answered(answers: QuestionAnswers | None) -> bool:
    """Tells whether there is any answer at all."""
    return answers is not None and any(answers)


MAX_ROUNDS = 3  # of choosing and confirming, before it counts as denied
MAX_TASK_CHARS = 120  # characters of a task
EXPIRED = "expired"
INTERRUPTED = "interrupted"
REPLACED = "replaced"
ONCE_ONLY = ("loop", "hook")  # layers that would ask again, whatever is remembered


class PermissionRequest(msgspec.Struct, frozen=True):
    """What the user is asked about: a call, what it touches, and which agent made it.

    `mode` is the one in effect, `plan` the digest of the text plan that is being built, if any.
    `always` is what a remembered yes would cover; empty if it cannot be remembered.
    """

    call: ToolCall
    tool: str
    requests: tuple[ResourceAccess, ...]
    decision: Decision
    agent: str
    mode: Mode
    plan: str = ""
    custom: str = ""  # the custom mode, whose base is `mode`
    edit: EditEffect | None = None
    command: bool = False  # it would run in the sandbox, and could without
    risk: tuple[str, ...] = ()  # level first, then the reasons
    always: tuple[PermissionPattern, ...] = ()
    parts: tuple[str, ...] = ()  # every command of a command line
    fixed: bool = False  # an approval counts for one session at most


class QuestionOutcome(msgspec.Struct, frozen=True):
    """The result of a question: answers, no answer, or that it stays open for later."""

    answers: QuestionAnswers | None
    question: str
    later: bool = False
    by: str = ""
    grant: str = ""


QuestionSteps = Generator[SessionEvent, None, QuestionOutcome]


class PermissionRequester:
    """Asks for one turn; the events it yields must be recorded before it continues."""

    def __init__(
        self, questions: PendingQuestions, tools: ToolEnvironment, shaping: EditFormatter
    ) -> None:
        self._questions = questions
        self._tools = tools
        self._shaping = shaping
        self._earlier: dict[str, tuple[StoredQuestion, ...]] = {}  # of calls that run again
        self._step = 0  # of which they are; another one's may have the same ids

    def resume(self, events: Sequence[StoredEvent]) -> tuple[ToolCall, ...]:
        """Returns the calls that only wait for an answer; run again, they are not asked twice.

        What became of all other open calls is not known.
        """
        found, others = (
            calls_awaiting_answers(events),
            [i for i in stored_questions(events) if not i.asked.call],
        )
        self._earlier = {call.id: asked for call, asked in found}
        self._earlier[NO_CALL.id] = tuple(i for i in others if not i.over and not i.taken)
        steps = [one.event.step for one in events if isinstance(one.event, StepStarted)]
        self._step = steps[-1] if steps else 0
        return tuple(call for call, _ in found)

    def ask(
        self, record: SessionRecord, doubt: PermissionRequest
    ) -> Generator[SessionEvent, None, PermissionAnswer]:
        """Asks whether a call is allowed; only an explicit yes allows it."""
        question = self._question(record, doubt)
        wanted = QuestionAsked(
            "", doubt.call.id, (question,), doubt.tool,
            agent=doubt.agent, mode=doubt.mode, plan=doubt.plan, custom=doubt.custom,
        )  # fmt: skip
        said = yield from self._put(record, doubt.call, wanted)
        if said.later:
            return PermissionAnswer(later=True, why="not answered yet.", question=said.question)
        return (yield from self._taken(question, said))

    def confirm(
        self, record: SessionRecord, header: str, words: str
    ) -> Generator[SessionEvent, None, PermissionAnswer]:
        """Asks a question that belongs to no call, such as whether to exceed a budget."""
        question = yes_no_question(header, words)
        said = yield from self._put(record, NO_CALL, QuestionAsked("", "", (question,)))
        if said.later:  # nothing would wait for the answer
            self._questions.expire(record, said.question)
        return (yield from self._taken(question, said))

    def ask_access(
        self,
        record: SessionRecord,
        requests: Sequence[ResourceAccess],
        decision: Decision,
        risk: tuple[str, ...],
    ) -> Generator[SessionEvent, None, PermissionAnswer]:
        """Asks about access that the user's own words need; it is allowed once, now or never."""
        question = permission_question(requests, decision)
        question = msgspec.structs.replace(question, risk=risk)
        said = yield from self._put(record, NO_CALL, QuestionAsked("", "", (question,)))
        if said.later:  # the message does not wait for the answer
            self._questions.expire(record, said.question)
        return (yield from self._taken(question, said))

    def ask_questions(
        self, record: SessionRecord, call: ToolCall, tool: str, questions: tuple[Question, ...]
    ) -> QuestionSteps:
        """Asks the questions of a call; an answer that does not fit them counts as none."""
        wanted = QuestionAsked("", call.id, questions, tool)
        return (yield from self._put(record, call, wanted))

    def _taken(
        self, question: Question, said: QuestionOutcome
    ) -> Generator[SessionEvent, None, PermissionAnswer]:
        """Reads an answer; after an approval, a crash leaves it unknown what the call did."""
        consent = read_permission_answer(question, said.answers)
        if said.by.startswith(EXPIRED):
            consent = msgspec.structs.replace(consent, why=f"the question {said.by}.")
        if said.by == INTERRUPTED:
            consent = msgspec.structs.replace(consent, why="the user interrupted the turn.")
        if consent.yes:
            yield AnswerTaken(said.question)
        return msgspec.structs.replace(consent, question=said.question, grant=said.grant)

    def _question(self, record: SessionRecord, doubt: PermissionRequest) -> Question:
        """Returns the question: everything that approval would do, and what can be remembered."""
        edit, shaping = doubt.edit, self._shaping
        shown = (
            (shaping.operation_lines(edit), shaping.patch(edit))
            if edit
            else (_several(doubt.parts),)
        )
        once = doubt.mode == "plan" or doubt.decision.layer in ONCE_ONLY
        always = () if once else doubt.always
        return msgspec.structs.replace(
            permission_question(doubt.requests, doubt.decision, *shown),
            header=_header(record, doubt.agent),
            options=permission_options(always, command=doubt.command, fixed=doubt.fixed),
            always=always,
            risk=doubt.risk,
        )

    def _put(self, record: SessionRecord, call: ToolCall, wanted: QuestionAsked) -> QuestionSteps:
        """Asks, unless the same question was asked before the session was resumed."""
        call = self._questions.call_on_record(record, call) if wanted.call else call
        left = self._is_left(record, call)
        earlier = self._same(record, call, wanted)
        if earlier is None:
            asked = self._new(record, call, wanted)
            after = record.seq
            yield asked
        else:
            asked, after = earlier.asked, earlier.seq
        if self._questions.is_open(record, asked.id):
            asker = self._tools.asker
            waits = asker.defers or (left and not asker.present)
            if waits and not self._is_past(asked):
                return QuestionOutcome(None, asked.id, later=True)
            self._answer(record, asked)
        found = self._questions.reply_to(record, asked.id, after)
        if found is None:  # law 9
            return QuestionOutcome(None, asked.id)
        return QuestionOutcome(found.answers, asked.id, by=found.by, grant=found.grant)

    def _is_left(self, record: SessionRecord, call: ToolCall) -> bool:
        """Tells whether a call waited for an answer before the session was resumed."""
        earlier = self._earlier.get(call.id, ()) if record.steps == self._step else ()
        return any(one.answered is None for one in earlier)

    def _same(
        self, record: SessionRecord, call: ToolCall, wanted: QuestionAsked
    ) -> StoredQuestion | None:
        """Returns the same question if it was asked before; if none matches, closes all of them."""
        earlier = self._earlier.get(call.id, ()) if record.steps == self._step else ()
        for one in earlier:
            if asks_the_same(record.session, call, one.asked, wanted):
                return one
        for one in earlier:
            self._questions.expire(record, one.asked.id, REPLACED)
        self._earlier.pop(call.id, None)
        return None

    def _new(self, record: SessionRecord, call: ToolCall, wanted: QuestionAsked) -> QuestionAsked:
        seconds, clock = self._tools.questions_s, self._questions.clock
        until = clock.later(seconds) if seconds else ""
        asked = msgspec.structs.replace(wanted, id=clock.new_id(), expires_at=until)
        digest = question_digest(record.session, call, asked)
        return msgspec.structs.replace(asked, digest=digest)

    def _is_past(self, asked: QuestionAsked) -> bool:
        return has_passed(asked.expires_at, self._questions.clock.now())

    def _answer(self, record: SessionRecord, asked: QuestionAsked) -> None:
        """Gets an answer from the user; any failure to get one counts as denied."""
        try:
            closed = self._is_past(asked) or self._is_interrupted()
            reply = None if closed else self._reply(record, asked)
            if reply is not None:
                self._questions.record_answer(record, asked.id, asked.digest, reply)
        except KeyboardInterrupt:
            self._questions.expire(record, asked.id)
            raise
        except Exception:  # law 9; also if another process has answered it first
            with suppress(AssentError):
                self._questions.expire(record, asked.id, self._lapsed(asked))
            return
        if reply is None:
            self._questions.expire(record, asked.id, self._lapsed(asked))

    def _is_interrupted(self) -> bool:
        """Tells whether the user interrupted the turn from this process; a pause does not count."""
        return self._tools.cancel_reason() == INTERRUPTED

    def _lapsed(self, asked: QuestionAsked) -> str:
        if self._is_interrupted():
            return INTERRUPTED
        return f"{EXPIRED} at {asked.expires_at}" if self._is_past(asked) else ""

    def _reply(self, record: SessionRecord, asked: QuestionAsked) -> QuestionReply | None:
        """Returns the user's answer; an answer to be remembered must be confirmed (F81)."""
        by = f"{self._questions.user} (session)"
        for _ in range(MAX_ROUNDS):
            answers = self._heard(record, asked, asked.questions)
            if answers is None:
                return None
            question = asked.questions[0]
            reach = (
                read_permission_answer(question, answers).reach if is_permission(question) else ""
            )
            if not reach:
                return QuestionReply(answers, by)
            new = self._questions.clock.new_id()
            confirmed = self._heard(record, asked, (grant_confirmation(asked, reach, new),))
            if confirmed is None:
                return None
            if read_permission_answer(yes_no_question("", ""), confirmed).yes:
                return QuestionReply(answers, by, question.always, new)
        return None

    def _heard(
        self, record: SessionRecord, asked: QuestionAsked, questions: tuple[Question, ...]
    ) -> QuestionAnswers | None:
        def answered() -> str:
            if self._is_past(asked):
                return f"The question expired at {asked.expires_at}; this counts as no."
            if self._is_interrupted():
                return "The turn was interrupted; no answer is needed."
            return self._questions.answered_elsewhere(record, asked.id)

        answers = self._tools.asker.ask(questions, answered)
        fits = answers is not None and len(answers) == len(questions)
        return answers if fits else None


def _several(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the commands of a line, one per line, if there is more than one."""
    rows = [one_line(each.encode("utf-8", "surrogateescape")) for each in parts]
    return tuple(rows) if len(rows) > 1 else ()


def _header(record: SessionRecord, agent: str) -> str:
    """Returns who asks: for a child, its agent and the task that its parent gave it."""
    if not record.parent:
        return PERMISSION
    task = " ".join((record.title or record.goal or record.slug).split())
    return f'{PERMISSION} for sub-agent {agent}, task "{task[:MAX_TASK_CHARS]}"'


# One line about a permission decision: who decided, by which rule, why, and the answer.


def decision_line(result: ToolCallResult) -> str:
    """Returns one line that says who decided about a call, by which rule, and why."""
    decision = result.decision
    if decision is None:
        return ""
    by = f"{decision.layer} ({decision.rule})" if decision.rule else decision.layer
    said = f"{by}: {decision.reason}" if decision.reason else by
    if result.consent is None:
        return said
    return f"{said.removesuffix('.')}; {answer_line(result.consent)}"


def answer_line(consent: PermissionAnswer) -> str:
    """Returns what was answered, and by whom."""
    if consent.yes:
        return "the user allowed it"
    if consent.words:
        return f"the user denied it: {' '.join(consent.words.split())}"
    if consent.plain:
        return f"the user did not allow it: {consent.why.removesuffix('.')}"
    if consent.later:
        return "not answered yet"
    return "no user was available to answer"
