"""The fields in which a person writes to a plan: nothing that was typed is lost or hidden."""

import pytest
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader, proposed
from textual.events import Key, Paste

from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.feedback import TOO_SOON, FeedbackPanel
from assent.tui.panels.text_input import NO_TAB, TextInputArea, TextInputPanel, hidden_chars_text

LATE = "abcdefghijklmnopqrstuvwxyz"


async def opened(seat: Seat, words: str = "") -> tuple[TextInputArea, list[str | None]]:
    """Opens a panel for words; what it ends with is put into the list."""
    kept: list[str | None] = []
    panel = TextInputPanel("Words", (), words)
    seat.app.open_panel(panel, kept.append)
    await seat.opened(TextInputPanel)
    return panel.query_one(TextInputArea), kept


def at_once(seat: Seat, *keys: str) -> None:
    for key in keys:
        seat.app.post_message(Key(key, key if len(key) == 1 else None))


def test_what_was_typed_before_the_key_that_keeps_it_is_kept(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        _, kept = await opened(seat)
        at_once(seat, *LATE, "enter", "x")
        await seat.until(lambda: kept)
        assert kept == [LATE]

    stage.show(act)


def test_f39_what_was_typed_before_feedback_is_sent_is_sent(stage: Stage) -> None:
    proposed(stage)
    sent: list[FeedbackPanel] = []

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await reader.press("2")
        sent.append(await seat.opened(FeedbackPanel))
        at_once(seat, *LATE, "enter")
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
        assert sent[0].feedback.text() == LATE

    stage.show(act)


def test_f41_a_sentence_that_was_being_typed_sends_no_feedback(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def act(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await reader.press("2")
        panel = await seat.opened(FeedbackPanel)
        seat.app.quiet_s = 600.0
        at_once(seat, *LATE, "enter")
        await seat.shows(TOO_SOON)
        assert (panel.is_attached, reader.record.digest) == (True, digest)
        seat.app.quiet_s = 0.0
        await seat.press("enter")
        await seat.until(lambda: not seat.app.is_open(ApprovalPanel))
        assert panel.feedback.text() == LATE

    stage.show(act)


def test_an_enter_among_keys_that_come_all_at_once_breaks_the_line(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        area, kept = await opened(seat)
        seat.app.burst_s = 600.0
        at_once(seat, "enter", "a", "enter", "b")
        await seat.until(lambda: area.text == "\na\nb")
        assert kept == []
        seat.app.burst_s = 0.0
        await seat.press("enter")
        assert kept == ["a\nb"]

    stage.show(act)


def test_words_that_were_kept_before_are_gone_on_with_at_their_end(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        area, kept = await opened(seat, "one\ntwo")
        await seat.press("a", "ctrl+home", "b", "ctrl+end", "c", "ctrl+j", "d")
        assert area.text == "bone\ntwoac\nd"
        await seat.press("tab")
        await seat.shows(NO_TAB)
        await seat.press("enter")
        assert kept == ["bone\ntwoac\nd"]

    stage.show(act)


def test_g6_what_hides_in_them_is_named_and_does_nothing_to_the_screen(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        area, kept = await opened(seat)
        await seat.press("a")
        seat.app.post_message(Key("zero_width_space", "\u200b"))
        seat.app.post_message(Paste("b\u202ec"))
        await seat.shows("Your text contains hidden characters: U+200B, U+202E.")
        assert area.text == "a\u200bb\u202ec"
        await seat.shows("abc")
        assert not {"\u200b", "\u202e"} & {*seat.text()}
        await seat.press("backspace", "backspace")
        await seat.shows("Your text contains hidden characters: U+200B.")
        await seat.press("enter")
        assert kept == ["a\u200bb"]

    stage.show(act)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain <U+202E>, ␍ and 👩\u200d💻, a\u00a0b\n\t", ""),
        ("\u202e\u202ea", "Your text contains hidden characters: U+202E."),
        ("e" + "\u0301" * 4, ""),
        ("e" + "\u0301" * 5, "U+0301."),
        ("".join(map(chr, range(0xE000, 0xE00A))), "U+E007 and 2 more."),
    ],
)
def test_hidden_words(text: str, told: str) -> None:
    found = hidden_chars_text(text)
    assert found.endswith(told)
    assert bool(found) == bool(told)
