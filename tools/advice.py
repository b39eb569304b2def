"""Prints what is large or tiny in the package; advice that fails nothing."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "assent"
LONG_FILE, LONG_FUNCTION, SHORT_FILE = 400, 40, 40
SHOWN = 5  # of each kind


def main() -> None:
    """Prints how many there are of each kind, and the most extreme of them."""
    files: dict[str, int] = {}
    functions: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_bytes()
        name = path.relative_to(PACKAGE).as_posix()
        files[name] = len(source.splitlines())
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                functions[f"{name}:{node.lineno} {node.name}"] = lines
    small = {name: n for name, n in files.items() if not name.endswith("__init__.py")}
    _print(f"Files over {LONG_FILE} lines", [(-n, f) for f, n in files.items() if n > LONG_FILE])
    _print(
        f"Functions over {LONG_FUNCTION} lines",
        [(-n, f) for f, n in functions.items() if n > LONG_FUNCTION],
    )
    _print(
        f"Modules under {SHORT_FILE} lines", [(n, f) for f, n in small.items() if n < SHORT_FILE]
    )


def _print(title: str, found: list[tuple[int, str]]) -> None:
    most = ", ".join(f"{name} ({abs(lines)})" for lines, name in sorted(found)[:SHOWN])
    print(f"{title}: {len(found)}" + (f", such as {most}" if most else ""))


if __name__ == "__main__":
    main()
