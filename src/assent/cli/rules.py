"""`assent rules …`: lists and tests permission rules, and revokes remembered answers."""

import time
from pathlib import Path

import click

from assent.app.rules import WorkspaceRules, open_rules, rules_from_file
from assent.cli.invocation import Invocation, examples, reference_option, with_invocation
from assent.cli.render.rules import (
    grant_row,
    grants_revoked_lines,
    layer_row,
    rules_lines,
    rules_tested_lines,
)
from assent.cli.rules_explain import explain_call
from assent.core.errors import NotFound, UsageError
from assent.core.permission.rule import Grant, PermissionRule, RuleLayer, failed_examples, rule_text
from assent.core.permission.rule_match import agent_layers
from assent.core.session.agent import Agent
from assent.render.redaction import redacted_row


@click.group(epilog=examples("assent rules list\nassent rules revoke 01k9zq3v7m"))
def rules() -> None:
    """List, explain and test rules, and take remembered answers back."""


@rules.command("list", epilog=examples("assent rules list\nassent rules list --agent build --json"))
@click.option("--agent", default="", help="Show this agent's own rules, too.")
@with_invocation
def list_rules(call: Invocation, agent: str) -> None:
    """List all rules by layer, and remembered answers."""
    book = open_rules(call.folder)
    layers = [layer_row(layer) for layer in _layers(book, agent)]
    grants = [_row(call, grant) for grant in call.engine.grants.all()]
    answer = {"layers": layers, "grants": grants}
    call.output.answer(answer, rules_lines(layers, grants))
    call.output.warn(book.warnings)


rules.add_command(explain_call)


@rules.command(epilog=examples("assent rules test\nassent rules test team-rules.toml --json"))
@click.argument("file", required=False, default="")
@with_invocation
def test(call: Invocation, file: str) -> int:
    """Check the examples of every rule, or of FILE's.

    It exits with 1 if one fails.
    """
    found = rules_from_file(file) if file else _all(open_rules(call.folder, check=False))
    failed = [
        {"rule": rule_text(rule), "source": rule.source, "why": why}
        for rule in found
        for why in failed_examples(rule, str(Path.home()))
    ]
    count = sum(len(rule.matches) + len(rule.misses) for rule in found)
    row = {"rules": len(found), "examples": count, "failed": failed}
    call.output.answer(row, rules_tested_lines(row))
    return 1 if failed else 0


@rules.command(epilog=examples("assent rules revoke 01k9zq3v7m\nassent rules revoke --all"))
@click.argument("reference", metavar="ID", required=False, callback=reference_option)
@click.option("--all", "everything", is_flag=True, help="Take every remembered answer back.")
@with_invocation
def revoke(call: Invocation, reference: str, everything: bool) -> None:
    """Take a remembered answer back; it counts at once.

    It is named by its id or the start of it.
    """
    if bool(reference) == everything:
        raise UsageError("Name one remembered answer, or say --all.", "assent rules list")
    ids = [grant.id for grant in call.engine.grants.all()] if everything else [reference]
    gone: list[Grant] = [call.engine.grants.revoke(one) for one in ids]
    rows = [_row(call, grant) for grant in gone]
    call.output.answer({"revoked": rows}, grants_revoked_lines(rows))


def _row(call: Invocation, grant: Grant) -> dict[str, object]:
    """Returns a remembered answer with the name of its session, which may be gone by now."""
    try:
        slug = call.engine.sessions.find(grant.session).slug
    except NotFound:
        slug = ""
    return grant_row(redacted_row(grant), slug, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))


def _layers(book: WorkspaceRules, agent: str) -> list[RuleLayer]:
    """Returns the layers in the order in which they count."""
    own = agent_layers(_agent(book, agent)) if agent else ()
    last = [layer for layer in book.policy.layers if layer.name == "command line"]
    before = [layer for layer in book.policy.layers if layer not in last]
    return [*before, *own, *last]


def _all(book: WorkspaceRules) -> list[PermissionRule]:
    own = [layer for agent in book.agents.values() for layer in agent_layers(agent)]
    return [rule for layer in (*book.policy.layers, *own) for rule in layer.rules]


def _agent(book: WorkspaceRules, name: str) -> Agent:
    if name not in book.agents:
        known = ", ".join(sorted(book.agents))
        raise UsageError(f"There is no agent {name!a}. There are: {known}.")
    return book.agents[name]
