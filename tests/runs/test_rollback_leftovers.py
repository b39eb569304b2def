"""That a content exists nowhere else is said only where it is true."""

from assent.core.plan.operation import FileState
from assent.runs.journal_summary import kept_slots_text
from assent.store.memory import MemoryBlobStore
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode

SLOTS = (b"stage/one", b"stage/other")


def words(files: dict[bytes, MemoryNode], *stored: bytes) -> list[str]:
    blobs = MemoryBlobStore()
    for content in stored:
        blobs.keep([content])
    return list(kept_slots_text(tuple(files) or SLOTS[:1], blobs, MemoryFileWriter(files)))


def test_the_only_copy_is_called_so() -> None:
    found = words({SLOTS[0]: MemoryNode(b"only")}, b"else")
    assert found == ["Kept, because no other copy exists: stage/one"]


def test_what_is_stored_too_is_only_left_behind() -> None:
    found = words({SLOTS[0]: MemoryNode(b"stored")}, b"stored")
    assert found == ["Kept, although its content is also stored elsewhere: stage/one"]


def test_two_slots_with_one_content_are_no_only_copies() -> None:
    found = words({slot: MemoryNode(b"twice") for slot in SLOTS})
    told = "Kept; another slot has the same content: "
    assert found == [f"{told}{slot.decode()}" for slot in SLOTS]


def test_of_what_cannot_be_read_nothing_is_claimed() -> None:
    assert words({}) == ["Kept, because its content is unknown: stage/one"]
    assert isinstance(MemoryNode(b"").state, FileState)
