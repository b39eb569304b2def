"""One line about a permission decision: who decided, by which rule, why, and the answer."""

from assent.core.session.question import PermissionAnswer
from assent.tools.dispatcher import ToolCallResult


def decision_line(settled: ToolCallResult) -> str:
    """Says on one line who decided about a call, by which rule, and why."""
    decision = settled.decision
    if decision is None:
        return ""
    by = f"{decision.layer} ({decision.rule})" if decision.rule else decision.layer
    answer = f"; {answer_line(settled.consent)}" if settled.consent is not None else ""
    return f"{by}: {decision.reason}{answer}" if decision.reason else f"{by}{answer}"


def answer_line(consent: PermissionAnswer) -> str:
    """Says what was answered, and by whom if anybody did."""
    if consent.yes:
        return "the person said yes"
    if consent.words:
        return f"the person said no, in these words: {' '.join(consent.words.split())}"
    if consent.plain:
        return f"the person did not say yes: {consent.why.removesuffix('.')}"
    if consent.later:
        return "nobody has answered yet"
    return "nobody was there to answer"
