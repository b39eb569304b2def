"""The tree of files: every file once, in its folders, and sums that agree."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assent.core.plan.operation import FileState, WriteFile
from assent.render.file_tree import TreeFile, file_tree, file_tree_lines
from assent.render.lines import Line
from assent.render.review import OperationReview

NAMES = st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=4).map(b"/".join)


def file(path: bytes, number: int = 1, added: int = 1, removed: int = 0) -> TreeFile:
    return TreeFile(path, number, "write", added, removed)


def test_folders_stand_before_their_files_with_sums() -> None:
    files = [file(b"src/a/one.py", 1, 2, 1), file(b"src/b.py", 2, 3), file(b"README.md", 3)]
    assert [(row.depth, row.name, row.added, row.removed) for row in file_tree(files)] == [
        (0, "README.md", 1, 0),
        (0, "src/", 5, 1),
        (1, "a/", 2, 1),
        (2, "one.py", 2, 1),
        (1, "b.py", 3, 0),
    ]


def test_folders_with_one_folder_in_them_are_joined() -> None:
    files = [file(b"src/main/java/One.java"), file(b"src/main/java/Two.java", 2)]
    assert [(row.depth, row.name) for row in file_tree(files)] == [
        (0, "src/main/java/"),
        (1, "One.java"),
        (1, "Two.java"),
    ]


def test_files_that_are_not_shown_count_for_their_folders() -> None:
    files = [file(b"a/one.py", 3), file(b"a/b/two.py", 2), file(b"c/three.py", 1)]
    rows = file_tree(files, lambda each: each.number == 3)
    assert [(row.depth, row.name, row.added, row.files, row.first) for row in rows] == [
        (0, "a/", 2, 2, 2),
        (1, "b/", 1, 1, 2),
        (1, "one.py", 1, 0, 0),
        (0, "c/", 1, 1, 1),
    ]


def test_a_hidden_character_in_a_name_is_visible() -> None:
    assert file_tree([file("a\u200b".encode())])[0].name == "a<U+200B>"


@given(st.lists(NAMES, max_size=12))
def test_every_file_is_there_once_and_its_folders_make_up_its_path(paths: list[bytes]) -> None:
    rows = file_tree(file(path, number) for number, path in enumerate(paths, 1))
    above: list[str] = []
    found = []
    for row in rows:
        above[row.depth :] = [row.name]
        if row.file is not None:
            assert "".join(above).encode() == row.file.path
            found.append(row.file.number)
    assert sorted(found) == [*range(1, len(paths) + 1)]
    tops = [row for row in rows if row.depth == 0]
    assert sum(row.added for row in tops) == len(paths)


def test_the_tree_is_shown_with_counts_and_the_numbers_of_operations() -> None:
    write = WriteFile(b"src/a.py", None, FileState("b" * 64, 4, 0o644))
    diff = "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n"
    first = OperationReview("a" * 64, write, "reversible", diff=diff)
    other = OperationReview("b" * 64, replace(write, path=b"src/b.bin"), "reversible", ("risk",))
    assert file_tree_lines([first]) == []
    assert file_tree_lines([first, other]) == [
        Line("heading", "Files: 2"),
        Line("dim", "  src/     +1 -1"),
        Line("plain", "    a.py   +1 -1       1. create"),
        Line("risk", "    b.bin  not text    2. create"),
    ]


def test_ten_thousand_files_are_no_matter() -> None:
    files = [file(b"a/b%d/c/d%d.py" % (n % 100, n), n) for n in range(10_000)]
    assert len(file_tree(files)) == 10_000 + 101


def test_a_very_deep_path_is_one_row_of_folders() -> None:
    assert len(file_tree([file(b"a/" * 2000 + b"b")])) == 2
