"""How long applying, undoing and reviewing a change takes, and how that grows with its size."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.bare import Bare, Git, GitDiff, git_is_here
from bench.corpus import KINDS, Kind, samples
from bench.figure import Figure, at_most
from bench.pace import Action, Scale, best, timed
from bench.starting import ASSENT
from bench.workspace import Ours

NO_SLOWER = at_most(1.05)  # five in a hundred are noise
LINEAR = at_most(11)


def applying(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures apply and undo of files that are all new, then of files that are all replaced."""
    for kind in KINDS:
        yield from _applying(work, scale, kind)


def _applying(work: Path, scale: Scale, kind: Kind) -> Iterator[Figure]:
    grown: dict[str, list[float]] = {"apply": [], "undo": []}
    for count in (scale.few, scale.many):
        name = f"{count:,} {kind} files"
        actions, bars = _apply_actions(work / f"{kind}-{count}", count, kind)
        apply, undo, *references = best(scale.rounds, *actions)
        for (reference, limit), seconds in zip(bars.items(), references, strict=True):
            yield Figure(f"apply {name} / {reference}", apply, seconds, at_most(limit))
        yield Figure(f"undo {name} / apply", undo, apply, NO_SLOWER)
        grown["apply"].append(apply)
        grown["undo"].append(undo)
    for verb, (few, many) in grown.items():
        yield Figure(f"{verb} {kind}: {scale.many:,} / {scale.few:,}", many, few, LINEAR)


def _apply_actions(
    place: Path, count: int, kind: Kind
) -> tuple[tuple[Action, ...], dict[str, float]]:
    files = samples(count, kind)
    ours = Ours(Path(f"{place}-ours"), files)
    actions: tuple[Action, ...] = (ours.apply, ours.undo, Bare(Path(f"{place}-bare"), files).apply)
    if not git_is_here():
        return actions, {"bare": 1.3}
    git = Git(Path(f"{place}-git"), files)
    return (*actions, git.apply), {"bare": 1.3, "git apply": 1.5}


def reviewing(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures `assent review`, as text and as JSON, against `git diff`."""
    times: dict[str, list[float]] = {}
    for count in (scale.few, scale.many):
        for kind in KINDS:
            plans = f"{count:,} {kind} files"
            for name, ours, reference in _review(work / f"{kind}-{count}", count, kind, scale):
                times.setdefault(f"{name} {kind}", []).append(ours)
                bar = at_most(3) if count == scale.many else None
                yield Figure(f"{name} {plans} / git diff", ours, reference, bar)
    for name, (few, many) in times.items():
        yield Figure(f"{name}: {scale.many:,} / {scale.few:,}", many, few, LINEAR)


def _review(
    place: Path, count: int, kind: Kind, scale: Scale
) -> Iterator[tuple[str, float, float | None]]:
    files = samples(count, kind)
    ours = Ours(Path(f"{place}-reviewed"), files)
    ours.propose()
    actions = [_reviewing(ours.root), _reviewing(ours.root, "--json")]
    if git_is_here():
        actions.append(GitDiff(Path(f"{place}-diffed"), files).diff)
    text, json, *reference = best(scale.rounds, *actions)
    git = reference[0] if reference else None
    yield "review", text, git
    yield "review --json", json, git


def _reviewing(root: Path, *options: str) -> Action:
    command = [ASSENT, "-C", str(root), "review", *options]
    return lambda: timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
