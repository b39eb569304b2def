"""The matcher of globs: what its dialects share, and each row of the table of differences."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.permission.sensitive_paths import (
    AGENT_FILES,
    EXECUTED_LATER,
    PROTECTED_PATHS,
    SECRET_FILES,
)
from assent.core.text.glob_pattern import (
    FNMATCH,
    PATH_TABLE,
    SHELL_NAME,
    WILDCARD,
    CharSet,
    GlobDialect,
    Wild,
    glob_matches,
    glob_tokens,
)

DIALECTS = {
    "shell": SHELL_NAME,
    "fnmatch": FNMATCH,
    "wildcard": WILDCARD,
    "path": PATH_TABLE,
}
ALL = "shell fnmatch wildcard path"

# A pattern, a text, and the dialects in which the one stands for the other.
MATCHES = [
    ("", "", ALL),
    ("", "a", ""),
    ("a", "A", ""),
    ("a.c", "abc", ""),
    ("*", "", ALL),
    ("?", "", ""),
    ("a*c", "a\nc", ALL),
    ("a?c", "a\nc", ALL),
    ("a", "a\n", ""),
    ("*a*b*c", "xaxbxcxc", ALL),
    ("*a*b*c", "xbxaxc", ""),
    ("a**c", "abc", ALL),
    ("a*c", "a/c", "shell fnmatch wildcard"),  # who globs as a shell does asks for one name alone
    ("a?c", "a/c", "shell fnmatch wildcard"),
    ("[ab]", "b", "shell fnmatch"),
    ("[ab]", "[ab]", "wildcard path"),
    ("[!a]", "b", "shell fnmatch"),
    ("[^a]", "b", "shell"),
    ("[^a]", "^", "shell fnmatch"),
    ("[^a]", "a", "fnmatch"),
    ("[a-c]", "b", "shell fnmatch"),
    ("[a-]", "-", "shell fnmatch"),
    ("[-a]", "-", "shell fnmatch"),
    ("[]a]", "]", "shell fnmatch"),
    ("[!]a]", "b", "shell fnmatch"),
    ("[c-a]", "b", ""),
    ("[!c-a]", "b", "shell fnmatch"),
    ("[c-ab]", "b", "shell fnmatch"),
    ("[b-a!c]", "!", "shell fnmatch"),  # only what comes first negates a set
    ("[b-a!c]", "x", ""),
    ("[", "[", ALL),
    ("[]", "[]", ALL),
    ("[!]", "[!]", ALL),
    ("[a", "[a", ALL),
    ("\\*", "*", "shell"),
    ("\\*", "\\x", "fnmatch wildcard path"),
    ("a\\", "a\\", ALL),
    ("[\\]]", "]", "shell"),
    ("[\\]]", "\\]", "fnmatch"),
    ("**/a", "a", ""),
    ("{a,b}", "a", ""),
]


@pytest.mark.parametrize(("pattern", "text", "where"), MATCHES)
def test_a_pattern_stands_for_a_text(pattern: str, text: str, where: str) -> None:
    found = [name for name, dialect in DIALECTS.items() if glob_matches(text, pattern, dialect)]
    assert found == where.split()


def test_a_pattern_has_tokens() -> None:
    marked = CharSet((("a", "c"), ("-", "-")), negated=True)
    assert [*glob_tokens("\\?x*[!a-c-]", SHELL_NAME)] == ["?", "x", Wild.RUN, marked]
    assert [*glob_tokens("\\?[a]", WILDCARD)] == ["\\", Wild.CHAR, "[a]"]


@given(st.text("ab[]!^*?\\/\n", max_size=9), st.text("ab[]!^\\/\n", max_size=6))
def test_the_library_s_fnmatch_agrees(pattern: str, text: str) -> None:
    assert glob_matches(text, pattern, FNMATCH) is fnmatchcase(text, pattern)


@given(st.text("abc-", min_size=1, max_size=6), st.sampled_from("abc-"))
def test_the_library_s_fnmatch_agrees_about_ranges(inner: str, char: str) -> None:
    for pattern in (f"[{inner}]", f"[!{inner}]"):
        assert glob_matches(char, pattern, FNMATCH) is fnmatchcase(char, pattern)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@given(pattern=st.text("ab/*?", max_size=8), text=st.text("ab/\n", max_size=8))
def test_wildcards_mean_what_the_definition_says(
    dialect: GlobDialect, pattern: str, text: str
) -> None:
    barred = "/" if dialect is PATH_TABLE else ""
    assert glob_matches(text, pattern, dialect) is _slow(pattern, text, barred)


def _slow(pattern: str, text: str, barred: str) -> bool:
    """Tries everything; `barred` is what no wildcard stands for."""
    if not pattern:
        return not text
    if pattern[0] == "*" and _slow(pattern[1:], text, barred):
        return True
    if not text or (pattern[0] in "*?" and text[0] in barred):
        return False
    if pattern[0] == "*":
        return _slow(pattern, text[1:], barred)
    return pattern[0] in ("?", text[0]) and _slow(pattern[1:], text[1:], barred)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_no_pattern_takes_long(dialect: GlobDialect) -> None:
    """Steps would grow as the 60th power of the length, if the search went back."""
    assert not glob_matches("a" * 255, "*a" * 60 + "*b", dialect)
    assert not glob_matches("a" * 255, "[" * 8000 + "*", dialect)
    assert not glob_matches("a" * 255, "[]" * 8000, dialect)


def test_tables_of_paths_have_no_wildcard_but_stars() -> None:
    rows = (*PROTECTED_PATHS, *EXECUTED_LATER, AGENT_FILES, *SECRET_FILES)
    assert [glob for row in rows for glob in row.globs if {*glob} & {*"?[]\\"}] == []
