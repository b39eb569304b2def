"""Files as tools see them: where a path that a model typed leads, and the files below a folder."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from posixpath import join, normpath
from typing import Literal

import msgspec

from assent.core.errors import AssentError, NotFound, Refused, UsageError
from assent.core.paths import (
    STATE,
    TREE,
    base_name,
    casefolded,
    display_path,
    is_inside,
    one_line,
    parent,
)
from assent.core.permission.sensitive_paths import secret_reason
from assent.core.plan.operation import FileState
from assent.core.shell.process import OutputChunk, ProcessLimits, Program, SandboxState
from assent.core.tool import Action, ResourceAccess
from assent.ports import OutsideFiles
from assent.tools.overlay import CANNOT_READ, LeftWorkspace, Overlay
from assent.tools.path_patterns import IgnoreMatcher
from assent.tools.tool import ToolContext

# Path access: where a path that a model typed leads, and which requests reading it makes.


OWN_IGNORE_FILE = TREE + b"/.gitignore"
PATH_CHANGED = "That is not what permission was given for, so nothing was read."


def resolve_path(context: ToolContext, argument: str) -> bytes:
    """Returns the real path in the workspace; refuses outside paths and Assent's own secrets."""
    path = context.overlay.locate(argument)
    if is_private(context, path):
        raise Refused(f"{one_line(path)} belongs to Assent and cannot be read.")
    return path


def is_private(context: ToolContext, path: bytes) -> bool:
    """Tells whether a path is in Assent's own state or configuration."""
    return any(is_inside(casefolded(path), casefolded(own)) for own in context.private)


def is_plan_file(context: ToolContext, path: bytes, asked: bytes) -> bool:
    """Tells whether a path is a file of Assent's own that was not asked for.

    Those are plans, and what keeps git from seeing the rest: not part of the project, and found
    only by a search that starts among them.
    """
    if path == OWN_IGNORE_FILE:
        return not is_inside(asked, TREE)
    if not base_name(path).startswith(b"PLAN_") or not path.endswith(b".md"):
        return False
    return is_inside(path, context.plan_dir) and not is_inside(asked, context.plan_dir)


def read_accesses(context: ToolContext, argument: str) -> tuple[ResourceAccess, ...]:
    """Returns the access for reading a path: outside the workspace, the folder as well."""
    found = _located(context, argument)
    if isinstance(found, bytes):
        return (ResourceAccess(Action.READ, display_path(found) or "."),)
    return _touched(context.root, *found, argument)


def outside_accesses(context: ToolContext, names: Sequence[str]) -> tuple[ResourceAccess, ...]:
    """Returns the access for outside files that a command names, symlinks followed.

    A hidden file is refused if a symlink leads to it; else its name shows what it is.
    """
    found: list[ResourceAccess] = []
    for name in names:
        try:
            outer = _outer(context, name)
        except Refused:
            if not name.startswith(("/", "~", "..")):
                raise
            continue
        except AssentError:  # it is not a path at all
            continue
        found += _touched(context.root, *outer, name) if outer else ()
    return tuple(dict.fromkeys(found))


def read_access_of(context: ToolContext, argument: str, tool: str) -> ResourceAccess:
    """Returns the access for a search in the workspace; elsewhere the tool does not search."""
    try:
        path = resolve_path(context, argument)
    except LeftWorkspace as left:
        told = left.message.removesuffix(CANNOT_READ)
        raise Refused(f"{told}{only_inside(context, tool)}") from None
    return ResourceAccess(Action.READ, display_path(path) or ".")


def only_inside(context: ToolContext, tool: str) -> str:
    """Says that a tool searches only the workspace, and which ones look elsewhere."""
    if context.outside is None:
        return f"`{tool}` finds only files inside it."
    return f"`{tool}` finds only files inside it; `read` and `list` show others if the user agrees."


def search_accesses(
    places: tuple[ResourceAccess, ...], word: str, what: str = ""
) -> tuple[ResourceAccess, ...]:
    """Returns the access of a search tool: folders, and the subject of its own rules.

    That is the search pattern; without one it is the folder itself.
    """
    text = display_path(what.encode("utf-8", "backslashreplace"))  # a lone surrogate is not text
    return (*places, ResourceAccess(Action.SEEK, text or places[-1].resource, word))


def outside_path(context: ToolContext, argument: str) -> tuple[OutsideFiles, bytes] | None:
    """Returns access to an outside file, and its real path; None if it is in the workspace.

    Only what the gate has judged counts: a symlink may point elsewhere now.
    """
    found = _outer(context, argument)
    if found:
        _check_judged(context, found, argument)
    return found


def readable_path(context: ToolContext, argument: str) -> bytes | tuple[OutsideFiles, bytes]:
    """Returns the real path in the workspace, or access to an outside file and its real path."""
    found = _located(context, argument)
    if not isinstance(found, bytes):
        _check_judged(context, found, argument)
    return found


def _check_judged(context: ToolContext, found: tuple[OutsideFiles, bytes], argument: str) -> None:
    if any(asked not in context.judged for asked in _touched(context.root, *found, argument)):
        raise Refused(
            f"{one_line(argument.encode())} now points to {one_line(found[1])}. {PATH_CHANGED}"
        )


def _located(context: ToolContext, argument: str) -> bytes | tuple[OutsideFiles, bytes]:
    """Follows a path once: to its place in the workspace, or out of it, if that can be asked."""
    try:
        return resolve_path(context, argument)
    except LeftWorkspace as left:
        if context.outside is None:
            raise
        return context.outside, context.outside.real(_absolute(context, left.path))


def _touched(
    root: bytes, outside: OutsideFiles, path: bytes, argument: str
) -> tuple[ResourceAccess, ...]:
    folder = path if outside.is_folder(path) else parent(path)
    typed = argument.encode("utf-8", "backslashreplace")
    link = display_path(typed) if normpath(join(root, typed)) != path else ""
    return (
        ResourceAccess(Action.OUTSIDE, display_path(folder) + "/*"),
        ResourceAccess(Action.READ, display_path(path), link=link),
    )


def _outer(context: ToolContext, argument: str) -> tuple[OutsideFiles, bytes] | None:
    """Returns the real path of an outside file, if the user can be asked about it."""
    way = context.overlay.outside_target(argument) if context.outside else None
    if way is None or context.outside is None:
        return None
    return context.outside, context.outside.real(_absolute(context, way))


def _absolute(context: ToolContext, way: bytes) -> bytes:
    return way if way.startswith(b"/") else context.root + b"/" + way


# Lists the files below a folder, with the draft applied and ignored files excluded.
#
# ripgrep lists them if it can run; otherwise the folders are walked here by the same rules. For a
# path that does not exist, others are suggested.


# Runs ripgrep: always with the same options, confined, and never by its own settings.


LIMITS = ProcessLimits(seconds=30, output=8 << 20)

_FIXED = (
    b"--no-config", b"--no-messages", b"--color=never", b"--hidden", b"--no-require-git",
    b"--no-ignore-global", b"--glob=!.git", b"--glob=!/.opencode/assent",
)  # fmt: skip
_FAILED = 2


class RipgrepOutput(msgspec.Struct, frozen=True):
    """The output of ripgrep; `cut` says which limit ended it early."""

    content: bytes
    cut: str = ""


def run_ripgrep(
    context: ToolContext, options: Sequence[bytes], path: bytes, *, wait: bool = True
) -> RipgrepOutput | None:
    """Runs ripgrep in the workspace on a file or folder; None if no program can run here.

    Without `wait` also if the sandbox would have to be tested first.
    """
    if not wait and not context.is_tested():
        return None
    try:
        if context.process.sandbox_status().hold is SandboxState.OFF:
            return None
        program = context.process.program(("rg",))
        if program is None:
            return None
        argv = (program, *_FIXED, *options, b"--", b"./" + path)
        return _run(context, Program(argv))
    except Refused:
        return None


def _run(context: ToolContext, program: Program) -> RipgrepOutput:
    content, errors = bytearray(), bytearray()
    code, cut = 0, ""
    for part in context.process.run((program,), context.root, LIMITS):
        if isinstance(part, OutputChunk):
            (errors if part.error else content).extend(part.content)
        else:
            code, cut = part.code, part.cut
    if code == _FAILED and errors and not content:
        reason = errors.decode("utf-8", "replace").strip()
        raise UsageError(f"The search could not start: {reason}")
    return RipgrepOutput(bytes(content), cut)


MAX_FILES = 100_000  # files
MORE = "Too many files: not all are listed."


class FileListing(msgspec.Struct, frozen=True):
    """Files by path, sorted; `cut` if there are more than could be listed."""

    files: tuple[bytes, ...]
    cut: bool = False


def list_files(context: ToolContext, folder: bytes, asked: bytes | None = None) -> FileListing:
    """Lists the files below a folder, or a single file.

    `asked` is what a search is about, if that is less than the folder.
    """
    asked = folder if asked is None else asked
    drafted = context.overlay.drafted()
    printed = run_ripgrep(context, (b"--files", b"--null"), folder, wait=False)
    if printed is None:
        on_disk = list(islice(walk_files(context.overlay, folder), MAX_FILES + 1))
    else:
        on_disk = [path.removeprefix(b"./") for path in printed.content.split(b"\0")[:-1]]
    own = is_inside(folder, STATE)
    stand = [
        path
        for path in on_disk
        if path not in drafted
        and own == is_inside(path, STATE)
        and not is_private(context, path)
        and not is_plan_file(context, path, asked)
    ]
    coming = [path for path, after in drafted.items() if after and is_inside(path, folder)]
    found = sorted({*stand, *coming})
    cut = printed is not None and bool(printed.cut)
    return FileListing(tuple(found[:MAX_FILES]), cut or len(found) > MAX_FILES)


def walk_files(overlay: Overlay, folder: bytes) -> Iterator[bytes]:
    """Yields the files below a folder that no rule excludes, in no order."""
    if overlay.state(folder) != "folder":
        yield folder
        return
    ignored = IgnoreMatcher(overlay)
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        prefix = here + b"/" if here else b""
        for name, is_folder in _names(overlay, here).items():
            path = prefix + name
            if ignored.covers(path, folder=is_folder):
                continue
            if is_folder:
                waiting.append(path)
            else:
                yield path


def _names(overlay: Overlay, folder: bytes) -> dict[bytes, bool]:
    try:
        return overlay.names(folder)
    except AssentError:
        return {}  # one that may not be read, or is going away: others are worth listing


# Names of a folder on one line, as far as `list` shows them; without names of secrets.


MAX_LINE_CHARS = 300
MAX_TESTS_CHARS = 160  # of the names in a folder of tests, which come in addition
TEST_FOLDERS = (b"tests", b"test", b"spec")  # at the top; the first that is there counts
MAX_NAME_CHARS = 60
MAX_LOOKED_AT = 1000  # names; of a folder with more, the others are only counted
_PLAIN_NAME = r"[\w.+@%=~-]+"


class OwnFolders(msgspec.Struct, frozen=True):
    """Where Assent's own files are in the workspace."""

    plan_dir: bytes
    private: tuple[bytes, ...] = ()


def names_line(
    overlay: Overlay,
    folder: bytes,
    own: OwnFolders,
    readable: Callable[[bytes], bool] = lambda path: True,
    most: int = MAX_LINE_CHARS,
) -> str:
    """Returns the names in a folder, folders first: `src/, tests/, Makefile, … 12 more`.

    Ignored names, Assent's own, those of secrets and those that are not readable are left out. It
    is nothing if there are no others. `most` are the characters of the names that are shown.
    """
    ignored, prefix = IgnoreMatcher(overlay), folder + b"/" if folder else b""
    try:
        listed, unseen = overlay.first_names(folder, MAX_LOOKED_AT)
    except AssentError:
        return ""  # it may not be read
    found = [
        (not is_folder, _quoted(name) + "/" * is_folder)
        for name, is_folder in listed.items()
        if not ignored.covers(path := prefix + name, folder=is_folder)
        and not _is_own(overlay, path, own)
        and not secret_reason(path)
        and readable(path)
    ]
    found.sort(key=lambda one: one[0])
    shown, size = list[str](), 0
    for _, name in found:
        size += len(name) + 2
        if size > most:
            break
        shown.append(name)
    more = len(found) - len(shown) + unseen
    return ", ".join([*shown, *([f"… {more} more"] if more else [])])


def first_look(
    overlay: Overlay, own: OwnFolders, readable: Callable[[bytes], bool] = lambda path: True
) -> str:
    """Returns the names at the top of a workspace and those of its tests, for a first look.

    Every change is tested, so that a model would list the tests first.
    """
    told = f"Top level: {names_line(overlay, b'', own, readable) or 'empty'}."
    tests = next((each for each in TEST_FOLDERS if overlay.state(each) == "folder"), b"")
    if not tests or not readable(tests) or IgnoreMatcher(overlay).covers(tests, folder=True):
        return told
    names = names_line(overlay, tests, own, readable, MAX_TESTS_CHARS)
    return f"{told}\nIn {tests.decode()}/: {names}." if names else told


def _quoted(name: bytes) -> str:
    """Returns a name on one line; one that could be taken for a sentence is in quotes."""
    text = one_line(name).replace('"', "'")
    text = text if len(text) <= MAX_NAME_CHARS else f"{text[:MAX_NAME_CHARS]}…"
    return text if re.fullmatch(_PLAIN_NAME, text) else f'"{text}"'


def _is_own(overlay: Overlay, path: bytes, own: OwnFolders) -> bool:
    """Tells whether a path is Assent's own, or a folder with nothing but what is."""
    low = casefolded(path)
    if any(is_inside(low, casefolded(each)) for each in (own.plan_dir, STATE, *own.private)):
        return True
    if path != TREE:
        return False
    inner = [TREE + b"/" + name for name in _names(overlay, TREE)]
    return all(each == OWN_IGNORE_FILE or _is_own(overlay, each, own) for each in inner)


# Path suggestions: what a model may have meant by a path that does not exist.


MAX_SUGGESTIONS = 3
_ALIKE = 0.5


def existing_state(context: ToolContext, path: bytes) -> FileState | Literal["folder"]:
    """Returns the state of a path; raises NotFound, with suggestions."""
    state = context.overlay.state(path)
    if state is None:
        raise NotFound(missing_path(context, path))
    return state


def missing_path(context: ToolContext, path: bytes) -> str:
    """Says that a path does not exist, and what may be meant or is there."""
    return f"{one_line(path)} does not exist.{suggest_paths(context, path)}"


def suggest_paths(context: ToolContext, path: bytes) -> str:
    """Returns a sentence with paths of the same or a similar name, else what is in the folder."""
    wanted = casefolded(base_name(path))
    same = [
        file for file in list_files(context, b"").files if casefolded(base_name(file)) == wanted
    ]
    folder, missing = _existing_part(context, path)
    found = same[:MAX_SUGGESTIONS] or _alike(context, folder, missing)
    if found:
        return f" Did you mean {', '.join(one_line(each) for each in found)}?"
    own = OwnFolders(context.plan_dir, context.private)
    there = names_line(context.overlay, folder, own, context.readable)
    where = f"{one_line(folder)} has" if folder else "Here are"
    return f" {where}: {there}." if there else " Find it with glob."


def _existing_part(context: ToolContext, path: bytes) -> tuple[bytes, bytes]:
    """Returns the folder up to which a path exists, and the name that is missing in it."""
    missing, folder = path, parent(path)
    while folder and context.overlay.state(folder) != "folder":
        missing, folder = folder, parent(folder)
    return folder, base_name(missing)


def _alike(context: ToolContext, folder: bytes, missing: bytes) -> list[bytes]:
    prefix = folder + b"/" if folder else b""
    scored = [(_likeness(missing, each), prefix + each) for each in context.overlay.names(folder)]
    best = sorted((score, each) for score, each in scored if score >= _ALIKE)
    return [each for _, each in reversed(best)][:MAX_SUGGESTIONS]


def _likeness(one: bytes, other: bytes) -> float:
    """Compares two names by the letter pairs that they share."""
    ours, theirs = _pairs(casefolded(one)), _pairs(casefolded(other))
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


def _pairs(text: bytes) -> set[bytes]:
    return {text[at : at + 2] for at in range(len(text) - 1)}
