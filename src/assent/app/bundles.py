"""Opens the services for bundles and for evidence of runs, which few commands need."""

from assent.app.engine import Engine
from assent.planning.bundles import Bundles
from assent.runs.evidence import RunEvidence


def open_bundles(engine: Engine, file: str = "") -> Bundles:
    """Returns the verbs about plans that are made here and applied elsewhere, or the reverse.

    `file` is how a person would type the name of the one that they are about.
    """
    parts = engine.planning_services
    found = Bundles(parts.ports, parts.config, parts.plans, parts.approvals, parts.reviews)
    found.file = file or found.file
    return found


def open_evidence(engine: Engine) -> RunEvidence:
    """Returns the verbs about evidence of a run."""
    return RunEvidence(engine.planning_services.ports, engine.planning_services.plans)
