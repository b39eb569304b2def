"""Proves that a move by script changed names only: `python tools/same_bodies.py OLD NEW FOLDER...`.

For every test file of the folders at the commit OLD it finds the file at NEW that it became, and
compares their syntax trees: the same nodes and numbers, the same tests, names in the same places.
What is imported from where is left out. In strings only names, dotted names, paths and blanks may
differ. Printed for a reader to judge: words that changed in strings, since none may be an
expectation; two old names that have one new name in a file, and one that has two. Files that are
not Python have to be equal."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

WORDS = re.compile(r"\w+(?:[./]\w+)*")  # a name, a dotted name, a path


def main(old: str, new: str, folders: list[str]) -> int:
    wrong, merged, strings = list[str](), list[str](), set[tuple[str, str]]()
    became = renamed(old, new)
    files = [f for f in listing(old) if f.startswith(tuple(folders))]
    for path in files:
        after = became.get(path, path)
        if (blob := git("ls-tree", new, after)) == "":
            wrong.append(f"{path}: is gone")
            continue
        if not path.endswith(".py"):
            if blob.split()[2] != git("ls-tree", old, path).split()[2]:
                wrong.append(f"{path}: differs")
            continue
        text = git("show", f"{new}:{after}")
        found, same, changed = differences(git("show", f"{old}:{path}"), text)
        wrong += [f"{path}: {each}" for each in found]
        merged += [f"{path}: {each}" for each in same]
        strings |= changed
    for before, later in sorted(strings):
        print(f"string  {before} -> {later}")
    for each in merged:
        print(f"merged  {each}")
    for each in wrong:
        print(f"WRONG   {each}")
    print(f"{len(files)} files compared, {len(wrong)} of them differ in more than names")
    return bool(wrong)


def differences(old: str, new: str) -> tuple[list[str], list[str], set[tuple[str, str]]]:
    """What differs beyond names, names that are one now, and words in strings that changed."""
    before, after = list(parts(ast.parse(old))), list(parts(ast.parse(new)))
    if len(before) != len(after):
        return [f"{len(before)} parts became {len(after)}"], [], set()
    wrong, merged, words = list[str](), dict[str, str](), set[tuple[str, str]]()
    names: dict[str, str] = {}
    later: dict[str, str] = {}
    for (kind, one), (other_kind, other) in zip(before, after, strict=True):
        if kind != other_kind or (kind == "exact" and one != other):
            return [f"{kind} {one!r} became {other_kind} {other!r}"], [], words
        if kind == "name" and names.setdefault(other, one) != one:
            merged[one] = f"{names[other]!r} and {one!r} are both {other!r} now"
        if kind == "name" and later.setdefault(one, other) != other:
            merged[one] = f"{one!r} is {later[one]!r} and {other!r} now"
        if kind == "name" and one != other and one.startswith("test_"):
            wrong.append(f"{one!r} became {other!r}")
        if kind == "string" and one != other:
            if WORDS.sub("·", one).split() != WORDS.sub("·", other).split():
                wrong.append(f"{one!r} became {other!r}")
            pairs = zip(WORDS.findall(one), WORDS.findall(other), strict=False)
            words |= {(a, b) for a, b in pairs if a != b}
    return wrong, list(merged.values()), words


def parts(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The tree as a list: what has to be the same, names, and strings."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return
    yield "exact", type(node).__name__
    for field, value in ast.iter_fields(node):
        if field in {"ctx", "kind", "type_comment"}:
            continue
        values = value if isinstance(value, list) else [value]
        kept = [v for v in values if not isinstance(v, ast.Import | ast.ImportFrom)]
        yield "exact", f"{field}: {len(kept)}"
        for each in kept:
            if isinstance(each, ast.AST):
                yield from parts(each)
            elif isinstance(each, str):
                yield ("string" if isinstance(node, ast.Constant) else "name"), each
            else:
                yield "exact", repr(each)


def renamed(old: str, new: str) -> dict[str, str]:
    """Old path to new path; where git is not sure, the commits in between are asked one by one."""
    now = {path: path for path in listing(old)}
    steps = git("rev-list", "--reverse", f"{old}..{new}").split()
    for step in steps:
        told = git(
            "show", "-B20%", "-M25%", "-l0", "--name-status", "--diff-filter=R", "--format=", step
        )
        moved = dict(line.split("\t")[1:3] for line in told.splitlines())
        now = {first: moved.get(path, path) for first, path in now.items()}
    return now


def listing(commit: str) -> list[str]:
    names = git("ls-tree", "-r", "--name-only", commit).splitlines()
    return [name for name in names if PurePosixPath(name).parts[0] == "tests"]


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:] or ["tests/"]))
