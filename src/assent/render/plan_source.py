"""Plan source: a plan's text as it is decided about, with every character, styled as Markdown.

The lines are those of `untrusted_lines`. Nothing is left out, moved or joined: the signs of
Markdown are dimmed, front matter and comments are shown, links stand with their targets.
"""

from collections.abc import Iterator, Sequence

from assent.core.text.hidden_chars import fold_long, visible
from assent.render.lines import (
    GUTTER,
    Line,
    Role,
    Span,
    Spans,
    merged_spans,
    spans_text,
    with_hidden_marked,
)
from assent.render.markdown import MarkdownReader, SourceLine, inline_spans
from assent.render.syntax import HighlightTime, code_spans, language_named

_GUTTER = Span(GUTTER, "gutter")


def plan_source_lines(text: str, time: HighlightTime | None = None) -> Iterator[Line]:
    """Renders a plan's text as lines with spans, in full, with a gutter."""
    for spans in plan_source(text, time):
        for piece in _folded(spans):
            yield Line("plain", GUTTER + spans_text(piece), (_GUTTER, *piece))


def plan_source(text: str, time: HighlightTime | None = None) -> list[Spans]:
    """Returns the spans of each line of a plan's text, in which hidden characters are visible."""
    return source_spans(visible(text).removesuffix("\n").split("\n"), front=True, time=time)


def source_spans(
    lines: Sequence[str], *, front: bool = False, time: HighlightTime | None = None
) -> list[Spans]:
    """Returns the spans of lines of Markdown, which are safe text; each makes up its line."""
    time = time or HighlightTime()  # for all code in it: there may be any number of fences
    reader = MarkdownReader(front=front)
    found: list[Spans] = []
    code: list[str] = []
    language = ""
    for line in lines:
        read = reader.read(line)
        if read.kind == "code":
            code.append(line)
            continue
        if code:
            found += code_spans(code, language, time)
            code = []
        language = language_named(read.language)
        found.append(with_hidden_marked(_spans(read)))
    return [*found, *code_spans(code, language, time)] if code else found


def _spans(read: SourceLine) -> Spans:
    lead = Span(read.lead, "quote" if ">" in read.lead else "plain")
    sign = Span(read.sign, "marker")
    return merged_spans((lead, sign, *_rest(read)))


def _rest(read: SourceLine) -> Spans:
    match read.kind:
        case "heading":
            return inline_spans(read.rest, "heading")
        case "comment":
            return (Span(read.rest, "comment"),)
        case "front":
            key, colon, value = read.rest.partition(":")
            role: Role = "tag" if colon else "plain"
            return (Span(key, role), Span(colon, "marker"), Span(value))
        case "table":
            cells = read.rest.split("|")
            first, *others = [inline_spans(cell) for cell in cells]
            bar = Span("|", "marker")
            return (*first, *(span for cell in others for span in (bar, *cell)))
        case _:
            quoted = ">" in read.lead
            return inline_spans(read.rest, "quote" if quoted else "plain")


def _folded(spans: Spans) -> Iterator[Spans]:
    """Yields the pieces of a very long line; they are plain, as no one reads such a line."""
    text = spans_text(spans)
    pieces = fold_long(text)
    if len(pieces) == 1:
        yield spans
        return
    for piece in pieces:
        yield with_hidden_marked((Span(piece),))
