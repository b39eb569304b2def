"""What the house tests look at: the parsed modules of the package and tests, and their imports.

Every module is parsed once and walked once, however many tests ask.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "assent"

Function = ast.FunctionDef | ast.AsyncFunctionDef
Modules = Mapping[str, ast.Module]


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its path below src/assent, e.g. `core/plan/plan.py`."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_bytes()) for path in paths}


@cache
def parsed_test(path: str) -> ast.Module:
    """A test file by its path in the repository; empty if there is none."""
    file = ROOT / path
    return ast.parse(file.read_bytes() if file.exists() else b"")


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Everything in a module, in the order of `ast.walk`."""
    return tuple(ast.walk(tree))


@cache
def functions() -> dict[str, Function]:
    """Every function and method of the package by the place to find it."""
    return {
        f"{name}:{node.lineno} {node.name}": node
        for name, tree in modules().items()
        for node in nodes(tree)
        if isinstance(node, Function)
    }


class Import(msgspec.Struct, frozen=True, order=True):
    """One module imports another; both by their dotted names."""

    importer: str
    imported: str
    late: bool  # inside a function


def dotted(path: str) -> str:
    """Returns the dotted name of a module, e.g. `assent.core.plan.plan`."""
    name = f"assent.{path.removesuffix('.py').replace('/', '.')}"
    return name.removesuffix(".__init__")


def imports(of: Modules) -> Iterator[Import]:
    """Lists every import in these modules, wherever it stands."""
    known = {dotted(path) for path in of}
    for path, tree in of.items():
        for node, late in _imports_of(tree):
            names = {_module(node, alias, known) for alias in node.names}
            yield from (Import(dotted(path), name, late) for name in sorted(names))


def imported_names(tree: ast.Module, package: str) -> Iterator[str]:
    """Lists what a module imports from a package: `disk.Disk`, or `disk` for the whole module."""
    for node, _ in _imports_of(tree):
        for alias in node.names:
            name = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            if name == package or name.startswith(f"{package}."):
                yield name.removeprefix(package).removeprefix(".")


@cache
def _imports_of(tree: ast.Module) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    return tuple(_import_statements(tree))


def _import_statements(
    node: ast.AST, late: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, late
        elif not isinstance(child, ast.expr):  # which holds no statement
            yield from _import_statements(child, late or isinstance(child, Function))


def _module(node: ast.Import | ast.ImportFrom, alias: ast.alias, known: set[str]) -> str:
    """Returns the module that an alias imports, or imports a name from."""
    if isinstance(node, ast.Import):
        return alias.name
    inner = f"{node.module}.{alias.name}"
    return inner if inner in known else node.module or ""
