"""Whatever a draft is and commands did before, a command finds the workspace with the draft."""

import io
import os
import tarfile
from random import Random

import pytest
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import Contents, Place, draft, kinds, line

from assent.core.plan.operation import FileState
from assent.sandbox.scratch.scratch import LocalScratchCopy

pytestmark = needs_bubblewrap

STEPS = 7
# Files in the place of folders and folders in the place of files, ignored ones among them.
NAMES = (
    "a.txt", "a.txt/b/c", "src", "src/main.py", "src/main.py/in", "src/deep/b.txt", "src/new",
    "docs", "docs/one.md", "docs/two.md", "run.sh", "run.sh/inner", "link", "link/x", "new/x",
    "new/deep/y", "out/gen.txt", "src/x.pyc", "new/x.pyc",
)  # fmt: skip
TOP = ("a.txt", "src", "docs", "run.sh", "link", "new", "out", "other")
LINES = (
    "mkdir -p {0} && touch {0}/junk {0}/junk.pyc; true",
    "rm -rf {0}",
    "rm -rf {0}; echo junk > {0}",
    "rm -rf {0}; mkdir -p {0}/{1}; echo junk > {0}/{1}/junk",
    "rm -rf {0}; ln -s {1} {0}",
    "mv {0} moved-{1}; true",
    "find {0} -type f -exec sh -c 'echo more >> \"$1\"' - {{}} ';'; true",
    "[ {0} = out ] || chmod -R go-rwx {0}; [ {0} = out ] || chmod 000 {0}; true",
    "true",
)
TAR = "tar c --exclude=./.git --exclude=./node_modules --exclude=./.opencode --exclude=./.env ."
Tree = dict[str, FileState]


def ignored(path: str) -> bool:
    return path.split("/")[0] == "out" or path.endswith(".pyc")


def real_tree(place: Place, made: Contents) -> Tree:
    """The files of the workspace that are neither git's, hidden, ignored nor Assent's own."""
    found: Tree = {}
    for folder, folders, names in os.walk(place.root):
        folders[:] = [one for one in folders if one not in (".git", "node_modules", ".opencode")]
        for name in names:
            path = os.path.join(folder, name)
            state = os.lstat(path)
            inner = os.path.relpath(path, place.root)
            if os.path.islink(path):
                found[inner] = made.link(os.fsencode(os.readlink(path)))
            elif name != ".env":
                with open(path, "rb") as file:
                    found[inner] = made.file(file.read(), state.st_mode & 0o777)
    return found


def changed(random: Random, real: Tree, made: Contents) -> Tree:
    """A tree that a draft could make of another one: no file is in the place of a folder."""
    tree = dict(real)
    for _ in range(random.randrange(2, 8)):
        path = random.choice(NAMES)
        if random.random() < 0.3:
            tree.pop(path, None)
            continue
        for other in [one for one in tree if f"{one}/".startswith(f"{path}/")]:
            del tree[other]
        for other in [one for one in tree if path.startswith(f"{one}/")]:
            del tree[other]
        content = b"%d\n" % random.randrange(100)
        mode = random.choice((0o644, 0o755))
        tree[path] = (
            made.link(content.strip()) if random.random() < 0.2 else made.file(content, mode)
        )
    return tree


def found_in(copy: LocalScratchCopy, place: Place, made: Contents) -> tuple[Tree, set[str]]:
    """What a command finds: files and symlinks, and folders."""
    ended = line(copy, place, TAR)
    # The kernel may drop a mark of a folder when it is first read, which tar takes for a change.
    errors = [one for one in ended.errors.splitlines() if b"file changed as we read it" not in one]
    assert (ended.code <= 1, errors) == (True, [])
    tree: Tree = {}
    folders: set[str] = set()
    with tarfile.open(fileobj=io.BytesIO(ended.output)) as archive:
        for one in archive:
            path = one.name.removeprefix("./")
            if one.isdir():
                folders |= {path} - {"."}
            elif one.issym():
                tree[path] = made.link(os.fsencode(one.linkname))
            else:
                file = archive.extractfile(one)
                assert file is not None
                tree[path] = made.file(file.read(), one.mode)
    return tree, folders


def above(paths: Tree) -> set[str]:
    parts = [path.split("/") for path in paths]
    return {"/".join(each[:end]) for each in parts for end in range(1, len(each))}


def check(copy: LocalScratchCopy, place: Place, made: Contents, real: Tree, wanted: Tree) -> None:
    """Runs a command, and compares what it finds: all that is not ignored, and all of the draft."""
    tree, folders = found_in(copy, place, made)
    assert {path: one for path, one in tree.items() if not ignored(path)} == {
        path: one for path, one in wanted.items() if not ignored(path)
    }
    assert {path: tree.get(path) for path in wanted} == wanted
    plain = {path for path in folders if not ignored(path)}
    assert plain - above(real) <= above(wanted)
    assert kinds(copy.changes()) == {}


@pytest.mark.parametrize("seed", range(2))
def test_a_command_finds_the_workspace_with_the_draft_and_nothing_else(
    place: Place, seed: int
) -> None:
    random, made = Random(seed), Contents()
    real = real_tree(place, made)
    copy = place.open()
    try:
        for _ in range(STEPS):
            wanted = changed(random, real, made)
            if random.random() < 0.2:  # another process goes on with the copy
                copy.close()
                copy = place.open()
            files = {
                os.fsencode(path): wanted.get(path)
                for path in {*real, *wanted}
                if wanted.get(path) != real.get(path)
            }
            copy.apply(draft(files), made.read)
            for _ in range(2):  # the second one finds the copy prepared
                check(copy, place, made, real, wanted)
            text = random.choice(LINES).format(random.choice(TOP), random.choice("xyz"))
            line(copy, place, text)
            check(copy, place, made, real, wanted)
    finally:
        copy.close()
