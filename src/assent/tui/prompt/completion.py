"""Completion: the part of the prompt to complete, its candidates, and the list of them.

The list is short and is shown above the prompt.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote

import msgspec
from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from assent.core.text.file_match import is_own, matching_paths
from assent.core.text.hidden_chars import visible_line
from assent.tui.fuzzy import NO_MATCH_RANK, match_rank

Kind: TypeAlias = Literal["file", "command", "history"]

IMAGE_ENDINGS: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
MAX_COMPLETIONS: Final = 50  # choices; to find another, the user types one more letter
_FILE: Final = re.compile(r"(?:^|(?<=[\s(\"']))@([^\s\"']*|\"[^\"\n]*)$")
_COMMAND: Final = re.compile(r"/([\w:-]*)$")
_SLASH: Final = re.compile(r"/[A-Za-z][\w:-]*(\s|$)")


class Completion(msgspec.Struct, frozen=True):
    """A candidate: the text that is inserted, and its description."""

    text: str
    about: str = ""
    label: str = ""  # what it is called in a list, if not by its text

    @property
    def shown(self) -> str:
        """Its label, on one line, without hidden characters."""
        return visible_line(self.label or self.text)


class CompletionTarget(msgspec.Struct, frozen=True):
    """A part of the prompt that can be completed, from `start` to the cursor."""

    kind: Kind
    start: int
    query: str


_A_FILE: Final = CompletionTarget("file", 0, "")


def completion_target(text: str, cursor: int) -> CompletionTarget | None:
    """Returns what can be completed at a cursor: `/name` at the beginning, `@path` anywhere."""
    before = text[:cursor]
    if found := _COMMAND.fullmatch(before):
        return CompletionTarget("command", 0, found[1])
    if found := _FILE.search(before):
        return CompletionTarget("file", found.start(), found[1].lstrip('"'))
    return None


def completed_text(piece: CompletionTarget, choice: Completion) -> str:
    """Returns the text that replaces a target once a choice is accepted."""
    match piece.kind:
        case "command":
            return f"{choice.text} "
        case "file":
            odd = re.search(r"[\s\"']", choice.text)
            return f'@"{choice.text}" ' if odd else f"@{choice.text} "
        case "history":
            return choice.text


def image_mention(pasted: str) -> str:
    """Returns the mention of an image whose path was pasted, as dropping a file on a terminal does.

    Empty if it is anything else than one absolute path with the ending of an image. Its content
    decides what it is, when it is attached.
    """
    path = pasted.strip()
    if path[:1] in "'\"" and path[-1:] == path[:1]:
        path = path[1:-1]
    elif path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    else:
        if re.search(r"(?<!\\)\s", path):
            return ""
        path = re.sub(r"\\(.)", r"\1", path)
    if not path.startswith(("/", "~/")) or not path.lower().endswith(IMAGE_ENDINGS):
        return ""
    return "" if re.search(r"[\"\n]", path) else completed_text(_A_FILE, Completion(path))


def input_kind(text: str) -> Literal["said", "slash", "shell"]:
    """Tells what an input is: a message for the model, a slash command, or a shell line."""
    if text.startswith("!"):
        return "shell"
    return "slash" if _SLASH.match(text) else "said"


def matching_commands(query: str, table: Sequence[Completion]) -> list[Completion]:
    """Returns the commands that match a query; those that begin with it come first."""
    wanted = query.casefold()
    ranked = [(match_rank(wanted, choice.text.casefold()), at) for at, choice in enumerate(table)]
    return [table[at] for near, at in sorted(ranked) if near < NO_MATCH_RANK]


def matching_files(
    query: str, names: Iterable[str], most: int = MAX_COMPLETIONS
) -> list[Completion]:
    """Returns the files and folders that match a query, best match first."""
    return [Completion(name) for name in matching_paths(query, names, most)]


def with_folders(names: Sequence[str]) -> list[str]:
    """Returns files together with the folders that they are in, each of which ends in a slash."""
    folders: set[str] = set()
    for name in names:
        folder = name.rpartition("/")[0]
        while folder and folder + "/" not in folders:
            folders.add(folder + "/")
            folder = folder.rpartition("/")[0]
    return sorted([*names, *folders])


def with_symbols(
    query: str, files: Sequence[Completion], symbols: Sequence[Completion]
) -> list[Completion]:
    """Returns files and definitions: what has the query as it is comes before scattered letters.

    Assent's own files come last.
    """
    wanted = query.casefold()
    near: list[Completion] = []
    far: list[Completion] = []
    for one in files:
        first = wanted in one.text.casefold() and not is_own(one.text)
        (near if first else far).append(one)
    return [*near, *symbols, *far][:MAX_COMPLETIONS]


def matching_history(
    query: str, entries: Sequence[str], most: int = MAX_COMPLETIONS
) -> list[Completion]:
    """Returns earlier messages that contain all words of a query, newest first."""
    words = query.casefold().split()
    newest = dict.fromkeys(reversed(entries))
    found = [entry for entry in newest if all(word in entry.casefold() for word in words)]
    return [Completion(entry, label=" ".join(entry.split())) for entry in found[:most]]


# The short list of completions above the prompt.


ROWS: Final = 8
CHOSEN, OTHER = "▸ ", "  "
_WIDEST: Final = 48  # columns of the texts, where something is said about them


class CompletionList(Static):
    """Shows a few choices, with a sign before the selected one; it never has the focus."""

    DEFAULT_CSS = """
    CompletionList { height: auto; display: none; padding: 0 1; background: $surface; }
    CompletionList.open { display: block; }
    """

    class Accepted(Message):
        """A choice was clicked."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._choices: Sequence[Completion] = ()
        self._at = 0
        self._note = ""

    @property
    def is_open(self) -> bool:
        return self.has_class("open")

    @property
    def choices(self) -> Sequence[Completion]:
        return self._choices

    @property
    def chosen(self) -> Completion | None:
        return self._choices[self._at] if self._choices else None

    def show(self, choices: Sequence[Completion], note: str = "", *, keep: bool = False) -> None:
        """Shows choices with the first one selected; a note if there are none.

        With `keep` the selected one stays selected, if it is among them and was moved to.
        """
        chosen = self.chosen if keep and self._at else None
        at = choices.index(chosen) if chosen in choices else 0
        self._choices, self._at, self._note = choices, at, note
        self.set_class(bool(choices or note), "open")
        self.update(self._drawn())

    def close(self) -> None:
        """Shows nothing."""
        self.show(())

    def move(self, by: int) -> None:
        """Selects another one; after the last comes the first."""
        if self._choices:
            self._at = (self._at + by) % len(self._choices)
            self.update(self._drawn())

    def on_click(self, event: Click) -> None:
        at = self._first() + event.y
        if 0 <= at < len(self._choices):
            self._at = at
            self.post_message(self.Accepted())

    def _first(self) -> int:
        return max(0, min(self._at - ROWS // 2, len(self._choices) - ROWS))

    def _drawn(self) -> Text:
        first = self._first()
        rows = list(enumerate(self._choices))[first : first + ROWS]
        if not rows:
            return Text(visible_line(self._note), no_wrap=True, overflow="ellipsis")
        told = any(choice.about for choice in self._choices)
        width = min(max(len(choice.shown) for _, choice in rows), _WIDEST) if told else 0
        drawn = Text(no_wrap=True, overflow="ellipsis")
        for at, choice in rows:
            sign = CHOSEN if at == self._at else OTHER
            about = f"  {visible_line(choice.about)}" if choice.about else ""
            line = f"{sign}{choice.shown:<{width}}{about}"
            drawn.append(line, "reverse" if at == self._at else "")
            drawn.append("\n" if at != rows[-1][0] else "")
        more = len(self._choices) - first - len(rows)
        return drawn.append(f"\n{OTHER}… {more} more", "dim") if more > 0 else drawn
