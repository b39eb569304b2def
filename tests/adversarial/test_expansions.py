"""F79 and F81: a command that hides in an expansion is asked about, whatever rule, preset or
remembered answer covers the command that it hides in."""

from typing import Any

import pytest
from tests.adversarial.harness import Stage
from tests.adversarial.test_adversarial_grants import ASKING, turn
from tests.cli.harness import TRUSTING

HIDDEN = (
    "x='$(touch PWN)'; git status ${x@P}",
    "x='a[$(touch PWN)]'; git status $((x))",
    "x='a[$(touch PWN)]'; git status \"${y[$x]}\"",
    "for x in 'a[$(touch PWN)]'; do git status $((x)); done",
    "GIT_EXTERNAL_DIFF='touch PWN' git status",
)
RULES = {"a rule": '[permission.bash]\n"git status *" = "allow"\n', "a preset": 'preset = "dev"\n'}


def made(command: str) -> tuple[str, dict[str, Any]]:
    return "shell", {"command": command}


def asked(stage: Stage, command: str) -> None:
    """Has the model run a line where nobody answers, and shows that nothing ran."""
    [end] = stage.called(made(command), options=("--mode", "ask"))
    assert (end["verdict"], end["result"]["failed"]) == ("ask", True)
    assert not (stage.root / "PWN").exists()


@pytest.mark.parametrize("command", HIDDEN)
@pytest.mark.parametrize("config", RULES.values(), ids=RULES)
def test_f79_no_rule_covers_what_hides(victim: Stage, config: str, command: str) -> None:
    victim.config.write_text(config, encoding="utf-8")
    asked(victim, command)


@pytest.mark.parametrize("command", HIDDEN)
def test_f81_no_remembered_answer_covers_what_hides(victim: Stage, command: str) -> None:
    victim.config.write_text(TRUSTING, encoding="utf-8")
    victim.play(turn(made("make status")), {"text": "Done."}, options=ASKING)
    [row] = victim.ok("questions", "list")["questions"]
    [pattern] = row["questions"][0]["always"]
    assert pattern["pattern"] == "make status *"
    line = ("questions", "answer", row["question"], "project", "--digest", row["digest"])
    assert victim.ok(*line, "--pattern", pattern["pattern"])["grant"]
    [end] = victim.called(made("make status x"), options=("--mode", "ask"))
    assert end["verdict"] == "run"
    asked(victim, command.replace("git status", "make status"))
