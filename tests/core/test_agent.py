"""Agents: which one could do more than another."""

import pytest

from assent.core.permission.rule import PermissionRule
from assent.core.session.agent import Agent, may_widen


def agent(*rules: tuple[str, str], **more: object) -> Agent:
    rows = tuple(PermissionRule(permission, "*", action) for permission, action in rules)  # type: ignore[arg-type]
    return Agent("one", rules=rows, **more)  # type: ignore[arg-type]


PLAIN = agent()


@pytest.mark.parametrize(
    ("other", "than", "wider"),
    [
        (PLAIN, PLAIN, False),
        (PLAIN, Agent("two", prompt="Other words"), False),
        (agent(("shell", "deny")), PLAIN, False),
        (agent(("shell", "allow")), PLAIN, True),
        (agent(("shell", "ask")), PLAIN, True),  # it could replace a stricter ask
        (PLAIN, agent(("shell", "allow")), False),
        (PLAIN, agent(("shell", "deny")), True),
        (PLAIN, agent(("shell", "ask")), True),
        (agent(("shell", "deny")), agent(("shell", "deny")), False),
        (agent(("shell", "allow")), agent(("shell", "allow")), False),
        (agent(("shell", "allow")), agent(("shell", "allow"), source="project"), True),
        (agent(tools={"write": False}), PLAIN, False),
        (PLAIN, agent(tools={"write": False}), True),
        (agent(tools={"*": False, "write": True}), agent(tools={"write": False}), True),
        (agent(tools={"*": False, "read": True}), PLAIN, False),
        (agent(steps=5), PLAIN, False),
        (PLAIN, agent(steps=5), True),
        (agent(steps=6), agent(steps=5), True),
        (agent(seconds=4), agent(seconds=5), False),
        (agent(narrowing=((PermissionRule("shell", "*", "deny"),),)), PLAIN, False),
        (PLAIN, agent(narrowing=((PermissionRule("shell", "*", "deny"),),)), True),
    ],
)
def test_what_could_be_done_beyond_another_agent(other: Agent, than: Agent, wider: bool) -> None:
    assert may_widen(other, than) is wider
