"""The decoy plan: nobody approved it, and a probe tries to, by its digest alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec


class SelfTestPaths(msgspec.Struct, frozen=True):
    """Where a scratch workspace and the folders of its user lie."""

    root: Path
    home: Path
    state: Path
    config: Path


class DecoyPlan(msgspec.Struct, frozen=True):
    """The digest to approve, the variables that lead to its state, and whether it is approved."""

    digest: str
    environment: Mapping[str, str]
    approved: Callable[[], bool]


DecoyPlanMaker: TypeAlias = Callable[[SelfTestPaths], DecoyPlan]
