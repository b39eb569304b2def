"""Parses patches: unified diffs, and git's with quoted names, renames, modes and binaries."""

import re

import msgspec

from assent.core.errors import Refused, UsageError
from assent.core.patch.file_patch import (
    BinaryPatch,
    FilePatch,
    Hunk,
    PatchKind,
    decoded_row,
    git_mode,
    inflate_exactly,
)
from assent.core.paths import normalize, one_line

# File names in a patch: unquotes C escapes and strips leading path components.


DEV_NULL = b"/dev/null"

_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_QUOTED = re.compile(rb'"((?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*)"')
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_STAMP = re.compile(rb"(1969-12-31|1970-01-01) (\d\d):(\d\d):00(?:\.0+)? ([-+])(\d\d):?(\d\d)")


def unquoted_name(name: bytes) -> bytes:
    """Returns a name as it is on disk, without quotes and escapes."""
    quoted = _QUOTED.fullmatch(name)
    return _unescaped(quoted[1]) if quoted else name


def split_label(label: bytes) -> tuple[bytes, bytes]:
    """Splits what follows `---` or `+++` into the name and the time after it."""
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
    """Tells whether a `diff --git` line has the same name twice, so there is no prefix."""
    half = len(title) // 2
    return title[half : half + 1] == b" " and title[:half] == title[half + 1 :]


def strip_components(name: bytes, count: int, *, strict: bool = True) -> bytes | None:
    """Returns a name without its first components; a leading slash counts as an empty one.

    If there are too few components, raises when strict, else returns None.
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
        f"{one_line(name)} has no name left after removing its first {count} parts. Nothing was "
        "staged.",
        "assent stage patch FILE -p 0",
    )


def workspace_path(name: bytes) -> bytes:
    """Returns a name in a patch as a workspace path; refuses one outside the workspace."""
    if b".." in name.split(b"/"):
        raise Refused(f"The patch names {one_line(name)}, which contains `..`. Nothing was staged.")
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


_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_LATER = re.compile(rb"(From|commit) [0-9a-f]{40,64}\b")  # where the next patch of a series begins
_HEADER = re.compile(
    rb"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    rb"|rename old|rename new|similarity index|dissimilarity index|index) (.+)"
)
_INDEX = re.compile(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?")
_BINARY = re.compile(rb"(literal|delta) (\d{1,18})")
_EMPTY = re.compile(rb"(?:Binary files .* differ|Files .* and .* differ)\r?")
_LOGGED = re.compile(rb"Submodule .+ [0-9a-f]{7,64}\.\.\.?[0-9a-f]{7,64}")
_TITLE = b"diff --git "
_COMBINED = (b"diff --cc ", b"diff --combined ")
_MODE = re.compile(rb"10[0-7]{4}|120000|160000")
_SUBMODULE = 0o160000
_WITHOUT_SUBMODULES = "git diff --binary --ignore-submodules | assent stage patch -"
_OLD_NAMES = (b"rename from", b"rename old", b"copy from")
_NEW_NAMES = (b"rename to", b"rename new", b"copy to")
_BACKUPS = (b".orig", b".old", b".bak", b"~")


def parse_patch(content: bytes, strip: int | None = None) -> tuple[FilePatch, ...]:
    """Parses every file of a patch; the error for an invalid patch names the line.

    `strip` is how many leading components of a name are dropped: one, unless a diff has none.
    """
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if strip is None:
        titles = [line[len(_TITLE) :] for line in lines if line.startswith(_TITLE)]
        strip = 0 if any(map(has_no_prefix, titles)) else 1
    found = _PatchReader(lines, strip).files()
    if not found:
        raise UsageError(
            "The patch names no file; it must be a unified diff. Nothing was staged.",
            "git diff --binary | assent stage patch -",
        )
    return tuple(found)


class _PatchReader:
    """Goes through the lines of a patch once."""

    def __init__(self, lines: list[bytes], strip: int) -> None:
        self._lines = lines
        self._at = 0
        self._strip = strip
        self._group = 0

    def files(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        while self._at < len(self._lines):
            line = self._line()
            if line.startswith(_TITLE):
                found += self._git_file()
            elif self._is_label():
                found.append(self._plain_file())
            else:
                self._group += bool(found and _LATER.match(line))
                self._check_text(line)
                self._at += 1
        return found

    def _line(self, ahead: int = 0) -> bytes:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else b""

    def _is_label(self, *, hunk: bool = True) -> bool:
        names = self._line().startswith(b"--- ") and self._line(1).startswith(b"+++ ")
        return names and (not hunk or bool(_HUNK.match(self._line(2))))

    def _check_text(self, line: bytes) -> None:
        """Refuses a line that is not text around a patch but a part of one that cannot be used."""
        if line.startswith(_COMBINED):
            raise Refused(
                f"Line {self._at + 1} of the patch is a combined diff of a merge, which cannot be "
                "applied. Nothing was staged.",
                "git diff --binary FROM TO",
            )
        if _LOGGED.match(line):
            raise Refused(
                f"Line {self._at + 1} of the patch changes a submodule; plans change only files. "
                "Nothing was staged.",
                _WITHOUT_SUBMODULES,
            )
        if _HUNK.match(line):
            raise self._nonsense("the hunk has no file names")
        if _EMPTY.fullmatch(line):
            raise Refused(
                f"Line {self._at + 1} of the patch says that binary files differ but does not "
                "contain the changes. Nothing was staged.",
                "git diff --binary | assent stage patch -",
            )

    def _nonsense(self, why: str) -> UsageError:
        return UsageError(
            f"Line {self._at + 1} of the patch is invalid: {why}. Nothing was staged."
        )

    def _plain_file(self) -> FilePatch:
        """Reads a file of a diff without git headers: two names with times, and hunks."""
        line = self._at + 1
        (old, before), (new, after) = (split_label(self._label(n)) for n in (0, 1))
        self._at += 2
        hunks = self._hunks()
        fresh = old == DEV_NULL or (is_epoch(before) and not hunks[0].old)
        gone = new == DEV_NULL or (is_epoch(after) and not hunks[0].new)
        if fresh and gone:
            raise self._nonsense("a file is both created and deleted")
        names = [self._name(name) for name in (old, new) if name != DEV_NULL]
        name = _same(*names) if len(names) > 1 else names[0]
        how: PatchKind = "create" if fresh else "delete" if gone else "change"
        unsure = how == "change" and len(hunks) == 1 and not hunks[0].old
        return FilePatch(how, name, name, line, hunks=hunks, unsure=unsure, group=self._group)

    def _label(self, ahead: int) -> bytes:
        return self._line(ahead)[len(b"--- ") :].removesuffix(b"\r")

    def _name(self, name: bytes) -> bytes:
        return workspace_path(strip_components(name, self._strip) or b"")

    def _git_file(self) -> list[FilePatch]:
        """Reads a file of git's; one of which nothing is said but its name is left out."""
        title, line = self._line()[len(_TITLE) :].removesuffix(b"\r"), self._at + 1
        self._at += 1
        said = self._said()
        labels: list[bytes] = []
        if self._is_label(hunk=False):
            labels = [split_label(self._label(n))[0] for n in (0, 1)]
            self._at += 2
        hunks, binary = self._hunks(), None
        if self._line().rstrip(b"\r") == b"GIT binary patch":
            binary = self._binary()
        elif not hunks:
            self._check_text(self._line())
        if not said and not labels:
            return []
        old, new = self._names(title, said, labels)
        found = FilePatch(
            _how(said, labels), old, new, line, hunks=hunks, binary=binary, group=self._group
        )
        return [self._completed(found, said)]

    def _said(self) -> dict[bytes, bytes]:
        said: dict[bytes, bytes] = {}
        while header := _HEADER.fullmatch(self._line().removesuffix(b"\r")):
            said[header[1]] = header[2]
            self._at += 1
        return said

    def _completed(self, found: FilePatch, said: dict[bytes, bytes]) -> FilePatch:
        """Adds modes and git's names of the contents."""
        index = _INDEX.fullmatch(said.get(b"index", b""))
        same = index[3] if index and index[3] else b""
        old = said.get(b"old mode") or said.get(b"deleted file mode") or same
        new = said.get(b"new mode") or said.get(b"new file mode") or same
        modes = [self._mode(mode) for mode in (old, new)]
        if _SUBMODULE in modes:
            raise Refused(
                f"The patch changes the submodule {one_line(found.new)}; plans change only files. "
                "Nothing was staged.",
                _WITHOUT_SUBMODULES,
            )
        ids = (index[1].decode(), index[2].decode()) if index else ("", "")
        return msgspec.structs.replace(found, old_mode=modes[0], new_mode=modes[1], ids=ids)

    def _mode(self, text: bytes) -> int | None:
        if not text:
            return None
        if not _MODE.fullmatch(text):
            raise self._nonsense("the file above it has an invalid mode")
        return git_mode(int(text, 8))

    def _names(
        self, title: bytes, said: dict[bytes, bytes], labels: list[bytes]
    ) -> tuple[bytes, bytes]:
        old = next((unquoted_name(said[key]) for key in _OLD_NAMES if key in said), None)
        new = next((unquoted_name(said[key]) for key in _NEW_NAMES if key in said), None)
        named = [self._name(label) for label in labels if label != DEV_NULL]
        if old is not None and new is not None:
            inside = max(self._strip - 1, 0)  # these have no `a/` in front
            pair = [workspace_path(strip_components(name, inside) or b"") for name in (old, new)]
            if named and named != pair:
                raise self._nonsense("the names of a renamed file do not match")
            return pair[0], pair[1]
        if not named:
            name = common_name(title, self._strip)
            if name is None:
                raise self._nonsense("the file above it has no readable name")
            named = [workspace_path(name)]
        if len(set(named)) > 1:
            raise self._nonsense("a file has two names but is not renamed")
        return named[0], named[0]

    def _hunks(self) -> tuple[Hunk, ...]:
        found = []
        while _HUNK.match(self._line()):
            found.append(self._hunk())
        return tuple(found)

    def _hunk(self) -> Hunk:
        title = _HUNK.match(self._line())
        assert title is not None
        self._at += 1
        numbers = [1 if number is None else int(number) for number in title.groups()]
        rows = self._rows(numbers[1], numbers[3])
        signs = [sign for sign, _ in rows]
        changed = [at for at, sign in enumerate(signs) if sign != b" "]
        if not changed:
            raise self._nonsense("the hunk above it changes nothing")
        sides = [tuple(row for sign, row in rows if sign != other) for other in (b"+", b"-")]
        if any(not row.endswith(b"\n") for side in sides for row in side[:-1]):
            raise self._nonsense("a line without a newline is not the last one")
        trail = len(rows) - 1 - changed[-1]
        return Hunk(numbers[0], sides[0], numbers[2], sides[1], changed[0], trail)

    def _rows(self, old: int, new: int) -> list[tuple[bytes, bytes]]:
        """Reads the lines of a hunk, as many as it says, each with its sign apart."""
        rows: list[tuple[bytes, bytes]] = []
        while old > 0 or new > 0 or (rows and self._line().startswith(b"\\ ")):
            if self._at >= len(self._lines):
                raise self._nonsense("the patch ends inside a hunk")
            line = self._line()
            sign, row = (b" ", line) if line in (b"", b"\r") else (line[:1], line[1:])
            if sign == b"\\" and rows:
                rows[-1] = (rows[-1][0], rows[-1][1].removesuffix(b"\n"))
            elif sign in (b" ", b"-", b"+"):
                rows.append((sign, row + b"\n"))
                old, new = old - (sign != b"+"), new - (sign != b"-")
            if (sign == b"\\" and not rows) or sign not in b" -+\\" or min(old, new) < 0:
                raise self._nonsense("the hunk above it has fewer lines than its header says")
            self._at += 1
        if self._line()[:1] in (b" ", b"+", b"-") and not self._is_over():
            raise self._nonsense("the hunk above it has more lines than its header says")
        return rows

    def _is_over(self) -> bool:
        """Tells whether a line that begins like one of a hunk is none: the end of a mail, names."""
        return self._line().rstrip() == b"--" or self._is_label(hunk=False)

    def _binary(self) -> BinaryPatch:
        """Reads the new content in a binary patch; the reverse data after it is skipped."""
        self._at += 1
        forward = self._packed()
        if forward is None:
            raise self._nonsense("a binary patch has neither `literal` nor `delta`")
        self._packed()
        return forward

    def _packed(self) -> BinaryPatch | None:
        title = _BINARY.fullmatch(self._line().removesuffix(b"\r"))
        if title is None:
            return None
        self._at += 1
        packed = []
        try:
            while line := self._line().removesuffix(b"\r"):
                packed.append(decoded_row(line))
                self._at += 1
            content = inflate_exactly(b"".join(packed), int(title[2]))
        except Refused as refused:
            raise Refused(
                f"Line {self._at + 1} of the patch: {refused.message} Nothing was staged."
            ) from refused
        self._at += 1
        return BinaryPatch("literal" if title[1] == b"literal" else "delta", content)


def _how(said: dict[bytes, bytes], labels: list[bytes]) -> PatchKind:
    if b"new file mode" in said or labels[:1] == [DEV_NULL]:
        return "create"
    if b"deleted file mode" in said or labels[1:] == [DEV_NULL]:
        return "delete"
    if b"copy from" in said:
        return "copy"
    return "rename" if b"rename from" in said or b"rename old" in said else "change"


def _same(old: bytes, new: bytes) -> bytes:
    """Returns the name that a diff of two files is about: not the one of a copy kept aside."""
    return old if any(new == old + ending for ending in _BACKUPS) else new
