"""Notes as items of a plan's text: one note, one open item, found again by its content."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.properties import examples

from assent.planning.projections import tasks
from assent.render.approval import HEADING, ApprovalNote, note_item, notes_in_text, notes_section


def noted(note: str, approval: str = "1") -> ApprovalNote:
    return ApprovalNote(approval, "p", "work", "d" * 64, "ada", "2026-01-01T00:00:00.000Z", note)


SIGNS = st.text(st.sampled_from("ab \n\t#-*+>`~|=_:[]x<!1.)\r\\\u202e\u2028"), max_size=40)


@settings(max_examples=examples(300), deadline=None)
@given(SIGNS.filter(str.strip), SIGNS.filter(str.strip))
def test_g11_any_note_is_exactly_one_open_item(one: str, other: str) -> None:
    notes = (noted(one), noted(other, "2"))
    text = f"# Plan\n{notes_section(notes)}".encode()
    assert [task["done"] for task in tasks(text)] == [False, False]
    assert notes_in_text(notes, text) == notes
    headings = [line for line in text.decode().split("\n") if line.startswith("#")]
    assert headings == ["# Plan", HEADING]
    first, *rest = note_item(notes[0]).removesuffix("\n").split("\n")
    assert first.startswith(f"- [ ] From the approval of work ({'d' * 12}): ")
    assert all(
        not line or (line.startswith("  ") and line[2:3] not in "#-*+>`~|=_:[ \t<") for line in rest
    )


def test_g11_a_note_is_found_done_or_not_and_only_whole() -> None:
    note = noted("A\nb")
    text = note_item(note)
    assert notes_in_text([note], text.replace("[ ]", "[x]").replace("\n", "\r\n").encode()) == (
        note,
    )
    assert notes_in_text([note], f"- [ ] x\n{text}".encode().removesuffix(b"\n")) == (note,)
    assert notes_in_text([note], text.replace("  b", "  c").encode()) == ()
    assert notes_in_text([noted("A")], f"  {note_item(noted('A'))}".encode()) == ()
    assert notes_section(()) == ""
