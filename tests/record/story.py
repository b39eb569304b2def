"""The story: every command of the program, told once, as a record of its JSON.

    python -m tests.record.story            says what differs from the record
    python -m tests.record.story --write    writes the record below tests/record/json anew

One golden file for each step: what was typed, the exit code, and the shapes of stdout and stderr
(tests/record/shape.py). Chapters share nothing, so that they can be told in any order.
"""

import json
import sys
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

from tests.record import story_machine, story_plans, story_runs, story_talk
from tests.record.program import NoSandbox, Record

Chapter = Callable[[Record], None]

CHAPTERS: dict[str, Chapter] = {
    "plan": story_plans.writing,
    "decide": story_plans.deciding,
    "refuse": story_plans.refusals,
    "drift": story_plans.drifting,
    "travel": story_plans.travelling,
    "run": story_runs.building,
    "stop": story_runs.stopping,
    "lose": story_runs.losing,
    "interrupt": story_runs.interrupting,
    "print": story_talk.printing,
    "critique": story_talk.critique,
    "sessions": story_talk.sessions,
    "questions": story_talk.questions,
    "prose": story_talk.prose,
    "options": story_talk.options,
    "permissions": story_machine.permissions,
    "settings": story_machine.settings,
    "surroundings": story_machine.surroundings,
    "sandbox": story_machine.sandboxed,
    "serve": story_machine.serving,
}
GOLDEN = Path(__file__).with_name("json")
AGAIN = ".venv/bin/python -m tests.record.story --write"

Texts = dict[str, str]  # of golden files, by the names of their steps


def told(chapter: str, base: Path) -> Texts:
    """Tells a chapter in a folder; if it breaks off, says first where it left the record."""
    tell = Record(base)
    try:
        CHAPTERS[chapter](tell)
    except NoSandbox:
        raise
    except Exception as error:
        error.add_note("\n".join(differences(chapter, _texts(tell), whole=False)))
        raise
    return _texts(tell)


def recorded(chapter: str) -> Texts:
    """Returns the golden files of a chapter."""
    return {file.stem: file.read_text("utf-8") for file in (GOLDEN / chapter).glob("*.json")}


def differences(chapter: str, now: Texts, *, whole: bool = True) -> Iterator[str]:
    """Says step by step how a chapter differs from its record; `whole`: all of it was told."""
    before = recorded(chapter)
    gone = before.keys() - now.keys() if whole else set()
    for name in [*now, *sorted(gone)]:
        old, new = (each.get(name, "").splitlines() for each in (before, now))
        step = f"{chapter}/{name}"
        yield from unified_diff(old, new, f"recorded {step}", f"now {step}", lineterm="", n=6)


def write(chapter: str, now: Texts) -> None:
    """Replaces the golden files of a chapter."""
    folder = GOLDEN / chapter
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in now.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


def main() -> int:
    """Tells all of it, and writes the record or says how it differs."""
    differs = False
    for chapter in CHAPTERS:
        with TemporaryDirectory(prefix="record-") as folder:
            try:
                now = told(chapter, Path(folder).resolve())
            except NoSandbox as lack:
                print(f"{chapter} is left as it is: {lack}", file=sys.stderr)
                continue
        found = [*differences(chapter, now)]
        differs = differs or bool(found)
        print(*found, sep="\n", end="\n" if found else "")
        if "--write" in sys.argv:
            write(chapter, now)
    return 1 if differs and "--write" not in sys.argv else 0


def _texts(tell: Record) -> Texts:
    return {
        name: json.dumps(step, indent=2, ensure_ascii=False) + "\n"
        for name, step in tell.steps.items()
    }


if __name__ == "__main__":
    sys.exit(main())
