"""The book of trust is written as a whole, for its owner alone, and never over a damaged one."""

import os
from pathlib import Path

import msgspec
import pytest

from assent.core.errors import Busy, StoreError
from assent.core.permission.trust import TrustedFile, TrustList
from assent.store.files import write_atomically
from assent.store.locks import FileLocks
from assent.store.trust_files import TrustListFile

ONE = TrustedFile(b"/a/\xff", ".opencode/assent.toml", "1" * 64, "now")
OTHER = TrustedFile(b"/b", "opencode.json", "2" * 64, "now")


def read(path: Path) -> TrustList:
    return msgspec.json.decode(path.read_bytes(), type=TrustList)


def test_what_is_given_is_there_until_it_is_revoked(tmp_path: Path) -> None:
    path = tmp_path / "state" / "trust.json"
    file = TrustListFile(path)
    file.give(ONE)
    file.give(OTHER)
    assert read(path) == TrustList((ONE, OTHER))
    changed = msgspec.structs.replace(ONE, content_hash="3" * 64)
    file.give(changed)
    assert read(path) == TrustList((OTHER, changed))
    file.revoke(ONE.root, ONE.path)
    assert read(path) == TrustList((OTHER,))


def test_only_its_owner_can_read_it_and_nothing_else_is_left(tmp_path: Path) -> None:
    TrustListFile(tmp_path / "trust.json").give(ONE)
    assert (tmp_path / "trust.json").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["locks", "trust.json"]


def test_revoking_what_is_not_there_writes_nothing(tmp_path: Path) -> None:
    TrustListFile(tmp_path / "trust.json").revoke(b"/a", "x")
    assert not (tmp_path / "trust.json").exists()


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_a_damaged_book_stays_and_the_next_step_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trust.json"
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        TrustListFile(path).give(ONE)
    assert "it is damaged; move it away" in caught.value.message
    assert str(path) in caught.value.next
    assert path.read_bytes() == content


def test_a_symlink_in_its_place_is_not_followed(tmp_path: Path) -> None:
    real, path = tmp_path / "real", tmp_path / "trust.json"
    real.write_bytes(b"{}")
    path.symlink_to(real)
    with pytest.raises(StoreError):
        TrustListFile(path).give(ONE)
    assert real.read_bytes() == b"{}"


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with FileLocks(tmp_path / "locks").hold("trust", "somebody"), pytest.raises(Busy):
        TrustListFile(tmp_path / "trust.json", patience=0).give(ONE)
    assert not (tmp_path / "trust.json").exists()


def test_a_whole_file_keeps_its_rights_or_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "config" / "a.toml"
    write_atomically(str(path), b"one", 0o644)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"one", 0o644)
    (tmp_path / "config" / "folder").mkdir()
    with pytest.raises(StoreError):
        write_atomically(str(tmp_path / "config" / "folder"), b"two")
    assert sorted(os.listdir(path.parent)) == ["a.toml", "folder"]
