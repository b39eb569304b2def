"""The bench runs from end to end, measures in turn, and says which bars are missed."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench.figure import Figure, at_least, at_most, figure_line, missed_line, within
from bench.pace import best

ROOT = Path(__file__).parents[2]

ROWS = (
    "assent --version",
    "assent --help",
    "apply 100 new files / bare",
    "apply 100 new files / git apply",
    "undo 100 new files / apply",
    "apply new: 100 / 10",
    "apply 100 replaced files / bare",
    "undo replaced: 100 / 10",
    "review 100 replaced files / git diff",
    "review --json new: 100 / 10",
    "append an event / bare SQLite",
    "read a blob / bare open, read, SHA-256",
    "digest 16 MiB / hashlib",
    "memory while digesting 16 MiB",
    "build after 50 runs / after 5",
    "undo after 50 runs / after 5",
    "status after 50 runs / after 5",
    "confined true: added",
    "first byte of a first request / bare Python",
    "gap per step, 5 steps / http.client",
    "the same at 2,000 tokens / http.client",
)


@pytest.mark.slow
def test_it_measures_everything_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.run", "--quick", "--dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    measured = [line.partition("  ")[0] for line in done.stdout.splitlines()]
    assert [row for row in ROWS if row not in measured] == []
    assert "Missed bars:" in done.stdout or "Every bar is met." in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_is_compared_takes_turns_and_the_best_counts() -> None:
    turns: list[str] = []
    ours, theirs = iter((3.0, 1.0, 2.0)), iter((6.0, 5.0, 4.0))

    def one() -> float:
        turns.append("ours")
        return next(ours)

    def other() -> float:
        turns.append("theirs")
        return next(theirs)

    assert best(3, one, other) == [1.0, 4.0]
    assert turns == ["ours", "theirs"] * 3


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (Figure("apply", 1.3, 1.0, at_most(1.3)), "met"),
        (Figure("apply", 1.31, 1.0, at_most(1.3)), "MISSED"),
        (Figure("digest", 91.0, 100.0, at_least(0.9), "speed"), "met"),
        (Figure("digest", 89.0, 100.0, at_least(0.9), "speed"), "MISSED"),
        (Figure("memory", 7.9, None, within(8), "memory"), "met"),
        (Figure("memory", 8.1, None, within(8), "memory"), "MISSED"),
        (Figure("no bar", 9.0, 1.0), ""),
        (Figure("nothing to compare with", 9.0, None, at_most(3)), ""),
    ],
)
def test_a_bar_is_met_or_missed(figure: Figure, verdict: str) -> None:
    assert (figure.verdict, figure.missed) == (verdict, verdict == "MISSED")


def test_a_missed_bar_is_named_with_its_ratio() -> None:
    figure = Figure("apply 10 files / bare", 0.02, 0.01, at_most(1.3))
    cells = ["20.00", "ms", "10.00", "ms", "2.00", "x", "≤", "1.30", "x", "MISSED"]
    assert figure_line(figure).split() == [*figure.name.split(), *cells]
    assert missed_line(figure) == "apply 10 files / bare: 2.00 x, bar ≤ 1.30 x"


def test_an_absolute_bar_says_so_and_is_missed_by_the_value() -> None:
    figure = Figure("confined true: added", 0.04, 0.01, within(0.03))
    cells = ["40.00", "ms", "10.00", "ms", "4.00", "x", "≤", "30.00", "ms", "absolute", "MISSED"]
    assert figure_line(figure).split() == [*figure.name.split(), *cells]
    assert missed_line(figure) == "confined true: added: 40.00 ms, bar ≤ 30.00 ms absolute"
