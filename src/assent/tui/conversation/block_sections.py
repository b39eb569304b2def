"""Renders the blocks of a conversation as sections of lines.

Nothing that was said is hidden. What the model wrote is indented, so that it cannot look like one
of our own lines.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from assent.core.llm import TokenUsage
from assent.core.session.question import question_topic, read_permission_answer
from assent.core.text.hidden_chars import fold_long, visible_line, visible_text
from assent.render.diff_view import SIGN, DiffRow, NumberedDiff
from assent.render.estimate import dollars_text
from assent.render.lines import BLANK, Line, Span, Spans, Style, merged_spans, spans_text
from assent.render.rendered_markdown import INDENT, MarkdownRenderer
from assent.render.review import diff_line_counts
from assent.tui.conversation.blocks import (
    AssistantMessageBlock,
    Block,
    CallState,
    ChildSessionBlock,
    NoteBlock,
    QuestionBlock,
    ReasoningBlock,
    RemovedBlock,
    ScreenNoteBlock,
    ToolCallBlock,
    TurnEndBlock,
    UserMessageBlock,
    answered_by,
    call_text,
)
from assent.tui.line_view import NO_ROW, Section

Full: TypeAlias = Callable[[str], str]
Patch: TypeAlias = Callable[[ToolCallBlock], str]

INNER: Final = "    "
SOON: Final = 0.05  # seconds of a thought below which no time is shown
UNFOLD: Final = "Ctrl+O"
CENT: Final = 0.01
THOUSAND, MILLION = 1_000, 1_000_000
MINUTE: Final = 60
EXACTLY: Final = 10  # seconds up to which tenths are shown
INSTANT: Final = 0.1
_SIGNS: Final[dict[CallState, tuple[str, Style]]] = {
    "pending": ("○", "dim"),
    "running": ("▸", "plain"),
    "completed": ("✓", "plain"),
    "error": ("✗", "risk"),
    "declined": ("✗", "plain"),
}
MAX_FOLDED_ROWS: Final = 8  # of an edit,
MAX_FOLDED_CHARS: Final = 160  # of each,
MAX_READ_LINES: Final = 200  # and of its patch
CUT: Final = "…"
_HUNK: Final = re.compile(r"^@@ .*(?:\n[-+ ].*|\n… .*)*\n?", re.MULTILINE)  # in a result
WAITS: Final = "waits for your answer"
_RESTS: Final = {  # how a session that works for another ended
    "end": "finished",
    "presented": "presented its plan",
    "limit": "stopped: request limit reached",
    "budget": "stopped: budget used up",
    "waiting": "waiting for an answer",
    "declined": "stopped: you denied permission",
}
_ENDS: Final = {
    "presented": "Plan ready for review.",
    "limit": "Turn stopped: request limit reached.",
    "budget": "Turn stopped: budget used up.",
    "interrupted": "Turn interrupted.",
    "failed": "Turn failed.",
    "declined": "Turn stopped: you denied permission.",
    "waiting": "Waiting for an answer.",
    "paused": "Session paused.",
    "cancelled": "Session cancelled.",
}

SAID: Final = ("interrupted", "declined")  # ends whose own words say all of it


class IndentedColors(msgspec.Struct, frozen=True):
    """The colors of the rows of a diff below the call that made it, each to a length at most."""

    diff: NumberedDiff
    most: int

    def spans(self, at: int) -> Spans:
        """Returns the spans of a row."""
        return Span(INNER), *_cut_spans(self.diff.spans(at), self.most)


def _cut_spans(spans: Spans, most: int) -> Spans:
    """Returns spans up to a length, with a sign where they are cut."""
    if len(spans_text(spans)) <= most:
        return spans
    found: list[Span] = []
    for span in spans:
        found.append(Span(span.text[:most], span.role, span.changed))
        most -= len(found[-1].text)
    return merged_spans((*found, Span(CUT, "gutter")))


def no_edits(block: ToolCallBlock) -> str:
    """Returns no patch, where none is known."""
    return ""


def block_section(
    block: Block, full: Full, patch: Patch = no_edits, *, unfolded: bool = False
) -> Section:
    """Returns a block as a section; folded, unless its full text is requested."""
    if isinstance(block, ToolCallBlock) and block.edits and (changed := patch(block)):
        if unfolded:
            return _unfolded_edit(block, NumberedDiff(changed), full(block.key))
        return _folded_edit(block, changed)
    return Section(block.key, tuple(_lines(block, full, unfolded)))


def _folded_edit(block: ToolCallBlock, patch: str) -> Section:
    """Returns a call with the first rows of what it changed in files, and how many are left out.

    Only the beginning of a long patch is read: this is rendered between two keys.
    """
    head = patch.split("\n", MAX_READ_LINES)
    diff = NumberedDiff("\n".join(head[:MAX_READ_LINES]))
    files = 1 + patch.count("\ndiff --git ")
    plus, minus = diff_line_counts(patch)
    counts = " ".join([f"+{plus}"] * bool(plus) + [f"-{minus}"] * bool(minus))
    about = plural(files, "file") if files > 1 else " · ".join([counts, diff.files[0].news])
    rows = _folded_rows(diff)
    shown = rows[:MAX_FOLDED_ROWS]
    changed = [at for at in shown if _row(diff, at).kind != "context"]
    more = max(plus + minus - len(changed), 0)
    left_out = [Line("dim", f"{INNER}… {plural(more, 'more line')} ({UNFOLD})")] if more else []
    lines = [_call_line(block, about.strip(" ·"))]
    return _edit_section(block, diff, lines, shown, left_out, MAX_FOLDED_CHARS)


def _unfolded_edit(block: ToolCallBlock, diff: NumberedDiff, result: str) -> Section:
    """Returns a call with all that it changed in files, and what else its result says."""
    several = len(diff.files) > 1
    about = plural(len(diff.files), "file") if several else diff.summaries[0]
    decided = [_decided_line(block)] if block.decided else []
    lines = [_call_line(block, about), *decided]
    told = _quoted(_HUNK.sub("", result))
    return _edit_section(block, diff, lines, range(len(diff.rows)), told, sys.maxsize)


def _edit_section(
    block: ToolCallBlock,
    diff: NumberedDiff,
    above: Sequence[Line],
    shown: Sequence[int],
    below: Iterable[Line],
    most: int,
) -> Section:
    """Returns rows of a diff as those of a review, with the name of each file if there are more."""
    lines, places, last = [*above], [NO_ROW] * len(above), NO_ROW
    rows = diff.lines()
    for at in shown:
        file = diff.rows[at][0]
        if len(diff.files) > 1 and file != last:
            of = diff.files[file]
            lines.append(Line("dim", " · ".join(filter(None, [INNER + of.name, of.summary]))))
            places.append(NO_ROW)
        last, text = file, rows[at].text
        text = text if len(text) <= most else text[:most] + CUT
        lines.append(Line(rows[at].style, INNER + text))
        places.append(at)
    lines += below
    places += [NO_ROW] * (len(lines) - len(places))
    colors = IndentedColors(diff, most)
    return Section(block.key, tuple(lines), colors=colors, places=tuple(places))


def _folded_rows(diff: NumberedDiff) -> list[int]:
    """Returns the rows of a diff that changed, and those beside them."""
    every = [(diff.rows[at][0], _row(diff, at)) for at in range(len(diff.rows))]
    changed = [file if row.kind in SIGN else NO_ROW for file, row in every]  # in which file
    return [
        at
        for at, (file, row) in enumerate(every)
        if row.is_code and not row.is_continued and file in changed[max(at - 1, 0) : at + 2]
    ]


def _row(diff: NumberedDiff, at: int) -> DiffRow:
    file, number = diff.rows[at]
    return diff.files[file].rows[number]


class BlockRenderer:
    """Renders blocks as they change; a streaming message goes on where it was rendered last."""

    def __init__(self) -> None:
        self._speech = ("", MarkdownRenderer())  # of the block with that key

    def section(
        self, block: Block, full: Full, patch: Patch = no_edits, *, unfolded: bool
    ) -> Section:
        """Returns a block as a section, as it is now."""
        if not isinstance(block, AssistantMessageBlock) or not block.live:
            return block_section(block, full, patch, unfolded=unfolded)
        if self._speech[0] != block.key:
            self._speech = (block.key, MarkdownRenderer())
        return Section(block.key, tuple(_spoken(block, self._speech[1])))


def is_foldable(block: Block) -> bool:
    """Tells whether a block has more to show than it does when folded."""
    match block:
        case ReasoningBlock(lines=lines) | ToolCallBlock(lines=lines) | NoteBlock(lines=lines):
            return lines > 0
        case ChildSessionBlock(calls=calls):
            return len(calls) > 1
        case _:
            return False


def notice_section(key: str, lines: Iterable[Line]) -> Section:
    """Returns a note of the screen itself as a section."""
    return Section(key, (BLANK, *map(_indented, lines)))


def _indented(line: Line) -> Line:
    spans = (Span(INDENT), *line.spans) if line.spans else ()
    return Line(line.style, INDENT + line.text, spans)


def _lines(block: Block, full: Full, unfolded: bool) -> Iterator[Line]:
    match block:
        case UserMessageBlock():
            yield BLANK
            yield from _said(block)
        case AssistantMessageBlock():
            yield from _spoken(block, MarkdownRenderer())
        case ReasoningBlock():
            yield BLANK
            yield from _thought(block, full, unfolded)
        case ToolCallBlock(tool="question", state=state) if state != "error" and not unfolded:
            pass  # the question itself is shown, and its answer
        case ToolCallBlock():
            yield from _called(block, full, unfolded)
        case QuestionBlock(state="open") if not unfolded:
            pass  # it is below the conversation
        case QuestionBlock(state="answered") if _is_of_gate(block) and not unfolded:
            yield from _decided(block)
        case QuestionBlock():
            yield BLANK
            yield from _asked(block)
        case _:
            yield from _others(block, full, unfolded)


def _others(block: Block, full: Full, unfolded: bool) -> Iterator[Line]:
    match block:
        case ChildSessionBlock():
            yield from _child(block, unfolded)
        case NoteBlock():
            yield from _note(block, full, unfolded)
        case ScreenNoteBlock(lines=lines):
            yield from notice_section(block.key, lines).lines if lines else ()
        case TurnEndBlock():
            yield from _ended(block)
        case RemovedBlock():
            pass
        case _:
            raise TypeError(f"no view for {type(block).__name__}")


def _spoken(block: AssistantMessageBlock, speech: MarkdownRenderer) -> list[Line]:
    going_on = [Line("dim", f"{INDENT}…")] if block.live else []
    return [BLANK, *speech.lines(block.text), *going_on]


def _said(block: UserMessageBlock) -> Iterator[Line]:
    sign = "> "
    for line in visible_text(block.text).strip("\n").split("\n"):
        for piece in fold_long(line):
            yield Line("said", sign + piece)
            sign = INDENT
    if block.pictures:
        yield Line("dim", f"{INDENT}[{plural(block.pictures, 'picture')}]")


def _thought(block: ReasoningBlock, full: Full, unfolded: bool) -> Iterator[Line]:
    took = f" for {duration_text(block.seconds)}" if block.seconds >= SOON else ""
    if unfolded:
        yield Line("dim", f"{INDENT}~ {'thinking' if block.live else 'thought'}{took}:")
        yield from _quoted(full(block.key))
    elif block.live:
        yield Line("dim", f"{INDENT}~ thinking…")
        yield from _quoted(block.brief)
    else:
        more = f" ({plural(block.lines, 'line')}, {UNFOLD})" if block.lines > 1 else ""
        yield Line("dim", f"{INDENT}~ thought{took}: {visible_line(block.brief)}{more}")


def _called(block: ToolCallBlock, full: Full, unfolded: bool) -> Iterator[Line]:
    yield _call_line(block)
    if unfolded:
        if block.decided:
            yield _decided_line(block)
        yield from _quoted(full(block.key))
    elif block.brief:
        first, *rest = block.brief.split("\n")
        shown = 1 + len(rest)
        more = f" ({plural(block.lines, 'line')}, {UNFOLD})" if block.lines > shown else ""
        yield Line("dim", f"{INNER}└ {visible_line(first)}{more if shown == 1 else ''}")
        for at, line in enumerate(rest, 2):
            yield Line("dim", f"{INNER}  {visible_line(line)}{more if at == shown else ''}")


def _call_line(block: ToolCallBlock, about: str = "") -> Line:
    """Returns the line that names a call, with what it changed, its state and how long it took."""
    sign, style = _SIGNS[block.state]
    state: str = "failed" if block.state == "error" else block.state
    if block.waits and state in ("pending", "running"):
        state = WAITS
    timed = block.seconds >= INSTANT and block.state != "declined"
    parts = [
        visible_line(call_text(block)),
        about,
        state if block.state != "completed" else "",
        "staged" if block.state == "completed" and block.verdict == "stage" else "",
        visible_line(block.allowed),
        duration_text(block.seconds) if timed else "",
    ]
    return Line(style, f"{INDENT}{sign} {' · '.join(filter(None, parts))}")


def _decided_line(block: ToolCallBlock) -> Line:
    return Line("dim", f"{INNER}└ decided by {visible_line(block.decided)}")


def _is_of_gate(block: QuestionBlock) -> bool:
    """Tells whether it is about a permission: what it is about is mostly said by its call."""
    return all(question.by == "gate" for question in block.questions)


def _decided(block: QuestionBlock) -> Iterator[Line]:
    """Yields what the call does not say: the words of a denial, and what a child was answered."""
    answers = [read_permission_answer(one, block.answers) for one in block.questions]
    if not block.of_call:
        yield from _questions(block)
        yield from _answer(block)
    elif any(answer.words for answer in answers):
        yield from _answer(block)


def _questions(block: QuestionBlock) -> Iterator[Line]:
    who = f"{visible_line(block.child)} asks: " if block.child else ""
    for question in block.questions:
        topic = question_topic(question)
        about = f"{visible_line(topic)}: " if topic else ""
        yield Line("heading", f"{INDENT}? {who}{about}{visible_line(question.question)}")


def _asked(block: QuestionBlock) -> Iterator[Line]:
    yield from _questions(block)
    match block.state:
        case "open":
            pass  # it is below the conversation, and the activity says that it waits
        case "unanswered":
            yield Line("dim", f"{INNER}no answer; treated as no")
        case "answered":
            yield from _answer(block)


def _answer(block: QuestionBlock) -> Iterator[Line]:
    words = "; ".join([", ".join([each.strip() for each in answer]) for answer in block.answers])
    by = visible_line(answered_by(block.by))
    *lines, last = visible_text(words).strip("\n").split("\n")
    yield from (Line("said", f"{INNER}{piece}") for line in lines for piece in fold_long(line))
    *pieces, end = fold_long(last)
    yield from (Line("said", f"{INNER}{piece}") for piece in pieces)
    yield Line("said", f"{INNER}{end or 'no'}{by}")


def _child(block: ChildSessionBlock, unfolded: bool) -> Iterator[Line]:
    state = _RESTS.get(block.ended, block.ended) if block.ended else "working"
    behind = ", in the background" if block.background else ""
    calls = f", {plural(len(block.calls), 'call')}" if block.calls else ""
    title = visible_line(block.title)
    yield Line("plain", f"{INDENT}◆ {visible_line(block.name)}: {title} · {state}{behind}{calls}")
    for call in block.calls if unfolded else block.calls[-1:]:
        yield Line("dim", f"{INNER}· {visible_line(call)}")
    if block.ended and block.words:
        yield Line("dim", f"{INNER}└ {visible_line(block.words)}")


def _note(block: NoteBlock, full: Full, unfolded: bool) -> Iterator[Line]:
    more = f" ({UNFOLD})" if block.lines and not unfolded else ""
    yield Line("dim", f"{INDENT}· {visible_line(block.words)}{more}")
    if unfolded and block.lines:
        yield from _quoted(full(block.key))


def _ended(block: TurnEndBlock) -> Iterator[Line]:
    goes_on = block.why == "waiting" and not block.words  # for an answer that is there by now
    if block.why in _ENDS and not goes_on:
        style: Style = "heading" if block.why == "presented" else "plain"
        words = visible_line(block.words)
        own = "" if words and block.why in SAID else f"{_ENDS[block.why]} "
        yield BLANK
        yield Line(style, f"{INDENT}{own}{words}".rstrip())
    if told := usage_text(block.usage, block.cost, block.seconds):
        yield Line("dim", f"{INDENT}{told}")


def _quoted(text: str) -> Iterator[Line]:
    for line in visible_text(text).strip("\n").split("\n"):
        for piece in fold_long(line):
            yield Line("dim", f"{INNER}│ {piece}")


def usage_text(usage: TokenUsage, cost: float | None, took: float) -> str:
    """Returns usage as text: tokens in and out, cost if known, and time."""
    if not usage.input and not usage.output:
        return ""
    cached = f" ({short_token_count(usage.cache_read)} cached)" if usage.cache_read else ""
    thought = f" ({short_token_count(usage.reasoning)} thinking)" if usage.reasoning else ""
    tokens = (
        f"{short_token_count(usage.input)} in{cached}, "
        f"{short_token_count(usage.output)} out{thought}"
    )
    paid = cost_text(cost)
    return " · ".join(filter(None, [tokens, paid, duration_text(took) if took else ""]))


def short_token_count(tokens: int) -> str:
    """Returns a number of tokens in short form."""
    if tokens < THOUSAND:
        return str(tokens)
    return f"{tokens / THOUSAND:.1f}k" if tokens < MILLION else f"{tokens / MILLION:.1f}M"


def cost_text(cost: float | None) -> str:
    """Returns a cost in dollars; an unknown one is never free, and none is $0.00."""
    if cost is None:
        return "cost unknown"
    if not cost:
        return "free"
    return dollars_text(cost) if cost < CENT else f"${cost:.2f}"


def duration_text(took: float) -> str:
    """Returns a duration in readable form."""
    if took < MINUTE:
        return f"{took:.1f} s" if took < EXACTLY else f"{took:.0f} s"
    return f"{took // MINUTE:.0f} min {took % MINUTE:.0f} s"


def plural(number: int, what: str) -> str:
    """Returns a count with its noun in singular or plural."""
    return f"{number} {what}{'' if number == 1 else 's'}"
