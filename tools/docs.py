"""Writes the generated parts of the documentation, or checks that they are in step.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->` in any Markdown file of the
project; NAME is a key of GENERATORS. To add one, write a function and name it in the table.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(arguments: list[str]) -> int:
    """Brings every document in step, or with --check only names those that are not."""
    stale = dict(out_of_step())
    for path, text in stale.items():
        print(path.relative_to(ROOT))
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        print("These documents are out of step with the code. Run `make docs`.", file=sys.stderr)
        return 1
    return 0


def out_of_step() -> Iterator[tuple[Path, str]]:
    """Yields each document that differs from what it should say, with the text it should have."""
    for path in documents():
        text = path.read_text(encoding="utf-8")
        wanted = BLOCK.sub(_filled, text)
        if wanted != text:
            yield path, wanted


def documents() -> list[Path]:
    """Every Markdown file that may hold a generated part."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def module_map() -> str:
    """A row per module: its name and the first line of its docstring."""
    rows = [f"| `{name}` | {_purpose(path)} |" for name, path in _modules()]
    return "\n".join(["| Module | What it answers |", "|---|---|", *rows])


GENERATORS: dict[str, Callable[[], str]] = {
    "map": module_map,
}


def _filled(block: re.Match[str]) -> str:
    opening, name, closing = block.groups()
    return f"{opening}{GENERATORS[name]()}\n{closing}"


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path.stat().st_size:  # an empty __init__.py only marks a folder
            parts = path.relative_to(SOURCE).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path


def _purpose(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_bytes()))
    if not docstring:
        raise SystemExit(
            f"{path.relative_to(ROOT)} must begin with a line that says what it is for."
        )
    return docstring.splitlines()[0].replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
