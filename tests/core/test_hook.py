"""Hooks as data: what each way to end means at each moment."""

import pytest

from assent.core.hook import Hook, Said, said
from assent.core.process import Ended

MOMENTS = (
    "before_tool", "after_tool", "prompt", "plan_proposed", "plan_approved", "run_finished",
)  # fmt: skip
FAILURES = (
    Ended(1), Ended(3), Ended(126, "start"), Ended(137), Ended(124, "time"), Ended(137, "output"),
    Ended(2, "processes"), Ended(0, "memory"),
)  # fmt: skip


@pytest.mark.parametrize("on", MOMENTS)
def test_only_a_plain_0_is_no_objection_before_a_call(on: str) -> None:
    hook = Hook(on, ("look",))
    for end in FAILURES:
        found = said(hook, end, b"fine", b"")
        assert bool(found.objection) == (on == "before_tool"), end
        assert bool(found.warning) == (on != "before_tool"), end
        assert found.words == ""
    speaks = on in ("before_tool", "after_tool", "prompt")
    assert said(hook, Ended(0), b" yes\n", b"noise") == Said(words="yes" if speaks else "")


@pytest.mark.parametrize("on", MOMENTS)
def test_a_no_counts_where_it_can_still_be_heard(on: str) -> None:
    found = said(Hook(on, ("look",)), Ended(2), b"out", b"err")
    if on in ("before_tool", "prompt"):
        assert found == Said("err")
    else:
        warning = f'The hook look ({on}) ended with code 2. It said: "err".'
        assert found == Said(warning=warning)


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
