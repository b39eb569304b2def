"""Hooks are real programs: what their exit codes mean, and what a confined one cannot do."""

import json
import os
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.profiles import left_over, long_time, needs_bubblewrap

from assent.core.hook import Hook
from assent.ports import HookResults
from assent.sandbox.hooks import HookEnvironment, LocalHookRunner
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.profile.profile import ProfileBuilder
from assent.sandbox.runner.bubblewrap import sandbox_unavailable
from assent.sandbox.selftest.checker import SandboxChecker, bubblewrap_confinement

NOT_DONE = " The tool call was denied because the hook could not check it."
LATER = ("after_tool", "plan_proposed", "plan_approved", "run_finished")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sandbox's self-test is remembered, so that it is made once."""
    return tmp_path_factory.mktemp("state")


class Bench:
    """A workspace, a folder of hooks beside it, and what hears."""

    def __init__(self, base: Path, known: Path) -> None:
        self.root, self.programs, self.home = base / "project", base / "hooks", base / "home"
        for folder in (self.root, self.programs, self.home):
            folder.mkdir()
        self.known = known
        self.environment = {"PATH": f"/usr/bin:/bin:{self.programs}", "MINE": "seen"}

    def script(self, body: str, name: str = "hook") -> str:
        """Writes a hook for the shell, and returns its whole path."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def fire(self, *hooks: Hook, on: str = "before_tool", **facts: Any) -> HookResults:
        site = HookEnvironment(os.fsencode(self.root), "me", self.environment)
        return LocalHookRunner(hooks, site, self._process).fire(on, {"tool": "edit", **facts})

    def plain(self, body: str, on: str = "before_tool", **facts: Any) -> HookResults:
        """Has an unconfined hook with this body hear of something."""
        return self.fire(Hook(on, (self.script(body),), confined=False), on=on, **facts)

    def confined(self, body: str) -> HookResults:
        return self.fire(Hook("before_tool", (self.script(body),)))

    def _process(self) -> LocalProcessRunner:
        root, home = os.fsencode(self.root), os.fsencode(self.home)
        sight = ProfileBuilder(root, home, [os.fsencode(self.known)], self.environment)
        standings = SandboxChecker(self.known, partial(bubblewrap_confinement, os.environ))
        return LocalProcessRunner(sight, standings, self.environment)


@pytest.fixture
def bench(tmp_path: Path, known: Path) -> Bench:
    return Bench(tmp_path, known)


def test_a_hook_reads_one_object(bench: Bench) -> None:
    kept = bench.programs / "told.json"
    heard = bench.plain(f"cat > {kept}", session="s1", arguments={"path": "a", "n": [1]})
    assert heard == HookResults()
    assert json.loads(kept.read_bytes()) == {
        "on": "before_tool",
        "version": 1,
        "session": "s1",
        "agent": "",
        "mode": "",
        "cwd": str(bench.root),
        "user": "me",
        "tool": "edit",
        "arguments": {"path": "a", "n": [1]},
    }


def test_f134_exit_0_is_no_objection_and_its_words_are_heard(bench: Bench) -> None:
    assert bench.plain("exit 0") == HookResults()
    assert bench.plain("echo ' Mind the gap. '; echo noise >&2") == HookResults(
        words="Mind the gap."
    )


@pytest.mark.parametrize("on", ["before_tool", "prompt"])
def test_f134_exit_2_is_a_no_with_its_reason(bench: Bench, on: str) -> None:
    assert bench.plain("echo why >&2; echo what; exit 2", on) == HookResults("why")
    assert bench.plain("echo what; exit 2", on) == HookResults("what")
    name = bench.programs / "hook"
    assert bench.plain("exit 2", on) == HookResults(
        f"The hook {name} denied this and gave no reason."
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("exit 1", "exited with code 1."),
        ("echo oh >&2; exit 3", 'exited with code 3. Error output: "oh".'),
        ("kill -SEGV $$", "exited with code 139."),
        ("kill -KILL $$", "exited with code 137."),
        ("no-such-program-at-all 2>/dev/null", "exited with code 127."),
        (r"printf '\377'", "returned output that is not valid UTF-8."),
        ("yes", "was stopped: it reached its limit of output."),
    ],
)
def test_f134_before_a_call_every_failure_is_a_no(bench: Bench, body: str, why: str) -> None:
    name = bench.programs / "hook"
    assert bench.plain(body) == HookResults(f"The hook {name} (before_tool) {why}{NOT_DONE}")


@pytest.mark.parametrize("on", [*LATER, "prompt"])
def test_elsewhere_a_failure_is_a_warning(bench: Bench, on: str) -> None:
    name = bench.programs / "hook"
    warning = f"The hook {name} ({on}) exited with code 1."
    assert bench.plain("exit 1", on) == HookResults(warnings=(warning,))


@pytest.mark.parametrize("on", LATER)
def test_what_is_done_cannot_be_objected_to(bench: Bench, on: str) -> None:
    name = bench.programs / "hook"
    warning = f'The hook {name} ({on}) exited with code 2. Error output: "no".'
    assert bench.plain("echo no >&2; exit 2", on) == HookResults(warnings=(warning,))


@pytest.mark.parametrize("body", ["exec sleep MARK", "sleep MARK & sleep MARK", "(sleep MARK &)"])
def test_a_slow_hook_is_ended_with_all_that_it_started(bench: Bench, body: str) -> None:
    mark = long_time()
    script = bench.script(body.replace("MARK", mark))
    hook = Hook("before_tool", (script,), timeout_s=0.3, confined=False)
    heard = bench.fire(hook)
    if not body.startswith("("):  # there, only what was left behind is slow
        slow = "was stopped: it reached its limit of time."
        assert heard == HookResults(f"The hook {script} (before_tool) {slow}{NOT_DONE}")
    assert left_over(mark) == []


def test_a_program_that_is_missing_or_cannot_run_is_a_no(bench: Bench) -> None:
    (bench.programs / "text").write_text("exit 0\n", encoding="utf-8")
    for run in (("no-such-hook",), ("/no/such/hook",), (str(bench.programs / "text"),)):
        heard = bench.fire(Hook("before_tool", run, confined=False))
        why = f"did not run. {run[0]} not found or not executable."
        assert heard == HookResults(f"The hook {run[0]} (before_tool) {why}{NOT_DONE}")
    assert "No program is named" in bench.fire(Hook("before_tool", ())).objection


def test_a_broken_program_is_a_no(bench: Bench) -> None:
    path = bench.programs / "binary"
    path.write_bytes(b"\x7fELF and no more")
    path.chmod(0o755)
    heard = bench.fire(Hook("before_tool", ("binary",), confined=False))
    assert heard.objection.startswith("The hook binary (before_tool) ")
    assert heard.objection.endswith(NOT_DONE)


def test_what_lies_in_the_workspace_is_no_hook(bench: Bench) -> None:
    inner = bench.root / "hook"
    inner.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    inner.chmod(0o755)
    (bench.programs / "led").symlink_to(inner)
    bench.environment["PATH"] += f":{bench.root}"
    asked: list[tuple[str, ...]] = [
        ("./hook",),
        (str(inner),),
        (str(bench.programs / "led"),),
        ("led",),
        ("hook",),
        ("sh", str(inner)),
        ("sh", str(bench.programs / "led")),
    ]
    for run in asked:
        objection = bench.fire(Hook("before_tool", run, confined=False)).objection
        assert f"The hook {run[0]} (before_tool) did not run." in objection, run


def test_only_hooks_of_the_moment_and_the_tool_run(bench: Bench) -> None:
    hooks = [
        Hook("before_tool", (bench.script(f"echo {n}", f"h{n}"),), tool, confined=False)
        for n, tool in enumerate(("*", "edit", "ed?t", "read|write", "read | ed*", "e", ""))
    ]
    assert bench.fire(*hooks).words == "0\n1\n2\n4"
    assert bench.fire(*hooks, on="after_tool") == HookResults()


def test_the_first_no_ends_it(bench: Bench) -> None:
    mark = bench.programs / "second ran"
    first = Hook("before_tool", (bench.script("exit 2", "one"),), confined=False)
    second = Hook("before_tool", (bench.script(f"touch '{mark}'", "two"),), confined=False)
    assert bench.fire(first, second).objection
    assert not mark.exists()


def test_an_unconfined_hook_has_the_persons_variables(bench: Bench) -> None:
    assert bench.plain('echo "$MINE"').words == "seen"


def test_a_hook_starts_outside_the_workspace(bench: Bench) -> None:
    """Or `python -m json.tool` would load what an agent wrote as json.py."""
    assert bench.plain("pwd").words == "/"
    planted = bench.root / "json"
    planted.mkdir()
    for name in ("__init__.py", "tool.py"):
        (planted / name).write_text("print('hijacked')", encoding="utf-8")
    run = (os.path.realpath(sys.executable), "-m", "json.tool", "--compact")
    assert "hijacked" not in bench.fire(Hook("before_tool", run, confined=False)).words


def test_what_cannot_be_told_is_a_no(bench: Bench) -> None:
    heard = bench.plain("exit 0", arguments=object())
    assert heard.objection.startswith(f"The hook {bench.programs / 'hook'} (before_tool) did not")


@needs_bubblewrap
def test_a_confined_hook_sees_the_workspace_and_its_own_program(bench: Bench) -> None:
    (bench.root / "seen.txt").write_text("here", encoding="utf-8")
    assert bench.confined(f"cat {bench.root}/seen.txt; cat >/dev/null") == HookResults(words="here")
    aside = bench.programs / "aside.py"
    aside.write_text("import json, sys; print(json.load(sys.stdin)['tool'])", encoding="utf-8")
    python = os.path.realpath(sys.executable)
    assert bench.fire(Hook("before_tool", (python, str(aside)))) == HookResults(words="edit")


@needs_bubblewrap
def test_f134_a_confined_hook_changes_nothing_and_reaches_nobody(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        tried = f"""
        touch {bench.root}/made 2>/dev/null && echo wrote in the workspace
        echo x > {bench.programs}/made 2>/dev/null && echo wrote beside it
        echo x >> {bench.programs}/hook 2>/dev/null && echo wrote itself
        (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected
        [ -n "$MINE" ] && echo saw a variable
        [ -e {bench.home}/secret ] && echo saw the home
        exit 0
        """
        (bench.home / "secret").write_text("s", encoding="utf-8")
        body = tried.replace("'", "")
        path = Path(bench.script(body))
        path.write_text(path.read_text("utf-8").replace("/bin/sh", "/bin/bash"), encoding="utf-8")
        before = path.read_bytes()
        assert bench.fire(Hook("before_tool", (str(path),))) == HookResults()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert path.read_bytes() == before
    assert [p.name for p in (*bench.root.iterdir(), *bench.programs.iterdir())] == ["hook"]


@needs_bubblewrap
def test_a_confined_hook_sees_none_of_its_neighbours(bench: Bench) -> None:
    hook = bench.known / "hook"
    hook.write_text("#!/bin/sh\nls $(dirname $0)\n", encoding="utf-8")
    hook.chmod(0o755)
    heard = bench.fire(Hook("before_tool", (str(hook),)))
    neighbours = len(list(bench.known.iterdir())) - 1
    hook.unlink()
    assert (heard, neighbours > 0) == (HookResults(words="hook"), True)


@needs_bubblewrap
def test_a_confined_hook_whose_file_is_masked_is_a_no(bench: Bench) -> None:
    secret = bench.programs / ".env"  # in a folder of PATH, and never shown
    secret.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    secret.chmod(0o755)
    heard = bench.fire(Hook("before_tool", (str(secret),)))
    why = f"did not run. {secret} is hidden from programs in the sandbox."
    assert heard == HookResults(f"The hook {secret} (before_tool) {why}{NOT_DONE}")


def test_where_no_sandbox_holds_a_confined_hook_is_a_no(bench: Bench, tmp_path: Path) -> None:
    bench.known = tmp_path / "nowhere"
    bench.known.mkdir()
    site = HookEnvironment(os.fsencode(bench.root), "me", bench.environment)

    def leaking() -> LocalProcessRunner:
        sight = ProfileBuilder(
            os.fsencode(bench.root), os.fsencode(bench.home), [], bench.environment
        )
        from_outside = SandboxChecker(bench.known, lambda _: _nobody)
        return LocalProcessRunner(sight, from_outside, bench.environment)

    hooks = LocalHookRunner([Hook("before_tool", (bench.script("exit 0"),))], site, leaking)
    objection = hooks.fire("before_tool", {"tool": "edit"}).objection
    assert objection.startswith(f"The hook {bench.programs / 'hook'} (before_tool) did not run. ")
    assert sandbox_unavailable() is not None or "No sandbox available." in objection


def _nobody(ground: object) -> Any:
    raise OSError("no sandbox today")
