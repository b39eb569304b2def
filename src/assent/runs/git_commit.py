"""Commits the files of a run with git: which files, whose changes, and the git commands.

Only these files are committed, as the run left them. What the user has staged or changed
elsewhere stays as it is, and a file with the user's own changes is not committed. New files
are added to git's index first, because a commit of paths takes only known ones. No git filter is
run, so the user has to commit files that need one.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Final

import msgspec

from assent.core.errors import AssentError, Refused
from assent.core.paths import GIT, ancestors, one_line
from assent.core.plan.operation import FileState
from assent.core.run.workspace_changes import NO_FILES, FileStateChanges
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
)
from assent.permissions.commands.read_only.git_environment import GIT_ENVIRONMENT
from assent.ports import BlobStore, ProcessRunner, WorkspaceFiles

# Compares a run's files with the last commit, to find changes that are the user's own.
#
# Git's status is not enough: git may be configured not to check some files, and others may have
# changed since. So contents are compared with the commit itself.


CHUNK: Final = 1 << 20
_LINK, _PROGRAM = b"120000", b"100755"
_KINDS: Final = {40: "sha1", 64: "sha256"}  # by the length of an id

TreeEntry = tuple[bytes, bytes]  # mode, id
RunGit = Callable[[tuple[bytes, ...], bytes], bytes]  # words and input to what it said


def tree_entries(said: bytes) -> dict[bytes, TreeEntry]:
    """Parses a tree listing: what is committed under each path."""
    rows = [row.partition(b"\t") for row in said.split(b"\0") if row]
    words = [(path, about.split()) for about, _, path in rows]
    return {path: (mode, id) for path, (mode, _, id) in words}


class HeadCommit:
    """The last commit, compared with the files that a run found; `git` reads as the user does."""

    def __init__(
        self, head: Mapping[bytes, TreeEntry], git: RunGit, files: WorkspaceFiles, blobs: BlobStore
    ) -> None:
        self._head = head
        self._git = git
        self._files = files
        self._blobs = blobs

    @property
    def paths(self) -> Set[bytes]:
        return self._head.keys()

    def others(self, left: FileStateChanges, paths: Iterable[bytes]) -> set[bytes]:
        """Returns the paths from which a commit would include changes other than the run's.

        Those are changes that were not committed when the run began, also under a later name.
        """
        odd = {path for path in paths if not self._holds(path, left[path][0], left)}
        foreign = {met.digest for met, _ in map(left.__getitem__, odd) if met and met.size}
        moved = {path for path, (_, now) in left.items() if now and now.digest in foreign}
        # What is committed as it was left needs no commit: an earlier attempt got so far.
        return {path for path in odd | moved if not self._holds(path, left[path][1], left)}

    def _holds(self, path: bytes, state: FileState | None, left: FileStateChanges) -> bool:
        if state is None or path not in self._head:
            return state is None and path not in self._head
        mode, id = self._head[path]
        if (mode == _LINK) != (state.kind == "link"):
            return False
        other = mode != _LINK and (mode == _PROGRAM) != bool(state.mode & 0o100)
        if other and self._git((b"config", b"--type=bool", b"core.fileMode"), b"") != b"false\n":
            return False
        content = self._content(path, state, left)
        if content is None:
            return False  # without the content nothing is known
        return _id(content, id) == id or self._stored(path, mode, content) == id

    def _stored(self, path: bytes, mode: bytes, content: bytes) -> bytes:
        """Returns the id that git gives a content; the ends of its lines may be others there."""
        if mode == _LINK:
            return b""
        return self._git((b"hash-object", b"--stdin", b"--path=" + path), content).strip()

    def _content(self, path: bytes, state: FileState, left: FileStateChanges) -> bytes | None:
        """Reads a content; a moved file has no copy other than itself under its new name."""
        with suppress(AssentError):
            return self._blobs.read(state.digest)
        for name in self._places(path, state, left):
            with suppress(AssentError, OSError), self._files.open(name) as file:
                content = file.read()
                if hashlib.sha256(content).hexdigest() == state.digest:
                    return content
        return None

    def _places(self, path: bytes, state: FileState, left: FileStateChanges) -> Iterator[bytes]:
        yield path
        yield from (name for name, (_, now) in left.items() if now == state and name != path)


def _id(content: bytes, like: bytes) -> bytes:
    """Returns the id that git gives a content as it is."""
    kind = _KINDS.get(len(like), "sha1")
    found = hashlib.new(kind, b"blob %d\0" % len(content), usedforsecurity=False)
    found.update(content)
    return found.hexdigest().encode()


IDENTITY_COMMANDS: Final = (
    'git config --global user.name "NAME"; git config --global user.email EMAIL'
)
UNFINISHED_GIT_OPERATIONS: Final = {
    b"MERGE_HEAD": "a merge",
    b"CHERRY_PICK_HEAD": "a cherry-pick",
    b"REVERT_HEAD": "a revert",
    b"rebase-merge": "a rebase",
    b"rebase-apply": "a rebase",
    b"sequencer": "a cherry-pick or revert",
}
NOT_AS_WRITTEN: Final = "files changed after the run wrote them"
NOTHING_TO_COMMIT: Final = b"Nothing to commit: git sees no change in the files of this run.\n"

_BY_STDIN: Final = (b"--pathspec-from-file=-", b"--pathspec-file-nul")
_GIT: Final = (b"git", b"--literal-pathspecs")
_SUBMODULE: Final = b"160000"
_NO_FILTER: Final = (b"unspecified", b"unset", b"set")
_LOOKING: Final = ProcessLimits(seconds=60, output=256 << 20)
_NAMED: Final = 10  # files in a message


class _GitOutput(msgspec.Struct, frozen=True):
    """What a step of git said, and how it ended."""

    output: bytes
    errors: bytes
    ended: ProcessResult

    def parts(self) -> Iterator[OutputChunk | ProcessResult]:
        if self.output:
            yield OutputChunk(self.output)
        if self.errors:
            yield OutputChunk(self.errors, error=True)
        yield self.ended


class _CommitFiles(msgspec.Struct, frozen=True):
    """The files of a run as git sees them. Of `hidden` ones no program gets to see the content."""

    known: tuple[bytes, ...]
    new: tuple[bytes, ...]
    hidden: tuple[bytes, ...]
    filtered: tuple[bytes, ...]
    foreign: tuple[bytes, ...]


class GitCommitter:
    """Commits files of one workspace, in the sandbox; git's settings and hooks cannot change."""

    def __init__(
        self,
        open_process: Callable[[], ProcessRunner],
        files: WorkspaceFiles,
        blobs: BlobStore,
        root: bytes,
    ) -> None:
        self._open_process = open_process
        self._files = files
        self._blobs = blobs
        self._root = root

    @property
    def _process(self) -> ProcessRunner:
        return self._open_process()

    def check(self, meant: FileStateChanges = NO_FILES) -> None:
        """Raises Refused if no commit can be made: no repository, no identity, or git is busy.

        Also if the user has uncommitted changes in these files.
        """
        said = self._done((b"git", b"var", b"GIT_COMMITTER_IDENT"))
        if said.ended.code:
            why = one_line(said.errors.strip().splitlines()[-1]) if said.errors.strip() else ""
            raise Refused(
                f"Git has no name and email to commit with. {why}".strip(), IDENTITY_COMMANDS
            )
        folder = self._looked((b"rev-parse", b"--absolute-git-dir")).output.rstrip(b"\n")
        names = self._process.entries(folder)
        for name, what in UNFINISHED_GIT_OPERATIONS.items():
            if name in names:
                raise Refused(
                    f"The repository is in the middle of {what}. Finish or abort that before "
                    "Assent can commit.",
                    "git status",
                )
        if own := self._own(meant):
            raise Refused(
                "The plan ends with a commit, but you have uncommitted changes in "
                f"{_names(sorted(own))} The commit would include them. Nothing was changed.",
                "git status",
            )

    def run(
        self, argv: Sequence[bytes], left: FileStateChanges, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Commits what git sees of these files; a `ProcessResult` comes last.

        Nothing to commit is a success.
        """
        chosen = self._chosen(sorted(left))
        if chosen.filtered:
            yield OutputChunk(
                f"Nothing was committed: Git filters apply to {_names(chosen.filtered)} "
                "The sandbox does not run filters; commit these files yourself.\n".encode(),
                error=True,
            )
            yield ProcessResult(1)
            return
        if why := self._not_ours(chosen, left):
            yield OutputChunk(f"Nothing was committed: {why}\n".encode(), error=True)
            yield ProcessResult(1)
            return
        if chosen.foreign:
            yield OutputChunk(
                "Excluded because it belongs to another repository: "
                f"{_names(chosen.foreign)}\n".encode()
            )
        if chosen.hidden:
            yield OutputChunk(
                "Excluded because programs are not allowed to read it: "
                f"{_names(chosen.hidden)}\n".encode()
            )
        if not (*chosen.known, *chosen.new):
            yield OutputChunk(NOTHING_TO_COMMIT)
            yield ProcessResult(0)
        else:
            yield from self._committed(tuple(argv), chosen, limits)

    def tidied(self, left: FileStateChanges) -> str:
        """Removes what an interrupted commit added to git's index; says what remains."""
        new = [path for path, (before, _) in left.items() if before is None]
        try:
            # Against the work tree only a name without content is new.
            words = (b"diff", b"--name-only", b"--diff-filter=A", b"--no-ext-diff", b"-z", b"--")
            found = self._looked(words).output.split(b"\0")
            announced = sorted(set(new).intersection(found))
            if self._forget(announced):
                return ""
            told = f"Git's index still lists {_names(announced)}"
        except AssentError as error:
            told = (
                "Could not check whether Git's index still lists files of this run. "
                f"{error.message}"
            )
        return f"{told} Check with `git status`; `git reset` unstages these files."

    def _not_ours(self, chosen: _CommitFiles, left: FileStateChanges) -> str:
        """Says what in these files was not approved, or was staged by the user themselves."""
        paths = (*chosen.known, *chosen.new)
        other = [path for path in paths if not self._stands(path, left[path][1])]
        if other:
            return f"{NOT_AS_WRITTEN}: {_names(other)} Review them and commit them yourself."
        staged = sorted(self._uncommitted(b"--cached").intersection(paths))
        if staged:
            return f"you have staged changes of your own in {_names(staged)}"
        if own := sorted(self._last().others(left, left).intersection(paths)):
            return (
                "the commit would include your own uncommitted changes from before the run, in "
                f"{_names(own)} Review them and commit them yourself."
            )
        return ""

    def _stands(self, path: bytes, state: FileState | None) -> bool:
        try:
            return self._files.read_states((path,))[path] == state
        except AssentError:  # what cannot be read is not as the run left it
            return False

    def _own(self, meant: FileStateChanges) -> set[bytes]:
        """Returns the files of a plan in which the user has uncommitted changes.

        Git ignores files that it was configured not to check, and those it does not know.
        """
        own = self._uncommitted(b"HEAD").intersection(meant)
        last = self._last()
        looked_at = last.paths - self._unwatched()
        more = last.others(meant, [path for path in meant if path not in looked_at])
        _, ours = self._ours(sorted(more - own))
        return own.union(self._unignored(ours))

    def _last(self) -> HeadCommit:
        """Returns the last commit; there may be none yet."""
        said = self._looked((b"ls-tree", b"-r", b"-z", b"--full-tree", b"HEAD"), fine=(0, 128))
        return HeadCommit(tree_entries(said.output), self._as_person, self._files, self._blobs)

    def _unwatched(self) -> set[bytes]:
        """Returns the files that git was configured not to check."""
        rows = self._looked((b"ls-files", b"-z", b"-v")).output.split(b"\0")
        return {row[2:] for row in rows if row[:1].islower() or row[:1] == b"S"}

    def _as_person(self, words: tuple[bytes, ...], stdin: bytes) -> bytes:
        return self._done((*_GIT, *words), stdin).output

    def _uncommitted(self, against: bytes) -> set[bytes]:
        """Returns the tracked files that differ from the last commit; staged, or as they stand."""
        words = (b"diff", against, b"--name-only", b"--no-renames", b"--no-ext-diff", b"-z", b"--")
        said = self._looked(words, fine=(0, 128))  # 128: there is no commit yet
        return {path for path in said.output.split(b"\0") if path}

    def _committed(
        self, argv: tuple[bytes, ...], chosen: _CommitFiles, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        paths = _lines((*chosen.known, *chosen.new))
        if chosen.new:
            added = self._done((*_GIT, b"add", b"--intent-to-add", *_BY_STDIN), _lines(chosen.new))
            if added.ended.code:
                yield from added.parts()
                return
        tried = self._done((*argv, b"--dry-run"), paths)
        if tried.ended.code == 1 and tried.output:  # it tells what there is; an error does not
            yield OutputChunk(NOTHING_TO_COMMIT)
            yield ProcessResult(0)
            return
        ended = ProcessResult(126, "start")
        errand = CommandSpec(argv=argv, profile="commit", stdin=paths)
        try:
            for part in self._process.run_command(errand, self._root, limits):
                if isinstance(part, ProcessResult):
                    ended = part
                else:
                    yield part
        finally:
            if ended.code or ended.cut:
                self._forget(chosen.new)
        yield ended

    def _forget(self, new: Sequence[bytes]) -> bool:
        """Lets git know new files no more: nothing shall look half staged."""
        words = (*_GIT, b"reset", b"--quiet", *_BY_STDIN)
        return not new or not self._done(words, _lines(new)).ended.code

    def _chosen(self, paths: Sequence[bytes]) -> _CommitFiles:
        tracked, submodules = self._tracked()
        ours, seen = self._ours(paths, submodules)
        known = [path for path in seen if path in tracked]
        new = [path for path in seen if path not in tracked and self._files.is_file(path)]
        new = self._unignored(new)
        gone = [path for path in ours if path in tracked and path not in seen]
        filtered = tuple(self._filtered([*known, *new]))
        own = set(ours)
        others = tuple(path for path in paths if path not in own)
        return _CommitFiles(tuple(known), tuple(new), tuple(gone), filtered, others)

    def _ours(
        self, paths: Sequence[bytes], submodules: Iterable[bytes] = ()
    ) -> tuple[list[bytes], list[bytes]]:
        """Returns the files of this repository, and those of them that programs may read."""
        foreign = dict.fromkeys(submodules, True)
        ours = [path for path in paths if not self._is_foreign(path, foreign)]
        return ours, [p for p in ours if self._process.visible(self._root + b"/" + p)]

    def _tracked(self) -> tuple[set[bytes], set[bytes]]:
        """Returns the files that git knows, and the other repositories that it knows."""
        rows = self._looked((b"ls-files", b"-z", b"--stage")).output.split(b"\0")
        found = [row.partition(b"\t") for row in rows if row]
        submodules = {path for about, _, path in found if about.startswith(_SUBMODULE)}
        return {path for _, _, path in found} - submodules, submodules

    def _is_foreign(self, path: bytes, known: dict[bytes, bool]) -> bool:
        """Tells whether a file belongs to a repository below this one."""
        above = ancestors(path)
        for folder in above:
            if folder not in known:
                known[folder] = GIT in self._files.names(folder)
        return any(known.get(each, False) for each in (path, *above))

    def _unignored(self, paths: Sequence[bytes]) -> list[bytes]:
        if not paths:
            return []
        said = self._looked((b"check-ignore", b"-z", b"--stdin"), _lines(paths), fine=(0, 1))
        out = set(said.output.split(b"\0"))
        return [path for path in paths if path not in out]

    def _filtered(self, paths: Sequence[bytes]) -> list[bytes]:
        if not paths:
            return []
        said = self._looked((b"check-attr", b"-z", b"--stdin", b"filter"), _lines(paths))
        rows = said.output.split(b"\0")
        return [
            path
            for path, value in zip(rows[::3], rows[2::3], strict=False)
            if value not in _NO_FILTER
        ]

    def _looked(
        self, words: Sequence[bytes], stdin: bytes = b"", fine: Sequence[int] = (0,)
    ) -> _GitOutput:
        """Asks git something that only reads."""
        git = self._process.program(("git",))
        if git is None:
            raise Refused("Git not found, so nothing can be committed.")
        program = Program((git, *words), tuple(GIT_ENVIRONMENT.items()), stdin=stdin)
        said = _gathered(self._process.run((program,), self._root, _LOOKING))
        if said.ended.code not in fine:
            why = one_line(said.errors.strip())
            raise Refused(f"Git cannot read this repository: {why}", "git status")
        return said

    def _done(self, argv: tuple[bytes, ...], stdin: bytes = b"") -> _GitOutput:
        errand = CommandSpec(argv=argv, profile="commit", stdin=stdin)
        return _gathered(self._process.run_command(errand, self._root, _LOOKING))


def _gathered(parts: Iterable[OutputChunk | ProcessResult]) -> _GitOutput:
    said: dict[bool, bytearray] = {False: bytearray(), True: bytearray()}
    ended = ProcessResult(126, "start")
    for part in parts:
        if isinstance(part, ProcessResult):
            ended = part
        else:
            said[part.error] += part.content
    return _GitOutput(bytes(said[False]), bytes(said[True]), ended)


def _lines(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def _names(paths: Sequence[bytes]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(map(one_line, paths[:_NAMED])) + more + "."
