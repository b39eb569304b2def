"""Endpoints about questions: what models and permissions wait for, and how people answer."""

from typing import TYPE_CHECKING, Any

import msgspec

from assent.core.errors import DigestMismatch, NotFound
from assent.core.session.event import MessageQueued
from assent.core.session.question import PendingQuestion, QuestionReply
from assent.core.session.record import is_turn_owed
from assent.render.question_answers import (
    answered_row,
    confirmed_patterns,
    granted_scope,
    is_by_model,
    is_denial,
    read_answers,
)
from assent.render.questions import pending_question_row
from assent.render.rows import Row, redacted_row
from assent.web.answers import AnsweredQuestionAnswer, QuestionAnswer, QuestionsAnswer
from assent.web.endpoint import ApiCall, Endpoint, Nothing

if TYPE_CHECKING:
    from assent.app.engine import Engine


class QuestionListQuery(msgspec.Struct, frozen=True):
    """Which questions are listed: open ones, or with `all` every one."""

    workspace: str = ""
    all: bool = False


class GivenAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer to a question under the digest it was shown with.

    `answer` is yes, session, project, unconfined or no for a permission, else an option's label or
    number or free text; one for each part. `text` denies and tells the model why. `pattern` names
    what is to be remembered.
    """

    digest: str
    answer: str | list[str] = ""
    pattern: str | list[str] = []
    text: str = ""


def list_questions(call: ApiCall[QuestionListQuery, Nothing]) -> Row:
    """Lists the questions that wait for an answer, oldest first."""
    rows: list[Row] = []
    for engine in call.server.engines(call.query.workspace):
        asked = engine.pending_questions
        found = redacted_row(asked.pending(every=call.query.all))
        rows += [
            {"workspace": engine.workspace, **pending_question_row(one, asked.clock.now())}
            for one in found
        ]
    return {"questions": sorted(rows, key=lambda row: str(row["asked_at"]))}


def show_question(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows one question, open or not."""
    engine, pending = _find(call)
    row = pending_question_row(redacted_row(pending), engine.pending_questions.clock.now())
    return {"workspace": engine.workspace, **row}


def answer(call: ApiCall[Nothing, GivenAnswer]) -> Row:
    """Answers a question, once. The session goes on when none of its questions is open.

    Permissions need an approver; questions of a model need an author.
    """
    engine, pending = _find(call)
    asked, waits = pending.inquiry.asked, engine.pending_questions
    given = call.body
    if not is_by_model(asked):
        call.check("approver", decides=False)
    waits.check_open(pending.inquiry)
    if given.digest != asked.digest:
        raise DigestMismatch(
            "This is not the digest of the question. Nothing was answered.",
            f"GET /api/v1/questions/{pending.id}",
        )
    words = [given.answer] if isinstance(given.answer, str) else given.answer
    answers = ((given.text,),) if given.text else read_answers(asked, words)
    by = f"{waits.user} ({call.by})"
    reply = QuestionReply(answers, by)
    if not is_denial(asked, answers) and not is_by_model(asked):
        call.check("approver", decides=True)
        if granted_scope(asked, answers):
            named = [given.pattern] if isinstance(given.pattern, str) else given.pattern
            always = confirmed_patterns(asked.questions[0].always, named)
            reply = QuestionReply(answers, by, always, waits.clock.new_id())
    done = waits.answer(pending.id, asked.digest, reply)
    left = [each for each in waits.pending() if each.root.session == pending.root.session]
    at_work = engine.sessions.is_at_work(pending.root)
    if not left and not at_work:
        _go_on(call, engine, pending)
    return {
        "workspace": engine.workspace,
        **answered_row(pending, done, len(left), at_work=at_work, next=""),
    }


def _go_on(call: ApiCall[Nothing, GivenAnswer], engine: "Engine", pending: PendingQuestion) -> None:
    """Has the session above a question go on; it is on record, so that a restart does it, too."""
    root = engine.sessions.load(pending.root.session)
    if is_turn_owed(root) and not root.halt:
        engine.message_queues.add(root, MessageQueued("", user=call.by))
        call.server.work(engine, root)


def _find(call: ApiCall[Any, Any]) -> "tuple[Engine, PendingQuestion]":
    id = call.path["question"]
    for engine in call.server.engines():
        try:
            found = engine.pending_questions.find(id)
        except NotFound:
            continue
        if found.id == id:
            return engine, found
    raise NotFound(f"There is no question {id!a} in the workspaces that are served.")


ENDPOINTS = (
    Endpoint("GET", "/questions", "Questions that wait", "viewer", list_questions,
             QuestionListQuery, answer=QuestionsAnswer),
    Endpoint("GET", "/questions/{question}", "A question", "viewer", show_question,
             answer=QuestionAnswer),
    Endpoint("POST", "/questions/{question}/answer", "Answer a question", "author", answer,
             body=GivenAnswer, answer=AnsweredQuestionAnswer),
)  # fmt: skip
