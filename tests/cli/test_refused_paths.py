"""Paths that no plan may touch (exit 7), and paths that are only pointed out."""

import os

import pytest
from tests.cli.harness import World

GIT = [
    ".git",
    ".git/config",
    ".GIT/x",
    ".Git/hooks/pre-commit",
    "sub/.git/hooks/x",
    "sub/.gIt",
    "a/b/.git/c/d",
    ".g\u200cit/config",
    "\ufeff.git/config",
    ".git\u200d/config",
]
OURS = [
    ".opencode",
    ".opencode/assent",
    ".opencode/assent/x",
    ".opencode/ASSENT/plans/y",
    ".OpenCode/assent/x",
    ".opencode/plans/x",
    ".opencode/plans/tests/PLAN_work.md",
    ".opencode/Plans/tests/PLAN_work.md",
]
OUTSIDE = [
    "..",
    "../x",
    "sub/../../x",
    "/etc/passwd",
    "/",
    ".",
    "sub/..",
    "up/x",
    "up/../x",
    "away/x",
    "deep/inner/x",
    "loop/x",
    "loop/../../x",
    "./../project2/x",
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A workspace with symlinked folders that lead outside, and a file of the person's there."""
    world = World(tmp_path_factory.mktemp("guarded"))
    (world.base / "x").write_bytes(b"outside\n")
    (world.base / "project2").mkdir()
    world.put("mine", b"mine\n")
    world.put("sub/mine", b"mine\n")
    world.link("up", "..")
    world.link("away", str(world.base))
    world.link("deep/inner", "../up")
    world.link("loop", "loop")
    world.put(".git/config", b"[core]\n")
    world.plan()
    return world


def lines(path: str) -> list[tuple[str, ...]]:
    return [
        ("write", "--from", "-", "--", path),
        ("write", "--link-to", "mine", "--", path),
        ("edit", "--find", "outside", "--put", "inside", "--", path),
        ("delete", "--", path),
        ("move", "--", path, "there"),
        ("move", "--", "mine", path),
    ]


@pytest.mark.parametrize("path", [*GIT, *OURS, *OUTSIDE], ids=ascii)
def test_refused(guarded: World, path: str) -> None:
    before = guarded.files(), guarded.ok("stage", "list")
    for line in lines(path):
        assert guarded.no(7, "stage", *line)["error"] == "refused", line
    assert (guarded.files(), guarded.ok("stage", "list")) == before


def test_the_kind_of_refusal_is_said(guarded: World) -> None:
    for path, words in (
        (".git/config", "belongs to Git"),
        (".opencode/assent/x", "belongs to Assent"),
        (".opencode/plans/x", "is in the plan folder"),
        ("../x", "outside the workspace"),
        ("up/x", "outside the workspace"),
    ):
        assert words in guarded.no(7, "stage", "delete", path)["message"]


def test_a_whole_folder_with_git_in_it_is_refused(guarded: World) -> None:
    guarded.put("vendored/.git/config", b"x")
    guarded.put("vendored/a.txt", b"a")
    for line in (("delete", "vendored"), ("move", "vendored", "elsewhere")):
        assert guarded.no(7, "stage", *line)["error"] == "refused"


def test_a_symlinked_folder_inside_is_followed_to_the_real_one(world: World) -> None:
    world.put("real/a.txt", b"a\n")
    world.link("alias", "real")
    world.link("real/self", "../real")
    world.plan()
    world.write("alias/b.txt", b"b\n")
    edited = world.ok("stage", "edit", "real/self/self/a.txt", "--find", "a", "--put", "A")
    assert edited["operation"]["path"] == "real/a.txt"
    assert [row["path"] for row in world.ok("stage", "list")["operations"]] == [
        "real/b.txt",
        "real/a.txt",
    ]
    world.build()
    assert world.files()[b"real/a.txt"] == ("file", 0o644, b"A\n")
    assert world.files()[b"real/b.txt"] == ("file", 0o644, b"b\n")


def test_a_symlink_into_git_does_not_help(world: World) -> None:
    world.put(".git/config", b"[core]\n")
    world.link("innocent", ".git")
    world.link("plans", ".opencode/plans")
    world.plan()
    for path in ("innocent/config", "innocent/hooks/x", "plans/tests/PLAN_work.md"):
        assert world.no(7, "stage", "write", path, "--from", "-")["error"] == "refused"


def test_a_parent_that_becomes_a_symlink_after_approval_is_not_followed(world: World) -> None:
    outside = world.base / "outside"
    outside.mkdir()
    (outside / "a.txt").write_bytes(b"a\n")
    world.put("folder/a.txt", b"a\n")
    world.plan()
    world.write("folder/a.txt", b"changed\n")
    world.approve()
    os.rename(world.at("folder"), world.at("kept"))
    world.link("folder", str(outside))
    assert world.no(5, "build")["error"] == "drift"
    assert (outside / "a.txt").read_bytes() == b"a\n"


@pytest.mark.parametrize("pointer", ["file", "symlink"])
def test_gits_own_folder_is_refused_whatever_its_name(world: World, pointer: str) -> None:
    world.git("init", "-q", "--separate-git-dir", "meta", ".")
    if pointer == "symlink":
        os.unlink(world.at(".git"))
        world.link(".git", "meta")
    world.plan()
    for path in ("meta/config", "meta/hooks/pre-commit", ".git/hooks/post-checkout"):
        refused = world.no(7, "stage", "write", "--from", "-", path, stdin=b"x\n")
        named = pointer == "file" and path.startswith(".git/")  # a symlink is followed first
        words = "belongs to Git;" if named else "in meta, which is or would become a Git directory."
        assert words in refused["message"], path


def test_no_pipe_or_socket(world: World) -> None:
    os.mkfifo(world.at("fifo"))
    world.plan()
    for line in (("write", "fifo", "--from", "-"), ("delete", "fifo"), ("move", "fifo", "x")):
        refused = world.no(7, "stage", *line)
        assert "a pipe" in refused["message"]


@pytest.mark.parametrize(
    "path",
    [
        ".opencode/assent.toml",
        ".opencode/agents/other.md",
        ".github/workflows/ci.yml",
        ".vscode/tasks.json",
        "AGENTS.md",
        ".env",
        ".husky/pre-commit",
        "deploy.pem",
        "sub/.Env.Local",
    ],
)
def test_protected_paths_are_pointed_out_and_not_refused(world: World, path: str) -> None:
    world.plan()
    world.write(path, b"x\n")
    world.propose()
    (operation,) = world.ok("review")["operations"]
    assert "protected" in operation["risks"]
    assert world.ok("stage", "list")["operations"][0]["path"] == path


def test_f69_plan_text_is_written_by_name_and_nowhere_else(world: World) -> None:
    """Only `plan write` writes plan files: under plan.dir, `.md`, of limited size, no symlinks."""
    world.plan()
    for file in ("PLAN_work.md", "PLAN_other.md", "PLAN_x.sh", "../PLAN_x.md", "x"):
        path = f".opencode/plans/tests/{file}"
        assert world.no(7, "stage", "write", path, "--from", "-")["error"] == "refused"
    for name in ("../up", "x/y", "x.sh", "/etc/x", "..", "PLAN_x.md"):
        assert world.no(2, "plan", "new", name)["error"] == "usage"
        assert world.no(2, "plan", "new", "x", "--session", name)["error"] == "usage"
    assert world.no(1, "plan", "write", "-", stdin=b"x" * ((1 << 20) + 1))["error"] == "bad_plan"
    text = world.text()
    before = text.read_bytes()
    target = world.base / "target.md"
    target.write_bytes(before)
    text.unlink()
    text.symlink_to(target)
    assert world.no(7, "plan", "write", "-", stdin=b"# Through a link\n")["error"] == "refused"
    assert target.read_bytes() == before


def test_f69_a_session_folder_that_leads_outside_is_refused(world: World) -> None:
    world.ok("init")
    outside = world.base / "outside"
    outside.mkdir()
    world.link(".opencode/plans/away", str(outside))
    assert world.no(7, "plan", "new", "x", "--session", "away")["error"] == "refused"
    assert list(outside.iterdir()) == []
