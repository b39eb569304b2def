"""What is read as a configuration file, and what is said about everything else."""

import os
import shlex
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from assent.config.config_file import LIMIT, ConfigFile, read_config
from assent.core.errors import UsageError

Make = Callable[[Path], object]


def refused(path: Path, *, follow: bool = True) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read_config(path, os.open, follow=follow)
    return caught.value


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert read_config(path, os.open, follow=False) == ConfigFile(path)


@pytest.mark.parametrize("follow", [True, False])
def test_a_plain_file_is_read_with_its_owner_and_mode(tmp_path: Path, follow: bool) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"[plan]\ndir = 'x'\n")
    path.chmod(0o640)
    text = path.read_bytes()
    expected = ConfigFile(path, {"plan": {"dir": "x"}}, os.geteuid(), 0o100640, text)
    assert read_config(path, os.open, follow=follow) == expected


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(os.mkfifo, "it is not a regular file", id="fifo"),
        pytest.param(Path.mkdir, "it is a folder", id="folder"),
        pytest.param(
            lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
            "it is not a regular file",
            id="socket",
            marks=pytest.mark.filterwarnings("ignore::ResourceWarning"),
        ),
    ],
)
def test_only_a_regular_file_is_read(tmp_path: Path, make: Make, why: str, follow: bool) -> None:
    path = tmp_path / "odd.toml"
    make(path)
    error = refused(path, follow=follow)
    assert error.message == f"{path} cannot be read: {why}. Nothing was changed."
    assert error.next == f"ls -ld {path}"


def test_a_device_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "zero.toml"
    path.symlink_to("/dev/zero")
    assert refused(path).message == (
        f"{path} cannot be read: it is not a regular file. Nothing was changed."
    )


def test_a_symlink_is_followed_only_where_it_may_be(tmp_path: Path) -> None:
    real, path = tmp_path / "real.toml", tmp_path / "link.toml"
    real.write_bytes(b"a = 1\n")
    path.symlink_to(real)
    assert read_config(path, os.open, follow=True).table == {"a": 1}
    assert refused(path, follow=False).message == (
        f"{path} cannot be read: it is a symlink, which is not followed here. Nothing was changed."
    )


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_bytes(b"a = 1\n".ljust(LIMIT, b"\n"))
    assert read_config(path, os.open, follow=False).table == {"a": 1}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"#" * (LIMIT + 1), f"it is longer than {LIMIT} bytes"),
        (b"a = 1\n\xff", "byte 6 is not UTF-8"),
        (b"a = ", "Invalid value (at end of document)"),
        (b"a = " + b"[" * 60_000, "it is nested too deeply"),
    ],
)
def test_what_cannot_be_understood_is_to_be_edited(
    tmp_path: Path, content: bytes, why: str
) -> None:
    path = tmp_path / "two words.toml"
    path.write_bytes(content)
    error = refused(path)
    assert error.message == f"{path} cannot be used: {why}. Nothing was changed."
    assert error.next == f"$EDITOR {shlex.quote(str(path))}"
