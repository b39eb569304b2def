"""The corpus executed for real: what reads runs as in bash, what does not is refused, and nothing
changes: no byte, time, mode or attribute in the repository, no canary, no knock at a listener."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.shell.bench import Bench, set_up
from tests.shell.desk import TWIN, Ran, bash, plain_environment
from tests.shell.lists import CORPUS, STAYING, chunks, families, leaving, listed
from tests.shell.watching import Leaks

REFUSED, FORBIDDEN = 7, 126
RUNS = chunks("runs")
DIFFERS = frozenset(listed(CORPUS / "differs.txt"))
# These walk through folders in the order of the disk, some with many threads.
WALKERS = ("du", "fd", "find", "grep", "rg")

Run = Callable[[str], Ran]


class Odd(NamedTuple):
    """A line that did not do what bash did, or did more."""

    line: str
    ran: Ran
    bash: Ran
    leaks: Leaks


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Bench]:
    yield from set_up(tmp_path_factory.mktemp("runs"), state)


@pytest.fixture(scope="module")
def reference(bench: Bench) -> Run:
    return _bash_in_a_twin(bench)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Bench]:
    """A bench without secrets: where nothing can be hidden, no line walks over one."""
    yield from set_up(tmp_path_factory.mktemp("bare"), state, secret=False)


@pytest.fixture(scope="module")
def bare_reference(bare: Bench) -> Run:
    return _bash_in_a_twin(bare)


@pytest.mark.parametrize("chunk", RUNS)
def test_f14_what_reads_runs_as_in_bash_and_changes_nothing(
    chunk: str, bench: Bench, reference: Run
) -> None:
    assert _odd(RUNS[chunk], bench.desk.run, reference, bench) == []
    assert bench.watch.deep_leaks() == Leaks()


@pytest.mark.parametrize("family", families("refused"))
def test_f14_what_is_refused_does_not_run(family: str, bench: Bench) -> None:
    ran = {line: bench.desk.run(line) for line in bench.filled(families("refused")[family])}
    assert [line for line, seen in ran.items() if seen[:2] != (REFUSED, "")] == []
    assert bench.watch.deep_leaks() == Leaks()


@pytest.mark.parametrize("family", STAYING)
def test_f14_without_a_sandbox_the_narrower_class_runs_and_changes_nothing(
    family: str, bare: Bench, bare_reference: Run
) -> None:
    lines = families("runs")[family]
    assert _odd(lines, bare.desk.run_without_sandbox, bare_reference, bare) == []
    assert bare.watch.deep_leaks() == Leaks()


def test_f14_without_a_sandbox_the_rest_does_not_run(bare: Bench) -> None:
    others = [line for family in families("refused").values() for line in bare.filled(family)]
    ran = {line: bare.desk.run_without_sandbox(line) for line in (*leaving(), *others)}
    assert [line for line, seen in ran.items() if seen[:2] != (REFUSED, "")] == []
    assert bare.watch.deep_leaks() == Leaks()


@pytest.mark.parametrize("line", ["grep -r API_KEY .", "rg -uu API", "cat deploy/.env"])
def test_without_a_sandbox_nothing_walks_over_a_secret(line: str, bench: Bench) -> None:
    ran = bench.desk.run_without_sandbox(line)
    assert (ran.code, ran.out) == (FORBIDDEN, "")
    assert "deploy/.env" in ran.err


def test_every_exception_is_a_line_that_runs() -> None:
    runs = {line for lines in families("runs").values() for line in lines}
    assert DIFFERS - runs == set()


def _odd(lines: Sequence[str], run: Run, reference: Run, bench: Bench) -> list[Odd]:
    seen = [Odd(line, run(line), reference(line), bench.watch.leaks()) for line in lines]
    return [one for one in seen if one.leaks != Leaks() or not _same(one, bench.desk.root)]


def _same(one: Odd, root: Path) -> bool:
    if one.ran.code != one.bash.code or one.line in DIFFERS:
        return one.ran.code == one.bash.code
    here = one.bash.out.replace(str(root.with_name(TWIN)), str(root))
    if one.line.split()[0] in WALKERS:
        return sorted(re.split(r"[\n\0]", one.ran.out)) == sorted(re.split(r"[\n\0]", here))
    return one.ran.out == here


def _bash_in_a_twin(bench: Bench) -> Run:
    env = plain_environment(bench.desk.world.base / "plain")
    return partial(bash, root=bench.desk.twin(), env=env)
