"""Without a sandbox a program is free, but it finds an empty home, and nothing stays of it."""

import os
from pathlib import Path

from tests.sandbox.profiles import Outcome, outside, python, run, shell

from assent.sandbox.runner.unconfined import NoSandboxRunner


def test_home_is_empty_private_and_gone_afterwards() -> None:
    script = 'cd && pwd && stat -c %a . && ls -A && [ "$HOME" = "$TMPDIR" ] && echo x > left'
    ended = outside(shell(script))
    home, mode = ended.output.decode().split()
    assert (ended.code, mode, os.path.exists(home)) == (0, "700", False)
    assert home != os.path.expanduser("~")


def test_each_call_has_its_own_home() -> None:
    assert outside(shell("echo ~")).output != outside(shell("echo ~")).output


def test_it_is_honest_and_holds_nothing_back(tmp_path: Path) -> None:
    assert outside(shell("echo x > made"), folder=os.fsencode(tmp_path)) == Outcome(0)
    assert (tmp_path / "made").read_text(encoding="utf-8") == "x\n"


def test_programs_are_found_in_the_given_folders_only(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho planted\n", encoding="utf-8")
    (tmp_path / "tool").chmod(0o755)
    assert run(NoSandboxRunner(), shell("tool"), folder=os.fsencode(tmp_path)).code == 127
    assert run(NoSandboxRunner([os.fsencode(tmp_path)]), shell("tool")) == Outcome(0, b"planted\n")


def test_it_is_a_session_of_its_own_without_a_terminal() -> None:
    code = (
        "print(os.getsid(0) == os.getpid(), os.path.exists('/dev/tty') and os.open('/dev/tty', 2))"
    )
    ended = outside(python(code))
    assert ended.code == 1
    assert b"No such device or address" in ended.errors
