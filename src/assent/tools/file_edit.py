"""File edits: from a path that a model typed to an operation with exact content.

Every editing tool uses this. The plan file is the only file that planning writes.
"""

from functools import cached_property

import msgspec

from assent.core.digest import sha256
from assent.core.errors import NotFound, Refused, StaleError, UsageError
from assent.core.paths import (
    ancestors,
    casefolded,
    display_path,
    is_inside,
    one_line,
    refuse_own_paths,
)
from assent.core.plan.operation import FileOperation, FileState, WriteFile
from assent.core.tool import Action, EditEffect, PlanTextEffect, ResourceAccess, ToolOutcome
from assent.tools.text_match import line_of, numbered_lines
from assent.tools.tool import ToolContext

NEW_MODE = 0o644
CONTEXT_LINES = 2  # lines that are shown before and after a change
MAX_EXCERPT_LINES = 12  # lines of an excerpt
MAX_FILES = 5000  # of one call


class EditedFile(msgspec.Struct, frozen=True, dict=True):
    """The new content of one file; `words` and `excerpt` describe it for the model."""

    path: bytes
    before: FileState | None
    content: bytes
    words: str
    excerpt: str = ""
    mode: int = NEW_MODE  # of a file that is new

    @cached_property
    def after(self) -> FileState:
        mode = self.before.mode if self.before else self.mode
        return FileState(sha256(self.content), len(self.content), mode)


def edit_target(argument: str, around: ToolContext) -> bytes:
    """Returns the real path of a file to change; refuses git's, Assent's and outside files."""
    path = around.overlay.locate(argument)
    check_editable(path, around)
    return path


def check_editable(path: bytes, around: ToolContext) -> None:
    """Refuses files that no tool may touch; for plans, it says what to use instead."""
    if is_inside(casefolded(path), casefolded(around.plan_dir)):
        words = "is in the plans folder, which cannot be edited; in plan mode, use `write_plan`."
        raise Refused(f"{one_line(path)} {words} Nothing was changed.")
    refuse_own_paths(path, around.plan_dir, around.private)


def entry_path(argument: str, around: ToolContext) -> bytes:
    """Returns the path of an entry itself: of a symlink, not of its target."""
    folder, _, name = argument.rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        return edit_target(argument, around)
    above = "/" if not folder and argument.startswith("/") else folder
    real = around.overlay.locate(above) if above else b""
    encoded = name.encode("utf-8", "backslashreplace")
    path = real + b"/" + encoded if real else encoded
    if around.overlay.state(path) is None:
        path = around.overlay.locate(argument)  # it may be a name that was shown with escapes
    check_editable(path, around)
    return path


def edit_access(path: bytes) -> ResourceAccess:
    return ResourceAccess(Action.EDIT, display_path(path))


def read_access(path: bytes) -> ResourceAccess:
    """Returns the request of a tool that shows or copies the content of a file."""
    return ResourceAccess(Action.READ, display_path(path))


def expected_state(path: bytes, around: ToolContext) -> FileState | None:
    """Returns the file at a path; raises if the model saw another content."""
    state = around.overlay.state(path)
    if state == "folder":
        raise Refused(f"{one_line(path)} is a folder. Nothing was changed.")
    if state is None:
        for above in ancestors(path):
            if isinstance(around.overlay.state(above), FileState):
                raise Refused(f"{one_line(above)} is a file, not a folder.")
        return None
    seen = around.seen.get(display_path(path))
    if seen is not None and seen != state.digest:
        raise StaleError(f"{one_line(path)} has changed since you read it. Read it again first.")
    return state


def load_file(path: bytes, around: ToolContext) -> tuple[FileState, bytes]:
    """Returns a file with its content; raises if there is none, or it is being changed."""
    state = expected_state(path, around)
    if state is None:
        raise NotFound(f"{one_line(path)} does not exist. Use `write` to create it.")
    if state.kind == "link":
        raise Refused(f"{one_line(path)} is a symlink; edit the file it points to.")
    content = around.overlay.content(path)
    if sha256(content) != state.digest:
        raise StaleError(f"{one_line(path)} is changing right now. Read it again first.")
    return state, content


def edit_outcome(
    changes: list[EditedFile], operations: tuple[FileOperation, ...] = ()
) -> ToolOutcome:
    """Returns changes as one effect; unchanged files are omitted."""
    real = [c for c in changes if c.before != c.after]
    seen = {display_path(change.path): change.after.digest for change in changes}
    wanted = (*[WriteFile(c.path, c.before, c.after) for c in real], *operations)
    words = [
        f"{one_line(change.path)}: {change.words}"
        if change in real
        else f"{one_line(change.path)} already has this content; nothing to change."
        for change in changes
    ]
    excerpts = [change.excerpt for change in real if change.excerpt]
    contents = {change.after.digest: change.content for change in real}
    return ToolOutcome(
        "\n".join([*words, *excerpts]),
        ", ".join(one_line(change.path) for change in changes[:3]),
        effect=EditEffect(wanted, contents) if wanted else None,
        metadata={"seen": seen},
    )


def excerpt(text: str, start: int, length: int) -> str:
    """Returns the numbered lines of a text around a piece of it."""
    lines = text.split("\n")
    first = line_of(text, start)
    last = first + text.count("\n", start, start + length)
    begin = max(1, first - CONTEXT_LINES)
    end = min(len(lines), last + CONTEXT_LINES, begin + MAX_EXCERPT_LINES - 1)
    if end == len(lines) and not lines[-1]:
        end -= 1
    return numbered_lines(lines[begin - 1 : end], begin)


# The plan file as a target: planning writes this one file, as the plan's text (F69).


MAX_PLAN_BYTES = 1 << 20  # bytes of a plan's text
ENDING = b".md"


def is_plan(argument: str, path: bytes, around: ToolContext) -> bool:
    """Tells whether a path is the plan file; raises Refused if it was reached indirectly.

    `path` is where the argument really leads. The file must be named exactly: no `..`, no symlink,
    no other ending.
    """
    if not around.plan or path != around.plan:
        return False
    typed = argument.encode("utf-8", "backslashreplace").removeprefix(around.root + b"/")
    direct = typed.removeprefix(b"./") == around.plan
    if not direct or not path.endswith(ENDING) or not is_inside(path, around.plan_dir):
        raise Refused(f"{one_line(typed)} points to the plan indirectly; use `write_plan`.")
    return True


def plan_access(around: ToolContext) -> ResourceAccess:
    """Returns the access that writing the plan needs."""
    return ResourceAccess(Action.PLAN, one_line(around.plan))


def plan_text_outcome(text: str, around: ToolContext) -> ToolOutcome:
    """Returns the plan's new text instead of an edit (F17)."""
    if around.posture.mode != "plan":
        raise Refused("The plan's text can only change in plan mode. It was not changed.")
    check_plan_text(text)
    return ToolOutcome(
        "This is the plan file: the plan's text was written.", "plan", effect=PlanTextEffect(text)
    )


def check_plan_text(text: str) -> None:
    """Raises if this cannot be a plan's text."""
    if not text.strip():
        raise UsageError("text: must not be blank. The plan was not changed.")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_PLAN_BYTES:
        raise UsageError(f"text: has more than {MAX_PLAN_BYTES} bytes. The plan was not changed.")
