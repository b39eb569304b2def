"""The user's checks after a staged edit: bounded commands in the scratch copy."""

from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import settle

from assent.agent.edit_checks import MAX_CHARS, MAX_COMMANDS, MAX_LINES, check_lines, last_part
from assent.core.plan.operation import DeleteFile, FileState, WriteFile

pytestmark = needs_bubblewrap
EDIT = {"path": "src/app.py", "old": "one", "new": "two"}


def furnished(base: Path, checks: str) -> Stage:
    stage = Stage(base, checks)
    stage.put("src/app.py", b"one\n")
    stage.put("other.txt", b"one\n")
    stage.ok("init")
    settle()
    return stage


def edited(stage: Stage, edit: dict[str, Any] = EDIT, tool: str = "edit") -> str:
    [end] = stage.called((tool, edit))
    assert (end["verdict"], end["result"]["failed"]) == ("stage", False)
    return str(end["result"]["text"])


def test_f133_a_failed_check_is_told_with_its_output_and_nothing_real_changes(
    tmp_path: Path,
) -> None:
    """It sees the draft, may write what it likes, and its changes are never staged."""
    line = "cat {path}; echo x > made.txt; echo pwned > other.txt; exit 3"
    stage = furnished(tmp_path, f'[check]\n"*.py" = "{line}"\n')
    before = stage.everything()
    told = edited(stage)
    assert f"[Check failed: {line.replace('{path}', './src/app.py')}]\ntwo\n[Exit code 3.]" in told
    assert [row["path"] for row in stage.staged()] == ["src/app.py"]
    assert stage.everything() == before


def test_f133_a_check_that_passes_and_one_for_other_files_say_nothing(tmp_path: Path) -> None:
    stage = furnished(tmp_path, '[check]\n"*.py" = "grep two {path}"\n"docs/*" = "exit 1"\n')
    told = edited(stage)
    assert "heck" not in told
    assert "two\n[" not in told


@pytest.mark.parametrize("line", ["grep -q three {path}", "test -f missing", "! true"])
def test_f133_a_check_fails_by_its_exit_code_whatever_that_means_elsewhere(
    tmp_path: Path, line: str
) -> None:
    """For a model that searches, `grep` without a match is an answer; as a check it is not."""
    stage = furnished(tmp_path, f'[check]\n"*.py" = "{line}"\n')
    assert "[Check failed: " in edited(stage)


def test_f133_checks_are_bounded_in_number_time_and_output(tmp_path: Path) -> None:
    rows = [f'"*.p{"?" * n}" = "echo {n}; exit 1"' for n in range(1, 2)]
    rows += [f'"{"*" * n}.py" = "echo run {n}; exit 1"' for n in range(2, 8)]
    stage = furnished(tmp_path, "[check]\n" + "\n".join(rows))
    told = edited(stage)
    assert told.count("[Check failed: ") == MAX_COMMANDS
    assert f"[{len(rows) - MAX_COMMANDS} more checks not run]" in told
    long = "\n".join(f"line {n} {'x' * 200}" for n in range(1000))
    assert len(last_part(long)) <= MAX_CHARS + 10
    assert last_part(long).count("\n") <= MAX_LINES + 1
    assert last_part(long).endswith("line 999 " + "x" * 200)


@pytest.mark.slow
def test_f133_a_check_that_never_ends_is_ended(tmp_path: Path) -> None:
    stage = furnished(tmp_path, '[shell]\ntimeout_s = 1\n[check]\n"*.py" = "sleep 600"\n')
    assert "[It was stopped early: time.]" in edited(stage)


def test_f133_a_name_is_never_a_part_of_the_command(tmp_path: Path) -> None:
    stage = furnished(tmp_path, '[check]\n"*.py" = "ls {path}; exit 1"\n')
    name = "-x; touch pwned; $(touch pwned) `touch pwned` '.py"
    told = edited(stage, {"path": name, "content": "x\n"}, "write")
    assert "touch pwned" in told
    assert "pwned" not in {path.decode() for path in stage.files()}
    assert f"./{name}" in told.replace("'\"'\"'", "'")


def test_f133_rules_that_deny_a_command_deny_a_check_and_a_missing_one_fails(
    tmp_path: Path,
) -> None:
    rules = '[permission.bash]\n"git push *" = "deny"\n'
    stage = furnished(tmp_path, f'{rules}[check]\n"*.py" = "git push"\n')
    told = edited(stage)
    assert "[Not checked: " in told
    stage.config.write_text('[check]\n"*.py" = "no-such-linter {path}"\n', encoding="utf-8")
    told = edited(stage, {"path": "src/app.py", "old": "one", "new": "three"})
    assert "[Check failed: no-such-linter ./src/app.py]" in told
    assert "[Exit code 127.]" in told


def test_f133_only_the_user_chooses_checks(tmp_path: Path) -> None:
    stage = furnished(tmp_path, "")
    (stage.root / ".opencode" / "assent.toml").write_text(
        '[check]\n"*" = "echo planted; exit 1"\n', encoding="utf-8"
    )
    assert "planted" not in edited(stage)


@pytest.mark.parametrize("shell", ["stage", "read-only"])
def test_f133_without_the_copy_nothing_is_checked(tmp_path: Path, shell: str) -> None:
    stage = furnished(tmp_path, f'[plan]\nshell = "{shell}"\n[check]\n"*.py" = "exit 1"\n')
    assert "heck" not in edited(stage)


def test_f133_each_command_runs_once_for_all_files_that_it_is_for() -> None:
    state = FileState("0" * 64, 1, 0o644)
    link = FileState("0" * 64, 1, 0o777, "link")
    operations = (
        WriteFile(b"a.py", None, state),
        WriteFile(b"sub/b.py", None, state),
        DeleteFile(b"c.py", state),
        WriteFile(b"d.py", None, link),
    )
    checks = {"*.py": "lint {path}", "sub/*": "make check", "**": "", "*.p?": "make check"}
    assert check_lines(operations, checks) == ["lint ./a.py", "make check", "lint ./sub/b.py"]
