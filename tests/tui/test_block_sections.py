"""How the blocks of a conversation look: nothing is hidden, nothing passes for ours."""

import pytest

from assent.core.llm import TokenUsage
from assent.core.session.event import Question, QuestionOption
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


@pytest.mark.parametrize("unfolded", [False, True])
def test_the_lines_of_an_edit_have_the_colours_of_a_diff(unfolded: bool) -> None:
    text = "a.py: 1 replacement:\n@@ -1 +1 @@\n-x = 1\n+x = 2"
    for changes, styles in ((True, ["removed", "added"]), (False, ["dim", "dim"])):
        block = ToolCallBlock("k", "edit", "completed", "a.py", text, 4, changes=changes)
        found = block_section(block, lambda _: text, unfolded=unfolded).lines
        assert [line.style for line in found[-2:]] == styles
        assert [line.text[6:] for line in found[-2:]] == ["-x = 1", "+x = 2"]


def test_how_much_more_an_edit_has_is_not_said_beside_a_line_of_the_file() -> None:
    block = ToolCallBlock("k", "edit", "completed", "a.py", "a.py:\n+x = 2", 9, changes=True)
    _, first, last = block_section(block, str).lines
    assert (first.text, last.text) == ("    └ a.py: (9 lines, Ctrl+O)", "      +x = 2")
