"""Counts that people and models read agree with their nouns: nothing says `1 files`."""

import ast
import re
from collections.abc import Iterator

from tests.house.source import modules

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
    ("agent/formatters.py", "command[0]"): "a command",
    ("cli/goal/command.py", "self._prefix"): "a command",
    ("cli/goal/result.py", "prefix"): "a command",
    ("cli/goal/result.py", "ending.prefix"): "a command",
    ("cli/goal/result.py", "len(ending.options)"): "there are two or three options, or none",
    ("config/config_file.py", "limit"): "a limit",
    ("executor/projection.py", "size"): "larger than the limit",
    ("llm/http_response.py", "self._limit"): "a limit",
    ("llm/wires/wire.py", "self._most.events"): "a limit",
    ("permissions/risk_rating.py", "request.resource"): "a command",
    ("planning/options.py", "len(options)"): "there are two or three options, or none",
    ("render/options.py", "len(found.reviews)"): "there are two or three options, or none",
    ("render/status.py", "len(rows)"): "there are two or three options, or none",
    ("sandbox/selftest/limit_tests.py", "started"): "more than the limit",
    ("sandbox/selftest/probes/request.py", "len(content)"): "a secret of the self-test",
    ("tools/edit_tools.py", "len(self._edits)"): "a single edit has an error of its own",
    ("tools/edit_tools.py", "typed_line(what)"): "a pattern",
    ("tools/find_tools.py", "len(paths)"): "more than the limit",
    ("tools/outcome.py", "lines"): "a mark, which is recognized by its words",
    ("tools/outcome.py", "size"): "larger than the limit",
    ("tools/outcome.py", "length"): "longer than the limit",
    ("tools/overlay.py", "limit"): "a limit",
    ("tools/overlay.py", "size"): "larger than the limit",
    ("tools/search_tools.py", "count"): "more than the limit",
    ("tools/search_tools.py", "len(found.hits)"): "a single one has words of its own",
    ("tui/prompt/editor.py", "len(text)"): "a long text",
    ("web/guard.py", "size"): "a limit",
    ("web/pages/page.py", "most"): "a limit",
    ("workspace/outside_files.py", "limit"): "a limit",
}


def counts(path: str, tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Yields what stands before a plural in an f-string, unless it is never one there.

    That is where the code has asked whether it is one, or more than a limit, and where
    `matches 3 plans` says why none is chosen. A name is quoted.
    """
    asked: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp):
            for inner in ast.walk(node):
                if isinstance(inner, ast.JoinedStr):
                    asked[inner] = f"{asked.get(inner, '')} and {ast.unparse(node.test)}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, value, after in zip(
            [None, *node.values], node.values, node.values[1:], strict=False
        ):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            text = ast.unparse(value.value)
            limits = rf"{re.escape(text)} ((==|!=|<=|>) 1\b|>=? MAX_)|(==|!=) 1\b"
            said = isinstance(before, ast.Constant) and str(before.value).endswith("matches ")
            fixed = re.fullmatch(r"[A-Z_.]+(\.\w+)?", text)
            never = said or fixed or value.conversion == ord("a")
            counts_many = never or re.search(limits, asked.get(node, ""))
            if COUNT.match(str(after.value)) and not counts_many:
                yield path, text, node.lineno


def test_every_count_agrees_with_its_noun() -> None:
    found = [each for path, tree in modules().items() for each in counts(path, tree)]
    unknown = [each for each in found if each[:2] not in KNOWN]
    assert unknown == [], "use `counted` of core/text, or say in KNOWN why it is never one"
    assert {each[:2] for each in found} == KNOWN.keys()
