"""Ordinary exploring lines, as a coding agent types them, and bash's own output for each.

Of `exploring.txt`, groups headed `scratch copy` wait for a copy of the workspace that they may
change, and those headed `differs` say why the answer is another one. All others agree with bash.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.shell.bench import Bench, set_up
from tests.shell.desk import bash, plain_environment
from tests.shell.lists import CORPUS, grouped
from tests.shell.test_corpus_runs import REFUSED, Run, _odd
from tests.shell.watching import Leaks

LATER, OTHERWISE = "scratch copy", "differs"
GROUPS = grouped(CORPUS / "exploring.txt")
LINES = [line for lines in GROUPS.values() for line in lines]
WAITING = [line for head, lines in GROUPS.items() if head.startswith(LATER) for line in lines]
AGREEING = {
    head: lines for head, lines in GROUPS.items() if not head.startswith((LATER, OTHERWISE))
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Bench]:
    yield from set_up(tmp_path_factory.mktemp("exploring"), state)


@pytest.fixture(scope="module")
def reference(bench: Bench) -> Run:
    env = plain_environment(bench.desk.world.base / "plain")
    return partial(bash, root=bench.desk.twin(), env=env)


@pytest.mark.parametrize("head", AGREEING)
def test_f79_ordinary_lines_give_the_output_of_bash(
    head: str, bench: Bench, reference: Run
) -> None:
    assert _odd(AGREEING[head], bench.desk.run, reference, bench) == []


def test_f14_what_waits_for_a_copy_is_refused_and_does_nothing(bench: Bench) -> None:
    ran = {line: bench.desk.run(line) for line in WAITING}
    assert [line for line, seen in ran.items() if seen[:2] != (REFUSED, "")] == []
    assert bench.watch.deep_leaks() == Leaks()


def test_f79_the_share_of_lines_that_agree() -> None:
    """Five of six run as in bash today; with those that a copy takes, 97 of 100 will."""
    agreeing = sum(map(len, AGREEING.values()))
    assert len(set(LINES)) == len(LINES) >= 400
    assert agreeing >= 0.83 * len(LINES)
    assert agreeing + len(WAITING) >= 0.97 * len(LINES)
