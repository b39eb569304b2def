"""Counts that people read agree with their nouns: nothing says `1 files`."""

import ast
import re
from collections.abc import Iterator

from tests.house.source import modules

FACES = ("cli/", "render/", "tui/", "web/")
NOUNS = (
    "answers", "bytes", "calls", "cells", "changes", "characters", "checks", "commands",
    "comments", "conflicts", "copies", "definitions", "edits", "entries", "events", "examples",
    "facts", "files", "findings", "folders", "hits", "images", "items", "keys", "lines", "logins",
    "matches", "messages", "operations", "options", "paths", "places", "plans", "processes",
    "questions", "rules", "runs", "servers", "sessions", "skills", "steps", "symlinks", "todos",
    "tools", "turns", "warnings", "workspaces",
)  # fmt: skip
COUNT = re.compile(rf"^ (?:more )?({'|'.join(NOUNS)})\b")
# What is never one, or is no number, by module and value; each with the reason.
KNOWN = {
    ("cli/goal/command.py", "self._prefix"): "a command",
    ("cli/goal/result.py", "prefix"): "a command",
    ("cli/goal/result.py", "ending.prefix"): "a command",
    ("cli/goal/result.py", "len(ending.options)"): "there are two or three options, or none",
    ("render/options.py", "len(found.reviews)"): "there are two or three options, or none",
    ("render/status.py", "len(rows)"): "there are two or three options, or none",
    ("render/log.py", "len(calls)"): "a single call has no heading",
    ("web/access.py", "reference"): "a verb: it matches",
    ("web/api/operations.py", "state.size"): "larger than the limit",
    ("web/guard.py", "size"): "a limit",
    ("web/pages/page.py", "most"): "a limit",
}


def counts(path: str, tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Yields what stands before a plural in an f-string, unless one has its own words there."""
    alone = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.IfExp) and re.search(r"(==|!=|>|<=) 1\b", ast.unparse(node.test))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr) or node in alone:
            continue
        for value, after in zip(node.values, node.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            text = ast.unparse(value.value)
            if COUNT.match(str(after.value)) and not re.fullmatch(r"[A-Z_.]+(\.\w+)?", text):
                yield path, text, node.lineno


def test_every_count_agrees_with_its_noun() -> None:
    found = [
        each
        for path, tree in modules().items()
        if path.startswith(FACES)
        for each in counts(path, tree)
    ]
    unknown = [each for each in found if each[:2] not in KNOWN]
    assert unknown == [], "use `counted` of render/lines.py, or say in KNOWN why it is never one"
    assert {each[:2] for each in found} == KNOWN.keys()
