"""Whatever the grammar accepts has the words, pipes, joints and redirects that bash makes of it."""

import os
import shutil
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.shell_grammar.lines import line
from tests.shell_grammar.recorder import bash_runs, runs_of

from assent.core.errors import Refused
from assent.core.shell.parser import Pipeline, parse_command_line, simple_commands

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)  # a seed does not get simpler
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
LINES = 300  # one bash for so many of them


def accepted(text: str) -> tuple[Pipeline, ...] | None:
    """Reads a line; what bash would look up by a path cannot be recorded, so it does not count."""
    try:
        read = parse_command_line(text)
    except Refused:
        return None
    commands = simple_commands(read)
    named = any("/" in command.name for command in commands)
    # Of files only this one is there, and where another is missing nothing starts.
    missing = any(each.input and each.input.text != "/dev/null" for each in commands)
    return None if named or missing else read


@settings(max_examples=10, deadline=None, phases=UNSHRUNK)
@given(st.integers(0, 1 << 64))
def test_f79_what_is_accepted_has_the_words_of_bash(seed: int) -> None:
    random = Random(seed)
    made_up = dict.fromkeys(line(random) for _ in range(LINES))
    read = {text: found for text in made_up if (found := accepted(text)) is not None}
    with tempfile.TemporaryDirectory() as scratch:
        made = bash_runs(list(read), Path(scratch))
    folder = f"{os.path.realpath(scratch)}/empty"
    pairs = [
        (text, by_bash, runs_of(found, folder))
        for (text, found), by_bash in zip(read.items(), made, strict=True)
    ]
    assert [pair for pair in pairs if pair[1] != pair[2]] == []
    assert len(pairs) > LINES // 10


def test_the_recorder_tells_lines_apart(tmp_path: Path) -> None:
    """Every part of what is compared can differ."""
    tails = ("a", "b", "a | r", "a; r", "a && r", "a || r", "a 2>&1", "a 2>/dev/null")
    tails += ("$HOME", "a; (r; r)", "a; (r || r) 2>/dev/null", "a | r </dev/null")
    texts = [f"r {tail}" for tail in tails]
    made = bash_runs(texts, tmp_path)
    assert made == [runs_of(parse_command_line(text)) for text in texts]
    assert len(set(made)) == len(texts)
