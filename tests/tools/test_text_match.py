"""Properties of matching: an edit is the same whatever the line ends and the indentation."""

from hypothesis import given
from hypothesis import strategies as st

from assent.core.errors import NoMatch
from assent.tools.file_edit import apply_replacements, find_replacements

LINES = st.lists(
    st.sampled_from(["a", "b", "if x:", "  y = 1", "\tz", "", "a b", "  "]), max_size=8
)
PIECE = st.lists(
    st.sampled_from(["a", "b", "if x:", "  y = 1", "\tz", "new"]), min_size=1, max_size=3
)

OTHERS = st.lists(st.sampled_from(["p", "    q r", ""]), max_size=4)
DEEP = st.lists(
    st.sampled_from(["a", "  b", "    c", "  d = 1"]), min_size=2, max_size=4, unique=True
)


def edited(text: str, old: str, new: str) -> str | None:
    try:
        return apply_replacements(text, find_replacements(text, old, new))
    except NoMatch:
        return None


@given(LINES, PIECE, PIECE)
def test_f130_line_ends_make_no_difference(
    lines: list[str], old: list[str], new: list[str]
) -> None:
    text, find, put = "\n".join([*lines, ""]), "\n".join(old), "\n".join(new)
    plain = edited(text, find, put)
    other = edited(text.replace("\n", "\r\n"), find, put)
    assert other == (None if plain is None else plain.replace("\n", "\r\n"))


@given(OTHERS, DEEP, DEEP, OTHERS)
def test_f130_lines_that_stand_further_to_the_right_are_edited_there(
    before: list[str], old: list[str], new: list[str], after: list[str]
) -> None:
    text, wanted = ["\n".join([*before, *middle, *after, ""]) for middle in (old, new)]
    find, put = "\n".join([*old, ""]), "\n".join([*new, ""])
    assert edited(_right(text), find, put) == _right(wanted)


def _right(text: str) -> str:
    return "\n".join("    " + line if line else line for line in text.split("\n"))


@given(LINES, PIECE, PIECE)
def test_f130_nothing_changes_outside_of_the_place(
    lines: list[str], old: list[str], new: list[str]
) -> None:
    text = "\n".join(lines)
    try:
        found = find_replacements(text, "\n".join(old), "\n".join(new), every=True)
    except NoMatch:
        return
    result, at = apply_replacements(text, found), found[0].start
    assert result[:at] == text[:at]
    for place, following in zip(found, [*found[1:], None], strict=True):
        at += len(place.new)
        kept = text[place.end : following.start if following else None]
        assert result[at : at + len(kept)] == kept
        at += len(kept)
