"""Trees of files on disk for the tests of patches and checkouts, and git and diff to compare."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st
from tests.core.states import Tree, is_possible

from assent.core.digest import sha256
from assent.core.plan.operation import FileState

Entry = tuple[str, int, bytes]  # kind, mode, content or target
Entries = dict[bytes, Entry]

NAMES = (
    b"a", b"b.txt", b"two words", b"d/e", b"d/f/g", b"d/f/h", b"tab\there", b"new\nline",
    b"\xff\xfe", b'quo"te', b"back\\slash", "ünï/cöde".encode(), b"-dash", b"a b/a b",
)  # fmt: skip
LINES = (
    b"one\n",
    b"two\n",
    b"three\n",
    b"\n",
    b"crlf\r\n",
    b"--- a/x\n",
    b"@@ -1 +1 @@\n",
    b"-- \n",
)

texts = st.builds(
    lambda lines, last: b"".join(lines) + last,
    st.lists(st.sampled_from(LINES), max_size=30),
    st.sampled_from((b"", b"", b"no end", b"\r")),
)
binaries = st.builds(
    lambda seed, count: seed * count + b"\0", st.binary(max_size=40), st.integers(1, 60)
)
contents = st.one_of(texts, texts, binaries)
files = st.tuples(st.just("file"), st.sampled_from((0o644, 0o755)), contents)
links = st.tuples(
    st.just("link"), st.just(0o777), st.sampled_from((b"a", b"to/there", b"\xff there"))
)
entries = st.one_of(files, files, files, links)
trees = st.dictionaries(st.sampled_from(NAMES), entries, max_size=8)


def edited(entry: Entry, line: bytes, at: int) -> Entry:
    """A file with one line more, or one changed."""
    kind, mode, content = entry
    lines = content.splitlines(keepends=True)
    place = at % (len(lines) + 1)
    lines[place : place + at % 2] = [line]
    return kind, mode, b"".join(lines)


@st.composite
def changed(draw: st.DrawFn, tree: Entries) -> Entries:
    """A tree after some changes of all kinds."""
    for _ in range(draw(st.integers(0, 6))):
        step = draw(st.sampled_from(("put", "edit", "edit", "delete", "rename", "copy", "mode")))
        name, other = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
        after, entry = dict(tree), tree.get(name)
        if step == "put":
            after[name] = draw(entries)
        elif entry is not None:
            if step in ("delete", "rename"):
                del after[name]
            if step in ("rename", "copy"):
                after[other] = entry
            if step == "mode" and entry[0] == "file":
                after[name] = ("file", entry[1] ^ 0o111, entry[2])
            if step == "edit" and entry[0] == "file":
                line = draw(st.sampled_from(LINES))
                after[name] = edited(entry, line, draw(st.integers(0, 40)))
        tree = after if is_tree(after) else tree
    return tree


@st.composite
def stories(draw: st.DrawFn) -> tuple[Entries, Entries]:
    """A tree, and the same after some changes of all kinds."""
    before = draw(trees.filter(is_tree))
    return before, draw(changed(before))


def is_tree(tree: Mapping[bytes, Entry]) -> bool:
    return is_possible(states(tree))


def states(tree: Mapping[bytes, Entry]) -> Tree:
    """The tree as an engine sees it."""
    return {
        path: FileState(sha256(content), len(content), mode, "link" if kind == "link" else "file")
        for path, (kind, mode, content) in tree.items()
    }


def lay(root: Path, tree: Mapping[bytes, Entry]) -> None:
    """Makes a folder hold exactly a tree, besides git's and Assent's own."""
    root.mkdir(exist_ok=True)
    for path in root.iterdir():
        if path.name not in (".git", ".opencode"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, (kind, mode, content) in tree.items():
        full = os.path.join(os.fsencode(root), name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if kind == "link":
            os.symlink(content, full)
            continue
        with open(full, "wb") as file:
            file.write(content)
        os.chmod(full, mode)


def laid(root: Path) -> Entries:
    """What a folder holds, besides git's and Assent's own."""
    start, found = os.fsencode(root), {}
    for folder, folders, names in os.walk(start):
        folders[:] = [
            name for name in folders if folder != start or name not in (b".git", b".opencode")
        ]
        for name in [*names, *(n for n in folders if os.path.islink(os.path.join(folder, n)))]:
            full = os.path.join(folder, name)
            found[full[len(start) + 1 :]] = _entry(full)
    return found


def _entry(full: bytes) -> Entry:
    if os.path.islink(full):
        return "link", 0o777, os.readlink(full)
    with open(full, "rb") as file:
        return "file", os.lstat(full).st_mode & 0o7777, file.read()


class Git:
    """A repository that makes and applies diffs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self("init", "-q", "-b", "main")

    def __call__(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> bytes:
        who = {
            f"GIT_{role}_{what}": "a@b.c"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": "/nonexistent",
                "GIT_CONFIG_NOSYSTEM": "1",
                **who,
            },
            input=stdin,
            capture_output=True,
            check=check,
        )
        return done.stdout if check else b"%d" % done.returncode

    def diff(
        self, before: Mapping[bytes, Entry], after: Mapping[bytes, Entry], *options: str
    ) -> bytes:
        """How a tree became another one."""
        self("read-tree", "--empty")
        lay(self.root, before)
        self("add", "-A", "-f")
        tree = self("write-tree").decode().strip()
        lay(self.root, after)
        self("add", "-A", "-f")
        return self("diff", "--cached", *options, tree)
