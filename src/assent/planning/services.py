"""The parts of an engine that verbs of other nouns are made of, where few commands need them."""

import msgspec

from assent.planning.approvals import Approvals
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.reviews import Reviews


class PlanningServices(msgspec.Struct, frozen=True):
    """What `app` makes further nouns of."""

    ports: Ports
    config: WorkspaceConfig
    plans: Plans
    approvals: Approvals
    reviews: Reviews
