"""File names in a patch: unquotes C escapes and strips leading path components."""

import re

from assent.core.errors import Refused, UsageError
from assent.core.paths import normalize, one_line

DEV_NULL = b"/dev/null"

_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_QUOTED = re.compile(rb'"((?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*)"')
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_STAMP = re.compile(rb"(1969-12-31|1970-01-01) (\d\d):(\d\d):00(?:\.0+)? ([-+])(\d\d):?(\d\d)")


def unquoted_name(name: bytes) -> bytes:
    """Returns a name as it is on disk: what stands in quotes without them and their escapes."""
    quoted = _QUOTED.fullmatch(name)
    return _unescaped(quoted[1]) if quoted else name


def split_label(label: bytes) -> tuple[bytes, bytes]:
    """Splits what follows `---` or `+++` into the name and the time behind it."""
    quoted = _QUOTED.match(label)
    if quoted:
        return _unescaped(quoted[1]), label[quoted.end() :].strip()
    name, _, stamp = label.partition(b"\t")
    return name, stamp


def is_epoch(stamp: bytes) -> bool:
    """Tells whether a time is the one that `diff -N` gives to files that do not exist."""
    found = _STAMP.fullmatch(stamp)
    if not found:
        return False
    hours, minutes, zone_hours, zone_minutes = (int(found[n]) for n in (2, 3, 5, 6))
    zone = (zone_hours * 60 + zone_minutes) * (-1 if found[4] == b"-" else 1)
    days = -1 if found[1] == b"1969-12-31" else 0
    return (days * 24 + hours) * 60 + minutes == zone


def common_name(title: bytes, strip: int) -> bytes | None:
    """Returns the one name that a `diff --git` line has twice; None if it has two."""
    for old, new in _halves(title):
        found = strip_components(old, strip, strict=False)
        if found is not None and found == strip_components(new, strip, strict=False):
            return found
    return None


def has_no_prefix(title: bytes) -> bool:
    """Tells whether a `diff --git` line has the same name twice, so nothing stands in front."""
    half = len(title) // 2
    return title[half : half + 1] == b" " and title[:half] == title[half + 1 :]


def strip_components(name: bytes, count: int, *, strict: bool = True) -> bytes | None:
    """Returns a name without its first parts; one that begins with a slash has an empty one first.

    Strictly, one that has too few parts is an error; else it is None.
    """
    rest = name
    for _ in range(count):
        _, slash, rest = rest.partition(b"/")
        if not slash:
            break
        rest = rest.lstrip(b"/")
    if rest and not rest.endswith(b"/"):
        return rest
    if not strict:
        return None
    raise UsageError(
        f"{one_line(name)} has no name left without its first {count} parts. Nothing was staged.",
        "assent stage patch FILE -p 0",
    )


def workspace_path(name: bytes) -> bytes:
    """Returns a name of a patch as a path of the workspace; refuses one that leads out of it."""
    if b".." in name.split(b"/"):
        raise Refused(f"The patch names {one_line(name)}, which leads upwards. Nothing was staged.")
    return normalize(name)


def _halves(title: bytes) -> list[tuple[bytes, bytes]]:
    """Returns every way to read a title as two names, the likeliest first."""
    quoted = _QUOTED.match(title)
    if quoted:
        return [(_unescaped(quoted[1]), unquoted_name(title[quoted.end() + 1 :]))]
    at = title.find(b' "')
    if at >= 0 and _QUOTED.fullmatch(title[at + 1 :]):
        return [(title[:at], unquoted_name(title[at + 1 :]))]
    spaces = [at for at, byte in enumerate(title) if byte == ord(" ")]
    spaces.sort(key=lambda at: abs(len(title) - 2 * at))
    return [(title[:at], title[at + 1 :]) for at in spaces]


def _unescaped(text: bytes) -> bytes:
    return _ESCAPE.sub(_byte, text)


def _byte(found: re.Match[bytes]) -> bytes:
    return _ESCAPES.get(found[1]) or bytes([int(found[1], 8) & 0xFF])
