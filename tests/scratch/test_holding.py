"""One copy for one session: commands side by side, other processes, crashes, limits, leftovers."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from tests.sandbox.profiles import gathered, needs_bubblewrap
from tests.scratch.copies import Contents, Place, draft, furnished, kinds, line
from tests.support.forked_python import PROJECT

from assent.core.errors import Busy, NotFound, Refused
from assent.core.scratch import TEMPORARY_PREFIX, ScratchLimits
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    SandboxState,
    SandboxStatus,
)
from assent.sandbox.runner.resource_limits import child_pids
from assent.sandbox.scratch.backend import ScratchCopies
from assent.sandbox.scratch.folder_tree import take_out_of_copy
from assent.sandbox.scratch.overlay import make_overlay_folder, namespaces
from assent.sandbox.scratch.scratch import JOINED, LocalScratchCopy

pytestmark = needs_bubblewrap
USUAL = ProcessLimits(seconds=30)
MEBIBYTE = 1 << 20
UNSHARED = ("unshare", "--mount", "sh", "-c")


def test_a_command_joins_one_that_runs(copy: LocalScratchCopy, place: Place) -> None:
    made = Contents()
    root = os.fsencode(place.root)
    background = copy.run(
        CommandSpec("echo 1 > first; echo started; while ! test -e second; do sleep 0.02; done; "
                    "sleep 0.1; echo over"), root, USUAL,
    )  # fmt: skip
    assert isinstance(next(background), OutputChunk)
    copy.apply(draft({b"a.txt": made.file(b"newer\n")}), made.read)
    for refused in (copy.reset, copy.clear, lambda: list(copy.content(b"first"))):
        with pytest.raises(Busy):
            refused()
    joined = line(copy, place, "cat first a.txt; echo 2 > second")
    assert joined.output == b"1\na\n"
    assert JOINED.encode() in joined.errors
    assert copy.changes().joined
    assert gathered(background).output == b"over\n"
    found = copy.changes()
    assert (kinds(found), found.joined) == ({"first": "created", "second": "created"}, False)
    assert line(copy, place, "cat a.txt; ls first second").output == b"newer\n"


def test_many_threads_share_a_copy(copy: LocalScratchCopy, place: Place) -> None:
    said: list[bytes] = []
    threads = [
        Thread(target=lambda n=n: said.append(line(copy, place, f"echo {n}; cat a.txt").output))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == [b"%d\na\n" % number for number in range(6)]


def test_closing_a_command_ends_it_and_frees_the_copy(copy: LocalScratchCopy, place: Place) -> None:
    root = os.fsencode(place.root)
    endless = copy.run(CommandSpec("echo go; sleep 1000"), root, USUAL)
    next(endless)
    endless.close()
    copy.reset()
    assert line(copy, place, "echo on").output == b"on\n"


def test_two_sessions_have_two_copies(place: Place) -> None:
    one, two = place.open("one"), place.open("two")
    background = one.run(
        CommandSpec("echo 1 > own; cat own; sleep 0.5"), os.fsencode(place.root), USUAL
    )
    next(background)
    assert line(two, place, "ls own; echo 2 > own").output == b""
    list(background)
    assert b"".join(one.content(b"own")) == b"1\n"
    assert b"".join(two.content(b"own")) == b"2\n"
    with pytest.raises(Busy):
        place.open("one")
    one.close()
    two.close()
    assert {info.name for info in place.copies().infos()} == {"one", "two"}


def test_a_copy_survives_its_process_and_keeps_what_is_ignored(place: Place) -> None:
    first = place.open()
    line(first, place, "mkdir out; echo warm > out/x; echo 1 > z; rm node_modules/left/index.js")
    first.close()
    again = place.open()
    ended = line(again, place, "cat out/x; ls z; ls node_modules/left; cat a.txt")
    assert ended.output == b"warm\nnode_modules/left:\na\n".replace(b"node_modules/left:\n", b"")
    assert kinds(again.changes()) == {}
    again.close()


def test_clear_removes_everything(place: Place) -> None:
    opened = place.open()
    line(
        opened,
        place,
        "mkdir -p out/closed; echo 1 > out/closed/x; chmod 000 out/closed; "
        "mkdir closed; chmod 000 closed",
    )
    opened.clear()
    assert place.copies().infos() == []
    assert [name for name in os.listdir(place.folder) if name != "backend.json"] == []
    with pytest.raises(NotFound):
        place.copies().remove("s1")


def test_folders_are_private(copy: LocalScratchCopy, place: Place) -> None:
    line(copy, place, "true")
    assert place.folder.stat().st_mode & 0o777 == 0o700
    assert (place.folder / "s1").stat().st_mode & 0o777 == 0o700


def test_a_deep_tree_is_removed(place: Place) -> None:
    opened = place.open()
    script = (
        "import os\nos.mkdir('out')\nos.chdir('out')\n"
        "for _ in range(3000): os.mkdir('d'); os.chdir('d')"
    )
    ended = line(opened, place, f'/usr/bin/python3 -c "{script}"')
    assert (ended.code, ended.errors) == (0, b"")
    line(opened, place, f'mkdir p && cd p && /usr/bin/python3 -c "{script}"')
    assert not opened.changes().known or kinds(opened.changes()) == {}
    opened.reset()
    opened.clear()
    assert place.copies().infos() == []


def test_what_is_old_or_left_is_removed_by_the_next_start(place: Place) -> None:
    for name in ("old", "young", "broken"):
        opened = place.open(name)
        line(opened, place, "true")
        opened.close()
    weeks = time.time() - 8 * 86_400
    os.utime(place.folder / "old/about.json", (weeks, weeks))
    (place.folder / "broken/about.json").write_text("{", encoding="utf-8")
    for name in (".new-1", ".gone-2"):
        (place.folder / name / "work/work").mkdir(parents=True)
        (place.folder / name / "work/work").chmod(0)
    os.utime(place.folder / ".new-1", (weeks, weeks))
    place.open("young").close()
    left = {name for name in os.listdir(place.folder) if name != "backend.json"}
    assert left == {"young"}


def test_a_copy_that_is_in_use_is_not_swept(place: Place) -> None:
    opened = place.open("busy")
    weeks = time.time() - 80 * 86_400
    os.utime(place.folder / "busy/about.json", (weeks, weeks))
    assert place.copies().sweep() == []
    assert [info.busy for info in place.copies().infos()] == [True]
    opened.close()


def test_the_quota_ends_a_command(place: Place) -> None:
    small = msgspec.structs.replace(
        place, limits=ScratchLimits(max_bytes=24 * MEBIBYTE, reserve_bytes=MEBIBYTE)
    )
    opened = small.open()
    ended = line(
        opened,
        small,
        "mkdir out; for i in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero "
        "of=out/$i bs=1M count=8 2>/dev/null; sleep 0.2; done; echo done",
    )
    assert (ended.cut, b"scratch.max_mb" in ended.errors) == ("copy", True)
    with pytest.raises(Refused, match=r"scratch\.max_mb"):
        line(opened, small, "true")
    opened.clear()


@pytest.mark.parametrize("where", [".", "out", "/tmp"])
def test_the_quota_counts_files_that_are_open_and_have_no_name(place: Place, where: str) -> None:
    """No listing shows them, but they fill the disk; what is in memory is limited there."""
    small = msgspec.structs.replace(
        place, limits=ScratchLimits(max_bytes=24 * MEBIBYTE, reserve_bytes=MEBIBYTE)
    )
    opened = small.open()
    text = (
        f"mkdir -p out; exec 3> {where}/big; rm {where}/big; "
        "for i in 1 2 3 4 5 6; do head -c 8M /dev/zero >&3; sleep 0.3; done; echo done"
    )
    ended = line(opened, small, text)
    if where == "/tmp":
        assert (ended.cut, ended.output) == ("", b"done\n")
    else:
        assert (ended.cut, b"scratch.max_mb" in ended.errors) == ("copy", True)
    assert line(opened, small, "echo next").output == b"next\n"
    opened.clear()


def test_too_little_free_space_ends_a_command(place: Place) -> None:
    free = shutil.disk_usage(place.base).free
    full = msgspec.structs.replace(place, limits=ScratchLimits(reserve_bytes=2 * free))
    with pytest.raises(Refused, match="reserve_mb"):
        line(full.open(), full, "true")


def test_without_a_sandbox_there_is_no_copy_and_it_says_why(place: Place) -> None:
    none = msgspec.structs.replace(
        place, status=SandboxStatus(SandboxState.NONE, "the system blocks user namespaces")
    )
    backend = none.copies().backend()
    assert (backend.name, backend.reason) == ("none", "the system blocks user namespaces")
    with pytest.raises(Refused, match="blocks user namespaces"):
        none.open()


def test_the_choice_is_made_once(tmp_path: Path) -> None:
    made = furnished(tmp_path)
    copies = made.copies()
    assert copies.known_backend() is None
    backend = copies.backend()
    assert made.copies().known_backend() == backend
    os.rename(made.root, made.base / "other")
    shutil.copytree(made.base / "other", made.root, symlinks=True)
    assert made.copies().known_backend() is None


def test_a_mount_in_the_workspace_chooses_the_copy(tmp_path: Path) -> None:
    made = furnished(tmp_path)
    (made.root / "mounted").mkdir()
    script = (
        "import sys; from pathlib import Path; from tests.scratch.copies import Place, line;"
        f"p = Place(Path({str(tmp_path)!r})); b = p.copies().backend(); print(b.name, b.reason);"
        "assert p.copies().known_backend() == b;"  # also before the first copy
        "c = p.open(); print(line(c, p, 'cat mounted/x').output.decode())"
    )
    mounts = f"mount -t tmpfs t {made.root}/mounted && echo below > {made.root}/mounted/x"
    done = subprocess.run(
        [*UNSHARED, f'{mounts} && exec "$0" -c "$1"', sys.executable, script],
        cwd=Path(__file__).parents[2], capture_output=True, text=True,
    )  # fmt: skip
    if "permission denied" in done.stderr.lower():
        pytest.skip("this user cannot mount")
    assert done.stdout.startswith("copy mounted in the workspace is a mount")
    assert done.stdout.endswith("below\n\n")


def test_memory_holds_the_copy_where_the_disk_cannot(tmp_path: Path) -> None:
    """An overlay cannot be the upper layer of another one, as the disk of a container is."""
    memory = Path("/dev/shm") / f"assent-test-{os.getpid()}"
    furnished(tmp_path)
    memory.mkdir(0o700)
    script = (
        "from pathlib import Path; from tests.scratch.copies import Place, line, kinds;"
        f"p = Place(Path({str(tmp_path)!r}), memory={os.fsencode(memory / 'w')!r});"
        "b = p.copies().backend(); print(b.name, b.place, b.reason); c = p.open();"
        "line(c, p, 'echo 1 > n; rm a.txt'); print(sorted(kinds(c.changes()))); c.clear()"
    )
    state = tmp_path / "state"
    layers = f"lowerdir={state},upperdir={tmp_path}/u,workdir={tmp_path}/k"
    mounts = (
        f"mkdir {tmp_path}/u {tmp_path}/k && mount -t overlay o -o {layers} {state} && "
        f"chmod 700 {state} {state}/scratch"
    )
    try:
        done = subprocess.run(
            [*UNSHARED, f'{mounts} && exec "$0" -c "$1"', sys.executable, script],
            cwd=Path(__file__).parents[2], capture_output=True, text=True,
        )  # fmt: skip
        if "permission denied" in done.stderr.lower():
            pytest.skip("this user cannot mount")
        assert done.stdout.splitlines()[0].startswith(f"overlay {memory}/w In memory:")
        assert done.stdout.splitlines()[1] == "['a.txt', 'n']"
    finally:
        shutil.rmtree(memory)


def test_a_copy_that_was_never_completed_is_made_again(tmp_path: Path) -> None:
    made = furnished(tmp_path, only="copy")
    made.open().close()  # nothing was copied yet
    assert [info.name for info in made.copies().infos()] == ["s1"]
    opened = made.open()
    assert line(opened, made, "cat node_modules/left/index.js").output == b"left\n"
    opened.close()


def _killed(place: Place, script: str, seconds: float) -> None:
    """Runs a script with a copy in another process, and kills that after a time."""
    code = (
        "from pathlib import Path; from tests.scratch.copies import Place, line;"
        f"p = Place(Path({str(place.base)!r}), only={place.only!r}); {script}"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    child.wait()


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 4, 7])
def test_a_kill_at_any_moment_leaves_nothing_behind(place: Place, step: int) -> None:
    script = (
        "\nfor n in range(1000):\n c = p.open('k')"
        "\n line(c, p, 'mkdir out; echo 1 > out/x; rm -r docs')"
        "\n c.changes(); c.reset(); c.clear()\n"
    )
    _killed(place, script, 0.5 + step * 0.137)
    wait_until_free(place.copies())
    opened = place.open("k")
    assert line(opened, place, "cat docs/one.md").output == b"one\n"
    assert kinds(opened.changes()) == {}
    opened.clear()
    weeks = time.time() - 80 * 86_400
    for name in os.listdir(place.folder):
        os.utime(place.folder / name, (weeks, weeks))
    place.copies().sweep()
    assert [name for name in os.listdir(place.folder) if name != "backend.json"] == []
    assert str(place.base) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def wait_until_free(copies: ScratchCopies) -> None:
    """Waits for the programs of a killed process to end; each holds the copy until then."""
    until = time.monotonic() + 20
    while any(info.busy for info in copies.infos(sizes=False)) and time.monotonic() < until:
        time.sleep(0.02)


def test_only_the_copy_of_a_rehearsal_is_never_flushed(tmp_path: Path) -> None:
    made = furnished(tmp_path, only="overlay")
    shows = "grep -cw volatile /proc/self/mountinfo; echo x > out"
    for name, flushed in ((f"{TEMPORARY_PREFIX}1", False), ("s1", True)):
        opened = made.open(name)
        for _ in range(3):  # the kernel refuses a second volatile mount unless it is told to forget
            assert (line(opened, made, shows).output == b"0\n") is flushed
            assert kinds(opened.changes()) == {"out": "created"}
        opened.clear()


def test_a_broad_and_deep_copy_is_removed_whole(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept", encoding="utf-8")
    top = tmp_path / "copies/one"
    for number in range(30):
        folder = top / f"part{number}" / "deep" / "deeper"
        folder.mkdir(parents=True)
        for name in range(20):
            (folder / str(name)).touch()
        (folder / "link").symlink_to(outside)
        folder.parent.chmod(0)
    at = os.open(tmp_path / "copies", os.O_RDONLY | os.O_DIRECTORY)
    take_out_of_copy(b"one", at)
    os.close(at)
    assert list((tmp_path / "copies").iterdir()) == []
    assert (outside / "kept").read_text(encoding="utf-8") == "kept"


# A session in a process of its own: it writes, waits until the other one has, and looks around.
SESSION = """
import os, sys, time
from pathlib import Path
from tests.scratch.copies import *
base, only, me, other = sys.argv[1:]
p, made = Place(Path(base), only=only), Contents()
c = p.open(me)
c.apply(draft({b"a.txt": made.file(me.encode()), b"out/d": made.file(me.encode())}), made.read)
text = f"echo {me} > own-{me}; echo {me} > same; echo {me} > out/same; echo on; sleep 100"
waits = c.run(CommandSpec(text), os.fsencode(p.root), ProcessLimits(seconds=60))
next(waits)
(p.base / f"state/{me}").touch()
while not (p.base / f"state/{other}").exists():
    time.sleep(0.01)
looks = "cat a.txt out/d same out/same; ls own-*; cat /proc/[0-9]*/cmdline"
print(line(c, p, looks).output.replace(looks.encode(), b""))
waits.close()
print(sorted(kinds(c.changes()).items()))
c.close()
"""


def test_two_sessions_in_two_processes_see_nothing_of_each_other(place: Place) -> None:
    pairs = (("ada", "bob"), ("bob", "ada"))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SESSION, str(place.base), str(place.only), *pair],
            cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for pair in pairs
    ]  # fmt: skip
    answers = [process.communicate(timeout=60) for process in started]
    for (said, errors), (me, other) in zip(answers, pairs, strict=True):
        text = said.decode()
        assert f"{me}{me}{me}\\n{me}\\nown-{me}\\n" in text, errors
        assert (other in text, "sleep" in text) == (False, False)
        assert f"('own-{me}', 'created'), ('same', 'created')" in text
    assert {info.name for info in place.copies().infos()} == {"ada", "bob"}


def test_nothing_is_mounted_before_the_copy_is_prepared(tmp_path: Path) -> None:
    root, folder = os.fsencode(tmp_path / "root"), os.fsencode(tmp_path / "copy")
    os.mkdir(root)
    os.mkdir(folder)
    make_overlay_folder(folder, root)
    *_, namespace = namespaces()
    before, found = set(child_pids(os.getpid())), list[bool]()

    def prepare() -> None:
        [holder] = set(child_pids(os.getpid())) - before
        found.append(folder in Path(f"/proc/{holder}/mountinfo").read_bytes())
        (tmp_path / "copy/upper/put").write_bytes(b"put\n")

    def fail() -> None:
        prepare()
        raise FileNotFoundError

    with namespace.held(root, folder, prepare) as mount:
        shown = subprocess.run([*mount.enter, b"cat", mount.source + b"/put"], capture_output=True)
    assert (found, shown.stdout) == ([False], b"put\n")
    with pytest.raises(FileNotFoundError), namespace.held(root, folder, fail):
        pass
    assert (found, set(child_pids(os.getpid()))) == ([False, False], before)


def test_commands_leave_no_work_for_the_garbage_collector(tmp_path: Path) -> None:
    # In a process of its own: threads that earlier tests left in this one leave some, too.
    count = f"from {__name__} import garbage; print(garbage({os.fspath(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", count], cwd=PROJECT, capture_output=True, check=True, timeout=200
    )
    assert int(done.stdout) < 10  # of 18 a command, if there were cycles


def garbage(folder: str) -> int:
    """Returns how many values only the garbage collector frees after ten commands."""
    made = furnished(Path(folder), only="overlay")
    opened = made.open()

    def commands(number: int) -> None:
        for _ in range(number):
            assert line(opened, made, "echo x > out").code == 0
            assert kinds(opened.changes()) == {"out": "created"}

    commands(3)
    gc.collect()
    gc.disable()  # the program lets it run rarely, so what it would free is memory that grows
    commands(10)
    left = gc.collect()
    opened.clear()
    return left
