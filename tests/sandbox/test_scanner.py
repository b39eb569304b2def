"""The scan finds every secret and every socket, trusts no clock, and reads a folder only once."""

import os
import socket
from pathlib import Path

import pytest

from assent.sandbox.profile.scanner import HiddenPathScanner

LATER = 1 << 62  # so late that every folder has long been left alone
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\n"


def test_secrets_are_found_at_any_depth(tmp_path: Path) -> None:
    _fill(tmp_path, "a/b/c/.env", "a/.ssh/config", "a/readme.md", ".env.example", "x/.aws/config")
    assert _below(tmp_path) == ["a/.ssh", "a/b/c/.env", "x/.aws/config"]


def test_what_one_can_talk_to_is_found_whatever_its_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "server.pem")
    with _listening(tmp_path / "socket"):
        assert _below(tmp_path) == ["pipe", "server.pem", "socket"]


@pytest.mark.parametrize("name", ["server.pem", "tls.key", "id_rsa_work", "keys.txt"])
def test_the_content_decides_where_the_name_does_not(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----\n", encoding="utf-8")
    assert _below(tmp_path) == []
    (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----\n" + KEY, encoding="utf-8")
    assert _below(tmp_path) == [name]


def test_settings_of_a_package_manager_are_hidden_only_with_a_login(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("@us:registry=https://example.org/\n", encoding="utf-8")
    (tmp_path / "pip.conf").write_text("index-url=https://me:pw@example.org/", encoding="utf-8")
    assert _below(tmp_path) == ["pip.conf"]
    (tmp_path / ".npmrc").write_text("//example.org/:_authToken=x\n", encoding="utf-8")
    assert _below(tmp_path) == [".npmrc", "pip.conf"]


def test_a_folder_with_a_files_name_is_an_ordinary_folder(tmp_path: Path) -> None:
    _fill(tmp_path, ".env/bin/python", ".env/prod.env")
    assert _below(tmp_path) == [".env/prod.env"]


def test_a_symlink_is_not_followed_to_a_folder(tmp_path: Path) -> None:
    _fill(tmp_path, "outside/.env", "inside/readme")
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "inside" / "loop").symlink_to(".")
    assert HiddenPathScanner().below(os.fsencode(tmp_path / "inside")) == []


def test_of_a_symlink_with_a_secrets_name_the_target_is_the_secret(tmp_path: Path) -> None:
    _fill(tmp_path, "settings", "keys/one", "venv/python", "plain.txt")
    (tmp_path / ".env").symlink_to("settings")
    (tmp_path / ".ssh").symlink_to("keys")
    (tmp_path / "prod.env").symlink_to("venv")  # a folder of programs, and no settings
    (tmp_path / "server.pem").symlink_to("plain.txt")  # no key in it
    (tmp_path / ".envrc").symlink_to("nowhere")
    assert _below(tmp_path) == ["keys", "settings"]


def test_a_skipped_folder_is_not_entered(tmp_path: Path) -> None:
    _fill(tmp_path, "a/.env", "b/.env")
    assert HiddenPathScanner().below(os.fsencode(tmp_path), [os.fsencode(tmp_path / "a")]) == [
        os.fsencode(tmp_path / "b/.env")
    ]


def test_a_folder_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    scanner = HiddenPathScanner()
    assert scanner.below(os.fsencode(tmp_path / "gone")) == []
    assert scanner.below(os.fsencode(tmp_path / "gone"), depth=0) == []


def test_one_level_means_one_level(tmp_path: Path) -> None:
    _fill(tmp_path, ".env", "below/.env")
    assert HiddenPathScanner().below(os.fsencode(tmp_path), depth=0) == [
        os.fsencode(tmp_path / ".env")
    ]


def test_a_settled_folder_is_read_once(tmp_path: Path) -> None:
    _fill(tmp_path, "a/.env", "b/c/readme")
    scanner = HiddenPathScanner(lambda: LATER)
    first = scanner.below(os.fsencode(tmp_path))
    assert (scanner.read, scanner.below(os.fsencode(tmp_path)), scanner.read) == (4, first, 4)


def test_a_folder_that_just_changed_is_read_again(tmp_path: Path) -> None:
    _fill(tmp_path, "a/.env")
    scanner = HiddenPathScanner(lambda: os.stat(tmp_path).st_mtime_ns)
    scanner.below(os.fsencode(tmp_path))
    scanner.below(os.fsencode(tmp_path))
    assert scanner.read == 4


def test_a_folder_from_the_future_is_not_trusted(tmp_path: Path) -> None:
    scanner = HiddenPathScanner(lambda: 0)
    scanner.below(os.fsencode(tmp_path), depth=0)
    scanner.below(os.fsencode(tmp_path), depth=0)
    assert scanner.read == 2


def test_a_secret_that_comes_later_is_found(tmp_path: Path) -> None:
    _fill(tmp_path, "a/readme", "b/readme")
    os.utime(tmp_path / "a", ns=(0, 0))
    scanner = HiddenPathScanner(lambda: LATER)
    assert scanner.below(os.fsencode(tmp_path)) == []
    _fill(tmp_path, "a/.env")
    assert scanner.below(os.fsencode(tmp_path)) == [os.fsencode(tmp_path / "a/.env")]
    assert scanner.read == 4  # three folders, then the one that changed


def test_a_key_written_into_a_known_file_is_found(tmp_path: Path) -> None:
    key = tmp_path / "server.key"
    key.write_text("nothing yet", encoding="utf-8")
    os.utime(key, ns=(0, 0))
    scanner = HiddenPathScanner(lambda: LATER)
    assert scanner.below(os.fsencode(tmp_path)) == []
    key.write_text(KEY, encoding="utf-8")
    assert scanner.below(os.fsencode(tmp_path)) == [os.fsencode(key)]


def test_a_folder_replaced_under_the_same_name_is_read_again(tmp_path: Path) -> None:
    _fill(tmp_path, "a/readme", "b/.env")
    scanner = HiddenPathScanner(lambda: LATER)
    scanner.below(os.fsencode(tmp_path / "a"))
    (tmp_path / "a").rename(tmp_path / "old")
    (tmp_path / "b").rename(tmp_path / "a")
    assert scanner.below(os.fsencode(tmp_path / "a")) == [os.fsencode(tmp_path / "a/.env")]


def _below(folder: Path) -> list[str]:
    found = HiddenPathScanner().below(os.fsencode(folder))
    return sorted(os.path.relpath(os.fsdecode(path), folder) for path in found)


def _fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content", encoding="utf-8")


def _listening(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    server.bind(f"/proc/self/fd/{folder}/{path.name}")  # a socket's address must be short
    os.close(folder)
    return server
