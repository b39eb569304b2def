"""Hooks as data: what each way to end means at each moment."""

import pytest

from assent.core.hook import Hook, HookOutput, hook_output
from assent.core.shell.process import ProcessResult

MOMENTS = (
    "before_tool", "after_tool", "prompt", "response", "before_write", "before_compact",
    "plan_proposed", "plan_approved", "run_finished",
)  # fmt: skip
CLOSED = ("before_tool", "before_write")  # where a failure denies
FAILURES = (
    ProcessResult(1), ProcessResult(3), ProcessResult(126, "start"), ProcessResult(137),
    ProcessResult(124, "time"), ProcessResult(137, "output"), ProcessResult(2, "processes"),
    ProcessResult(0, "memory"),
)  # fmt: skip


@pytest.mark.parametrize("on", MOMENTS)
def test_only_a_plain_0_is_no_objection_before_a_call(on: str) -> None:
    hook = Hook(on, ("look",))
    for end in FAILURES:
        found = hook_output(hook, end, b"fine", b"")
        assert bool(found.objection) == (on in CLOSED), end
        assert bool(found.warning) == (on not in CLOSED), end
        assert found.words == ""
    speaks = on in ("before_tool", "after_tool", "prompt", "before_compact")
    assert hook_output(hook, ProcessResult(0), b" yes\n", b"noise") == HookOutput(
        words="yes" if speaks else ""
    )


@pytest.mark.parametrize("on", MOMENTS)
def test_a_no_counts_where_it_can_still_be_heard(on: str) -> None:
    found = hook_output(Hook(on, ("look",)), ProcessResult(2), b"out", b"err")
    if on in ("before_tool", "prompt", "before_write", "before_compact"):
        assert found == HookOutput("err")
    else:
        warning = f'The hook look ({on}) exited with code 2. Error output: "err".'
        assert found == HookOutput(warning=warning)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*", ["read", "write", "shell"]),
        ("write", ["write"]),
        ("write|read", ["read", "write"]),
        ("?????", ["write", "shell"]),
        ("s* | re*", ["read", "shell"]),
        ("", []),
        ("rea", []),
        ("READ", []),
    ],
)
def test_tools_by_pattern(pattern: str, names: list[str]) -> None:
    hook = Hook("before_tool", ("look",), pattern)
    heard = [name for name in ("read", "write", "shell") if hook.matches("before_tool", name)]
    assert heard == names
    assert not hook.matches("after_tool", "read")


def test_the_pattern_counts_only_around_calls() -> None:
    assert Hook("prompt", ("look",), "write").matches("prompt", "")
