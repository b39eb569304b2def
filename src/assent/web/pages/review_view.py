"""The review as a page shows it: what is risky first, every operation in full, and the comments."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from assent.core.paths import ancestors, display_path
from assent.core.plan.comment import PlacedComment, in_threads, location_text
from assent.core.plan.operation import (
    MODEL_RISKS,
    RISK_CODES,
    RISK_LEVELS,
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.session.event import RiskLevel
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.core.text.secrets import redact
from assent.render.comments import commentable_part, is_suggested
from assent.render.diff_view import FileDiff, diff_view, unfolded
from assent.render.lines import Span, counted
from assent.render.plan_source import plan_source
from assent.render.review import OperationReview, Review, diff_line_counts, reviewed_mark
from assent.render.rows import command_lines, operation_subject, operation_verb
from assent.web.pages.diff_html import (
    LinkTo,
    OpenFold,
    Said,
    source_table,
    split_table,
    unified_table,
)
from assent.web.pages.templates import environment

IMAGES: Final = {
    b"png": "image/png", b"jpg": "image/jpeg", b"jpeg": "image/jpeg", b"gif": "image/gif",
    b"webp": "image/webp",
}  # fmt: skip
SHORT: Final = 12  # characters of an operation's id, enough to name it by
LEVELS: Final[tuple[RiskLevel, ...]] = ("high", "medium", "low")


class CommentView(msgspec.Struct, frozen=True):
    """A comment as it stands below its lines, or in the list of all."""

    number: int
    id: str
    text: str
    place: str
    on: str  # the part that it is about: `plan`, or the id of an operation
    last: int  # line of that part; 0: all of it
    author: str  # a critic's model; empty: a person
    severity: str
    is_suggested: bool  # by a critic, and not kept
    is_gone: bool  # its lines are not there any more
    is_moved: bool
    quote: tuple[str, ...]
    head: int = 0  # number of the comment that it replies to


class RiskView(msgspec.Struct, frozen=True):
    """A kind of risk, with the places where it was found."""

    code: str
    level: RiskLevel
    meaning: str
    places: tuple[tuple[str, str], ...]  # the id of an operation, if it is one, and its words


class ImageView(msgspec.Struct, frozen=True):
    """One side of a change of a picture."""

    side: str
    words: str


class OpenedLines(msgspec.Struct, frozen=True):
    """Unchanged lines of a file that are shown as well, and the whole new file."""

    lines: tuple[range, ...]
    content: str


class OperationView(msgspec.Struct, frozen=True):
    """An operation with everything that is shown of it."""

    number: int
    id: str
    kind: str
    subject: str
    review: OperationReview
    mark: str
    added: int
    removed: int
    body: tuple[Markup, ...]  # tables of its lines
    about: tuple[str, ...] = ()  # modes and renames
    facts: tuple[tuple[str, str], ...] = ()  # of contents that are not text
    images: tuple[ImageView, ...] = ()
    prunes: str = ""
    comments: tuple[CommentView, ...] = ()

    @property
    def short(self) -> str:
        """As much of its id as names it."""
        return self.id[:SHORT]


def comment_views(comments: Sequence[PlacedComment]) -> list[CommentView]:
    """Returns the comments of a review, each with its replies right after it."""
    return [
        CommentView(
            number,
            placed.comment.id,
            redact(placed.comment.text).strip("\n"),
            location_text(placed),
            placed.anchor.operation or "plan",
            placed.anchor.last,
            placed.comment.model if placed.comment.author == "critic" else "",
            placed.comment.severity,
            is_suggested(placed),
            placed.standing == "gone",
            placed.standing == "moved",
            tuple(placed.anchor.quote),
            head,
        )
        for number, placed, head in map(msgspec.structs.astuple, in_threads(comments))
    ]


def comments_below(
    comments: Iterable[CommentView], on: str, render: Callable[[Sequence[CommentView]], Markup]
) -> dict[int, Markup]:
    """Returns the threads of a part, by the line that each stands below; 0: about all of it."""
    threads: dict[int, list[CommentView]] = {}
    for one in comments:
        if one.on == on and not one.is_gone:
            threads.setdefault(one.last, []).append(one)
    return {line: render(thread) for line, thread in threads.items()}


def risk_views(review: Review) -> list[RiskView]:
    """Returns the risks of a whole plan, the most severe first, each with its places."""
    places: dict[str, list[tuple[str, str]]] = {}
    for code in review.risks:
        where = ", ".join(review.scope.files) if code in MODEL_RISKS else "the plan text"
        places.setdefault(code, []).append(("", visible_line(where)))
    for number, one in enumerate(review.operations, 1):
        for code in one.risks:
            words = f"{number}. {operation_verb(one.op)} {operation_subject(one.op)}"
            places.setdefault(code, []).append((one.id, words))
    found = [
        RiskView(code, RISK_LEVELS[code], RISK_CODES[code], tuple(places[code]))
        for code in RISK_CODES
        if code in places
    ]
    for level in ("high", "medium"):
        only = [
            (one.id, f"{number}. {operation_verb(one.op)} {operation_subject(one.op)}")
            for number, one in enumerate(review.operations, 1)
            if one.risk == level and not one.risks
        ]
        if only:
            found.append(RiskView(f"{level} risk", level, "A command; see why below.", tuple(only)))
    return sorted(found, key=lambda one: LEVELS.index(one.level))


def text_table(text: bytes, said: Said, link: LinkTo) -> Markup:
    """Returns a plan's text with every character of it, under the numbers that comments name."""
    return source_table(plan_source(display_path(text)), said, link)


def operation_view(
    number: int,
    review: Review,
    one: OperationReview,
    said: Mapping[int, Markup],
    link: LinkTo,
    *,
    split: bool = False,
    comments: tuple[CommentView, ...] = (),
    unfold: OpenFold | None = None,
    opened: OpenedLines | None = None,
) -> OperationView:
    """Returns an operation as it is shown; `unfold` leads to the lines that a diff leaves out."""
    op = one.op
    added, removed = diff_line_counts(one.diff)
    files = diff_view(one.diff) if one.diff else []
    if opened:
        files = [unfolded(file, opened.content, opened.lines) for file in files]
    table = split_table if split else unified_table
    body = [table(file, said, link, unfold) for file in files if file.rows]
    facts: tuple[tuple[str, str], ...] = ()
    images: tuple[ImageView, ...] = ()
    if isinstance(op, RunCommand):
        lines = commentable_part(command_lines(op, one.unheld)).lines
        body = [source_table([(Span(line),) if line else () for line in lines], said, link)]
    elif one.diff is None:
        (path, before, after), *_ = footprint(op)
        facts = (("Before", _state(before)), ("After", _state(after)))
        images = tuple(_images(path, before, after))
    pruned = ancestors(op.path)[: op.prune] if isinstance(op, DeleteFile | MoveFile) else ()
    return OperationView(
        number,
        one.id,
        operation_verb(op),
        operation_subject(op),
        one,
        reviewed_mark(review, one).removeprefix(", "),
        added,
        removed,
        tuple(body),
        tuple(_about(files)),
        facts,
        images,
        ", ".join(map(visible_path, pruned)),
        comments,
    )


def has_folds(op: Operation) -> bool:
    """Tells whether the diff of an operation can leave out lines: it edits a file."""
    return (
        isinstance(op, WriteFile)
        and op.before is not None
        and op.before.kind == op.after.kind == "file"
    )


def image_type(path: bytes) -> str:
    """Returns the type of a picture that browsers show, by its name; empty for anything else."""
    return IMAGES.get(path.rpartition(b".")[2].lower(), "")


def thread_html(thread: Sequence[CommentView], values: Mapping[str, object]) -> Markup:
    """Returns comments that stand below one line."""
    template = environment().get_template("plan_thread.html")
    return Markup(template.render({**values, "thread": thread}))


def _about(files: Iterable[FileDiff]) -> Iterator[str]:
    for file in files:
        yield from file.about


def _state(state: FileState | None) -> str:
    if state is None:
        return "nothing"
    return f"{counted(state.size, 'byte')}, {state.kind} {state.mode:o}, sha256 {state.digest}"


def _images(path: bytes, before: FileState | None, after: FileState | None) -> Iterator[ImageView]:
    if not image_type(path):
        return
    for side, state in (("before", before), ("after", after)):
        if state is not None and state.kind == "file":
            yield ImageView(side, f"{visible_path(path)} {side}, {counted(state.size, 'byte')}")
