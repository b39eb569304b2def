"""Words of a parsed line: what each says without its quotes, and whether that is all it says."""

import re

from tree_sitter import Node

from assent.permissions.commands.simple_command import CommandWord, is_wild

_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_IN_QUOTES = re.compile(r'\\([\\"$`]|\n)')
_ANSI = re.compile(r"\$'([^'\\]*)'")
_EXPANDS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"}
)


def bytes_of(text: str) -> bytes:
    """Returns a line for the grammar, with one byte for each character.

    The grammar's scanner reads outside its tables, and may crash, for a character that is not in
    ASCII. A dot is as much a part of a word as any of them, and of no name of a variable.
    """
    return "".join(char if char.isascii() else "." for char in text).encode("ascii")


def text_of(node: Node, line: str) -> str:
    """Returns a part of the line as it was written."""
    return line[node.start_byte : node.end_byte]


def word_of(node: Node, line: str) -> CommandWord:
    """Reads one word; what only the shell can know stays as it was written."""
    written = text_of(node, line)
    match node.type:
        case "word" | "number" | "variable_name" | "special_variable_name":
            return _bare(written)
        case "raw_string":
            return CommandWord(written[1:-1])
        case "string":
            return _quoted(node, written)
        case "ansi_c_string":
            plain = _ANSI.fullmatch(written)
            return CommandWord(plain[1]) if plain else CommandWord(written, plain=False)
        case "concatenation" | "command_name":
            parts = [word_of(child, line) for child in node.children]
            whole = "".join(text_of(child, line) for child in node.children) == written
            return _joined(parts, written, whole=whole)
        case _:
            return CommandWord(written, plain=not node.is_named and not _changes(written))


def _bare(written: str) -> CommandWord:
    bare = _ESCAPED.sub("", written)
    return CommandWord(_ESCAPED.sub(_kept, written), plain=not is_wild(bare) and not _changes(bare))


def _changes(bare: str) -> bool:
    """Tells whether the shell could put something else there."""
    return "$" in bare or "`" in bare


def _quoted(node: Node, written: str) -> CommandWord:
    if not written.startswith('"') or len(written) < len('""'):  # `$"..."`, which is translated
        return CommandWord(written, plain=False)
    plain = not any(child.type in _EXPANDS for child in node.children)
    return CommandWord(_IN_QUOTES.sub(_kept, written[1:-1]), plain)


def _joined(parts: list[CommandWord], written: str, *, whole: bool) -> CommandWord:
    braces = "{" in written and not all(part.plain for part in parts)
    text = "".join(part.text for part in parts)
    return CommandWord(text, plain=whole and not braces and all(part.plain for part in parts))


def _kept(found: re.Match[str]) -> str:
    """An escaped line break is nothing at all."""
    return "" if found[1] == "\n" else found[1]
