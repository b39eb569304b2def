"""An image from the clipboard: which program is asked, what is taken, and what is refused."""

import os
import time
from pathlib import Path

import pytest
from tests.support.clipboards import JPEG, PNG, Clipboard

from assent.core.errors import AssentError, NotFound, Refused
from assent.core.llm import MAX_IMAGE_BYTES, ImagePart
from assent.sandbox.clipboard import (
    NO_IMAGE,
    NO_PROGRAM,
    NOT_AN_IMAGE,
    TOO_LARGE,
    read_clipboard_image,
)

ROOT = b"/nowhere/project"


def taken(*clipboards: Clipboard, root: bytes = ROOT, **environment: str) -> ImagePart:
    """Reads the clipboard with only these programs installed."""
    path = ":".join([str(each.bin) for each in clipboards])
    return read_clipboard_image({"PATH": path, **environment}, root)


@pytest.mark.parametrize("name", ["wl-paste", "xclip"])
def test_an_image_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    clipboard = Clipboard(tmp_path, name)
    clipboard.put(image_jpeg=JPEG, image_png=PNG)
    assert taken(clipboard) == ImagePart("image/png", PNG)
    assert len(clipboard.calls) == 2
    assert clipboard.calls[1].endswith("image/png")


def test_the_first_bytes_say_what_it_is(tmp_path: Path) -> None:
    clipboard = Clipboard(tmp_path)
    clipboard.put(image_png=JPEG)
    assert taken(clipboard) == ImagePart("image/jpeg", JPEG)
    clipboard.put(image_png=b"<html>Not found</html>")
    with pytest.raises(Refused, match=NOT_AN_IMAGE):
        taken(clipboard)
    clipboard.put(image_png=b"")
    with pytest.raises(Refused, match=NOT_AN_IMAGE):
        taken(clipboard)


def test_the_program_of_the_desktop_is_asked(tmp_path: Path) -> None:
    wayland = Clipboard(tmp_path / "one")
    x11 = Clipboard(tmp_path / "other", "xclip")
    wayland.put(image_png=PNG)
    x11.put(image_jpeg=JPEG)
    assert taken(wayland, x11, DISPLAY=":0").media_type == "image/jpeg"
    assert taken(wayland, x11, WAYLAND_DISPLAY="wayland-0").media_type == "image/png"
    assert taken(wayland, x11, WAYLAND_DISPLAY="wayland-0", DISPLAY=":0").content == PNG


def test_a_clipboard_with_text_has_no_image(tmp_path: Path) -> None:
    clipboard = Clipboard(tmp_path)
    clipboard.put()
    with pytest.raises(NotFound, match=NO_IMAGE):
        taken(clipboard)


def test_an_empty_clipboard_is_told_in_the_words_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="wl-paste: Nothing is copied"):
        taken(Clipboard(tmp_path))


def test_without_a_program_it_says_which_ones_there_are(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as error:
        read_clipboard_image({"PATH": str(tmp_path)}, ROOT)
    assert error.value.message == NO_PROGRAM
    assert "wl-clipboard" in error.value.next


def test_a_program_in_the_workspace_is_never_started(tmp_path: Path) -> None:
    clipboard = Clipboard(tmp_path)
    clipboard.put(image_png=PNG)
    with pytest.raises(NotFound, match="neither is on PATH"):
        taken(clipboard, root=os.fsencode(tmp_path))
    assert clipboard.calls == []


def test_an_image_that_is_too_large_is_refused(tmp_path: Path) -> None:
    clipboard = Clipboard(tmp_path)
    clipboard.put(image_png=PNG + bytes(MAX_IMAGE_BYTES - len(PNG)))
    assert len(taken(clipboard).content) == MAX_IMAGE_BYTES
    clipboard.put(image_png=PNG + bytes(MAX_IMAGE_BYTES))
    with pytest.raises(Refused, match=TOO_LARGE):
        taken(clipboard)


def own_children() -> set[str]:
    """Returns the processes that this one started; other tests may have left some at work."""
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text("ascii").split()}


def test_a_program_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    slow = Clipboard(tmp_path, delay=600)
    slow.put(image_png=PNG)
    before, began = own_children(), time.monotonic()
    with pytest.raises(AssentError, match="wl-paste did not answer in time"):
        read_clipboard_image({"PATH": str(slow.bin)}, ROOT, seconds=0.3)
    assert time.monotonic() - began < 60
    assert own_children() <= before, "no child is left, neither at work nor unreaped"


def test_the_program_gets_no_variable_that_it_does_not_need(tmp_path: Path) -> None:
    program = tmp_path / "wl-paste"
    program.write_text("#!/bin/sh\nenv >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ANTHROPIC_API_KEY": "key-of-mine"}
    with pytest.raises(NotFound) as error:
        read_clipboard_image(environment, ROOT)
    assert "key-of-mine" not in error.value.message
    program.write_text('#!/bin/sh\n[ -z "$ANTHROPIC_API_KEY" ] && echo none >&2\nexit 1\n', "utf-8")
    with pytest.raises(NotFound, match="wl-paste: none"):
        read_clipboard_image(environment, ROOT)


def test_a_program_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "wl-paste"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --list-types ] && echo image/png && exit\nexec cat /dev/zero\n',
        "utf-8",
    )
    program.chmod(0o755)
    before = own_children()
    with pytest.raises(Refused, match=TOO_LARGE):
        read_clipboard_image({"PATH": f"{tmp_path}:/usr/bin:/bin"}, ROOT)
    assert own_children() <= before
