"""A damaged log is never taken for a good one, and the message says how to go on."""

import shlex
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.logs import filled, note, text_of, texts

from assent.core.errors import StoreError
from assent.store.hash_chain import CHANGED
from assent.store.sqlite import SqliteEventStore

PAGE = 4096
OTHER_PAGES = 4  # heads and their index, the index of first events, SQLite's own counter


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[str]]:
    """The bytes of a closed log of several pages, and the texts in it."""
    path = tmp_path_factory.mktemp("sound") / "store.db"
    written = filled(path, 40, size=600)
    return path.read_bytes(), written


@pytest.fixture(scope="module")
def unsettled(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes, list[str]]:
    """The bytes of a log whose writer died: the database, its -wal, and the texts in them."""
    path = tmp_path_factory.mktemp("unsettled") / "store.db"
    copy = path.with_name("copy.db")
    with closing(SqliteEventStore(path)) as store:
        for n in range(12):
            store.append(note(f"text {n}", n))
        # Copied by another process: reading the file in this one would drop SQLite's locks.
        subprocess.run(["cp", path, copy], check=True)
        subprocess.run(["cp", f"{path}-wal", f"{copy}-wal"], check=True)
    return copy.read_bytes(), Path(f"{copy}-wal").read_bytes(), [f"text {n}" for n in range(12)]


def expect_refusal(path: Path) -> StoreError:
    """Checks that neither reading nor writing is possible and that no byte is changed."""
    before = path.read_bytes()
    with closing(SqliteEventStore(path)) as store:
        with pytest.raises(StoreError) as caught:
            store.read("a")
        with pytest.raises(StoreError):
            store.append(note("more", 40))
    assert path.read_bytes() == before
    return caught.value


def test_truncated_database_is_refused(tmp_path: Path, sound: tuple[bytes, list[str]]) -> None:
    content, _ = sound
    for size in [*range(0, len(content), PAGE), 1, 99, 100, 4095]:
        path = tmp_path / str(size) / "store.db"
        path.parent.mkdir()
        path.write_bytes(content[:size])
        error = expect_refusal(path)
        assert f"{path}: it is damaged or not an Assent log" in error.message
        assert error.message.endswith("Existing data is unchanged.")


def test_torn_last_page_is_refused(tmp_path: Path, sound: tuple[bytes, list[str]]) -> None:
    content, written = sound
    path = tmp_path / "store.db"
    path.write_bytes(content[:-40])
    with pytest.raises(StoreError, match="it is damaged"):
        texts(path)
    path.write_bytes(content[:-1])  # a byte of the chain, which tells no story
    assert texts(path) == written
    with closing(SqliteEventStore(path)) as store:
        assert CHANGED in store.verify().broken


def test_overwritten_database_is_refused(tmp_path: Path, sound: tuple[bytes, list[str]]) -> None:
    content, _ = sound
    path = tmp_path / "store.db"
    path.write_bytes(b"Dear diary, today I have overwritten a database. " * (len(content) // 49))
    error = expect_refusal(path)
    assert "file is not a database" in error.message


@pytest.mark.parametrize("rubbish", [b"\0", b"\xff", b"A"])
def test_damaged_page_is_refused_or_not_needed(
    tmp_path: Path, sound: tuple[bytes, list[str]], rubbish: bytes
) -> None:
    content, written = sound
    refused = 0
    for start in range(0, len(content), PAGE):
        path = tmp_path / str(start) / "store.db"
        path.parent.mkdir()
        path.write_bytes(content[:start] + rubbish * PAGE + content[start + PAGE :])
        try:
            assert texts(path) == written
        except StoreError:
            refused += 1
    assert refused == len(content) // PAGE - OTHER_PAGES


def test_what_the_message_says_to_type_works(
    tmp_path: Path, sound: tuple[bytes, list[str]]
) -> None:
    path = tmp_path / "the state" / "store.db"
    path.parent.mkdir()
    path.write_bytes(sound[0][:5000])
    error = expect_refusal(path)
    assert error.next == (
        f"mkdir {shlex.quote(str(path.parent))}/aside && "
        f"mv {shlex.quote(str(path))}* {shlex.quote(str(path.parent))}/aside/"
    )
    subprocess.run(error.next, shell=True, check=True)
    assert (path.parent / "aside" / "store.db").read_bytes() == sound[0][:5000]
    with closing(SqliteEventStore(path)) as store:
        store.append(note("anew", 0))
    assert texts(path) == ["anew"]


def test_truncated_wal_is_a_shorter_log(
    tmp_path: Path, unsettled: tuple[bytes, bytes, list[str]]
) -> None:
    database, wal, written = unsettled
    lengths = []
    for size in [*range(0, len(wal), 1031), len(wal) - 1, len(wal)]:
        path = tmp_path / str(size) / "store.db"
        path.parent.mkdir()
        path.write_bytes(database)
        Path(f"{path}-wal").write_bytes(wal[:size])
        lengths.append(expect_beginning(path, written))
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-2], lengths[-1]) == (0, 11, 12)


def test_damaged_wal_is_a_shorter_log(
    tmp_path: Path, unsettled: tuple[bytes, bytes, list[str]]
) -> None:
    database, wal, written = unsettled
    for place in range(5, len(wal), 4999):
        path = tmp_path / str(place) / "store.db"
        path.parent.mkdir()
        path.write_bytes(database)
        Path(f"{path}-wal").write_bytes(wal[:place] + bytes([wal[place] ^ 64]) + wal[place + 1 :])
        assert expect_beginning(path, written) < 12


def expect_beginning(path: Path, written: list[str]) -> int:
    """Checks that a log holds the beginning of what was written, and goes on; returns how much."""
    with closing(SqliteEventStore(path)) as store:
        found = [text_of(one) for one in store.read("a")]
        assert found == written[: len(found)]
        store.append(note("more", len(found)))
    assert texts(path) == [*found, "more"]
    return len(found)


def test_empty_database_does_not_cost_the_wal(
    tmp_path: Path, unsettled: tuple[bytes, bytes, list[str]]
) -> None:
    database, wal, written = unsettled
    path = tmp_path / "store.db"
    path.touch()
    Path(f"{path}-wal").write_bytes(wal)
    assert "it is empty" in expect_refusal(path).message
    assert Path(f"{path}-wal").read_bytes() == wal
    path.write_bytes(database)
    assert texts(path) == written


def test_folder_in_place_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.mkdir()
    with closing(SqliteEventStore(path)) as store:
        with pytest.raises(StoreError, match=str(path)):
            store.read("a")
        with pytest.raises(StoreError, match=str(path)):
            store.append(note("more", 0))
    shutil.rmtree(path)
