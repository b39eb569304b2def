"""A figure: what was measured, next to what, and whether it meets its bar.

A bar is a ratio to a reference that was measured in the same run, and so holds on any machine; or
it is absolute, a limit for our own value in its unit, and then the table says so.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

Unit: TypeAlias = Literal["time", "speed", "memory", "size", "count"]

WIDTHS = (59, 12, 12, 9, 21)
NONE = "-"
ABSOLUTE = "absolute"
HEAD = ("figure", "ours", "reference", "ratio", "bar")


class Bar(msgspec.Struct, frozen=True):
    """A limit for the ratio to the reference or, if it is absolute, for our own value."""

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
    def judged(self) -> float | None:
        """What the bar is for: our own value if it is absolute, else the ratio."""
        return self.ours if self.bar is not None and self.bar.absolute else self.ratio

    @property
    def verdict(self) -> Literal["met", "MISSED", ""]:
        """Empty where there is no bar, or nothing to compare with."""
        if self.bar is None or self.judged is None:
            return ""
        return "met" if self.bar.holds(self.judged) else "MISSED"

    @property
    def missed(self) -> bool:
        return self.verdict == "MISSED"


def at_most(ratio: float) -> Bar:
    return Bar(ratio)


def at_least(ratio: float) -> Bar:
    return Bar(ratio, at_least=True)


def within(value: float) -> Bar:
    """Returns an absolute bar: for our own value, whatever a reference takes."""
    return Bar(value, absolute=True)


def missed_line(figure: Figure) -> str:
    """Returns what was measured and the bar that it misses: both ratios, or both values."""
    measured = NONE if figure.judged is None else _value(figure, figure.judged)
    return f"{figure.name}: {measured}, bar {_bar(figure)}"


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
    limit = f"{sign} {_value(figure, figure.bar.limit)}"
    return f"{limit} {ABSOLUTE}" if figure.bar.absolute else limit


def _value(figure: Figure, value: float) -> str:
    """Returns a value of the kind that the figure's bar is for."""
    absolute = figure.bar is not None and figure.bar.absolute
    return _UNITS[figure.unit](value) if absolute else f"{value:.2f} x"


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
    "size": lambda value: f"{value:.2f} KiB",
    "count": lambda value: f"{value:,.0f}",
}
