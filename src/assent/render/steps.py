"""The structure and the steps of a plan, as lines and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from assent.core.plan.steps import (
    MAX_SCORE,
    STEP_STATES,
    StepState,
    StepStatus,
    complexity,
    next_steps,
    step_counts,
)
from assent.core.plan.structure import PlanStructure, SectionKind
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, Style, wrapped_lines
from assent.render.rows import Row
from assent.render.status import progress_text

MAX_LISTED: Final = 200  # steps that are listed in a terminal; all are in the JSON
SIGNS: Final[dict[StepState, tuple[str, Style]]] = {
    "pending": ("○", "plain"),
    "in_progress": ("▶", "heading"),
    "completed": ("✓", "dim"),
    "failed": ("!", "risk"),
    "skipped": ("✗", "dim"),
}
WORDS: Final[dict[StepState, str]] = {state: state.replace("_", " ") for state in STEP_STATES}
_SECTIONS: Final[tuple[SectionKind, ...]] = (
    "risks", "tests", "rollback", "open_questions", "success_criteria", "references",
)  # fmt: skip


class PlanOutline(msgspec.Struct, frozen=True):
    """What a plan's text says, and how far its steps are."""

    structure: PlanStructure
    steps: tuple[StepStatus, ...] = ()
    names_files: bool = False  # operations or the scope name the files, so the text need not


def outline_rows(outline: PlanOutline | None) -> Row:
    """Returns `structure`, `steps` and `progress` as JSON data; nothing for an undo plan."""
    if outline is None:
        return {}
    return {
        "structure": structure_row(outline),
        "steps": step_rows(outline.steps),
        "progress": progress_row(outline.steps),
    }


def structure_row(outline: PlanOutline) -> Row:
    """Returns the structure of a plan's text as JSON data."""
    structure, steps = outline.structure, outline.steps
    missing = structure.missing(steps=bool(steps), files=outline.names_files)
    return {
        "title": structure.title or None,
        "overview": structure.overview or None,
        "steps": [one.step.id for one in steps],
        "files": list(structure.files),
        **{kind: structure.sections.get(kind) for kind in _SECTIONS},
        "missing": list(missing),
    }


def step_rows(steps: Sequence[StepStatus]) -> list[Row]:
    """Returns steps as JSON data; operations are counted from 1, as a review shows them."""
    return [
        {
            "id": one.step.id,
            "title": one.step.title,
            "group": one.step.group or None,
            "after": list(one.step.after),
            "state": one.state,
            "score": one.score,
            "complexity": None if one.score is None else complexity(one.score),
            "risk": one.risk,
            "operations": [at + 1 for at in one.operations],
            "problems": list(one.problems),
        }
        for one in steps
    ]


def progress_row(steps: Sequence[StepStatus]) -> Row | None:
    """Returns how many steps are in which state, and which may start now; None without steps."""
    if not steps:
        return None
    named = {
        state: [one.step.id for one in steps if one.state == state]
        for state in ("in_progress", "failed")
    }
    return {
        "total": len(steps),
        **{str(state): count for state, count in step_counts(steps).items()},
        "ids": {**named, "next": list(next_steps(steps))},
    }


def step_lines(steps: Sequence[StepStatus], *, brief: bool = False) -> Iterator[Line]:
    """Renders steps under their groups, each with state, score and risk; nothing without steps.

    If `brief`, only with what is not usual: the sign has the state, and most steps are simple.
    """
    row = progress_row(steps)
    if row is None:
        return
    yield Line("heading", f"Steps: {progress_text(row)}")
    section = -1
    for one in steps[:MAX_LISTED]:
        if one.step.section != section and one.step.group:
            yield from wrapped_lines("plain", visible_line(one.step.group))
        section = one.step.section
        yield from wrapped_lines(SIGNS[one.state][1], step_text(one, brief=brief))
        for problem in one.problems:
            yield from wrapped_lines("risk", f"    {visible_line(problem)}")
    if len(steps) > MAX_LISTED:
        yield Line("dim", f"  and {len(steps) - MAX_LISTED} more")


def step_text(one: StepStatus, *, brief: bool = False) -> str:
    """Returns a step on one line; if `brief`, only with facts that are not usual."""
    usual = brief and one.state in ("pending", "completed")
    facts = [] if usual else [WORDS[one.state]]
    if one.step.after:
        facts.append(f"after {', '.join(one.step.after)}")
    if one.score is not None and not brief:
        facts.append(f"complexity {one.score} of {MAX_SCORE}")
    elif one.score is not None and complexity(one.score) != "simple":
        facts.append("complex" if complexity(one.score) == "complex" else "medium complexity")
    if one.risk is not None and not (brief and one.risk == "low"):
        facts.append(f"{one.risk} risk")
    told = f" ({', '.join(facts)})" if facts else ""
    words = f"{SIGNS[one.state][0]} {one.step.id} {one.step.title}{told}"
    return f"  {visible_line(words)}"
