"""Every way out that we know is tried for real: first outside, where it works, then inside."""

import fcntl
import os
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.sandbox.profiles import (
    Outcome,
    inside,
    needs_bubblewrap,
    outside,
    profile,
    python,
    shell,
    unfiltered,
)

from assent.sandbox.profile.profile import SandboxProfile

pytestmark = needs_bubblewrap

ROOT = os.getuid() == 0

# Each changes the workspace, given a file in it.
CHANGES = {
    "write": "open(args[0], 'w').write('x')",
    "append": "open(args[0], 'a').write('x')",
    "truncate": "os.truncate(args[0], 1)",
    "create": "open(args[0] + '.made', 'x')",
    "folder": "os.mkdir(args[0] + '.made')",
    "pipe": "os.mkfifo(args[0] + '.made')",
    "remove": "os.unlink(args[0])",
    "rename": "os.rename(args[0], args[0] + '.made')",
    "symlink": "os.symlink('x', args[0] + '.made')",
    "hard link": "os.link(args[0], args[0] + '.made')",
    "mode": "os.chmod(args[0], 0o600)",
    "mode by descriptor": "os.fchmod(os.open(args[0], os.O_RDONLY), 0o600)",
    "times": "os.utime(args[0], (1, 1))",
    "attribute": "os.setxattr(args[0], 'user.made', b'x')",
    "by /proc/self/root": "open('/proc/self/root' + args[0], 'w').write('x')",
    "by /proc/self/cwd": "open('/proc/self/cwd/file', 'w').write('x')",
    "by the first process": "open('/proc/1/root' + args[0], 'w').write('x')",
    "by a descriptor": "fd = os.open(args[0], os.O_RDONLY); open(f'/proc/self/fd/{fd}', 'w')",
    "by a folder's descriptor": "os.open('made', os.O_CREAT | os.O_WRONLY, dir_fd=os.open('.', 0))",
}
ONLY_INSIDE = {"by the first process"}


def state(root: Path) -> list[tuple[object, ...]]:
    """Everything about the files of a folder but the time of the last look."""
    found: list[tuple[object, ...]] = []
    for path in sorted(root.rglob("*")):
        seen = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        attributes = os.listxattr(path, follow_symlinks=False)
        times = (seen.st_mtime_ns, seen.st_ctime_ns)
        found.append((path.name, seen.st_mode, seen.st_nlink, *times, content, attributes))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    file = root / "file"
    file.write_text("content\n", encoding="utf-8")
    file.chmod(0o644)
    return file


@pytest.mark.parametrize("change", sorted(CHANGES.keys() - ONLY_INSIDE))
def test_outside_each_change_works(file: Path, change: str) -> None:
    before = state(file.parent)
    done = outside(python(CHANGES[change], file), folder=os.fsencode(file.parent))
    assert (done.code, done.errors) == (0, b"")
    assert state(file.parent) != before or change == "by a descriptor"


@pytest.mark.parametrize("change", CHANGES)
def test_inside_no_change_works(file: Path, change: str) -> None:
    before = state(file.parent)
    tried = inside(profile(file.parent), python(CHANGES[change], file))
    assert (tried.code, b"Read-only file system" in tried.errors) == (1, True)
    assert state(file.parent) == before


def test_the_mounts_alone_hold_without_the_filter(file: Path) -> None:
    before = state(file.parent)
    view = profile(file.parent)
    lines = [f"os.chdir({str(file.parent)!r})", "import errno"]
    for code in CHANGES.values():
        lines += ["try:", f"    {code}", f"    print({code!r})", "except OSError as error:"]
        lines += ["    assert error.errno == errno.EROFS, error"]
    assert unfiltered(view, python("\n".join(lines), file)) == Outcome(0)
    assert state(file.parent) == before


MOUNTS = {
    "remount": "libc.mount(None, folder, None, 0x1000 | 0x20, None)",  # MS_BIND, MS_REMOUNT
    "remount the root": "libc.mount(None, b'/', None, 0x1000 | 0x20, None)",
    "remount /proc": "libc.mount(None, b'/proc', None, 0x20, None)",
    "unmount the workspace": "libc.umount2(folder, 2)",
    "unmount a mask": "libc.umount2(folder + b'/secret', 2)",
    "mount over": "libc.mount(b'tmpfs', folder, b'tmpfs', 0, None)",
    "new user namespace": "libc.unshare(0x10000000)",
    "new mount namespace": "libc.unshare(0x20000)",
    "change root": "libc.chroot(folder)",
}


@pytest.mark.parametrize("how", MOUNTS)
def test_mounts_cannot_be_changed_with_or_without_the_filter(file: Path, how: str) -> None:
    (file.parent / "secret").write_text("secret\n", encoding="utf-8")
    view = profile(file.parent, [file.parent / "secret"])
    code = "libc = ctypes.CDLL(None)\nfolder = os.fsencode(args[0])\nprint(" + MOUNTS[how] + ")"
    attempt = python(code, file.parent)
    assert inside(view, attempt) == Outcome(0, b"-1\n")
    assert unfiltered(view, attempt) == Outcome(0, b"-1\n")


def test_outside_a_user_namespace_can_be_made() -> None:
    assert outside(python("print(ctypes.CDLL(None).unshare(0x10000000))")) == Outcome(0, b"0\n")


def test_no_device_can_be_made_and_none_of_the_machine_changed(file: Path) -> None:
    view = profile(file.parent)
    node = "os.mknod('/tmp/null', 0o20666, os.makedev(1, 3))"
    assert b"Operation not permitted" in inside(view, python(node)).errors
    mode = os.stat("/dev/null").st_mode & 0o777
    for change in (f"os.chmod('/dev/null', {mode})", f"os.fchmod(0, {mode})"):
        assert b"Read-only file system" in inside(view, python(change)).errors
    # The control: root owns the devices, so without the filter nothing else stops it.
    assert unfiltered(view, python(f"os.chmod('/dev/null', {mode})")).code == (0 if ROOT else 1)


def test_nothing_below_proc_can_be_written(file: Path) -> None:
    """A look at everything: opening for writing is enough to know."""
    code = """
    for folder, _, names in os.walk('/proc', onerror=None):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and '/fd/' not in path:
                try:
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    print(path)
                except OSError:
                    pass
    """
    lines = "\n".join(line[4:] for line in code.splitlines())
    assert inside(profile(file.parent), python(lines)) == Outcome(0)


CORE = "/proc/sys/kernel/core_pattern"


def test_the_kernel_cannot_be_told_to_run_a_program(file: Path) -> None:
    same = python(f"text = open('{CORE}').read(); open('{CORE}', 'w').write(text); print('done')")
    assert b"Read-only file system" in inside(profile(file.parent), same).errors
    # The control: without the remount root could, although it has no capability left.
    open_proc = unfiltered(profile(file.parent), same, without=b"/proc")
    assert open_proc.output == (b"done\n" if ROOT else b"")


READS = (
    "open(args[0]).read()",
    "open('/proc/self/root' + args[0]).read()",
    "open('/proc/1/root' + args[0]).read()",
    "open('/proc/self/cwd/secret').read()",
    "open(os.path.dirname(args[0]) + '/../work/./secret').read()",
    "open('link').read()",
    "os.open('secret', os.O_RDONLY, dir_fd=os.open('.', os.O_RDONLY))",
    "os.open(f'/proc/self/fd/{os.open(args[0], os.O_PATH)}', os.O_RDONLY)",
    "os.listdir('folder')",
    "open('folder/key').read()",
    "open('/proc/self/root' + os.path.dirname(args[0]) + '/folder/key').read()",
    "os.chmod('secret', 0o644)",
    "os.link('secret', os.environ['TMPDIR'] + '/x')",
)


@pytest.mark.parametrize("how", READS)
def test_a_secret_cannot_be_read_by_any_name(file: Path, how: str) -> None:
    root = file.parent
    (root / "folder").mkdir()
    for path in (root / "secret", root / "folder/key"):
        path.write_text("s3cret\n", encoding="utf-8")
    (root / "link").symlink_to("secret")
    attempt = python(f"print({how})", root / "secret")
    if "/proc/1/" not in how:
        assert outside(attempt, folder=os.fsencode(root)).code == 0
    (root / "secret").chmod(0o644)
    tried = inside(profile(root, [root / "secret", root / "folder"]), attempt)
    assert (tried.code, tried.output) == (1, b"")


def test_git_goes_on_beside_a_masked_file(file: Path) -> None:
    root = file.parent
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "secret").write_text("s3cret\n", encoding="utf-8")
    view = profile(root, [root / "secret"])
    seen = inside(view, shell("git status --short --untracked-files=all && git diff"))
    assert seen == Outcome(0, b"?? file\n?? secret\n")


def test_no_descriptor_is_inherited(tmp_path: Path, file: Path) -> None:
    code = "print(sorted(os.listdir('/proc/self/fd'), key=int))"
    with open(tmp_path / "held", "wb", opener=_far_up) as held:
        os.set_inheritable(held.fileno(), True)
        leaky = subprocess.run(
            python(code).argv, close_fds=False, capture_output=True, check=True
        ).stdout
        tried = inside(profile(file.parent), python(code))
        number = held.fileno()
    assert f"'{number}'".encode() in leaky
    assert tried == Outcome(0, b"['0', '1', '2', '3']\n")  # the list itself is the fourth


def _far_up(path: str, flags: int) -> int:
    low = os.open(path, flags, 0o600)
    high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 77)  # or above, where that is taken
    os.close(low)
    return high


def test_no_signal_reaches_a_process_of_the_same_person(file: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        try:
            attempt = python("os.kill(int(args[0]), 0); print('reached')", str(other.pid))
            assert outside(attempt).output == b"reached\n"
            assert b"No such process" in inside(profile(file.parent), attempt).errors
            everyone = inside(profile(file.parent), python("os.kill(-1, signal.SIGKILL)"))
            assert other.poll() is None
            assert everyone.output == b""
        finally:
            other.kill()


SEND = """
family, kind, address = eval(args[0])
s = socket.socket(family, kind)
s.settimeout(5)
s.connect(address)
s.sendall(b'hello')
print('sent')
"""


@pytest.mark.parametrize("way", ["tcp", "udp", "unix", "abstract"])
def test_no_listener_of_the_machine_is_reached(file: Path, way: str) -> None:
    path = str(file.parent / "s")
    ways: dict[str, tuple[int, int, tuple[str, int] | str]] = {
        "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "unix": (socket.AF_UNIX, socket.SOCK_DGRAM, "s"),
        "abstract": (socket.AF_UNIX, socket.SOCK_DGRAM, f"\0assent-{os.getpid()}"),
    }
    family, kind, address = ways[way]
    before = os.getcwd()
    os.chdir(file.parent)  # the path of a Unix socket has to be short
    try:
        with closing(socket.socket(family, kind)) as listener:
            listener.bind(address)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            listener.settimeout(20)
            where = repr((int(family), int(kind), listener.getsockname()))
            attempt = python(SEND, where)
            assert outside(attempt, folder=os.fsencode(file.parent)).output == b"sent\n"
            _received(listener, kind)
            tried = inside(profile(file.parent, [Path(path)]), attempt)
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                _received(listener, kind)
    finally:
        os.chdir(before)
    # Nobody answers on the loopback of the sandbox; a datagram just gets lost there.
    assert (tried.code, tried.output) == ((0, b"sent\n") if way == "udp" else (1, b""))


def _received(listener: socket.socket, kind: int) -> bytes:
    if kind == socket.SOCK_DGRAM:
        return listener.recv(100)
    with closing(listener.accept()[0]) as connection:
        return connection.recv(100)


def test_an_unmasked_socket_would_be_reached(file: Path) -> None:
    """The control for the mask: a read-only mount does not keep anybody from a socket."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listener:
        before = os.getcwd()
        os.chdir(file.parent)
        try:
            listener.bind("s")
        finally:
            os.chdir(before)
        listener.settimeout(20)
        where = repr((int(socket.AF_UNIX), int(socket.SOCK_DGRAM), "s"))
        attempt = python(f"os.chdir({str(file.parent)!r})\n{SEND}", where)
        assert unfiltered(profile(file.parent), attempt).output == b"sent\n"
        assert listener.recv(100) == b"hello"
        masked = unfiltered(profile(file.parent, [file.parent / "s"]), attempt)
        assert b"ConnectionRefusedError" in masked.errors
        assert b"not supported" in inside(profile(file.parent), attempt).errors


def test_a_pipe_with_a_name_leads_nowhere(file: Path) -> None:
    """Nor does a read-only mount keep anybody from writing into a pipe that somebody reads."""
    pipe = file.parent / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        attempt = python("os.write(os.open(args[0], os.O_WRONLY | os.O_NONBLOCK), b'hello')", pipe)
        assert unfiltered(profile(file.parent), attempt).code == 0
        assert os.read(reader, 100) == b"hello"
        masked = inside(profile(file.parent, [pipe]), attempt)
        assert b"PermissionError" in masked.errors
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


def test_no_variable_of_the_person_comes_in(file: Path) -> None:
    names = inside(profile(file.parent), python("print(*sorted(os.environ))")).output.split()
    expected = (
        "EDITOR GIT_EDITOR GIT_PAGER GIT_TERMINAL_PROMPT HOME LANG LC_ALL LOGNAME MANPAGER "
        "NO_COLOR PAGER PATH PWD PYTHONDONTWRITEBYTECODE TERM TMPDIR USER VISUAL"
    )
    assert [name.decode() for name in names] == expected.split()


def test_a_folder_that_is_masked_is_hidden_over_what_is_shown_in_it(tmp_path: Path) -> None:
    (tmp_path / "opt/tool").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    base = profile(tmp_path / "work")
    shown = (*base.shown, os.fsencode(tmp_path / "opt/tool"))
    masks = (os.fsencode(tmp_path / "opt"),)
    tried = inside(
        SandboxProfile(base.root, base.home, shown, masks),
        python("os.listdir(args[0])", tmp_path / "opt"),
    )
    assert b"PermissionError" in tried.errors
