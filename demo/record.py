"""Records the session of docs/first-plan.md: runs its commands on a terminal, keeps the output."""

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from demo.terminal import on_terminal

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "first-plan.md"

FIRST_PLAN, FIRST_GOAL = "first plan", "first goal"  # the blocks that are run: guide, README
PLANNED = 3  # how a line ends after which a plan waits for its reader

_GOAL = re.compile(r"assent [-\"]")
_SESSION = re.compile(r"(<!-- session -->\n```console\n)(.*?)(```\n)", re.DOTALL)
_CLEARED = re.compile(r"[^\n]*\r\x1b\[K")  # progress, written over by what came next
_SECOND_REVIEW = re.compile(r"(Plan undo of [^\n]*\n).*?(\nDigest\n)", re.DOTALL)
_CUT = "[... its review, in the same form ...]"
_NAMES = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{12}|[0-9a-f]{8}|01[0-9a-z]{24})\b")


def main() -> int:
    """Writes the session into the guide anew."""
    text = GUIDE.read_text(encoding="utf-8")
    code, seen = record(steps(text))
    if code:
        print(f"The steps ended with {code}:\n{seen}", file=sys.stderr)
        return 1
    recorded = _SESSION.sub(lambda found: found[1] + seen + found[3], text)
    GUIDE.write_text(recorded, encoding="utf-8")
    return 0


def steps(text: str, block: str = FIRST_PLAN) -> list[str]:
    """Returns the commands that a document tells its reader to type, one a line."""
    found = re.search(rf"<!-- {block} -->\n```sh\n(.*?)```\n", text, re.DOTALL)
    assert found, f"There is no block {block}."
    return [line for line in found[1].splitlines() if line]


def session(text: str) -> str:
    """Returns the session that a document shows."""
    found = _SESSION.search(text)
    assert found, "The document shows no session."
    return found[2]


def record(lines: list[str]) -> tuple[int, str]:
    """Runs the commands as a reader would, and returns exit code and screen."""
    with tempfile.TemporaryDirectory(prefix="assent-record-") as home:
        script = "\n".join(f"echo {shlex.quote('$ ' + line)}\n{_typed(line)}" for line in lines)
        code, seen = on_terminal(script, ROOT, environment(Path(home)))
    return code, _SECOND_REVIEW.sub(rf"\1{_CUT}\2", _CLEARED.sub("", seen))


def _typed(line: str) -> str:
    """Returns what bash gets for a line; a goal may end with a plan that waits."""
    return f"{{ {line}\n}} || [ $? = {PLANNED} ]" if _GOAL.match(line) else line


def environment(home: Path) -> Mapping[str, str]:
    """Returns the environment of a person who has just arrived."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "NO_COLOR": "1",
        "PAGER": "cat",
    }


def masked(seen: str) -> str:
    """Hides ids and digests, which differ from one time to the next."""
    return _NAMES.sub("…", seen)


if __name__ == "__main__":
    sys.exit(main())
