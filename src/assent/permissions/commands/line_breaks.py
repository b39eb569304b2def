"""Line breaks: whether the lines of a text end for bash where the grammar has them end.

Bash drops a backslash with the line break after it before it looks for `$(`, for the end of a
heredoc, or for anything else; the grammar does not.
"""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

_BREAK: Final = re.compile(rb"\\\n")
_CONTINUED: Final = re.compile(rb"(?:^|(?<!\\)[ \t])\\\n(?![#\\])")
_SPACED: Final = frozenset(
    {"program", "list", "pipeline", "command", "redirected_statement", "declaration_command",
     "if_statement", "while_statement", "for_statement", "do_group", "compound_statement",
     "subshell", "command_substitution"}
)  # fmt: skip
_OUTER: Final = _SPACED | {"string", "variable_assignment", "elif_clause", "else_clause"}
_START: Final = re.compile(r"\w+|'\w+'|\"\w+\"", re.ASCII)
_NAMED: Final = r"\$\w+|\$\{\w+\}"
_REST: Final = re.compile(
    rf"(?=[ \t;&|<>]|$)(?:[^'\"`\\()$#]|{_NAMED}|'[^']*'|\"(?:[^\"`\\$]|{_NAMED})*\")*", re.ASCII
)
_HEREDOC: Final = "heredoc_redirect"


def has_ambiguous_line_break(root: Node, content: bytes) -> bool:
    """Tells whether an escaped line break could join what the grammar keeps apart."""
    return not all(_is_clear_break(root, content, at.start()) for at in _BREAK.finditer(content))


def _is_clear_break(root: Node, content: bytes, at: int) -> bool:
    node = root.descendant_for_byte_range(at, at + 2)
    if node is None or _is_in_quotes(node):
        return node is not None
    first = root.descendant_for_byte_range(at, at + 1)
    if first is None or first.type == "comment":
        return False
    start = max(0, at - 2)
    plain = any(found.end() == at + 2 for found in _CONTINUED.finditer(content, start, at + 3))
    return plain and node.type in _SPACED and all(each.type in _OUTER for each in _above(node))


def _above(node: Node) -> Iterator[Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _is_in_quotes(node: Node) -> bool:
    """Tells whether it stands in single quotes, or in text in which the shell replaces nothing."""
    if node.type == "raw_string":
        return True
    while node.type in ("heredoc_body", "heredoc_content") and node.parent is not None:
        node = node.parent
    starts = [each for each in node.children if each.type == "heredoc_start"]
    inside = node.type == _HEREDOC and bool(starts)
    return inside and (starts[0].text or b"")[:1] in (b"'", b'"')


def has_clear_heredoc_end(node: Node, line: str) -> bool:
    """Tells whether a heredoc has a simple end, where bash sees it, and nothing else like it."""
    parts = {each.type: each for each in node.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if start is None or end is None:
        return False
    written = line[start.start_byte : start.end_byte]
    lines = line.split("\n")
    rest = lines[start.end_point[0]][start.end_point[1] :]
    if not _START.fullmatch(written) or not _REST.fullmatch(rest) or "<<" in rest:
        return False
    mark = written.strip("'\"")
    body = lines[start.end_point[0] + 1 : end.start_point[0]]
    closing = lines[end.start_point[0]]
    indented = any(each.type == "<<-" for each in node.children)
    ended = (closing.lstrip("\t") if indented else closing) == mark
    split = written == mark and any(each.endswith("\\") for each in body)
    return ended and not split and mark not in [each.strip() for each in body]
