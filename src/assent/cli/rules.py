"""`assent rules …`: lists, tests and explains permission rules; revokes remembered answers.

An explanation says which rule, mode or answer decides about a call.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import click

from assent.app.explanation import explain, explain_context, is_known
from assent.app.rules import WorkspaceRules, open_rules, rules_from_file
from assent.app.session import InvocationOptions, SessionOptions, open_session_runtime
from assent.cli.asker import DenyingAsker
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, examples, reference_option
from assent.core.errors import NotFound, UsageError, meant
from assent.core.permission.rule import Grant, PermissionRule, RuleLayer, failed_examples, rule_text
from assent.core.permission.rule_match import ExplainedDecision, RuleMatch, agent_layers
from assent.core.session.agent import Agent, unknown_agent
from assent.core.text.hidden_chars import visible_line
from assent.core.tool import Decision
from assent.render.lines import BLANK, Line, counted, table_lines, wrapped_lines
from assent.render.rows import redacted_row
from assent.render.rules import grant_row, layer_row

# Renders permission rules by layer, and remembered answers.


Fields: TypeAlias = dict[str, Any]

SHORT = 12  # characters of an id in a list
AGES = ((86400, "day"), (3600, "hour"), (60, "minute"))


def rules_lines(layers: Sequence[Fields], grants: Sequence[Fields]) -> Iterator[Line]:
    """Renders layers in their order, and then what is remembered."""
    if not layers:
        but = "remembered answers and the mode decide" if grants else "only the mode decides"
        yield Line("plain", f"No rules; {but}.")
    for layer in layers:
        untrusted = "" if layer["trusted"] else " (untrusted: its allow rules are ignored)"
        yield Line("heading", f"{layer['layer']}{untrusted}")
        yield from table_lines("plain", [_ruled(rule) for rule in layer["rules"]])
        yield BLANK
    yield Line("heading", "Remembered answers")
    if not grants:
        yield Line("plain", "  None.")
        return
    for grant in grants:
        yield from _grant("  ", grant)
    yield Line("plain", "Next: assent rules revoke ID")


def grants_revoked_lines(grants: Sequence[Fields]) -> Iterator[Line]:
    """Renders the remembered answers that were revoked."""
    if not grants:
        yield Line("plain", "Nothing to revoke.")
    for grant in grants:
        yield from _grant("Revoked: ", grant)


def rules_tested_lines(row: Fields) -> Iterator[Line]:
    """Renders how many examples hold, and which do not."""
    for failure in row["failed"]:
        text = f"{failure['source']}: `{failure['rule']}` fails: {failure['why']}."
        yield from wrapped_lines("risk", visible_line(text))
    good = row["examples"] - len(row["failed"])
    of, rules = counted(row["examples"], "example"), counted(row["rules"], "rule")
    verb = "passes" if row["examples"] == 1 else "pass"
    yield Line("plain", f"{good} of {of} {verb}, in {rules}.")


def _grant(sign: str, grant: Fields) -> Iterator[Line]:
    """Renders a remembered answer: for whom, since when, given by whom, and what it covers."""
    mode = f"{grant['custom']} ({grant['mode']})" if grant.get("custom") else grant["mode"]
    session = grant["slug"] or grant["session"][:SHORT]
    reach = f"only in session {session}" if grant["reach"] == "session" else "in this project"
    head = f"{grant['id'][:SHORT]}  {grant['agent']} in {mode} mode, {reach}"
    yield from wrapped_lines("plain", visible_line(f"{sign}{head}"))
    asked = f", to the question {grant['question'][:SHORT]}" if grant["question"] else ""
    by = f" by {grant['user']}" if grant["user"] else ""
    given = f"given {_age(grant['age_s'])} ago ({grant['given_at']}){by}"
    yield from wrapped_lines("plain", visible_line(f"    {given} in session {session}{asked}"))
    for pattern in grant["patterns"]:
        exact = " (exactly)" if pattern["exact"] else ""
        text = f"    {pattern['permission']}: {pattern['pattern']}{exact}"
        yield from wrapped_lines("plain", visible_line(text))


def _age(seconds: int) -> str:
    for size, word in AGES:
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'s' if count != 1 else ''}"
    return "moments"


def _ruled(rule: Fields) -> Sequence[str]:
    """Returns the cells of a rule: what it says, where it stands, and its reason if it has one."""
    text = f"  {rule['permission']}: {rule['pattern']} = {rule['action']}"
    return tuple(map(visible_line, (text, rule["source"], rule["reason"])))


# Renders why a call is allowed, asked or denied, layer by layer.


ExplanationFields: TypeAlias = dict[str, Any]

DECIDED_BY_TEXTS = {
    "mode": "the mode",
    "defaults": "the built-in defaults",
    "grant": "the remembered answer",
    "loop": "the loop guard",
    "scope": "the scope of the approved plan",
    "offer": "the list of available tools",
}


class ExplanationSource(Protocol):
    """What would become of a call."""

    @property
    def decision(self) -> Decision: ...

    @property
    def parts(self) -> Sequence[ExplainedDecision]: ...

    @property
    def tool(self) -> str: ...

    @property
    def note(self) -> str: ...


def explanation_row(found: ExplanationSource) -> ExplanationFields:
    """Returns why something may or may not happen, as JSON shows it."""
    return {
        "tool": found.tool or None,
        "note": found.note or None,
        **_decided(found.decision),
        "parts": [_part(part) for part in found.parts],
    }


def explanation_lines(row: ExplanationFields) -> Iterator[Line]:
    """Renders the verdict, then each thing that was decided about with every layer's opinion."""
    reason = visible_line(row["reason"] or "no objections.")
    yield from wrapped_lines("heading", f"{row['verdict']}: {reason}")
    yield from wrapped_lines("plain", visible_line(_seat(row)))
    if row["note"]:
        yield from wrapped_lines("plain", visible_line(row["note"]))
    for part in row["parts"]:
        yield BLANK
        text = f"{part['permission']}: {part['resource']}"
        yield from wrapped_lines("plain", visible_line(text))
        yield from wrapped_lines(
            "plain", visible_line(f"  {part['verdict']}, decided by {_by(part)}")
        )
        for opinion in part["opinions"]:
            counts = "" if opinion["counts"] else " (ignored: untrusted)"
            said = f"  {opinion['layer']} says {opinion['rule']}{counts}, in {opinion['source']}"
            yield from wrapped_lines("dim", visible_line(said))


def _seat(row: ExplanationFields) -> str:
    mode = row["mode"] if row["mode"] == row["base"] else f"{row['mode']} ({row['base']})"
    where = f", session {row['session']}" if row["session"] else ""
    tool = f", tool {row['tool']}" if row["tool"] else ""
    return f"As agent {row['agent']} in {mode} mode{where}{tool}."


def _by(part: ExplanationFields) -> str:
    """Says who decides; where the mode answers what a rule asks, the rule as well."""
    layer, rule = part["layer"], part["rule"]
    if layer == "mode" and rule:
        return f"the mode, which answers rule {rule}"
    named = DECIDED_BY_TEXTS.get(layer, f"{layer},")
    return f"{named} {rule}" if rule else named.rstrip(",")


def _part(part: ExplainedDecision) -> ExplanationFields:
    request = part.request
    return {
        "permission": request.permission,
        "resource": request.resource,
        **_decided(part.decision),
        "opinions": [_opinion(opinion) for opinion in part.opinions],
    }


def _opinion(opinion: RuleMatch) -> ExplanationFields:
    return {
        "layer": opinion.layer.name,
        "counts": opinion.counts,
        "rule": rule_text(opinion.rule),
        "reason": opinion.rule.reason,
        "source": opinion.rule.source,
    }


def _decided(decision: Decision) -> ExplanationFields:
    return {
        "verdict": decision.verdict.value,
        "reason": decision.reason,
        "layer": decision.layer,
        "rule": decision.rule or None,
    }


# `assent rules explain`: which rule, mode or answer decides about a call.


HELP = "assent rules explain edit src/a.py"


@click.command(
    "explain",
    epilog=examples(
        "assent rules explain bash 'git push origin main'\n"
        "assent rules explain edit src/a.py --mode auto-edit\n"
        "assent rules explain bash 'make test' --session brave-otter --deny 'bash:make *'\n"
        "assent rules explain --tool write src/a.py --agent explore --json"
    ),
)
@click.argument("words", metavar="[PERMISSION] RESOURCE", nargs=-1, required=True)
@click.option("--tool", default="", help="Tool to check instead of a permission.")
@click.option("--mode", default="", help="Mode to use, built-in or custom.")
@click.option("--agent", default="", help="Agent to use (default: the mode's agent).")
@click.option(
    "--session", callback=reference_option, metavar="ID", help="Check as in this session."
)
@click.option("--allow", multiple=True, metavar="RULE", help="Check with this rule added.")
@click.option("--ask", multiple=True, metavar="RULE", help="Check with this rule added.")
@click.option("--deny", multiple=True, metavar="RULE", help="Check with this rule added.")
@with_invocation
def explain_call(
    call: Invocation,
    words: tuple[str, ...],
    tool: str,
    session: str,
    **chosen: tuple[str, ...] | str,
) -> None:
    """Explain whether a call would be allowed, and what decides it.

    Lists the matching rule of each layer. Hooks and the loop guard are not run; nothing is changed.
    """
    word, resource = _about(words, tool)
    mode, agent = str(chosen.pop("mode")), str(chosen.pop("agent"))
    rules = tuple(f"{answer} {rule}" for answer, typed in chosen.items() for rule in typed)
    wanted = SessionOptions(None, agent, choices=InvocationOptions(rules, servers=False))
    with closing(open_session_runtime(call.folder, DenyingAsker(), wanted)) as work:
        seat = explain_context(work, mode, agent, session)
        if tool and not is_known(seat, tool):
            names = sorted(work.tools.dispatcher.names)
            raise UsageError(
                f"Tool {tool!a} not found.{meant(tool, names)} Available: {', '.join(names)}."
            )
        row = {
            "mode": seat.mode,
            "base": seat.context.posture.mode,
            "agent": seat.agent.name,
            "session": seat.record.slug or None,
            **explanation_row(explain(seat, word, resource)),
        }
        call.output.answer(row, explanation_lines(row))
        call.output.warn((*work.warnings, *work.engine.warnings))


def _about(words: tuple[str, ...], tool: str) -> tuple[str, str]:
    """Returns the permission or tool that the call is tested as, and its resource."""
    if len(words) != (1 if tool else 2):
        raise UsageError("Pass a permission and a resource, or --tool and a resource.", HELP)
    return (tool, words[0]) if tool else (words[0], words[1])


@click.group(cls=ListGroup, epilog=examples("assent rules list\nassent rules revoke 01k9zq3v7m"))
def rules() -> None:
    """Manage permission rules and remembered answers."""


@rules.command("list", epilog=examples("assent rules list\nassent rules list --agent build --json"))
@click.option("--agent", default="", help="Include this agent's own rules.")
@with_invocation
def list_rules(call: Invocation, agent: str) -> None:
    """List all rules by layer, and remembered answers."""
    workspace_rules = open_rules(call.folder)
    layers = [layer_row(layer) for layer in _layers(workspace_rules, agent)]
    grants = [_row(call, grant) for grant in call.engine.grants.all()]
    answer = {"layers": layers, "grants": grants}
    call.output.answer(answer, rules_lines(layers, grants))
    call.output.warn(workspace_rules.warnings)


rules.add_command(explain_call)


@rules.command(epilog=examples("assent rules test\nassent rules test team-rules.toml --json"))
@click.argument("file", required=False, default="")
@with_invocation
def test(call: Invocation, file: str) -> int:
    """Test the examples of all rules, or of the rules in FILE.

    Exits with 1 if one fails.
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
@click.argument("reference", metavar="[ID]", required=False, callback=reference_option)
@click.option("--all", "everything", is_flag=True, help="Revoke every remembered answer.")
@with_invocation
def revoke(call: Invocation, reference: str, everything: bool) -> None:
    """Revoke a remembered answer, effective at once.

    ID is its id or the start of it.
    """
    if bool(reference) == everything:
        raise UsageError("Pass one ID or --all.", "assent rules list")
    ids = [grant.id for grant in call.engine.grants.all()] if everything else [reference]
    gone: list[Grant] = [call.engine.grants.revoke(one) for one in ids]
    rows = [_row(call, grant) for grant in gone]
    call.output.answer({"revoked": rows}, grants_revoked_lines(rows))


def _row(call: Invocation, grant: Grant) -> dict[str, object]:
    """Returns a remembered answer with the name of its session, which may no longer exist."""
    try:
        slug = call.engine.sessions.find(grant.session).slug
    except NotFound:
        slug = ""
    return grant_row(redacted_row(grant), slug, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))


def _layers(workspace_rules: WorkspaceRules, agent: str) -> list[RuleLayer]:
    """Returns the layers in the order in which they count."""
    own = agent_layers(_agent(workspace_rules, agent)) if agent else ()
    last = [layer for layer in workspace_rules.policy.layers if layer.name == "command line"]
    before = [layer for layer in workspace_rules.policy.layers if layer not in last]
    return [*before, *own, *last]


def _all(workspace_rules: WorkspaceRules) -> list[PermissionRule]:
    own = [layer for agent in workspace_rules.agents.values() for layer in agent_layers(agent)]
    return [rule for layer in (*workspace_rules.policy.layers, *own) for rule in layer.rules]


def _agent(workspace_rules: WorkspaceRules, name: str) -> Agent:
    if name not in workspace_rules.agents:
        raise unknown_agent(name, workspace_rules.agents)
    return workspace_rules.agents[name]
