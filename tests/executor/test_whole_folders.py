"""Whole folders on a disk: when they may be moved, and that they look as if made in place."""

import os
from pathlib import Path

import pytest
from tests.executor.disk_doubles import file_state, put, tree

from assent.core.plan.operation import DeleteFile, FileOperation, WriteFile
from assent.core.run.slot_move import SlotContent, slot_contents, slot_moves
from assent.executor.file_writer import LocalFileWriter

NEW = file_state(b"new")
STAGE = b".opencode/assent/stage"
COMES: list[FileOperation] = [WriteFile(b"n/" + name, None, NEW) for name in (b"a", b"in/b")]
GOES: list[FileOperation] = [
    DeleteFile(b"o/a", file_state(b"old"), 1),
    DeleteFile(b"o/in/b", file_state(b"old"), 2),
]


@pytest.fixture
def hands(tmp_path: Path) -> LocalFileWriter:
    put(tmp_path, b"o/a", b"old")
    put(tmp_path, b"o/in/b", b"old")
    return LocalFileWriter(os.fsencode(tmp_path))


def test_new_and_emptied_folders_go_as_a_whole(hands: LocalFileWriter) -> None:
    assert hands.choose_layout("run", [*COMES, *GOES]).whole == (b"n", b"o")


def test_a_folder_with_more_in_it_does_not(tmp_path: Path, hands: LocalFileWriter) -> None:
    (tmp_path / "o" / "in" / "link").symlink_to("nowhere")
    assert hands.choose_layout("run", GOES).whole == ()


def test_where_a_folder_hands_its_group_down_files_come_one_by_one(
    tmp_path: Path, hands: LocalFileWriter
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s").chmod(0o2755)
    operations = [WriteFile(b"s/n/" + name, None, NEW) for name in (b"a", b"b")]
    assert hands.choose_layout("run", operations).whole == ()
    (tmp_path / "s").chmod(0o755)
    assert hands.choose_layout("run", operations).whole == (b"s/n",)


def test_where_the_stage_hands_its_group_down_files_come_one_by_one(
    tmp_path: Path, hands: LocalFileWriter
) -> None:
    (tmp_path / os.fsdecode(STAGE)).mkdir(parents=True)
    (tmp_path / os.fsdecode(STAGE)).chmod(0o2700)
    assert hands.choose_layout("run", [*COMES, *GOES]).whole == (b"o",)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_folder_that_came_is_as_one_that_was_made_there(
    tmp_path: Path, hands: LocalFileWriter, umask: int
) -> None:
    before = os.umask(umask)
    try:
        layout = hands.choose_layout("run", COMES)
        for fill in slot_contents(COMES, slot_moves(COMES, layout)):
            hands.write_slot(fill, [b"new"])
        (tmp_path / "like").mkdir()
    finally:
        os.umask(before)
    hands.rename_unless_taken(layout.whole_folder_slots[0], b"n")
    wanted = (tmp_path / "like").stat().st_mode
    assert [(tmp_path / name).stat().st_mode for name in ("n", "n/in")] == [wanted, wanted]
    assert hands.read_states([b"n/a", b"n/in/b"]) == {b"n/a": NEW, b"n/in/b": NEW}
    assert (tmp_path / os.fsdecode(layout.folder)).stat().st_mode & 0o777 == 0o700


def test_what_else_lies_below_is_told(tmp_path: Path, hands: LocalFileWriter) -> None:
    assert not hands.folder_holds_files(b"o", besides={b"o/a", b"o/in/b"})
    assert hands.folder_holds_files(b"o", besides={b"o/a"})


def test_very_many_files_are_removed_side_by_side(tmp_path: Path) -> None:
    hands = LocalFileWriter(os.fsencode(tmp_path))
    slots = [STAGE + b"/run/%d.new" % n for n in range(400)]
    beside = [b"f%d/.assent-run-%d.new" % (n % 70, n) for n in range(300)] + [b".assent-run-x.new"]
    for path in (*slots, *beside):
        if path.startswith(STAGE):
            hands.write_slot(SlotContent(0, path, file_state(b"x"), None), [b"x"])
        else:
            put(tmp_path, path, b"x")
    gone = slots[7]
    hands.delete_path(gone)
    (tmp_path / "kept").mkdir()
    left = hands.delete_paths([*slots, *beside, b"no/folder", b"kept"])
    assert sorted(left) == sorted([b"no/folder", gone, b"kept"])
    assert not [path for path, content in tree(tmp_path).items() if content is not None]
    assert (tmp_path / "kept").is_dir()


def test_few_files_are_left_to_be_removed_one_by_one(
    tmp_path: Path, hands: LocalFileWriter
) -> None:
    assert hands.delete_paths([b"o/a"]) == [b"o/a"]
    assert (tmp_path / "o" / "a").exists()
