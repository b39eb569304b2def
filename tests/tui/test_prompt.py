"""The prompt: lines, history, pastes, completion, and what it makes of them."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from tests.tui.widget_app import Sight, shown
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from assent.tui.prompt.completion import Completion
from assent.tui.prompt.input import PromptInput

COMMANDS = (
    Completion("/plan", "choose a plan"),
    Completion("/mode", "change the mode"),
    Completion("/model", "choose a model"),
)
FILES = ["README.md", "src/assent/prompt.py", "src/parse.py", "my file.txt"]
SIZE = (60, 24)


class Typed:
    """A prompt with somebody in front of it, and what came out of it."""

    def __init__(self, sight: Sight, prompt: PromptInput) -> None:
        self.sight = sight
        self.prompt = prompt
        self.press = sight.press
        self.spell = sight.spell

    async def paste(self, text: str) -> None:
        assert self.sight.focused is not None
        self.sight.focused.post_message(Paste(text))
        await self.sight.pilot.pause()

    async def offered(self, *names: str) -> None:
        await self.sight.until(lambda: tuple(c.text for c in self.prompt.completions) == names)

    @property
    def out(self) -> list[tuple[str, str]]:
        """Everything that was sent, with its sort."""
        kinds = (PromptInput.Submitted, PromptInput.Slash, PromptInput.Shell)
        return [_told(message) for kind in kinds for message in self.sight.of(kind)]


def _told(message: object) -> tuple[str, str]:
    match message:
        case PromptInput.Submitted():
            return "said", message.words
        case PromptInput.Slash():
            return "slash", message.text
        case PromptInput.Shell():
            return "shell", message.line
        case _:
            raise AssertionError(message)


def typing(act: Callable[[Typed], Awaitable[None]], remember: Sequence[str] = ()) -> Sight:
    prompt = PromptInput(COMMANDS, lambda: FILES, id="prompt")
    prompt.remember(remember)

    async def run(sight: Sight) -> None:
        prompt.focus_text()
        await act(Typed(sight, prompt))

    return shown(prompt, run, SIZE)


def test_enter_sends_and_empties_the_prompt() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("do it")
        await typed.press("enter")
        assert (typed.out, typed.prompt.text) == ([("said", "do it")], "")

    typing(act)


def test_what_is_typed_ahead_does_not_overtake_enter_or_tab() -> None:
    async def act(typed: Typed) -> None:
        editor = typed.sight.focused
        assert editor is not None
        ahead = [*[(c, c) for c in "ab"], ("enter", "\r"), ("c", "c"), ("d", "d")]
        for at, (key, character) in enumerate(ahead):
            pressed = Key(key, character)
            pressed.time += at  # by hand, although the screen hears of all of them at once
            editor.post_message(pressed)
        await typed.sight.pilot.pause()
        assert (typed.out, typed.prompt.text) == ([("said", "ab")], "cd")
        typed.prompt.clear()
        for key, character in [("slash", "/"), ("p", "p"), ("tab", "\t"), ("x", "x")]:
            editor.post_message(Key(key, character))
        await typed.sight.pilot.pause()
        assert typed.prompt.text == "/plan x"

    typing(act)


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "alt+enter"])
def test_other_enters_make_a_line(key: str) -> None:
    async def act(typed: Typed) -> None:
        await typed.press("a", key, "b")
        assert (typed.out, typed.prompt.text) == ([], "a\nb")
        await typed.press("enter")
        assert typed.out == [("said", "a\nb")]

    typing(act)


@pytest.mark.parametrize(
    ("written", "key"),
    [("\x1b\r", "ctrl+j"), ("\x1b[13;2u", "shift+enter"), ("\x1b[13;3u", "alt+enter")],
)
def test_what_terminals_write_for_other_enters_is_none_that_sends(written: str, key: str) -> None:
    events = [event for event in XTermParser().feed(written) if isinstance(event, Key)]
    assert [event.key for event in events] == [key]


def test_a_backslash_at_the_end_makes_a_line() -> None:
    async def act(typed: Typed) -> None:
        await typed.press("a", "backslash", "enter", "b", "enter")
        assert typed.out == [("said", "a\nb")]

    typing(act)


def test_nothing_is_not_sent() -> None:
    async def act(typed: Typed) -> None:
        await typed.press("enter", "space", "ctrl+j", "enter")
        assert typed.out == []

    typing(act)


def test_the_prompt_grows_to_a_third_of_the_screen() -> None:
    heights = []

    async def act(typed: Typed) -> None:
        for _ in range(12):
            heights.append(typed.prompt.size.height)
            await typed.press("ctrl+j")

    typing(act)
    assert heights[:4] == [1, 2, 3, 4]
    assert max(heights) == SIZE[1] // 3


def test_history_goes_back_and_forth_and_keeps_what_was_typed() -> None:
    async def act(typed: Typed) -> None:
        texts = []
        await typed.spell("draft")
        for key in ("up", "up", "up", "x", "down", "up", "down", "down", "down"):
            await typed.press(key)
            texts.append(typed.prompt.text)
        assert texts == [
            "second", "first", "first", "firstx", "second", "firstx", "second", "draft", "draft",
        ]  # fmt: skip

    typing(act, remember=["first", "second"])


def test_history_begins_anew_once_the_prompt_was_emptied() -> None:
    async def act(typed: Typed) -> None:
        await typed.press("up", "up")
        assert typed.prompt.text == "one"
        typed.prompt.clear()
        await typed.press("x", "up")
        assert typed.prompt.text == "two"
        await typed.press("up", *["backspace"] * 3, "up")
        assert typed.prompt.text == "two"
        await typed.press("down")
        assert typed.prompt.text == "x"

    typing(act, remember=["one", "two"])


def test_what_was_sent_or_cleared_does_not_come_back_by_undo() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("do it")
        await typed.press("enter", "ctrl+z")
        assert (typed.out, typed.prompt.text) == ([("said", "do it")], "")
        await typed.press("a")
        typed.prompt.clear()
        await typed.press("ctrl+z", "ctrl+y")
        assert typed.prompt.text == ""
        await typed.press("b", "ctrl+z")
        assert typed.prompt.text == ""

    typing(act)


def test_arrows_move_in_a_text_of_several_lines_first() -> None:
    async def act(typed: Typed) -> None:
        await typed.press("a", "ctrl+j", "b", "up")
        assert typed.prompt.text == "a\nb"
        await typed.press("up")
        assert typed.prompt.text == "before"
        await typed.press("down")
        assert typed.prompt.text == "a\nb"

    typing(act, remember=["before"])


def test_ctrl_r_searches_what_was_said() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("draft")
        await typed.press("ctrl+r")
        assert typed.prompt.completions == []
        await typed.press(*["backspace"] * 5)
        await typed.offered("fix the parser", "add a\ntest")
        await typed.spell("test")
        await typed.offered("add a\ntest")
        await typed.press("enter")
        assert (typed.prompt.text, typed.out) == ("add a\ntest", [])

    typing(act, remember=["add a\ntest", "fix the parser"])


def test_a_search_that_is_given_up_leaves_the_draft() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("draft")
        await typed.press("ctrl+r", "x", "escape")
        assert typed.prompt.text == "draft"
        assert "Search" not in typed.sight.text()

    typing(act, remember=["before"])


def test_enter_in_a_search_that_found_nothing_sends_nothing() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("draft")
        await typed.press("ctrl+r", "x", "enter")
        assert (typed.out, typed.prompt.text) == ([], "draft")

    typing(act, remember=["before"])


def test_a_long_paste_is_a_sign_that_is_sent_in_full() -> None:
    pasted = "line\n" * 240

    async def act(typed: Typed) -> None:
        await typed.spell("look: ")
        await typed.paste(pasted)
        assert "look: [pasted: 240 lines]" in typed.sight.text()
        await typed.press("enter")
        assert typed.out == [("said", f"look: {pasted}")]

    typing(act)


def test_a_paste_never_sends_and_tab_shows_it_in_full() -> None:
    pasted = "x" * 1001

    async def act(typed: Typed) -> None:
        await typed.paste("one\r\ntwo\r")
        assert (typed.out, typed.prompt.text) == ([], "one\ntwo\n")
        await typed.paste(pasted)
        assert "[pasted: 1,001 characters]" in typed.sight.text()
        await typed.press("tab")
        assert "[pasted" not in typed.sight.text()
        assert typed.prompt.text == f"one\ntwo\n{pasted}"

    typing(act)


def test_backspace_takes_a_whole_paste_back() -> None:
    async def act(typed: Typed) -> None:
        await typed.press("a")
        await typed.paste("x\n" * 50)
        await typed.press("backspace")
        assert typed.prompt.text == "a"

    typing(act)


def test_at_completes_files_from_a_thread() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("see @prs")
        await typed.offered("src/parse.py")
        await typed.press("tab")
        assert typed.prompt.text == "see @src/parse.py "
        await typed.spell("and @myf")
        await typed.offered("my file.txt")
        await typed.press("enter")
        assert (typed.prompt.text, typed.out) == ('see @src/parse.py and @"my file.txt" ', [])

    typing(act)


def test_esc_closes_the_list_for_this_word_and_enter_sends_again() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("@p")
        await typed.offered("src/parse.py", "src/assent/prompt.py")
        await typed.press("escape")
        assert typed.prompt.completions == ()
        await typed.spell("a")
        assert typed.prompt.completions == ()
        await typed.press("enter")
        assert typed.out == [("said", "@pa")]

    typing(act)


def test_slash_offers_commands_with_what_they_do() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("/m")
        await typed.offered("/mode", "/model")
        assert "▸ /mode   change the mode" in typed.sight.text()
        await typed.press("down", "enter")
        assert typed.prompt.text == "/model "
        await typed.spell("x")
        await typed.press("enter")
        assert typed.out == [("slash", "/model x")]

    typing(act)


def test_a_command_that_is_typed_in_full_runs_at_once() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("/mode")
        await typed.press("enter")
        assert typed.out == [("slash", "/mode")]

    typing(act)


def test_a_click_takes_an_offer() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("/m")
        await typed.offered("/mode", "/model")
        await typed.sight.pilot.click("#prompt-offers", offset=(3, 1))
        await typed.sight.pilot.pause()
        assert typed.prompt.text == "/model "

    typing(act)


def test_an_exclamation_mark_makes_a_line_for_a_shell() -> None:
    async def act(typed: Typed) -> None:
        await typed.spell("!ls -l")
        assert "Shell:" in typed.sight.text()
        assert "$ !ls -l" in typed.sight.text()
        await typed.press("enter")
        assert typed.out == [("shell", "ls -l")]
        assert "Shell:" not in typed.sight.text()

    typing(act)


def test_a_question_mark_alone_wants_help() -> None:
    async def act(typed: Typed) -> None:
        await typed.press("question_mark")
        assert (len(typed.sight.of(PromptInput.Help)), typed.prompt.text) == (1, "")
        await typed.spell("why?")
        assert (len(typed.sight.of(PromptInput.Help)), typed.prompt.text) == (1, "why?")

    typing(act)
