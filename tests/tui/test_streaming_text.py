"""Speech without an end: a line of any length costs as much as its length, and tells no secret."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.event import Event, StoredEvent
from assent.core.llm import StreamDelta, TextPart, ToolResult
from assent.core.session.event import CallEnded, CallStarted, PartSaid, TurnEnded
from assent.core.text.secrets import redaction_text
from assent.render import rows as redaction
from assent.render.rows import FULL, MAX_KEY_CHARS, SMALL, StreamRedactor
from assent.tui.conversation.blocks import AssistantMessageBlock, ToolCallBlock
from assent.tui.conversation.timeline import MAX_LIVE, MAX_LIVE_ANSWER, Timeline, tail_text

KEY = "AKIA" + "IOSFODNN7EXAMPLZ"
PIECE = 64 << 10


def told(text: str, size: int) -> list[str]:
    speech = StreamRedactor()
    pieces = [speech.take(text[at : at + size]) for at in range(0, len(text), size)]
    return [*pieces, speech.rest()]


def searches(pieces: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns the lengths of the texts in which an end was looked for, one for each search."""
    found: list[int] = []
    look = redaction._end

    def noted(text: str) -> int:
        found.append(len(text))
        return look(text)

    # A profiler would see it as well, but it would see every other call, too: fifty times as many.
    monkeypatch.setattr(redaction, "_end", noted)
    speech = StreamRedactor()
    for piece in pieces:
        speech.take(piece)
    return found


@pytest.mark.parametrize("size", [16, 1000, PIECE])
@pytest.mark.parametrize("sign", ["x", "é", "authorization: bearer x4x4x4x4x4x4x4x4x4"])
def test_f92_a_line_without_an_end_is_searched_a_few_times_and_not_with_each_piece(
    size: int, sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (sign * (4 * FULL))[: min(4 * FULL, 20_000 * size)]
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert sum(searches(pieces, monkeypatch)) <= 6 * len(text) + SMALL * len(pieces)


def test_f92_of_a_line_without_blanks_only_so_much_is_held() -> None:
    speech, held = StreamRedactor(), 0
    for _ in range(8 * FULL // PIECE):
        held += PIECE - len(speech.take("x" * PIECE))
        assert held <= 2 * FULL + PIECE
    assert len(speech.rest()) == held


@pytest.mark.parametrize("size", [100, 4093, PIECE, 3 * FULL])
@pytest.mark.parametrize("before", [50, FULL - MAX_KEY_CHARS - 10, FULL - 10, FULL + MAX_KEY_CHARS])
def test_f92_a_secret_in_a_line_without_blanks_is_masked_wherever_it_is_cut(
    before: int, size: int
) -> None:
    text = f"{',' * before}{KEY}{',' * FULL}"
    said = "".join(told(text, size))
    assert said == text.replace(KEY, redaction_text("AWS access key"))


@pytest.mark.parametrize("distance", range(-25, 6, 5))
def test_f92_a_secret_that_lies_over_the_cut_is_waited_for(distance: int) -> None:
    """The first piece is so long that it is cut at once, at the secret."""
    before, after = "," * FULL, "," * (MAX_KEY_CHARS + distance)
    pieces = told(f"{before}{KEY}{after}", len(before + KEY + after))
    assert "".join(pieces) == f"{before}{redaction_text('AWS access key')}{after}"


def recorded(seq: int, event: Event) -> StoredEvent:
    return StoredEvent(seq, "session/s", seq, "2026-01-01T00:00:00.000Z", event)


@pytest.mark.parametrize("piece", ["spam ham ", "spam\n", "s" * 9])
def test_of_a_long_text_that_still_comes_its_newest_is_shown(piece: str) -> None:
    feed, pieces = Timeline("s"), [StreamDelta("text", piece)] * (2 * MAX_LIVE_ANSWER // len(piece))
    [block] = feed.add_events(pieces)
    assert isinstance(block, AssistantMessageBlock)
    assert block.live
    assert len(block.text) <= MAX_LIVE_ANSWER
    text = piece * len(pieces)
    [whole] = feed.add_events([recorded(1, PartSaid(TextPart(text)))])
    assert whole == AssistantMessageBlock(block.key, text)


@given(st.lists(st.sampled_from(["spam ", "ham\n", "e" * 30]), max_size=60), st.integers(8, 90))
def test_the_newest_of_a_growing_text_begins_at_few_places(pieces: list[str], most: int) -> None:
    text, begins = "", set[int]()
    for piece in pieces:
        text += piece
        tail = tail_text(text, most)
        assert text.endswith(tail)
        assert len(tail) <= most
        assert len(tail) >= min(len(text), most // 4 - 1)
        begins.add(len(text) - len(tail))
    assert len(begins) <= 1 + max(len(text) - most, 0) // (most // 2) + 1


def test_a_long_text_that_breaks_off_is_kept_whole() -> None:
    feed = Timeline("s")
    feed.add_events([StreamDelta("text", "spam\n")] * MAX_LIVE)
    blocks = feed.add_events([recorded(1, TurnEnded("interrupted"))])
    assert isinstance(blocks[0], AssistantMessageBlock)
    assert (blocks[0].text, blocks[0].live) == ("spam\n" * MAX_LIVE + "\n", False)


def test_of_much_output_the_newest_is_kept_and_all_lines_are_counted() -> None:
    feed = Timeline("s")
    feed.add_event(recorded(1, CallStarted("c", "shell")))
    for _ in range(4):
        [block] = feed.add_events([StreamDelta("output", "spam\n")] * MAX_LIVE)
    assert isinstance(block, ToolCallBlock)
    assert (block.lines, block.brief) == (4 * MAX_LIVE, "spam\nspam\nspam")
    assert len(feed.full(block.key)) <= MAX_LIVE
    [over] = feed.add_events([recorded(2, CallEnded("c", "shell", ToolResult("c", "One.\nTwo.")))])
    assert isinstance(over, ToolCallBlock)
    assert (over.lines, feed.full(over.key)) == (2, "One.\nTwo.")
