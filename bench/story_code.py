"""The code that stories work on: installed packages in the version that a story names, or a shop.

Nothing of a package is kept in this repository. It is copied from the environment that runs, whose
packages are pinned by hash, so everybody plays on the same bytes.
"""

import base64
import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

# Assent's configuration while a story is played: nobody sits at a terminal.
CONFIG = "[approve]\nwithout_terminal = true\n"
COMPILED = (".so", ".pyd", ".pyc")  # differ from machine to machine
STORY_DATE = (
    "2026-01-01T12:00:00+00:00"  # of the only commit, so that it has the same name anywhere
)


class OtherVersion(Exception):
    """A story cannot be played here: its code is not what it was recorded with."""


def make_machine(
    base: Path, code: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Makes a repository with the code, and a user's folders; returns the environment."""
    make_code_base(base / "project", code, files)
    config = base / "config" / "assent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG, encoding="utf-8")
    own = {"XDG_STATE_HOME": str(base / "state"), "XDG_CONFIG_HOME": str(base / "config")}
    return {**os.environ, **own}


def make_code_base(
    root: Path, code: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None
) -> None:
    """Writes packages in these versions and files of a story's own, as a repository.

    Without a package it is a small shop in Python: prices, a cart, twelve reports and tests.
    """
    own = {path: text.encode() for path, text in (files or {}).items()}
    found = dict(_packages(code)) if code else {p: t.encode() for p, t in shop().items()}
    for path, content in {**found, **own}.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    dates = {"GIT_AUTHOR_DATE": STORY_DATE, "GIT_COMMITTER_DATE": STORY_DATE}
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "Start")):
        subprocess.run([*git, *words], cwd=root, env={**os.environ, **dates}, check=True)


def _packages(code: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yields the files of installed packages; raises OtherVersion if one is not as recorded."""
    for name, version in code.items():
        yield from _installed(_pinned(name, version))


def _pinned(name: str, version: str) -> Distribution:
    told = f"Recorded with {name} {version}"
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise OtherVersion(f"{told}, which is not installed: run `make setup`.") from None
    if found.version != version:
        raise OtherVersion(f"{told}, found {found.version}: record it again or pin {version}.")
    return found


def _installed(package: Distribution) -> Iterator[tuple[str, bytes]]:
    """Yields what a package brought as source: neither its metadata nor scripts nor caches."""
    for path in package.files or ():
        top = path.parts[0]
        if top != ".." and not top.endswith(".dist-info") and path.suffix not in COMPILED:
            content = path.read_binary()
            if path.hash and path.hash.value != _recorded(path.hash.mode, content):
                told = f"{path} was changed after {package.version} was installed"
                raise OtherVersion(f"{told}: remove .venv and run `make setup`.")
            yield path.as_posix(), content


def _recorded(algorithm: str, content: bytes) -> str:
    """Returns a hash as it is written in the record of an installed package."""
    digest = hashlib.new(algorithm, content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def version_of(name: str) -> str:
    """Returns the version of an installed package; raises OtherVersion if there is none."""
    try:
        return distribution(name).version
    except PackageNotFoundError:
        raise OtherVersion(f"{name} is not installed in this environment.") from None


REPORTS = (
    "daily", "weekly", "monthly", "yearly", "refunds", "returns", "stock", "suppliers", "taxes",
    "vouchers", "shipping", "customers",
)  # fmt: skip


def shop() -> dict[str, str]:
    """Returns every file of the shop."""
    reports = {f"shop/reports/{name}.py": _REPORT.replace("NAME", name) for name in REPORTS}
    return {**_FILES, **reports}


_REPORT = '''"""The NAME report."""

from shop.prices import net_price


def NAME_line(label: str, cents: int, discount: int = 0) -> str:
    """Returns one line of the NAME report."""
    return f"{label:20}{net_price(cents, discount):>10}"


def NAME_total(rows: list[tuple[int, int]]) -> int:
    """Returns the sum of the NAME report."""
    return sum(net_price(cents, discount) for cents, discount in rows)
'''
_FILES = {
    "README.md": "# Shop\n\nPrices, a cart and reports. Run the tests with `make test`.\n",
    "Makefile": "test:\n\tpython3 -m unittest discover -s tests\n",
    "shop/__init__.py": "",
    "shop/reports/__init__.py": "",
    "shop/prices.py": '''"""Prices in cents."""


def net_price(cents: int, discount: int = 0) -> int:
    """Returns a price after a discount in percent."""
    return cents - cents * discount // 100


def with_tax(cents: int, rate: int = 19) -> int:
    """Returns a price with tax."""
    return cents + cents * rate // 100
''',
    "shop/cart.py": '''"""The cart of a customer."""

from shop.prices import net_price


class Cart:
    """What a customer wants to buy."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, int]] = []

    def add(self, name: str, cents: int, count: int = 1) -> None:
        """Adds some pieces of an article."""
        self.rows.append((name, cents, count))

    def total(self, discount: int = 0) -> int:
        """Returns what all rows cost."""
        return sum(net_price(cents, discount) for _, cents, count in self.rows)
''',
    "tests/__init__.py": "",
    "tests/test_prices.py": """import unittest

from shop.prices import net_price, with_tax


class PriceTest(unittest.TestCase):
    def test_discount(self) -> None:
        self.assertEqual(net_price(1000, 10), 900)

    def test_tax(self) -> None:
        self.assertEqual(with_tax(100), 119)
""",
    "tests/test_cart.py": """import unittest

from shop.cart import Cart


class CartTest(unittest.TestCase):
    def test_total(self) -> None:
        cart = Cart()
        cart.add("pen", 100)
        cart.add("book", 900)
        self.assertEqual(cart.total(), 1000)
""",
}
