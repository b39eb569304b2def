"""Definitions by a part of their names: which are found, what bounds the search, what is kept."""

from collections.abc import Iterator
from contextlib import chdir
from itertools import count
from pathlib import Path

import pytest

from assent.app import symbols
from assent.app.symbols import SymbolFinder, SymbolMatch

CART = "class Cart:\n    def total(self) -> int:\n        return 1\n\n\ndef carton() -> None: ...\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src" / "cart.py").write_text(CART, encoding="utf-8")
    (root / "web.ts").write_text("export function cartLine() {\n}\n", encoding="utf-8")
    with chdir(root):
        yield root


NAMES = ["src/cart.py", "web.ts", "gone.py"]


def found(finder: SymbolFinder, query: str) -> list[str]:
    return [f"{one.path}#{one.name}" for one in finder.find(query, NAMES)]


def test_names_are_found_in_several_languages_best_first(place: Path) -> None:
    finder = SymbolFinder(str(place))
    assert found(finder, "cart") == [
        "src/cart.py#Cart", "src/cart.py#carton", "web.ts#cartLine", "src/cart.py#Cart.total",
    ]  # fmt: skip
    assert finder.find("Cart.to", NAMES) == [SymbolMatch("src/cart.py", "Cart.total", 2, "method")]


@pytest.mark.parametrize("query", ["", "c", "src/cart", "ca rt", "nowhere"])
def test_what_is_no_part_of_a_name_finds_nothing(place: Path, query: str) -> None:
    assert found(SymbolFinder(str(place)), query) == []


def test_a_file_is_outlined_once_until_it_is_another(place: Path) -> None:
    finder = SymbolFinder(str(place))
    found(finder, "total")
    assert finder.outlined == 1
    found(finder, "tot")
    assert finder.outlined == 1
    (place / "src" / "cart.py").write_text("def total_of() -> None: ...\n", encoding="utf-8")
    assert found(finder, "total") == ["src/cart.py#total_of"]
    assert finder.outlined == 2


def test_long_files_slow_searches_and_unwanted_ones_end(place: Path) -> None:
    (place / "long.py").write_text(CART + "#" * symbols.MAX_FILE_BYTES, encoding="utf-8")
    finder = SymbolFinder(str(place))
    assert finder.find("cart", ["long.py"]) == []
    assert finder.find("cart", NAMES, wanted=lambda: False) == []
    clock = count(0, symbols.SECONDS)  # each look at it is one budget later
    slow = SymbolFinder(str(place), lambda: float(next(clock)))
    assert {one.path for one in slow.find("cart", NAMES)} == {"src/cart.py"}
