"""The generated parts of the documentation say what the code says."""

from tests.house.source import ROOT
from tools.docs import BLOCK, GENERATORS, documents, out_of_step


def test_documents_are_in_step() -> None:
    assert [str(path.relative_to(ROOT)) for path, _ in out_of_step()] == []


def test_every_generator_has_a_place() -> None:
    places = [block[2] for path in documents() for block in BLOCK.finditer(path.read_text("utf-8"))]
    assert sorted(places) == sorted(GENERATORS)
