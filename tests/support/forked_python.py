"""Python processes that need not load Assent first: each is forked from a server that has.

`Popen` and `run` are those of `subprocess`, for `[sys.executable, "-c", CODE, ...]` and
`[sys.executable, "-m", MODULE, ...]`. To load the program takes five times as long as most commands
do. What begins here is a process like any other: its parent is the one that asked, it gets from it
what the kernel hands on, and it ends as Python ends. It differs in that modules are loaded already,
that all of one server have the same seed for hashes, and in what `ps` shows. So whatever is about
starting (the time, which modules, limits, another Python) belongs to `subprocess` itself.
"""

import atexit
import ctypes
import fcntl
import gc
import inspect
import io
import os
import pkgutil
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any

import msgspec

import assent

PROJECT = Path(__file__).resolve().parents[2]
SERVER = "from tests.support.forked_python import serve; serve()"
UNLOADED = ("assent.tui", "assent.sandbox.selftest.probe")  # the screen; what runs elsewhere
DRIVERS = (
    "sqlite3", "ssl", "tomllib", "yaml", "nacl.bindings", "select", "shutil", "difflib",
)  # loaded late  # fmt: skip
AT_START = ("LANG", "LC_")  # variables that Python itself reads, once
LATE = b"PYTHON_KEYRING_BACKEND"  # read when a key is looked up, by a package not loaded here
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())  # number of the system call
CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
PR_GET_TID_ADDRESS = 40
UNCATCHABLE = {int(signal.SIGKILL), int(signal.SIGSTOP)}
HEAD = 8  # bytes of a number in a message
MOST = 64  # descriptors that come with one


class Start(msgspec.Struct):
    """What a new process gets; its folder and its descriptors come beside it."""

    line: list[bytes]
    env: dict[bytes, bytes]
    numbers: list[int]  # of the descriptors, in the new process
    umask: int
    ignored: list[int]  # signals
    blocked: list[int]
    new_session: bool
    process_group: int  # to join; -1 for that of the parent


class Popen(subprocess.Popen[Any]):
    """A process of Python, forked where a fresh start would make no difference."""

    fresh = 2  # the first few of a kind are not forked: a server takes as long as three of them

    def _execute_child(self, *given: Any) -> None:
        call = dict(zip(PARAMETERS, given, strict=True))
        env = os.environ if call["env"] is None else call["env"]
        server = _server(env, self.fresh) if _can_be_forked(call, env) else None
        if server is None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        streams = [call[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        numbers = [0, 1, 2, *call["pass_fds"]]
        start = Start(
            line=[os.fsencode(word) for word in call["args"]],
            env={os.fsencode(name): os.fsencode(value) for name, value in env.items()},
            numbers=numbers,
            umask=_umask() if call["umask"] < 0 else call["umask"],
            ignored=[n for n in _signals() if signal.getsignal(n) is signal.SIG_IGN],
            blocked=[*signal.pthread_sigmask(signal.SIG_BLOCK, ())],
            new_session=call["start_new_session"],
            process_group=call["process_group"],
        )
        folder = os.open("." if call["cwd"] is None else call["cwd"], os.O_PATH | os.O_DIRECTORY)
        try:
            opened = [fd if fd >= 0 else number for number, fd in enumerate(streams)]
            self.pid = server.start(start, [folder, *opened, *call["pass_fds"]])
        finally:
            os.close(folder)
        self._child_created = True
        self._close_pipe_fds(*[call[name] for name in PIPES])  # type: ignore[attr-defined]


PARAMETERS = [*inspect.signature(subprocess.Popen._execute_child).parameters][1:]  # type: ignore[attr-defined]
PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def run(
    line: Sequence[str | bytes],
    *,
    input: bytes | None = None,
    timeout: float | None = None,
    **more: Any,
) -> subprocess.CompletedProcess[Any]:
    """Runs a process to its end, as `subprocess.run` does; a code other than 0 is no error."""
    assert more.pop("check", False) is False
    if more.pop("capture_output", False):
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        more["stdin"] = subprocess.PIPE
    with Popen(line, **more) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(line, process.returncode, out, err)


def _can_be_forked(call: Mapping[str, Any], env: Mapping[Any, Any]) -> bool:
    """Tells whether a server can make the process that is asked for."""
    odd = ("preexec_fn", "shell", "gid", "gids", "uid")
    return (
        CLONE is not None
        and not any(call[name] for name in odd)
        and call["close_fds"]
        and list(call["args"][:1]) == [sys.executable]
        and call["args"][1] in ("-c", "-m")
        and not any(name.startswith(b"PYTHON") and name != LATE for name in map(os.fsencode, env))
    )


class Server:
    """A process without threads that has loaded Assent, and forks."""

    def __init__(self, env: dict[str, str]) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVER, str(theirs.fileno())],
                cwd=PROJECT,
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self.end)

    def start(self, start: Start, descriptors: list[int]) -> int:
        """Begins a process and returns its number."""
        content = msgspec.msgpack.encode(start)
        with self._lock:
            try:
                socket.send_fds(self._socket, [len(content).to_bytes(HEAD)], descriptors)
                self._socket.sendall(content)
                return int.from_bytes(_read(self._socket, HEAD))
            except BaseException:  # a timeout, say: the next answer would be that to this question
                self.end()
                raise

    def end(self) -> None:
        """Lets the server go; it does, too, when this process ends in any way."""
        _servers.pop(next((key for key in _servers if _servers[key] is self), ()), None)
        self._socket.close()
        self._process.wait()


_servers: dict[tuple[tuple[str, str], ...], Server] = {}
_asked: Counter[tuple[tuple[str, str], ...]] = Counter()
_choosing = threading.Lock()


def _server(env: Mapping[Any, Any], fresh: int) -> Server | None:
    """Returns the server for what an environment says about the locale; none for the first few."""
    named = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    key = tuple(sorted(one for one in named.items() if one[0].startswith(AT_START)))
    with _choosing:
        _asked[key] += 1
        if _asked[key] <= fresh:
            return None
        if key not in _servers:
            _servers[key] = Server(dict(key))
        return _servers[key]


def _umask() -> int:
    """Returns the umask of this process, which `os.umask` could only tell by setting it."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1], 8) for line in lines if line.startswith("Umask:"))


def _signals() -> set[int]:
    return {int(number) for number in signal.valid_signals()} - UNCATCHABLE


def _read(channel: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        more = channel.recv(size - len(content))
        assert more, "the other side ended"
        content += more
    return content


def serve() -> None:
    """Forks whenever it is asked to; returns in new processes only, when they are done."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _signals())  # until a new process is itself
    _load()
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        while True:
            head, descriptors, _, _ = socket.recv_fds(channel, HEAD, MOST)
            if not head:
                os._exit(0)
            head += _read(channel, HEAD - len(head))
            start = msgspec.msgpack.decode(_read(channel, int.from_bytes(head)), type=Start)
            pid = _fork_sibling()
            if pid == 0:
                break
            for descriptor in descriptors:
                os.close(descriptor)
            channel.sendall(pid.to_bytes(HEAD))
    _run(_become(start, descriptors))


def _load() -> None:
    gc.disable()
    for name in DRIVERS:
        import_module(name)
    for module in pkgutil.walk_packages(assent.__path__, "assent."):
        if not module.name.startswith(UNLOADED):
            import_module(module.name)
    for kind in _structs(msgspec.Struct):
        with suppress(NameError, TypeError):  # one that is never read
            msgspec.json.Decoder(kind)  # reads the annotations, once in a process
    gc.collect()
    gc.freeze()


def _structs(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """Yields all kinds of values below one."""
    for each in kind.__subclasses__():
        yield each
        yield from _structs(each)


def _fork_sibling() -> int:
    """Does what `os.fork` does, but the new process is a child of this one's parent.

    So whoever asked for it can wait for it, and nobody has to hand on how it ended.
    """
    python = ctypes.pythonapi  # keeps the interpreter's lock, as a fork has to
    own_id = ctypes.c_void_p()  # where the C library keeps the number of the thread
    assert python.prctl(PR_GET_TID_ADDRESS, ctypes.byref(own_id), 0, 0, 0) == 0
    flags = CLONE_PARENT | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | signal.SIGCHLD
    arguments = (CLONE, flags, None, None, own_id, own_id)  # one is not used, which depends
    python.PyOS_BeforeFork()
    pid: int = python.syscall(*map(ctypes.c_void_p, arguments[:4]), *arguments[4:])
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    assert pid >= 0
    return pid


def _become(start: Start, descriptors: list[int]) -> CodeType:
    """Makes this process the one that was asked for, as if Python had begun just now."""
    if start.new_session:
        os.setsid()
    if start.process_group >= 0:
        os.setpgid(0, start.process_group)
    os.umask(start.umask)
    os.fchdir(descriptors[0])
    _take_over(descriptors[1:], start.numbers)
    os.environb.update({**start.env, **os.environb})  # Python may have set LC_CTYPE
    time.tzset()
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]  # a fork leaves it
    tempfile.tempdir = None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    line = [os.fsdecode(word) for word in start.line]
    _, option, what, *arguments = sys.orig_argv = line
    sys.argv = [option, *arguments]
    if option == "-m":
        sys.path[0] = os.getcwd()
        what = f"import runpy; runpy.run_module({what!r}, run_name='__main__', alter_sys=True)"
    gc.enable()
    for number in _signals():
        signal.signal(number, signal.SIG_IGN if number in start.ignored else signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    if signal.SIGINT not in start.ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, start.blocked)
    return compile(what, "<string>", "exec")


def _run(code: CodeType) -> None:
    """Runs the code as Python would, and ends as it does, but for taking every module apart.

    That takes longer than most commands do, and nobody could notice: threads and exit handlers are
    over by then, and everything is written. What ends in another way than with a code ends as ever.
    """
    status = 0

    def leave() -> None:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except (OSError, ValueError):
            return  # Python tries once more, says so, and ends with 120
        os._exit(status)

    atexit.register(leave)  # the first, so it is called last
    try:
        exec(code, sys.modules["__main__"].__dict__)
    except BaseException as error:
        if isinstance(error, SystemExit) and isinstance(error.code, int):
            status = error.code & 0xFF
        else:
            atexit.unregister(leave)
        raise


def _take_over(descriptors: list[int], numbers: list[int]) -> None:
    """Gives descriptors their numbers, and closes all others."""
    above = max(*descriptors, *numbers) + 1
    copies = [fcntl.fcntl(one, fcntl.F_DUPFD, above) for one in descriptors]
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
    for low, high in pairwise([*sorted({*numbers}), max(copies) + 1]):
        os.closerange(low + 1, high)


def _stream(number: int, before: io.TextIOWrapper) -> io.TextIOWrapper | None:
    """Opens a standard stream as Python does when it begins, in the encoding that it chose."""
    mode = "r" if number == 0 else "w"
    try:
        binary = os.fdopen(number, f"{mode}b", closefd=False)
    except OSError:
        return None
    binary.raw.name = before.name  # type: ignore[attr-defined]
    stream = io.TextIOWrapper(
        binary,
        before.encoding,
        before.errors,
        newline="\n",
        line_buffering=number == 2 or binary.isatty(),
    )
    stream.mode = mode  # type: ignore[misc]
    return stream
