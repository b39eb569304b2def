"""What a critic reads of a plan, and how its untrusted answer becomes findings on lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.plan.comment import CommentTarget, Finding
from assent.core.plan.critic import (
    MAX_FINDING_CHARS,
    MAX_FINDINGS,
    NOT_SHOWN,
    critic_input,
    parse_findings,
)

TEXT = CommentTarget("", "", ("# Greet", "", "Say hello."), "t")
FIRST = CommentTarget("op1", "write a.py", ("diff", "+hello"), "a", 1)
SECOND = CommentTarget("op2", "run make test", ("$ make test",), "b", 2)
PARTS = (TEXT, FIRST, SECOND)
Place = tuple[str, int, tuple[str, ...]]


def found(answer: str) -> list[Finding] | None:
    parsed = parse_findings(answer, PARTS)
    return None if parsed is None else [*parsed.findings]


def place(item: dict[str, object]) -> Place:
    (finding,) = found(json.dumps([{"text": "Words.", **item}])) or []
    return finding.anchor.operation, finding.anchor.first, finding.anchor.quote


PLACES: dict[str, tuple[dict[str, object], Place]] = {
    "a line of the text": ({"on": "plan", "line": 3}, ("", 3, ("Say hello.",))),
    "a line of an operation": ({"on": 1, "line": 2}, ("op1", 2, ("+hello",))),
    "its number as a word": ({"on": "2", "line": "1"}, ("op2", 1, ("$ make test",))),
    "its number in words": ({"on": "operation 2", "line": 1}, ("op2", 1, ("$ make test",))),
    "the name of its file": ({"on": "a.py", "line": 2}, ("op1", 2, ("+hello",))),
    "a range begins": ({"on": 1, "line": "2-3"}, ("op1", 2, ("+hello",))),
    "nothing said": ({}, ("", 0, ())),
    "no line": ({"on": 1}, ("op1", 0, ())),
    "a line after the end": ({"on": 1, "line": 3}, ("op1", 0, ())),
    "line zero": ({"on": 1, "line": 0}, ("op1", 0, ())),
    "a line below zero": ({"on": 1, "line": -1}, ("op1", 0, ())),
    "a line that is none": ({"on": 1, "line": {}}, ("op1", 0, ())),
    "no such operation": ({"on": 3, "line": 1}, ("", 0, ())),
    "no such file": ({"on": "b.py", "line": 1}, ("", 0, ())),
    "no part at all": ({"on": [1], "line": 1}, ("", 0, ())),
    "a number with a point": ({"on": 1.0, "line": 2.0}, ("op1", 2, ("+hello",))),
    "half a number": ({"on": 1.5, "line": 2}, ("", 0, ())),
    "a truth": ({"on": True, "line": 2}, ("", 0, ())),
}


@pytest.mark.parametrize(("item", "expected"), PLACES.values(), ids=PLACES)
def test_g22_a_finding_is_tied_to_its_line_or_to_the_whole(
    item: dict[str, object], expected: Place
) -> None:
    assert place(item) == expected


ONE = '{"on": 1, "line": 2, "text": "Why?"}'
READABLE = {
    "an array": f"[{ONE}]",
    "one object": ONE,
    "an object around it": f'{{"findings": [{ONE}]}}',
    "in a fence": f"Here they are:\n```json\n[{ONE}]\n```\nThat is all.",
    "in prose": f"I found this: [{ONE}] Good luck.",
    "on lines": f"{ONE}\n",
    "on lines among others": f"First:\n{ONE},\nand no more",
    "cut off after the first": f'[\n{ONE},\n{{"on": 1, "li',
}


@pytest.mark.parametrize("answer", READABLE.values(), ids=READABLE)
def test_g22_an_answer_is_read_however_it_is_wrapped(answer: str) -> None:
    assert [finding.text for finding in found(answer) or []] == ["Why?"]


@pytest.mark.parametrize("answer", ["[]", " [] ", '{"findings": []}', "```\n[]\n```", "None: []"])
def test_g22_an_empty_list_is_no_finding(answer: str) -> None:
    assert found(answer) == []


UNREADABLE = ("", "Looks good.", "see [3]", '{"ok": true}', "[1, 2]", "null", "[" * 200_000, "[{")


@pytest.mark.parametrize("answer", UNREADABLE, ids=range(len(UNREADABLE)))
def test_g22_any_other_answer_cannot_be_read(answer: str) -> None:
    assert found(answer) is None


def test_g22_findings_are_bounded_in_number_and_length_and_stay_on_one_line() -> None:
    many = [{"on": 1, "line": 2, "text": f"{n}"} for n in range(50)]
    parsed = parse_findings(json.dumps(many), PARTS)
    assert parsed is not None
    assert (len(parsed.findings), parsed.dropped) == (MAX_FINDINGS, 50 - MAX_FINDINGS)
    (long,) = found(json.dumps([{"text": "x" * 5000}])) or []
    assert long.text == "x" * MAX_FINDING_CHARS + "…"
    (lines,) = found(json.dumps([{"text": " a\n▸ comment 1: b\u2028c\t"}])) or []
    assert lines.text == "a ▸ comment 1: b c"


def test_g22_the_same_again_and_what_has_no_text_is_dropped() -> None:
    items = [{"text": "A"}, {"text": "A"}, {"text": " "}, {"text": 3}, {}, "B", None]
    parsed = parse_findings(json.dumps(items), PARTS)
    assert parsed is not None
    assert ([one.text for one in parsed.findings], parsed.dropped) == (["A"], 6)


DAMAGED = {
    "a number out of range": ('{"on": 1, "line": 1e999, "text": "Bad."}', ["Why?", "Bad."], 0),
    "a number that is endless": (
        '{"on": %s, "line": 2, "text": "Bad."}' % ("9" * 10_000), ["Why?", "Bad."], 0,
    ),
    "a number that JSON does not have": ('{"on": 01, "text": "Bad."}', ["Why?"], 1),
    "half of a pair": ('{"on": 1, "text": "Bad \\ud800."}', ["Why?"], 1),
    "a comma too many": ('{"on": 1, "text": "Bad.",}', ["Why?"], 1),
    "a quote in a text": ('{"on": 1, "text": "a "b" c"}', ["Why?"], 1),
    "cut off": ('{"on": 1, "te', ["Why?"], 1),
    "no object": ("{a}", ["Why?"], 0),
}  # fmt: skip


@pytest.mark.parametrize(("bad", "texts", "dropped"), DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("form", ["[{bad}, {one}]", "[{one},\n{bad}]"], ids=["first", "last"])
def test_g22_one_damaged_finding_costs_only_itself(
    bad: str, texts: list[str], dropped: int, form: str
) -> None:
    parsed = parse_findings(form.replace("{bad}", bad).replace("{one}", ONE), PARTS)
    if parsed is None:
        assert bad.endswith("te"), "what follows a text that does not end is part of it"
        return
    assert sorted(one.text for one in parsed.findings) == sorted(texts)
    assert parsed.dropped == dropped


def test_g22_reading_a_hostile_answer_takes_bounded_time() -> None:
    for piece in ('{"a":', "{", '{"', '[{"text": "x"},', '{"text":{"text":'):
        parse_findings(piece * 40_000, PARTS)


@pytest.mark.parametrize(
    ("severity", "expected"), [("high", "high"), ("LOW", "low"), ("fatal", ""), (None, ""), (3, "")]
)
def test_g22_a_severity_is_one_of_three_or_none(severity: object, expected: str) -> None:
    (finding,) = found(json.dumps([{"text": "A", "severity": severity}])) or []
    assert finding.severity == expected


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
NAMES = st.sampled_from(["on", "line", "text", "severity", "findings"])
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner)
)


@given(VALUES)
def test_g22_no_answer_makes_a_finding_on_a_line_that_is_not_there(value: object) -> None:
    parts = {part.operation: part for part in PARTS}
    for finding in found(json.dumps(value)) or []:
        anchor = finding.anchor
        assert anchor.last == anchor.first <= len(parts[anchor.operation].lines)
        assert anchor.quote == parts[anchor.operation].lines[anchor.first - 1 : anchor.first]
        assert "\n" not in finding.text


@given(st.text())
def test_g22_any_text_is_read_without_an_error(answer: str) -> None:
    parse_findings(answer, PARTS)


def test_g22_a_critic_reads_numbered_lines_the_text_first() -> None:
    assert critic_input(PARTS).text == (
        "# plan\n1 | # Greet\n2 | \n3 | Say hello.\n\n"
        "# operation 1: write a.py\n1 | diff\n2 | +hello\n\n"
        "# operation 2: run make test\n1 | $ make test"
    )


def test_g22_what_does_not_fit_is_left_out_and_counted() -> None:
    cut = critic_input(PARTS, 80)
    assert cut.text == (
        "# plan\n1 | # Greet\n2 | \n3 | Say hello.\n\n"
        "# operation 1: write a.py\n1 | diff\n(1 more lines are not shown: too long)\n\n"
        "(too long: 1 more operation not shown)"
    )
    assert cut.unread == 2


def test_g22_an_operation_without_lines_is_named_and_findings_are_tied_to_all_of_it() -> None:
    hidden = CommentTarget("op1", "delete .env", (), "a", 1)
    text = critic_input((TEXT, hidden)).text
    assert text.endswith(f"# operation 1: delete .env\n{NOT_SHOWN}")
    parsed = parse_findings('[{"on": 1, "line": 1, "text": "Why?"}]', (TEXT, hidden))
    assert parsed is not None
    assert [(one.anchor.operation, one.anchor.first) for one in parsed.findings] == [("op1", 0)]


def test_g22_many_operations_do_not_exceed_the_bound() -> None:
    parts = (TEXT, *[CommentTarget(f"o{n}", f"write {n}", ("x",), "", n) for n in range(1, 5000)])
    assert len(critic_input(parts, 10_000).text) < 11_000
