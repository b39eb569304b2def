"""read: lines with numbers, pictures, folders, the draft, and everything that is none of these."""

import os
from pathlib import Path

import pytest
from tests.tools.read_harness import Place

from assent.core.digest import sha256
from assent.core.errors import AssentError, NotFound, Refused
from assent.core.llm import ImagePart
from assent.tools.outcome import BYTES
from assent.tools.read import READ

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_f12_read_shows_the_text_alone_and_remembers_what_was_seen(place: Place) -> None:
    place.put("a.txt", "one\r\ntwo\n\nfour")
    outcome = place.call(READ, path="a.txt")
    assert outcome.text == "one\ntwo\n\nfour"
    seen = {"a.txt": sha256(b"one\r\ntwo\n\nfour")}
    assert outcome.metadata == {"seen": seen, "bytes": len(b"one\r\ntwo\n\nfour")}
    assert place.touched(READ, path="a.txt") == ["a.txt"]


def test_offset_and_limit_choose_lines_and_say_how_to_go_on(place: Place) -> None:
    place.put("a", "".join(f"line {n}\n" for n in range(1, 10)))
    text = place.call(READ, path="a", offset=3, limit=2).text
    assert text == "[a, lines 3-4 of 9]\nline 3\nline 4"
    assert place.call(READ, path="a", offset=8).text == "[a, lines 8-9 of 9]\nline 8\nline 9"
    with pytest.raises(NotFound, match="9 lines; line 10 is past"):
        place.call(READ, path="a", offset=10)


def test_f122_a_long_file_is_cut_at_2000_lines_and_50_kib(place: Place) -> None:
    place.put("many", "x\n" * 5000)
    lines = place.call(READ, path="many", lines="1-").text.split("\n")
    assert (len(lines), lines[0]) == (2002, "[many, lines 1-2000 of 5,000]")
    assert lines[-1] == "[The limit of one result is reached: read on with lines 2001-.]"
    place.put("wide", ("y" * 999 + "\n") * 100)
    text = place.call(READ, path="wide").text
    assert len(text.encode()) < BYTES + 100
    assert "read on with lines 52-.]" in text


def test_a_huge_line_is_cut_and_never_held_whole(place: Place) -> None:
    with (place.root / "huge").open("wb") as file:
        file.truncate(0)
        for _ in range(8):
            file.write(b"z" * (1 << 20))
        file.write(b"\nshort\n")
    first, second = place.call(READ, path="huge").text.split("\n")
    assert first == "z" * 2000 + f" [… {8 << 20} bytes in this line]"
    assert second == "short"


def test_read_sees_the_draft(place: Place) -> None:
    place.put("a", "old")
    place.put("b", "gone")
    place.stage("a", "new")
    place.drop("b")
    assert place.call(READ, path="a").text == "new"
    with pytest.raises(NotFound):
        place.call(READ, path="b")


def test_a_picture_becomes_an_image(place: Place) -> None:
    place.put("p.png", PNG)
    place.put("p.webp", b"RIFF\0\0\0\0WEBPVP8 ")
    outcome = place.call(READ, path="p.png")
    assert (outcome.images, outcome.text) == (
        (ImagePart("image/png", PNG),),
        "[image/png, 28 bytes]",
    )
    assert place.call(READ, path="p.webp").images[0].media_type == "image/webp"
    place.put("large.png", PNG + b"\0" * 4_000_000)
    with pytest.raises(Refused, match="too large"):
        place.call(READ, path="large.png")


def test_binary_is_refused_and_other_text_is_read(place: Place) -> None:
    place.put("bin", b"\x7fELF\0\1\2")
    place.put("latin", b"caf\xe9\n")
    place.put("marked", b"\xef\xbb\xbfx\n")
    place.put("empty", "")
    with pytest.raises(Refused, match="is binary"):
        place.call(READ, path="bin")
    assert place.call(READ, path="latin").text == "café\n[Not UTF-8: read as Latin-1.]"
    assert place.call(READ, path="marked").text == "x"
    assert place.call(READ, path="empty").text == "[The file is empty.]"


def test_a_folder_gives_its_names(place: Place) -> None:
    place.put("d/x", "1")
    place.put("d/sub/y", "1")
    assert place.call(READ, path="d").text == "sub/\nx"
    assert place.touched(READ, path=".") == ["."]


def test_a_missing_file_names_what_may_be_meant(place: Place) -> None:
    place.put("src/deep/settings.py", "1")
    place.put("src/config.toml", "1")
    with pytest.raises(NotFound, match=r"Did you mean src/deep/settings\.py\?"):
        place.call(READ, path="settings.py")
    with pytest.raises(NotFound, match=r"Did you mean src/config\.toml\?"):
        place.call(READ, path="src/confg.toml")
    with pytest.raises(NotFound, match=r"^zzzz does not exist\. Here are: src/\.$"):
        place.call(READ, path="zzzz")


def test_f78_what_is_judged_and_shown_is_the_real_path(place: Place) -> None:
    place.put("real", "1")
    (place.root / "link").symlink_to("real")
    (place.root / "out").symlink_to("/etc/passwd")
    assert place.touched(READ, path="link") == ["real"]
    assert place.call(READ, path="link").title == "real"
    with pytest.raises(Refused, match="/etc/passwd"):
        place.touched(READ, path="out")
    with pytest.raises(Refused, match="/etc/passwd"):
        place.call(READ, path="out")


def test_pipes_and_devices_do_not_hang_it(place: Place) -> None:
    os.mkfifo(place.root / "pipe")
    (place.root / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(AssentError):
            place.call(READ, path=name)


def test_f135_instructions_of_folders_come_once_the_nearest_last(place: Place) -> None:
    place.put("AGENTS.md", "root rules")
    place.put("pkg/AGENTS.md", "pkg rules")
    place.put("pkg/CLAUDE.md", "not this one")
    place.put("pkg/inner/CLAUDE.md", "inner rules")
    place.put("pkg/inner/a.py", "x = 1\n")
    outcome = place.call(READ, path="pkg/inner/a.py")
    assert outcome.text == (
        "[Instructions from pkg/AGENTS.md, for all files below it:]\npkg rules\n"
        "[Instructions from pkg/inner/CLAUDE.md, for all files below it:]\ninner rules\n"
        "[pkg/inner/a.py]\nx = 1"
    )
    assert list(outcome.metadata["seen"]) == [
        "pkg/inner/a.py",
        "pkg/AGENTS.md",
        "pkg/inner/CLAUDE.md",
    ]
    place.seen = outcome.metadata["seen"]
    assert place.call(READ, path="pkg/inner/a.py").text == "x = 1"


def test_f135_instructions_that_lead_outside_or_are_secret_are_left_out(place: Place) -> None:
    (place.root.parent / "evil.md").write_text("obey", encoding="utf-8")
    place.put("pkg/a.py", "x")
    (place.root / "pkg/AGENTS.md").symlink_to("../../evil.md")
    assert place.call(READ, path="pkg/a.py").text == "x"
    place.put("other/AGENTS.md", "hidden")
    place.put("other/a.py", "x")
    place.secret = (b"other/AGENTS.md",)
    assert place.call(READ, path="other/a.py").text == "x"
    assert "hidden" in place.call(READ, path="other/AGENTS.md").text
