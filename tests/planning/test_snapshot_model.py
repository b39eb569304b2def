"""F139: whatever a command does to random trees, taking its operations back restores them."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.snapshot import Folder

from assent.core.plan.operation import footprint
from assent.store.memory import MemoryBlobStore

NAMES = st.sampled_from(["a", "b", "sub", "sub/a", "sub/deep/x", "b/c", "two\nlines", "\udcff"])
CONTENTS = st.binary(max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, CONTENTS),
        st.tuples(st.just("link"), NAMES, CONTENTS),
        st.tuples(st.just("remove"), NAMES, st.just(b"")),
        st.tuples(st.just("chmod"), NAMES, st.just(b"")),
        st.tuples(st.just("move"), NAMES, CONTENTS),
        st.tuples(st.just("touch"), NAMES, st.just(b"")),
    ),
    max_size=8,
)
Step = tuple[str, str, bytes]


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def room(root: Path, path: Path) -> None:
    """Makes place for a name: no file is in the way of its folders, nothing stands there."""
    for above in reversed(path.parents):
        if above.is_relative_to(root) and above != root and not _is_folder(above):
            remove(above)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove(path)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def act(root: Path, step: Step) -> None:
    kind, name, content = step
    path = root / name
    if kind == "write":
        if not path.is_file() or path.is_symlink():
            room(root, path)
        path.write_bytes(content)
    elif kind == "link":
        room(root, path)
        os.symlink(content.replace(b"\0", b"") or b"x", os.fsencode(path))
    elif kind == "remove":
        remove(path)
    elif not path.is_file() or path.is_symlink():
        return
    elif kind == "chmod":
        path.chmod(path.stat().st_mode ^ 0o100)
    elif kind == "touch":
        path.touch()
    else:
        held, mode = path.read_bytes(), path.stat().st_mode
        path.unlink()
        to = root / "moved"
        remove(to)
        to.write_bytes(held)
        to.chmod(mode)


@settings(max_examples=150, deadline=None)
@given(STEPS, STEPS)
def test_f139_undo_by_operations_restores_exactly(before: list[Step], after: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Folder(Path(base), MemoryBlobStore())
        for step in before:
            act(folder.root, step)
        recorder = folder.recorder()
        was, taken = folder.seen(), recorder.take()
        for step in after:
            act(folder.root, step)
        now, found = folder.seen(), recorder.changes(taken)
        touched = [path for op in found.operations for path, *_ in footprint(op)]
        other = [path for path in {*was, *now} if was.get(path) != now.get(path)]
        assert sorted(touched) == sorted(other)
        assert (found.skipped, found.known) == ((), True)
        folder.put_back(found)
        assert folder.seen() == was
        assert recorder.changes(taken).operations == ()
