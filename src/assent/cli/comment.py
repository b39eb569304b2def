"""`assent comment …`: comments on lines of a plan, sent when it is rejected."""

import click

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.stdin import argument_text
from assent.core.errors import UsageError
from assent.core.plan.comment import Comment, PlacedComment, comment_location
from assent.core.plan.operation import matching_operations
from assent.core.plan.record import PlanRecord
from assent.render.comments import (
    comment_lines,
    comment_row,
    comment_rows,
    one_comment_lines,
    part_lines,
)
from assent.render.lines import Line

SEND = "assent reject"  # takes all comments along


@click.group(epilog=examples("assent comment add plan:12 'Which database?'\nassent comment list"))
def comment() -> None:
    """Comment on plan lines; comments are sent when you reject.

    Comments by a critic (`plan.critic`) are listed too; they are sent only if you keep them.
    """


@comment.command(
    epilog=examples(
        "assent comment add plan:12 'Which database?'\n"
        "assent comment add plan:12-15 'Do this first'\n"
        "assent comment add 2:7 'Keep the old name'\n"
        "assent comment add 3f2a 'Why delete this?'"
    )
)
@click.argument("where", metavar="WHERE")
@click.argument("words", metavar="TEXT")
@with_invocation
def add(call: Invocation, where: str, words: str) -> None:
    """Add a comment. WHERE is plan:LINE, plan:FIRST-LAST, or OP:LINE of an operation's diff.

    OP is an operation's number or the start of its id; `assent comment lines OP` shows its lines
    with numbers. Without lines, the comment is on the whole text or operation. It stays pending
    until `assent reject` sends it.
    """
    record, comments = call.record(), call.engine.comments
    anchor = comments.anchor(record, *comment_location(argument_text(where)))
    added = comments.add(record, anchor, argument_text(words))
    _answer(call, added, len(comments.listed(record)))


@comment.command(epilog=examples("assent comment reply 2 'Then use the standard library'"))
@click.argument("reference", metavar="COMMENT")
@click.argument("words", metavar="TEXT")
@with_invocation
def reply(call: Invocation, reference: str, words: str) -> None:
    """Reply to a comment. COMMENT is its number or id. A reply to a critic's keeps it.

    A reply is listed below its comment, and sent with it.
    """
    record, comments = call.record(), call.engine.comments
    added = comments.reply(record, argument_text(reference), argument_text(words))
    _answer(call, added, len(comments.listed(record)))


@comment.command("list", epilog=examples("assent comment list\nassent comment list --json"))
@with_invocation
def list_comments(call: Invocation) -> None:
    """List pending and suggested comments, each under its lines."""
    found = call.engine.comments.placed(call.record())
    call.output.answer({"comments": comment_rows(found)}, comment_lines(found))


@comment.command(epilog=examples("assent comment lines plan\nassent comment lines 2"))
@click.argument("where", metavar="plan|OP")
@with_invocation
def lines(call: Invocation, where: str) -> None:
    """Show the lines you can comment on, with their numbers."""
    part = call.engine.comments.part(call.record(), argument_text(where))
    row = {"operation": part.operation or None, "about": part.about or None, "lines": part.lines}
    shown = [*part_lines(part)] or [Line("plain", "No lines to show.")]
    call.output.answer(row, shown)


@comment.command(epilog=examples("assent comment change 2 'Keep both names'"))
@click.argument("reference", metavar="COMMENT")
@click.argument("words", metavar="TEXT")
@with_invocation
def change(call: Invocation, reference: str, words: str) -> None:
    """Edit a comment. COMMENT is its number or id. A critic's becomes your own."""
    record = call.record()
    number = _number(call, record, reference)
    _answer(
        call,
        call.engine.comments.change(record, argument_text(reference), argument_text(words)),
        number,
    )


@comment.command(epilog=examples("assent comment remove 2\nassent comment remove 01k9zq3v7m"))
@click.argument("reference", metavar="COMMENT")
@with_invocation
def remove(call: Invocation, reference: str) -> None:
    """Remove a comment before it is sent. COMMENT is its number or id."""
    record = call.record()
    number = _number(call, record, reference)
    gone = call.engine.comments.remove(record, argument_text(reference))
    left = len(call.engine.comments.waiting(record))
    rest = "1 pending comment." if left == 1 else f"{left} pending comments."
    call.output.answer(_row(gone, number), [Line("plain", f"Comment removed. {rest}")])


@comment.command(epilog=examples("assent comment keep 1 3\nassent comment keep --all"))
@click.argument("references", metavar="[COMMENT]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Keep all comments by the critic.")
@with_invocation
def keep(call: Invocation, references: tuple[str, ...], every: bool) -> None:
    """Keep comments by the critic, to be sent with yours.

    They are sent when you reject the plan. COMMENT is a number or id of `assent comment list`.
    """
    _decide(call, references, every, kept=True)


@comment.command(epilog=examples("assent comment dismiss 2\nassent comment dismiss --all"))
@click.argument("references", metavar="[COMMENT]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Dismiss all comments by the critic.")
@with_invocation
def dismiss(call: Invocation, references: tuple[str, ...], every: bool) -> None:
    """Dismiss comments by the critic.

    They are no longer shown, to anyone. COMMENT is a number or id of `assent comment list`.
    """
    _decide(call, references, every, kept=False)


def _decide(call: Invocation, references: tuple[str, ...], every: bool, *, kept: bool) -> None:
    """Keeps or dismisses what a critic suggested: the comments that are named, or all of them."""
    if every == bool(references):
        verb = "keep" if kept else "dismiss"
        raise UsageError("Name comments, or use --all.", f"assent comment {verb} --help")
    record, comments = call.record(), call.engine.comments
    numbers = {one.id: number for number, one in enumerate(comments.listed(record), 1)}
    decide = comments.keep if kept else comments.dismiss
    done = decide(record, [argument_text(each) for each in references])
    rows = [_row(one, numbers.get(one.id, 0)) for one in done]
    count = "1 comment" if len(done) == 1 else f"{len(done)} comments"
    told = "kept; sent when you reject" if kept else "dismissed"
    lines = [Line("plain", f"{count} {told}." if done else "No comments by a critic to decide.")]
    if kept and done:
        lines.append(Line("plain", f"Next: {call.of_plan(SEND)}"))
    call.output.answer({"comments": rows}, lines)


def _number(call: Invocation, record: PlanRecord, reference: str) -> int:
    """Returns under which number a list shows a comment; 0 if it is not there."""
    ids = [one.id for one in call.engine.comments.listed(record)]
    found = matching_operations(ids, argument_text(reference))
    return found[0] + 1 if found else 0


def _row(comment: Comment, number: int) -> dict[str, object]:
    return comment_row(number, PlacedComment(comment, comment.anchor, "here"))


def _answer(call: Invocation, comment: Comment, number: int) -> None:
    placed = PlacedComment(comment, comment.anchor, "here")
    lines = [*one_comment_lines(number, placed), Line("plain", f"Next: {call.of_plan(SEND)}")]
    call.output.answer(_row(comment, number), lines)
