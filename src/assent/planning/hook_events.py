"""Tells hooks what happened to plans and runs, and passes on their warnings."""

from collections.abc import Mapping
from typing import Any

from assent.core.plan.record import PlanRecord
from assent.core.session.record import SessionRecord
from assent.planning.ports import Ports
from assent.planning.projections import PlanProjections


def fire_hooks(
    ports: Ports, projections: PlanProjections, on: str, facts: Mapping[str, Any]
) -> None:
    """Tells hooks what was done; they can only add warnings."""
    projections.warnings += ports.hooks.fire(on, facts).warnings


def plan_hook_fields(record: PlanRecord) -> dict[str, Any]:
    """Returns what hooks receive about a plan."""
    return {
        "plan": record.plan_id,
        "name": record.name,
        "digest": record.digest,
        "state": str(record.state),
    }


def session_hook_fields(record: SessionRecord | None) -> dict[str, Any]:
    """Returns what hooks receive about the session in which something was done, if any."""
    if record is None:
        return {}
    return {"session": record.session, "agent": record.agent, "mode": record.mode}
