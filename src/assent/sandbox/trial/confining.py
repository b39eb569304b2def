"""How the self-test's own workspace is confined: like any other, and with Python in sight."""

import os
from collections.abc import Mapping

import msgspec

from assent.sandbox.running.bubblewrap import Bubblewrap
from assent.sandbox.trial.bait import Ground
from assent.sandbox.trial.interpreter import needed
from assent.sandbox.trial.selftest import Confine
from assent.sandbox.trial.site import Runner
from assent.sandbox.view.profile import Profile
from assent.sandbox.view.sight import Sight


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
