"""Front matter: the subset of YAML that is read, and what is refused instead of guessed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.properties import examples

from assent.core.errors import InvalidPlan
from assent.core.plan.plan import FrontMatter, front_matter

NOTHING = FrontMatter()
AB = FrontMatter(files=("a", "b"))
ALL = FrontMatter(("src/*", "docs/*"), ("make test", "git add"), ("go.mod",))


def fenced(*lines: str) -> bytes:
    return "\n".join(["---", *lines, "---", "", "# Text", "scope: {files: [text]}", ""]).encode()


GOOD: dict[str, tuple[bytes, FrontMatter]] = {
    "no front matter": (b"# Text\n", NOTHING),
    "no text": (b"", NOTHING),
    "a rule in the text": (b"# Text\n---\nscope: {files: [a]}\n---\n", NOTHING),
    "nothing in it": (fenced(), NOTHING),
    "flow": (
        fenced("scope: {files: [src/*, docs/*], commands: [make test, git add]}",
               "relies_on: [go.mod]"),
        ALL,
    ),
    "block": (
        fenced(
            "scope:", "  files:", "    - src/*", "    - docs/*", "  commands:", "    - make test",
            "    - git add", "relies_on:", "  - go.mod",
        ),
        ALL,
    ),
    "flow in block": (
        fenced("scope:", "  commands: [make test, git add]", "  files: [src/*,", "    docs/*]",
               "relies_on:", "- go.mod"),
        ALL,
    ),
    "flow over lines": (
        fenced("scope: {", "  files: [", "    src/*, docs/*,", "  ],",
               "  commands: [make test,git add] }", "relies_on: [", "  go.mod ]"),
        ALL,
    ),
    "tabs": (fenced("scope:", "\tfiles:", "\t- a", "\t- b"), AB),
    "blanks before the colon": (fenced("scope : {files : [a, b]}"), AB),
    "double quotes": (fenced('relies_on: ["a, b", "c # d", "[e]", "it\'s"]'),
                      FrontMatter(relies_on=("a, b", "c # d", "[e]", "it's"))),
    "single quotes": (fenced("relies_on: ['a, b', 'c # d', '{e}', 'say \"x\"']"),
                      FrontMatter(relies_on=("a, b", "c # d", "{e}", 'say "x"'))),
    "quotes in block": (fenced("relies_on:", "  - '# a'", '  - "- b"'),
                        FrontMatter(relies_on=("# a", "- b"))),
    "quotes have no escapes": (fenced(r'relies_on: ["a\n", "b\\"]'),
                               FrontMatter(relies_on=(r"a\n", r"b\\"))),
    "empty quotes": (fenced("relies_on: ['']"), FrontMatter(relies_on=("",))),
    "a star needs no quotes": (fenced("scope: {files: [*, **/*.py]}"),
                               FrontMatter(files=("*", "**/*.py"))),
    "comments": (
        fenced("# scope: {files: [no]}", "scope: # here", "  # and here", "  files: # a b",
               "    - a # first", "", "    - b", "relies_on: [] # none"),
        AB,
    ),
    "a number sign in a word": (fenced("relies_on: [a#b, c# d]"),
                                FrontMatter(relies_on=("a#b", "c# d"))),
    "a comment after quotes": (fenced("relies_on:", "# none", "  - 'a' # \"first\""),
                               FrontMatter(relies_on=("a",))),
    "empty lists": (fenced("scope: {files: [], commands: []}", "relies_on: [ ]"), NOTHING),
    "empty scope": (fenced("scope: {}", "relies_on:"), NOTHING),
    "keys without values": (fenced("scope:", "relies_on:"), NOTHING),
    "half a scope": (fenced("scope:", "  files:", "  commands: [a]"), FrontMatter(commands=("a",))),
    "crlf": (fenced("scope:", "  files:", "  - a", "  - b").replace(b"\n", b"\r\n"), AB),
    "bom": (b"\xef\xbb\xbf" + fenced("scope: {files: [a, b]}"), AB),
    "blanks after the fence": (b"---  \nscope: {files: [a, b]}\n--- \n", AB),
    "dots as the end": (b"---\nscope: {files: [a, b]}\n...\nrelies_on: [c]\n---\n", AB),
    "keys of other tools": (
        fenced(
            "title: A plan: with a colon", "tags: [scope, relies_on]", "tools:", "  scope:",
            "    files: [no]", "  - relies_on: [no]", "scope: {files: [a, b]}", "model: |",
            "  scope: text", "x: {scope: {files: [no]}", "mode: &anchor !tag 'x",
        ),
        AB,
    ),
    "not utf-8": (b"---\nrelies_on: [caf\xe9]\n---\n", FrontMatter(relies_on=("caf\\xe9",))),
    "unicode": (fenced("relies_on: [grüße/日本]"), FrontMatter(relies_on=("grüße/日本",))),
}  # fmt: skip

BAD: dict[str, tuple[bytes, str]] = {
    "never ends": (b"---\nscope: {files: [a]}\n# Text\n", "starts with --- but is not closed."),
    "ends the file": (b"---", "starts with --- but is not closed."),
    "scope twice": (fenced("scope: {}", "scope: {}"), "contains `scope` twice."),
    "relies_on twice": (
        fenced("relies_on: []", "a: b", "relies_on: []"),
        "contains `relies_on` twice.",
    ),
    "another tool's key twice": (fenced("a: b", "a: b"), "contains `a` twice."),
    "scope is a list": (fenced("scope: [a]"), "`scope` in the front matter must be {files:"),
    "scope is a word": (fenced("scope: all"), "`scope` in the front matter must be {files:"),
    "scope is a block list": (fenced("scope:", "  - a"), "`scope` in the front matter cannot be"),
    "scope is a flat list": (
        fenced("scope:", "- files: [a]"),
        "`scope` in the front matter cannot",
    ),
    "scope has another entry": (
        fenced("scope: {tools: [a]}"),
        "allows only files and commands, not: tools",
    ),
    "scope has a bare entry": (
        fenced("scope: {files}"),
        "allows only files and commands, not: files",
    ),
    "scope is open": (fenced("scope: {files: [a]"), "`scope` in the front matter must be {files:"),
    "block scope has another entry": (
        fenced("scope:", "  tools: [a]"),
        "cannot be parsed at: tools",
    ),
    "another entry after a list": (
        fenced("scope:", "  files:", "    - a", "  tools:", "    - b"),
        "`scope.files` in the front matter must be a list of `- item`: tools:",
    ),
    "another entry after a flow list": (
        fenced("scope:", "  files: [a]", "  tools: [b]"),
        "`scope.files` in the front matter closes a bracket that was never opened.",
    ),
    "two lists": (fenced("relies_on: [a] [b]"), "`relies_on` in the front matter closes a bracket"),
    "two scopes": (fenced("scope: {files: []} {files: []}"), "`scope` in the front matter closes"),
    "files twice in flow": (fenced("scope: {files: [a], files: [b]}"), "contains `files` twice."),
    "files twice in block": (
        fenced("scope:", "  files: []", "  files: []"),
        "contains `files` twice.",
    ),
    "scope in quotes": (fenced("'scope': {files: [a]}"), "write 'scope' without quotes."),
    "relies_on in quotes": (fenced('"relies_on" : [a]'), 'write "relies_on" without quotes.'),
    "an unindented entry": (fenced("scope:", "  files: [a]", "- b"), "cannot be parsed at: - b"),
    "files is a word": (
        fenced("scope: {files: a}"),
        "`scope.files` in the front matter must be a list: [a, b].",
    ),
    "commands is a word": (
        fenced("scope:", "  commands: make"),
        "`scope.commands` in the front matter must be a list",
    ),
    "relies_on is a word": (
        fenced("relies_on: go.mod"),
        "`relies_on` in the front matter must be a list",
    ),
    "relies_on is null": (fenced("relies_on: ~"), "`relies_on` in the front matter must be a list"),
    "relies_on is open": (
        fenced("relies_on: [a"),
        "`relies_on` in the front matter must be a list",
    ),
    "an open quote": (
        fenced("relies_on: ['a]"),
        "`relies_on` in the front matter has an unclosed quote",
    ),
    "an open bracket": (
        fenced("relies_on: [[a]"),
        "`relies_on` in the front matter has an unclosed",
    ),
    "a list in a list": (
        fenced("relies_on: [[a], b]"),
        "`relies_on` in the front matter has an item that needs quotes: [a]",
    ),
    "an anchor": (
        fenced("relies_on: [&a b]"),
        "`relies_on` in the front matter has an item that needs quotes: &a b",
    ),
    "a tag": (
        fenced("scope:", "  files:", "  - !x a"),
        "`scope.files` in the front matter has an item that needs quotes: !x a",
    ),
    "a block text": (
        fenced("relies_on:", "  - |"),
        "`relies_on` in the front matter has an item that needs quotes: |",
    ),
    "an item without a dash": (
        fenced("relies_on:", "  a"),
        "`relies_on` in the front matter must be a list of `- item`: a",
    ),
    "an item without a blank": (
        fenced("relies_on:", "  -a"),
        "`relies_on` in the front matter must be a list of `- item`: -a",
    ),
    "an empty item": (
        fenced("relies_on:", "  -"),
        "`relies_on` in the front matter must be a list of `- item`: -",
    ),
    "a doubled quote": (
        fenced("relies_on: ['it''s']"),
        "`relies_on` in the front matter has a badly quoted item: 'it''s'",
    ),
    "words after a quote": (
        fenced("relies_on:", "  - 'a' b"),
        "`relies_on` in the front matter has a badly quoted item: 'a' b",
    ),
    "an open quote in a block": (fenced("relies_on:", "  - 'ab"), "has a badly quoted item: 'ab"),
    "a lone quote": (
        fenced("relies_on:", "  - '"),
        "`relies_on` in the front matter has a badly quoted item: '",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), GOOD.values(), ids=GOOD)
def test_front_matter_is_read(text: bytes, wanted: FrontMatter) -> None:
    assert front_matter(text) == wanted


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_front_matter_that_cannot_be_read_is_an_error(text: bytes, message: str) -> None:
    with pytest.raises(InvalidPlan) as caught:
        front_matter(text)
    assert message in caught.value.message


# Text that is made of what front matter is made of finds more than text at random.
WORDS = st.sampled_from(
    ["---", "scope", "files", "commands", "relies_on", ":", ": ", "\n", "\n  ", "\n- ", "- ",
     "[", "]", "{", "}", ",", "'", '"', "#", " # ", "a", "*", "&", "\t", "\r\n", "\ufeff",
     "\x85", "\udcff"]
)  # fmt: skip


def told(text: bytes) -> str:
    """Reads a text and returns what the person is told; any other error than BadPlan passes."""
    try:
        return str(front_matter(text))
    except InvalidPlan as error:
        return error.message


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(WORDS, max_size=25), st.booleans())
def test_any_text_is_read_or_refused(words: list[str], ended: bool) -> None:
    body = "---\n" + "".join(words) + ("\n---\n" if ended else "")
    found = told(body.encode("utf-8", "surrogateescape"))
    assert found.startswith(
        ("FrontMatter(", "The front matter ", "In the front matter", "`scope", "`relies_on`")
    )


@settings(max_examples=examples(30), deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    assert "ront" in told(text)
    assert "ront" in told(b"---\n" + text + b"\n---\n")
