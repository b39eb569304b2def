"""Patches against real git and diff: what is staged is what they would have made."""

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.states import applied
from tests.support.engine import World
from tests.support.file_trees import LINES, Entries, Git, edited, laid, lay, states, stories

from assent.core.errors import NoMatch
from assent.core.plan.operation import FileOperation
from assent.ports import SourceFolder

MANY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
OPTIONS = (
    ("--binary", "--full-index", "-M", "-C", "--find-copies-harder"),
    ("--binary", "-M"),
    ("--binary", "--no-prefix", "--no-renames"),
    ("--binary", "--no-prefix", "-M", "-U1"),
    ("--binary", "--src-prefix=old/", "--dst-prefix=a new/", "-U5"),
)


class Bench:
    """A workspace with one plan, into which patches are staged one after another."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.engine = self.world.engine()
        self.record = self.engine.plans.new("work", "tests", "A goal")

    def stage(self, before: Entries, patch: bytes) -> tuple[list[FileOperation], tuple[str, ...]]:
        """Stages a patch for a tree; returns what is staged then, and what was remarked."""
        self._begin(before)
        notes = self.engine.patches.stage(self.record, patch).notes
        return self.operations(), notes

    def compare(self, before: Entries, other: SourceFolder) -> list[FileOperation]:
        """Stages what leads from a tree to another folder's, and returns it."""
        self._begin(before)
        self.engine.folder_import.stage(self.record, other, delete=True)
        return self.operations()

    def operations(self) -> list[FileOperation]:
        staged = self.engine.plans.operations(self.engine.plans.find(self.record.plan_id))
        return [op for op in staged if isinstance(op, FileOperation)]

    def _begin(self, tree: Entries) -> None:
        lay(self.world.root, tree)
        self.record = self.engine.drafts.clear(self.engine.plans.find(self.record.plan_id)).record


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    return Git(tmp_path_factory.mktemp("git") / "made")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(World(tmp_path_factory.mktemp("bench")))


@MANY
@given(stories(), st.sampled_from(OPTIONS))
def test_a_git_diff_leads_to_the_tree_that_git_saw(
    git: Git, bench: Bench, story: tuple[Entries, Entries], options: tuple[str, ...]
) -> None:
    before, after = story
    patch = git.diff(before, after, *options)
    if not patch:
        return
    operations, notes = bench.stage(before, patch)
    assert applied(states(before), operations) == states(after)
    assert notes == ()
    for op in operations:  # every content is kept, or is where it was
        blobs = bench.world.blobs
        assert not hasattr(op, "after") or blobs.has(op.after.digest)


@MANY
@given(stories(), st.sampled_from(LINES), st.integers(0, 40))
def test_on_other_files_it_makes_what_git_apply_makes_or_nothing(
    git: Git, bench: Bench, story: tuple[Entries, Entries], line: bytes, at: int
) -> None:
    before, after = story
    patch = git.diff(before, after, *OPTIONS[0])
    if not patch:
        return
    drifted = {
        path: edited(entry, line, at) if entry[0] == "file" and b"\0" not in entry[2] else entry
        for path, entry in before.items()
    }
    lay(git.root, drifted)
    fits = git("apply", "--whitespace=nowarn", "-", stdin=patch, check=False) == b"0"
    try:
        operations, _ = bench.stage(drifted, patch)
    except NoMatch:
        return
    if fits:
        assert applied(states(drifted), operations) == states(laid(git.root))


@MANY
@given(stories())
def test_a_plain_diff_leads_to_the_same_texts(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, story: tuple[Entries, Entries]
) -> None:
    base = tmp_path_factory.mktemp("plain")
    before, after = (
        {
            path: ("file", 0o644, content)
            for path, (kind, _, content) in tree.items()
            if kind == "file" and b"\0" not in content and content
        }
        for tree in story
    )
    lay(base / "old", before)
    lay(base / "new", after)
    done = subprocess.run(
        ["diff", "-ruN", "old", "new"],
        cwd=base,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "TZ": "Asia/Kolkata"},
    )
    if not done.stdout:
        return
    operations, notes = bench.stage(before, done.stdout)
    assert applied(states(before), operations) == states(after)
    assert notes == ()
