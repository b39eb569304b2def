"""Which `@` in a typed text names a file to attach, and which is only text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.session.mention import MAX_MENTIONS, mentioned_paths

FOUND = {
    "a word": ("see @a.py", ("a.py",)),
    "the end of a sentence": ("see @a.py.", ("a.py",)),
    "a folder": ("list @src/ now", ("src/",)),
    "brackets around it": ("(see @a.py)", ("a.py",)),
    "brackets in it": ("@app/(group)/page.tsx", ("app/(group)/page.tsx",)),
    "emphasis": ("*@a.py*", ("a.py",)),
    "a blank in it": ('compare @"my notes.txt", please', ("my notes.txt",)),
    "twice": ("@a and @b and @a", ("a", "b")),
    "a list without blanks": ("@a.py,@b.py", ("a.py", "b.py")),
    "far away": ("@/etc/passwd @~/.ssh/id_rsa @../x", ("/etc/passwd", "~/.ssh/id_rsa", "../x")),
    "hidden": ("@.env", (".env",)),
    "apostrophes": ("it's @a and don't @b", ("a", "b")),
    "other letters": ("@Übung/naïve.md", ("Übung/naïve.md",)),
    "after code": ("`x` @a", ("a",)),
}
LITERAL = {
    "an address": "write to me@example.org",
    "an address with a dot": "first.last@example.org",
    "quoted": 'say "@a.py" twice',
    "in a quotation": 'say "please ask @a.py first"',
    "in single quotes": "say '@a.py'",
    "code": "the decorator `@property`",
    "code with backticks in it": "``a `@x` b``",
    "a fence": "do this:\n```\n@a.py\n```\n",
    "a fence that never ends": "do this:\n```\n@a.py\n",
    "a URL": "https://example.org/@a.py",
    "two of them": "@@a.py",
    "alone": "@ a.py",
    "nothing but dots": "@.. and @.",
    "an option": "--user=x-@a",
}


@pytest.mark.parametrize(("text", "paths"), FOUND.values(), ids=FOUND)
def test_f138_a_path_after_at_is_found(text: str, paths: tuple[str, ...]) -> None:
    assert mentioned_paths(text) == paths


@pytest.mark.parametrize("text", LITERAL.values(), ids=LITERAL)
def test_f138_elsewhere_at_is_literal(text: str) -> None:
    assert mentioned_paths(text) == ()


@given(st.text(st.sampled_from("@a/.`\"' \n()~é"), max_size=60))
def test_f138_what_is_found_was_typed_after_at(text: str) -> None:
    found = mentioned_paths(text)
    assert all(path and (f"@{path}" in text or f'@"{path}"' in text) for path in found)
    assert len(set(found)) == len(found)


def test_f138_of_very_many_only_some_are_looked_at() -> None:
    assert len(mentioned_paths(" ".join(f"@f{n}" for n in range(5000)))) == MAX_MENTIONS
