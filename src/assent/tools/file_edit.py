"""File edits: from a path and a text that a model typed to an operation with exact content.

Every editing tool uses this. The plan file is the only file that planning writes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

import msgspec

from assent.core.digest import sha256
from assent.core.errors import NoMatch, NotFound, Refused, StaleError, UsageError
from assent.core.paths import (
    ancestors,
    casefolded,
    display_path,
    is_inside,
    one_line,
    refuse_own_paths,
)
from assent.core.plan.operation import FileOperation, FileState, WriteFile
from assent.core.text import counted
from assent.core.text.line_diff import LineChange, line_changes
from assent.core.tool import Action, EditEffect, PlanTextEffect, ResourceAccess, ToolOutcome
from assent.tools.outcome import HINT, has_line_numbers, without_line_numbers
from assent.tools.tool import ToolContext

# Text matching: finds the one place that an edit means, exactly or nearly.
#
# These ways are tried in order: as it is, with other line endings, with other blanks at the ends
# of lines, with another indentation, and last without the line numbers that results show. Only a
# way that finds exactly one place counts (F130), and a file is decoded so that unedited bytes stay
# the same.


# Text encodings: decodes and encodes files so that what is not edited keeps every byte.


BOM = b"\xef\xbb\xbf"
_ESCAPE = r"\\x([89a-f][0-9a-f])"


class TextEncoding(msgspec.Struct, frozen=True):
    """How a file is encoded; odd bytes of a file that is not UTF-8 are kept as they are."""

    bom: bytes = b""
    foreign: bool = False


def decode_text(content: bytes, name: str) -> tuple[str, TextEncoding]:
    """Returns a file's text and its encoding; refuses a binary file."""
    if b"\0" in content:
        raise Refused(f"{name} is binary; it can only be overwritten, moved or deleted.")
    bom = BOM if content.startswith(BOM) else b""
    try:
        return content[len(bom) :].decode("utf-8"), TextEncoding(bom)
    except UnicodeDecodeError:
        return content[len(bom) :].decode("utf-8", "surrogateescape"), TextEncoding(
            bom, foreign=True
        )


def encode_text(text: str, form: TextEncoding, name: str) -> bytes:
    """Returns the bytes of a text in a file's encoding."""
    try:
        return form.bom + text.encode("utf-8", "surrogateescape" if form.foreign else "strict")
    except UnicodeEncodeError as error:
        raise Refused(
            f"The new text of {name} is not valid Unicode. Nothing was changed."
        ) from error


def escape_spelling(text: str, old: str, form: TextEncoding) -> Callable[[str], str]:
    """Returns a function that spells a file's odd bytes in a searched text as the file does.

    They are shown as `\\xNN`; a model may also write them as Latin-1 letters.
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


UNCHANGED = "Nothing was changed."
BREAK = r"\r?\n"
LAST_BREAK = r"(?:\r?\n|\Z)"
BLANKS = " \t"
MAX_NEAREST_LINES = 8  # lines that are shown where nothing fits
WIDTH = 160  # characters of each
WORD = r"\w+"


class TextReplacement(msgspec.Struct, frozen=True):
    """The position of the old text, and its replacement."""

    start: int
    end: int
    new: str


def find_replacements(
    text: str, old: str, new: str, *, every: bool = False, word: bool = False
) -> list[TextReplacement]:
    """Returns the place to edit, or with `every` all of them; raises NoMatch otherwise.

    With `word` a place counts only if no longer word contains it, and if it is exactly the same.
    """
    exact = _whole_words(text, old) if word else _exact(text, old)
    found = exact or ([] if word else _nearly(text, old))
    if not found and word:
        raise NoMatch(f"`old` was not found as a whole word. {UNCHANGED}")
    if not found and (told := _without_numbers(old, new)):
        return find_replacements(text, *told, every=every)
    if not found:
        hint = f" {HINT}" if has_line_numbers(old) else ""
        raise NoMatch(f"`old` was not found. {UNCHANGED}{hint} {nearest_lines(text, old)}")
    if len(found) > 1 and not every:
        lines = ", ".join(str(line_of(text, start)) for start, _ in found[:10])
        raise NoMatch(
            f"`old` matches {len(found)} places, at lines {lines}. {UNCHANGED} Include more "
            "surrounding lines, or set replace_all."
        )
    if exact:
        return [
            TextReplacement(start, end, _with_ends(text, start, end, new)) for start, end in found
        ]
    return [
        TextReplacement(start, end, _fitted(text, (start, end), old, new)) for start, end in found
    ]


def apply_replacements(text: str, found: list[TextReplacement]) -> str:
    """Returns the text with each place replaced."""
    parts, at = [], 0
    for place in found:
        parts += [text[at : place.start], place.new]
        at = place.end
    return "".join([*parts, text[at:]])


def indentation(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the mapping from the indentation of the searched lines to that of the file."""
    return {_indent(theirs): _indent(real) for theirs, real in pairs if theirs.strip()}


def indented(line: str, known: Mapping[str, str]) -> str:
    """Returns a new line with the file's indentation, as far as the lines around it show it."""
    indent = _indent(line)
    if not line.strip() or not known:
        return line
    base = max((i for i in known if indent.startswith(i)), key=len, default=None)
    if base is not None:
        return known[base] + line[len(base) :]
    least = min(known, key=len)  # less than any line that is known: as much less as there
    lack = len(least) - len(indent)
    return known[least][: max(0, len(known[least]) - lack)] + line.lstrip(BLANKS)


def _without_numbers(old: str, new: str) -> tuple[str, str] | None:
    """Returns both texts without line numbers, if they clearly have them.

    That is not clear if the content itself begins with numbers, or if only some lines have them.
    """
    plain = without_line_numbers(old), without_line_numbers(new)
    return None if plain[0] == old or any(map(has_line_numbers, plain)) else plain


def _exact(text: str, old: str) -> list[tuple[int, int]]:
    found, at = [], text.find(old)
    while at >= 0:
        found.append((at, at + len(old)))
        at = text.find(old, at + len(old))
    return found


def _whole_words(text: str, old: str) -> list[tuple[int, int]]:
    return [
        (start, end)
        for start, end in _exact(text, old)
        if not re.match(r"\w", text[start - 1 : start]) and not re.match(r"\w", text[end : end + 1])
    ]


def _nearly(text: str, old: str) -> list[tuple[int, int]]:
    """Returns the places found by the first pattern that finds any."""
    lines = old.replace("\r\n", "\n").split("\n")
    if not old.strip() or (lines[-1] and not lines[-1].strip()):
        return []  # blanks alone fit everywhere; at the end they belong to a line that is not told
    if not all(line.strip() in text for line in lines):
        return []  # no way can find it, so no pattern need be made
    for pattern in _patterns(lines):
        if found := [match.span() for match in re.finditer(pattern, text, re.MULTILINE)]:
            return found
    return []


def _patterns(lines: list[str]) -> Iterator[str]:
    """Yields patterns from strict to tolerant."""
    yield _joined([re.escape(line) for line in lines])
    blanks, ended = f"[{BLANKS}]*+", "(?=\\r?$)"  # `*+` gives nothing back, so none takes long
    *bare, last = [re.escape(line.rstrip(BLANKS)) for line in lines]
    closed = f"{blanks}{ended}" if lines[-1] != lines[-1].rstrip(BLANKS) else ""
    # Nothing begins with blanks alone: that would be tried at each of many blanks in a row.
    ends = [line + blanks if line or at else line for at, line in enumerate(bare)]
    yield _joined([*ends, last + closed])
    whole = [f"{blanks}{re.escape(line.strip())}{blanks}" for line in lines]
    begins = "^" if lines[0] else ""  # a line break in front ends any line
    whole[0] = whole[0] if lines[0] else ""
    yield begins + (f"{_joined(whole)}{ended}" if lines[-1] else _joined([*whole[:-1], ""]))


def _joined(lines: list[str]) -> str:
    if len(lines) > 1 and not lines[-1]:
        return BREAK.join(lines[:-1]) + LAST_BREAK
    return BREAK.join(lines)


def _fitted(text: str, span: tuple[int, int], old: str, new: str) -> str:
    """Returns the new text with the indentation and line endings of what it replaces."""
    start, end = span
    real = text[start:end].replace("\r\n", "\n")
    plain = old.replace("\r\n", "\n")
    if plain.endswith("\n") and not real.endswith("\n"):  # the last line has no end: keep it so
        new = new.removesuffix("\n")
    known = indentation(zip(plain.split("\n"), real.split("\n"), strict=False))
    if any(theirs != ours for theirs, ours in known.items()):
        new = "\n".join(indented(line, known) for line in new.split("\n"))
    return _with_ends(text, start, end, new)


def _with_ends(text: str, start: int, end: int, new: str) -> str:
    """Returns the new text with the line endings of what it replaces, or of the lines around it."""
    if "\n" not in new:
        return new
    close = text[start:end] if "\n" in text[start:end] else text[start : text.find("\n", end) + 1]
    return with_line_ends(new, line_end(close if "\n" in close else text))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(BLANKS))]


def nearest_lines(text: str, old: str) -> str:
    """Returns the lines that are most similar to the searched text."""
    wanted = [set(re.findall(WORD, line)) for line in old.split("\n") if line.strip()]
    lines = text.removesuffix("\n").split("\n")
    if not wanted or not text.strip():
        return "The file is empty." if not text.strip() else "Read the file again."
    scores = [len(wanted[0].intersection(re.findall(WORD, line))) for line in lines]
    best = max(range(len(lines)), key=scores.__getitem__)
    if not scores[best]:
        return "No line of the file is similar; read the file again."
    first = max(0, best - 1)
    nearest = lines[first : first + MAX_NEAREST_LINES]
    shown = [visible(line.rstrip()[:WIDTH]) for line in nearest]
    where = f"lines {first + 1}-{first + len(shown)}" if shown[1:] else f"line {first + 1}"
    return "\n".join([f"Nearest are {where}:", *shown])


def visible(line: str) -> str:
    """Returns a line with odd bytes as they are shown when the file is read."""
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


NEW_MODE = 0o644
MAX_GAP_LINES = 2  # unchanged lines between changes that are shown as one place
MAX_PLACE_LINES = 12  # lines of one place of a diff
MAX_PLACES = 10  # places of a diff
MAX_DIFF_LINES = 60  # lines of all diffs of a call
CUT = "…"  # where a diff leaves something out
NO_LINE_BREAK = b" [no line break at the end]"  # shown where that is what differs
MAX_FILES = 5000  # of one call


class EditedFile(msgspec.Struct, frozen=True, dict=True):
    """The new content of one file; `words` and `diff` describe it for the model."""

    path: bytes
    before: FileState | None
    content: bytes
    words: str
    diff: str = ""
    mode: int = NEW_MODE  # of a file that is new

    @cached_property
    def after(self) -> FileState:
        mode = self.before.mode if self.before else self.mode
        return FileState(sha256(self.content), len(self.content), mode)


def edit_target(argument: str, context: ToolContext) -> bytes:
    """Returns the real path of a file to change; refuses git's, Assent's and outside files."""
    path = context.overlay.locate(argument)
    check_editable(path, context)
    return path


def check_editable(path: bytes, context: ToolContext) -> None:
    """Refuses files that no tool may touch; for plans, it says what to use instead."""
    if is_inside(casefolded(path), casefolded(context.plan_dir)):
        words = "is in the plan folder, which cannot be edited; in plan mode, use `write_plan`."
        raise Refused(f"{one_line(path)} {words} Nothing was changed.")
    refuse_own_paths(path, context.plan_dir, context.private)


def entry_path(argument: str, context: ToolContext) -> bytes:
    """Returns the path of an entry itself: of a symlink, not of its target."""
    folder, _, name = argument.rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        return edit_target(argument, context)
    above = "/" if not folder and argument.startswith("/") else folder
    real = context.overlay.locate(above) if above else b""
    encoded = name.encode("utf-8", "backslashreplace")
    path = real + b"/" + encoded if real else encoded
    if context.overlay.state(path) is None:
        path = context.overlay.locate(argument)  # it may be a name that was shown with escapes
    check_editable(path, context)
    return path


def edit_access(path: bytes, *, deletes: bool = False) -> ResourceAccess:
    return ResourceAccess(Action.EDIT, display_path(path), deletes=deletes)


def read_access(path: bytes) -> ResourceAccess:
    """Returns the request of a tool that shows or copies the content of a file."""
    return ResourceAccess(Action.READ, display_path(path))


def expected_state(path: bytes, context: ToolContext) -> FileState | None:
    """Returns the file at a path; raises if the model saw another content."""
    state = context.overlay.state(path)
    if state == "folder":
        raise Refused(f"{one_line(path)} is a folder. Nothing was changed.")
    if state is None:
        for above in ancestors(path):
            if isinstance(context.overlay.state(above), FileState):
                raise Refused(f"{one_line(above)} is a file, not a folder.")
        return None
    name = display_path(path)
    seen = context.seen.get(name, state.digest)
    if state.digest != seen and state.digest not in context.seen_before.get(name, ()):
        raise StaleError(f"{one_line(path)} has changed since you read it. Read it again first.")
    return state


def load_file(path: bytes, context: ToolContext) -> tuple[FileState, bytes]:
    """Returns a file with its content; raises if there is none, or it is being changed."""
    state = expected_state(path, context)
    if state is None:
        raise NotFound(f"{one_line(path)} does not exist. Use `write` to create it.")
    if state.kind == "link":
        raise Refused(f"{one_line(path)} is a symlink; edit the file it points to.")
    content = context.overlay.content(path)
    if sha256(content) != state.digest:
        raise StaleError(f"{one_line(path)} is changing right now. Read it again first.")
    return state, content


def edit_outcome(
    changes: list[EditedFile], operations: tuple[FileOperation, ...] = ()
) -> ToolOutcome:
    """Returns changes as one effect; unchanged files are omitted."""
    real = [c for c in changes if c.before != c.after]
    seen = {display_path(change.path): change.after.digest for change in changes}
    wanted = (*[WriteFile(c.path, c.before, c.after) for c in real], *operations)
    told: list[str] = []
    left = MAX_DIFF_LINES
    for change in changes:
        if change not in real:
            told.append(f"{one_line(change.path)} already has this content; nothing to change.")
            continue
        told.append(f"{one_line(change.path)}: {change.words}")
        rows = change.diff.split("\n") if change.diff else []
        out = len(rows) - max(left, 0)
        told += rows[: max(left, 0)] + ([f"{CUT} {counted(out, 'more line')}"] if out > 0 else [])
        left -= len(rows)
    contents = {change.after.digest: change.content for change in real}
    return ToolOutcome(
        "\n".join(told),
        ", ".join(one_line(change.path) for change in changes[:3]),
        effect=EditEffect(wanted, contents) if wanted else None,
        metadata={"seen": seen},
    )


def edit_diff(before: str, after: str) -> str:
    """Returns every place where two texts differ as a small hunk, with a mark where it is cut.

    Lines that were only inserted are counted: the model has just written them.
    """
    old, new = _diffed_lines(before), _diffed_lines(after)
    if before and after and before.endswith("\n") != after.endswith("\n"):
        unended = new if before.endswith("\n") else old
        unended[-1] += NO_LINE_BREAK
    places: list[list[LineChange]] = []
    for change in line_changes(old, new):
        if places and change[0] - places[-1][-1][1] <= MAX_GAP_LINES:
            places[-1].append(change)
        else:
            places.append([change])
    more = len(places) - MAX_PLACES
    shown = [_place(old, new, place) for place in places[:MAX_PLACES]]
    shown += [f"{CUT} and {more} more place{'s' if more > 1 else ''}"] if more > 0 else []
    return "\n".join(shown)


def _diffed_lines(text: str) -> list[bytes]:
    """Returns the lines of a text; a line break at the end begins no further one."""
    lines = text.encode("utf-8", "surrogateescape").split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _place(old: list[bytes], new: list[bytes], changes: list[LineChange]) -> str:
    start, _, first, _ = changes[0]
    _, end, _, last = changes[-1]
    if start == end:
        return _inserted(start, first, last)
    rows, at = list[str](), start
    for i, j, k, m in changes:
        rows += _rows(" ", old[at:i]) + _rows("-", old[i:j]) + _rows("+", new[k:m])
        at = j
    if len(rows) > MAX_PLACE_LINES:
        half = MAX_PLACE_LINES // 2
        out = len(rows) - MAX_PLACE_LINES + 1
        rows = [*rows[:half], f"{CUT} {counted(out, 'line')}", *rows[1 - half :]]
    was, now = _span(start, end), _span(first, last)
    return "\n".join([f"@@ -{was} +{now} @@", *rows])


def _inserted(at: int, first: int, last: int) -> str:
    """Says which lines are new; by their numbers now, where others above changed them."""
    lines = "1 line" if last - first == 1 else f"{last - first} lines"
    where = f"after line {at}" if at else "before line 1"
    now = "" if at == first else f", now line {_span(first, last).partition(',')[0]}"
    return f"{lines} inserted {where}{now}"


def _span(start: int, end: int) -> str:
    """Returns lines as a diff counts them: no lines come after the one before them."""
    return f"{start + 1}" if end - start == 1 else f"{start + (end > start)},{end - start}"


def _rows(sign: str, lines: list[bytes]) -> list[str]:
    shown = [line.decode("utf-8", "backslashreplace").removesuffix("\r") for line in lines]
    return [f"{sign}{line[:WIDTH]}{CUT if len(line) > WIDTH else ''}" for line in shown]


# The plan file as a target: planning writes this one file, as the plan's text (F69).


MAX_PLAN_BYTES = 1 << 20  # bytes of a plan's text
ENDING = b".md"


def is_plan(argument: str, path: bytes, context: ToolContext) -> bool:
    """Tells whether a path is the plan file; raises Refused if it was reached indirectly.

    `path` is where the argument really leads. The file must be named exactly: no `..`, no symlink,
    no other ending.
    """
    if not context.plan or path != context.plan:
        return False
    typed = argument.encode("utf-8", "backslashreplace").removeprefix(context.root + b"/")
    direct = typed.removeprefix(b"./") == context.plan
    if not direct or not path.endswith(ENDING) or not is_inside(path, context.plan_dir):
        raise Refused(f"{one_line(typed)} points to the plan indirectly; use `write_plan`.")
    return True


def plan_access(context: ToolContext) -> ResourceAccess:
    """Returns the access that writing the plan needs."""
    return ResourceAccess(Action.PLAN, one_line(context.plan))


def plan_text_outcome(text: str, context: ToolContext) -> ToolOutcome:
    """Returns the plan's new text instead of an edit (F17)."""
    if context.posture.mode != "plan":
        raise Refused("The plan's text can only change in plan mode. It was not changed.")
    check_plan_text(text)
    return ToolOutcome(
        "This is the plan file: the plan's text was written.", "plan", effect=PlanTextEffect(text)
    )


def check_plan_text(text: str) -> None:
    """Raises if this cannot be a plan's text."""
    if not text.strip():
        raise UsageError("text: must not be blank. The plan was not changed.")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_PLAN_BYTES:
        raise UsageError(f"text: has more than {MAX_PLAN_BYTES} bytes. The plan was not changed.")
