"""Ambiguity: where bash could parse a line differently from the grammar."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from tree_sitter import Node

from assent.permissions.commands.builtins import is_local_variable
from assent.permissions.commands.read_only.spec import words_in

# Test expressions: whether `[ ... ]` or `[[ ... ]]` only compares texts and files.


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
    """Tells whether a test is one of the known kinds, whatever the values of its variables."""
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


# Double evaluation: whether bash could run the value of something in a line as code.
#
# `${x@P}`, `$((x))`, `${y[x]}` and `[[ x -eq 1 ]]` run the commands that a value contains. So only
# those kinds of parts pass that are known to be replaced once, and never evaluated again.


_VARIABLE: Final = rb"[A-Za-z_][A-Za-z0-9_]*"
_SUFFIX: Final = rb"(?:\[(?:[0-9]+|[@*])\])?"
_LITERAL: Final = rb"[A-Za-z0-9_./,:@%+ -]*"
_EXPANSION: Final = re.compile(
    rb"\$\{(?:#?" + _VARIABLE + _SUFFIX + rb"|[0-9@*#?$!-]|" + _VARIABLE + rb"(?::?[-+?]" + _LITERAL
    + rb"|(?:##?|%%?)[A-Za-z0-9_.*?/-]+|\^\^?|,,?|//?[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]*)?))\}"
)  # fmt: skip
_NUMBERS: Final = re.compile(rb"\$\(\([0-9 \t+*/%<>=!&|^~?:(),-]*\)\)")
_ASSIGNED: Final = re.compile(_VARIABLE + rb"(?:\[[0-9]+\])?")
_EXPANSION_SIGNS: Final = re.compile(rb"\$\(\(|\$\[|\$\{")
_QUIET: Final = frozenset({"raw_string", "ansi_c_string", "comment"})
_EXPANSIONS: Final = frozenset({"expansion", "arithmetic_expansion"})

# Every other kind of part is in doubt, also one that a later grammar brings.
_KINDS: Final = frozenset(
    {"program", "list", "pipeline", "command", "command_name", "word", "number", "string",
     "string_content", "concatenation", "simple_expansion", "variable_name",
     "special_variable_name", "command_substitution", "process_substitution",
     "redirected_statement", "file_redirect", "heredoc_redirect", "heredoc_start", "heredoc_body",
     "heredoc_content", "heredoc_end", "herestring_redirect", "file_descriptor", "subshell",
     "compound_statement", "negated_command", "if_statement", "elif_clause", "else_clause",
     "while_statement", "do_group", "case_statement", "case_item", "extglob_pattern",
     "brace_expression", "translated_string", "function_definition", "declaration_command",
     "unset_command", "unary_expression", "binary_expression", "parenthesized_expression",
     "test_operator", "regex", *_QUIET}
)  # fmt: skip


def may_evaluate_twice(root: Node, content: bytes) -> bool:
    """Tells whether a value in a line may be evaluated as code, so that it could hide a command."""
    told: set[int] = set()
    quiet: list[tuple[int, int]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not _is_replaced_once(node):
            return True
        if node.type in _EXPANSIONS:
            told.add(node.start_byte)
            continue
        if node.type in _QUIET or _is_quoted_heredoc(node):
            quiet.append((node.start_byte, node.end_byte))
        waiting += node.children
    open_signs = [at.start() for at in _EXPANSION_SIGNS.finditer(content) if at.start() not in told]
    return not all(any(start <= at < end for start, end in quiet) for at in open_signs)


def _is_replaced_once(node: Node) -> bool:
    if not node.is_named:
        return node.type not in ("((", "))")
    check = _CHECKS.get(node.type)
    return check(node) if check is not None else node.type in _KINDS


def _is_quoted_heredoc(node: Node) -> bool:
    """Tells whether it is text for a command's input in which the shell replaces nothing."""
    if node.type != "heredoc_body" or node.parent is None:
        return False
    starts = [child for child in node.parent.children if child.type == "heredoc_start"]
    return bool(starts) and (starts[0].text or b"")[:1] in (b"'", b'"', b"\\")


def _expands_once(node: Node) -> bool:
    return bool(_EXPANSION.fullmatch(node.text or b""))


def _has_only_numbers(node: Node) -> bool:
    return bool(_NUMBERS.fullmatch(node.text or b""))


def _assigns_plainly(node: Node) -> bool:
    name = node.child_by_field_name("name")
    return name is not None and bool(_ASSIGNED.fullmatch(name.text or b""))


def _has_no_subscript(node: Node) -> bool:
    return b"[" not in (node.text or b"")


def _has_numbered_subscript(node: Node) -> bool:
    return bool(_ASSIGNED.fullmatch(node.text or b""))


def _loops_plainly(node: Node) -> bool:
    name = node.child_by_field_name("variable")
    return name is not None and is_local_variable((name.text or b"").decode("ascii"))


_CHECKS: Final[dict[str, Callable[[Node], bool]]] = {
    "expansion": _expands_once,
    "arithmetic_expansion": _has_only_numbers,
    "variable_assignment": _assigns_plainly,
    "array": _has_no_subscript,
    "subscript": _has_numbered_subscript,
    "for_statement": _loops_plainly,
    "test_command": is_plain_test_expression,
}


# Line breaks: whether the lines of a text end for bash where the grammar has them end.
#
# Bash drops a backslash with the line break after it before it looks for `$(`, for the end of a
# heredoc, or for anything else; the grammar does not.


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
    """Tells whether an escaped line break could join what the grammar separates."""
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
    """Tells whether it is in single quotes, or in text in which the shell replaces nothing."""
    if node.type == "raw_string":
        return True
    while node.type in ("heredoc_body", "heredoc_content") and node.parent is not None:
        node = node.parent
    starts = [each for each in node.children if each.type == "heredoc_start"]
    inside = node.type == _HEREDOC and bool(starts)
    return inside and (starts[0].text or b"")[:1] in (b"'", b'"')


def has_clear_heredoc_end(node: Node, line: str) -> bool:
    """Tells whether a heredoc has one simple end that bash sees in the same place."""
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


# Word boundaries: whether a parsed line has its words where bash has them.
#
# The grammar takes an escaped space, and words that touch, for the end of a word; bash does not.
# So only whitespace may be between the parts of a tree, and between words there must be some.


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
