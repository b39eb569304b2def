"""`assent memory …`: lists and forgets facts that every session in this workspace gets."""

import click

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, examples
from assent.render.rows import redacted_row
from assent.render.sessions import memory_lines


@click.group(cls=ListGroup, epilog=examples("assent memory list\nassent memory forget 01k9zq3v7m"))
def memory() -> None:
    """List and forget what models remembered about this workspace."""


@memory.command("list", epilog=examples("assent memory list\nassent memory list --json"))
@with_invocation
def list_facts(call: Invocation) -> None:
    """List remembered facts, oldest first."""
    facts = redacted_row(call.engine.memory.all())
    rows = [{"fact": fact.fact, "text": fact.text} for fact in facts]
    call.output.answer({"facts": rows}, memory_lines(facts))


@memory.command(epilog=examples("assent memory forget 01k9zq3v7m"))
@click.argument("reference", metavar="ID")
@with_invocation
def forget(call: Invocation, reference: str) -> None:
    """Forget a fact, by its id or the start of it."""
    fact = redacted_row(call.engine.memory.forget(reference))
    call.output.answer({"fact": fact.fact, "text": fact.text}, memory_lines([fact]))
