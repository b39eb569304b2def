"""Test expressions: whether `[ ... ]` or `[[ ... ]]` only compares texts and files."""

import re
from typing import Final

from tree_sitter import Node

from assent.permissions.commands.read_only.spec import words_in

_UNARY: Final = words_in("-n -z -e -f -d -r -w -x -s -L -h -p -S -b -c -u -g -k -O -G -N -a")
_BINARY: Final = words_in("= == != < > =~ -nt -ot -ef")
_REDIRECTS: Final = words_in("< >")  # in `[` they name a file
_COUNTING: Final = words_in("-eq -ne -lt -le -gt -ge")
_NUMBER: Final = re.compile(r"-?\d+|\$[#?]", re.ASCII)
_MANY: Final = re.compile(r"[@*]")
_LEAVES: Final = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "simple_expansion", "expansion",
     "concatenation", "command_substitution", "extglob_pattern", "regex"}
)  # fmt: skip


def is_plain_test_expression(node: Node) -> bool:
    """Tells whether a test is one of the known kinds, whatever its variables hold."""
    sign, *inside = node.children
    parts = inside[:-1]
    return sign.type in ("[", "[[") and len(parts) == 1 and _holds(parts[0], sign.type == "[[")


def _holds(node: Node, double: bool) -> bool:
    match node.type:
        case "parenthesized_expression":
            return double and all(_holds(part, double) for part in node.children if part.is_named)
        case "unary_expression":
            return _is_unary(node, double)
        case "binary_expression":
            return _is_binary(node, double)
        case _:
            return _is_operand(node, double)


def _is_unary(node: Node, double: bool) -> bool:
    if len(node.children) != len(("sign", "operand")):
        return False
    sign, operand = node.children
    if _text(sign) == "!":
        return _holds(operand, double)
    return _text(sign) in _UNARY and _is_operand(operand, double)


def _is_binary(node: Node, double: bool) -> bool:
    if len(node.children) != len(("left", "sign", "right")):
        return False
    left, middle, right = node.children
    sign = _text(middle)
    if sign in ("&&", "||"):
        return double and _holds(left, double) and _holds(right, double)
    if sign in _COUNTING and double:  # here bash computes what stands on both sides
        return all(_NUMBER.fullmatch(_text(each)) for each in (left, right))
    known = sign in _BINARY | _COUNTING and (double or sign not in _REDIRECTS)
    return known and _is_operand(left, double) and _is_operand(right, double)


def _is_operand(node: Node, double: bool) -> bool:
    """Tells whether it is one word; in `[` more words could be another test, such as `-v`."""
    if double:
        return node.type in _LEAVES
    match node.type:
        case "word" | "number":
            return not set(_text(node)) & set("*?[{<>&|;()")
        case "raw_string":
            return True
        case "string":
            return not _MANY.search(_text(node))
        case "simple_expansion":
            return bool(_NUMBER.fullmatch(_text(node)))
        case _:
            return False


def _text(node: Node) -> str:
    return (node.text or b"").decode("ascii")
