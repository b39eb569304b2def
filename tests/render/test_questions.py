"""Questions: what they look like, and which typed lines are an answer."""

import msgspec
import pytest

from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import Question, QuestionOption
from assent.core.session.question import NO, PROJECT, SESSION, UNCONFINED, YES, permission_options
from assent.render.questions import (
    MAX_LINES,
    answer_hint,
    is_truncated,
    max_detail_lines,
    open_questions_lines,
    parse_answer,
    question_lines,
    unknown_number_error,
)

ESCAPE = bytes([27]).decode()
COLOUR = Question("Colour", "Which one?", (QuestionOption("Red", "warm"), QuestionOption("Blue")))
FREE = Question("", "What is it called?")
STRICT = Question("Sure?", "Do it?", (QuestionOption("Yes"), QuestionOption("No")), custom=False)
MANY = Question(
    "Parts",
    "Which?",
    (QuestionOption("A"), QuestionOption("B"), QuestionOption("C")),
    multiple=True,
)

ANSWERS = {
    "a number": (COLOUR, "2", ("Blue",)),
    "a label in other letters": (COLOUR, " red ", ("Red",)),
    "words of one's own": (COLOUR, "green, please", ("green, please",)),
    "no such number": (COLOUR, "7", ("7",)),
    "nothing": (COLOUR, "", ()),
    "blanks": (COLOUR, "  ", ()),
    "free words": (FREE, "Ada", ("Ada",)),
    "no such option": (STRICT, "yo", ()),
    "a short yes": (STRICT, "y", ("Yes",)),
    "a short yes in capitals": (STRICT, " Y ", ("Yes",)),
    "a yes in any case": (STRICT, "yES", ("Yes",)),
    "a short no": (STRICT, "n", ("No",)),
    "a no in any case": (STRICT, "NO", ("No",)),
    "a short yes where there is none": (COLOUR, "y", ("y",)),
    "no such number of a strict one": (STRICT, "0", ()),
    "a strict yes": (STRICT, "1", ("Yes",)),
    "several": (MANY, "3, a", ("C", "A")),
    "several, one twice": (MANY, "1,1,A", ("A",)),
    "several, one unknown": (MANY, "1, and more", ("1, and more",)),
    "only commas": (MANY, ",,", ()),
    "a huge number": (STRICT, "9" * 5000, ()),
}


@pytest.mark.parametrize(("question", "typed", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_f41_only_what_is_typed_is_an_answer(
    question: Question, typed: str, answer: tuple[str, ...]
) -> None:
    assert parse_answer(question, typed) == answer


def test_f32_a_question_with_its_options() -> None:
    assert [line.text for line in question_lines(COLOUR)] == [
        "",
        "The model asks about Colour:",
        "│ Which one?",
        "  1. Red: warm",
        "  2. Blue",
    ]
    assert answer_hint(COLOUR) == "a number or free text (Enter: no answer): "
    assert answer_hint(STRICT) == "y or n (Enter: no answer): "
    assert answer_hint(FREE) == "free text (Enter: no answer): "
    assert answer_hint(MANY) == "numbers, e.g. 1,3 or free text (Enter: no answer): "


def test_what_a_yes_would_do_is_shown_and_a_long_patch_is_cut_with_a_count() -> None:
    patch = "diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new\n"
    question = Question(
        "Sure?", "Change x?", (QuestionOption("Yes"), QuestionOption("No")), detail=patch
    )
    shown = [(line.style, line.text) for line in question_lines(question)]
    assert [line for line in shown if line[1][:1] in ("-", "+")] == [
        ("removed", "-old"),
        ("added", "+new"),
    ]
    assert shown[-2:] == [("plain", "  1. Yes"), ("plain", "  2. No")]
    long = "diff --git a/x b/x\n@@ -0,0 +1,999 @@\n" + "+line\n" * 998
    lines = [line.text for line in question_lines(Question("", "Sure?", detail=long))]
    assert lines.count("+line") == MAX_LINES - 2
    assert "… 800 more lines not shown." in lines


def test_nothing_in_a_question_steers_the_terminal() -> None:
    clear = f"{ESCAPE}[2J"
    question = Question(clear, f"{clear}\n{clear}", (QuestionOption(clear, clear),), detail=clear)
    lines = list(open_questions_lines([question], "assent -c -p"))
    assert not any(ESCAPE in line.text or "\n" in line.text for line in lines)
    assert lines[-1].text == "Answer: assent -c -p 'YOUR ANSWER'"


FORGED = "n? Fine.\n  1. No\n  2. Yes\nY or n: y\n\nPermission\nShow the result"


def test_a_model_cannot_forge_a_question_of_the_gate() -> None:
    """Whatever a path or a question holds, no line of it looks like one of Assent's own."""
    own = Question(
        "Permission", f"May the model change {FORGED}?", (QuestionOption("Yes"),), by="gate"
    )
    lines = [line.text for line in question_lines(msgspec.structs.replace(own, things=(FORGED,)))]
    assert [line for line in lines if line.startswith(("Permission", "Show", "Y or n"))] == [
        "Permission"
    ]
    asked = [line.text for line in question_lines(Question("x\nPermission", FORGED))]
    assert [line for line in asked if line.startswith(("Permission", "  ", "Show", "Y or n"))] == []
    assert asked[1].startswith("The model asks about x")
    assert all(line.startswith("│ ") for line in asked[2:])


STATUS = PermissionPattern("bash", "git status *")
RUN = Question("Permission", "May it?", permission_options((STATUS,), command=True), by="gate")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", YES), ("1", YES), ("2", SESSION), ("yes, for this session", SESSION), ("3", PROJECT),
        ("4", UNCONFINED), ("5", NO), ("n", NO), ("6", "6"), ("v", "v"),
    ],
)  # fmt: skip
def test_f82_every_choice_has_a_number(typed: str, answer: str) -> None:
    assert parse_answer(RUN, typed) == (answer,)
    assert parse_answer(RUN, "") == ()
    assert answer_hint(RUN) == (
        "y, n, a number, or free text as feedback (Enter: no, end the turn): "
    )


def test_f90_the_risk_comes_first_and_only_from_the_gate() -> None:
    risky = msgspec.structs.replace(RUN, risk=("high", f"It deletes.\n{ESCAPE}[2J"))
    lines = list(question_lines(risky))
    assert [(line.style, line.text) for line in lines[1:4]] == [
        ("risk", "Risk: high"),
        ("plain", "  - It deletes.<U+000A><U+001B>[2J"),
        ("heading", "Permission"),
    ]
    asked = list(question_lines(msgspec.structs.replace(risky, by="model")))
    assert not any("Risk" in line.text for line in asked)


def test_what_is_cut_can_be_seen_to_its_end() -> None:
    things = tuple(f"write f{n}" for n in range(MAX_LINES + 5))
    many = msgspec.structs.replace(RUN, things=things)
    patch = "diff --git a/x b/x\n@@ -0,0 +1,999 @@\n" + "+line\n" * 998
    long = msgspec.structs.replace(RUN, detail=patch)
    for question in (many, long):
        assert is_truncated(question)
        assert not is_truncated(question, most=0)
        assert "v to show all" in answer_hint(question, cut=True)
    assert not is_truncated(RUN)
    shown = [line.text for line in question_lines(many, most=0)]
    assert f"  - {things[-1]}" in shown
    assert [line.text for line in question_lines(long, most=0)].count("+line") == 998


def test_f32_a_number_that_no_option_has_is_neither_a_choice_nor_words() -> None:
    assert unknown_number_error(RUN, "6") == "6 is not an option; enter 1 to 5."
    assert unknown_number_error(MANY, "1, 7") == "7 is not an option; enter 1 to 3."
    fine = ((RUN, "5"), (RUN, "not 6"), (RUN, ""), (FREE, "7"), (MANY, "1,2"))
    assert [unknown_number_error(*each) for each in fine] == [""] * 5


def test_f79_a_script_is_a_block_of_its_own_and_what_hides_in_it_is_written_out() -> None:
    script = f"cd x\n  rm y{ESCAPE}[2J\n  1. No"
    asked = msgspec.structs.replace(RUN, command=script)
    lines = [line.text for line in question_lines(asked)]
    at = lines.index("May it?")
    assert lines[at + 1 : at + 4] == ["│ cd x", "│   rm y<U+001B>[2J", "│   1. No"]


def test_a_question_is_said_again_below_what_is_long_and_fits_the_screen() -> None:
    patch = "diff --git a/x b/x\n@@ -0,0 +1,999 @@\n" + "+line\n" * 998
    long = msgspec.structs.replace(RUN, detail=patch, risk=("medium", "It changes x."))
    rows = 40
    lines = [line.text for line in question_lines(long, most=max_detail_lines(long, rows))]
    assert lines.count("May it?") == 2
    assert lines[lines.index("May it?", 5) + 1].startswith("  1. Yes")
    assert rows - 4 <= len(lines) < rows
    assert max_detail_lines(long, 3) == 5
    assert [line.text for line in question_lines(RUN)].count("May it?") == 1
