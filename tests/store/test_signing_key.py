"""The key that signs approvals."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import VerifyKey
from tests.store.processes import child

from assent.core.errors import StoreError
from assent.store.signing_key import FileSigner

RACE = """
    import sys
    from assent.store.signing_key import FileSigner
    signer = FileSigner(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    print(signer.key())
"""


def test_signature_verifies_here_and_by_any_other_library(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path / "state" / "key")
    key, signature = signer.key(), signer.sign(b"payload")
    assert (len(key), len(signature)) == (64, 128)
    assert signer.verify(key, b"payload", signature)
    VerifyKey(bytes.fromhex(key)).verify(b"payload", bytes.fromhex(signature))


def test_key_stays_the_same(tmp_path: Path) -> None:
    first, second = FileSigner(tmp_path / "key"), FileSigner(tmp_path / "key")
    assert (first.key(), first.sign(b"payload")) == (second.key(), second.sign(b"payload"))
    assert FileSigner(tmp_path / "key").verify(first.key(), b"payload", first.sign(b"payload"))
    assert FileSigner(tmp_path / "other").key() != first.key()


def test_key_is_one_private_file(tmp_path: Path) -> None:
    FileSigner(tmp_path / "state" / "key").sign(b"payload")
    found = [(path.name, oct(path.stat().st_mode)) for path in (tmp_path / "state").iterdir()]
    assert found == [("key", "0o100600")]
    assert oct((tmp_path / "state").stat().st_mode) == "0o40700"
    assert (tmp_path / "state" / "key").stat().st_size == 32


def test_verifying_makes_no_key(tmp_path: Path) -> None:
    assert not FileSigner(tmp_path / "key").verify("00" * 32, b"payload", "00" * 64)
    assert list(tmp_path.iterdir()) == []


def test_key_of_another_machine_is_not_trusted(tmp_path: Path) -> None:
    ours, theirs = FileSigner(tmp_path / "ours"), FileSigner(tmp_path / "theirs")
    ours.sign(b"payload")
    key, signature = theirs.key(), theirs.sign(b"payload")
    assert theirs.verify(key, b"payload", signature)
    assert not ours.verify(key, b"payload", signature)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path / "key")
    key, signature = signer.key(), signer.sign(b"payload")
    assert not signer.verify(key, b"payloae", signature)
    assert not signer.verify(key, b"payload ", signature)
    raw = bytes.fromhex(signature)
    for place in range(64):
        wrong = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        assert not signer.verify(key, b"payload", wrong.hex())


def test_signature_has_one_spelling(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path / "key")
    key, signature = signer.key(), signer.sign(b"payload")
    assert signature != signature.upper()
    spellings = (signature.upper(), f" {signature}", f"{signature[:2]} {signature[2:]}")
    assert not any(signer.verify(key, b"payload", spelling) for spelling in spellings)
    assert not signer.verify(key.upper(), b"payload", signature)
    assert not signer.verify(key, b"", signature + b"payload".hex())


def test_garbage_never_verifies_and_never_raises(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path / "key")
    key = signer.key()

    @given(st.just(key) | st.text(), st.binary(), st.text() | st.binary().map(bytes.hex))
    def check(some: str, payload: bytes, signature: str) -> None:
        assert signer.verify(some, payload, signature) is False

    check()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644, 0o777])
def test_key_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a key"
    key, signature = FileSigner(path).key(), FileSigner(path).sign(b"payload")
    path.chmod(mode)
    with pytest.raises(StoreError) as caught:
        FileSigner(path).sign(b"payload")
    with pytest.raises(StoreError, match="is readable by other users"):
        FileSigner(path).verify(key, b"payload", signature)
    assert caught.value.next == f"chmod 600 '{path}'"
    subprocess.run(caught.value.next, shell=True, check=True)
    assert FileSigner(path).verify(key, b"payload", signature)


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33, b"x" * 64])
def test_key_of_a_wrong_size_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(StoreError, match=f"has {len(content)} bytes instead of 32") as caught:
        FileSigner(path).sign(b"payload")
    assert path.read_bytes() == content
    subprocess.run(caught.value.next, shell=True, check=True)
    FileSigner(path).sign(b"payload")
    assert (tmp_path / "key.damaged").read_bytes() == content


def test_symlink_or_pipe_in_place_of_the_key_is_refused(tmp_path: Path) -> None:
    FileSigner(tmp_path / "key").sign(b"payload")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "pipe"):
        with pytest.raises(StoreError, match=str(tmp_path / name)):
            FileSigner(tmp_path / name).sign(b"payload")


def test_processes_that_race_for_the_first_key_get_the_same(tmp_path: Path) -> None:
    path = tmp_path / "state" / "key"
    with ExitStack() as stack:
        racers = [stack.enter_context(child(RACE, path)) for _ in range(4)]
        assert [racer.hear() for racer in racers] == ["ready"] * 4
        for racer in racers:
            racer.say()
        keys = {racer.end().strip() for racer in racers}
    assert keys == {FileSigner(path).key()}
    assert [file.name for file in path.parent.iterdir()] == ["key"]
