"""Word boundaries: whether a parsed line has its words where bash has them.

The grammar takes a blank that is escaped, and words that touch, for the end of a word; bash does
not. So what lies between the parts of a tree has to be blank, and where words meet it has to be.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tree_sitter import Node

_GAP: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_BETWEEN: Final = re.compile(rb"(?:\\\n)*[ \t](?:[ \t]|\\\n)*")
_BLANKS: Final = re.compile(rb"(?:[ \t]|\\\n)*")
_NOTHING: Final = re.compile(rb"")
_LINES: Final = frozenset(
    {"command", "declaration_command", "unset_command", "file_redirect", "herestring_redirect",
     "redirected_statement"}
)  # fmt: skip
_UNBROKEN: Final = frozenset(
    {"simple_expansion", "concatenation", "command_name", "variable_assignment"}
)
_ASSIGNED_NAME: Final = re.compile(rb"[A-Za-z_]\w*(\[.*\])?", re.ASCII | re.DOTALL)
_COMMANDS: Final = frozenset(
    {"command", "declaration_command", "unset_command", "negated_command", "test_command"}
)
_OPERATORS: Final = ("<", ">", "|", "&", ";", "(", ")")
_APART: Final = ("file_descriptor", "heredoc_body", "heredoc_end", "pipeline", *_OPERATORS)


def has_ambiguous_words(root: Node, content: bytes) -> bool:
    """Tells whether bash could see other words in a line than the tree has."""
    at = 0
    for leaf in _leaves(root):
        if not _GAP.fullmatch(content, at, max(at, leaf.start_byte)):
            return True
        at = max(at, leaf.end_byte)
    if not _GAP.fullmatch(content, at):
        return True
    return any(_is_odd(node, content) for node in _all(root))


def _is_odd(node: Node, content: bytes) -> bool:
    gap = _BLANKS if node.type in _LINES else _NOTHING if node.type in _UNBROKEN else _GAP
    if any(not gap.fullmatch(content, a.end_byte, b.start_byte) for a, b in _pairs(node)):
        return True
    if node.type in _COMMANDS:
        return _touching(node.children, content)
    match node.type:
        case "file_redirect" | "heredoc_redirect":
            places = [c for c in node.children if c.is_named and c.type not in _APART]
            return _touching(places, content)
        case "variable_assignment":
            name = node.child_by_field_name("name")
            return name is None or not _ASSIGNED_NAME.fullmatch(name.text or b"")
        case _:
            return False


def _pairs(node: Node) -> Iterator[tuple[Node, Node]]:
    return pairwise(node.children) if node.type in _LINES | _UNBROKEN else iter(())


def _touching(parts: list[Node], content: bytes) -> bool:
    """Tells whether two words have no blank between them that bash would see as one."""
    return any(
        not _BETWEEN.fullmatch(content, one.end_byte, other.start_byte)
        for one, other in pairwise(parts)
        if one.type not in _OPERATORS and not _starts_with_sign(other)
    )


def _starts_with_sign(node: Node) -> bool:
    """Tells whether a part ends the word before it by its first character, as `>` does."""
    return (node.text or b"")[:1].decode("latin-1") in _OPERATORS


def _leaves(node: Node) -> Iterator[Node]:
    return (each for each in _all(node) if not each.child_count)


def _all(root: Node) -> Iterator[Node]:
    """Yields every node in the order of the text; a line may be nested too deeply to recurse."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)
