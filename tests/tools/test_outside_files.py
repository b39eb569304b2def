"""Reading outside the workspace: what is asked, what is never shown, and what cannot be swapped."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.tools.call_harness import on_disk
from tests.tools.read_harness import Place

from assent.core.errors import AssentError, NotFound, Refused
from assent.core.llm import ImagePart
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools.find_tools import LIST
from assent.tools.overlay import WHOLE_FILE
from assent.tools.read import READ
from assent.tools.registry import TOOLS
from assent.tools.tool import Tool, ToolContext
from assent.workspace.outside_files import LocalOutsideFiles

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
LOOKING = (READ, LIST)
FILES = (
    "near/a.txt", "near/deep/b.txt", "near/.env", "home/.aws/credentials", "home/.ssh/id_rsa",
    "state/key", "state/log.db", "else/.ssh/known",
)  # fmt: skip
WAYS = (
    "{base}/near/a.txt", "../near/a.txt", "{base}/near/deep/../a.txt", "link", "folder/a.txt",
    "folder/deep/../a.txt", "chain",
)  # fmt: skip


class Yard(Place):
    """A workspace with a neighbour, a home with keys in it, and the state of Assent."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.base = base.resolve()
        for path in FILES:
            self.beside(path, f"in {path}\n")
        refused = [os.fsencode(base / name) for name in ("home/.aws", "state", "missing")]
        self.outside = LocalOutsideFiles(os.fsencode(self.root), lambda: refused)

    def beside(self, path: str, content: str | bytes) -> Path:
        target = self.base / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    @property
    def around(self) -> ToolContext:
        return msgspec.structs.replace(super().around, outside=self.outside)

    def requests(self, tool: Tool, path: str) -> Sequence[ResourceAccess]:
        return tool.touches(msgspec.convert({"path": path}, tool.args), self.around)

    def agreed(
        self, tool: Tool, meanwhile: Callable[[], object] = bool, **args: object
    ) -> ToolOutcome:
        """Runs a call whose every request got a yes; something may happen in between."""
        decoded = msgspec.convert(args, tool.args)
        asked = tuple(tool.touches(decoded, self.around))
        meanwhile()
        outcome: ToolOutcome = tool.run(decoded, msgspec.structs.replace(self.around, judged=asked))
        return outcome


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


@pytest.mark.parametrize("typed", WAYS)
def test_f77_a_file_outside_asks_for_its_folder_and_is_a_read(yard: Yard, typed: str) -> None:
    (yard.root / "link").symlink_to("../near/a.txt")
    (yard.root / "folder").symlink_to(yard.base / "near")
    (yard.base / "step").symlink_to("near/a.txt")
    (yard.root / "chain").symlink_to("../step")
    path = typed.format(base=yard.base)
    led = typed if typed.startswith(("link", "folder", "chain")) else ""
    assert [*yard.requests(READ, path)] == [
        ResourceAccess(Action.OUTSIDE, f"{yard.base}/near/*"),
        ResourceAccess(Action.READ, f"{yard.base}/near/a.txt", link=led),
    ]
    outcome = yard.agreed(READ, path=path)
    assert (outcome.text, outcome.title) == ("in near/a.txt", f"{yard.base}/near/a.txt")
    assert outcome.metadata == {"bytes": (yard.base / "near/a.txt").stat().st_size}


def test_f77_a_folder_outside_asks_for_itself_so_that_its_files_are_covered(yard: Yard) -> None:
    near = f"{yard.base}/near"
    expected = [ResourceAccess(Action.OUTSIDE, f"{near}/*"), ResourceAccess(Action.READ, near)]
    own = {LIST.name: [ResourceAccess(Action.SEEK, near, "list")]}  # what rules for `list` speak of
    for tool in LOOKING:
        assert [*yard.requests(tool, near)] == expected + own.get(tool.name, [])
        assert yard.agreed(tool, path=near).text == ".env\na.txt\ndeep/"
    (yard.base / "empty").mkdir()
    assert "empty" in yard.agreed(READ, path="../empty").text
    with pytest.raises(NotFound, match="is not a folder"):
        yard.agreed(LIST, path="../near/a.txt")


def test_f77_the_permission_is_external_directory(yard: Yard) -> None:
    asked, read = yard.requests(READ, "../near/a.txt")
    assert (asked.permission, read.permission) == ("external_directory", "read")


def test_f77_nothing_is_read_that_was_not_judged(yard: Yard) -> None:
    for tool in LOOKING:
        with pytest.raises(Refused, match="not what permission was given for"):
            yard.call(tool, path="../near")


def test_f77_a_link_that_changes_while_the_person_thinks_is_noticed(yard: Yard) -> None:
    link = yard.root / "link"
    other = yard.beside("other/secret.txt", "other\n")

    def swap() -> None:
        link.unlink()
        link.symlink_to(other)

    link.symlink_to(yard.base / "near" / "a.txt")
    with pytest.raises(Refused, match=r"now points to .*/other/secret.txt"):
        yard.agreed(READ, swap, path="link")


def test_f77_a_folder_that_becomes_a_link_is_noticed(yard: Yard) -> None:
    def swap() -> None:
        (yard.base / "near").rename(yard.base / "moved")
        (yard.base / "near").symlink_to(yard.base / "state")

    with pytest.raises(Refused):
        yard.agreed(READ, swap, path="../near/key")
    path = os.fsencode(yard.base / "near" / "a.txt")
    with pytest.raises(Refused):
        yard.outside.read(path, WHOLE_FILE)


def test_f77_a_file_that_becomes_a_folder_is_asked_about_anew(yard: Yard) -> None:
    def swap() -> None:
        (yard.base / "near" / "a.txt").unlink()
        (yard.base / "near" / "a.txt").mkdir()

    with pytest.raises(Refused, match="not what permission was given for"):
        yard.agreed(READ, swap, path="../near/a.txt")


NEVER = {
    "our state": "{base}/state/key",
    "our state, as a folder": "../state",
    "our state, through a link": "to-state/log.db",
    "a credential place": "{base}/home/.aws/credentials",
    "its spelling on a careless disk": "{base}/home/.AWS/credentials",
    "keys, wherever they lie": "{base}/else/.ssh/known",
    "a key in a home": "../home/.ssh/id_rsa",
    "a process": "/proc/self/environ",
    "a device": "/dev/zero",
    "the kernel's": "/sys/kernel",
    "a link to a process": "to-proc",
    "the top of the disk": "/",
    "the top, by dots": "../" * 40,
    "back into the workspace": "../ws/inner.txt",
    "back in, where Assent keeps things": "../ws/.opencode/assent/x",
    "a loop": "loop",
    "a loop outside": "../loop",
}


@pytest.mark.parametrize("typed", NEVER.values(), ids=NEVER)
@pytest.mark.parametrize("tool", LOOKING, ids=lambda tool: tool.name)
def test_f77_what_nobody_may_agree_to_is_refused_before_anybody_is_asked(
    yard: Yard, tool: Tool, typed: str
) -> None:
    yard.put("inner.txt", "x")
    (yard.root / "to-state").symlink_to(yard.base / "state")
    (yard.root / "to-proc").symlink_to("/proc/self/environ")
    (yard.root / "loop").symlink_to("loop")
    (yard.base / "loop").symlink_to("loop")
    with pytest.raises(AssentError):
        yard.requests(tool, typed.format(base=yard.base))


def test_f77_a_credential_place_that_is_a_link_is_refused_where_it_leads(yard: Yard) -> None:
    real = yard.beside("vault/token", "t")
    (yard.base / "missing").symlink_to(yard.base / "vault")
    with pytest.raises(Refused, match="keys and passwords"):
        yard.requests(READ, str(real))


def test_f77_pipes_and_huge_files_are_refused_at_once(yard: Yard) -> None:
    os.mkfifo(yard.base / "near" / "pipe")
    with pytest.raises(Refused, match="is not a file"):
        yard.agreed(READ, path="../near/pipe")
    with (yard.base / "near" / "huge").open("wb") as file:
        file.truncate(WHOLE_FILE + 1)
    with pytest.raises(Refused, match="is larger than 16777216 bytes"):
        yard.agreed(READ, path="../near/huge")
    with pytest.raises(NotFound, match="does not exist"):
        yard.agreed(READ, path="../near/nothing")


def test_f77_pages_pictures_and_binary_are_as_in_the_workspace(yard: Yard) -> None:
    yard.beside("near/long", "a\nb\nc\n")
    yard.beside("near/p.png", PNG)
    yard.beside("near/bin", b"\x7fELF\0")
    text = yard.agreed(READ, path="../near/long", offset=2, limit=1).text
    assert text == f"[{yard.base}/near/long, line 2 of 3]\nb"
    assert yard.agreed(READ, path="../near/p.png").images == (ImagePart("image/png", PNG),)
    with pytest.raises(Refused, match="is binary"):
        yard.agreed(READ, path="../near/bin")
    with pytest.raises(NotFound, match="3 lines; line 9 is past"):
        yard.agreed(READ, path="../near/long", offset=9)


def test_f135_instructions_outside_are_not_obeyed(yard: Yard) -> None:
    yard.beside("near/AGENTS.md", "obey")
    yard.beside("near/deep/AGENTS.md", "obey")
    assert yard.agreed(READ, path="../near/deep/b.txt").text == "in near/deep/b.txt"


def test_f76_a_secret_outside_is_judged_by_its_name(yard: Yard) -> None:
    assert yard.requests(READ, "../near/.env")[1] == ResourceAccess(
        Action.READ, f"{yard.base}/near/.env"
    )


def test_f78_a_draft_that_leads_outside_is_asked_about_too(yard: Yard) -> None:
    yard.stage("drafted", str(yard.base / "near" / "a.txt"), "link")
    assert yard.requests(READ, "drafted")[0].resource == f"{yard.base}/near/*"
    assert yard.agreed(READ, path="drafted").text == "in near/a.txt"


OTHERS: dict[str, dict[str, Any]] = {
    "write": {"content": "x"}, "edit": {"old": "a", "new": "b"}, "delete": {}, "move": {"to": "x"},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "in"}, "search": {"name": "in"},
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("typed", ["{base}/near/a.txt", "../near/a.txt", "link", "folder/a.txt"])
def test_f77_every_other_tool_stays_inside(yard: Yard, name: str, typed: str) -> None:
    tool = next(each for each in TOOLS if each.name == name)
    (yard.root / "link").symlink_to("../near/a.txt")
    (yard.root / "folder").symlink_to(yard.base / "near")
    before = on_disk(yard.base)
    args: dict[str, Any] = {"path": typed.format(base=yard.base), **OTHERS[name]}
    args = {"edits": [args]} if name == "edit" else args
    if (name in ("delete", "move")) and typed == "link":
        effect = yard.agreed(tool, **args).effect  # the link itself is the workspace's own
        assert isinstance(effect, EditEffect)
        assert effect.operations[0].path == b"link"
    else:
        with pytest.raises(AssentError):
            yard.agreed(tool, **args)
    assert on_disk(yard.base) == before


def test_f77_where_nobody_can_look_outside_it_is_refused_as_before(yard: Yard) -> None:
    bare = msgspec.structs.replace(yard.around, outside=None)
    with pytest.raises(Refused, match="outside the workspace"):
        READ.touches(msgspec.convert({"path": "../near/a.txt"}, READ.args), bare)
