"""How the self-test's own workspace is confined: like any other, and with Python in sight."""

import os
from collections.abc import Mapping

import msgspec

from assent.sandbox.bait import Ground
from assent.sandbox.bubblewrap import Bubblewrap
from assent.sandbox.interpreter import needed
from assent.sandbox.profile import Profile
from assent.sandbox.selftest import Confine
from assent.sandbox.sight import Sight
from assent.sandbox.site import Runner


def bubblewrapped(environment: Mapping[str, str], tool: bytes) -> Confine:
    """Returns what confines a scratch workspace as a person's would be."""

    def confine(ground: Ground) -> Runner:
        hidden = [os.fsencode(path) for path in (ground.state, ground.config)]
        sight = Sight(os.fsencode(ground.root), os.fsencode(ground.home), hidden, environment)

        def profile() -> Profile:
            usual = sight.profile()
            more = [path for path in needed() if path not in usual.shown]
            return msgspec.structs.replace(usual, shown=(*usual.shown, *more))

        return Bubblewrap(profile, tool).run

    return confine
