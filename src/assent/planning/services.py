"""The planning services that other services are built from, for `app`."""

import msgspec

from assent.planning.approvals import Approvals
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.reviews import Reviews


class PlanningServices(msgspec.Struct, frozen=True):
    """What `app` builds further services from."""

    ports: Ports
    config: WorkspaceConfig
    plans: Plans
    approvals: Approvals
    reviews: Reviews
