"""How the self-test's own workspace is confined: like any other, and with Python in sight."""

import os
from collections.abc import Callable, Mapping

import msgspec

from assent.sandbox.profile.builder import ProfileBuilder
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.selftest.canaries import PROGRAMS
from assent.sandbox.selftest.decoy_plan import SelfTestPaths
from assent.sandbox.selftest.host_paths import private_folders
from assent.sandbox.selftest.interpreter import interpreter_folders
from assent.sandbox.selftest.probe_environment import PipelineRunner
from assent.sandbox.selftest.selftest import ConfinementFactory


def bubblewrap_confinement(
    environment: Mapping[str, str], tool: bytes, *, writable: bool = False
) -> ConfinementFactory:
    """Returns what confines a scratch workspace as a person's would be."""

    def confine(ground: SelfTestPaths) -> PipelineRunner:
        return BubblewrapRunner(profile_factory(environment, ground, writable=writable), tool).run

    return confine


def profile_factory(
    environment: Mapping[str, str], ground: SelfTestPaths, *, writable: bool = False
) -> Callable[[], SandboxProfile]:
    """Returns what makes the profiles of a scratch workspace; a folder there is in its PATH."""
    hidden = [os.fsencode(path) for path in (ground.state, ground.config)]
    programs = str(ground.home / os.path.basename(PROGRAMS))
    # The real home is as private here as the scratch one, should PATH name it.
    usual = [path for path in environment.get("PATH", "").split(":") if not _is_private(path)]
    around = {**environment, "PATH": ":".join([*usual, programs])}
    sight = ProfileBuilder(os.fsencode(ground.root), os.fsencode(ground.home), hidden, around)

    def profile() -> SandboxProfile:
        seen = sight.profile(writable=writable)
        more = [path for path in interpreter_folders() if path not in seen.shown]
        return msgspec.structs.replace(seen, shown=(*seen.shown, *more))

    return profile


def _is_private(path: str) -> bool:
    return os.path.realpath(path) in private_folders()
