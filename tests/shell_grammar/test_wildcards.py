"""A pattern stands for the same files, in the same order, as in bash."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.shell_grammar.lines import Tree, pattern, tree
from tests.shell_grammar.recorder import bash_runs

from assent.core.errors import Refused
from assent.core.shell.glob import expand_glob
from assent.core.shell.parser import parse_command_line

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)  # a seed does not get simpler
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
CASES = 100  # one bash for so many of them


def plant(planted: Tree, folder: Path) -> None:
    """Makes the files of a tree."""
    folder.mkdir()
    for name, inner in planted.items():
        if inner is None:
            (folder / name).touch()
        else:
            plant(inner, folder / name)


def ours(planted: Tree, line: str) -> tuple[str, ...] | None:
    """Returns the words of a line with its wildcards replaced; None if it is refused."""
    try:
        words = parse_command_line(line)[0].commands[0].words
        if any(word.text.startswith("/") or "/../" in f"/{word.text}/" for word in words):
            return None  # outside the tree
        found = [
            expand_glob(word.pattern, Folders(planted).names) if word.pattern else []
            for word in words
        ]
    except Refused:
        return None
    return tuple(
        text
        for word, paths in zip(words, found, strict=True)
        for text in ([path.decode() for path in paths] or [word.text])
    )


class Folders:
    """A tree as the folders that patterns are looked up in."""

    def __init__(self, planted: Tree) -> None:
        self._tree = planted

    def names(self, folder: bytes) -> Mapping[bytes, bool]:
        here: list[Tree] = [self._tree]
        for part in folder.decode().split("/"):
            if part == "..":
                here.pop()
            elif part not in ("", "."):
                inner = here[-1].get(part) if here else None
                here.append(inner if inner is not None else {})
            if not here:
                return {}
        return {name.encode(): inner is not None for name, inner in here[-1].items()}


@settings(max_examples=10, deadline=None, phases=UNSHRUNK)
@given(st.integers(0, 1 << 64))
def test_a_pattern_stands_for_what_it_stands_for_in_bash(seed: int) -> None:
    random = Random(seed)
    made_up = [(tree(random), f"r {pattern(random)}") for _ in range(CASES)]
    read = [(*case, words) for case in made_up if (words := ours(*case)) is not None]
    with tempfile.TemporaryDirectory() as scratch:
        for at, (planted, _, _) in enumerate(read):
            plant(planted, Path(scratch, str(at)))
        made = bash_runs([line for _, line, _ in read], Path(scratch), wildcards=True)
    bash = [tuple(word for record in runs.working for word in record.words) for runs in made]
    pairs = zip(read, bash, strict=True)
    assert [(case, words) for case, words in pairs if case[2] != words] == []
    assert any(len(words) > 2 for words in bash)
