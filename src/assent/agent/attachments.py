"""Attaches the files that a user named with `@`: read as the model's own `read` would be."""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from assent.core.errors import AssentError
from assent.core.llm import MAX_IMAGES_BYTES
from assent.core.paths import display_path
from assent.core.session.event import AttachedFile
from assent.core.session.mention import mentioned_paths
from assent.core.tool import ToolOutcome
from assent.ports import WorkspaceFiles
from assent.tools.tool import ToolContext

MAX_FILES: Final = 20  # of one message
MAX_TEXT_BYTES: Final = 200 << 10  # of all its files; one has what `read` shows of it at once
TOO_MANY: Final = f"A message has at most {MAX_FILES} attachments."
TOO_LONG: Final = (
    f"A message has at most {MAX_TEXT_BYTES >> 10} KiB of attached text and "
    f"{MAX_IMAGES_BYTES >> 20} MiB of attached images."
)


ALL_LINES: Final = "1-"  # a file that the user names is not outlined
PART: Final = "#"  # between a path and the lines or the definition that is meant: `cart.py#Cart`

# Reads lines of a path by the `read` tool, as far as that is allowed; also returns who decided, and
# why.
UserRead: TypeAlias = Callable[[str, str], tuple[ToolOutcome, str]]


class Attachments:
    """Finds and reads what a message names, by the rules, mode, agent and hooks of its turn."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files

    def mentions(self, typed: str) -> tuple[str, ...]:
        """Returns the paths that a user typed after `@`."""
        return mentioned_paths(typed)

    def attach(
        self, mentions: Sequence[str], context: ToolContext, read: UserRead, home: bytes
    ) -> tuple[AttachedFile, ...]:
        """Returns what became of each mention; `home` is what `~` means."""
        found: list[AttachedFile] = []
        for mention in mentions:
            argument, kind, lines = self._meant_part(context, mention, home)
            if not kind:
                found.append(AttachedFile(mention, "missing"))
            elif why := _why_full(found):
                found.append(AttachedFile(mention, "refused", why=why))
            else:
                found.append(_attached(mention, kind, *read(argument, lines)))
        return tuple(found)

    def _meant_part(
        self, context: ToolContext, mention: str, home: bytes
    ) -> tuple[str, Literal["file", "folder", ""], str]:
        """Returns the path that a mention means, what is there, and which lines of it are meant."""
        argument, kind = self._meant(context, mention, home)
        path, sign, part = mention.rpartition(PART)
        if kind or not sign or not path or not part:
            return argument, kind, ALL_LINES
        argument, kind = self._meant(context, path, home)
        return (argument, kind, part) if kind == "file" else (mention, "", ALL_LINES)

    def _meant(
        self, context: ToolContext, mention: str, home: bytes
    ) -> tuple[str, Literal["file", "folder", ""]]:
        """Returns the path that a mention means, and what is there; empty: nothing.

        It is relative to the workspace's root, as tools and completion have it, else to the folder
        that the user is in.
        """
        if home and (mention == "~" or mention.startswith("~/")):
            mention = display_path(home) + mention[1:]
        kind = _kind(context, mention)
        if kind or mention.startswith("/"):
            return mention, kind
        try:
            typed = mention.encode("utf-8", "backslashreplace")
            here = display_path(self._files.locate(typed))
        except AssentError:
            return mention, ""
        return here, _kind(context, here)


def _attached(
    mention: str, kind: Literal["file", "folder"], outcome: ToolOutcome, decided: str
) -> AttachedFile:
    if outcome.failed:
        why = " ".join(outcome.text.removesuffix(" Nothing was done.").split())
        return AttachedFile(mention, "refused", why=why, decided=decided)
    pictures = sum(len(each.content) for each in outcome.images)
    size = int(outcome.metadata.get("bytes", _length(outcome.text)))
    return AttachedFile(
        mention,
        "image" if outcome.images else kind,
        outcome.title,
        outcome.text,
        pictures or size,
        outcome.images,
        outcome.metadata.get("seen", {}),
        decided=decided,
    )


def _kind(context: ToolContext, argument: str) -> Literal["file", "folder", ""]:
    """Tells what is at a path, without reading it; what may not be looked at counts as a file."""
    overlay, outside = context.overlay, context.outside
    try:
        way = overlay.outside_target(argument)
        if way is None:
            path = overlay.locate(argument)
            if overlay.is_file(path):
                return "file"
            return "folder" if overlay.state(path) == "folder" else ""
        if outside is None:
            return "file"
        real = outside.real(way if way.startswith(b"/") else context.root + b"/" + way)
        if outside.is_folder(real):
            return "folder"
        return "file" if outside.exists(real) else ""
    except AssentError:  # `read` says why
        return "file"


def _length(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


def _why_full(found: Sequence[AttachedFile]) -> str:
    """Says why a message takes no more attachments; empty if it does."""
    there = [file for file in found if file.kind not in ("missing", "refused")]
    if len(there) >= MAX_FILES:
        return TOO_MANY
    images = sum(file.size for file in there if file.kind == "image")
    # As the model reads them: of many short lines, the numbers are most of it.
    text = sum(_length(file.text) for file in there if file.kind != "image")
    return TOO_LONG if text >= MAX_TEXT_BYTES or images >= MAX_IMAGES_BYTES else ""
