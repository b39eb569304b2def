"""Options: two or three plans next to each other, what differs first, as lines and as JSON."""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Final

import msgspec

from assent.core.plan.comment import Critique
from assent.core.plan.operation import RISK_CODES, STRUCTURE_RISKS, footprint
from assent.core.plan.option import OptionOperation, compare_operations
from assent.core.plan.steps import MAX_SCORE
from assent.core.text.hidden_chars import visible_line
from assent.render.estimate import estimate_text
from assent.render.lines import BLANK, Line, Style, table_lines, wrapped_lines
from assent.render.review import Review, diff_line_counts
from assent.render.rows import (
    Row,
    estimate_row,
    operation_brief,
    operation_kinds_text,
    operation_row,
    operation_verb,
)
from assent.render.status import critique_row

MAX_TITLE_CHARS: Final = 32  # of a title or a label in a column
LONG: Final = 400  # of what a text says
SHORT: Final = 12  # characters of a digest
MAX_NUMBERS: Final = 5  # operations named for one risk


class OptionComparison(msgspec.Struct, frozen=True):
    """Reviews of the options that a user can choose from, and the operations of all of them."""

    reviews: tuple[Review, ...]
    operations: tuple[OptionOperation, ...]

    @property
    def differing(self) -> list[OptionOperation]:
        """What only some options do, what concerns one path together."""
        found = [one for one in self.operations if not one.is_common]
        places = [_subject(one) for one in found]
        return sorted(found, key=lambda one: places.index(_subject(one)))

    @property
    def common(self) -> list[OptionOperation]:
        """What every option does."""
        return [one for one in self.operations if one.is_common]


def compare_options(reviews: Sequence[Review]) -> OptionComparison:
    """Returns options next to each other."""
    plans = [[each.op for each in review.operations] for review in reviews]
    return OptionComparison(tuple(reviews), compare_operations(plans))


def comparison_lines(found: OptionComparison, *, commands: bool = True) -> Iterator[Line]:
    """Renders options side by side: what differs first, then what they have in common."""
    yield Line("heading", f"{len(found.reviews)} options; approving one discards the others")
    yield from _table(found.reviews)
    yield BLANK
    yield from _text_lines(found.reviews)
    yield from _risk_lines(found.reviews)
    yield Line("heading", "Only in some options")
    yield from _operation_lines(found, found.differing)
    yield BLANK
    yield Line("heading", "In all options")
    yield from _operation_lines(found, found.common)
    if not commands:
        return
    yield BLANK
    yield from _command_lines(found.reviews)


def comparison_json(found: OptionComparison) -> Row:
    """Returns options side by side as the object that `--json` prints."""
    return {
        "options": [option_row(review) for review in found.reviews],
        "text_differs": list(_differing_texts(found.reviews)),
        "differs": [_row(found, one) for one in found.differing],
        "common": [_row(found, one) for one in found.common],
        "next": [f"assent approve --plan {_named(review)}" for review in found.reviews],
    }


def option_row(review: Review) -> Row:
    """Returns one of several options as a row: what names it, and how much there is to it."""
    added, removed = _changed_lines(review)
    return {
        "plan": review.plan_id,
        "label": review.option,
        "name": review.name,
        "digest": review.digest,
        "title": _title(review) or None,
        "overview": _overview(review) or None,
        "operations": len(review.operations),
        "added": added,
        "removed": removed,
        "risks": list(_risks(review)),
        "hints": list(_hints(review)),
        "findings": _findings(review),
        "critique": critique_row(review.critique) if review.critique else None,
        "steps": len(review.outline.steps) if review.outline else 0,
        "score": _score(review),
        "estimate": estimate_row(review.estimate) if review.estimate else None,
    }


def _row(found: OptionComparison, one: OptionOperation) -> Row:
    at = next(n for n, number in enumerate(one.numbers) if number)
    first = found.reviews[at].operations[one.numbers[at] - 1]
    pairs = zip(found.reviews, one.numbers, strict=True)
    return {
        **operation_row(first.id, one.op),
        "risks": list(first.risks),
        "numbers": {review.option: number for review, number in pairs if number},
    }


def _table(reviews: Sequence[Review]) -> Iterator[Line]:
    """Renders a column for each option; rows in which they differ come first."""
    rows = [
        ("title", [_cut(_title(review)) or "none" for review in reviews]),
        ("operations", [_kinds(review) for review in reviews]),
        ("lines", ["+{} -{}".format(*_changed_lines(review)) for review in reviews]),
        ("risks", [str(len(_risks(review)) or "none") for review in reviews]),
        ("steps", [_steps(review) for review in reviews]),
    ]
    if any(review.critique or _findings(review) for review in reviews):
        rows.append(("critic", [_critique(review) for review in reviews]))
    if any(review.estimate for review in reviews):
        told = [estimate_text(r.estimate) if r.estimate else "none" for r in reviews]
        rows.append(("expected", told))
    rows.sort(key=lambda row: len(set(row[1])) == 1)
    rows += [
        ("plan", [visible_line(review.name) for review in reviews]),
        ("digest", [review.digest[:SHORT] for review in reviews]),
    ]
    head = ("", *[_cut(visible_line(review.option)) for review in reviews])
    first, *rest = table_lines("plain", [head, *[(name, *cells) for name, cells in rows]])
    yield Line("heading", first.text)
    yield from rest


def _text_lines(reviews: Sequence[Review]) -> Iterator[Line]:
    """Renders what the plans say they are about, as far as that differs; the table is narrow."""
    parts = _differing_texts(reviews)
    if not parts:
        return
    yield Line("heading", "What the texts say")
    for review in reviews:
        told = [text for text in (_PARTS[part](review) for part in parts) if text]
        words = ". ".join(text.rstrip(".") for text in told)
        about = f"{words}." if words else "no title or overview"
        yield from wrapped_lines("plain", f"  {visible_line(review.option)}: {_cut(about, LONG)}")
    yield BLANK


def _risk_lines(reviews: Sequence[Review]) -> Iterator[Line]:
    """Renders what each option risks, and what its text lacks, in sentences."""
    told = [(review, [*_risks(review), *_hints(review)]) for review in reviews]
    if not any(codes for _, codes in told):
        return
    yield Line("heading", "Risks and hints")
    for review, codes in told:
        words = " ".join(_risk_words(review, code) for code in codes) or "none"
        style: Style = "risk" if _risks(review) else "plain"
        yield from wrapped_lines(style, f"  {visible_line(review.option)}: {words}")
    yield BLANK


def _risk_words(review: Review, code: str) -> str:
    """Returns the sentence for a risk, with the operations that have it."""
    numbers = [n for n, each in enumerate(review.operations, 1) if code in each.risks]
    if not numbers:
        return RISK_CODES[code]
    named = ", ".join(map(str, numbers[:MAX_NUMBERS]))
    more = f" and {len(numbers) - MAX_NUMBERS} more" if len(numbers) > MAX_NUMBERS else ""
    noun = "operation" if len(numbers) == 1 else "operations"
    return f"{RISK_CODES[code].rstrip('.')} ({noun} {named}{more})."


def _differing_texts(reviews: Sequence[Review]) -> list[str]:
    """Returns which parts of the plans' texts differ: the title, the overview."""
    return [part for part, read in _PARTS.items() if len({read(review) for review in reviews}) > 1]


def _operation_lines(
    found: OptionComparison, operations: Sequence[OptionOperation]
) -> Iterator[Line]:
    if not operations:
        yield Line("dim", "  nothing")
        return
    rows = []
    for one in operations:
        has = [(review, n) for review, n in zip(found.reviews, one.numbers, strict=True) if n]
        review, number = has[0]
        first = review.operations[number - 1]
        numbers = ", ".join(f"{_cut(visible_line(each.option))} {n}." for each, n in has)
        where = f"{number}." if one.is_common and len({n for _, n in has}) == 1 else numbers
        plus, minus = diff_line_counts(first.diff)
        lines = f"  +{plus} -{minus}" if plus or minus else ""
        what = f"{operation_verb(one.op)} {operation_brief(one.op)}{lines}"
        rows.append((f"  {where}", what))
    yield from table_lines("plain", rows)


def _command_lines(reviews: Sequence[Review]) -> Iterator[Line]:
    rows = [
        (f"{_cut(visible_line(review.option))}:", f"assent review --plan {_named(review)}")
        for review in reviews
    ]
    yield Line("plain", "See one in full, then approve it with `assent approve --plan NAME`:")
    yield from table_lines("plain", [(f"  {label}", command) for label, command in rows])
    yield from wrapped_lines("plain", "Send all back: assent reject --all --note 'WHY'")


def _named(review: Review) -> str:
    return quote(review.of or review.plan_id)


def _title(review: Review) -> str:
    return visible_line(review.outline.structure.title) if review.outline else ""


def _overview(review: Review) -> str:
    text = review.outline.structure.overview if review.outline else ""
    return visible_line(" ".join((text or "").split()))


_PARTS: Final = {"title": _title, "overview": _overview}


def _cut(text: str, most: int = MAX_TITLE_CHARS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _subject(one: OptionOperation) -> object:
    steps = footprint(one.op)
    return steps[0][0] if steps else one.op


def _kinds(review: Review) -> str:
    kinds = [operation_verb(each.op) for each in review.operations]
    return operation_kinds_text(kinds) or "none (a model builds it)"


def _changed_lines(review: Review) -> tuple[int, int]:
    counts = [diff_line_counts(each.diff) for each in review.operations]
    return sum(plus for plus, _ in counts), sum(minus for _, minus in counts)


def _risks(review: Review) -> list[str]:
    found = {*review.risks, *(code for each in review.operations for code in each.risks)}
    return [code for code in RISK_CODES if code in found and code not in STRUCTURE_RISKS]


def _hints(review: Review) -> list[str]:
    """Returns what the text lacks, such as a way to verify the result."""
    return [code for code in RISK_CODES if code in review.risks and code in STRUCTURE_RISKS]


def _findings(review: Review) -> int:
    """Counts the comments of a critic that no one dismissed."""
    return sum(placed.comment.author == "critic" for placed in review.comments)


def _critique(review: Review) -> str:
    count = _findings(review)
    found = f"{count} finding{'' if count == 1 else 's'}" if count else ""
    match review.critique:
        case None:
            return found or "not asked"
        case Critique(state="unfinished"):
            return "did not finish"
        case Critique(state="running"):
            return "is still reading"
        case Critique(words=words, findings=said):
            return found or ("no answer" if words else "dismissed" if said else "found nothing")


def _score(review: Review) -> int | None:
    scores = [one.score for one in review.outline.steps] if review.outline else []
    return max((score for score in scores if score is not None), default=None)


def _steps(review: Review) -> str:
    count = len(review.outline.steps) if review.outline else 0
    score = _score(review)
    most = f", complexity up to {score} of {MAX_SCORE}" if score is not None else ""
    return f"{count}{most}" if count else "none"
