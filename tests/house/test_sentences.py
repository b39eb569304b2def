"""One test file holds a sentence: what the program says is asserted in words in one place only.

Others assert a code, a field or a state, or compare with what makes the sentence. So a change of
wording touches one test file (decision 0053).
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.house.source import PACKAGE, ROOT, Modules, modules, nodes, parsed_test

WORDS = 5  # in a row are taken for a sentence; fewer are a name, a label or a coincidence
WORD = re.compile(r"[a-z]+(['/-][a-z]+)*")
AROUND = "`*_.,:;!?()[]{}\"'…—·|^$\\"
INSTEAD = """\
Keep these words in the test nearest to where they are made. In the others assert the error's code,
a field of --json or a state, or compare with the constant or function that makes the sentence."""


def test_a_sentence_is_asserted_in_one_test_file() -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    tests = {path: parsed_test(path) for path in (f.relative_to(ROOT).as_posix() for f in files)}
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.md")]
    assert asserted_twice(tests, modules(), texts) == {}, INSTEAD


def asserted_twice(tests: Modules, program: Modules, texts: Iterable[str]) -> dict[str, list[str]]:
    """Sentences of the program that several test files assert, with these files.

    What the program and its texts do not say in these words is not ours to reword: the output of
    other programs, and what a test itself puts in.
    """
    homes: dict[str, set[str]] = defaultdict(set)
    asserted = {path: [_words(text) for text in _asserted(tree)] for path, tree in tests.items()}
    for path, sentences in asserted.items():
        for words in sentences:
            for run in _runs(words):
                homes[run].add(path)
    repeated = {run for run, files in homes.items() if len(files) > 1}
    spoken = [text for tree in program.values() for node in nodes(tree) for text in _texts(node)]
    said = {run for text in (*spoken, *texts) for run in repeated.intersection(_runs(_words(text)))}
    return {
        sentence: sorted(set.union(*(homes[run] for run in _runs(sentence.split()))))
        for sentences in asserted.values()
        for words in sentences
        for sentence in _stretches(words, said)
    }


def _asserted(tree: ast.Module) -> Iterator[str]:
    """Yields the texts in assertions, in patterns that errors must match, and in their constants.

    A constant of the file counts if an assertion names it.
    """
    parts: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=part) | ast.keyword("match", part):
                parts.append(part)
            case _:
                pass
    named = {name for part in parts for name in _names(part)}
    constants = [node for node in tree.body if isinstance(node, ast.Assign)]
    parts += [
        each.value for each in constants if any(named & set(_names(to)) for to in each.targets)
    ]
    for part in parts:
        yield from _texts_in(part)


def _names(part: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(part) if isinstance(node, ast.Name)]


def _texts_in(node: ast.AST) -> Iterator[str]:
    yield from _texts(node)
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from _texts_in(child)


def _texts(node: ast.AST) -> Iterator[str]:
    """Yields the text of a string or of bytes, if long enough; an f-string without its values."""
    match node:
        case ast.JoinedStr(parts):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "0" for part in parts
            )
        case ast.Constant(str(text)):
            pass
        case ast.Constant(bytes(data)):
            text = data.decode(errors="replace")
        case _:
            return
    if text.count(" ") + text.count("\n") >= WORDS - 1:
        yield text


def _words(text: str) -> list[str]:
    """Returns the words of a text, without numbers, paths and other facts between them."""
    bare = [word.strip(AROUND).lower() for word in text.split()]
    return [word for word in bare if WORD.fullmatch(word)]


def _runs(words: list[str]) -> list[str]:
    return [" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)]


def _stretches(words: list[str], shared: set[str]) -> Iterator[str]:
    """Yields the longest parts of a sentence of which every run of words is shared."""
    start = None
    for at, run in enumerate([*_runs(words), ""]):
        if run in shared:
            start = at if start is None else start
        elif start is not None:
            yield " ".join(words[start : at + WORDS - 1])
            start = None


def test_a_sentence_that_two_files_assert_is_found() -> None:
    program = {"core/a.py": ast.parse("f'The moon sets at hour {n}, but it had {more}: late.'")}
    texts = ["No boat can be moored\nhere: row on."]
    one = "assert broken == 'The moon sets at hour 5, but it had 6: late.'"
    other = "assert f'The moon sets at hour {5}, but it had'.encode() in out"
    pattern = "with raises(Refused, match='no boat can be moored here'): pass"
    told = "assert b'No boat can be moored here: cat: No such file or directory' in told"
    constant = "LATE = f'At {noon} the moon sets at hour'\nassert row['message'] == LATE"
    tests = {"one": one, "other": other, "pattern": pattern, "told": told, "constant": constant}
    trees = {path: ast.parse(code) for path, code in tests.items()}
    assert asserted_twice(trees, program, texts) == {
        "the moon sets at hour": ["constant", "one", "other"],
        "the moon sets at hour but it had": ["constant", "one", "other"],
        "no boat can be moored here": ["pattern", "told"],
    }


def test_what_the_program_does_not_say_may_be_asserted_anywhere() -> None:
    code = "assert 'cat: No such file or directory (os error)' in told"
    trees = {"one": ast.parse(code), "other": ast.parse(code)}
    program = {"core/a.py": ast.parse("'No such file or plan'")}
    assert asserted_twice(trees, program, []) == {}
