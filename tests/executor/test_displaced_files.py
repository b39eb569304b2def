"""Spares: what a run displaced comes back as it was, or not at all; and room for it has an end."""

import os
import stat
import time
from collections.abc import Callable
from mmap import mmap
from pathlib import Path

import pytest
from tests.disks.possible import PRIVILEGE
from tests.executor.disk_doubles import (
    WatchedDisk,
    content_of,
    failing,
    file_state,
    link_state,
    put,
)

from assent.core.paths import STAGE
from assent.core.run.slot_move import SlotContent
from assent.executor.disk import Disk
from assent.executor.displaced_files import BLOCK, LocalDisplacedFiles
from assent.executor.file_writer import LocalFileWriter

OLD, NEW = b"the old content", b"the new content"
SLOT = STAGE + b"/first/0.new"
AGAIN = STAGE + b"/second/0.new"
PATH = b"file"
MB = 1 << 20


class Site:
    """A workspace where a run has replaced one file, and what it displaced is a spare."""

    def __init__(self, folder: Path, disk: Disk | None = None, limit: int = MB) -> None:
        self.root = folder / "work"
        self.home = folder / "spares"
        self.root.mkdir()
        self.disk = disk or Disk()
        self.spares = LocalDisplacedFiles(os.fsencode(self.home), limit, self.disk)
        self.hands = LocalFileWriter(os.fsencode(self.root), self.disk, spares=self.spares)
        put(self.root, PATH, NEW)
        self.displace("first")

    def displace(self, run: str, name: bytes = b"0.new", content: bytes = OLD) -> None:
        """Leaves a content in a slot of a run, and sets that aside."""
        slot = STAGE + b"/" + run.encode() + b"/" + name
        put(self.root, slot, content)
        self.aside = self.hands.keep_displaced(run, {slot: file_state(content)})

    def bring_back(self, like: bytes | None = PATH) -> bool:
        return self.hands.restore_displaced(SlotContent(0, AGAIN, file_state(OLD), like), SLOT)

    @property
    def left(self) -> list[str]:
        found = sorted(os.listdir(self.home)) if self.home.exists() else []
        return [name for name in found if not name.endswith(".list")]

    @property
    def spare(self) -> Path:
        return self.home / f"first+{BLOCK}" / "0.new"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_the_very_file_comes_back_and_counts_as_changed_just_now(site: Site) -> None:
    os.utime(site.spare, (1, 1))
    inode = site.spare.stat().st_ino
    assert site.aside
    assert not (site.root / os.fsdecode(STAGE) / "first").exists()
    assert site.bring_back()
    found = (site.root / os.fsdecode(AGAIN)).stat()
    assert content_of(site.root, AGAIN) == OLD
    assert found.st_ino == inode
    assert found.st_mtime > 1_000_000, "a build that goes by times would not notice"


def test_a_slot_that_leads_out_of_the_spares_is_none(site: Site) -> None:
    (site.home.parent / "0.new").write_bytes(OLD)
    fill = SlotContent(0, AGAIN, file_state(OLD), None)
    assert not site.hands.restore_displaced(fill, STAGE + b"/first/../../0.new")
    assert (site.home.parent / "0.new").read_bytes() == OLD


def test_only_the_person_may_look_at_spares(site: Site) -> None:
    assert stat.S_IMODE(site.home.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "change",
    [
        lambda spare: spare.write_bytes(b"somebody else's"),
        lambda spare: spare.write_bytes(OLD + b"."),
        lambda spare: spare.chmod(0o600),
        lambda spare: spare.unlink(),
        lambda spare: os.link(spare, spare.with_name("another name")),
        lambda spare: (spare.unlink(), spare.symlink_to("/etc/passwd")),
        lambda spare: (spare.unlink(), spare.mkdir()),
        lambda spare: (spare.unlink(), os.mkfifo(spare)),
        lambda spare: os.setxattr(spare, "user.mark", b"1"),
    ],
    ids=["other", "longer", "mode", "gone", "linked", "symlink", "folder", "pipe", "attribute"],
)
def test_what_is_not_what_it_was_stays_where_it_is(site: Site, change: object) -> None:
    assert callable(change)
    change(site.spare)
    assert not site.bring_back()
    assert not (site.root / os.fsdecode(AGAIN)).exists()


def test_attributes_that_the_person_gave_since_are_not_lost(site: Site) -> None:
    os.setxattr(site.root / "file", "user.mark", b"1")
    assert not site.bring_back()


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{PRIVILEGE} give files away: it takes root.")
def test_an_owner_that_was_given_since_is_not_lost(site: Site) -> None:
    os.chown(site.root / "file", 12, 34)
    assert not site.bring_back()
    os.chown(site.spare, 12, 34)
    assert site.bring_back()


def test_a_file_that_was_removed_comes_back_with_what_it_bore(site: Site) -> None:
    os.setxattr(site.spare, "user.mark", b"1")
    assert site.bring_back(like=None)
    assert os.getxattr(site.root / os.fsdecode(AGAIN), "user.mark") == b"1"


def test_a_large_one_is_read_to_its_end(tmp_path: Path) -> None:
    large = b"x" * (3 * MB)
    site = Site(tmp_path, limit=8 * MB)
    site.displace("first.2", content=large)
    slot = STAGE + b"/first.2/0.new"
    other = SlotContent(0, AGAIN, file_state(large[:-1] + b"y"), PATH)
    assert not site.hands.restore_displaced(other, slot)
    assert site.hands.restore_displaced(SlotContent(0, AGAIN, file_state(large), PATH), slot)


@pytest.mark.parametrize("call", ["rename_noreplace", "open", "touch", "read", "lstat"])
def test_an_error_on_the_way_is_no_spare(tmp_path: Path, call: str) -> None:
    Site(tmp_path)
    disk = failing(call, 5)
    spares = LocalDisplacedFiles(os.fsencode(tmp_path / "spares"), MB, disk)
    at = os.open(tmp_path, os.O_RDONLY)
    assert not spares.give(SLOT, SlotContent(0, AGAIN, file_state(OLD), None), None, at)
    assert not spares.take("first", {SLOT: file_state(OLD)}, at)
    os.close(at)


def test_more_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    site = Site(tmp_path, limit=BLOCK - 1)
    assert not site.aside
    assert site.left == []
    assert content_of(site.root, SLOT) == OLD


def test_what_was_set_aside_before_a_crash_keeps_its_list(site: Site) -> None:
    assert not site.hands.keep_displaced("first", {SLOT: file_state(OLD)})
    assert site.spares.drop(["first"]) == []
    assert os.listdir(site.home) == []


def test_the_oldest_go_first(site: Site) -> None:
    for run in ("second", "third", "third.2"):
        site.displace(run)
    assert site.spares.trim(2 * BLOCK) == []
    assert site.left == [f"third+{BLOCK}", f"third.2+{BLOCK}"]
    site.spares.trim(0)
    assert os.listdir(site.home) == [], "nor are there lists any more"


def test_a_run_that_would_be_too_much_makes_room_for_itself(tmp_path: Path) -> None:
    site = Site(tmp_path, limit=BLOCK)
    for run in ("second", "third"):
        site.displace(run)
    assert site.left == [f"second+{BLOCK}", f"third+{BLOCK}"], "twice the limit"


def test_late_work_that_makes_room_is_named_by_the_next_trim(tmp_path: Path) -> None:
    site = Site(tmp_path, limit=BLOCK)
    site.spare.with_name("late").write_bytes(b"mine")
    for run in ("second", "third"):
        site.displace(run)
    assert site.spares.trim(MB) == [str(site.home / "first.late")]
    assert site.spares.trim(MB) == []


def test_what_a_run_left_goes_with_all_its_segments(site: Site) -> None:
    site.displace("first.2")
    site.displace("firsts")
    site.displace("second", name=b"0.whole/deep/down/file")
    assert site.spares.drop(["first"]) == []
    assert site.left == [f"firsts+{BLOCK}", f"second+{BLOCK}"]
    site.spares.drop(["second"])
    assert site.left == [f"firsts+{BLOCK}"]
    assert not site.bring_back(), "it is gone, which is no error"


def test_what_somebody_wrote_to_a_displaced_file_is_never_removed(site: Site) -> None:
    with site.spare.open("ab") as held:
        held.write(b"a late line")
    (late,) = site.spares.drop(["first"])
    assert (Path(late) / "0.new").read_bytes() == OLD + b"a late line"
    site.spares.trim(0)
    assert Path(late).exists()


def test_what_was_written_before_the_list_was_is_never_removed(site: Site) -> None:
    slot = STAGE + b"/second/0.new"
    put(site.root, slot, OLD + b"a line after it was displaced")
    site.hands.keep_displaced("second", {slot: file_state(OLD)})
    (late,) = site.spares.drop(["second"])
    assert (Path(late) / "0.new").read_bytes() == OLD + b"a line after it was displaced"


def test_what_is_written_through_a_memory_map_is_never_removed(site: Site) -> None:
    put(site.root, AGAIN, OLD)
    with (site.root / os.fsdecode(AGAIN)).open("r+b") as held, mmap(held.fileno(), 0) as shared:
        shared[0] = shared[0]  # from now on the system notices no change of the page
        site.hands.keep_displaced("second", {AGAIN: file_state(OLD)})
        shared[0:4] = b"mine"
        (late,) = site.spares.drop(["second"])
    assert (Path(late) / "0.new").read_bytes() == b"mine" + OLD[4:]


def test_late_work_is_known_as_such_after_an_undo_took_its_neighbour(site: Site) -> None:
    slots = [STAGE + b"/second/%d.new" % number for number in range(2)]
    for slot in slots:
        put(site.root, slot, OLD)
    site.hands.keep_displaced("second", dict.fromkeys(slots, file_state(OLD)))
    with (site.home / f"second+{2 * BLOCK}" / "0.new").open("ab") as held:
        held.write(b"a late line")
    fill = SlotContent(0, STAGE + b"/third/0.new", file_state(OLD), PATH)
    assert site.hands.restore_displaced(fill, slots[1])
    assert not site.hands.restore_displaced(fill, slots[0])
    (late,) = site.spares.drop(["second"])
    assert (Path(late) / "0.new").read_bytes() == OLD + b"a late line"


def came(folder: Path) -> None:
    (folder / "late").write_bytes(b"mine")
    os.utime(folder / "late", (1, 1))  # as `cp -p` does


def moved_in(folder: Path) -> None:
    elsewhere = folder.parent.parent.parent / "docs"
    elsewhere.mkdir()
    (elsewhere / "late").write_bytes(b"mine")
    elsewhere.rename(folder / "docs")


def linked(folder: Path) -> None:
    came(folder)
    os.link(folder / "late", folder / "again")
    os.utime(folder / "late", (1, 1))


def pointing(folder: Path) -> None:
    (folder / "late").symlink_to("/usr")


@pytest.mark.parametrize("work", [came, moved_in, linked, pointing])
def test_what_came_to_a_displaced_folder_is_never_removed(
    site: Site, work: Callable[[Path], None]
) -> None:
    site.displace("second", name=b"0.whole/sub/file")
    work(site.home / f"second+{BLOCK}" / "0.whole" / "sub")
    (late,) = site.spares.trim(0)
    assert Path(late).name == "second.late"
    assert "late" in [path.name for path in Path(late).rglob("*")]
    assert "file" not in [path.name for path in Path(late).rglob("*")]
    site.spares.trim(0)
    assert Path(late).exists()


def test_a_change_that_changes_no_content_is_no_late_work(site: Site) -> None:
    other = site.root / "other"
    os.link(site.spare, other)
    os.utime(site.spare)
    other.unlink()
    assert site.spares.drop(["first"]) == []
    assert os.listdir(site.home) == []


def test_links_to_folders_and_folders_that_are_read_only_go_as_well(site: Site) -> None:
    slots = {
        STAGE + b"/second/0.old": link_state(b"/usr"),
        STAGE + b"/second/0.whole/sub/file": file_state(OLD),
    }
    put(site.root, STAGE + b"/second/0.whole/sub/file", OLD)
    os.symlink(b"/usr", os.fsencode(site.root) + b"/" + STAGE + b"/second/0.old")
    (site.root / os.fsdecode(STAGE) / "second/0.whole/sub").chmod(0o555)
    assert site.hands.keep_displaced("second", slots)
    assert site.spares.drop(["second"]) == []
    assert site.left == [f"first+{BLOCK}"]


def test_without_its_list_nothing_of_a_folder_is_removed(site: Site) -> None:
    (site.home / "first.list").unlink()
    (late,) = site.spares.trim(0)
    assert (Path(late) / "0.new").read_bytes() == OLD


def test_a_symlink_on_the_way_to_a_spare_is_not_followed(site: Site) -> None:
    site.displace("second", name=b"0.whole/a/file")
    slot, inner = STAGE + b"/second/0.whole/a/file", site.home / f"second+{BLOCK}" / "0.whole"
    (inner / "a").rename(site.root / "outside")
    (inner / "a").symlink_to(site.root / "outside")
    assert not site.hands.restore_displaced(SlotContent(0, AGAIN, file_state(OLD), None), slot)
    assert (site.root / "outside" / "file").exists()


def test_a_folder_that_was_given_back_whole_leaves_nothing(site: Site) -> None:
    assert site.bring_back()
    site.displace("second")
    assert sorted(os.listdir(site.home)) == [f"second+{BLOCK}", "second.list"]


def test_so_it_does_where_the_undo_displaced_nothing_itself(site: Site) -> None:
    assert site.bring_back(like=None)
    site.spares.trim(MB)
    assert os.listdir(site.home) == []


def test_a_list_whose_folder_a_crash_kept_away_goes_after_a_while(site: Site) -> None:
    lone = site.home / "lost.list"
    for age, stays in ((0, True), (7200, False)):
        lone.write_bytes(b"")
        then = time.time() - age
        for one in (lone, site.home / "first.list"):
            os.utime(one, (then, then))
        assert site.spares.trim(MB) == []
        assert lone.exists() is stays
    assert (site.home / "first.list").exists()


def test_strangers_among_the_spares_are_left_alone(site: Site) -> None:
    (site.home / "notes.txt").write_bytes(b"mine")
    (site.home / "folder").mkdir()
    site.spares.trim(0)
    assert site.left == ["folder", "notes.txt"]


def test_two_file_systems_are_told_by_the_system_alone(tmp_path: Path) -> None:
    site = Site(tmp_path, failing("rename_noreplace", 18))
    assert not site.aside
    assert content_of(site.root, SLOT) == OLD


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    site = Site(tmp_path, WatchedDisk())
    before = len(os.listdir("/proc/self/fd"))
    site.bring_back()
    site.displace("second")
    site.spares.trim(0)
    site.hands.sync_to_disk()
    assert len(os.listdir("/proc/self/fd")) <= before + 3, "but for those kept for the next call"
    del site.hands, site.spares
    assert len(os.listdir("/proc/self/fd")) <= before
