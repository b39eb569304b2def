"""The prompt widget, with the history of earlier messages.

The user can type there whatever else is running. It posts `PromptInput.Submitted(words)`,
`Slash(text)`, `Shell(line)`, `Help()` for a `?` in an empty prompt, and `Queued()`; Escape, Ctrl+C
and Ctrl+D reach the app if they have no meaning here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static, TextArea

from assent.core.errors import AssentError, UsageError
from assent.core.llm import MAX_IMAGES_BYTES, ImagePart, TextPart
from assent.core.session.event import AttachedFile, MessageAdded
from assent.core.session.record import SessionRecord
from assent.tui.prompt.completion import (
    Completion,
    CompletionList,
    CompletionTarget,
    completed_text,
    completion_target,
    input_kind,
    matching_commands,
    matching_files,
    matching_history,
    with_folders,
    with_symbols,
)
from assent.tui.prompt.editor import PromptEditor
from assent.tui.prompt.vim import MODE_NOTES
from assent.tui.workers import run_in_background

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.symbols import SymbolMatch

# What finds definitions by a part of their names, as long as the result is wanted.
Symbols: TypeAlias = "Callable[[str, Callable[[], bool]], list[SymbolMatch]]"


def no_symbols(query: str, wanted: Callable[[], bool]) -> "list[SymbolMatch]":
    """Finds none."""
    return []


def _symbol_choice(one: "SymbolMatch") -> Completion:
    """Returns the choice of a definition: its file, and the name that `read` finds it by."""
    about = f"{one.kind} · {one.path}:{one.line}"
    return Completion(f"{one.path}#{one.name}", about, label=one.name)


# Prompt history: earlier messages, reached with the arrow keys; drafts are kept.


MAX_ENTRIES: Final = 1000
SESSIONS: Final = 10  # other ones of the workspace that are looked through, the newest


class PromptHistory:
    """Earlier messages, oldest first, and after them the draft that is being typed.

    Changes to entries are kept until something is sent.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._entries: list[str] = []
        self._edited: dict[int, str] = {}
        self._at = 0
        self.fill(entries)

    @property
    def entries(self) -> Sequence[str]:
        return self._entries

    def fill(self, entries: Iterable[str]) -> None:
        """Adds earlier messages, oldest first, before the known ones."""
        walked = self._at - len(self._entries)
        known = set(self._entries)
        older = [entry for entry in entries if entry.strip() and entry not in known]
        before = len(self._entries)
        self._entries = [*_unrepeated(older), *self._entries][-MAX_ENTRIES:]
        shift = len(self._entries) - before
        self._edited = {at + shift: text for at, text in self._edited.items()}
        self._at = len(self._entries) + walked

    def add(self, entry: str) -> None:
        """Adds what was just sent; changes to other entries are discarded."""
        if entry.strip() and self._entries[-1:] != [entry]:
            self._entries = [*self._entries, entry][-MAX_ENTRIES:]
        self.restart()

    def restart(self) -> None:
        """Returns to the end of the history; changes to entries are discarded."""
        self._edited.clear()
        self._at = len(self._entries)

    def older(self, current: str) -> str | None:
        """Keeps the text in the prompt, and returns the message before it, if any.

        If the user emptied the prompt, that is the last message.
        """
        last = len(self._entries)
        if not current and self._at < last:
            self._at, current = last, self._edited.get(last, "")
        return self._move(current, self._at - 1)

    def newer(self, current: str) -> str | None:
        """Keeps the text in the prompt, and returns the message after it, or the draft."""
        return self._move(current, self._at + 1)

    def _move(self, current: str, to: int) -> str | None:
        if not 0 <= to <= len(self._entries):
            return None
        self._edited[self._at] = current
        self._at = to
        said = self._entries[to] if to < len(self._entries) else ""
        return self._edited.get(to, said)


def _unrepeated(entries: Sequence[str]) -> list[str]:
    """Returns entries without duplicates, each at its last position."""
    return list(dict.fromkeys(reversed(entries)))[::-1]


def load_prompt_history(engine: "Engine", record: SessionRecord | None) -> list[str]:
    """Returns the user's messages in this workspace, this session's last; oldest first."""
    own = record.session if record else ""
    others = [each for each in engine.sessions.all() if not each.parent and each.session != own]
    newest = sorted(others, key=lambda each: each.updated_at)[-SESSIONS:]
    looked = [*newest, *([record] if record else [])]
    return [words for each in looked for words in _words(engine, each)]


def _words(engine: "Engine", record: SessionRecord) -> Iterator[str]:
    for recorded in engine.sessions.events(record):
        event = recorded.event
        if isinstance(event, MessageAdded) and not event.synthetic:
            yield "".join([part.text for part in event.parts if isinstance(part, TextPart)])


PLACEHOLDER: Final = "Describe a task. @ file, / command, ! shell, ? help"
SIGN, SHELL_SIGN = "> ", "$ "
SHELL_NOTE: Final = "Shell: Enter runs this line on your machine."
PASTE_NOTE: Final = "The full paste is sent. Tab after its marker expands it."
IMAGE_NOTE: Final = "Attached from the clipboard"
TOO_MANY_IMAGES: Final = (
    f"A message has at most {MAX_IMAGES_BYTES >> 20} MiB of attached images; this one is left out."
)
NO_SHELL_IMAGE: Final = "A shell command takes no image; it can go with a message to the model."
SEARCH_NOTE: Final = "Search your messages: Enter use, Esc cancel."
NO_FILE: Final = "No matching files, folders or symbols."
LOADING: Final = "Finding files…"
NO_ENTRY: Final = "No matching messages."


def _image_text(file: AttachedFile) -> str:
    kinds = [image.media_type.rpartition("/")[2].upper() for image in file.images]
    return f"{file.mention} {', '.join(kinds)}, {-(-file.size // 1024)} KiB"


class PromptInput(Vertical):
    """A multi-line input with completion, history and long pastes."""

    DEFAULT_CSS = """
    PromptInput { height: auto; max-height: 60vh; }
    PromptInput > #prompt-note { height: 1; padding: 0 1; color: $text-muted; display: none; }
    PromptInput > #prompt-note.open { display: block; }
    PromptInput > #prompt-row { height: auto; max-height: 34vh; padding: 0 1; }
    PromptInput #prompt-sign { width: 2; height: 1; text-style: bold; color: $primary; }
    PromptInput.shell #prompt-sign { color: $warning; }
    """

    class Submitted(Message):
        """The user sent a message to the model; `typed` is what they saw of it in the prompt."""

        def __init__(self, words: str, typed: str | None = None) -> None:
            super().__init__()
            self.words = words
            self.typed = words if typed is None else typed

    class Slash(Message):
        """The user typed a slash command, such as `/mode plan`; `typed` is what they saw of it."""

        def __init__(self, text: str, typed: str | None = None) -> None:
            super().__init__()
            self.text = text
            self.typed = text if typed is None else typed

    class Shell(Message):
        """The user typed a shell command."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    class _Found(Message):
        """Files were found for a completion."""

        def __init__(self, piece: CompletionTarget, choices: list[Completion]) -> None:
            super().__init__()
            self.piece = piece
            self.choices = choices

    class _Recalled(Message):
        """The user's earlier messages were loaded."""

        def __init__(self, entries: list[str]) -> None:
            super().__init__()
            self.entries = entries

    class Queued(Message):
        """The user sends what waits, or recalls the newest of it."""

        def __init__(self, *, sends: bool) -> None:
            super().__init__()
            self.sends = sends

    class ImageWanted(Message):
        """The user wants the image in the clipboard."""

    class Help(Message):
        """The user asked for help."""

    def __init__(
        self,
        commands: Sequence[Completion] = (),
        files: Callable[[], list[str]] = list,
        symbols: "Symbols" = no_symbols,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.commands = commands
        self.history = PromptHistory()
        self.waits = False  # messages are queued: they come before the history
        self._files = files
        self._symbols = symbols
        self._names: list[str] | None = None
        self._piece: CompletionTarget | None = None
        self._unwanted: CompletionTarget | None = (
            None  # the user does not want to complete this one
        )
        self._search: str | None = None  # the draft that a search goes back to
        self._noted = ""  # in the line above the text
        self._editor = PromptEditor(self._look, self._pressed, PLACEHOLDER, id="prompt-text")
        self._offers = CompletionList(id="prompt-offers")

    def compose(self) -> ComposeResult:
        yield self._offers
        yield Static("", id="prompt-note", markup=False)
        with Horizontal(id="prompt-row"):
            yield Static(SIGN, id="prompt-sign", markup=False)
            yield self._editor

    @property
    def text(self) -> str:
        """The text of the prompt, with every paste in full."""
        return self._editor.pastes.expanded(self._editor.text)

    @property
    def completions(self) -> Sequence[Completion]:
        """The choices that the completion list shows now."""
        return self._offers.choices

    def load(self, text: str) -> None:
        """Puts a text into the prompt, with the cursor at its end."""
        self._editor.put(text)

    def images_in(self, text: str) -> tuple[AttachedFile, ...]:
        """Returns the pasted images whose placeholders are in what was typed."""
        return self._editor.pastes.images_in(text)

    def keep_images(self, files: Iterable[AttachedFile]) -> None:
        """Keeps the images of a message that comes back into the prompt."""
        self._editor.pastes.keep_images(files)

    def attach_image(self, image: ImagePart) -> None:
        """Puts the placeholder of an image at the cursor; raises an error if it cannot be sent."""
        editor = self._editor
        if input_kind(editor.text) == "shell":
            raise UsageError(NO_SHELL_IMAGE)
        there = self.images_in(editor.text)
        if sum(file.size for file in there) + len(image.content) > MAX_IMAGES_BYTES:
            raise UsageError(TOO_MANY_IMAGES)
        sign = editor.pastes.take_image(image).mention
        before = editor.text[: editor.index]
        lead = " " if before and not before[-1].isspace() else ""
        editor.put(f"{lead}{sign} ", editor.index, editor.index)

    def clear(self) -> None:
        """Empties the prompt; neither Up nor Ctrl+Z restores the text."""
        self._editor.put("")
        self._editor.pastes.forget()
        self._editor.has_cut = False
        self._editor.history.clear()
        self.history.restart()

    def remember(self, messages: Iterable[str]) -> None:
        """Adds the user's earlier messages, oldest first."""
        self.history.fill(messages)

    def recollect(self, read: Callable[[], list[str]]) -> None:
        """Loads the user's earlier messages in a thread."""

        def work() -> None:
            with suppress(AssentError, RuntimeError):  # then there is nothing to go back to
                self.post_message(self._Recalled(read()))

        run_in_background(work)

    def use_vim(self, wanted: bool) -> None:
        """Turns vim keys on, in insert mode, or off."""
        if wanted != (self._editor.vim is not None):
            self._editor.enter_mode("insert" if wanted else None)

    def focus_text(self) -> None:
        """Focuses the prompt."""
        self._editor.focus()

    @on(_Recalled)
    def _remember_read(self, event: _Recalled) -> None:
        event.stop()
        self.remember(event.entries)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._look()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._look()

    def on_completion_list_accepted(self, event: CompletionList.Accepted) -> None:
        event.stop()
        self._take()
        self.focus_text()

    def _pressed(self, key: str) -> None:
        """Runs the action of a key."""
        match key:
            case "enter" | "tab" if self._offers.chosen and not self._is_whole(key):
                self._take()
            case "enter" if self._search is None:
                self._send()
            case "enter" | "escape":
                self._close()
            case "up" | "ctrl+p":
                self._up()
            case "down" | "ctrl+n":
                self._down()
            case "ctrl+r":
                self._begin_search()
            case "ctrl+v":
                self.post_message(self.ImageWanted())
            case "tab":
                self._editor.unfold()
            case _:
                self.post_message(self.Help())

    def _is_whole(self, key: str) -> bool:
        """Tells whether Enter was pressed after a complete command."""
        chosen = self._offers.chosen
        return key == "enter" and chosen is not None and chosen.text == self._editor.text

    def _up(self) -> None:
        if self._offers.is_open:
            self._offers.move(-1)
        elif self.waits and not self._editor.text:
            self.post_message(self.Queued(sends=False))
        else:
            self._recalled(self.history.older(self._editor.text))

    def _down(self) -> None:
        if self._offers.is_open:
            self._offers.move(1)
        else:
            self._recalled(self.history.newer(self._editor.text))

    def _recalled(self, text: str | None) -> None:
        if text is not None:
            self._editor.put(text)
            self._close()

    def _send(self) -> None:
        editor = self._editor
        if editor.text[: editor.index].endswith("\\"):
            editor.put("\n", editor.index - 1, editor.index)
            return
        text, typed = self.text, editor.text
        if not text.strip():
            if self.waits:
                self.post_message(self.Queued(sends=True))
            return
        self.history.add(text)
        self.clear()
        if self._editor.vim is not None:
            self._editor.enter_mode("insert")
        match input_kind(text):
            case "shell":
                line = text[1:].strip()
                self.post_message(self.Shell(line) if line else self.Help())
            case "slash":
                self.post_message(self.Slash(text.strip(), typed.strip()))
            case "said":
                self.post_message(self.Submitted(text, typed))

    def _look(self) -> None:
        """Updates the prompt's sign and the completion list from its text."""
        text = self._editor.text
        is_shell = input_kind(text) == "shell"
        if is_shell != self.has_class("shell"):
            self.set_class(is_shell, "shell")
            self.query_one("#prompt-sign", Static).update(SHELL_SIGN if is_shell else SIGN)
        self._note(text, is_shell=is_shell)
        piece = self._found_piece(text)
        if piece != self._piece:
            self._piece = piece
            self._offer(piece)
        self._editor.offering = self._offers.is_open

    def _note(self, text: str, *, is_shell: bool) -> None:
        words = SHELL_NOTE if is_shell else PASTE_NOTE if self._editor.pastes.holds(text) else ""
        if images := () if words or "[" not in text else self.images_in(text):
            words = f"{IMAGE_NOTE}: {', '.join(map(_image_text, images))}"
        words = words if self._search is None else SEARCH_NOTE
        if self._editor.vim is not None:
            words = " · ".join(filter(None, (MODE_NOTES[self._editor.vim], words)))
        if words != self._noted:  # else each key would lay out the screen again
            self._noted = words
            note = self.query_one("#prompt-note", Static)
            note.update(words)
            note.set_class(bool(words), "open")

    def _found_piece(self, text: str) -> CompletionTarget | None:
        if self._search is not None:
            return CompletionTarget("history", 0, text)
        piece = completion_target(text, self._editor.index)
        if piece is None or self._unwanted is None or piece.start != self._unwanted.start:
            self._unwanted = None
            return piece
        return None

    def _offer(self, piece: CompletionTarget | None) -> None:
        if piece is None:
            self._offers.close()
            return
        match piece.kind:
            case "command":
                self._offers.show(matching_commands(piece.query, self.commands))
            case "history":
                self._offers.show(matching_history(piece.query, self.history.entries), NO_ENTRY)
            case "file":
                if not self._offers.is_open:
                    self._offers.show((), LOADING)
                run_in_background(partial(self._find_files, piece))

    def _find_files(self, piece: CompletionTarget) -> None:
        """Finds files in a thread; they are listed again whenever a name is begun."""
        with suppress(AssentError):  # then there are none to choose from
            if self._names is None or not piece.query:
                self._names = with_folders(self._files())
        files = matching_files(piece.query, self._names or ())
        with suppress(RuntimeError):  # the screen has just been closed
            self.post_message(self._Found(piece, files))
            with suppress(AssentError):
                found = self._symbols(piece.query, lambda: piece == self._piece)
                symbols = [_symbol_choice(one) for one in found]
                if symbols:
                    self.post_message(self._Found(piece, with_symbols(piece.query, files, symbols)))

    @on(_Found)
    def _offer_files(self, event: _Found) -> None:
        event.stop()
        if event.piece == self._piece:
            self._offers.show(event.choices, NO_FILE, keep=True)
            self._editor.offering = self._offers.is_open

    def _take(self) -> None:
        piece, choice = self._piece, self._offers.chosen
        if piece is None or choice is None:
            return
        self._search = None
        if piece.kind == "history":
            self._editor.put(choice.text)
        else:
            self._editor.put(completed_text(piece, choice), piece.start, self._editor.index)
        self._close()

    def _begin_search(self) -> None:
        if self._search is None:
            self._search = self._editor.text
            self._look()
        else:
            self._offers.move(1)

    def _close(self) -> None:
        """Closes the list; restores the text from before a search."""
        draft, self._search = self._search, None
        self._unwanted, self._piece = completion_target(self._editor.text, self._editor.index), None
        self._offers.close()
        if draft is not None:
            self._editor.put(draft)
        self._look()
