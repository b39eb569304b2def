"""A scratch repository with a little of everything, the same bytes, times and ids each time."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from tests.support.sandbox_status import SHARED

WHEN = 1_700_000_000  # every file's time, and the first commit's
SECRET = "sk-live-9f3b2c7d1e"

FIRST = {
    "README.md": (
        "# Lantern\n\nReads src/app and writes nothing. Set $HOME first.\n\n"
        "one  two\n\nTODO: say more\n"
    ),
    ".gitignore": "build/\ndeploy/.env\n*.pyc\n",
    "Makefile": "all:\n\ttouch pwned\n\ntest:\n\ttouch pwned\n",
    "pyproject.toml": '[project]\nname = "lantern"\nversion = "0.1"\n',
    "package.json": (
        '{"name": "lantern", "version": "1.2.3",\n'
        ' "scripts": {"build": "touch pwned", "test": "touch pwned"}}\n'
    ),
    "docs/guide.md": "# Guide\n\nIf a > b, it's a.b: `code` is read.\nneedle\nwide\n",
    "docs/notes with spaces.md": "notes\n",
    "docs/übersicht.md": "Übersicht\n",
    "src/app/__init__.py": "",
    "src/app/main.py": (
        "import sys\nimport os\n\nfrom app.store import Store\n\n\n"
        "def main() -> int:\n    # TODO: greet a person whose name is long enough\n"
        "    return Store(sys.argv).count(os)\n"
    ),
    "src/app/config.py": "import os\n\nDEBUG = False\n",
    "src/app/store.py": (
        "import json\n\n\nclass Store:\n    def __init__(self, names):\n"
        "        self.names = names\n\n    def count(self, other):\n"
        "        return len(self.names)\n\n\ndef load(text):\n    return json.loads(text)\n"
    ),
    "src/web/index.js": 'import { say } from "./util.js"\nsay("say \\"hi\\"")\n',
    "src/web/util.js": "export const say = (x) => console.log(x)\n",
    "tests/test_main.py": "def test_main():\n    assert True\n",
    "tests/test_store.py": "from app.store import Store\n\n\ndef test_store():\n    Store([])\n",
    "data/users.json": (
        '{"users": [\n  {"name": "Ada", "age": 36, "email": "ada@example.org"},\n'
        '  {"name": "Bob", "age": 27, "email": "bob@example.com"}\n]}\n'
    ),
    "data/events.jsonl": '{"n": 1}\n{"n": 2}\n{"n": 3}\n{"n": 4}\n',
    "data/table.csv": "name,city,age\nada,paris,36\nbob,rome,17\ncyd,paris,25\n",
    "data/a.txt": "alpha 1\nbeta 2\ngamma 3\n",
    "data/b.txt": "alpha x\ndelta y\ngamma z\n",
    "data/numbers.txt": "3\n10\n3\n7\n7\n1\n",
    "data/old.txt": "one\ntwo\nthree\n",
    "data/new.txt": "one\n2\nthree\nfour\n",
    "data/x.c": "int main(void) { return 0; }\n",
    "change.patch": "--- a/data/a.txt\n+++ b/data/a.txt\n@@ -1 +1 @@\n-alpha 1\n+pwned\n",
    "scripts/run.sh": "#!/bin/sh\ntouch pwned\ncat\n",
    "scripts/run.py": 'open("pwned", "w")\n',
    "scripts/run.sed": "w pwned\n",
    "scripts/run.awk": 'BEGIN { system("touch pwned") }\n',
    "options/-opwned": "an option by name\n",
    "options/--pre=x": "another\n",
    "evil/ls": "#!/bin/sh\ntouch pwned\n",
}
LATER = {
    "README.md": FIRST["README.md"] + "\nMore to read.\n",
    "src/app/store.py": FIRST["src/app/store.py"] + "\n\nEMPTY = Store([])\n",
}
LOGIN = {"src/app/login.py": "def login(name):\n    return name\n"}
STASHED = {"data/numbers.txt": "1\n2\n"}
DIRTY = {
    "docs/guide.md": FIRST["docs/guide.md"] + "\nNot committed.\n",
    "build/out.o": "needle\n",
    "untracked.txt": "TODO\n",
}
HIDDEN = {"deploy/.env": f"API_KEY={SECRET}\n"}
STAGED = {"src/app/config.py": "import os\n\nDEBUG = True\n"}


def build(root: Path, *, secret: bool = True) -> Path:
    """Makes the repository in an empty folder and returns it; `secret` is for a `.env` in it.

    The first is made by git, others are copies of it, with an index for the files as they are here.
    """
    shared = os.environ.get(SHARED)
    if shared is None:
        return _made(root, secret)
    first = Path(shared, "scratch" if secret else "scratch without a secret")
    with open(Path(shared, "scratch.lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers begin at once
        if not first.exists():
            part = first.with_name(f"{first.name}.part")
            part.mkdir()
            _made(part, secret).rename(first)
    shutil.copytree(first, root, symlinks=True, dirs_exist_ok=True)
    _refresh(root)
    return root


def _made(root: Path, secret: bool) -> Path:
    git = Git(root)
    git("init", "-q", "-b", "main")
    git("config", "remote.origin.url", "http://127.0.0.1:9/lantern")
    git("config", "user.email", "ada@example.org")
    _put(root, FIRST)
    (root / "data" / "sample.bin").write_bytes(bytes(range(256)) * 8)
    (root / "latest").symlink_to("docs/guide.md")
    (root / "scripts" / "run.sh").chmod(0o755)
    (root / "evil" / "ls").chmod(0o755)
    git.commit("Begin")
    git("tag", "-a", "v1.0", "-m", "the first")
    _put(root, LATER)
    git.commit("Say more about the store", author="Bob <bob@example.com>")
    git("tag", "v1.1")
    git("checkout", "-q", "-b", "feature/login")
    _put(root, LOGIN)
    git.commit("Let people in")
    git("checkout", "-q", "main")
    git("mv", "data/x.c", "data/y.c")
    git.commit("Name it y")
    _put(root, STASHED)
    git("stash", "push", "-q", "-m", "half done")
    _put(root, STAGED)
    git("add", "src/app/config.py")
    _put(root, DIRTY | (HIDDEN if secret else {}))
    (root / "empty").mkdir()
    settle(root)
    _refresh(root)
    return root


def _refresh(root: Path) -> None:
    Git(root)("update-index", "-q", "--refresh", fine=(0, 1))


class Git:
    """Runs git in a repository as somebody without a configuration, at a time that is set."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._clock = WHEN

    def __call__(self, *words: str, fine: tuple[int, ...] = (0,)) -> bytes:
        who = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": f"{self._clock} +0000"}
        env = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}
        quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        done = subprocess.run(
            ["git", *words],
            cwd=self._root,
            env={"PATH": os.environ["PATH"], **env, **quiet},
            capture_output=True,
            check=False,
        )
        assert done.returncode in fine, done
        return done.stdout

    def commit(self, message: str, author: str = "Ada <ada@example.org>") -> None:
        """Commits everything, a day after the last one."""
        self._clock += 86_400
        self("add", "-A")
        self("commit", "-q", "-m", message, "--author", author)


def settle(root: Path) -> None:
    """Gives everything outside .git the same old time, so that git need not look twice."""
    for folder, folders, names in os.walk(root, topdown=False):
        folders[:] = [name for name in folders if name != ".git"]
        if "/.git" not in folder:
            for path in [os.path.join(folder, name) for name in names] + [folder]:
                os.utime(path, (WHEN, WHEN), follow_symlinks=False)


def _put(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
