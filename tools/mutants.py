"""Plants small faults in a package, one at a time, and names those that its tests do not notice.

`make mutants` samples all packages that guard something. Which faults are planted depends on the
code of each function alone, not on files or lines, so that two versions can be compared.
"""

import argparse
import ast
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

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
SECONDS = 900  # a fault that makes the tests wait for ever is noticed, too

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
    line: int
    before: str
    after: str

    @property
    def order(self) -> bytes:
        """What decides whether it is in the sample; the same wherever the function stands."""
        return hashlib.sha256(f"{self.function}\0{self.before}\0{self.after}".encode()).digest()


def main(arguments: list[str]) -> int:
    """Samples faults in each package, and reports which of them survive its tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=[*TESTS])
    parser.add_argument("--count", type=int, default=40, help="faults in each package")
    parser.add_argument("--workers", default="2")
    given = parser.parse_args(arguments)
    survived = 0
    for package in given.packages:
        if not passes(TESTS[package], given.workers):
            sys.exit(f"{package}: its tests fail without a fault, so they would notice any.")
        sample = sorted(mutants(package), key=lambda one: one.order)[: given.count]
        missed = [one for one in sample if passes(TESTS[package], given.workers, one)]
        survived += len(missed)
        print(f"{package}: {len(sample) - len(missed)} of {len(sample)} faults noticed", flush=True)
        for one in missed:
            where = f"{one.path.relative_to(ROOT)}:{one.line} {one.function}"
            print(f"  {where}\n    {one.before}\n    {one.after}", flush=True)
    return 0 if survived == 0 else 1


def mutants(package: str) -> Iterator[Mutant]:
    """Lists the faults that can be planted in the functions of a package."""
    for path in sorted((ROOT / "src" / "assent" / package).rglob("*.py")):
        changes = _changes_in(ast.parse(path.read_text(encoding="utf-8")))
        for number, (function, node, changed) in enumerate(changes):
            line = getattr(node, "lineno", 0)
            yield Mutant(path, number, function, line, _shown(node), _shown(changed))


def _shown(node: ast.AST) -> str:
    """Returns the source of a node, of a statement with a body its first line."""
    return ast.unparse(node).partition("\n")[0]


def planted(one: Mutant) -> str:
    """Returns the source of the file with the fault in it."""
    tree = ast.parse(one.path.read_text(encoding="utf-8"))
    _, node, changed = next(itertools.islice(_changes_in(tree), one.number, None))
    node.__dict__.update(changed.__dict__)
    return ast.unparse(tree)


def _changes_in(tree: ast.Module) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    seen = {part for told in _annotations(tree) for part in ast.walk(told)}  # nobody runs those
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if node not in seen:  # a function may stand inside another
                    seen.add(node)
                    yield from ((function.name, node, changed) for changed in _changes(node))


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


def passes(tests: list[str], workers: str, one: Mutant | None = None) -> bool:
    """Tells whether the tests pass against a copy of the package, with a fault in it or without."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        if one is not None:
            mutated = source / one.path.relative_to(ROOT / "src")
            mutated.write_text(planted(one), encoding="utf-8")
        line = [sys.executable, "-m", "pytest", "-q", "-x", "--workers", workers]
        line += ["-p", "no:cacheprovider", "--hypothesis-profile=few", *tests]
        environment = {**os.environ, "PYTHONPATH": str(source)}
        try:
            ended = subprocess.run(
                line, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return False
    return ended.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
