"""Tooling: what the calls of a turn work with, as `app` chose it for this machine and person."""

from collections.abc import Mapping

import msgspec

from assent.core.agent import Agent
from assent.ports import Asker, Fetch, Gate, Process, Shell
from assent.tools.toolbox import Toolbox


class Tooling(msgspec.Struct, frozen=True):
    """Tools with their gate, the person who may be asked, the agents, and the settings of both."""

    process: Process
    shell: Shell
    fetch: Fetch
    gate: Gate
    asker: Asker
    toolbox: Toolbox
    agents: Mapping[str, Agent] = {}
    hosts: tuple[str, ...] = ()  # fetch.hosts
    staging: bool = True  # plan.staging
    suggest: bool = False  # plan.suggest
    formats: Mapping[str, tuple[str, ...]] = {}  # format
