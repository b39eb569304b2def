"""read by the name of a definition: what is found, what is near, and what bounds it."""

from pathlib import Path

import pytest
from tests.tools.call_harness import Desk
from tests.tools.read_harness import Place

from assent.core.errors import AssentError, NotFound, UsageError
from assent.tools.outcome import FULL, LINES
from assent.tools.outline import MAX_BYTES
from assent.tools.read import (
    LONG_LINES,
    MAX_NAMES,
    MAX_SAME,
    PARTLY_SEARCHED,
    READ,
    ReadArgs,
    pieces,
)

CART = """class Row:
    price = 1

    @property
    def total(self):
        return 1

    @total.setter
    def total(self, value):
        self.price = value


class Cart:
    @cached
    @property
    def total(
        self,
    ):
        return 2


def empty(): ...
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.put("cart.py", CART)
    return place


def shown(place: Place, lines: str, path: str = "cart.py") -> list[str]:
    """Returns what the remarks in a result say; lines of the file are left out."""
    text = place.call(READ, path=path, lines=lines).text
    return [line[1:-1] for line in text.split("\n") if line.startswith("[")]


def said(place: Place, lines: str) -> str:
    """Returns what comes of a read, or why it is refused; any other error is a failure."""
    try:
        return place.call(READ, path="a.py", lines=lines).text
    except AssentError as error:
        return error.message


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("Cart", ["cart.py, lines 13-19 of 22"]),
        ("Cart.total", ["cart.py, lines 14-19 of 22"]),
        ("Row.total", ["cart.py, lines 4-6 of 22", "lines 8-10"]),
        ("total", ["cart.py, lines 4-6 of 22", "lines 8-10", "lines 14-19"]),
        ("empty, 1", ["cart.py, line 1 of 22", "line 22"]),
        ("1-2, Row.price, Row.total", ["cart.py, lines 1-2 of 22", "lines 4-6", "lines 8-10"]),
        ("L1-L3,empty()", ["cart.py, lines 1-3 of 22", "line 22"]),
        ("Cart, Cart.total, 12-20", ["cart.py, lines 12-20 of 22"]),
    ],
)
def test_f12_a_definition_is_read_with_its_decorators(
    place: Place, lines: str, found: list[str]
) -> None:
    assert shown(place, lines) == found


def test_f12_an_unknown_name_gives_near_names_with_their_lines(place: Place) -> None:
    with pytest.raises(NotFound) as said:
        place.call(READ, path="cart.py", lines="Basket.total")
    assert said.value.message == (
        "'Basket.total' is not a range of lines, such as 28-67, nor defined in cart.py. Near: "
        "4-6 Row.total, 8-10 Row.total, 14-19 Cart.total. Nothing was read."
    )
    with pytest.raises(NotFound, match=r"nor defined in cart\.py\. Nothing was read\.$"):
        place.call(READ, path="cart.py", lines="zebra")
    # What is found is shown all the same.
    assert shown(place, "empty, Emptyy") == [
        "cart.py, line 22 of 22",
        "'Emptyy' is not a range of lines, such as 28-67, nor defined in cart.py. Near: 22 empty.",
    ]
    place.put("notes.txt", "total\n")
    with pytest.raises(NotFound, match=r"nor defined in notes\.txt"):
        place.call(READ, path="notes.txt", lines="total")


def test_of_many_or_long_definitions_of_one_name_the_list_is_given(place: Place) -> None:
    many = "".join(f"class C{n}:\n    def run(self): ...\n" for n in range(MAX_SAME + 1))
    place.put("many.py", many)
    with pytest.raises(NotFound) as said:
        place.call(READ, path="many.py", lines="run")
    assert said.value.message == (
        "6 definitions of run, choose: 2 C0.run, 4 C1.run, 6 C2.run, 8 C3.run, 10 C4.run, "
        "12 C5.run. Nothing was read."
    )
    assert shown(place, "C3.run", "many.py") == ["many.py, line 8 of 12"]
    body = "        x = 1\n" * LONG_LINES
    place.put("long.py", "".join(f"class C{n}:\n    def run(self):\n{body}" for n in range(2)))
    with pytest.raises(NotFound, match=r"choose: 2-302 C0\.run, 304-604 C1\.run\."):
        place.call(READ, path="long.py", lines="run")
    assert shown(place, "C1.run", "long.py") == ["long.py, lines 304-604 of 604"]


def test_a_definition_whose_end_is_not_known_is_begun(place: Place) -> None:
    table = "create table a (\n  x int\n);\n\ncreate table b (\n" + "  y int,\n" * 99
    place.put("a.sql", table)
    assert shown(place, "a", "a.sql") == ["a.sql, lines 1-4 of 104", "Where a ends is not known."]
    assert shown(place, "b", "a.sql") == ["a.sql, lines 5-44 of 104", "Where b ends is not known."]


def test_f12_names_are_those_of_the_draft(place: Place) -> None:
    place.stage("cart.py", "x = 1\n\n\ndef fresh():\n    return 1\n")
    text = place.call(READ, path="cart.py", lines="fresh").text
    assert text == "[cart.py, lines 4-5 of 5]\ndef fresh():\n    return 1"
    with pytest.raises(NotFound):
        place.call(READ, path="cart.py", lines="Cart")


def test_a_long_definition_is_cut_and_the_rest_of_it_is_named(place: Place) -> None:
    place.put("a.py", "def go():\n" + "    x = 1\n" * 3000 + "\n\ndef other(): ...\n")
    text = place.call(READ, path="a.py", lines="go").text
    assert text.endswith(f"\n[{FULL}: read on with lines {LINES + 1}-3001.]")
    text = place.call(READ, path="a.py", lines="5-2500").text
    assert text.endswith(f"\n[{FULL}: read on with lines {LINES + 5}-2500.]")


@pytest.mark.parametrize(
    "content",
    [b"def go(:\n    pass\n", b"def go():\n\tx\n  y\n", b"\xff\xfe def go()\n", b"def go():\r\rx\n",
     b"", b"\n", b"def go()" + b"(" * 90_000],
)  # fmt: skip
def test_no_file_makes_a_name_fail_otherwise(place: Place, content: bytes) -> None:
    place.put("a.py", content)
    for lines in ("go", "go, 1", "\u00e4", "a" * 9000, "__", "class"):
        assert len(said(place, lines)) < 10_000


def test_names_are_looked_for_in_a_bounded_part_and_number(place: Place) -> None:
    place.put("huge.py", "x = 1\n" * (MAX_BYTES // 6 + 1) + "def late():\n    pass\n")
    with pytest.raises(NotFound) as said:
        place.call(READ, path="huge.py", lines="late")
    assert PARTLY_SEARCHED in said.value.message
    with pytest.raises(UsageError, match=f"at most {MAX_NAMES} names"):
        place.call(READ, path="cart.py", lines=",".join(["Cart"] * (MAX_NAMES + 1)))


def test_f76_a_name_reads_nothing_of_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a.py", CART)
    desk.put(".env", "def token(): ...\n")
    text = desk.call(
        "read", path="a.py", lines="empty", more=[".env:token", "a.py:Cart.total"]
    ).text
    assert "def token" not in text
    assert text.startswith("[a.py, line 22 of 22]\ndef empty(): ...\n[.env]\n")
    assert "\n[a.py, lines 14-19 of 22]\n    @cached\n" in text


@pytest.mark.parametrize(
    ("piece", "path", "lines"),
    [
        ("a.py:Cart", "a.py", "Cart"),
        ("a.py:Cart.total", "a.py", "Cart.total"),
        ("a.py:Cart::total", "a.py", "Cart::total"),
        ("a.py:1-3, Cart,total()", "a.py", "1-3, Cart,total()"),
        ("a.py:28-67,90-", "a.py", "28-67,90-"),
        ("a:b:5", "a:b", "5"),
        ("a.py", "a.py", ""),
        ("c:/d/e.py", "c:/d/e.py", ""),
        ("a.py:", "a.py:", ""),
        ("a.py:not a name", "a.py:not a name", ""),
        ("output:01m7n10dw90kkxez6ejn0tdx15", "output:01m7n10dw90kkxez6ejn0tdx15", ""),
        ("output:01m7n10dw90kkxez6ejn0tdx15:5-9", "output:01m7n10dw90kkxez6ejn0tdx15", "5-9"),
    ],
)  # fmt: skip
def test_what_follows_a_colon_is_lines_if_it_looks_like_them(
    piece: str, path: str, lines: str
) -> None:
    [_, found] = pieces(ReadArgs("x", more=[piece]))
    assert found == ({"path": path, "lines": lines} if lines else {"path": path})
