"""Vim keys in the prompt: what each does to a text, and that they only count if they are wanted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.scripts import turn
from tests.tui.harness import Seat, Stage

from assent.tui.prompt.vim import is_edge, left_insert, vim_edit

TEXT = "one two.three\n  four\nfive"
KEYS = ("h", "j", "k", "l", "w", "b", "e", "0", "$", "x", "dd", "cc", "i", "a", "o", "A", "I")


def after(text: str, keys: str) -> str:
    """Returns a text after a key, with the cursor as `|`; insert mode is marked by `+`."""
    cursor = text.index("|")
    text = text.replace("|", "")
    edit = vim_edit(text, cursor, keys)
    assert edit is not None
    now = text[: edit.start] + edit.text + text[edit.end :] if edit.changes else text
    return f"{now[: edit.cursor]}{'+' if edit.mode == 'insert' else '|'}{now[edit.cursor :]}"


@pytest.mark.parametrize(
    ("before", "keys", "expected"),
    [
        ("o|ne", "h", "|one"),
        ("a\n|b", "h", "a\n|b"),
        ("o|ne", "l", "on|e"),
        ("on|e\nb", "l", "on|e\nb"),
        ("one t|wo", "0", "|one two"),
        ("|one\ntwo", "$", "on|e\ntwo"),
        ("|one two.three", "w", "one |two.three"),
        ("one |two.three", "w", "one two|.three"),
        ("one two|.three", "b", "one |two.three"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("one t|wo", "w", "one tw|o"),
        ("ab|c\nd", "j", "abc\n|d"),
        ("abc\n|d", "k", "|abc\nd"),
        ("o|ne", "x", "o|e"),
        ("on|e", "x", "o|n"),
        ("|\nb", "x", "|\nb"),
        ("one\nt|wo\nthree", "dd", "one\n|three"),
        ("one\nt|wo", "dd", "|one"),
        ("o|ne", "dd", "|"),
        ("one\nt|wo\nthree", "cc", "one\n+\nthree"),
        ("o|ne", "i", "o+ne"),
        ("on|e", "a", "one+"),
        ("o|ne\ntwo", "o", "one\n+\ntwo"),
        ("o|ne\ntwo", "A", "one+\ntwo"),
        ("  on|e", "I", "  +one"),
    ],
)
def test_what_a_key_of_normal_mode_does(before: str, keys: str, expected: str) -> None:
    assert after(before, keys) == expected


def test_other_keys_do_nothing_and_edges_are_known() -> None:
    assert vim_edit("one", 0, "q") is None
    assert [is_edge(TEXT, 0, key) for key in "kj"] == [True, False]
    assert [is_edge(TEXT, len(TEXT), key) for key in "kj"] == [False, True]
    assert (left_insert("ab", 2), left_insert("a\nb", 2)) == (1, 2)


@given(st.text(st.sampled_from("ab. \n"), max_size=30), st.data())
def test_the_cursor_is_always_in_the_text(text: str, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(0, len(text)))
    edit = vim_edit(text, cursor, data.draw(st.sampled_from(KEYS)))
    assert edit is not None
    assert 0 <= edit.start <= edit.end <= len(text)
    now = text[: edit.start] + edit.text + text[edit.end :] if edit.changes else text
    assert 0 <= edit.cursor <= len(now)


def test_the_setting_turns_them_on_and_the_mode_is_shown(stage: Stage) -> None:
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.type("ab")
        await seat.press("escape")  # without vim keys it is the screen's
        await seat.type("c")
        assert seat.app.prompt.text == "abc"
        await seat.press("ctrl+c")
        seat.app.run_slash("/config set tui.vim true")
        await seat.shows("INSERT")
        await seat.type("say no")
        await seat.press("escape")
        await seat.shows("NORMAL")
        await seat.type("bcc")
        await seat.shows("INSERT")
        assert seat.app.prompt.text == ""
        await seat.type("say yes")
        await seat.press("escape")
        await seat.type("xu0")
        assert seat.app.prompt.text == "say yes"
        await seat.press("enter")
        await seat.shows("> say yes")
        await seat.rest()
        await seat.shows("INSERT")
        await seat.press("escape")
        await seat.type("k")  # the line above the first is the message before
        assert seat.app.prompt.text == "say yes"
        await seat.type("dd")
        await seat.type("/hel")  # an empty prompt takes a command in normal mode, too
        assert seat.app.prompt.text == "/hel"
        seat.app.run_slash("/config set tui.vim false")
        await seat.until(lambda: "INSERT" not in seat.text() and "NORMAL" not in seat.text())

    stage.show(act)


def test_the_second_escape_is_the_screens(stage: Stage) -> None:
    stage.config.write_text(stage.config.read_text("utf-8") + "\n[tui]\nvim = true\n", "utf-8")
    stage.script(turn("Hello."))

    async def act(seat: Seat) -> None:
        await seat.say("Hi")
        await seat.shows("INSERT")
        await seat.press("escape")
        await seat.shows("NORMAL")
        assert "Esc again" not in seat.text()
        await seat.press("escape")
        await seat.shows("Esc again to rewind")

    stage.show(act)
