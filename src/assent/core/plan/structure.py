"""The structure of a plan's Markdown: title, overview, files and other sections, by its headings.

Nothing here refuses a text: what is missing is only said. Every function takes time linear in the
text, which may be anything.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from assent.core.plan.plan import HOW_TO_VERIFY, WHAT_AND_WHY

SectionKind: TypeAlias = Literal[
    "overview", "steps", "files", "risks", "tests", "rollback", "open_questions",
    "success_criteria", "references",
]  # fmt: skip
SECTION_KINDS: Final[tuple[SectionKind, ...]] = get_args(SectionKind)
# Required parts of a plan; what else is missing goes without saying.
Part: TypeAlias = Literal["title", "overview", "steps", "files", "verification"]
# Task items in these sections are not steps: they are checked, answered or read, not carried out.
NOT_STEPS: Final[frozenset[SectionKind]] = frozenset(SECTION_KINDS) - {"overview", "steps"}

# How people name a section; compared in lower case, without numbers, marks and emphasis.
HEADINGS: Final[dict[SectionKind, str]] = {
    "overview": "overview, goal, goals, summary, objective, objectives, purpose, context, why, "
    "background, motivation, introduction, problem, problem statement, description, tl;dr",
    "steps": "steps, proposed changes, changes, plan, implementation, implementation steps, "
    "implementation plan, tasks, task list, todo, todos, to do, work items, approach, execution, "
    "execution plan, action items, actions, procedure, phases, milestones, step by step",
    "files": "files, files to modify, files to create, files to change, files to edit, "
    "files to add, files to delete, files to touch, affected files, changed files, new files, "
    "modified files, files changed, files affected, files touched, file changes, key files, "
    "critical files, relevant files",
    "risks": "risks, risk, risk assessment, caveats, concerns, trade-offs, tradeoffs, edge cases, "
    "limitations, known issues, potential issues, mitigations",
    "tests": "verification, verify, validation, tests, testing, test plan, testing plan, checks, "
    "test strategy, testing strategy, test cases, unit tests, manual testing, how to verify, "
    "how to test, verification steps, verification plan, qa",
    "rollback": "rollback, roll back, rollback plan, rollback strategy, revert, backout, undo, "
    "backout plan, recovery",
    "open_questions": "open questions, questions, unresolved questions, open issues, open points, "
    "unknowns, clarifications, decisions needed",
    "success_criteria": "success criteria, acceptance criteria, acceptance, definition of done, "
    "done when, exit criteria, expected outcome, expected outcomes, expected result, "
    "expected results, outcomes",
    "references": "references, reference, links, see also, further reading, resources, sources, "
    "related, related work, documentation",
}
_KIND_OF: Final = {name: kind for kind, names in HEADINGS.items() for name in names.split(", ")}
_PHASE: Final = re.compile(r"(?:phase|step|stage|milestone|part|task) +(?:[0-9]+|[ivx]+)\b")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*[.):]? +")
_BETWEEN: Final = re.compile(r" and | or |[&/,+]")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_MARKER: Final = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]|$)[ \t]*")
_BOX: Final = re.compile(r"\[[ xX]?\](?=[ \t]|$)[ \t]*")
_SPAN: Final = re.compile(r"`([^`\n]+)`")
_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9_]{0,9}$")
_PLACEHOLDERS: Final = (WHAT_AND_WHY.casefold(), HOW_TO_VERIFY.casefold())
_NOTHING_SAID: Final = frozenset({"", "tbd", "todo", "n/a", "none", "...", "…", *_PLACEHOLDERS})
_AROUND: Final = "`*\"'()[]{}<>,;:!?"
_PLACE: Final = re.compile(r"(?::[0-9]+(?:[-:][0-9]+)*|['\u2019]s)$")
LONGEST_PLACE: Final = 24  # letters of `:12:3-14:5`, and of what else may follow a path
DEEPEST: Final = 6  # levels of headings
FENCE: Final = 3  # signs that a code fence has at least
INDENT: Final = "    "  # what has this indent, or more, is no heading


class MarkdownLine(msgspec.Struct, frozen=True, gc=False):
    """A line of Markdown outside code and comments; `level` is that of a heading, or 0."""

    number: int
    text: str  # of a heading, without its marks
    level: int = 0


class SectionLine(msgspec.Struct, frozen=True, gc=False):
    """A line other than a heading, with the heading above it and what kinds of section it is in."""

    number: int
    text: str
    heading: int  # counts headings from 1; 0 before the first
    group: str  # the heading's text
    kinds: frozenset[SectionKind]


class PlanStructure(msgspec.Struct, frozen=True):
    """What a plan's text says about itself. A section is empty where nothing is said."""

    title: str = ""
    files: tuple[str, ...] = ()  # named in the section about files
    sections: dict[SectionKind, str] = {}  # the text of each; those that say nothing are left out
    is_template: bool = False  # steps and verification are still those of the template

    @property
    def overview(self) -> str:
        return self.sections.get("overview", "")

    @property
    def verifies(self) -> bool:
        """Whether it says how to verify the result, or what the result must be."""
        return "tests" in self.sections or "success_criteria" in self.sections

    def missing(self, *, steps: bool, files: bool) -> tuple[Part, ...]:
        """Returns the required parts that are missing.

        `steps`: it has steps. `files`: operations or the scope name the files.
        """
        there: dict[Part, bool] = {
            "title": bool(self.title),
            "overview": bool(self.overview),
            "steps": steps,
            "files": files or bool(self.files),
            "verification": self.verifies,
        }
        return tuple(part for part, said in there.items() if not said)


def plan_structure(text: bytes) -> PlanStructure:
    """Reads the structure of a plan's Markdown."""
    lines = list(markdown_lines(text))
    title = _title(lines)
    bodies: dict[SectionKind, list[str]] = {kind: [] for kind in SECTION_KINDS}
    files: dict[str, None] = {}
    intro: list[str] = []
    for line in section_lines(lines):
        for kind in line.kinds:
            bodies[kind].append(line.text)
        if "files" in line.kinds and (_MARKER.match(line.text) or line.text.lstrip()[:1] == "|"):
            files.update(dict.fromkeys(_named_files(line.text)))
        if line.heading <= (1 if title else 0):
            intro.append(line.text)
    found = {kind: said for kind, body in bodies.items() if (said := _said(body))}
    first = _said([line for line in intro if not _MARKER.match(line)])
    if "overview" not in found and first:
        found["overview"] = first
    template = _is_placeholder(bodies["steps"], "") and _is_placeholder(
        bodies["tests"], HOW_TO_VERIFY
    )
    return PlanStructure(title.text if title else "", tuple(files), found, template)


def markdown_lines(text: bytes) -> Iterator[MarkdownLine]:
    """Yields the lines of a Markdown text outside front matter, code fences and comments.

    A fence or comment that is not closed reaches to the end.
    """
    lines = _LINE_END.split(text.decode("utf-8", "backslashreplace").removeprefix("\ufeff"))
    fence, comment, skip = "", False, -1
    for at in range(_after_front_matter(lines), len(lines)):
        line = lines[at]
        bare = line.strip(" \t")
        if at == skip:
            continue
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif comment or bare.startswith("<!--"):
            comment = "-->" not in bare
        elif mark := _fence(bare):
            fence = mark
        elif (heading := _heading(line)) is not None:
            yield MarkdownLine(at + 1, *heading)
        elif level := _underlined(line, bare, lines[at + 1] if at + 1 < len(lines) else ""):
            skip = at + 1
            yield MarkdownLine(at + 1, bare, level)
        else:
            yield MarkdownLine(at + 1, line)


def section_lines(lines: Sequence[MarkdownLine]) -> Iterator[SectionLine]:
    """Yields the lines between headings, each with the section that it is in."""
    title = _title(lines)
    none: frozenset[SectionKind] = frozenset()
    # The kinds of a heading count for those below it, until they have their own.
    above: list[tuple[int, frozenset[SectionKind]]] = [(0, none)]
    heading, group = 0, ""
    for line in lines:
        if line.level:
            heading, group = heading + 1, line.text
            while above[-1][0] >= line.level:
                above.pop()
            own = none if line is title else section_kinds(line.text)
            above.append((line.level, own or above[-1][1]))
        else:
            yield SectionLine(line.number, line.text, heading, group, above[-1][1])


def section_kinds(heading: str) -> frozenset[SectionKind]:
    """Returns what kinds of section a heading names; `Tests and rollback` names two."""
    words = " ".join(heading.replace("*", "").replace("_", " ").replace("`", "").split()).casefold()
    start = next((at for at, char in enumerate(words) if char.isalnum()), 0)
    words = words[start:]  # without a sign or picture
    if _PHASE.match(words):
        return frozenset({"steps"})
    words = _NUMBER.sub("", words, count=1) if _NUMBER.match(words) else words
    words = words.rstrip(" .:!?")
    parts = [words, *map(str.strip, _BETWEEN.split(words))]
    return frozenset(_KIND_OF[part] for part in parts if part in _KIND_OF)


def named_words(text: str) -> Iterator[str]:
    """Yields everything in a text that could be a path or a command: code spans, and words."""
    for span in _SPAN.findall(text):
        yield span.strip()
    for word in text.split():
        yield word
        bare = word.strip(_AROUND)
        yield bare.rstrip(".") or bare
        yield from _bare_words(word)


def named_paths(text: str) -> tuple[str, ...]:
    """Returns what looks like the path of a file: a code span with a `/`, or an extension."""
    spans = [_without_place(span.strip()) for span in _SPAN.findall(text)]
    found = [span for span in spans if "/" in span or _is_file(span)]
    words = [bare for word in _SPAN.sub(" ", text).split() for bare in _bare_words(word)]
    found += [word for word in words if _is_file(word)]
    return tuple(dict.fromkeys(path for path in found if path and _is_plain(path)))


def _bare_words(word: str) -> Iterator[str]:
    """Yields a word, or both parts of a link, without emphasis, punctuation and line number."""
    for part in word.split("](", 1):
        bare = part.lstrip(_AROUND).rstrip(_AROUND + ".")
        if bare.startswith("_") and bare.endswith("_"):
            bare = bare.strip("_")
        yield _without_place(bare)


def _without_place(path: str) -> str:
    place = _PLACE.search(path, max(len(path) - LONGEST_PLACE, 0))
    return path[: place.start()] if place else path


def _named_files(line: str) -> Iterable[str]:
    """Returns the files that an item of a list or a row of a table names."""
    if found := named_paths(line):
        return found
    words = _without_marker(line).strip(" \t|").split()
    first = words[0].strip(_AROUND) if words else ""
    # A name without an extension, such as Makefile; a sentence is none.
    return [first] if first and (len(words) == 1 or "/" in first) and _is_plain(first) else []


def _is_plain(word: str) -> bool:
    return "://" not in word and not any(char.isspace() for char in word)


def _is_file(word: str) -> bool:
    return bool(_EXTENSION.search(word[-12:])) and _is_plain(word)


def _title(lines: Sequence[MarkdownLine]) -> MarkdownLine | None:
    """Returns the first heading, unless it names a section and nothing shows that it is more."""
    headings = [line for line in lines if line.level]
    if not headings or not headings[0].text:
        return None
    first = headings[0]
    others = [line.level for line in headings[1:]]
    above = first.level == 1 and bool(others) and 1 not in others  # all others are below it
    return first if above or not section_kinds(first.text) else None


def _said(body: Sequence[str]) -> str:
    """Returns the text of a section; empty if it is blank or only holds a place."""
    if all({_bare(line), _bare(line).rstrip(".")} & _NOTHING_SAID for line in body):
        return ""
    return "\n".join(body).strip("\n")


def _is_placeholder(body: Sequence[str], words: str) -> bool:
    """Tells whether a section has nothing but a check box with these words."""
    said = [line for line in body if line.strip()]
    return len(said) == 1 and bool(_MARKER.match(said[0])) and _bare(said[0]) == words.casefold()


def _bare(line: str) -> str:
    """Returns a line without the marker of a list and a check box, in lower case."""
    return _without_marker(line).strip().casefold()


def _without_marker(line: str) -> str:
    for mark in (_MARKER, _BOX):
        match = mark.match(line)
        line = line[match.end() :] if match else line
    return line


def _after_front_matter(lines: Sequence[str]) -> int:
    if lines[0].rstrip() != "---":
        return 0
    ends = (at for at, line in enumerate(lines) if at and line.rstrip() in ("---", "..."))
    return next(ends, -1) + 1


def _fence(bare: str) -> str:
    """Returns the signs that open a code fence, if a line does that."""
    sign = bare[:1]
    if sign not in ("`", "~"):
        return ""
    rest = bare.lstrip(sign)
    count = len(bare) - len(rest)
    return sign * count if count >= FENCE and (sign == "~" or "`" not in rest) else ""


def _heading(line: str) -> tuple[str, int] | None:
    """Returns the text and level of a heading that begins with `#`."""
    bare = line.lstrip(" ")
    if bare[:1] != "#" or line.startswith(INDENT):
        return None
    rest = bare.lstrip("#")
    level = len(bare) - len(rest)
    if level > DEEPEST or rest[:1] not in ("", " ", "\t"):
        return None
    words = rest.strip()
    closed = words.rstrip("#")
    return (closed.rstrip() if closed[-1:] in ("", " ", "\t") else words), level


def _underlined(line: str, bare: str, below: str) -> int:
    """Returns the level of a heading that is underlined with `=` or `-`; 0: it is none."""
    sign = below.strip(" \t")[:1]
    if sign not in ("=", "-") or below.strip(" \t").strip(sign) or below.startswith(INDENT):
        return 0
    paragraph = (
        bare and not line.startswith(INDENT) and bare[0] not in ">|#" and not _MARKER.match(line)
    )
    return (1 if sign == "=" else 2) if paragraph else 0
