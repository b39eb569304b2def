"""What a command prints: its end is shown, however much it is, and nothing secret of it."""

import pytest

from assent.tui.conversation.view import MAX_CHARS, MAX_KEPT_LINES, SHOWN, OutputTail
from assent.tui.messages import ShellOver, ShellPrinted
from assent.tui.workers import joined_messages

KEY = ["-----BEGIN RSA PRIVATE KEY-----", *["MIIEpAIBAAKCAQEA7bq" * 3] * 24]


def printed(*texts: str) -> list[str]:
    ours = OutputTail()
    for text in texts:
        ours.add(text)
    return [line.text for line in ours.lines()]


def test_nothing_and_blank_lines_are_nothing_to_show() -> None:
    assert printed() == []
    assert printed("\n", "\n\n") == []


def test_text_that_comes_in_pieces_is_shown_as_if_it_came_at_once() -> None:
    assert printed("one\ntw", "o\nthree") == ["│ one", "│ two", "│ three"]


@pytest.mark.parametrize("at_once", [1, 7, 5_000, 100_000])
def test_of_very_much_the_end_is_shown_and_the_rest_is_counted(at_once: int) -> None:
    total = 20_000
    lines = [f"{n}\n" for n in range(total)]
    found = printed(*["".join(lines[at : at + at_once]) for at in range(0, total, at_once)])
    shown = [f"│ {n}" for n in range(total - SHOWN, total)]
    assert found == [f"│ ({total - SHOWN} earlier lines)", *shown]


def test_of_one_endless_line_the_end_is_shown() -> None:
    found = printed(*["x" * MAX_CHARS] * 5, "end")
    assert found[-1].endswith("xend")
    assert sum(map(len, found)) < 4 * MAX_CHARS


def test_a_secret_whose_beginning_is_out_of_sight_stays_masked() -> None:
    body = "\n".join([*KEY, *["-----END RSA PRIVATE KEY-----"], *["after"] * (SHOWN - 10)])
    found = printed("before\n" * (MAX_KEPT_LINES + SHOWN), body)
    assert not any("MIIEpAIBAAKCAQEA7bq" in line for line in found)


def test_what_came_since_the_last_time_is_one_letter() -> None:
    over = ShellOver("Exit code 0.")
    letters = [ShellPrinted("a"), ShellPrinted("b"), over, ShellPrinted("c")]
    assert list(joined_messages(letters)) == [ShellPrinted("ab"), over, ShellPrinted("c")]


def test_many_empty_lines_are_counted_and_stacks_of_marks_bounded() -> None:
    assert printed("a", "\n" * 30, "b") == ["│ a", "│ ␤ 29 empty lines", "│ b"]
    assert printed("e" + "\u0301" * 5) == ["│ e" + "\u0301" * 4 + "<U+0301>"]
