"""The generated parts of the documentation say what the code says."""

import re

from tests.house.source import ROOT
from tools.docs import BLOCK, GENERATORS, documents, out_of_step

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def test_documents_are_in_step() -> None:
    assert [str(path.relative_to(ROOT)) for path, _ in out_of_step()] == []


def test_every_generator_has_a_place() -> None:
    places = [block[2] for path in documents() for block in BLOCK.finditer(path.read_text("utf-8"))]
    assert sorted(places) == sorted(GENERATORS)


def test_every_relative_link_leads_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {link}"
        for path in documents()
        for link in LINK.findall(path.read_text("utf-8"))
        if not (path.parent / link).exists()
    ]
    assert broken == []


def test_the_index_names_every_page() -> None:
    docs = ROOT / "docs"
    linked = set(LINK.findall((docs / "README.md").read_text("utf-8")))
    pages = {path.name for path in docs.glob("*.md")} - {"README.md"}
    assert pages - linked == set()
