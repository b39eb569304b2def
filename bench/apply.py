"""How long applying, undoing and reviewing a change takes, and how that grows with its size."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.apply_reference import Bare, Careful, Git, GitDiff, git_is_here
from bench.corpus import KINDS, Kind, samples
from bench.figure import Bar, Figure, at_most
from bench.pace import Action, Scale, best, timed
from bench.startup import ASSENT
from bench.workspace import Ours

NO_SLOWER = at_most(1.1)
LINEAR = at_most(11)


def apply_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures apply and undo of files that are all new, then of files that are all replaced."""
    for kind in KINDS:
        yield from _apply_figures_of(work, scale, kind)


def _apply_figures_of(work: Path, scale: Scale, kind: Kind) -> Iterator[Figure]:
    sizes = (scale.few, scale.many)
    plans = [_apply_actions(work / f"{kind}-{count}", count, kind) for count in sizes]
    # Both sizes in turn, too: a disk that is slower for a while is so for both.
    found = best(scale.rounds, *[action for actions, _ in plans for action in actions])
    # On a slow disk the many files leave time for two rounds. The best of two says little about a
    # few files, where one wait for the disk is a large share, so these get rounds of their own.
    more = best(scale.rounds, *plans[0][0])
    times = iter([*map(min, more, found), *found[len(more) :]])
    grown: dict[str, list[float]] = {"apply": [], "undo": []}
    for at, count, (_, bars) in zip((0, len(more)), sizes, plans, strict=True):
        name = f"{count:,} {kind} files"
        apply, undo = next(times), next(times)
        for reference, bar in bars.items():
            # Of a few files, what a run costs at all is a large share: there is no bar for them.
            due = bar if count == scale.many else None
            yield Figure(f"apply {name} / {reference}", apply, next(times), due)
        yield Figure(f"undo {name} / apply", undo, apply, NO_SLOWER)
        grown["apply"].append(found[at])  # of the same rounds
        grown["undo"].append(found[at + 1])
    for verb, (few, many) in grown.items():
        yield Figure(f"{verb} {kind}: {scale.many:,} / {scale.few:,}", many, few, LINEAR)


def _apply_actions(
    place: Path, count: int, kind: Kind
) -> tuple[list[Action], dict[str, Bar | None]]:
    """Returns our two actions and those they are compared with, and the bars for these."""
    files = samples(count, kind)
    ours = Ours(Path(f"{place}-ours"), files)
    actions = [ours.apply, ours.undo]
    bars: dict[str, Bar | None] = {"bare": at_most(1.3), "bare with checks": None}
    actions += [Bare(Path(f"{place}-bare"), files).apply]
    actions += [Careful(Path(f"{place}-careful"), files).apply]
    if git_is_here():
        bars["git apply"] = at_most(1.5)
        actions += [Git(Path(f"{place}-git"), files).apply]
    return actions, bars


def review_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures `assent review`, as text and as JSON, against `git diff`."""
    times: dict[str, list[float]] = {}
    for count in (scale.few, scale.many):
        for kind in KINDS:
            plans = f"{count:,} {kind} files"
            start, *rows = _review(work / f"{kind}-{count}", count, kind, scale)
            for name, ours, reference in rows:
                times.setdefault(f"{name} {kind}", []).append(ours)
                yield Figure(f"{name} {plans} / git diff", ours, reference, at_most(3))
            if count == scale.few:  # of these, the start of the program is the larger part
                name, ours, reference = start
                yield Figure(f"{name} / git diff of {plans}", ours, reference, None)
    for name, (few, many) in times.items():
        yield Figure(f"{name}: {scale.many:,} / {scale.few:,}", many, few, LINEAR)


def _review(
    place: Path, count: int, kind: Kind, scale: Scale
) -> Iterator[tuple[str, float, float | None]]:
    """Yields the review of a single file first, which is hardly more than starting and opening."""
    files = samples(count, kind)
    ours, single = Ours(Path(f"{place}-reviewed"), files), Ours(Path(f"{place}-one"), files[:1])
    ours.propose()
    single.propose()
    actions = [
        _review_action(single.root),
        _review_action(ours.root),
        _review_action(ours.root, "--json"),
    ]
    if git_is_here():
        actions.append(GitDiff(Path(f"{place}-diffed"), files).diff)
    one, text, json, *reference = best(scale.rounds, *actions)
    git = reference[0] if reference else None
    yield "review one file", one, git
    yield "review", text, git
    yield "review --json", json, git


def _review_action(root: Path, *options: str) -> Action:
    """Returns a review that is started in the workspace, as the reference is in its repository."""
    command = [ASSENT, "review", *options]
    return lambda: timed(
        lambda: subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
    )
