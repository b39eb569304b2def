"""Runs the commands of a plan as it says, and reports what they changed."""

import os
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from assent.core.errors import Refused, RunUnfinished
from assent.core.paths import ancestors, normalize, one_line
from assent.core.plan.git_commit import commit_argv, is_commit
from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import NO_FILES, FileStateChanges, WorkspaceChanges
from assent.core.shell.process import (
    MAX_COMMAND_S,
    PLAN_COMMAND_LIMITS,
    CommandSpec,
    OutputChunk,
    ProcessResult,
    SandboxState,
    never_stopped,
    refuse_variables,
)
from assent.core.text.hidden_chars import visible_line
from assent.planning.path_checks import command_limits
from assent.planning.ports import NoPlanRules, WorkspaceConfig
from assent.planning.snapshot.recorder import SnapshotRecorder
from assent.ports import (
    BlobStore,
    CacheFile,
    NoCacheFile,
    PlanRules,
    ProcessRunner,
    WorkspaceFiles,
)
from assent.render.rows import operation_brief
from assent.runs.git_commit import GitCommitter

NO_RULES: Final = NoPlanRules()


class LocalPlanCommandRunner:
    """Implements ports.PlanCommandRunner for one workspace."""

    def __init__(
        self,
        open_process: Callable[[], ProcessRunner],
        files: WorkspaceFiles,
        blobs: BlobStore,
        config: WorkspaceConfig,
        rules: PlanRules = NO_RULES,
        cache: Callable[[], CacheFile] = NoCacheFile,
    ) -> None:
        """`open_process` returns what holds programs to the fence that rules make.

        It is opened with the first command. `rules` judge the line itself; `cache` is for
        snapshots.
        """
        self._open_process = open_process
        self._opened: ProcessRunner | None = None
        self._rules = rules
        self._files = files
        self._root = config.root
        self._recorder = SnapshotRecorder(files, blobs, config, cache=cache)
        self._committing = GitCommitter(self._process, files, blobs, config.root)
        self._stopped: Callable[[], bool] = never_stopped

    def _process(self) -> ProcessRunner:
        if self._opened is None:
            self._opened = self._open_process()
        return self._opened

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        """Refuses a command that could not run as its plan says, before anything is done."""
        _check_words(command)
        refuse_variables(command.env)
        self._check_folder(command.cwd, meant)
        if denial := self._denial(command):
            raise Refused(f"{denial} Nothing was changed.", "assent rules list")
        if command.profile == "unconfined":
            return
        standing = self._process().sandbox_status()
        if standing.hold is not SandboxState.HELD:
            raise Refused(
                "The plan's command needs a sandbox, but no sandbox works here. "
                f"{standing.reason} Nothing was changed.",
                standing.next or "assent doctor",
            )
        if command.profile == "commit":
            self._check_form(command)
            self._committing.check(meant)

    def check_allowed(self, command: RunCommand) -> None:
        """Refuses what rules deny now, whatever they allowed when the run began (law 9)."""
        if denial := self._denial(command):
            raise Refused(denial, "assent rules list")

    def check_at_rest(self) -> None:
        """Refuses to check what a command did, or to run it again, while it still runs (law 6)."""
        if alive := self._process().still_running():
            raise RunUnfinished(
                f"Still running: {alive}, from an interrupted command without the sandbox. "
                "Nothing was changed. Stop it or wait for it to end, then try again.",
                "assent recover",
            )

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        """Removes what an interrupted commit added to git's index; nothing for other commands."""
        return self._committing.tidied(left) if command.profile == "commit" else ""

    def record(self) -> str:
        return self._recorder.store(self._recorder.take())

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        self._check_folder(command.cwd)
        limits = replace(PLAN_COMMAND_LIMITS, seconds=command.timeout, stopped=self._stopped)
        if command.profile == "commit":
            self._check_form(command)
            return self._committing.run(commit_argv(command, digest), left, limits)
        errand = CommandSpec(
            os.fsdecode(command.script),
            command.argv,
            command.env,
            command.profile,
            command.network,
        )
        folder = self._root + (b"/" + command.cwd if command.cwd else b"")
        return self._process().run_command(errand, folder, limits)

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped

    def changes(self, before: str) -> WorkspaceChanges:
        return self._recorder.changes(self._recorder.load(before))

    def _check_folder(self, folder: bytes, meant: FileStateChanges = NO_FILES) -> None:
        """Refuses what is not a folder of the workspace: the sandbox would follow a symlink.

        What the plan does to a name that it touches shows when the command is due.
        """
        if not folder:
            return
        if normalize(folder) != folder:
            raise Refused(f"{one_line(folder)} is not a folder in the workspace.")
        for path in (*reversed(ancestors(folder)), folder):
            if path in meant:
                return
            if self._files.link_target(path) is not None:
                raise Refused(
                    f"{one_line(path)} is a symbolic link; commands run only in real folders.",
                    "assent stage run --cwd DIR -- PROGRAM",
                )
        if self._files.is_file(folder):
            raise Refused(f"{one_line(folder)} is a file; commands run in a folder.")

    def _denial(self, command: RunCommand) -> str:
        """Says which rule denies a command or its undo; a commit is the user's own setting."""
        if command.profile == "commit":
            return ""
        denial = visible_line(command_limits(self._rules, command).denial)
        return (
            f"The plan's command {operation_brief(command)} cannot run: {denial}" if denial else ""
        )

    def _check_form(self, command: RunCommand) -> None:
        if not is_commit(command):
            raise Refused(
                "Only the commit that Assent adds may write to the Git repository.",
                "assent stage remove OPERATION",
            )


def _check_words(command: RunCommand) -> None:
    words = (*command.argv, command.script)
    if bool(command.argv) == bool(command.script):
        raise Refused(
            "A command must be either a program with arguments or a script.", "assent stage list"
        )
    if any(b"\0" in word for word in words) or (command.argv and not command.argv[0]):
        raise Refused("A command needs a program name and cannot contain null bytes.")
    if not 0 < command.timeout <= MAX_COMMAND_S:
        raise Refused(
            f"A command's time limit must be 1 to {MAX_COMMAND_S} seconds.", "assent stage list"
        )
