"""Opens the scratch copies of a workspace."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from assent.app.engine import Engine
from assent.app.ports import SCRATCH, folder_name
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.app.shell import open_scratch_process
from assent.config.paths import AppPaths, private_paths
from assent.core.errors import Busy
from assent.core.paths import normalize
from assent.core.plan.record import PlanState
from assent.core.scratch import (
    ScratchBackendName,
    ScratchDraft,
    ScratchLimits,
    scratch_draft,
)

if TYPE_CHECKING:
    from assent.sandbox.scratch.backend import ScratchCopies

UNBUILT = (PlanState.DRAFTING, PlanState.AWAITING_APPROVAL)
ContentReader: TypeAlias = Callable[[str], Iterator[bytes]]  # of a digest, in pieces
_MEBIBYTE = 1 << 20


def open_scratch(folder: str) -> "ScratchCopies":
    """Opens the copies of the workspace around a folder."""
    here = user_paths()
    return open_scratch_at(folder, here, here.state)


def open_scratch_at(
    folder: str, here: AppPaths, known: Path, only: ScratchBackendName | None = None
) -> "ScratchCopies":
    """Opens the copies with given folders; self-test results are stored in the folder `known`."""
    from assent.sandbox.scratch.backend import ScratchCopies
    from assent.sandbox.scratch.caches import cache_variables
    from assent.sandbox.scratch.choice import scratch_places
    from assent.sandbox.scratch.scratch import CopyPaths

    _, root = locate_workspace(folder)
    settings = load_settings(root, here, lenient=True).settings
    scratch = settings.scratch
    limits = ScratchLimits(
        scratch.max_mb * _MEBIBYTE, scratch.reserve_mb * _MEBIBYTE, scratch.keep_days
    )
    private = private_paths(here, root, Path.home() / ".config" / "opencode")
    plans = normalize(os.fsencode(settings.plan.dir))
    return ScratchCopies(
        CopyPaths(root, (plans,), private),
        scratch_places(os.fsencode(here.state), folder_name(root)),
        limits,
        lambda: open_scratch_process(root, here, known, settings),
        cache_variables(os.fsencode(Path.home()), os.environ),
        only,
    )


def refused_cache_variables() -> list[str]:
    """Returns a warning for each variable of a cache that commands in a copy do not get."""
    from assent.sandbox.scratch.caches import refused_variables

    return [
        f"{name} is not passed on to scratch copies: it must be an absolute path to a cache alone."
        for name in refused_variables(os.fsencode(Path.home()), os.environ)
    ]


def drafted(engine: Engine, reference: str) -> tuple[ScratchDraft, ContentReader]:
    """Returns what a plan that is not built yet, or the current one, makes of the workspace."""
    record, _ = engine.status(reference)
    open_plan = record is not None and record.state in UNBUILT
    operations = engine.plans.operations(record) if record is not None and open_plan else ()
    return scratch_draft(operations), engine.drafts.content_reader(operations)


def clear_session_copy(folder: str, sessions: Iterable[str]) -> list[str]:
    """Removes the copies of sessions; returns those that are in use, which stay for now."""
    here = user_paths()
    _, root = locate_workspace(folder)
    if not (here.state / SCRATCH / folder_name(root)).is_dir():
        return []
    copies, busy = open_scratch(folder), list[str]()
    known = {info.name for info in copies.infos(sizes=False)}
    for name in known.intersection(sessions):
        try:
            copies.remove(name)
        except Busy:
            busy.append(name)
    return busy
