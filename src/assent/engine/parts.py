"""The parts of an engine that verbs of other nouns are made of, where few commands need them."""

import msgspec

from assent.engine.doors import Doors, Place
from assent.engine.plan.consents import Consents
from assent.engine.plan.plans import Plans
from assent.engine.plan.reviews import Reviews


class Parts(msgspec.Struct, frozen=True):
    """What `app` makes further nouns of."""

    ports: Doors
    config: Place
    plans: Plans
    approvals: Consents
    reviews: Reviews
