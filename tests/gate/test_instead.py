"""Commands without a table: the reason names the command and what serves in its place."""

import re
from collections import Counter

import pytest

from assent.cli.stage import stage
from assent.gate.readonly.instead import FAMILIES, instead
from assent.gate.readonly.judge import Finding, judge


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("rm", "`rm` is not among the commands that only read: `assent stage delete PATH` stages"),
        ("mv", "`assent stage move PATH TO` stages a move"),
        ("ln", "`assent stage write PATH --link-to TARGET` stages a symlink"),
        ("xargs", "name the files, or use a wildcard"),
        ("bash", "it runs code"),
        ("curl", "there is no network while planning"),
        ("less", "use `cat FILE`"),
        ("pytest", "describe in the plan how to check the work with it"),
        ("/bin/cat", "`/bin/cat`: only programs with plain names run while planning"),
        ("./run.sh", "`./run.sh`: only programs with plain names"),
        ("frobnicate", "`frobnicate` is not among the commands that only read; read with `cat`"),
    ],
)
def test_the_reason_helps(name: str, reason: str) -> None:
    said = instead(name)
    assert reason in said
    assert said.endswith(".")


def test_the_judge_says_so() -> None:
    for name in ("rm", "xargs", "./run.sh", "frobnicate"):
        assert judge(f"{name} x") == Finding(read_only=False, reason=instead(name))


def test_no_command_is_in_two_families() -> None:
    names = Counter(name for names in FAMILIES for name in names.split())
    assert [name for name, count in names.items() if count > 1] == []


def test_only_commands_that_exist_are_promised() -> None:
    said = " ".join(FAMILIES.values())
    promised = set(re.findall(r"`assent ([a-z ]+)", said))
    assert {name.strip() for name in promised} <= {f"stage {name}" for name in stage.commands}
    for command, option in re.findall(r"`assent stage (\w+) [A-Z]+ (--[a-z-]+)", said):
        known = [name for param in stage.commands[command].params for name in param.opts]
        assert option in known
