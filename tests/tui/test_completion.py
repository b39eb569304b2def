"""Completion, history and pastes without a screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.tui.prompt.completion import (
    Completion,
    CompletionTarget,
    completed_text,
    completion_target,
    image_mention,
    input_kind,
    matching_commands,
    matching_files,
    matching_history,
    with_folders,
    with_symbols,
)
from assent.tui.prompt.editor import PastePlaceholders
from assent.tui.prompt.input import PromptHistory

FILES = ["README.md", "docs/parse.md", "src/app/parser.py", "src/parse.py", "tests/test_parse.py"]
TABLE = (Completion("/mode", "mode"), Completion("/model", "model"), Completion("/demo", "demo"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/mo", CompletionTarget("command", 0, "mo")),
        ("/", CompletionTarget("command", 0, "")),
        ("say /mo", None),
        ("/mode plan", None),
        ("see @", CompletionTarget("file", 4, "")),
        ("@src/a", CompletionTarget("file", 0, "src/a")),
        ("two\n@b", CompletionTarget("file", 4, "b")),
        ('@"my fi', CompletionTarget("file", 0, "my fi")),
        ("(@x", CompletionTarget("file", 1, "x")),
        ("mail a@b", None),
        ("@done now", None),
        ("", None),
    ],
)
def test_what_could_be_completed_at_the_cursor(
    text: str, expected: CompletionTarget | None
) -> None:
    assert completion_target(text, len(text)) == expected


def test_only_what_stands_before_the_cursor_counts() -> None:
    assert completion_target("@src and more", 4) == CompletionTarget("file", 0, "src")
    assert completion_target("@src and more", 13) is None


@pytest.mark.parametrize(
    ("piece", "choice", "expected"),
    [
        (CompletionTarget("command", 0, "mo"), "/mode", "/mode "),
        (CompletionTarget("file", 0, "a"), "src/a.py", "@src/a.py "),
        (CompletionTarget("file", 0, "a"), "my file", '@"my file" '),
        (CompletionTarget("history", 0, "a"), "said\nbefore", "said\nbefore"),
    ],
)
def test_what_stands_there_once_a_choice_is_taken(
    piece: CompletionTarget, choice: str, expected: str
) -> None:
    assert completed_text(piece, Completion(choice)) == expected


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("fix it", "said"),
        ("/mode plan", "slash"),
        ("/mode", "slash"),
        ("/etc/hosts is wrong", "said"),
        ("/ is the root", "said"),
        ("/2 of it", "said"),
        ("!ls", "shell"),
        (" !ls", "said"),
    ],
)
def test_what_a_prompt_is(text: str, sort: str) -> None:
    assert input_kind(text) == sort


def test_commands_that_begin_with_it_come_before_those_that_have_it() -> None:
    assert [choice.text for choice in matching_commands("mo", TABLE)] == [
        "/mode",
        "/model",
        "/demo",
    ]
    assert [choice.text for choice in matching_commands("MODEL", TABLE)] == ["/model"]
    assert [choice.text for choice in matching_commands("md", TABLE)] == ["/mode", "/model"]
    assert matching_commands("x", TABLE) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("parse", ["src/parse.py", "docs/parse.md", "src/app/parser.py", "tests/test_parse.py"]),
        ("src/p", ["src/parse.py", "src/app/parser.py"]),
        ("tp", ["tests/test_parse.py"]),
        ("PRSR", ["src/app/parser.py"]),
        ("read", ["README.md"]),
        ("zzz", []),
        ("", ["README.md", "docs/parse.md", "src/parse.py", "tests/test_parse.py"]),
    ],
)
def test_files_that_are_meant_come_first(query: str, expected: list[str]) -> None:
    found = [choice.text for choice in matching_files(query, FILES)]
    assert found[: len(expected)] == expected
    assert query == "" or len(found) == len(expected)


@given(
    st.text("abc/._]^-\\\n", max_size=6),
    st.lists(st.text("abcx/._]^-\\\n", min_size=1), max_size=20),
)
def test_a_file_is_offered_exactly_if_it_has_the_letters_in_their_order(
    query: str, names: list[str]
) -> None:
    def meant(name: str) -> bool:
        letters = iter(name)
        return all(letter in letters for letter in query)

    found = [choice.text for choice in matching_files(query, names, most=100)]
    assert sorted(found) == sorted(filter(meant, names))


def test_a_name_of_many_equal_letters_takes_no_longer() -> None:
    assert matching_files("a" * 30 + "b", ["a" * 4000] * 100) == []


def test_what_was_said_is_found_by_its_words_the_newest_first_and_once() -> None:
    said = ["fix the test", "add a\ntest", "other", "fix the test"]
    assert [c.text for c in matching_history("test", said)] == ["fix the test", "add a\ntest"]
    assert [c.shown for c in matching_history("ADD", said)] == ["add a test"]


def test_names_show_what_they_hide() -> None:
    assert Completion("a\u202eb").shown == "a<U+202E>b"


def test_history_keeps_what_was_changed_until_something_is_sent() -> None:
    recall = PromptHistory(["one", "two"])
    assert [recall.older("draft"), recall.older("two!"), recall.older("one?")] == [
        "two",
        "one",
        None,
    ]
    assert [recall.newer("one?"), recall.newer("two!")] == ["two!", "draft"]
    recall.add("sent")
    assert [recall.older(""), recall.older("sent"), recall.older("two")] == ["sent", "two", "one"]


def test_history_that_comes_late_stands_before_what_was_said_meanwhile() -> None:
    recall = PromptHistory()
    recall.add("now")
    recall.older("draft")
    recall.fill(["old", "older", "old", "", "now"])
    assert list(recall.entries) == ["older", "old", "now"]
    assert [recall.older("now"), recall.newer("old"), recall.newer("now")] == [
        "old",
        "now",
        "draft",
    ]


def test_saying_the_same_twice_is_remembered_once() -> None:
    recall = PromptHistory()
    recall.add("same")
    recall.add("same")
    recall.add("  ")
    assert list(recall.entries) == ["same"]


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("short", "short"),
        ("a\n" * 10, "a\n" * 10),
        ("a\n" * 11, "[pasted: 11 lines]"),
        ("x" * 1000, "x" * 1000),
        ("x" * 1001, "[pasted: 1,001 characters]"),
        ("x" * 600 + "\n" + "x" * 600, "[pasted: 2 lines]"),
    ],
)
def test_long_pastes_are_signs(text: str, sign: str) -> None:
    pastes = PastePlaceholders()
    assert pastes.take(text) == sign
    assert pastes.expanded(f"<{sign}>") == f"<{text}>"


def test_each_paste_has_its_own_sign_and_none_is_looked_for_in_another() -> None:
    pastes = PastePlaceholders()
    one, two = "a\n" * 20, "b\n" * 19 + "[pasted: 20 lines]\n"
    signs = [pastes.take(one), pastes.take(two), pastes.take(one)]
    assert signs == ["[pasted: 20 lines]", "[pasted: 20 lines, 2]", "[pasted: 20 lines]"]
    assert pastes.expanded(f"{signs[1]}|{signs[0]}") == f"{two}|{one}"


def test_a_sign_that_was_typed_stands_for_itself() -> None:
    pastes = PastePlaceholders()
    assert pastes.expanded("[pasted: 20 lines]") == "[pasted: 20 lines]"
    pastes.take("a\n" * 20)
    pastes.forget()
    assert pastes.expanded("[pasted: 20 lines]") == "[pasted: 20 lines]"


def test_folders_are_offered_with_the_files_in_them() -> None:
    assert with_folders(FILES) == [
        "README.md", "docs/", "docs/parse.md", "src/", "src/app/", "src/app/parser.py",
        "src/parse.py", "tests/", "tests/test_parse.py",
    ]  # fmt: skip
    assert with_folders(["a"]) == ["a"]


def test_definitions_stand_between_files_that_fit_and_files_that_nearly_do() -> None:
    files = [Completion("src/cart.py"), Completion("src/chart/parts.py")]
    symbols = [Completion("src/shop.py#Cart", label="Cart")]
    texts = [one.text for one in with_symbols("cart", files, symbols)]
    assert texts == ["src/cart.py", "src/shop.py#Cart", "src/chart/parts.py"]


def test_assents_own_files_are_offered_last() -> None:
    own, scattered = ".opencode/plans/cart.md", "src/chart/parts.py"
    names = [own, ".opencode/", "src/cart.py", scattered]
    assert [one.text for one in matching_files("", names)][-1] == own
    files = matching_files("cart", names)
    assert [one.text for one in files] == ["src/cart.py", scattered, own]
    symbols = [Completion("src/shop.py#Cart", label="Cart")]
    texts = [one.text for one in with_symbols("cart", files, symbols)]
    assert texts == ["src/cart.py", "src/shop.py#Cart", scattered, own]
    assert [one.text for one in matching_files("plans", names)] == [own]


@pytest.mark.parametrize(
    ("pasted", "mention"),
    [
        ("/tmp/a.png", "@/tmp/a.png "),
        ("'/tmp/my shot.PNG'\n", '@"/tmp/my shot.PNG" '),
        ("/tmp/my\\ shot.jpg ", '@"/tmp/my shot.jpg" '),
        ("file:///tmp/my%20shot.webp", '@"/tmp/my shot.webp" '),
        ("~/a.gif", "@~/a.gif "),
        ("a.png", ""),
        ("/tmp/a.txt", ""),
        ("/tmp/a.png /tmp/b.png", ""),
        ("see /tmp/a.png", ""),
        ("https://x.example/a.png", ""),
        ('/tmp/"odd".png', ""),
        ("", ""),
    ],
)
def test_a_pasted_path_of_an_image_becomes_a_mention(pasted: str, mention: str) -> None:
    assert image_mention(pasted) == mention
