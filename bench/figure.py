"""A figure: what was measured, next to what, and whether it meets its bar."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

Unit: TypeAlias = Literal["time", "speed", "memory"]

WIDTHS = (45, 12, 12, 9, 10)
NONE = "-"
HEAD = ("figure", "ours", "reference", "ratio", "bar")


class Bar(msgspec.Struct, frozen=True):
    """A limit: for the ratio to the reference, or for our own value where there is none."""

    limit: float
    at_least: bool = False
    absolute: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


class Figure(msgspec.Struct, frozen=True):
    """One row of the table; without a bar it is for information."""

    name: str
    ours: float
    reference: float | None = None
    bar: Bar | None = None
    unit: Unit = "time"

    @property
    def ratio(self) -> float | None:
        return self.ours / self.reference if self.reference else None

    @property
    def verdict(self) -> Literal["met", "MISSED", ""]:
        """Says nothing where there is no bar, or nothing to compare with."""
        judged = self.ours if self.bar and self.bar.absolute else self.ratio
        if self.bar is None or judged is None:
            return ""
        return "met" if self.bar.holds(judged) else "MISSED"

    @property
    def missed(self) -> bool:
        return self.verdict == "MISSED"


def at_most(ratio: float) -> Bar:
    return Bar(ratio)


def at_least(ratio: float) -> Bar:
    return Bar(ratio, at_least=True)


def within(value: float) -> Bar:
    """A bar for our own value, whatever the reference does."""
    return Bar(value, absolute=True)


def missed_line(figure: Figure) -> str:
    """Says in short by how much a bar is missed."""
    show = _UNITS[figure.unit]
    value = show(figure.ours) if figure.ratio is None else f"{figure.ratio:.2f} x"
    return f"{figure.name}: {value}, bar {_bar(figure)}"


def head_line() -> str:
    return _line((*HEAD, ""))


def figure_line(figure: Figure) -> str:
    """Returns a figure as a line of the table."""
    show = _UNITS[figure.unit]
    reference = NONE if figure.reference is None else show(figure.reference)
    ratio = NONE if figure.ratio is None else f"{figure.ratio:.2f} x"
    return _line((figure.name, show(figure.ours), reference, ratio, _bar(figure), figure.verdict))


def _bar(figure: Figure) -> str:
    if figure.bar is None:
        return NONE
    sign = "≥" if figure.bar.at_least else "≤"
    if figure.bar.absolute:
        return f"{sign} {_UNITS[figure.unit](figure.bar.limit)}"
    return f"{sign} {figure.bar.limit:.2f} x"


def _line(cells: tuple[str, ...]) -> str:
    name, *numbers = cells
    columns = [f"{cell:>{width}}" for cell, width in zip(numbers, WIDTHS[1:], strict=False)]
    return "  ".join([f"{name:{WIDTHS[0]}}", *columns, numbers[-1]]).rstrip()


def _seconds(value: float) -> str:
    for scale, unit in ((1, "s"), (1e3, "ms")):
        if value * scale >= 1:
            return f"{value * scale:.2f} {unit}"
    return f"{value * 1e6:.2f} us"


_UNITS: dict[Unit, Callable[[float], str]] = {
    "time": _seconds,
    "speed": lambda value: f"{value:.0f} MiB/s",
    "memory": lambda value: f"{value:.1f} MiB",
}
