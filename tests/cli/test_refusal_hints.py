"""What others made and cannot be taken: the refusal says what is safe, and what to type next."""

from pathlib import Path
from shlex import quote

import pytest
from tests.cli.harness import World
from tests.cli.machines import Machines

HUNK = "@@ -1 +1 @@\n-a\n+b\n"
BINARY = (
    "diff --git a/b b/b\nnew file mode 100644\n"
    f"index {'0' * 40}..{'2' * 40}\nGIT binary patch\nliteral 5\nzzzzz\n\n"
)
SUBMODULE = f"diff --git a/s b/s\nindex 1111111..2222222 160000\n--- a/s\n+++ b/s\n{HUNK}"
ANEW = "git diff --binary | assent stage patch -"
NO_SUBMODULE = "git diff --binary --ignore-submodules | assent stage patch -"
NEW = "new file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+b\n"

PATCHES = {
    "a name that leads upwards": (f"--- a/../x\n+++ b/../x\n{HUNK}", ANEW),
    "a file of git": (f"--- a/.git/config\n+++ b/.git/config\n{HUNK}", ANEW),
    "a file of ours": (f"--- a/.opencode/assent/x\n+++ b/.opencode/assent/x\n{HUNK}", ANEW),
    "a folder": (f"--- /dev/null\n+++ b/.\n{HUNK}", ANEW),
    "a submodule": (SUBMODULE, NO_SUBMODULE),
    "words on a submodule": ("Submodule s 1111111..2222222:\n  > x\n", NO_SUBMODULE),
    "an end inside a hunk": ("--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n", ANEW),
    "a hunk that is too short": ("--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\nxx\n", ANEW),
    "a mode of no file": ("diff --git a/a b/a\nold mode 100644\nnew mode 999999\n", ANEW),
    "a damaged binary": (BINARY, ANEW),
    "a file that is made twice": (f"diff --git a/n b/n\n{NEW}diff --git a/n b/n\n{NEW}", ANEW),
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_patch_that_cannot_be_taken(world: World, name: str) -> None:
    world.plan()
    patch, next = PATCHES[name]
    answer = world.run("stage", "patch", "-", "--json", stdin=patch.encode())
    assert answer.code, answer
    assert answer.error["message"].endswith(" Nothing was staged."), answer
    assert answer.error["next"] == next
    assert world.ok("stage", "list")["operations"] == []


@pytest.fixture
def copy(world: World) -> Path:
    world.plan()
    copy = world.base / "a copy"
    copy.mkdir()
    (copy / "a.txt").write_text("a\n", encoding="utf-8")
    return copy


@pytest.mark.parametrize("path", ["..", "/etc", "", ".", ".git", ".opencode/assent"])
def test_a_path_that_no_copy_can_be_asked_for(world: World, copy: Path, path: str) -> None:
    answer = world.run("stage", "from", str(copy), path, "--json")
    assert answer.error["message"].endswith(" Nothing was staged."), answer
    assert answer.error["next"] == f"assent stage from {quote(str(copy))}"
    assert [row["path"] for row in world.ok("stage", "from", str(copy))["operations"]] == ["a.txt"]


@pytest.mark.parametrize("other", ["", ".", "..", "nowhere"])
def test_a_folder_that_is_no_copy(world: World, copy: Path, other: str) -> None:
    answer = world.run("stage", "from", other, "--json")
    assert "Nothing was " in answer.error["message"], answer
    assert answer.error["next"] == "assent stage from --help"


def test_a_copy_that_cannot_be_read(world: World, copy: Path) -> None:
    (copy / "closed").mkdir(mode=0)
    line = ["stage", "from", str(copy), "--json"]
    answer = world.unprivileged(*line)
    assert answer.error["message"].endswith(" Nothing was changed."), answer
    assert answer.error["next"] == f"ls -la {quote(str(copy))}"


def test_an_approval_where_a_plan_is_wanted_leads_to_its_option(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.plan()
    approval = tmp_path / "yes.json"
    machines.approve("--out", str(approval))
    for verb in ("build", "review", "approve"):
        refused = machines.runner.run(verb, str(approval), "--json")
        assert (refused.code, refused.error["error"]) == (7, "damaged")
        told = f"{approval} is an approval, not a plan. Nothing was changed."
        assert refused.error["message"] == told
        assert refused.error["next"] == f"assent build FILE --approval {approval}"


def test_a_plan_where_an_approval_is_wanted_leads_to_its_review(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.plan()
    file = str(machines.file)
    refused = machines.runner.no(7, "build", file, "--approval", file)
    told = f"{file} is a plan, not a separate approval. Nothing was changed."
    assert (refused["message"], refused["next"]) == (told, f"assent review {file}")
    assert machines.runner.run("review", file).code == 0


@pytest.mark.parametrize("verb", ["build", "review", "approve"])
def test_a_file_of_another_kind_leads_to_what_the_command_takes(world: World, verb: str) -> None:
    (world.root / "notes.txt").write_text("words\n", encoding="utf-8")
    refused = world.no(7, verb, str(world.root / "notes.txt"))
    assert refused["message"].endswith(" Nothing was changed.")
    assert refused["next"] == f"assent {verb} --help"
