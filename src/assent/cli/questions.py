"""`assent questions …`: lists, shows and answers open questions."""

from functools import partial
from shlex import quote
from typing import Any, NamedTuple

import click

from assent.cli.approval_prompt import not_approved_text
from assent.cli.asker import TerminalAsker
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, examples
from assent.cli.output import ansi, want_color
from assent.cli.stdin import argument_text, is_stdin_silent, read_piped
from assent.cli.terminal import ask_for_digest, has_terminal
from assent.core.errors import Declined, DigestMismatch, UsageError
from assent.core.permission.rule import GrantScope, PermissionPattern
from assent.core.session.event import Question, QuestionAsked
from assent.core.session.question import (
    AcceptedAnswer,
    PendingQuestion,
    QuestionAnswers,
    QuestionReply,
    grant_confirmation,
    grant_text,
    read_permission_answer,
    yes_no_question,
)
from assent.render.question_answers import (
    answered_row,
    confirmed_patterns,
    granted_scope,
    is_by_model,
    is_denial,
    read_answers,
)
from assent.render.questions import (
    Row,
    answer_given_lines,
    pending_question_lines,
    pending_question_list_lines,
    pending_question_row,
    your_answer_lines,
)
from assent.render.rows import redacted_row

TERMINAL, DIGEST, COMMAND = "terminal", "digest", "command line"
MAX_ANSWER_BYTES = 1 << 16  # bytes of stdin
STDIN_TIMEOUT_S = 3.0  # for a first byte of it, where there is a terminal to ask on


class _ParsedAnswer(NamedTuple):
    """A positive answer on the command line: as typed, its meaning, what would be remembered."""

    said: tuple[str, ...]
    answers: QuestionAnswers
    reach: GrantScope | None
    always: tuple[PermissionPattern, ...]
    grant: str


@click.group(
    cls=ListGroup, epilog=examples("assent questions list\nassent questions answer 01k9zq3v7m yes")
)
def questions() -> None:
    """List, show and answer pending questions."""


@questions.command(
    "list", epilog=examples("assent questions list\nassent questions list --all --json")
)
@click.option("--all", "every", is_flag=True, help="Include answered and expired questions.")
@with_invocation
def list_questions(call: Invocation, every: bool) -> None:
    """List pending questions of all sessions, oldest first. Includes child sessions."""
    asked = call.engine.pending_questions
    waiting = redacted_row(asked.pending(every=every))
    rows = [pending_question_row(one, asked.clock.now()) for one in waiting]
    call.output.answer({"questions": rows}, pending_question_list_lines(rows))


@questions.command(epilog=examples("assent questions show 01k9zq3v7m"))
@click.argument("reference", metavar="ID")
@with_invocation
def show(call: Invocation, reference: str) -> None:
    """Show a question in full, with everything that it would allow."""
    asked = call.engine.pending_questions
    pending = redacted_row(asked.find(reference))  # `answer` shows it exactly, on the terminal
    row = pending_question_row(pending, asked.clock.now())
    call.output.answer(row, pending_question_lines(pending, row))


@questions.command(
    epilog=examples(
        "assent questions answer 01k9zq3v7m\n"
        "assent questions answer 01k9zq3v7m yes\n"
        "assent questions answer 01k9zq3v7m no --words 'Use the other file'\n"
        "assent questions answer 01k9zq3v7m session --pattern 'git status *' --digest 3f2a..."
    )
)
@click.argument("reference", metavar="ID")
@click.argument("said", metavar="[ANSWER]...", nargs=-1)
@click.option("--words", default="", help="Answer no and tell the model why.")
@click.option("--digest", default="", help="Digest to approve; must match the question's.")
@click.option(
    "--pattern", "patterns", multiple=True, help="Pattern to remember; repeat for each one."
)
@with_invocation
def answer(call: Invocation, reference: str, said: tuple[str, ...], **options: Any) -> None:
    """Answer a question. Yes, session, project, unconfined or no; free text for a model's.

    Without ANSWER you are asked on the terminal. To allow needs a terminal, or the full digest if
    `approve.without_terminal` is set; to deny needs neither. Questions from a model need no
    terminal: you can also pipe the answers to stdin, one line per part.
    """
    asked = call.engine.pending_questions
    pending = asked.find(reference)
    asked.check_open(pending.inquiry)
    wanted, digest = pending.inquiry.asked.digest, argument_text(options["digest"])
    if digest and not wanted.startswith(digest):
        raise DigestMismatch(
            f"The question's digest is {wanted}, not {digest}.",
            f"assent questions show {pending.id}",
        )
    reply = _reply(call, pending, said, options)
    given = asked.answer(pending.id, wanted, reply)
    row = _given_row(call, pending, given)
    call.output.answer(row, answer_given_lines(row))


def _reply(
    call: Invocation, pending: PendingQuestion, said: tuple[str, ...], options: dict[str, Any]
) -> QuestionReply:
    """Returns the answer, with the channel through which the user approved."""
    asked = pending.inquiry.asked
    words = argument_text(options["words"])
    if not said and not words and is_by_model(asked):
        said = _piped(call, asked)
    if not said and not words:
        return _asked(call, pending)
    answers = ((words,),) if words else read_answers(asked, [argument_text(word) for word in said])
    if words and said not in ((), ("no",)):
        raise UsageError(
            "--words can only be used with no.", f"assent questions answer {pending.id} no"
        )
    if is_denial(asked, answers) or is_by_model(asked):
        return QuestionReply(answers, _by(call, COMMAND))
    reach = granted_scope(asked, answers)
    always = asked.questions[0].always if reach else ()
    meant = _ParsedAnswer(
        said, answers, reach, always, call.engine.pending_questions.clock.new_id()
    )
    channel = _channel(call, pending, meant, argument_text(options["digest"]))
    confirmed = (
        always
        if channel == TERMINAL
        else confirmed_patterns(always, [argument_text(each) for each in options["patterns"]])
    )
    return QuestionReply(answers, _by(call, channel), confirmed, meant.grant)


def _asked(call: Invocation, pending: PendingQuestion) -> QuestionReply:
    """Asks on the terminal, as the session itself would; what is to be remembered twice."""
    asked, waits = pending.inquiry.asked, call.engine.pending_questions
    again = f"assent questions answer {asked.id} yes --digest {asked.digest}"
    if call.no_input or not has_terminal():
        raise Declined(not_approved_text(call, "Not answered; the question stays open."), again)

    def heard(*parts: Question) -> QuestionAnswers:
        gone = partial(waits.answered_elsewhere, pending.session, pending.id)
        answers = TerminalAsker().ask(parts, gone)
        if answers is None or len(answers) != len(parts):
            found = waits.find(pending.id)
            waits.check_open(found.inquiry)
            raise Declined("No answer; the question stays open.", again)
        return answers

    answers = heard(*asked.questions)
    reach = granted_scope(asked, answers)
    if not reach:
        return QuestionReply(answers, _by(call, TERMINAL))
    new = waits.clock.new_id()
    if not read_permission_answer(
        yes_no_question("", ""), heard(grant_confirmation(asked, reach, new))
    ).yes:
        raise Declined("Not confirmed; the question stays open.", again)
    return QuestionReply(answers, _by(call, TERMINAL), asked.questions[0].always, new)


def _channel(call: Invocation, pending: PendingQuestion, meant: _ParsedAnswer, digest: str) -> str:
    """Gets the user's approval of a question's digest, as `approve` does (law 9)."""
    asked = pending.inquiry.asked
    if digest == asked.digest and call.without_terminal:
        return DIGEST
    if not call.no_input:
        row = pending_question_row(pending, call.engine.pending_questions.clock.now())
        follows = ""
        if meant.reach:
            follows = grant_text(asked, meant.reach, meant.grant, asked.questions[0].always)
        lines = pending_question_lines(pending, row, choosing=False)
        yours = your_answer_lines(meant.answers, follows)
        if ask_for_digest(ansi([*lines, *yours], color=want_color()), asked.digest):
            return TERMINAL
    named = [f"--pattern {quote(each.pattern)}" for each in meant.always]
    words = [asked.id, *map(quote, meant.said), "--digest", asked.digest, *named]
    why = not_approved_text(call, "Not answered; the question stays open.")
    raise Declined(why, f"assent questions answer {' '.join(words)}")


def _piped(call: Invocation, asked: QuestionAsked) -> tuple[str, ...]:
    """Returns the answers that come on stdin, a line for each part; none where one can be asked."""
    there = has_terminal() and not call.no_input
    content = "" if there and is_stdin_silent(STDIN_TIMEOUT_S) else read_piped(MAX_ANSWER_BYTES)[0]
    if there and not content.strip():
        return ()
    if not content.strip():
        why = "Not answered; the question stays open. No terminal, and no input on stdin."
        answers = " ".join(["'YOUR ANSWER'"] * len(asked.questions))
        raise Declined(why, f"assent questions answer {asked.id} {answers}")
    return (content.strip(),) if len(asked.questions) == 1 else tuple(content.splitlines())


def _by(call: Invocation, channel: str) -> str:
    return f"{call.engine.pending_questions.user} ({channel})"


def _given_row(call: Invocation, pending: PendingQuestion, given: AcceptedAnswer) -> Row:
    root, asked = pending.root, call.engine.pending_questions
    left = [each for each in asked.pending() if each.root.session == root.session]
    at_work = call.engine.sessions.is_at_work(root)
    way_on = "" if at_work else f"assent -r {root.slug}"
    return answered_row(pending, given, len(left), at_work=at_work, next=way_on)
