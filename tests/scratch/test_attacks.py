"""A hostile command in the copy attacks layers, mounts and namespaces, and reaches nothing."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.disks.possible import PRIVILEGE
from tests.sandbox.profiles import gathered, needs_bubblewrap
from tests.scratch.copies import Place, furnished, kinds, line

from assent.core.errors import Refused
from assent.core.shell.process import CommandSpec, ProcessLimits
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.runner.bubblewrap import bind_arguments
from assent.sandbox.scratch.caches import cache_folders, cache_variables, refused_variables
from assent.sandbox.scratch.folder_tree import FolderTree
from assent.sandbox.scratch.scratch import LocalScratchCopy

pytestmark = needs_bubblewrap

CANARY = b"state-canary"


@pytest.fixture(params=["overlay", "copy"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = furnished(tmp_path, only=request.param)
    (tmp_path / "state/key").write_bytes(CANARY)
    (tmp_path / "home/.ssh").mkdir()
    (tmp_path / "home/.ssh/id").write_bytes(CANARY)
    (tmp_path / "home/.cargo/registry/src").mkdir(parents=True)
    (tmp_path / "home/.cargo/registry/src/lib.rs").write_text("fn a() {}\n", encoding="utf-8")
    (tmp_path / "home/.cargo/credentials.toml").write_bytes(CANARY)
    (tmp_path / "outside").mkdir()
    before = made.seen()
    yield made
    assert made.seen() == before
    assert (tmp_path / "state/key").read_bytes() == CANARY
    assert os.listdir(tmp_path / "outside") == []


@pytest.mark.parametrize(
    "attack",
    [
        "ls -R {base}/state; cat {base}/state/key; echo x > {base}/state/scratch/w/s1/upper/x",
        "find / -xdev -name upper -o -xdev -name merged -o -xdev -name tree 2>/dev/null",
        "for p in /proc/[0-9]*; do cat $p/root{base}/state/key; ls $p/cwd/; done",
        "cat /proc/*/environ",
        "cat /proc/self/mountinfo",
        "umount {root}; umount -l {root}; mount -o remount,rw /; mount --bind / {root}/src",
        "unshare -Ur mount -t tmpfs t {root}",
        "unshare -Urm sh -c 'umount -l {root}; cat {root}/.env'",
        "nsenter -t 1 -m cat {base}/state/key; nsenter -t 1 -U -m id",
        "mknod wh c 0 0; setfattr -n user.overlay.opaque -v y docs",
        "setfattr -n user.overlay.redirect -v /etc docs",
        "setfattr -n trusted.overlay.opaque -v y docs",
        "echo x > {base}/outside/x; echo x > {base}/home/x; touch {base}/x; echo x > /etc/x",
        "cat {base}/home/.ssh/id {base}/home/.cargo/credentials.toml",
        "rm -rf / --no-preserve-root 2>/dev/null; rm -rf {root}",
        "chmod -R 777 {root}; chown -R 1:1 {root}; touch -d 1999-01-01 {root}/a.txt",
        "mv {root}/.env {root}/x; ln .env hard; cat hard x; cp -r {root} /tmp/c; cat /tmp/c/.env",
        "exec 9<{root}; cat /proc/self/fd/9/../state/key; ls -la /proc/self/fd/",
        "echo x > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger",
        "for n in 3 4 5 6 7 8 9 10; do echo x >&$n; ls /proc/self/fd/$n/; done",
        "kill -9 -1; kill -9 1; (setsid sleep 99 &) ; echo x > a.txt",
    ],
)
def test_g13_an_attack_reaches_nothing(copy: LocalScratchCopy, place: Place, attack: str) -> None:
    ended = line(copy, place, attack.format(base=place.base, root=place.root))
    said = ended.output + ended.errors
    assert CANARY not in said
    assert b"secret-canary" not in said
    assert b"/upper" not in ended.output
    copy.changes()
    copy.reset()
    again = line(copy, place, "cat a.txt docs/one.md; ls -A")
    assert again.output.startswith(b"a\none\n")
    assert kinds(copy.changes()) == {}


def test_g13_no_system_call_leads_to_a_layer(copy: LocalScratchCopy, place: Place) -> None:
    """The kernel escapes marks; in a copy of files, neither they nor whiteouts mean anything."""
    code = (Path(__file__).parent / "layer_attack.py").read_bytes()
    words = (os.fsencode(place.root), os.fsencode(place.base / "state"))
    command = CommandSpec(argv=(b"/usr/bin/python3", b"-c", code, *words))
    ended = gathered(copy.run(command, words[0], ProcessLimits(seconds=30)))
    rows = ended.output.decode().splitlines()
    assert (rows[-1:], ended.errors) == (["over"], b"")
    harmless = {"let: a mark"} | ({"let: a whiteout"} if place.only == "copy" else set())
    harmless |= {f"stolen: {kind}" for kind in ("/dev/null", "pipe", "anon_inode")}
    assert set(rows[:-1]) <= harmless
    assert kinds(copy.changes()) == {}
    assert line(copy, place, "cat docs/*; ls white").output == b"one\ntwo\n"


def test_there_is_no_network(copy: LocalScratchCopy, place: Place) -> None:
    code = "import socket; print(sorted(name for _, name in socket.if_nameindex()))"
    assert line(copy, place, f'/usr/bin/python3 -c "{code}"').output == b"['lo']\n"


def test_caches_can_be_read_and_not_written(copy: LocalScratchCopy, place: Place) -> None:
    registry = place.base / "home/.cargo/registry"
    ended = line(
        copy, place, f"cat {registry}/src/lib.rs; echo x > {registry}/x; ls -A {registry}/.."
    )
    assert ended.output == b"fn a() {}\nregistry\n"


CACHE_DIRS: dict[str, tuple[str, bool]] = {
    "a folder of its own": ("elsewhere/cache", True),
    "one of the usual": (".cargo/registry", True),
    "in one of the usual": (".cargo/registry/src", True),
    "above one of the usual": (".cargo", False),
    "above several": ("go", False),
    "the home": (".", False),
    "above the home": ("..", False),
    "a folder of credentials": (".aws", False),
    "in a folder of credentials": (".aws/sso", False),
    "above a folder of credentials": ("apps", False),
    "a link to one above": ("innocent", False),
    "not absolute": ("", False),
}


@pytest.mark.parametrize(("named", "shown"), CACHE_DIRS.values(), ids=CACHE_DIRS)
def test_a_variable_that_names_more_than_a_cache_shows_nothing(
    named: str, shown: bool, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    for folder in ("elsewhere/cache", ".cargo/registry/src", "go/pkg/mod", ".aws/sso", "apps"):
        (home / folder).mkdir(parents=True)
    (home / "innocent").symlink_to(".cargo")
    (home / ".kube").symlink_to("apps/kube")  # credentials that are really there
    (home / "apps/kube").mkdir()
    path = f"{home}/{named}" if named else "relative"
    variables = {"PIP_CACHE_DIR": path}
    own = os.fsencode(home)
    assert cache_variables(own, variables) == (variables if shown else {})
    assert refused_variables(own, variables) == ([] if shown else ["PIP_CACHE_DIR"])
    assert (os.fsencode(os.path.normpath(path)) in cache_folders(own, variables)[7:]) is shown


def test_a_file_beside_a_cache_is_not_shown_by_a_variable(tmp_path: Path) -> None:
    variables = {"PIP_CACHE_DIR": f"{tmp_path}/home/.cargo"}
    place = furnished(tmp_path, variables=variables)
    (tmp_path / "home/.cargo/registry").mkdir(parents=True)
    (tmp_path / "home/.cargo/registry/a").write_bytes(b"seen\n")
    (tmp_path / "home/.cargo/notes").write_bytes(b"canary\n")
    copy = place.open()
    ended = line(copy, place, f"cat {tmp_path}/home/.cargo/registry/a {tmp_path}/home/.cargo/notes")
    assert b"seen\n" in ended.output
    assert b"canary" not in ended.output
    copy.clear()


def test_whiteouts_and_marks_cannot_be_forged(copy: LocalScratchCopy, place: Place) -> None:
    code = (
        "import os, stat\n"
        "for attempt in (lambda: os.mknod('docs/one.md.w', stat.S_IFCHR, 0),"
        " lambda: os.setxattr('docs', 'user.overlay.opaque', b'y')):\n"
        "    try: attempt()\n"
        "    except OSError: pass\n"
    )
    line(copy, place, f'/usr/bin/python3 -c "{code}"')
    assert kinds(copy.changes()) == {}


def test_a_copy_never_mounts_the_real_workspace_writable(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.env").write_text("x", encoding="utf-8")
    profile = SandboxProfile(
        root, b"/root", masks=(root + b"/sub/.env",), writable=True, source=b"/copies/one"
    )
    arguments = bind_arguments(profile)
    writable = [arguments[at + 1] for at, word in enumerate(arguments) if word == b"--bind"]
    assert writable == [b"/copies/one", b"/copies/one/sub"]
    with pytest.raises(Refused):
        bind_arguments(SandboxProfile(root, b"/root", writable=True, source=b"/c", opened=(root,)))


def test_only_a_tree_of_ours_is_ever_changed(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x", encoding="utf-8")
    tree = FolderTree(os.fsencode(tmp_path))
    with pytest.raises(PermissionError):
        tree.empty_in_copy(b"f")
    with pytest.raises(PermissionError), tree.folder_in_copy(b"g", tree):
        pass
    assert os.listdir(tmp_path) == ["f"]
    tree.close()


@pytest.mark.parametrize("instead", ["nothing", "folder", "pipe", "socket", "whiteout", "symlink"])
def test_a_file_may_become_anything_just_before_it_is_read(tmp_path: Path, instead: str) -> None:
    """The program that runs meanwhile is held back until exactly then."""
    at = tmp_path / "f"
    at.write_text("content", encoding="utf-8")
    tree = FolderTree(os.fsencode(tmp_path), ours=True)

    def replaces(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called is os.open and frame.f_code.co_name == "_chunks":
            sys.setprofile(None)
            at.unlink()
            BECOMES[instead](at)

    sys.setprofile(replaces)
    try:
        assert tree.state(b"f") is None
    finally:
        sys.setprofile(None)
    tree.close()


def _listening(at: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(at.parent, os.O_RDONLY)
        made.bind(f"/proc/self/fd/{here}/{at.name}")  # a whole path may be too long
        os.close(here)


BECOMES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda at: None,
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "socket": _listening,
    "whiteout": lambda at: os.mknod(at, stat.S_IFCHR, 0),
    "symlink": lambda at: at.symlink_to("/etc/passwd"),
}


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{PRIVILEGE} become another user: it takes root.")
@pytest.mark.parametrize("only", ["overlay", "copy"])
def test_another_user_has_copies_too(only: str) -> None:
    """Without root's rights: in a user namespace, and with a file that belongs to root."""
    base = Path(f"/var/tmp/assent-scratch-{os.getpid()}-{only}")
    base.mkdir()
    os.chown(base, 65534, 65534)
    script = (
        "import os; from pathlib import Path; from tests.scratch.copies import *;"
        f"p = furnished(Path({str(base)!r}), only={only!r}); c = p.open();"
        "r = line(c, p, 'id -u; echo x >> a.txt; rm docs/one.md; mkdir n; echo 1 > n/f;'"
        "' chmod 0 n; mkdir -p out/shut; chmod 0 out/shut out');"
        "print(r.output, sorted(kinds(c.changes()).items()));"
        "made = Contents(); c.apply(draft({b'out/shut/d': made.file(b'd')}), made.read);"
        "print(line(c, p, 'cat a.txt docs/one.md out/shut/d; ls n').output); c.clear();"
        "print([name for name in os.listdir(p.folder) if name != 'backend.json'])"
    )
    done = as_another_user(script)
    more = base / "work/root.txt"
    more.write_text("of root\n", encoding="utf-8")
    more.chmod(0o666)
    foreign = as_another_user(
        "from pathlib import Path; from tests.scratch.copies import *;"
        f"p = Place(Path({str(base)!r}), only={only!r}); c = p.open();"
        "r = line(c, p, 'echo x >> root.txt'); print(r.code, 'root.txt.' in r.errors.decode())"
    )
    subprocess.run(["rm", "-rf", str(base)], check=True)
    assert done.stdout.splitlines() == [
        "b'65534\\n' [('a.txt', 'replaced'), ('docs/one.md', 'deleted'), ('n/f', 'created')]",
        "b'a\\none\\nd'",
        "[]",
    ], done.stderr
    expected = "1 True\n" if only == "overlay" else "0 False\n"
    assert foreign.stdout == expected, foreign.stderr


CLOSED = """
import os; from pathlib import Path; from tests.scratch.copies import *
from assent.core.shell.process import CommandSpec, ProcessLimits
p = furnished(Path(BASE), only=ONLY)
for name, mode in (("enter", 0o311), ("shut", 0), ("list", 0o444), ("deep/enter", 0o311)):
    (p.root / name / "sub").mkdir(parents=True)
    for secret in (".env", "sub/.env"):
        (p.root / name / secret).write_text("TOKEN=secret-canary")
    (p.root / name).chmod(mode)
settle()
cat = "; ".join(f"chmod u+rwx {n}; cat {n}/.env {n}/sub/.env" for n in ("enter", "shut", "list"))
more = "cat deep/enter/.env deep/enter/sub/.env; mv deep d; cat d/enter/.env; echo x > a.txt"
text = f"{cat}; {more}"
root = os.fsencode(p.root)
built = gathered(p.process().run_command(CommandSpec(text), root, ProcessLimits(seconds=30)))
(p.root / "a.txt").write_text("a")
settle()
c = p.open()
for _ in range(2):
    copied = line(c, p, text)
    found = c.changes()
    print("secret-canary" in f"{built} {copied}", kinds(found), found.gone)
c.clear()
for name in ("enter", "shut", "list", "deep/enter"):
    (p.root / name).chmod(0o700)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{PRIVILEGE} become another user: it takes root.")
@pytest.mark.parametrize("only", ["overlay", "copy"])
def test_g13_a_folder_that_cannot_be_searched_for_secrets_is_hidden(only: str) -> None:
    """A command that may write could open it, and one that may not could know a name in it."""
    base = Path(f"/var/tmp/assent-closed-{os.getpid()}-{only}")
    base.mkdir()
    os.chown(base, 65534, 65534)
    done = as_another_user(CLOSED.replace("BASE", repr(str(base))).replace("ONLY", repr(only)))
    subprocess.run(["rm", "-rf", str(base)], check=True)
    assert done.stdout.splitlines() == ["False {'a.txt': 'replaced'} ()"] * 2, done.stderr


def as_another_user(script: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script with the system's Python, which every user can start."""
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    version = "import sys; print('%d.%d' % sys.version_info[:2])"
    python = "/usr/bin/python3"
    same = f"{sys.version_info[0]}.{sys.version_info[1]}\n"
    told = subprocess.run([python, "-c", version], capture_output=True, text=True, check=True)
    if told.stdout != same:
        pytest.skip("the system has another version of Python")
    packages = [path for path in sys.path if "site-packages" in path or path.endswith("/src")]
    paths = ":".join([str(Path(__file__).parents[2]), *packages])
    return subprocess.run(
        [*become, python, "-c", script], cwd="/", capture_output=True, text=True, check=False,
        env={"PATH": os.defpath, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
