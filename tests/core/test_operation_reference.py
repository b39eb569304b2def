"""Which operation a person means by what they typed."""

import pytest

from assent.core.plan.operation import matching_operations

IDS = ("2" + "0" * 63, "1" + "0" * 63, "1a" + "0" * 62, "1234567" + "0" * 57)


@pytest.mark.parametrize(
    ("typed", "indexes"),
    [
        ("1", [0]),  # the first, whichever ids begin with 1
        ("4", [3]),
        ("004", [3]),
        ("5", []),
        ("0", []),
        ("123456", []),  # a number, too
        ("1234567", [3]),  # so many digits are the start of an id
        ("1a", [2]),
        ("2000000", [0]),
        ("f", []),
        ("", []),
        ("\u0661", []),  # a digit of another script
        (IDS[1], [1]),
    ],
)
def test_g10_a_number_is_a_place_before_it_is_the_start_of_an_id(
    typed: str, indexes: list[int]
) -> None:
    assert matching_operations(IDS, typed) == indexes
