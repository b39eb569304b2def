"""Text encodings: decodes and encodes files so that what is not edited keeps every byte."""

import re
from collections.abc import Callable

import msgspec

from assent.core.errors import Refused

BOM = b"\xef\xbb\xbf"
_ESCAPE = r"\\x([89a-f][0-9a-f])"


class TextEncoding(msgspec.Struct, frozen=True):
    """How a file is written down; odd bytes of one that is not UTF-8 are kept as they are."""

    bom: bytes = b""
    foreign: bool = False


def decode_text(content: bytes, name: str) -> tuple[str, TextEncoding]:
    """Returns a file's text and its form; refuses a binary file."""
    if b"\0" in content:
        raise Refused(f"{name} is binary; it can only be written whole, moved or deleted.")
    bom = BOM if content.startswith(BOM) else b""
    try:
        return content[len(bom) :].decode("utf-8"), TextEncoding(bom)
    except UnicodeDecodeError:
        return content[len(bom) :].decode("utf-8", "surrogateescape"), TextEncoding(
            bom, foreign=True
        )


def encode_text(text: str, form: TextEncoding, name: str) -> bytes:
    """Returns the bytes of a text in a file's form."""
    try:
        return form.bom + text.encode("utf-8", "surrogateescape" if form.foreign else "strict")
    except UnicodeEncodeError as error:
        raise Refused(f"The new text of {name} is no Unicode. Nothing was changed.") from error


def escape_spelling(text: str, old: str, form: TextEncoding) -> Callable[[str], str]:
    """Returns how the odd bytes of a file are spelled in what is looked for.

    They are shown as `\\xNN`; a model may also know them as the letters of Latin-1.
    """
    if not form.foreign or old in text:
        return str
    return next((spell for spell in (_from_escapes, _from_latin) if spell(old) in text), str)


def line_end(text: str) -> str:
    """Returns the line end that most lines of a text have."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def with_line_ends(text: str, end: str) -> str:
    """Returns a text with a file's line ends."""
    return text if end == "\n" else text.replace("\r\n", "\n").replace("\n", end)


def line_of(text: str, position: int) -> int:
    """Returns the number of the line that a position is in."""
    return text.count("\n", 0, position) + 1


def _from_escapes(text: str) -> str:
    return re.sub(_ESCAPE, lambda found: chr(0xDC00 + int(found[1], 16)), text)


def _from_latin(text: str) -> str:
    return "".join(chr(ord(c) + 0xDC00) if "\x80" <= c <= "\xff" else c for c in text)
