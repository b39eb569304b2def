"""Options: labels that people can tell apart, and operations next to each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.errors import UsageError
from assent.core.plan.operation import FileState, Operation, RunCommand, WriteFile
from assent.core.plan.option import compare_operations, distinct_labels, is_same_label, option_label


def write(path: str, content: str = "0") -> WriteFile:
    return WriteFile(path.encode(), None, FileState(content * 64, 1, 0o644))


OPERATIONS = (write("a"), write("a", "1"), write("b"), RunCommand(script=b"make"))


def test_a_label_is_one_line_of_plain_text() -> None:
    assert option_label("  Keep \n SQLite ") == "Keep SQLite"
    assert is_same_label("keep sqlite", "Keep SQLite")


@pytest.mark.parametrize(
    "other",
    [
        "plan a",
        "Pl\u0430n A",  # a Cyrillic letter
        "Plan \u0391",  # a Greek one
        "\uff30lan A",  # a wide one
        "P1an A",
        "Plan\u00a0A",
    ],
)
def test_g22_labels_that_look_the_same_are_the_same(other: str) -> None:
    assert is_same_label("Plan A", other)
    assert distinct_labels(["Plan A", other, "Plan B"]) == ["Plan A", "Plan B"]


def test_labels_in_one_alphabet_that_differ_are_two() -> None:
    assert not is_same_label("Plan A", "Plan B")
    assert not is_same_label("\u041f\u043b\u0430\u043d", "\u041f\u043b\u0430\u043d 2")


@pytest.mark.parametrize("label", ["x" * 41, "a\u202eb", "a\x1b[1m", "AKIA" + "ABCDEFGH23456789"])
def test_a_label_that_could_mislead_is_refused(label: str) -> None:
    with pytest.raises(UsageError, match="label must"):
        option_label(label)


@pytest.mark.parametrize("label", ["", "  ", "\n\t", "\u3000"])
def test_a_blank_label_is_refused_with_what_to_do(label: str) -> None:
    with pytest.raises(UsageError, match=r"label is blank\. Name the option, or leave"):
        option_label(label)


def test_the_same_path_with_another_content_is_another_operation() -> None:
    found = compare_operations([[write("a"), write("b")], [write("b"), write("a", "1")]])
    assert [(one.op, one.numbers, one.is_common) for one in found] == [
        (write("a"), (1, 0), False),
        (write("b"), (2, 1), True),
        (write("a", "1"), (0, 2), False),
    ]


@given(st.lists(st.lists(st.sampled_from(OPERATIONS)), min_size=2, max_size=3))
def test_every_operation_of_every_option_is_there_once(plans: list[list[Operation]]) -> None:
    found = compare_operations(plans)
    for at, operations in enumerate(plans):
        numbers = {one.numbers[at]: one.op for one in found if one.numbers[at]}
        assert [numbers[number] for number in sorted(numbers)] == operations
        assert sorted(numbers) == list(range(1, len(operations) + 1))
