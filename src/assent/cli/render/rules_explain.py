"""Renders why a call is allowed, asked or denied, layer by layer."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from assent.core.permission.rule import rule_text
from assent.core.permission.rule_match import ExplainedDecision, RuleMatch
from assent.core.text.hidden_chars import visible_line
from assent.core.tool import Decision
from assent.render.lines import BLANK, Line, wrapped_lines

ExplanationFields: TypeAlias = dict[str, Any]

DECIDED_BY_TEXTS = {
    "mode": "the mode",
    "defaults": "what holds in every mode",
    "grant": "the remembered answer",
    "loop": "the loop guard",
    "scope": "the scope of the approved plan",
    "offer": "which tools there are",
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
    reason = visible_line(row["reason"] or "nothing objects.")
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
            counts = "" if opinion["counts"] else " (does not count: untrusted)"
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
        return f"the mode, which answers the rule {rule}"
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
