"""Rules as people read them: the layers, remembered answers, and why something may happen."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from assent.core.grant import Grant
from assent.core.rule_tables import rule_text
from assent.core.rules import Layer, Rule
from assent.core.ruling import Explained, Opinion
from assent.core.tool import Decision
from assent.views.lines import BLANK, Line, table, wrapped
from assent.views.visible import visible_line

Fields: TypeAlias = dict[str, Any]

SHORT = 12  # characters of an id in a list


def layer_row(layer: Layer) -> Fields:
    """Returns a layer as JSON shows it."""
    return {
        "layer": layer.name,
        "trusted": layer.trusted,
        "rules": [rule_row(rule) for rule in layer.rules],
    }


def rule_row(rule: Rule) -> Fields:
    """Returns a rule as JSON shows it."""
    return {
        "permission": rule.permission,
        "pattern": rule.pattern,
        "action": rule.action,
        "reason": rule.reason,
        "source": rule.source,
    }


def grant_row(grant: Grant) -> Fields:
    """Returns a remembered answer as JSON shows it."""
    row: Fields = msgspec.to_builtins(grant)
    return row


def rules_lines(layers: Sequence[Fields], grants: Sequence[Fields]) -> Iterator[Line]:
    """Renders layers in their order, and then what is remembered."""
    if not layers:
        yield Line("plain", "There are no rules; the mode alone decides.")
    for layer in layers:
        untrusted = "" if layer["trusted"] else " (untrusted: what it allows does not count)"
        yield Line("heading", f"{layer['layer']}{untrusted}")
        yield from table("plain", [_ruled(rule) for rule in layer["rules"]])
        yield BLANK
    yield Line("heading", "Remembered answers")
    yield from grant_lines(grants)


def grant_lines(grants: Sequence[Fields]) -> Iterator[Line]:
    """Renders remembered answers: for whom, since when, and what they cover."""
    if not grants:
        yield Line("plain", "  There are none.")
        return
    for grant in grants:
        who = f"{grant['agent']}, {grant['mode']} mode, this {grant['reach']}"
        head = f"  {grant['id'][:SHORT]}  {grant['given_at']}  {who}"
        yield from wrapped("plain", visible_line(head))
        for pattern in grant["patterns"]:
            exact = " (exactly)" if pattern["exact"] else ""
            text = f"    {pattern['permission']}: {pattern['pattern']}{exact}"
            yield from wrapped("plain", visible_line(text))
    yield Line("plain", "Next: assent rules revoke ID")


def explained_row(decision: Decision, parts: Iterable[Explained]) -> Fields:
    """Returns why something may or may not happen, as JSON shows it."""
    return {**_decided(decision), "parts": [_part(part) for part in parts]}


def explained_lines(row: Fields) -> Iterator[Line]:
    """Renders the verdict, then each thing that was decided about with every layer's opinion."""
    yield Line("heading", f"{row['verdict']}: {visible_line(row['reason'] or 'nothing objects.')}")
    for part in row["parts"]:
        yield BLANK
        text = f"{part['permission']}: {part['resource']}"
        yield from wrapped("plain", visible_line(text))
        by = f"by {part['layer']}" + (f", {part['rule']}" if part["rule"] else "")
        yield from wrapped("plain", visible_line(f"  {part['verdict']}, decided {by}"))
        for opinion in part["opinions"]:
            counts = "" if opinion["counts"] else " (does not count: untrusted)"
            said = f"  {opinion['layer']} says {opinion['rule']}{counts}, in {opinion['source']}"
            yield from wrapped("dim", visible_line(said))


def tested_lines(row: Fields) -> Iterator[Line]:
    """Renders how many examples hold, and which do not."""
    for failure in row["failed"]:
        text = f"{failure['source']}: `{failure['rule']}` fails: {failure['why']}."
        yield from wrapped("risk", visible_line(text))
    good = row["examples"] - len(row["failed"])
    yield Line("plain", f"{good} of {row['examples']} examples hold, in {row['rules']} rules.")


def _ruled(rule: Fields) -> Sequence[str]:
    text = f"  {rule['permission']}: {rule['pattern']} = {rule['action']}"
    said = rule["reason"] or rule["source"]
    return (visible_line(text), visible_line(said))


def _part(part: Explained) -> Fields:
    request = part.request
    return {
        "permission": request.permission,
        "resource": request.resource,
        **_decided(part.decision),
        "opinions": [_opinion(opinion) for opinion in part.opinions],
    }


def _opinion(opinion: Opinion) -> Fields:
    return {
        "layer": opinion.layer.name,
        "counts": opinion.counts,
        "rule": rule_text(opinion.rule),
        "reason": opinion.rule.reason,
        "source": opinion.rule.source,
    }


def _decided(decision: Decision) -> Fields:
    return {
        "verdict": decision.verdict.value,
        "reason": decision.reason,
        "layer": decision.layer,
        "rule": decision.rule or None,
    }
