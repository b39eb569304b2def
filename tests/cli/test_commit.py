"""F143, by the command line: a plan ends with a commit of its files, and undo leaves history."""

from pathlib import Path

import pytest
from tests.cli.harness import PROGRAM, TRUSTING, World
from tests.sandbox.profiles import needs_bubblewrap

from assent.config.loader import user_only_remark

pytestmark = needs_bubblewrap

COMMITTING = f"{TRUSTING}[plan]\ncommit = true\n"
IDENTITY = "[user]\n\tname = Ada\n\temail = ada@example.org\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, COMMITTING)
    (tmp_path / "home/.gitconfig").write_text(IDENTITY, encoding="utf-8")
    world.git("init", "--quiet", "--initial-branch=main")
    world.put("a.txt", b"a\n")
    world.put("mine.txt", b"mine\n")
    world.put(".gitignore", b"*.log\n.opencode/\n")
    world.git("add", "--all")
    world.git("commit", "--quiet", "--message=First")
    return world


def test_f143_what_files_and_commands_changed_is_committed_and_nothing_else(world: World) -> None:
    world.put("mine.txt", b"dirty\n")
    world.put("staged.txt", b"staged\n")
    world.git("add", "staged.txt")
    world.plan("say-hello")
    world.write("hello.txt", b"hello\n")
    world.ok("stage", "run", "--script", "echo b > a.txt; echo x > x.log; echo n > new.txt")
    digest = world.approve()
    built = world.ok("build")
    assert [op["result"] for op in built["operations"]] == ["done"] * 3
    assert world.git("show", "--format=%an%n%B", "--no-patch").decode() == (
        f"Ada\nSay hello\n\nAssent-Plan: {digest}\n\n"
    )
    names = world.git("show", "--format=", "--name-only").decode().split()
    assert names == ["a.txt", "hello.txt", "new.txt"]
    assert world.git("status", "--porcelain") == b" M mine.txt\nA  staged.txt\n"
    head = world.git("rev-parse", "HEAD")
    answer = world.undo()
    assert (answer.code, world.git("rev-parse", "HEAD")) == (0, head)
    assert world.files()[b"a.txt"][2] == b"a\n"
    assert (world.root / "mine.txt").read_bytes() == b"dirty\n"
    assert not (world.root / "hello.txt").exists()
    status = world.git("status", "--porcelain").decode().splitlines()
    assert sorted(status) == [
        " D hello.txt", " D new.txt", " M a.txt", " M mine.txt", "A  staged.txt",
    ]  # fmt: skip


def test_f143_the_commit_is_an_operation_of_the_review_and_never_staged(world: World) -> None:
    world.plan()
    world.write("hello.txt", b"hello\n")
    world.propose()
    world.propose()
    kinds = [op["kind"] for op in world.ok("review")["operations"]]
    assert kinds == ["write", "run"]
    assert len(world.ok("stage", "list")["operations"]) == 1


def test_f143_a_plan_that_does_nothing_and_a_folder_without_git_get_no_commit(
    tmp_path: Path, world: World
) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=b"# Look around\n\nNothing changes.\n")
    world.propose()
    assert world.ok("review")["operations"] == []
    bare = World(tmp_path / "bare", COMMITTING)
    bare.plan()
    bare.write("a", b"a")
    assert [op["result"] for op in bare.build()["operations"]] == ["done"]


def test_f143_a_project_cannot_switch_it_on(world: World) -> None:
    world.config.write_text(TRUSTING, encoding="utf-8")
    world.put(".opencode/assent.toml", b"[plan]\ncommit = true\n")
    world.plan()
    world.write("hello.txt", b"hello\n")
    world.approve()
    answer = world.run("build", "--json")
    assert [op["result"] for op in answer.json["operations"]] == ["done"]
    assert f"{user_only_remark('plan.commit')} it is ignored.".encode() in answer.err


def test_f143_in_the_middle_of_a_merge_nothing_begins(world: World) -> None:
    world.git("checkout", "--quiet", "-b", "side")
    world.git("commit", "--quiet", "--allow-empty", "--message=Side")
    world.git("checkout", "--quiet", "main")
    world.git("merge", "--quiet", "--no-ff", "--no-commit", "side")
    world.plan()
    world.write("hello.txt", b"hello\n")
    world.approve()
    refused = world.no(7, "build")
    assert refused["message"].startswith("The repository is in the middle of a merge")
    assert refused["next"] == "git status"
    assert not (world.root / "hello.txt").exists()
    assert world.ok("status")["plan"]["approved"] is True


def test_a_build_without_commands_loads_no_sandbox(world: World) -> None:
    world.config.write_text(TRUSTING, encoding="utf-8")
    world.plan()
    world.write("hello.txt", b"hello\n")
    world.approve()
    loaded = "print(*[name for name in sys.modules if name.startswith('assent.sandbox')])"
    code = f"import sys; from assent.cli.entry import run; run(['build']); {loaded}"
    answer = world.start([PROGRAM[0], "-c", code])
    assert (answer.code, answer.out.splitlines()[-1]) == (0, b""), answer


def test_f143_a_command_does_not_bring_the_persons_lines_into_the_commit(world: World) -> None:
    world.put("a.txt", b"a\nmy unfinished work\n")
    world.plan()
    world.ok("stage", "run", "--script", "echo formatted >> a.txt")
    world.approve()
    answer = world.run("build", "--json")
    assert (answer.code, [op["result"] for op in answer.json["operations"]]) == (
        6, ["done", "failed"],
    )  # fmt: skip
    assert any(
        "your own uncommitted changes from before the run" in note for note in answer.json["notes"]
    )
    assert world.git("rev-list", "--count", "HEAD") == b"1\n"
    assert world.git("diff", "--cached") == b""


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_f143_a_plan_does_not_begin_on_a_file_that_git_does_not_look_at(
    world: World, flag: str
) -> None:
    world.git("update-index", flag, "a.txt")
    world.put("a.txt", b"local\n")
    world.put("notes.txt", b"private\n")
    world.plan()
    world.write("a.txt", b"local\nplan\n")
    world.write("notes.txt", b"private\nplan\n")
    world.approve()
    assert "you have uncommitted changes in a.txt, notes.txt." in world.no(7, "build")["message"]
    assert world.files()[b"a.txt"][2] == b"local\n"
