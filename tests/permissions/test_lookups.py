"""`command -v`, `type` and `which` tell what a name stands for, and run nothing of that name."""

import os
import subprocess
from pathlib import Path

import pytest

from assent.core.permission.rule import PermissionPolicy
from assent.core.tool import Action, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import (
    check_spec_examples,
    classify_read_only,
    files_read_by,
    read_only_command,
    read_only_stages,
)
from assent.permissions.commands.read_only.spec import ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables.system import LOOKUPS
from assent.permissions.gate import RuleGate

GATE = RuleGate(PermissionPolicy(), classify_command_line, files_read_by)

READS = """
command -v python3
command -V python3
command -v rg grep
command -v [
command -v g++ python3.11
type python3
type cd
which python3
which -a rg grep
command -v rg || command -v grep
command -v no-such 2>/dev/null && echo yes
'command' -v git
"""
DOES_NOT = """
command
command ls
command rm x
command -p rm x
command -- rm x
command -pv rm
command -p -v rm
command -v
command -v -- rm
command -v -v
command -v ./rm
command -v ../x
command -v /bin/rm
command -v ~/x
command -v r*
command -v 'a b'
command -v 'x;rm y'
command -v $(rm x)
command -v `rm x`
command -v $X
command -v x > f
command -v x &
command command rm x
builtin command -v x
/usr/bin/command -v x
./command -v x
PATH=. command -v x
exec command -v x
type
type -a ls
type -P ls
type ./ls
type r*
type $(rm x)
type ls > f
which ./x > f
which $(rm x)
"""


@pytest.mark.parametrize("spec", LOOKUPS, ids=lambda spec: spec.name)
def test_the_tables_keep_to_their_examples(spec: ReadOnlyCommandSpec) -> None:
    check_spec_examples(spec)


@pytest.mark.parametrize("line", READS.strip().splitlines())
def test_f14_a_lookup_is_reading(line: str) -> None:
    assert classify_read_only(line).read_only, classify_read_only(line).reason
    assert classify_read_only(line, sandboxed=False).read_only
    found = classify_command_line(line)
    assert (found.reads, found.risk, found.effects) == ((), "low", ())
    decision = GATE.decide([ResourceAccess(Action.SHELL, line)], PermissionContext("plan"))
    assert decision.verdict is Verdict.RUN


@pytest.mark.parametrize("line", DOES_NOT.strip().splitlines())
def test_f14_everything_else_about_them_is_not(line: str) -> None:
    assert not classify_read_only(line).read_only
    decision = GATE.decide([ResourceAccess(Action.SHELL, line)], PermissionContext("plan"))
    assert decision.verdict is Verdict.DENY


@pytest.mark.parametrize("line", ["command rm -rf x", "command -p rm x", "command -- rm x"])
def test_what_command_runs_is_judged_as_that(line: str) -> None:
    found = classify_command_line(line, root="/srv/app")
    assert any(each.startswith("rm") for each in found.commands)
    assert "deletes" in found.effects


def test_no_word_of_a_lookup_is_run_as_code(tmp_path: Path) -> None:
    """What is started is `sh` with a script of ours; the names are words of it, and only words."""
    for line in ("command -v no-such python3", "type cd no-such", "command -V sh"):
        [stage] = read_only_stages(line)
        assert isinstance(stage.work, tuple)
        [reading] = stage.work
        assert reading.programs == ("sh",)
        words = [word.text for word in reading.words[1:]]
        assert words == ["-c", reading.spec.script, "sh", *line.split()[1:]]
        ran = subprocess.run(
            ["/bin/sh", *words], cwd=tmp_path, capture_output=True, check=False, env=os.environ
        )
        wanted = subprocess.run(
            ["/bin/bash", "-c", line], cwd=tmp_path, capture_output=True, check=False
        )
        assert ran.returncode == wanted.returncode, line
    assert read_only_command(reading.command, sandboxed=False).programs == ("sh",)
    assert list(tmp_path.iterdir()) == []
