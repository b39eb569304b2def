"""Law 5 as the kernel sees it: contents, sync, promise, renames, sync, done, then the answer."""

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.crash.rig import PROGRAM, Rig, environment
from tests.crash.stories import BY_NAME

TRACED = "write,pwrite64,fsync,fdatasync,syncfs,renameat2,symlinkat,mkdirat,unlinkat,linkat"
CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += 0$|^\d+ +(p?write(?:64)?)\((.*)\) += [1-9]\d*$")
AT = re.compile(r'\d+<([^>]*)>, "([^"]*)"')
FD = re.compile(r"^\d+<([^>]*)>")
FRAME = 4096  # bytes of a page of the log
NEEDED = "This test watches system calls and needs strace: `make system` installs it (apt: strace)."


class Call(msgspec.Struct, frozen=True):
    """A call that succeeded, and the paths that it was about."""

    name: str
    paths: tuple[str, ...]
    words: str = ""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    """The calls of one build of eight operations, paths as seen from the site's folder."""
    return traced(tmp_path_factory.mktemp("traced"))


def traced(folder: Path, settings: str = "") -> list[Call]:
    if not shutil.which("strace"):
        pytest.fail(NEEDED)
    rig = Rig(folder, BY_NAME["eight_operations"])
    (rig.folder / "config" / "assent").mkdir(parents=True)
    (rig.folder / "config" / "assent" / "config.toml").write_text(settings, encoding="utf-8")
    trace = rig.folder / "trace"
    strace = ["strace", "-f", "-y", "-s", "8", "-e", f"trace={TRACED}", "-o", str(trace)]
    line = [*strace, *PROGRAM, "-C", str(rig.site.root), "build", "--json"]
    ran = subprocess.run(line, env=environment(rig.folder), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode() + NEEDED
    assert rig.tree() == rig.story.finish
    text = trace.read_text("utf-8", "backslashreplace").replace(f"{rig.folder}/", "")
    return [call for line in text.splitlines() if (call := _call(line))]


def _call(line: str) -> Call | None:
    found = CALL.match(line)
    if not found:
        return None
    name, words = found[1] or found[3], found[2] or found[4]
    if name == "symlinkat":
        words = words.partition(", ")[2]
    named = () if "write" in name else AT.findall(words)
    pairs = tuple(f"{folder}/{entry}" for folder, entry in named)
    return Call(name, pairs or tuple(FD.findall(words)), words)


def test_the_journal_is_synced_exactly_four_times(calls: list[Call]) -> None:
    assert len(_entries(calls)) == 4  # started, committed, settled, finished


def test_contents_lie_in_slots_on_disk_before_the_run_commits(calls: list[Call]) -> None:
    started, committed, *_ = _entries(calls)
    filled = [at for at, call in enumerate(calls) if _fills_slot(call)]
    assert len(filled) == 5
    assert started < min(filled)
    assert max(filled) < committed
    after = calls[max(filled) : committed]
    synced = {call.paths[0] for call in after if call.name == "fsync"}
    files = {calls[at].paths[0] for at in filled if calls[at].name == "write"}
    folders = {path.rpartition("/")[0] for at in filled for path in calls[at].paths}
    made = {path.rpartition("/")[0] for folder in folders for path in (folder, _above(folder))}
    assert files | folders | made <= synced


def test_no_name_of_the_person_changes_before_the_run_commits_or_after_it_is_settled(
    calls: list[Call],
) -> None:
    _, committed, settled, _ = _entries(calls)
    touched = [at for at, call in enumerate(calls) if _touches_the_persons_files(call)]
    assert len(touched) == 12  # three takes, a clear, three puts, three swaps, two new folders
    assert committed < min(touched)
    assert max(touched) < settled


def test_every_rename_is_on_disk_before_the_journal_says_so(calls: list[Call]) -> None:
    _, committed, settled, _ = _entries(calls)
    renames = [at for at in range(committed, settled) if calls[at].name == "renameat2"]
    assert len(renames) == 10
    for at in renames:
        assert "RENAME_NOREPLACE" in calls[at].words or "RENAME_EXCHANGE" in calls[at].words
    syncs = [call for call in calls[max(renames) : settled] if call.name in ("fsync", "syncfs")]
    folders = {path.rpartition("/")[0] for at in renames for path in calls[at].paths}
    whole = any(call.name == "syncfs" for call in syncs)
    assert whole or folders <= {call.paths[0] for call in syncs}


def test_slots_are_set_aside_only_when_the_run_is_settled(calls: list[Call]) -> None:
    *_, settled, finished = _entries(calls)
    (aside,) = [at for at, call in enumerate(calls) if call.paths[1:] and _is_spare(call.paths[1])]
    assert settled < aside < finished
    assert _is_slot(calls[aside].paths[0])
    assert not [call for call in calls if _empties_slot(call)]


def test_slots_are_emptied_only_when_the_run_is_settled(tmp_path: Path) -> None:
    calls = traced(tmp_path, "[undo]\nspare_mb = 0\n")
    *_, settled, finished = _entries(calls)
    removed = [at for at, call in enumerate(calls) if _empties_slot(call)]
    assert len(removed) >= 5
    assert settled < min(removed)
    assert max(removed) < finished
    assert not [call for call in calls if call.paths[1:] and _is_spare(call.paths[1])]


def test_success_is_told_after_the_last_entry_is_synced(calls: list[Call]) -> None:
    *_, finished = _entries(calls)
    (told,) = [at for at, call in enumerate(calls) if call.words.startswith("1<pipe:")]
    assert finished < told


def _entries(calls: list[Call]) -> list[int]:
    """Returns where an entry of the journal became durable: frames were written, then synced."""
    found, fresh = [], False
    for at, call in enumerate(calls):
        if call.paths[:1] != ("state/assent/log.db-wal",):
            continue
        if call.name == "pwrite64":
            fresh |= f", {FRAME}, " in call.words
        elif fresh:
            found.append(at)
            fresh = False
    return found


def _is_slot(path: str) -> bool:
    return path.startswith("work/.opencode/assent/stage/") and "/probe." not in path


def _is_spare(path: str) -> bool:
    return path.startswith("state/assent/spares/")


def _fills_slot(call: Call) -> bool:
    return call.name in ("write", "symlinkat") and _is_slot(call.paths[0])


def _empties_slot(call: Call) -> bool:
    return call.name == "unlinkat" and any(_is_slot(path) for path in call.paths)


def _touches_the_persons_files(call: Call) -> bool:
    changes = call.name in ("renameat2", "mkdirat", "unlinkat", "linkat", "symlinkat", "write")
    own = [path for path in call.paths if path.startswith("work/")]
    return changes and any(not path.startswith("work/.opencode/") for path in own)


def _above(path: str) -> str:
    return path.rpartition("/")[0]
