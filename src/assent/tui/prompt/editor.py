"""The text area of the prompt, where a long paste is shown as a short placeholder.

Keys act in the order in which they were typed.
"""

import re
from asyncio import TimerHandle
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Final

from textual.actions import SkipAction
from textual.binding import Binding
from textual.events import Key, Paste
from textual.widgets import TextArea

from assent.core.llm import ImagePart
from assent.core.session.event import AttachedFile
from assent.render.lines import counted
from assent.tui.keys import BURST_S, BurstDetector
from assent.tui.prompt.completion import image_mention, input_kind
from assent.tui.prompt.vim import DOUBLED, VimMode, is_edge, left_insert, vim_edit
from assent.tui.timers import call_after

# Shows a long paste, or an image, as a short placeholder in the prompt; it is sent in full.


LINES: Final = 10  # a paste with more lines than this, or more characters, is shown as a sign
CHARACTERS: Final = 1000
PASTED: Final = "you: pasted into the message"
MAX_KEPT_BYTES: Final = 32 << 20  # of images that are kept for messages that may come back


class PastePlaceholders:
    """The paste of each placeholder; a typed placeholder is just text.

    Images are kept after their message was sent: it may come back into the prompt.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._images: dict[str, AttachedFile] = {}
        self._numbered = 0  # images, since the screen was opened

    def take_image(self, image: ImagePart) -> AttachedFile:
        """Returns an image as it is attached to a message that has its placeholder."""
        self._numbered += 1
        sign, size = f"[image {self._numbered}]", len(image.content)
        text = f"[{image.media_type}, {counted(size, 'byte')}]"
        file = AttachedFile(sign, "image", sign, text, size, (image,), decided=PASTED)
        self.keep_images((file,))
        return file

    def keep_images(self, files: Iterable[AttachedFile]) -> None:
        """Keeps images for a text that comes back into the prompt; the oldest ones go first."""
        self._images |= {file.mention: file for file in files}
        while sum(file.size for file in self._images.values()) > MAX_KEPT_BYTES:
            del self._images[next(iter(self._images))]

    def images_in(self, text: str) -> tuple[AttachedFile, ...]:
        """Returns the images whose placeholders a text has."""
        return tuple(file for sign, file in self._images.items() if sign in text)

    def take(self, text: str) -> str:
        """Returns how a paste appears in the prompt: as it is, or as a unique placeholder."""
        lines = text.removesuffix("\n").count("\n") + 1
        if lines <= LINES and len(text) <= CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        number, sign = 1, f"[pasted: {size}]"
        while self._texts.get(sign, text) != text:
            number += 1
            sign = f"[pasted: {size}, {number}]"
        self._texts[sign] = text
        return sign

    def expanded(self, text: str) -> str:
        """Returns a text with its placeholders replaced by the pastes."""
        if not self._texts:
            return text
        signs = re.compile("|".join(map(re.escape, self._texts)))
        return signs.sub(lambda found: self._texts[found[0]], text)

    def sign_before(self, text: str) -> str:
        """Returns the placeholder that a text ends with, if any."""
        return next((sign for sign in self._signs if text.endswith(sign)), "")

    def sign_after(self, text: str) -> str:
        """Returns the placeholder that a text begins with, if any."""
        return next((sign for sign in self._signs if text.startswith(sign)), "")

    @property
    def _signs(self) -> list[str]:
        return [*self._texts, *self._images]

    def holds(self, text: str) -> bool:
        """Tells whether a text contains a placeholder."""
        return any(sign in text for sign in self._texts)

    def forget(self) -> None:
        """Forgets all pastes, because their message was sent."""
        self._texts.clear()


# A text area whose keys act in the order in which they were typed.


@cache
def key_bindings(kind: type[TextArea]) -> dict[str, list[Binding]]:
    """Returns what each key of a text area is bound to, where it has the focus."""
    found: dict[str, list[Binding]] = {}
    for base in reversed(kind.__mro__):  # what is nearer replaces what is further up, key by key
        own: dict[str, list[Binding]] = {}
        for binding in Binding.make_bindings(vars(base).get("BINDINGS", ())):
            own.setdefault(binding.key, []).append(binding)
        found |= own
    return found


class OrderedTextArea(TextArea):
    """Makes editing keys, such as Backspace, act before letters that were typed after them.

    Textual passes such a key from parent to parent, and looks up its binding only at the top. By
    then the letters after it are already inserted: the wrong one would be deleted.

    An Enter that is held acts a moment later; if more comes right after it, it breaks the line.
    """

    _held_enter: TimerHandle | None = None

    def act_on_enter(self) -> None:
        """Does what Enter does here: it breaks the line, unless an area has another use for it."""
        self.break_line()

    def break_line(self) -> None:
        """Breaks the line at the cursor."""
        self.insert("\n")

    def hold_enter(self, need: float) -> None:
        """Has an Enter act after a moment, unless something comes right after it."""
        self._held_enter = call_after(self, need, self.release_enter)

    def release_enter(self, *, sends: bool = True) -> None:
        """Lets a held Enter act, or break the line if something came right after it."""
        if self._held_enter is None:
            return
        self._held_enter.cancel()
        self._held_enter = None
        if sends:
            self.act_on_enter()
        else:
            self.break_line()

    async def edited(self, event: Key) -> bool:
        """Runs the binding of a key in the area itself, if it has one."""
        for binding in key_bindings(type(self)).get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return True
        return False


ALWAYS: Final = ("enter", "ctrl+r")
COMPLETION_KEYS: Final = ("tab", "escape", "up", "down", "ctrl+n", "ctrl+p")
STARTS: Final = ("/", "!", "@", "?")  # of an empty prompt, which mean the same in normal mode
LINE_KEYS: Final = ("shift+enter", "shift+\r", "ctrl+j", "alt+enter")


class PromptEditor(OrderedTextArea):
    """A text area whose Enter sends.

    Before keys that the prompt may handle it calls `look`; those that it handles are passed to
    `pressed`: enter, tab, up, down, escape and such, and Ctrl+V if nothing was cut.
    """

    DEFAULT_CSS = """
    PromptEditor, PromptEditor:focus {
        height: auto; max-height: 34vh; border: none; padding: 0; background: $background;
    }
    """

    def __init__(
        self,
        look: Callable[[], None],
        pressed: Callable[[str], None],
        placeholder: str = "",
        id: str | None = None,
    ) -> None:
        super().__init__(
            "", id=id, soft_wrap=True, show_line_numbers=False, compact=True,
            highlight_cursor_line=False, placeholder=placeholder,
        )  # fmt: skip
        # Called directly, without messages: what is typed after a key must not overtake it.
        self._look_first = look
        self._pressed = pressed
        self.pastes = PastePlaceholders()
        self.vim: VimMode | None = None  # with vim keys: the mode
        self._vim_before = ""  # a key of normal mode that waits for its second
        self.offering = False  # a list is open above: it gets the arrow keys, Tab and Escape
        self._burst = BurstDetector()
        self.has_cut = False  # from this message: that is what Ctrl+V inserts
        self._breaks = False  # the keys that arrive all at once had a line break: a paste

    @property
    def index(self) -> int:
        """How many characters are before the cursor."""
        return len(self.get_text_range((0, 0), self.cursor_location))

    @property
    def sign(self) -> str:
        """The placeholder that ends at the cursor, if any."""
        return self.pastes.sign_before(self.text[: self.index]) if self.selection.is_empty else ""

    def unfold(self) -> None:
        """Replaces the placeholder at the cursor by its paste."""
        sign = self.sign
        if self.pastes.holds(sign):  # an image stays one
            self.put(self.pastes.expanded(sign), self.index - len(sign), self.index)

    def put(self, text: str, start: int = 0, end: int | None = None) -> None:
        """Replaces a range by a text, with the cursor after it."""
        last = self.document.end if end is None else self._place(end)
        result = self.replace(text, self._place(start), last, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    async def on_key(self, event: Key) -> None:
        """Handles the keys with another meaning here; Textual passes all others to TextArea."""
        self._burst.take(event.time, getattr(self.app, "burst_s", BURST_S))
        self._breaks = self._breaks and self._burst.soon
        self.release_enter(sends=not self._burst.soon)
        if self.vim is not None and not self.offering and self._is_vim(event):
            self._keep(event)
        elif event.key in LINE_KEYS or (event.key == "enter" and self._breaks):
            self._keep(event)
            self.break_line()
        elif event.key == "enter" and self._burst.need:
            self._keep(event)
            self.hold_enter(self._burst.need)
        elif self._is_for_prompt(event):
            self._keep(event)
            self._pressed(event.key)
        else:
            await self.edited(event)

    def enter_mode(self, mode: VimMode | None) -> None:
        """Changes the mode of the vim keys; None: there are none."""
        self.vim, self._vim_before = mode, ""
        self._look_first()

    def _is_vim(self, event: Key) -> bool:
        """Runs a key as vim does; tells whether it has a meaning there."""
        before, self._vim_before = self._vim_before, ""
        if self.vim == "insert":
            if event.key != "escape":
                return False
            self.move_cursor(self._place(left_insert(self.text, self.index)))
            self.enter_mode("normal")
            return True
        if event.key == "escape":
            return bool(before)  # else it is the screen's to understand
        keys = {"backspace": "h", "space": "l"}.get(event.key, event.character or "")
        if not event.is_printable and event.key not in ("backspace", "space"):
            return False
        if not self.text and keys in STARTS:  # a command, a shell line, a file or the help
            if keys != "?":
                self.enter_mode("insert")
            return False
        self._run_vim(before + keys if before == keys else keys)
        return True

    def _run_vim(self, keys: str) -> None:
        """Runs a key of normal mode, or the two of `dd` and `cc`."""
        if keys in DOUBLED:
            self._vim_before = keys
        elif keys == "u":
            with suppress(SkipAction):
                self.action_undo()
        elif keys in ("j", "k") and is_edge(self.text, self.index, keys):
            self._pressed("down" if keys == "j" else "up")
        elif (edit := vim_edit(self.text, self.index, keys)) is not None:
            if edit.changes:
                end = max(edit.end, self.index + len(self._paste_at()) if keys == "x" else 0)
                self.put(edit.text, edit.start, end)
            self.move_cursor(self._place(min(edit.cursor, len(self.text))))
            if edit.mode != self.vim:
                self.enter_mode(edit.mode)

    def _paste_at(self) -> str:
        """Returns the placeholder that begins at the cursor, if any: `x` removes it as a whole."""
        return self.pastes.sign_after(self.text[self.index :])

    def act_on_enter(self) -> None:
        self._look_first()
        self._pressed("enter")

    def break_line(self) -> None:
        self._breaks = True
        super().break_line()

    def _is_for_prompt(self, event: Key) -> bool:
        key = event.key
        if key in ALWAYS + COMPLETION_KEYS:
            self._look_first()
        if key in ALWAYS or (self.offering and key in COMPLETION_KEYS):
            return True
        match key:
            case "up" | "down":
                return self._is_edge(first=key == "up")
            case "tab":
                return bool(self.sign)
            case _:
                return key == "question_mark" and not self.text

    def _place(self, index: int) -> tuple[int, int]:
        before = self.text[:index]
        return before.count("\n"), index - before.rfind("\n") - 1

    def _is_edge(self, *, first: bool) -> bool:
        at = self.cursor_location
        navigator = self.navigator
        return navigator.is_first_wrapped_line(at) if first else navigator.is_last_wrapped_line(at)

    @staticmethod
    def _keep(event: Key) -> None:
        event.stop()
        event.prevent_default()

    async def on_paste(self, event: Paste) -> None:
        """Inserts pasted text; a paste never sends."""
        event.stop()
        event.prevent_default()
        self._burst.take(event.time, 0.0)
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        before = self.text[: self.index]
        if input_kind(self.text) == "said" and (not before or before[-1].isspace()):
            text = image_mention(text) or text
        self.replace(self.pastes.take(text), *self.selection, maintain_selection_offset=False)

    def action_paste(self) -> None:
        if self.has_cut and self.app.clipboard:
            taken = self.pastes.take(self.app.clipboard)
            self.replace(taken, *self.selection, maintain_selection_offset=False)
        else:
            self._pressed("ctrl+v")

    def action_cut(self) -> None:
        super().action_cut()
        self.has_cut = True

    def action_undo(self) -> None:
        before = self.text
        super().action_undo()
        if not before and not self.text:
            raise SkipAction  # nothing was typed: it is the screen's to understand

    def action_delete_left(self) -> None:
        if sign := self.sign:
            self.put("", self.index - len(sign), self.index)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        if not self.text:
            raise SkipAction  # Ctrl+D with nothing to delete is the screen's to understand
        super().action_delete_right()
