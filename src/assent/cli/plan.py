"""`assent plan …`: creates, writes, lists, shows and deletes plans."""

from collections.abc import Iterator

import click

from assent.cli.input import read_all
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import WholeNumber, examples
from assent.cli.output import current_time
from assent.cli.pager import colored_text_diff_lines, highlighter
from assent.cli.stdin import argument_text
from assent.core.errors import UsageError
from assent.core.paths import display_path
from assent.core.plan.plan import declaration_problem
from assent.core.plan.record import PlanRecord
from assent.planning.plans import MAX_TEXT
from assent.render.diff import text_diff
from assent.render.lines import BLANK, Line, relative_time, untrusted_lines
from assent.render.rows import Row, plan_row
from assent.render.status import history_lines, plan_lines, plan_list_lines
from assent.render.steps import outline_rows, step_lines


@click.group(epilog=examples("assent plan new greet --goal 'Say hello'\nassent plan list"))
def plan() -> None:
    """Create, write, list, show and delete plans."""


@plan.command(epilog=examples('assent plan new add_login --goal "Let people log in"'))
@click.argument("name")
@click.option(
    "--session", default="", help="Session folder in kebab-case (default: from the goal)."
)
@click.option("--goal", default="", help="What the plan should achieve.")
@with_invocation
def new(call: Invocation, name: str, session: str, goal: str) -> None:
    """Create a plan from the template and make it current."""
    _answer(call, call.engine.plans.new(name, session, argument_text(goal)))


@plan.command(epilog=examples("assent plan write notes.md\nassent plan write - < notes.md"))
@click.argument("file", required=False)
@with_invocation
def write(call: Invocation, file: str | None) -> None:
    """Replace the plan's text with FILE. - is stdin; without FILE, import the edited plan file."""
    content = None if file is None else read_all(call.folder, file, MAX_TEXT)
    record = call.engine.plans.write(call.record(), content)
    if problem := declaration_problem(call.engine.plans.text(record.content_hash)):
        call.engine.warn(f"{problem} The text is saved, but `assent propose` will refuse it.")
    _answer(call, record)


@plan.command("list", epilog=examples("assent plan list\nassent plan list --all --json"))
@click.option("--all", "everything", is_flag=True, help="Include discarded and deleted plans.")
@with_invocation
def list_plans(call: Invocation, everything: bool) -> None:
    """List plans, newest first."""
    records = call.engine.plans.all(everything=everything)
    rows = [_row(call, record) for record in records]
    _list(call, rows)


@plan.command(epilog=examples("assent plan show\nassent plan show --revision 2"))
@click.option(
    "--revision", type=WholeNumber(), metavar="N", help="Show the text of an earlier revision."
)
@with_invocation
def show(call: Invocation, revision: int | None) -> None:
    """Show a plan's status, steps and text."""
    record = call.record()
    if revision is not None:
        _show_revision(call, record, revision)
        return
    call.report_live(record)
    outline = call.engine.reviews.outline(record)
    row = {**_row(call, record), **outline_rows(outline)}
    text = call.engine.reviews.text(record)
    steps = [*step_lines(outline.steps), BLANK] if outline and outline.steps else []
    lines = [*_lines(call, record, row), BLANK, *steps, *_text_lines(call, display_path(text))]
    call.output.answer(row, lines)


def _show_revision(call: Invocation, record: PlanRecord, number: int) -> None:
    """Shows the text of one revision as it was."""
    found = next((each for each in record.revisions if each.n == number), None)
    if found is None:
        raise UsageError(f"Revision {number} not found.", "assent plan history")
    text = display_path(call.engine.plans.text(found.content_hash))
    row = {"revision": number, "at": found.at, "content_hash": found.content_hash, "text": text}
    call.output.answer(row, _text_lines(call, text))


def _text_lines(call: Invocation, text: str) -> Iterator[Line]:
    colors = highlighter(in_color=call.output.in_color)
    return colors.text_lines(text) if colors else untrusted_lines(text)


@plan.command(epilog=examples("assent plan use add_login"))
@click.argument("reference", metavar="ID")
@with_invocation
def use(call: Invocation, reference: str) -> None:
    """Make a plan current. By id, start of an id, name, session/name or path."""
    _answer(call, call.engine.plans.use(reference))


@plan.command(epilog=examples("assent plan history\nassent plan history --diff 1 2"))
@click.option("--diff", nargs=2, type=WholeNumber(), metavar="A B", help="Compare two revisions.")
@with_invocation
def history(call: Invocation, diff: tuple[int, int] | None) -> None:
    """Show the revisions of a plan's text, or compare two."""
    record = call.record()
    rows = [{"n": r.n, "at": r.at, "content_hash": r.content_hash} for r in record.revisions]
    if diff is None:
        call.output.answer({"revisions": rows}, history_lines(record.revisions))
        return
    hashes = {r.n: r.content_hash for r in record.revisions}
    missing = [n for n in diff if n not in hashes]
    if missing:
        raise UsageError(f"Revision {missing[0]} not found.", "assent plan history")
    one, other = (call.engine.plans.text(hashes[n]) for n in diff)
    patch = text_diff(one, other, f"revision {diff[0]}", f"revision {diff[1]}")
    lines = colored_text_diff_lines(patch, highlighter(in_color=call.output.in_color))
    call.output.answer({"revisions": rows, "diff": patch}, lines)


@plan.command(
    epilog=examples("assent plan delete --plan add_login\nassent plan delete --session login")
)
@click.option("--session", default="", help="Delete all plans of a session.")
@with_invocation
def delete(call: Invocation, session: str) -> None:
    """Delete a plan, or all plans of a session, with their files. Runs can still be undone."""
    if bool(call.plan) == bool(session):
        raise UsageError("Pass --plan ID or --session S.", "assent plan list")
    plans = call.engine.plans
    records = [plans.find(call.plan)] if call.plan else plans.of_session(session)
    rows = [_row(call, record) for record in plans.delete(records)]
    _list(call, rows)


def _list(call: Invocation, rows: list[Row]) -> None:
    moment = current_time()
    lines = plan_list_lines(rows, lambda at: relative_time(at, moment))
    call.output.answer({"plans": rows}, lines)


def _row(call: Invocation, record: PlanRecord) -> Row:
    return plan_row(record, approved=call.engine.approvals.is_approved(record))


def _answer(call: Invocation, record: PlanRecord) -> None:
    row = {**_row(call, record), **outline_rows(call.engine.reviews.outline(record))}
    call.output.answer(row, _lines(call, record, row))


def _lines(call: Invocation, record: PlanRecord, row: Row) -> Iterator[Line]:
    of = call.engine.plans.reference(record, current=False)
    return plan_lines(row, call.engine.reviews.next_command(record), of)
