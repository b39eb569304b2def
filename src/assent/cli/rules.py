"""`assent rules …`: what may run, is asked or never happens, and what a person said yes to."""

from pathlib import Path
from typing import cast

import click

from assent.app.rules import Rulebook, open_rules, rules_of_file
from assent.cli.call import Call, examples, takes_call
from assent.core.agent import Agent
from assent.core.errors import UsageError
from assent.core.grant import Grant
from assent.core.mode import MODES, Mode, agent_of
from assent.core.rule_tables import rule_text, wrong_examples
from assent.core.rules import Layer, Rule
from assent.core.ruling import OTHERS, agent_layers
from assent.core.tool import PERMISSIONS, Action, Posture, Request
from assent.views.rules import (
    explained_lines,
    explained_row,
    grant_lines,
    grant_row,
    layer_row,
    rules_lines,
    tested_lines,
)

ACTIONS = {
    **{other: action for action, word in PERMISSIONS.items() for other in OTHERS.get(word, ())},
    **{word: action for action, word in PERMISSIONS.items()},
}


@click.group()
def rules() -> None:
    """List, explain and test rules, and take remembered answers back."""


@rules.command("list", epilog=examples("assent rules list\nassent rules list --agent build --json"))
@click.option("--agent", default="", help="Show this agent's own rules, too.")
@takes_call
def list_rules(call: Call, agent: str) -> None:
    """List every layer of rules with its sources and reasons, and the remembered answers."""
    book = open_rules(call.folder)
    layers = [layer_row(layer) for layer in _layers(book, agent)]
    grants = [grant_row(grant) for grant in call.engine.grants.all()]
    answer = {"layers": layers, "grants": grants}
    call.output.answer(answer, rules_lines(layers, grants))
    call.output.warn(book.warnings)


@rules.command(
    epilog=examples(
        "assent rules explain bash 'git push origin main'\n"
        "assent rules explain edit src/a.py --mode auto-edit\n"
        "assent rules explain --tool write src/a.py --agent explore --json"
    )
)
@click.argument("words", metavar="[PERMISSION] RESOURCE", nargs=-1, required=True)
@click.option("--tool", default="", help="Name a tool in place of the permission.")
@click.option("--mode", type=click.Choice(MODES), default=None, help="The mode.")
@click.option("--agent", default="", help="The agent (default: the mode's own).")
@takes_call
def explain(call: Call, words: tuple[str, ...], tool: str, mode: str | None, agent: str) -> None:
    """Say what would happen to a call, which rule of which layer decides, and what others say."""
    request = _request(words, tool)
    book = open_rules(call.folder)
    chosen = cast(Mode, mode or book.mode)
    who = _agent(book, agent or agent_of(chosen))
    grants = tuple(grant for grant in call.engine.grants.all() if grant.reach == "project")
    posture = Posture(chosen, book.hosts, staging=book.staging, agents=(who,), grants=grants)
    decision = book.gate.decide([request], posture)
    row = {
        "mode": chosen,
        "agent": who.name,
        **explained_row(decision, book.gate.explain([request], posture)),
    }
    call.output.answer(row, explained_lines(row))
    call.output.warn(book.warnings)


@rules.command(epilog=examples("assent rules test\nassent rules test team-rules.toml --json"))
@click.argument("file", required=False, default="")
@takes_call
def test(call: Call, file: str) -> int:
    """Check the examples of every rule, or of those in FILE; exit with 1 if one fails."""
    found = rules_of_file(file) if file else _all(open_rules(call.folder, check=False))
    failed = [
        {"rule": rule_text(rule), "source": rule.source, "why": why}
        for rule in found
        for why in wrong_examples(rule, str(Path.home()))
    ]
    count = sum(len(rule.matches) + len(rule.misses) for rule in found)
    row = {"rules": len(found), "examples": count, "failed": failed}
    call.output.answer(row, tested_lines(row))
    return 1 if failed else 0


@rules.command(epilog=examples("assent rules revoke 01k9zq3v7m\nassent rules revoke --all"))
@click.argument("reference", metavar="ID", required=False, default="")
@click.option("--all", "everything", is_flag=True, help="Take every remembered answer back.")
@takes_call
def revoke(call: Call, reference: str, everything: bool) -> None:
    """Take a remembered answer back, by its id or the start of it; it counts at once."""
    if bool(reference) == everything:
        raise UsageError("Name one remembered answer, or say --all.", "assent rules list")
    ids = [grant.id for grant in call.engine.grants.all()] if everything else [reference]
    gone: list[Grant] = [call.engine.grants.revoke(one) for one in ids]
    rows = [grant_row(grant) for grant in gone]
    call.output.answer({"revoked": rows}, list(grant_lines(rows))[: -1 if rows else None])


def _layers(book: Rulebook, agent: str) -> list[Layer]:
    """Returns the layers in the order in which they count."""
    own = agent_layers(_agent(book, agent)) if agent else ()
    last = [layer for layer in book.policy.layers if layer.name == "command line"]
    before = [layer for layer in book.policy.layers if layer not in last]
    return [*before, *own, *last]


def _all(book: Rulebook) -> list[Rule]:
    own = [layer for agent in book.agents.values() for layer in agent_layers(agent)]
    return [rule for layer in (*book.policy.layers, *own) for rule in layer.rules]


def _agent(book: Rulebook, name: str) -> Agent:
    if name not in book.agents:
        known = ", ".join(sorted(book.agents))
        raise UsageError(f"There is no agent {name!a}. There are: {known}.")
    return book.agents[name]


def _request(words: tuple[str, ...], tool: str) -> Request:
    """Returns what a call would touch; a permission that nobody knows is a tool's own word."""
    if len(words) != (1 if tool else 2):
        raise UsageError(
            "Name a permission and what it is about, or --tool and what it is about.",
            "assent rules explain edit src/a.py",
        )
    if tool:
        return _of_tool(tool, words[0])
    permission, resource = words
    if permission in ACTIONS:
        return Request(ACTIONS[permission], resource)
    return Request(Action.TOOL, resource, permission)


def _of_tool(name: str, resource: str) -> Request:
    from assent.tools.table import TOOLS

    actions = {tool.name: tool.action for tool in TOOLS}
    if name not in actions:
        raise UsageError(f"There is no tool {name!a}. There are: {', '.join(sorted(actions))}.")
    return Request(actions[name], resource)
