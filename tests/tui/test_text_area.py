"""Keys act in the order in which they were typed, also where the screen is late to read them."""

from collections.abc import Callable

import pytest
from tests.tui.widget_app import Sight, shown
from textual.events import Key

from assent.tui.panels.text_input import TextInputArea
from assent.tui.prompt.editor import OrderedTextArea, PromptEditor, key_bindings

AREAS: dict[str, Callable[[], OrderedTextArea]] = {
    "prompt": lambda: PromptEditor(lambda: None, lambda key: None),
    "words": lambda: TextInputArea({}, "", "words"),
}
# Keys, all of them typed before the first is read, and what is written then.
TYPED: dict[str, tuple[tuple[str, ...], str]] = {
    "a letter is corrected": (("a", "x", "backspace", "b"), "ab"),
    "a line is begun anew": (("n", "o", "ctrl+u", "y", "e", "s"), "yes"),
    "a word is begun anew": (("a", "space", "b", "ctrl+w", "c"), "a c"),
    "something comes before": (("b", "home", "a", "end", "c"), "abc"),
    "the cursor goes back": (("a", "c", "left", "b", "right", "d"), "abcd"),
    "all is replaced": (("a", "b", "shift+home", "c"), "c"),
}


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("case", TYPED)
def test_what_is_typed_behind_a_key_never_overtakes_it(area: str, case: str) -> None:
    keys, text = TYPED[case]
    widget = AREAS[area]()

    async def act(sight: Sight) -> None:
        widget.focus()
        await sight.pause()
        for key in keys:
            letter = " " if key == "space" else key if len(key) == 1 else None
            sight.post_message(Key(key, letter))
        await sight.pause()
        assert widget.text == text

    shown(widget, act)


@pytest.mark.parametrize("area", AREAS)
def test_keys_are_bound_to_what_textual_binds_them_to(area: str) -> None:
    """The bindings are read from public tables; Textual's own merging of them is private."""
    kind = type(AREAS[area]())
    assert key_bindings(kind) == kind._merge_bindings().key_to_bindings
