"""Double evaluation: whether bash could run the value of something in a line as code.

`${x@P}`, `$((x))`, `${y[x]}` and `[[ x -eq 1 ]]` run the commands that a value holds. So only kinds
of parts are let pass that are known to be replaced once, and never looked into again.
"""

import re
from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from assent.permissions.commands.test_expressions import is_plain_test_expression
from assent.permissions.commands.variables import is_local_variable

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
    """Tells whether a value in a line may be read as code, so that it could hide a command."""
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
