"""How the self-test's own workspace is confined: like any other, and with Python in sight."""

import os
from collections.abc import Callable, Mapping

import msgspec

from assent.sandbox.running.bubblewrap import Bubblewrap
from assent.sandbox.trial.bait import Ground
from assent.sandbox.trial.canaries import PROGRAMS
from assent.sandbox.trial.interpreter import needed
from assent.sandbox.trial.selftest import Confine
from assent.sandbox.trial.site import Runner
from assent.sandbox.trial.surroundings import folders
from assent.sandbox.view.profile import Profile
from assent.sandbox.view.sight import Sight


def bubblewrapped(
    environment: Mapping[str, str], tool: bytes, *, writable: bool = False
) -> Confine:
    """Returns what confines a scratch workspace as a person's would be."""

    def confine(ground: Ground) -> Runner:
        return Bubblewrap(profiles(environment, ground, writable=writable), tool).run

    return confine


def profiles(
    environment: Mapping[str, str], ground: Ground, *, writable: bool = False
) -> Callable[[], Profile]:
    """Returns what makes the profiles of a scratch workspace; a folder there is in its PATH."""
    hidden = [os.fsencode(path) for path in (ground.state, ground.config)]
    programs = str(ground.home / os.path.basename(PROGRAMS))
    # The real home is as private here as the scratch one, should PATH name it.
    usual = [path for path in environment.get("PATH", "").split(":") if not _is_private(path)]
    around = {**environment, "PATH": ":".join([*usual, programs])}
    sight = Sight(os.fsencode(ground.root), os.fsencode(ground.home), hidden, around)

    def profile() -> Profile:
        seen = sight.profile(writable=writable)
        more = [path for path in needed() if path not in seen.shown]
        return msgspec.structs.replace(seen, shown=(*seen.shown, *more))

    return profile


def _is_private(path: str) -> bool:
    return os.path.realpath(path) in folders()
