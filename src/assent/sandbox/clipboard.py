"""Reads an image from the user's clipboard, by the programs that desktops have for that."""

import os
import subprocess
from collections.abc import Mapping
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import Final, NamedTuple

from assent.core.errors import AssentError, NotFound, Refused
from assent.core.llm import MAX_IMAGE_BYTES, ImagePart, image_type
from assent.core.paths import one_line
from assent.core.text.hidden_chars import visible_line
from assent.sandbox.runner.process_tree import wait_or_kill
from assent.sandbox.runner.user_program import START, user_program

TYPES: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")  # the first one is wanted
LIST_BYTES: Final = 64 << 10  # of the names of what a clipboard offers
CHUNK: Final = 1 << 16
TIME_LIMIT_S: Final = 5.0  # a program may wait for another one, which has the image
GRACE_S: Final = 1.0
NO_PROGRAM: Final = (
    "An image is taken from the clipboard by wl-paste (Wayland) or xclip (X11), and neither is "
    "on PATH."
)
ATTACH_A_FILE: Final = "install wl-clipboard or xclip, or attach a file with @image.png"
NO_IMAGE: Final = "The clipboard has no image in a format that models read: PNG, JPEG, WebP or GIF."
NOT_AN_IMAGE: Final = "What the clipboard offers as an image is neither PNG, JPEG, WebP nor GIF."
TOO_LARGE: Final = f"The image in the clipboard is larger than {MAX_IMAGE_BYTES / 1e6:.2f} MB."
SMALLER: Final = "copy a part of it, or attach a smaller file with @image.png"
# Where the desktop is, and who the user is there: neither program needs more.
VARIABLES: Final = (
    "HOME", "PATH", "LANG", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY",
    "XAUTHORITY",
)  # fmt: skip


class _Program(NamedTuple):
    """A program that reads the clipboard: how it lists what is there, and returns one form."""

    name: str
    display: str  # the variable that says where its desktop is
    lists: tuple[str, ...]
    returns: tuple[str, ...]  # followed by the type


_WAYLAND: Final = _Program(
    "wl-paste", "WAYLAND_DISPLAY", ("--list-types",), ("--no-newline", "--type")
)
_X11: Final = _Program(
    "xclip", "DISPLAY",
    ("-selection", "clipboard", "-o", "-t", "TARGETS"), ("-selection", "clipboard", "-o", "-t"),
)  # fmt: skip


def read_clipboard_image(
    environment: Mapping[str, str], root: bytes, seconds: float = TIME_LIMIT_S
) -> ImagePart:
    """Returns the image in the clipboard; a program in the workspace `root` is never used.

    Raises NotFound without a program or an image, and Refused for what is too large or no image.
    It waits for other programs: call it in a thread.
    """
    program, path = _found(environment, root)
    until = monotonic() + seconds
    own = {name: environment[name] for name in VARIABLES if name in environment}
    offered = _output((path, *program.lists), own, until, LIST_BYTES).decode("utf-8", "replace")
    kinds = [kind for kind in TYPES if kind in offered.split()]
    if not kinds:
        raise NotFound(NO_IMAGE)
    content = _output((path, *program.returns, kinds[0]), own, until, MAX_IMAGE_BYTES + 1)
    if len(content) > MAX_IMAGE_BYTES:
        raise Refused(TOO_LARGE, SMALLER)
    media = image_type(content)
    if not media:
        raise Refused(NOT_AN_IMAGE)
    return ImagePart(media, content)


def _found(environment: Mapping[str, str], root: bytes) -> tuple[_Program, bytes]:
    """Returns the program of the desktop that is there, else any that is installed."""
    here = sorted((_WAYLAND, _X11), key=lambda one: not environment.get(one.display))
    for program in here:
        try:
            return program, user_program((program.name,), environment, root)
        except AssentError:
            continue
    raise NotFound(NO_PROGRAM, ATTACH_A_FILE)


def _output(
    line: tuple[bytes | str, ...], environment: Mapping[str, str], until: float, most: int
) -> bytes:
    """Returns at most so many bytes that a program prints; it has ended when this returns."""
    name = one_line(os.path.basename(os.fsencode(line[0])))
    try:
        process = subprocess.Popen(
            line, bufsize=0, env=dict(environment), cwd=START, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise AssentError(f"{name} could not be started: {error.strerror}.") from None
    with process:
        try:
            printed, said, whole = _read(process, until, most)
            if whole:
                wait_or_kill(process, max(until - monotonic(), GRACE_S))
        finally:
            if process.poll() is None:
                process.kill()
    if len(printed) >= most:
        return printed
    if not whole:
        raise AssentError(f"{name} did not answer in time; nothing was attached.")
    if process.returncode != 0:
        words = visible_line(said.decode("utf-8", "replace").strip().partition("\n")[0])
        raise NotFound(f"The clipboard could not be read: {name}: {words or 'failed'}.")
    return printed


def _read(process: "subprocess.Popen[bytes]", until: float, most: int) -> tuple[bytes, bytes, bool]:
    """Returns what a program printed on stdout and stderr, and whether that is all of it."""
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    texts = {pipe.fileno(): bytearray() for pipe in pipes}
    printed = texts[pipes[0].fileno()]
    with DefaultSelector() as ready:
        for pipe in pipes:
            ready.register(pipe, EVENT_READ)
        while ready.get_map() and len(printed) < most and (left := until - monotonic()) > 0:
            for key, _ in ready.select(left):
                text = texts[key.fd]
                piece = os.read(key.fd, CHUNK)
                if piece:
                    text += piece[: (most if text is printed else LIST_BYTES) - len(text)]
                else:
                    ready.unregister(key.fileobj)
        whole = not ready.get_map()
    return bytes(printed), bytes(texts[pipes[-1].fileno()]), whole
