"""An installed package with tools, as pip would leave it: modules, and their entry points."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HEAD = """
from pathlib import Path
from tempfile import gettempdir
import msgspec
from assent.core.tool import Action, Edit, Outcome, Request
from assent.tools.tool import Tool

class Args(msgspec.Struct, frozen=True):
    path: str

def mark(name):
    with (Path(__file__).parent / "ran").open("a", encoding="utf-8") as file:
        file.write(name + "\\n")

def nothing(args, around):
    mark("touches")
    return ()

def may_touch(path):
    # A real writer stays inside the test's own folders, whatever a hostile model names.
    return path.resolve().is_relative_to(Path(gettempdir()).resolve())

def write(args, around):
    mark("run")
    if may_touch(Path(args.path)):
        Path(args.path).write_text("by a plugin", encoding="utf-8")
    return Outcome("Wrote " + args.path)

mark("import")
"""


class Site:
    """A folder that stands on sys.path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def install(self, package: str, source: str, **points: str) -> None:
        """Installs a package of one module that begins like all here; points name objects in it."""
        self.put(package, HEAD + source, points)

    def put(self, package: str, source: str, points: Mapping[str, str]) -> None:
        """Installs a package of one module with exactly this source."""
        (self.folder / f"{package}.py").write_text(source, encoding="utf-8")
        known = self.folder / f"{package}-1.0.dist-info"
        known.mkdir()
        about = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        (known / "METADATA").write_text(about, encoding="utf-8")
        rows = [f"{name} = {package}:{value}" for name, value in points.items()]
        lines = "\n".join(["[assent.tools]", *rows, ""])
        (known / "entry_points.txt").write_text(lines, encoding="utf-8")

    def ran(self) -> list[str]:
        """What of the packages ran, in order."""
        path = self.folder / "ran"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    @contextmanager
    def on_path(self) -> Iterator[None]:
        """Lets this process find the packages, and forget them again."""
        before = set(sys.modules)
        sys.path.insert(0, str(self.folder))
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(str(self.folder))
            for name in set(sys.modules) - before:
                if str(self.folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]
