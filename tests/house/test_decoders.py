"""Only one module has msgspec look at types: two threads that do so at once end the process."""

import ast
from collections.abc import Iterator

import pytest
from tests.house.source import Modules, modules, nodes

HOME = "core/decoding.py"


def test_decoders_are_made_in_one_place() -> None:
    assert [*lookers(modules())] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("msgspec.json.Decoder(Kind)", True),
        ("msgspec.msgpack.Decoder(Kind).decode", True),
        ("msgspec.convert(1, int)", True),
        ("json.decode(b'1', type=int)", True),
        ("from msgspec import convert", True),
        ("from msgspec.json import Decoder", True),
        ("from msgspec import UNSET", False),
        ("msgspec.json.decode(b'1')", False),
        ("a: msgspec.json.Decoder[int] = json_decoder(int)", False),
    ],
)
def test_such_a_call_is_found(source: str, found: bool) -> None:
    assert bool([*lookers({"m.py": ast.parse(source)})]) == found


def lookers(of: Modules) -> Iterator[str]:
    for name, tree in of.items():
        for node in nodes(tree) if name != HOME else ():
            if _looks(node):
                yield f"{name}:{getattr(node, 'lineno', 0)}"


def _looks(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(module=str() as origin, names=names) if origin.startswith("msgspec"):
            return any(each.name in ("Decoder", "convert", "decode", "json") for each in names)
        case ast.Call(func=ast.Attribute(attr="decode"), keywords=given):
            return any(each.arg == "type" for each in given)
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="json" | "msgpack"), attr=name)):
            return name == "Decoder"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="msgspec"), attr="convert")):
            return True
        case _:
            return False
