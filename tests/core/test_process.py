"""Exit codes that stand for a signal, and the limits of commands that a person agreed to."""

import pytest

from assent.core.shell.process import PLAN_COMMAND_LIMITS, ProcessLimits, signal_of


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (153, "SIGXFSZ"),
        (137, "SIGKILL"),
        (139, "SIGSEGV"),
        (0, ""),
        (1, ""),
        (127, ""),
        (128, ""),
        (129, ""),  # git, where its options are wrong
        (255, ""),
        (-1, ""),
    ],
)
def test_a_code_that_stands_for_a_signal(code: int, name: str) -> None:
    assert signal_of(code) == name


def test_only_looking_around_has_a_limit_on_the_size_of_a_file() -> None:
    assert (ProcessLimits().file, PLAN_COMMAND_LIMITS.file) == (1 << 30, 0)
