"""The syntax tree of a command line: every simple command in it, word by word."""

import re
from functools import cache

import tree_sitter_bash
from msgspec.structs import replace
from tree_sitter import Language, Node, Parser, Tree

from assent.core.shell.parser import MAX_COMMANDS
from assent.permissions.commands.ambiguity import (
    has_ambiguous_line_break,
    has_ambiguous_words,
    has_clear_heredoc_end,
    may_evaluate_twice,
)
from assent.permissions.commands.simple_command import (
    CommandWord,
    ParsedCommandLine,
    SimpleCommand,
    is_wild,
)

# Words of a parsed line: what each says without its quotes, and whether that is all it says.


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
    """Reads one word; what only the shell can expand stays as written."""
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


MAX_DEPTH = 100
ERROR = "its shell syntax could not be parsed"
AMBIGUOUS_WORDS = "its word boundaries are ambiguous"
HIDDEN = "it may contain a nested command that could not be parsed"
HEREDOC = "the end of a here-document is ambiguous"
FUNCTION = "it redefines a command name"
NESTED_TOO_DEEPLY = "it is nested too deeply"
AMBIGUOUS_LINE_BREAK = "an escaped line break may join separate words"
DYNAMIC_REDIRECT = "the target of a redirect is known only at run time"
DOUBLE_EVALUATION = "a value in it may be run as a command"
TOO_MANY_COMMANDS = f"it contains more than {MAX_COMMANDS} commands"

_SIGNS = re.compile(rb"\$\(|`|[<>]\(|\$\{[ \t\n|]")
_OPENS = frozenset(
    {"command_substitution", "process_substitution", "arithmetic_expansion", "expansion"}
)
_WRITING = frozenset({">", ">>", "&>", "&>>", ">|", "<>", ">&"})
_CLOSING = ("<&-", ">&-")
_MOVED = re.compile(rb"[ \t]*(?:-|[A-Za-z0-9_./][A-Za-z0-9_./-]*)(?=[ \t\n;&|<>()]|$)")
_LITERALS = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "translated_string",
     "concatenation", "simple_expansion", "expansion", "command_substitution",
     "process_substitution", "arithmetic_expansion", "brace_expression"}
)  # fmt: skip
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse_command_line(text: str) -> ParsedCommandLine:
    """Returns the commands of a line in the order of their text, and what is ambiguous."""
    content = bytes_of(text)
    tree = _parser().parse(content)
    walk = _SyntaxTreeWalk(text, content)
    walk.into(tree.root_node)
    doubts = [*walk.doubts]
    doubts += [ERROR] if tree.root_node.has_error else []
    doubts += [AMBIGUOUS_WORDS] if has_ambiguous_words(tree.root_node, content) else []
    doubts += [AMBIGUOUS_LINE_BREAK] if has_ambiguous_line_break(tree.root_node, content) else []
    doubts += [HIDDEN] if _hides(tree, content) else []
    doubts += [DOUBLE_EVALUATION] if may_evaluate_twice(tree.root_node, content) else []
    unique = tuple(dict.fromkeys(doubts))
    return ParsedCommandLine(
        tuple(walk.commands), tuple(walk.targets), unique, walk.nested, tuple(walk.inputs)
    )


def _hides(tree: Tree, content: bytes) -> bool:
    """Tells whether a sign that runs a command stands where the tree knows of none."""
    return not all(_known(tree, sign.start()) for sign in _SIGNS.finditer(content))


def _known(tree: Tree, at: int) -> bool:
    node = tree.root_node.descendant_for_byte_range(at, at + 1)
    while node is not None and node.start_byte == at and node.type not in _OPENS:
        if node.type == "raw_string" or node.parent is None:
            break
        node = node.parent
    if node is None or node.type == "raw_string" or _is_quoted_text(node):
        return node is not None
    if node.type == "`" and node.parent is not None:
        return node.parent.type in _OPENS
    return node.type in _OPENS


def _is_quoted_text(node: Node) -> bool:
    """Tells whether it is text for a command's input in which the shell replaces nothing."""
    while node.type in ("heredoc_body", "heredoc_content") and node.parent is not None:
        node = node.parent
    start = node.children[1] if node.type == "heredoc_redirect" else None
    return start is not None and (start.text or b"")[:1] in (b"'", b'"', b"\\")


class _SyntaxTreeWalk:
    """What was found so far."""

    def __init__(self, line: str, content: bytes) -> None:
        self._line = line
        self._content = content
        self.commands: list[SimpleCommand] = []
        self.targets: list[CommandWord] = []
        self.inputs: list[CommandWord] = []
        self.doubts: list[str] = []
        self.nested = False
        self._depth = 0

    def into(self, node: Node, fed: tuple[SimpleCommand, ...] = ()) -> tuple[SimpleCommand, ...]:
        """Finds the commands of a part, each given the output of `fed`, and returns them."""
        if self._depth > MAX_DEPTH or len(self.commands) > MAX_COMMANDS:
            self.doubts.append(NESTED_TOO_DEEPLY if self._depth > MAX_DEPTH else TOO_MANY_COMMANDS)
            return ()
        self._depth += 1
        before = len(self.commands)
        self._into(node, fed)
        self._depth -= 1
        return tuple(self.commands[before:])

    def _into(self, node: Node, fed: tuple[SimpleCommand, ...]) -> None:
        match node.type:
            case "command" | "declaration_command" | "unset_command" | "test_command":
                self._command(node, (), fed)
            case "redirected_statement":
                self._redirected(node, fed)
            case "pipeline":
                self._pipeline(node, fed)
            case "file_redirect" | "heredoc_redirect" | "herestring_redirect":
                self._redirect(node, fed)
            case _:
                self._note(node)
                for child in node.children:
                    self.into(child, fed)

    def _note(self, node: Node) -> None:
        match node.type:
            case "function_definition":
                self.doubts.append(FUNCTION)
            case "command_substitution" | "process_substitution":
                self.nested = True
            case "variable_assignment":
                self.commands.append(SimpleCommand((), (text_of(node, self._line),)))
            case _:
                pass

    def _pipeline(self, node: Node, fed: tuple[SimpleCommand, ...]) -> None:
        for child in node.children:
            fed = (*fed, *self.into(child, fed))

    def _redirected(self, node: Node, fed: tuple[SimpleCommand, ...]) -> None:
        body = node.child_by_field_name("body")
        rest = [child for child in node.children if child != body]
        if body is not None and body.type == "command":
            self._command(body, tuple(rest), fed)
            return
        before = len(self.commands)
        found = self.into(body, fed) if body is not None else ()
        if any(child.type in _REDIRECTS and _feeds(child) for child in rest):
            self.commands[before:] = [replace(each, given=True) for each in found]
        for child in rest:
            for word in self._redirect(child, (*fed, *found)):
                self.commands.append(SimpleCommand((word,), fed=fed))

    def _command(self, node: Node, after: tuple[Node, ...], fed: tuple[SimpleCommand, ...]) -> None:
        """Reads one command. A redirect in the grammar also swallows the words that follow it."""
        parts = [*node.children, *after]
        own = [part for part in node.children if part.type not in _REDIRECTS]
        sets = [part for part in own if part.type == "variable_assignment"]
        words = [word_of(part, self._line) for part in own if part not in sets]
        if node.type == "test_command":
            words = [
                CommandWord(words[0].text),
                *(CommandWord(w) for w in text_of(node, self._line).split()[1:]),
            ]
        given = tuple(s for part in own for s in self._within(part))
        at = len(self.commands)
        self.commands.append(SimpleCommand(()))
        for part in [part for part in parts if part.type in _REDIRECTS]:
            words += self._redirect(part, (*fed, *given, SimpleCommand(tuple(words))))
        feeds = any(part.type in _REDIRECTS and _feeds(part) for part in parts)
        names = tuple(text_of(part, self._line) for part in sets)
        if node.type in ("declaration_command", "unset_command"):
            words += [word_of(part, self._line) for part in sets]
        self.commands[at] = SimpleCommand(tuple(words), names, (*fed, *given), feeds)

    def _within(self, part: Node) -> tuple[SimpleCommand, ...]:
        """Finds the commands in a word, or in the value of a variable."""
        if part.type != "variable_assignment":
            return self.into(part)
        return tuple(each for child in part.children for each in self.into(child))

    def _redirect(self, node: Node, fed: tuple[SimpleCommand, ...]) -> list[CommandWord]:
        """Notes what a redirect writes, and returns the words that belong to the command."""
        match node.type:
            case "file_redirect":
                return self._file(node)
            case "heredoc_redirect":
                return self._heredoc(node, fed)
            case _:
                self.nested = bool(self.into_all(node)) or self.nested
                return []

    def _file(self, node: Node) -> list[CommandWord]:
        self.into_all(node)
        signs = [child for child in node.children if not child.is_named]
        sign = signs[0].type if signs else ""
        if "&" in sign[1:] and not self._moves_plainly(signs[0]):
            self.doubts.append(DYNAMIC_REDIRECT)
        places = [child for child in node.children if child.type in _LITERALS]
        if sign in _CLOSING or not places:
            return [word_of(place, self._line) for place in places]
        first = word_of(places[0], self._line)
        moved = sign == ">&" and (first.text.isdecimal() or first.text == "-")
        if sign in _WRITING and not moved:
            self.targets.append(first)
        if sign.startswith("<") and not first.text.isdecimal():
            self.inputs.append(first)
        return [word_of(place, self._line) for place in places[1:]]

    def _moves_plainly(self, sign: Node) -> bool:
        """Tells whether what follows `>&` is plain; bash looks for `$(` in it a second time."""
        at = sign.end_byte - sign.type.endswith("-")
        return _MOVED.match(self._content, at) is not None

    def _heredoc(self, node: Node, fed: tuple[SimpleCommand, ...]) -> list[CommandWord]:
        if not has_clear_heredoc_end(node, self._line):
            self.doubts.append(HEREDOC)
        words = [word_of(child, self._line) for child in node.children if child.type in _LITERALS]
        for child in node.children:
            if child.type in _REDIRECTS:
                words += self._redirect(child, fed)
            elif child.type != "heredoc_start":
                self.into(child, fed if child.type == "pipeline" else ())
        return words

    def into_all(self, node: Node) -> tuple[SimpleCommand, ...]:
        return tuple(each for child in node.children for each in self.into(child))


def _feeds(node: Node) -> bool:
    if node.type != "file_redirect":
        return True
    return any(child.type in ("<", "<&", "<>") for child in node.children)
