"""The git commit that can end a plan: one fixed form of command, which nothing else may look like.

A commit writes into the repository, so its profile opens what no other command may touch. What it
does must therefore follow from its form: the words below, of which only the title is free.

The message names the plan, and the plan's digest covers the message; no text can contain its own
digest. So the plan has the placeholder `{digest}` in one argument, and the code that runs the
command replaces it with the plan's digest. What is committed still follows from the plan alone:
from its words, its digest, and the files that its own run has changed.
"""

from collections.abc import Iterable
from typing import Final, TypeGuard

from assent.core.paths import one_line
from assent.core.plan.operation import Operation, RunCommand

PLACEHOLDER: Final = b"{digest}"
TRAILER: Final = b"Assent-Plan: " + PLACEHOLDER
MAX_TITLE: Final = 100  # characters of a title
NO_TITLE: Final = "Apply a plan"

# No hook, no editor, no signature, no monitor; the paths come from stdin, and none is a pattern.
_WORDS: Final = (
    b"git",
    b"--literal-pathspecs",
    b"-c",
    b"core.hooksPath=/dev/null",
    b"-c",
    b"core.fsmonitor=false",
    b"commit",
    b"--only",
    b"--no-verify",
    b"--no-gpg-sign",
    b"--cleanup=whitespace",
    b"--pathspec-from-file=-",
    b"--pathspec-file-nul",
    b"--message",
)
_TITLE: Final = len(_WORDS)
_DEEPEST: Final = 6  # of the levels of headings
_TIMEOUT: Final = 120


def commit_command(title: str) -> RunCommand:
    """Returns the operation that commits what a run changed, under this title."""
    argv = (*_WORDS, _title(title), b"--message", TRAILER)
    return RunCommand(argv, timeout=_TIMEOUT, profile="commit")


def is_commit(op: Operation) -> TypeGuard[RunCommand]:
    """Tells whether an operation is the commit of a plan, in exactly the fixed form."""
    if not isinstance(op, RunCommand) or len(op.argv) <= _TITLE:
        return False
    return op == commit_command(op.argv[_TITLE].decode("utf-8", "replace"))


def without_commit(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Returns the operations without the commit at their end."""
    found = tuple(operations)
    return found[:-1] if found and is_commit(found[-1]) else found


def commit_argv(op: RunCommand, digest: str) -> tuple[bytes, ...]:
    """Returns the arguments to run, with the plan's digest in place of the placeholder."""
    return (*op.argv[:-1], TRAILER.replace(PLACEHOLDER, digest.encode()))


def plan_title(text: bytes) -> str:
    """Returns the title of a plan's Markdown: its first heading."""
    for line in _body(text.decode("utf-8", "replace").splitlines()):
        words = line.strip()
        rest = words.lstrip("#")
        if 0 < len(words) - len(rest) <= _DEEPEST and rest[:1] in ("", " ", "\t"):
            return rest.strip().rstrip("#").strip() or NO_TITLE
    return NO_TITLE


def _body(lines: list[str]) -> list[str]:
    """Returns the lines after the front matter."""
    if not lines or lines[0].rstrip() != "---":
        return lines
    ends = [at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"]
    return lines[ends[0] + 1 :] if ends else lines


def _title(text: str) -> bytes:
    plain = " ".join(one_line(text.encode("utf-8", "replace")).split())
    if len(plain) > MAX_TITLE:
        plain = plain[: MAX_TITLE - 1].rstrip() + "…"
    return (plain or NO_TITLE).encode()
