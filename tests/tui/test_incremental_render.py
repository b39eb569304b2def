"""What grows on the screen is rendered, wrapped and drawn only where it changed, and comes out
the same as if it had been there all along."""

import asyncio
from itertools import accumulate

import pytest
from textual.app import App, ComposeResult

from assent.core.llm import StreamDelta
from assent.render.lines import Line
from assent.render.rendered_markdown import MarkdownRenderer
from assent.tui.conversation.view import ConversationView
from assent.tui.sections import Section, SectionList

PIECES = (
    "\n# A head", "ing\r\n", "\r\n", "> quo", "ted\n\n\n", "``", "`py\n", "# no heading\n", "```",
    "\nText \U0001f600", "\ufe0f and <U+0041>", "\n~~~\n", "x" * 1200, "\n", "\n\n", "the end",
)  # fmt: skip
SIZE = (60, 12)


@pytest.mark.parametrize("text", accumulate(PIECES))
def test_a_text_that_grew_is_rendered_like_one_that_came_at_once(text: str) -> None:
    grown = MarkdownRenderer()
    for shorter in accumulate(PIECES):
        lines = grown.lines(shorter)
        if shorter == text:
            break
    assert lines == MarkdownRenderer().lines(text)


def test_a_text_that_became_another_is_rendered_anew() -> None:
    speech = MarkdownRenderer()
    speech.lines("```\nsome code\nmore")
    assert speech.lines("a\n") == MarkdownRenderer().lines("a\n")


def _words(*texts: str) -> tuple[Line, ...]:
    return tuple(Line("plain", text) for text in texts)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (_words("a", "b"), _words("a", "b", "c"), 3),
        (_words("long words here", "b"), _words("long words here", "c"), 3),
        (_words("a", "b", "c"), _words("a"), 2),
        (_words("a"), _words("long words here", "a"), 1),
        (_words(*"abcdefghijklm"), _words("z", *"bcdefghijklm"), 1),
    ],
)
def test_a_sheet_that_took_the_place_of_another_is_wrapped_as_if_alone(
    before: tuple[Line, ...], after: tuple[Line, ...], kept: int
) -> None:
    sheets, alone = SectionList(), SectionList()
    for each in (sheets, alone):
        each.fit(10)
    first = Section("first", _words("one row"))
    sheets.put([first, Section("it", before)])
    assert sheets.rows
    sheets.put([Section("it", after)])
    alone.put([first, Section("it", after)])
    assert [sheets.piece(row) for row in range(20)] == [alone.piece(row) for row in range(20)]
    assert sheets.kept == kept


class _Stage(App[None]):
    def compose(self) -> ComposeResult:
        yield ConversationView(id="conversation")


def _seen(app: App[None]) -> list[str]:
    """Returns the rows of the screen, with the scroll bar, as they were painted last."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


def test_what_streams_in_looks_as_if_it_had_come_at_once() -> None:
    async def play() -> None:
        app = _Stage()
        async with app.run_test(size=SIZE) as pilot:
            conversation = app.query_one(ConversationView)
            conversation.begin("s")
            for number in range(90):
                end = "\n\n" if number % 7 == 0 else " "
                conversation.add_events([StreamDelta("text", f"token {number}{end}")])
                await pilot.pause()
                streamed = _seen(app)
                bar = conversation.vertical_scrollbar
                conversation.refresh()
                bar.refresh()
                await pilot.pause()
                assert _seen(app) == streamed
                assert bar.window_virtual_size >= conversation.rows or conversation.rows <= SIZE[1]

    asyncio.run(play())
