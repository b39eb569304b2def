"""The critic: a second model reads a presented plan, and its findings become suggested comments.

It gets no tools and decides nothing. Whatever fails is a warning: the plan is presented all the
same.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from threading import Timer

import msgspec
from msgspec.structs import replace

from assent.agent.loop.budget import Budget
from assent.agent.loop.context import CHARS_PER_TOKEN, context_window
from assent.agent.loop.step import SessionOutput
from assent.agent.prompt import prompt_text
from assent.core.errors import AssentError, Interrupted, ModelError
from assent.core.event import CritiqueRecorded
from assent.core.llm import (
    ChatMessage,
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    StreamEnded,
    TextPart,
    TokenUsage,
)
from assent.core.plan.comment import CommentTarget, Finding
from assent.core.plan.critic import MAX_INPUT_CHARS, critic_input, parse_findings
from assent.core.plan.record import PlanRecord
from assent.core.session.event import CritiqueEnded, CritiqueStarted
from assent.planning.comments import Comments
from assent.ports import Model, OpenedModel
from assent.ports.cancellation import CancelToken
from assent.ports.session import Turn

TIMEOUT_S = 120.0  # of one critique, with all retries
KIND = "critic"  # of its requests
READ_SHARE = 2  # at most one part in so many of a model's context is the plan

STOPPED = "It was interrupted."
TIMED_OUT = "No answer within {seconds:.0f} seconds."
UNREADABLE = "Its answer could not be read."
REFUSED = "It refused to answer."
NOT_ASKED = "It was not asked: {why}"


class CriticAnswer(msgspec.Struct, frozen=True):
    """The text of an answer, and what it cost."""

    text: str
    usage: TokenUsage
    cost: float | None
    words: str = ""  # why it is not complete


class PlanCritic:
    """Asks the model of `plan.critic` about a plan, once for each digest.

    A request whose process ended before the answer is repeated by its session.
    """

    def __init__(
        self,
        name: str,
        open_model: Callable[[], OpenedModel],
        purse: Budget,
        redact: Callable[[str], str],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`open_model` opens a model whose requests end with the turn."""
        self._name = name
        self._open_model = open_model
        self._purse = purse
        self._redact = redact
        self._timeout_s = timeout_s

    def critique(
        self,
        turn: Turn,
        comments: Comments,
        plan: PlanRecord,
        is_readable: Callable[[bytes], bool],
    ) -> Generator[SessionOutput, None, bool]:
        """Asks about a frozen plan, and records its findings or why there are none.

        What the planning model may not read without asking, the critic does not get. Returns
        whether a person wants no more of it.
        """
        session = turn.record.session
        if not comments.is_critique_due(plan, session):
            return False
        about = (plan.plan_id, plan.digest, self._name)
        ended, is_open = CritiqueEnded(*about, option=plan.option), False
        started = turn.append_events(CritiqueStarted(*about, plan.option))
        try:
            yield from started
            opened = self._open_model()
            if reached := self._purse.check(opened):
                ended = replace(ended, words=NOT_ASKED.format(why=reached.words))
            else:
                parts = comments.targets(plan, is_readable)
                number = comments.request_critique(plan, self._name, session)
                is_open = True
                ended, findings = self._ask(opened, parts, ended, number)
                comments.record_critique(_recorded(ended), findings)
                is_open = False
        except (KeyboardInterrupt, Interrupted):
            ended = replace(ended, words=STOPPED)
        except (AssentError, OSError) as error:
            ended = replace(ended, findings=0, words=self._redact(str(error)))
        if is_open:
            with suppress(AssentError, OSError):  # then it counts as one that did not finish
                comments.record_critique(_recorded(replace(ended, findings=0)), ())
        yield from turn.append_events(ended)
        return ended.words == STOPPED

    def _ask(
        self,
        opened: OpenedModel,
        parts: Sequence[CommentTarget],
        ended: CritiqueEnded,
        number: int,
    ) -> tuple[CritiqueEnded, Sequence[Finding]]:
        """Returns how the critique ends, and its findings; `number` counts those of this plan."""
        room = context_window(opened) * CHARS_PER_TOKEN // READ_SHARE
        told = critic_input(parts, min(MAX_INPUT_CHARS, room))
        text = ChatMessage("user", (TextPart(self._redact(told.text)),))
        prompt = ModelRequest((prompt_text("critic"),), (text,), kind=KIND, turn=number)
        answer = self._answer(opened, prompt)
        ended = replace(
            ended, unread=told.unread, usage=answer.usage, cost=answer.cost, words=answer.words
        )
        if answer.words:
            return ended, ()
        found = parse_findings(self._redact(answer.text), parts)
        if found is None:
            return replace(ended, words=UNREADABLE), ()
        count = len(found.findings)
        return replace(ended, findings=count, dropped=found.dropped), found.findings

    def _answer(self, opened: OpenedModel, prompt: ModelRequest) -> CriticAnswer:
        """Makes one request, which ends after a while; what it used is paid for in any case."""
        left = self._purse.seconds_left()
        seconds = self._timeout_s if left is None else min(self._timeout_s, left)
        token = CancelToken[str]()
        late = TIMED_OUT.format(seconds=seconds)
        timer = Timer(seconds, token.cancel, (late,))
        timer.daemon = True
        timer.start()
        reading = _AnswerReader()
        try:
            reading.read(opened.model, prompt, token)
            words = REFUSED if reading.stop is StopReason.REFUSED else ""
        except (KeyboardInterrupt, Interrupted):
            words = token.reason or STOPPED
        except AssentError as error:
            words = self._redact(error.message)
        finally:
            timer.cancel()
            token.close()
        return CriticAnswer(reading.text, *self._paid(opened, prompt, reading), words)

    def _paid(
        self, opened: OpenedModel, prompt: ModelRequest, reading: "_AnswerReader"
    ) -> tuple[TokenUsage, float | None]:
        """Counts an answer toward the budget; where its tokens are not told, they are guessed."""
        if reading.usage != TokenUsage():
            return reading.usage, self._purse.spend(opened, reading.usage)
        if not reading.began:
            return TokenUsage(), 0.0
        read = sum(map(len, prompt.system)) + _length(prompt.messages)
        guess = TokenUsage(read // CHARS_PER_TOKEN, len(reading.text) // CHARS_PER_TOKEN)
        self._purse.spend(opened, guess, guessed=True)
        return TokenUsage(), None


class _AnswerReader:
    """Reads the answer to one request; `text` and `usage` are what came of it so far."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self.began = False
        self.stop: StopReason | None = None
        self.usage = TokenUsage()

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def read(self, model: Model, prompt: ModelRequest, token: CancelToken[str]) -> None:
        """Reads to the end; raises ModelError, or Interrupted if the request was ended."""
        answers = model.stream(prompt)
        token.attach(answers.close)
        try:
            for answer in answers:
                match answer:
                    case RequestRetried():
                        self._texts.clear()
                        continue
                    case PartCompleted(TextPart(text)):
                        self._texts.append(text)
                    case StreamEnded(stop=stop, usage=usage):
                        self.stop, self.usage, self.began = stop, usage, True
                        return
                    case _:
                        pass
                self.began = True
        finally:
            answers.close()
        raise ModelError("The response ended early.")


def _recorded(ended: CritiqueEnded) -> CritiqueRecorded:
    """Returns what the plan's comments keep of a critique; the session has what it cost."""
    return CritiqueRecorded(
        ended.plan_id, ended.digest, ended.model, ended.findings, ended.dropped, ended.unread,
        ended.words,
    )  # fmt: skip


def _length(messages: tuple[ChatMessage, ...]) -> int:
    parts = [part for message in messages for part in message.parts]
    return sum(len(part.text) for part in parts if isinstance(part, TextPart))
