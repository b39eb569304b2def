"""Runs hooks: starts the user's own programs, and reads their output and exit status."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from assent.core.errors import AssentError
from assent.core.hook import VERSION, Hook, HookOutput, hook_failure, hook_output
from assent.core.paths import display_path, is_inside
from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program
from assent.ports import HookResults
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.runner.unconfined import UnconfinedRunner, user_environment
from assent.sandbox.runner.user_program import START, user_program

OUTPUT: Final = 64 << 10  # bytes of stdout and stderr together; more is a failure
_USUAL: Final = {"session": "", "agent": "", "mode": ""}


class HookEnvironment(msgspec.Struct, frozen=True):
    """Where hooks run, and for whom: the workspace, the user, and their variables."""

    root: bytes
    user: str
    environment: Mapping[str, str]


class LocalHookRunner:
    """Implements HookRunner for one workspace; keeps nothing between two events."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        site: HookEnvironment,
        process: Callable[[], LocalProcessRunner],
    ) -> None:
        self._hooks = tuple(hooks)
        self._site = site
        self._process = process

    def fire(self, on: str, facts: Mapping[str, Any]) -> HookResults:
        """Starts the hooks one after the other; the first objection ends it."""
        answers: list[HookOutput] = []
        for hook in self._hooks:
            if not hook.matches(on, str(facts.get("tool", ""))):
                continue
            answers.append(self._heard(hook, facts))
            if answers[-1].objection:
                break
        return HookResults(
            "\n".join(answer.objection for answer in answers if answer.objection),
            "\n".join(answer.words for answer in answers if answer.words),
            tuple(answer.warning for answer in answers if answer.warning),
        )

    def listens(self, on: str) -> bool:
        return any(hook.on == on for hook in self._hooks)

    def _heard(self, hook: Hook, facts: Mapping[str, Any]) -> HookOutput:
        site = self._site
        fixed = {
            "on": hook.on,
            "version": VERSION,
            "cwd": display_path(site.root),
            "user": site.user,
        }
        try:
            told = msgspec.json.encode({**_USUAL, **facts, **fixed})
            return self._answer(hook, told)
        except AssentError as error:
            return hook_failure(hook, f"did not run. {error.message}")
        except Exception as error:  # law 9: whatever goes wrong here does not approve anything
            return hook_failure(hook, f"did not run: {type(error).__name__}: {error}.")

    def _answer(self, hook: Hook, told: bytes) -> HookOutput:
        path = user_program(hook.run, self._site.environment, self._site.root)
        program = Program((path, *map(os.fsencode, hook.run[1:])), stdin=told)
        limits = ProcessLimits(seconds=hook.timeout_s, output=OUTPUT)
        start = self._confined if hook.confined else self._plain
        output, errors, end = bytearray(), bytearray(), ProcessResult(1)
        for part in start(program, limits):
            if isinstance(part, ProcessResult):
                end = part
            else:
                (errors if part.error else output).extend(part.content)
        return hook_output(hook, end, bytes(output), bytes(errors))

    def _confined(
        self, program: Program, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs it so that it can look at the workspace, and can change and reach nothing."""
        words = [word for word in program.argv if word.startswith(b"/") and os.path.isfile(word)]
        files = [word for word in words if not is_inside(word, self._site.root)]
        return self._process().runner_with_paths(files).run([program], START, limits)

    def _plain(
        self, program: Program, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Runs it as the user would, in its own process group, which ends with it."""
        variables = user_environment(self._site.environment)
        return UnconfinedRunner(variables).run(program, START, limits)
