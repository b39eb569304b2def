"""Plugins: `assent.plugins` and the path that was documented before it both stay as they are.

The two plugins and the names from before are data, so that nothing that renames names in the
project changes them. If the public names change on purpose, write their record anew:

    .venv/bin/python -m tests.record.test_plugins
"""

import enum
import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from tests.adversarial.harness import Stage
from tests.app.plugin_package import Site
from tests.cli.harness import Answer

SOURCES = Path(__file__).with_name("plugins")
RECORD = Path(__file__).with_name("plugins.json")
PUBLIC = "assent.plugins"
ANEW = "If that is meant, run: .venv/bin/python -m tests.record.test_plugins"
NAMES = ("old_count", "old_echo", "new_upper", "new_echo")
CONFIG = f"""
[plugins]
enabled = ["documented", "public"]
reads = {json.dumps(NAMES)}
"""


class Plugged(Stage):
    """A stage where both plugins are installed and enabled; commands run as processes."""

    def __init__(self, base: Path) -> None:
        super().__init__(base, CONFIG)
        self.site = Site(base / "site")
        for source in SOURCES.iterdir():
            self.site.put(source.stem, source.read_text("utf-8"), {source.stem: "TOOLS"})

    def go_on(self, said: str, *options: str) -> Answer:
        model = ("--model", f"scripted:{self.script}", "--output-format", "stream-json")
        path = os.pathsep.join([str(self.site.folder), *filter(None, sys.path)])
        answer = self.process("-p", said, *model, *options, env={"PYTHONPATH": path})
        assert b"was skipped" not in answer.err, answer.err
        return answer


def test_plugins_of_both_paths_work(tmp_path: Path) -> None:
    stage = Plugged(tmp_path)
    (stage.root / "a.txt").write_text("hello\n", encoding="utf-8")
    made = [(name, {"word": name} if "echo" in name else {"path": "a.txt"}) for name in NAMES]
    ended = stage.called(*made)
    told = [(one["result"]["failed"], one["result"]["text"].splitlines()[0]) for one in ended]
    assert told == [
        (False, "6 bytes"),
        (False, "old_echo 0"),
        (False, "6 bytes in upper case"),
        (False, "new_echo"),
    ]
    assert [row["path"] for row in stage.staged()] == ["a.txt"]
    assert (stage.root / "a.txt").read_text("utf-8") == "hello\n"  # it was planned, not done


def test_the_public_names_are_those_on_record() -> None:
    assert current() == recorded()["public"], ANEW


def test_all_public_names_are_listed() -> None:
    public = importlib.import_module(PUBLIC)
    names = [name for name in vars(public) if not name.startswith("_")]
    assert sorted(public.__all__) == sorted(names)


def test_the_names_from_before_are_the_same_things() -> None:
    public = importlib.import_module(PUBLIC)
    for path, names in recorded()["before"].items():
        module = importlib.import_module(path)
        for old, new in names.items():
            assert getattr(module, old) is getattr(public, new), f"{path}.{old}"


def test_importing_the_public_module_loads_no_face_and_no_adapter() -> None:
    code = f"import sys, {PUBLIC}; print(*sorted(sys.modules))"
    line = [sys.executable, "-c", code]
    loaded = subprocess.run(line, capture_output=True, check=True, text=True).stdout.split()
    assert not {"asyncio", "click", "sqlite3", "ssl", "textual"} & set(loaded)


def recorded() -> dict[str, Any]:
    """Returns the record; `before` has the names that a plugin imported before, and those now."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return found


def current() -> dict[str, list[str]]:
    """Returns what each public name is made of: fields, members, or what it takes."""
    public = importlib.import_module(PUBLIC)
    return {name: _made_of(getattr(public, name)) for name in public.__all__}


def _made_of(thing: Any) -> list[str]:
    if issubclass(thing, msgspec.Struct):
        defaults = [""] * len(thing.__struct_fields__)
        optional = len(thing.__struct_defaults__)
        defaults[len(defaults) - optional :] = [" = default"] * optional
        fields = zip(thing.__struct_fields__, defaults, strict=True)
        read = [name for name, what in vars(thing).items() if isinstance(what, property)]
        return [*(f"{name}{more}" for name, more in fields), *(f"{name} (read)" for name in read)]
    if issubclass(thing, enum.Enum):
        return [f"{each.name} = {each.value}" for each in thing]
    return [str(each) for each in inspect.signature(thing).parameters.values()]


if __name__ == "__main__":
    anew = {"before": recorded()["before"], "public": current()}
    RECORD.write_text(json.dumps(anew, indent=1) + "\n", encoding="utf-8")
