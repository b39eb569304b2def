"""What the house tests look at: the parsed modules of the package."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "assent"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its path below src/assent, e.g. `core/plan.py`."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_bytes()) for path in paths}


@cache
def functions() -> dict[str, Function]:
    """Every function and method of the package by the place to find it."""
    return {
        f"{name}:{node.lineno} {node.name}": node
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    }
