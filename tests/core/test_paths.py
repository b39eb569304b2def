"""Paths inside a workspace, and those that no plan may touch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.properties import examples

from assent.core.errors import Refused
from assent.core.paths import (
    ancestors,
    base_name,
    casefolded,
    display_path,
    folders_above,
    is_inside,
    normalize,
    one_line,
    parent,
    refuse_own_paths,
)

PLANS = b".opencode/plans"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (b"a/b", b"a/b"),
        (b"./a//b/.", b"a/b"),
        (b"a/../b", b"b"),
        (b"a/b/../../c/", b"c"),
        (b".", b""),
        (b"", b""),
        (b"...", b"..."),
        (b"a\nb/\xff", b"a\nb/\xff"),
    ],
)
def test_a_path_is_made_normal(path: bytes, wanted: bytes) -> None:
    assert normalize(path) == wanted


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (b"..", ".. is outside the workspace."),
        (b"a/../../b", "a/../../b is outside the workspace."),
        (b"/etc/passwd", "/etc/passwd is not a path inside the workspace."),
        (b"a\0b", "a\0b is not a path inside the workspace."),
    ],
)
def test_a_path_out_of_the_workspace_is_refused(path: bytes, message: str) -> None:
    with pytest.raises(Refused) as caught:
        normalize(path)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("path", "folder", "own_name", "above"),
    [
        (b"f", b"", b"f", []),
        (b"a/f", b"a", b"f", [b"a"]),
        (b"a/b/c/f", b"a/b/c", b"f", [b"a/b/c", b"a/b", b"a"]),
    ],
)
def test_a_path_has_a_parent_a_name_and_ancestors(
    path: bytes, folder: bytes, own_name: bytes, above: list[bytes]
) -> None:
    assert (parent(path), base_name(path), ancestors(path)) == (folder, own_name, above)


@pytest.mark.parametrize(
    ("path", "folder", "wanted"),
    [
        (b"a", b"a", True),
        (b"a/b", b"a", True),
        (b"ab", b"a", False),
        (b"a-b/c", b"a", False),
        (b"a", b"a/b", False),
        (b"a", b"", True),
    ],
)
def test_inside_compares_parts_and_not_letters(path: bytes, folder: bytes, wanted: bool) -> None:
    assert is_inside(path, folder) is wanted


_SLASHED = st.text("/ab", max_size=8).map(str.encode)


@settings(max_examples=examples(500))
@given(_SLASHED, _SLASHED)
def test_a_path_is_inside_its_ancestors_itself_and_nothing_else(path: bytes, folder: bytes) -> None:
    """The sandbox asks by a set of these what a program inside sees."""
    assert is_inside(path, folder) is (folder in {b"", path, *ancestors(path)})


@given(st.lists(_SLASHED, max_size=6))
def test_the_folders_above_many_paths_are_those_above_each(paths: list[bytes]) -> None:
    assert folders_above(paths) == {above for path in paths for above in ancestors(path)}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (b"Src/README", b"src/readme"),
        ("GRÜßE".encode(), "grüsse".encode()),
        (".g\u200cit".encode(), b".git"),
        (".G\ufeffI\u202eT\u206f".encode(), b".git"),
        (b"\xff/A\xc3", b"\xff/a\xc3"),
    ],
)
def test_paths_are_folded_as_a_careless_file_system_compares_them(
    path: bytes, wanted: bytes
) -> None:
    assert casefolded(path) == wanted


IGNORED = [0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]


def test_letters_that_a_file_system_may_ignore_are_ignored_and_no_others() -> None:
    every = [chr(code) for code in (*range(0x2000, 0x2080), 0xFEFE, 0xFEFF, 0xFF00)]
    dropped = [ord(char) for char in every if casefolded(f".g{char}it".encode()) == b".git"]
    assert dropped == IGNORED


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=12))
def test_folding_any_bytes_gives_bytes_and_folding_again_changes_nothing(path: bytes) -> None:
    assert casefolded(casefolded(path)) == casefolded(path)


def test_a_name_that_is_not_utf8_is_shown_with_escapes() -> None:
    assert display_path("ä/b".encode() + b"\xff\n") == "ä/b\\xff\n"


def test_in_generated_text_a_name_stays_on_one_line_and_hides_nothing() -> None:
    name = "ä b\n\u202e\x1b[0m".encode() + b"\xff"
    assert one_line(name) == "ä b\\n\\u202e\\x1b[0m\\xff"


GITS = (
    ".git", "a/.git/hooks/x", ".GIT/config", ".Git", ".g\u200cit/x", "sub/.gi\ufefft", ".git/",
    ".git. ./x", "a/.git ", "GIT~1/config",
)  # fmt: skip
OURS = (
    ".opencode/assent",
    ".opencode/assent/x",
    ".opencode/ASSENT/x",
    ".OpenCode/Assent/stage/r/0.new",
    ".open\u200dcode/assent/x",
)
AMONG_PLANS = PLANS.decode(), ".opencode/plans/s/PLAN_a.md", ".opencode/PLANS/s/x"
FOLDERS = "", ".opencode", ".OPENCODE"
REFUSED = [
    *[(path, "belongs to Git; plans cannot change it.", "") for path in GITS],
    *[(path, "belongs to Assent; plans cannot change it.", "") for path in OURS],
    *[
        (path, "is in the plan folder; operations cannot change it.", "assent plan write FILE")
        for path in AMONG_PLANS
    ],
    *[(path, "is a folder that plans cannot replace.", "") for path in FOLDERS],
]


@pytest.mark.parametrize(("path", "message", "way_on"), REFUSED)
def test_law_1_no_plan_touches_git_the_plans_or_our_own_state(
    path: str, message: str, way_on: str
) -> None:
    with pytest.raises(Refused) as caught:
        refuse_own_paths(path.encode(), PLANS)
    assert (caught.value.message, caught.value.next) == (f"{path or '.'} {message}", way_on)


def test_the_folder_of_plans_is_where_the_settings_put_it() -> None:
    refuse_own_paths(b".opencode/plans/x", b"docs/Plans")
    words = r"^docs/plans/x is in the plan folder; operations cannot change it\.$"
    with pytest.raises(Refused, match=words):
        refuse_own_paths(b"docs/plans/x", b"docs/Plans")


def test_a_state_folder_inside_the_workspace_is_ours_too() -> None:
    refuse_own_paths(b"home/state/x", PLANS)
    words = r"^home/State/x belongs to Assent; plans cannot change it\.$"
    with pytest.raises(Refused, match=words):
        refuse_own_paths(b"home/State/x", PLANS, (b"elsewhere", b"Home/state"))


@pytest.mark.parametrize("path", [".opencode/agents/plan.md", ".OPENCODE/.gitignore"])
def test_what_assent_writes_itself_is_no_target(path: str) -> None:
    with pytest.raises(Refused, match=r"^Only Assent writes .*; plans cannot change it\.$"):
        refuse_own_paths(path.encode(), PLANS)


@pytest.mark.parametrize(
    "path",
    [
        ".gitignore",
        ".github/workflows/ci.yml",
        "src/git",
        "a.git",
        ".gitx/y",
        ". git",
        "git~10/x",
        ".opencode/agents/other.md",
        ".opencode/assent.toml",
        ".opencode/plansx",
        "x/.opencode/assent/y",
        "assent",
    ],
)
def test_everything_else_may_be_touched(path: str) -> None:
    refuse_own_paths(path.encode(), PLANS)
