"""Checks of the shell: a line that writes is refused, and secrets are not visible."""

import os
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from assent.core.errors import Refused
from assent.core.paths import display_path
from assent.core.shell.process import OutputChunk, ProcessLimits, Program, SandboxState
from assent.doctor.check import (
    CheckFunction,
    CheckSkipped,
    DoctorCheck,
    refusal_text,
    require_safeguard,
    run_check,
)
from assent.doctor.workspace import DoctorWorkspace, doctor_workspace
from assent.sandbox.read_only_shell import LocalReadOnlyShell, classify_read_only
from assent.sandbox.selftest.canaries import SelfTestPaths
from assent.sandbox.selftest.selftest import ConfinementFactory

WRITING: Final = (
    "rm kept.txt",
    "echo x > kept.txt",
    "echo x >> kept.txt",
    "cat kept.txt | tee new.txt",
    "mv kept.txt new.txt",
    "cp kept.txt new.txt",
    "touch new.txt",
    "mkdir new",
    "chmod 777 kept.txt",
    "ln -s kept.txt new.txt",
    "sed -i s/kept/lost/ kept.txt",
    "sed 's/kept/lost/w new.txt' kept.txt",
    "awk 'BEGIN { print > \"new.txt\" }'",
    "find . -delete",
    "find . -exec rm {} +",
    "sort -o kept.txt kept.txt",
    "uniq kept.txt new.txt",
    "tree -o new.txt",
    "git commit -am x",
    "git -c core.pager=sh log",
    "git diff --output=new.txt",
    "ls $(rm kept.txt)",
    "ls `rm kept.txt`",
    "ls; rm kept.txt",
    "ls && rm kept.txt",
    "ls\nrm kept.txt",
    "sh -c 'rm kept.txt'",
    "env rm kept.txt",
    "xargs rm",
    'python3 -c \'open("new.txt", "w")\'',
    "curl http://127.0.0.1/",
    "./kept.txt",
    "PATH=. ls",
)
CONTROL: Final = "cat kept.txt"
BASH: Final = b"/bin/bash"
SECRET_READS: Final = ("cat .env", "head -c 100 ./.env", "cat .e*", "grep -r TOKEN .")
SECRET: Final = b"TOKEN=very-secret\n"
LIMITS: Final = ProcessLimits(seconds=20)

ROWS: Final = {
    "judged": f"get {len(WRITING)} writing command lines classified as read-only",
    "run": "run the same command lines in the shell",
    "contained": "run the same command lines with bash in the sandbox",
    "secrets": "read a .env file",
}

ShellOpener: TypeAlias = Callable[[DoctorWorkspace], LocalReadOnlyShell]
ConfinementFinder: TypeAlias = Callable[[], ConfinementFactory | None]


def shell_checks(opening: ShellOpener, confining: ConfinementFinder) -> list[DoctorCheck]:
    """Runs the checks of the shell, each in its own workspace."""
    attempts: dict[str, CheckFunction] = {"judged": _judged, "run": partial(_run, opening)}
    attempts["contained"] = partial(_contained, confining)
    attempts["secrets"] = partial(_secrets, opening)
    return [run_check("shell", name, ROWS[name], attempt) for name, attempt in attempts.items()]


def _judged() -> str:
    harmless = [
        line
        for line in WRITING
        for on in (True, False)
        if classify_read_only(line, sandboxed=on).read_only
    ]
    require_safeguard(not harmless, f"Classified as read-only: {harmless[:3]}")
    require_safeguard(
        classify_read_only(CONTROL).read_only,
        "Even `cat` is refused, so this check proves nothing.",
    )
    return f"All {len(WRITING)} were refused."


def _run(opening: ShellOpener) -> str:
    with doctor_workspace() as workspace:
        shell = opening(workspace)
        before = workspace.place.seen()
        for line in WRITING:
            refusal_text(partial(_output, shell, line, workspace), Refused)
        require_safeguard(workspace.place.seen() == before, "Something was changed.")
        if shell.sandbox_status().hold is SandboxState.OFF:
            return "The shell is off."
        said = _output(shell, CONTROL, workspace)
        if said != b"kept\n":
            raise CheckSkipped(
                f"All were refused, but even `cat` does not work here: {display_path(said)}"
            )
    return f"All {len(WRITING)} were refused; `cat` works."


def _contained(confining: ConfinementFinder) -> str:
    """Skips the text check: what it would refuse must also have no effect in the sandbox."""
    confine = confining()
    if confine is None or not os.path.exists(BASH):
        raise CheckSkipped("No sandbox or no bash available.")
    with doctor_workspace() as workspace:
        ground = SelfTestPaths(
            workspace.root, workspace.outside, workspace.places.state, workspace.places.config
        )
        run = confine(ground)
        before = workspace.place.seen()
        for line in (*WRITING, CONTROL):
            program = Program((BASH, b"-c", line.encode()))
            pieces = list(run((program,), _folder(workspace), LIMITS))
        require_safeguard(workspace.place.seen() == before, "Something was changed.")
        require_safeguard(
            OutputChunk(b"kept\n") in pieces, "Nothing runs, so this check proves nothing."
        )
    return "They ran and changed nothing."


def _secrets(opening: ShellOpener) -> str:
    with doctor_workspace() as workspace:
        shell = opening(workspace)
        workspace.put(".env", SECRET)
        if shell.sandbox_status().hold is SandboxState.OFF:
            raise CheckSkipped("The shell is off.")
        said = _output(shell, CONTROL, workspace)
        if said != b"kept\n":
            raise CheckSkipped(f"Even `cat` does not work here: {display_path(said)}")
        for line in SECRET_READS:
            require_safeguard(
                b"very-secret" not in _output(shell, line, workspace),
                f"`{line}` showed its content.",
            )
    return "Its content is not shown."


def _output(shell: LocalReadOnlyShell, line: str, workspace: DoctorWorkspace) -> bytes:
    pieces = shell.run(line, _folder(workspace), LIMITS)
    return b"".join(piece.content for piece in pieces if isinstance(piece, OutputChunk))


def _folder(workspace: DoctorWorkspace) -> bytes:
    return str(workspace.root).encode()
