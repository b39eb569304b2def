"""Commands on one line, as a shell would read them back."""

import shlex

import pytest

from assent.core.shell.process import shell_line


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ((b"make", b"test"), "make test"),
        ((b"sh", b"-c", b"echo v2 > f"), "sh -c 'echo v2 > f'"),
        ((b"echo", b"", b"it's"), """echo '' 'it'"'"'s'"""),
        ((b"printf", b"a\nb\x1b"), r"printf 'a\nb\x1b'"),
        ((b"cat", b"\xff"), r"cat '\xff'"),
    ],
)
def test_a_command_is_one_line_with_its_words_apart(argv: tuple[bytes, ...], line: str) -> None:
    assert shell_line(argv) == line
    assert len(shlex.split(line)) == len(argv)
