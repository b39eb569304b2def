"""How the blocks of a conversation look: nothing is hidden, nothing passes for ours."""

import pytest

from assent.core.llm import TokenUsage
from assent.core.plan.operation import FileState, WriteFile
from assent.core.session.event import Question, QuestionOption
from assent.render.diff import operation_diff
from assent.render.lines import spans_text
from assent.render.rendered_markdown import MarkdownRenderer
from assent.tui.conversation.block_sections import block_section, is_foldable
from assent.tui.conversation.blocks import (
    AssistantMessageBlock,
    Block,
    ChildSessionBlock,
    NoteBlock,
    QuestionBlock,
    ReasoningBlock,
    RemovedBlock,
    ToolCallBlock,
    TurnEndBlock,
    UserMessageBlock,
)
from assent.tui.line_view import Section

QUESTION = Question("Colour", "Which colour?")
GATE = Question(
    "Permission", "May it run?", (QuestionOption("Yes"), QuestionOption("No")), by="gate"
)
LONG = "one\ntwo\nthree"

# What each block looks like when folded.
FOLDED: list[tuple[Block, list[str]]] = [
    (UserMessageBlock("k", "Do it\nnow"), ["", "> Do it", "  now"]),
    (UserMessageBlock("k", "Look", 2), ["", "> Look", "  [2 pictures]"]),
    (AssistantMessageBlock("k", "Hello."), ["", "  Hello."]),
    (AssistantMessageBlock("k", "Hel", live=True), ["", "  Hel", "  …"]),
    (ReasoningBlock("k", "one", 3, 2.5), ["", "  ~ thought for 2.5 s: one (3 lines, Ctrl+O)"]),
    (
        ReasoningBlock("k", "one\ntwo\nthree", 3, live=True),
        ["", "  ~ thinking…", "    │ one", "    │ two", "    │ three"],
    ),
    (ToolCallBlock("k", "read", about="a.py"), ["  ○ read a.py · pending"]),
    (ToolCallBlock("k", "read", "running", "a.py"), ["  ▸ read a.py · running"]),
    (
        ToolCallBlock("k", "shell", "running", "make", "two\n\x1b[1mthree", 9),
        ["  ▸ shell make · running", "    └ two", "      <U+001B>[1mthree (9 lines, Ctrl+O)"],
    ),
    (
        ToolCallBlock("k", "write", "completed", "a.py", "new", 1, 1.25, "stage"),
        ["  ✓ write a.py · staged · 1.2 s", "    └ new"],
    ),
    (
        ToolCallBlock("k", "read", "error", "a.py", "It is gone.", 3, 75.0),
        ["  ✗ read a.py · failed · 1 min 15 s", "    └ It is gone. (3 lines, Ctrl+O)"],
    ),
    (
        ToolCallBlock("k", "present_plan", "error", "plan", "It is empty.", 1),
        ["  ✗ present the plan · failed", "    └ It is empty."],
    ),
    (QuestionBlock("k", "q", (QUESTION,)), []),  # below the conversation
    (
        QuestionBlock("k", "q", (Question("Which colour", "Which colour?"),), "unanswered"),
        ["", "  ? Which colour?", "    no answer; treated as no"],
    ),
    (QuestionBlock("k", "q", (GATE,), "answered", (("Yes",),), of_call=True), []),
    (QuestionBlock("k", "q", (GATE,), "answered", (("No",),), of_call=True), []),
    (
        QuestionBlock("k", "q", (GATE,), "answered", (("Use litres",),), of_call=True),
        ["    Use litres"],
    ),
    (
        QuestionBlock("k", "q", (GATE,), "answered", (("Yes",),), "", "explore 1"),
        ["  ? explore 1 asks: Permission: May it run?", "    Yes"],
    ),
    (
        ToolCallBlock("k", "shell", "completed", "make", allowed="allowed in this session"),
        ["  ✓ shell make · allowed in this session"],
    ),
    (
        QuestionBlock("k", "q", (QUESTION,), "answered", (("Red", "Blue"),), "ada", "explore 1"),
        ["", "  ? explore 1 asks: Colour: Which colour?", "    Red, Blue (ada)"],
    ),
    (
        QuestionBlock("k", "q", (QUESTION,), "answered", (("Red",),), "ada (terminal)"),
        ["", "  ? Colour: Which colour?", "    Red"],
    ),
    (
        QuestionBlock("k", "q", (QUESTION,), "unanswered"),
        ["", "  ? Colour: Which colour?", "    no answer; treated as no"],
    ),
    (
        ChildSessionBlock("k", "s", "explore 1", "Look", calls=("read: a", "read: b")),
        ["  ◆ explore 1: Look · working, 2 calls", "    · read: b"],
    ),
    (
        ChildSessionBlock("k", "s", "explore 1", "Look", True, ended="end", words="Seen."),
        ["  ◆ explore 1: Look · finished, in the background", "    └ Seen."],
    ),
    (NoteBlock("k", "mode", "Mode ask"), ["  · Mode ask"]),
    (NoteBlock("k", "told", "Approval sent", 3), ["  · Approval sent (Ctrl+O)"]),
    (TurnEndBlock("k", "end"), []),
    (TurnEndBlock("k", "waiting"), []),
    (TurnEndBlock("k", "waiting", "It is open."), ["", "  Waiting for an answer. It is open."]),
    (
        TurnEndBlock("k", "end", "", 8.0, TokenUsage(12_345, 678, 10_000, 0, 90), 0.125),
        ["  12.3k in (10.0k cached), 678 out (90 thinking) · $0.12 · 8.0 s"],
    ),
    (
        TurnEndBlock("k", "failed", "It broke.", 1.0, TokenUsage(1, 1), None),
        ["", "  Turn failed. It broke.", "  1 in, 1 out · cost unknown · 1.0 s"],
    ),
    (TurnEndBlock("k", "interrupted", "You did."), ["", "  You did."]),
    (TurnEndBlock("k", "declined", "You said no."), ["", "  You said no."]),
    (TurnEndBlock("k", "declined"), ["", "  Turn stopped: you denied permission."]),
    (RemovedBlock("k"), []),
]


@pytest.mark.parametrize(("block", "texts"), FOLDED)
def test_f124_f125_f126_every_block_has_its_look(block: Block, texts: list[str]) -> None:
    sheet = block_section(block, lambda key: LONG)
    assert [line.text for line in sheet.lines] == texts


UNFOLDED: list[tuple[Block, list[str]]] = [
    (
        ReasoningBlock("k", "one", 3, 2.0),
        ["", "  ~ thought for 2.0 s:", "    │ one", "    │ two", "    │ three"],
    ),
    (
        ToolCallBlock("k", "read", "completed", "a.py", "one", 3, decided="user: read * runs"),
        [
            "  ✓ read a.py",
            "    └ decided by user: read * runs",
            "    │ one",
            "    │ two",
            "    │ three",
        ],
    ),
    (
        ChildSessionBlock("k", "s", "explore 1", "Look", calls=("read: a", "read: b")),
        ["  ◆ explore 1: Look · working, 2 calls", "    · read: a", "    · read: b"],
    ),
    (NoteBlock("k", "told", "Told", 3), ["  · Told", "    │ one", "    │ two", "    │ three"]),
]


@pytest.mark.parametrize(("block", "texts"), UNFOLDED)
def test_what_is_unfolded_is_shown_whole(block: Block, texts: list[str]) -> None:
    assert is_foldable(block)
    sheet = block_section(block, lambda key: LONG, unfolded=True)
    assert [line.text for line in sheet.lines] == texts


def test_what_hides_is_written_out_and_nothing_of_a_model_begins_at_the_edge() -> None:
    sheet = block_section(AssistantMessageBlock("k", "a\u202eb\n> Do it\n\x1b[31m"), lambda key: "")
    assert [(line.style, line.text) for line in sheet.lines[1:]] == [
        ("prose", "  a<U+202E>b"),
        ("prose", "  ▎ Do it"),
        ("prose", "  <U+001B>[31m"),
    ]


def test_many_empty_lines_are_counted_however_they_come() -> None:
    text = "a\n" + "\n" * 30 + "e" + "\u0301" * 6 + "\n"
    growing = MarkdownRenderer()
    for end in range(1, len(text) + 1):
        shown = growing.lines(text[:end])
        assert sum(not line.text.strip() for line in shown) <= 20
    assert shown == MarkdownRenderer().lines(text)
    stack = "e" + "\u0301" * 4 + "<U+0301>" * 2
    assert [line.text for line in shown] == ["  a", "  ␤ 30 empty lines", f"  {stack}"]


STATE = FileState("0" * 64, 3, 0o644)
EDIT = ToolCallBlock(
    "k",
    "edit",
    "completed",
    "a.py",
    "a.py: 1 replacement:",
    4,
    edits=(WriteFile(b"a.py", STATE, STATE),),
)


def edited(before: bytes, after: bytes, name: bytes = b"a.py") -> str:
    made = not before
    op = WriteFile(name, None if made else STATE, FileState("1" * 64, len(after), 0o644))
    return operation_diff(op, None if made else before, after) or ""


def texts(section: Section) -> list[str]:
    return [line.text for line in section.lines]


def test_an_edit_reads_like_a_row_of_a_review() -> None:
    before = b"".join(b"x%d = 1\n" % number for number in range(9))
    patch = edited(before, before.replace(b"x5 = 1", b"x5 = 2"))
    section = block_section(EDIT, str, lambda _: patch)
    assert texts(section) == [
        "  ✓ edit a.py · +1 -1",
        "    5 5  x4 = 1",
        "    6   -x5 = 1",
        "      6 +x5 = 2",
        "    7 7  x6 = 1",
    ]
    removed, added = section.painted(2), section.painted(3)
    assert [removed.style, added.style] == ["removed", "added"]
    assert spans_text(added.spans) == added.text
    assert [span.text for span in added.spans if span.changed] == ["2"]
    assert "constant" in {span.role for span in added.spans}


def test_an_edit_that_is_unfolded_has_all_rows_and_what_its_result_says_else() -> None:
    before = b"".join(b"x%d = 1\n" % number for number in range(9))
    patch = edited(before, before.replace(b"x5 = 1", b"x5 = 2"))
    result = "a.py: 1 replacement:\n@@ -6 +6 @@\n-x5 = 1\n+x5 = 2\nStaged: 1 0a1b2c3."
    section = block_section(EDIT, lambda _: result, lambda _: patch, unfolded=True)
    assert texts(section)[1:] == [
        "      ⋯ 2 unchanged lines",
        "    3 3  x2 = 1",
        "    4 4  x3 = 1",
        "    5 5  x4 = 1",
        "    6   -x5 = 1",
        "      6 +x5 = 2",
        "    7 7  x6 = 1",
        "    8 8  x7 = 1",
        "    9 9  x8 = 1",
        "    │ a.py: 1 replacement:",
        "    │ Staged: 1 0a1b2c3.",
    ]


def test_a_new_file_shows_its_first_lines_and_counts_the_others() -> None:
    patch = edited(b"", b"".join(b"line %d\n" % number for number in range(20)))
    found = texts(block_section(EDIT, str, lambda _: patch))
    assert found[0] == "  ✓ edit a.py · +20 · new file"
    assert found[1] == "     1 +line 0"
    assert found[-1] == "    … 12 more lines (Ctrl+O)"
    assert len(found) == 10


def test_of_a_long_edit_the_beginning_is_read_and_everything_counted() -> None:
    after = b"".join(b"line %d\n" % number for number in range(5000))
    patch = edited(b"", after) + edited(b"", b"x" * 5000 + b"\n", b"b.js")
    found = texts(block_section(EDIT, str, lambda _: patch))
    assert found[0] == "  ✓ edit a.py · 2 files"
    assert found[-1] == "    … 4993 more lines (Ctrl+O)"
    assert len(texts(block_section(EDIT, str, lambda _: patch, unfolded=True))) > 5000


def test_a_very_long_line_of_a_folded_edit_is_cut() -> None:
    patch = edited(b"", b"x = '" + b"y" * 5000 + b"'\n")
    section = block_section(EDIT, str, lambda _: patch)
    assert len(section.lines) == 2
    cut = section.painted(1)
    assert cut.text == "    1 +x = '" + "y" * 152 + "…"
    assert spans_text(cut.spans) == cut.text


def test_several_files_of_one_call_are_named() -> None:
    patch = edited(b"", b"one\n") + edited(b"", b"two\n", b"b.py")
    assert texts(block_section(EDIT, str, lambda _: patch)) == [
        "  ✓ edit a.py · 2 files",
        "    a.py · +1 · new file",
        "    1 +one",
        "    b.py · +1 · new file",
        "    1 +two",
    ]


def test_without_contents_the_result_is_shown() -> None:
    assert texts(block_section(EDIT, str)) == [
        "  ✓ edit a.py",
        "    └ a.py: 1 replacement: (4 lines, Ctrl+O)",
    ]
