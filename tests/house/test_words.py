"""What people read is plain English: phrases that developer tools do not use are found here."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.house.source import PACKAGE, ROOT, modules, nodes

# What not to write, and what to write instead.
PHRASES = {
    r"a (no|yes)": "a denial, an approval; or deny, allow",
    r"some(body|one else)": "another process, another user",
    r"nobody": "no one; or say what is missing",
    r"whoever": "the user, the caller",
    r"mend(s|ed|ing)?": "fix, repair",
    r"besides": "also, in addition to",
    r"tak(e|es|en|ing) (it |this |that )?back": "undo, roll back",
    r"(is|are|was|were) told": "notify, or say what is sent",
    r"giv(e|es|en|ing) up": "stop, fail, discard",
    r"(this|that|it|which) is no (?!longer|different|more)": "is not a",
    r"wants? to be": "needs",
    r"came to rest": "stopped, finished",
    r"told apart": "distinguish; could not be parsed",
    r"what is left": "the rest, remaining",
    r"lies in": "is in",
    r"the person (?!who)": "you; towards a model: the user",
}
NOT_PLAIN = re.compile(
    "|".join(rf"(?P<p{at}>\b{phrase}\b)" for at, phrase in enumerate(PHRASES)), re.IGNORECASE
)

DOCS = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    # Decisions and released changes are history.
    if "decisions" not in path.parts and path.name != "CHANGELOG.md"
)


def found(text: str) -> Iterator[str]:
    """Names every phrase in a text that is not plain, with what to write instead."""
    instead = list(PHRASES.values())
    for match in NOT_PLAIN.finditer(text):
        at = int((match.lastgroup or "p0")[1:])
        yield f"{match[0]!r} (instead: {instead[at]})"


def test_sentences_and_docstrings_are_plain() -> None:
    assert [
        f"{path}:{node.lineno}: {phrase}"
        for path, tree in modules().items()
        for node in nodes(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for phrase in found(node.value)
    ] == []


def test_texts_for_the_model_and_documents_are_plain() -> None:
    assert [
        f"{path.relative_to(ROOT)}:{number}: {phrase}"
        for path in (*DOCS, *PACKAGE.rglob("*.md"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for phrase in found(line)
    ] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "A blank answer is a no.",
        "Somebody else is at work here",
        "Nobody asks you anything.",
        "The model is told your answer",
        "give up what can be undone",
        "This is no file.",
        "takes back what this run did",
        "openai wants to be paid first",
        "It cannot be told apart",
    ],
)
def test_a_phrase_that_is_not_plain_is_found(sentence: str) -> None:
    assert list(found(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no such plan.",
        "Reject a plan and say why",
        "This is no longer valid.",
        "No pending questions",
        "Undo everything this run changed",
    ],
)
def test_plain_sentences_pass(sentence: str) -> None:
    assert not list(found(sentence))
