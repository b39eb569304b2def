"""Refuses approval by the person who requested the plan, where approve.independent asks for it."""

from typing import TYPE_CHECKING

from assent.core.errors import NotIndependent

if TYPE_CHECKING:
    from assent.render.review import Review


def check_independent(wanted: bool | tuple[str, ...], review: "Review", *, same: bool) -> None:
    """Refuses a yes by whoever asked for a plan, if its risks are such that it needs another."""
    risks = {*review.risks, *(code for each in review.operations for code in each.risks)}
    unclear = any(each.unclear for each in review.operations)
    if isinstance(wanted, bool):
        met = risks
    else:  # whose text does not tell what it does may do all of it
        met = set(wanted) if unclear else risks.intersection(wanted)
    if not same or not (met if isinstance(wanted, tuple) else wanted):
        return
    doubt = ["what it does cannot be foreseen"] if unclear else []
    found = ", ".join([*sorted(met & risks), *doubt])
    why = f" ({found})" if found else ""
    raise NotIndependent(
        f"Whoever asked for this plan cannot approve it{why}: approve.independent wants another "
        "person. Nothing was approved.",
        "assent review",
    )
