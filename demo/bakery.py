"""The repository of the demonstration: a small bakery with very many recipes."""

import hashlib
from pathlib import Path

RECIPES = 1_200

OVEN = "bakery/oven.py"
LEGACY = "bakery/legacy.py"
WORKFLOW = ".github/workflows/ci.yml"

FILES = {
    "README.md": "# Bakery\n",
    OVEN: 'DEGREES = 200\n\n\ndef bake(bread):\n    return f"{bread} at {DEGREES}"\n',
    LEGACY: "WOOD = True\n",
    WORKFLOW: "on: push\njobs:\n  test:\n    steps:\n      - run: make test\n",
}


def build(root: Path) -> None:
    """Writes the repository's files."""
    for name, content in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    (root / "recipes").mkdir()
    for number in range(RECIPES):
        recipe = f'{{"bread": {number}, "grams": {500 + number}}}\n'
        (root / "recipes" / f"{number:04}.json").write_text(recipe, encoding="utf-8")


def read(root: Path, name: str) -> str | None:
    """Returns a file's text, or None if there is none."""
    path = root / name
    return path.read_text(encoding="utf-8") if path.exists() else None


def recipes(root: Path, folder: str) -> list[Path]:
    """Returns the recipes that lie in a folder, in order."""
    return sorted((root / folder).glob("*.json"))


def sum_of(files: list[Path]) -> str:
    """Returns one hash over names and contents."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
