"""Scratch folders: nobody else's, nothing outside reachable, and always gone."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from assent.core.errors import Refused
from assent.sandbox.temp_folder import temp_folder


def test_it_is_the_owners_alone_and_goes_away(tmp_path: Path) -> None:
    with temp_folder(tmp_path) as place:
        assert place.top.stat().st_mode & 0o777 == 0o700
        place.write("a/b/file", b"x")
        place.folder("closed").chmod(0)
        place.link("link", "/etc")
    assert list(tmp_path.iterdir()) == []
    assert os.path.isdir("/etc")


def test_it_goes_away_when_something_breaks(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), temp_folder(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/etc/out", "link/out", ".."])
def test_nothing_leads_out_of_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    with temp_folder(tmp_path) as place:
        place.folder("a")
        place.link("link", tmp_path / "elsewhere")
        for meddling in (
            lambda: place.write(name, b"x"),
            lambda: place.link(name, "x"),
            lambda: place.remove(name),
        ):
            with pytest.raises(Refused):
                meddling()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_every_change_is_seen(tmp_path: Path) -> None:
    with temp_folder(tmp_path) as place:
        file = place.write("file", b"one")
        other = place.write("other", b"one")
        place.link("link", "file")
        seen = [place.seen(), place.seen()]
        file.chmod(0o640)
        seen.append(place.seen())
        os.utime(file, (1, 1))
        seen.append(place.seen())
        file.write_bytes(b"two")
        seen.append(place.seen())
        os.link(other, place.at("third"))
        seen.append(place.seen())
        place.remove("link")
        seen.append(place.seen())
    assert seen[0] == seen[1]
    assert all(one != other for one, other in pairwise(seen[1:]))
