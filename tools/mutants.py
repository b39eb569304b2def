"""Plants small faults in a package, one at a time, and names those that its tests do not notice.

`make mutants` samples all packages that guard something. Which faults are planted depends on the
code of each function alone, not on files or lines, so that two versions can be compared. The tests
that run a function are tried first, the quickest first; only a fault that all of them miss costs
a run of the others. pytest loads this file, too: as a plugin that records which functions a test
runs, where they mark themselves in the same process or in one that was forked, and that chooses
the tests of a run and their order.
"""

import argparse
import ast
import builtins
import hashlib
import itertools
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = {
    "permissions": ["tests/permissions", "tests/shell_grammar", "tests/core"],
    "sandbox": ["tests/sandbox", "tests/shell"],
    "executor": [
        "tests/executor",
        "tests/crash/test_every_moment_in_memory.py",
        "tests/disks/test_caseless.py",
    ],
}
SLOWER, START_S = 10, 120  # a fault that makes tests wait for ever is noticed, too
# What each function does first, in the copy that shows which tests run it.
MARK = 'if (_ := getattr(__import__("builtins"), "reached", None)) is not None: _[{number}] = 1'

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = 1 << 16  # more than a package has
RECORD = "MUTANTS_RECORD"  # the file to add a line for each test to
CHOSEN = "MUTANTS_TESTS"  # a file with the names of the only tests to run, in their order
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


class Mutant(msgspec.Struct, frozen=True):
    """One fault that can be planted: the nth change in a file, and how to name it."""

    path: Path
    number: int
    function: str
    first_line: int  # of the function
    line: int
    before: str
    after: str

    @property
    def order(self) -> bytes:
        """What decides whether it is in the sample; the same wherever the function stands."""
        return hashlib.sha256(f"{self.function}\0{self.before}\0{self.after}".encode()).digest()


class Test(msgspec.Struct, frozen=True, array_like=True):
    """A test, how long it takes without a fault, and the numbers of the functions that it runs."""

    name: str
    seconds: float
    functions: frozenset[int]


def main(arguments: list[str]) -> int:
    """Samples faults in each package, and reports which of them survive its tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=[*TESTS])
    parser.add_argument("--count", type=int, default=40, help="faults in each package")
    parser.add_argument("--workers", type=int, default=2, help="faults that are tried at once")
    given = parser.parse_args(arguments)
    survived = 0
    for package in given.packages:
        functions = {key: n for n, key in enumerate(_functions(package))}
        tests = record(package, functions)
        sample = sorted(mutants(package), key=lambda one: one.order)[: given.count]
        is_missed = partial(_is_missed, package, tests, functions)
        with ThreadPoolExecutor(given.workers) as pool:
            missed = list(itertools.compress(sample, pool.map(is_missed, sample)))
        survived += len(missed)
        print(f"{package}: {len(sample) - len(missed)} of {len(sample)} faults noticed", flush=True)
        for one in missed:
            where = f"{one.path.relative_to(ROOT)}:{one.line} {one.function}"
            print(f"  {where}\n    {one.before}\n    {one.after}", flush=True)
    return 0 if survived == 0 else 1


def mutants(package: str) -> Iterator[Mutant]:
    """Lists the faults that can be planted in the functions of a package."""
    for path in _files(package):
        changes = _changes_in(ast.parse(path.read_text(encoding="utf-8")))
        for number, (function, node, changed) in enumerate(changes):
            line = getattr(node, "lineno", 0)
            before, after = _shown(node), _shown(changed)
            yield Mutant(path, number, function.name, function.lineno, line, before, after)


def _files(package: str) -> list[Path]:
    return sorted((ROOT / "src" / "assent" / package).rglob("*.py"))


def _functions(package: str) -> Iterator[tuple[Path, int]]:
    """Lists the functions of a package by their files and lines; their order numbers them."""
    for path in _files(package):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield path, node.lineno


def _shown(node: ast.AST) -> str:
    """Returns the source of a node, of a statement with a body its first line."""
    return ast.unparse(node).partition("\n")[0]


def planted(one: Mutant) -> str:
    """Returns the source of the file with the fault in it."""
    tree = ast.parse(one.path.read_text(encoding="utf-8"))
    _, node, changed = next(itertools.islice(_changes_in(tree), one.number, None))
    node.__dict__.update(changed.__dict__)
    return ast.unparse(tree)


def _changes_in(tree: ast.Module) -> Iterator[tuple[Function, ast.AST, ast.AST]]:
    seen = {part for told in _annotations(tree) for part in ast.walk(told)}  # nobody runs those
    for function in ast.walk(tree):
        if isinstance(function, Function):
            for node in ast.walk(function):
                if node not in seen:  # a function may stand inside another
                    seen.add(node)
                    yield from ((function, node, changed) for changed in _changes(node))


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(annotation=told) | ast.arg(annotation=told):
                yield from [told] if told else []
            case ast.FunctionDef(returns=told) | ast.AsyncFunctionDef(returns=told):
                yield from [told] if told else []
            case _:
                pass


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Lists what a node could be instead, as nodes of the same type."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            yield ast.Compare(node.left, [COMPARISONS[type(operator)]()], node.comparators)
        case ast.BoolOp(op=operator):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield ast.BoolOp(other, node.values)
        case ast.If() | ast.IfExp() | ast.While():
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield type(node)(**{**dict(ast.iter_fields(node)), "test": negated})
        case ast.Return(value=ast.Constant(value=bool() as value)):
            yield ast.Return(ast.Constant(not value))
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield ast.Constant(value + 1)
        case ast.BinOp(op=ast.BitOr()):
            yield ast.BinOp(node.left, ast.BitAnd(), node.right)
        case _:
            pass


def record(package: str, functions: dict[tuple[Path, int], int]) -> list[Test]:
    """Runs the tests without a fault, and returns which functions each of them ran."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        source = _copy(Path(folder))
        for path in _files(package):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, Function):
                    mark = ast.parse(MARK.format(number=functions[path, node.lineno])).body
                    at = 0 if ast.get_docstring(node) is None else 1
                    node.body[at:at] = mark
            (source / path.relative_to(ROOT / "src")).write_text(ast.unparse(tree), "utf-8")
        told = Path(folder, "record")
        if not _passes(source, TESTS[package], 1 << 20, {RECORD: str(told)}):
            sys.exit(f"{package}: its tests fail without a fault, so they would notice any.")
        lines = told.read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Test) for line in lines]


def _is_missed(
    package: str, tests: Sequence[Test], functions: dict[tuple[Path, int], int], one: Mutant
) -> bool:
    """Tells whether all tests pass with a fault."""
    function = functions[one.path, one.first_line]
    first = sorted((t for t in tests if function in t.functions), key=lambda t: t.seconds)
    rest = [test for test in tests if function not in test.functions]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        source = _copy(Path(folder))
        (source / one.path.relative_to(ROOT / "src")).write_text(planted(one), encoding="utf-8")
        for chosen in filter(None, (first, rest)):
            names = Path(folder, "tests")
            names.write_text(json.dumps([test.name for test in chosen]), encoding="utf-8")
            seconds = START_S + SLOWER * sum(test.seconds for test in chosen)
            if not _passes(source, TESTS[package], seconds, {CHOSEN: str(names)}):
                return False
    return True


def _copy(folder: Path) -> Path:
    """Copies the source with what was compiled of it, which stays valid where nothing changes."""
    return Path(shutil.copytree(ROOT / "src", folder / "src"))


def _passes(source: Path, tests: Sequence[str], seconds: float, variables: dict[str, str]) -> bool:
    """Tells whether tests pass against a copy of the source in that time."""
    line = [sys.executable, "-m", "pytest", "-q", "-x", "-p", Path(__file__).stem]
    line += ["-p", "no:cacheprovider", "--hypothesis-profile=few", *tests]
    paths = os.pathsep.join([str(source), str(Path(__file__).parent)])
    environment = {**os.environ, **variables, "PYTHONPATH": paths}
    try:
        ended = subprocess.run(
            line, cwd=ROOT, env=environment, capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if RECORD not in os.environ:
        return (yield)
    marks = mmap.mmap(-1, FUNCTIONS)  # children that are forked mark in it, too
    builtins.reached = marks  # type: ignore[attr-defined]
    began = time.monotonic()
    try:
        return (yield)
    finally:
        found = [number for number, mark in enumerate(marks[:]) if mark]
        line = json.dumps([item.nodeid, time.monotonic() - began, found]) + "\n"
        with open(os.environ[RECORD], "ab", buffering=0) as record:
            record.write(line.encode())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHOSEN in os.environ:
        with open(os.environ[CHOSEN], encoding="utf-8") as lines:
            order = {name: number for number, name in enumerate(json.load(lines))}
        items[:] = sorted((i for i in items if i.nodeid in order), key=lambda i: order[i.nodeid])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
