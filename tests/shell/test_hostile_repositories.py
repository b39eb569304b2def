"""Looking at a hostile repository runs nothing that gets out: each plant goes off in bash, and in
the shell of planning it reaches no file outside or inside, and no listener."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.shell.desk import CANARY, Desk, Ran, bash
from tests.shell.lists import CORPUS, filled, listed
from tests.shell.plants import PLANTS, Plant, ground
from tests.shell.scratch import SECRET
from tests.shell.watching import Leaks, Listener, Watch

REFUSED = 7
SECRETS = listed(CORPUS / "secrets.txt")
LOOKS = (
    "git status",
    "git status --short && git diff --stat",
    "git diff",
    "git diff HEAD~1",
    "git log -p -2",
    "git log --oneline --all",
    "git show v1.1",
    "git blame README.md",
    "git grep TODO",
    "git ls-files -m",
    "git stash show -p",
    "git describe --always",
    "git branch -vv",
    "rg -n TODO",
    "ls -la | cat",
    "find . -name '*.md' | sort",
)
BARE_LOOKS = (
    "rg -n TODO src",
    "ls -la | cat",
    "cat README.md | sort | head -3",
    "find src -name '*.py'",
    "grep -rn TODO src",
    "tree src",
    "wc -l data/*",
    "diff data/old.txt data/new.txt",
    "cd trap && ls *",
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Desk:
    """A workspace with symlinks that lead out of it, and to a secret in it."""
    desk = Desk(tmp_path_factory.mktemp("links") / "desk", state)
    (desk.root / "way-out").symlink_to(desk.home / "canary.txt")
    (desk.root / "far").symlink_to(desk.home)
    (desk.root / "secret-link").symlink_to("deploy/.env")
    (desk.root / "links").mkdir()
    (desk.root / "links" / "deploy").symlink_to("../deploy")
    return desk


@pytest.mark.parametrize("name", PLANTS)
def test_f14_what_a_repository_plants_does_not_get_out(
    name: str, tmp_path: Path, state: Path
) -> None:
    with Listener() as listener:
        desk, watch = _planted(name, tmp_path, state, listener)
        ran = {line: desk.run(line).code for line in LOOKS}
        assert [line for line, code in ran.items() if code == REFUSED] == []
        desk.run(PLANTS[name].trigger)
        desk.run("git st")
        assert watch.deep_leaks() == Leaks()


@pytest.mark.parametrize("name", PLANTS)
def test_f14_nor_does_it_without_a_sandbox(name: str, tmp_path: Path, state: Path) -> None:
    with Listener() as listener:
        desk, watch = _planted(name, tmp_path, state, listener)
        ran = {line: desk.run_without_sandbox(line).code for line in BARE_LOOKS}
        assert [line for line, code in ran.items() if code == REFUSED] == []
        for line in (*LOOKS, PLANTS[name].trigger):
            desk.run_without_sandbox(line)
        assert watch.deep_leaks() == Leaks()


@pytest.mark.parametrize("name", PLANTS)
def test_every_plant_goes_off_in_bash(name: str, tmp_path: Path) -> None:
    plant, root, home = PLANTS[name], tmp_path / "project", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    with Listener() as listener:
        plant.sow(ground(root, home, listener.port))
        watch = Watch((root, home), listener)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
        ran = bash(plant.trigger, root, {**env, **_environment(plant, root)})
        index = str(root / ".git" / "index")
        inside = (str(root), str(root / ".git"), index)  # git itself renews its index
        assert [path for path in watch.leaks().changed if path not in inside] != [], ran


def test_secrets_and_what_lies_outside_are_not_read(desk: Desk) -> None:
    assert _told(desk, desk.run) == []


def test_nor_are_they_without_a_sandbox(desk: Desk) -> None:
    assert _told(desk, desk.run_without_sandbox) == []


def test_bash_reads_them(desk: Desk) -> None:
    told = _told(desk, lambda line: bash(line, desk.root, desk.world.env))
    assert len(told) > len(SECRETS) / 2


def _told(desk: Desk, run: Callable[[str], Ran]) -> list[str]:
    lines = filled(SECRETS, home=str(desk.home))
    said = {line: "".join(run(line)[1:]) for line in lines}
    return [line for line, text in said.items() if CANARY in text or SECRET in text]


def _planted(name: str, base: Path, state: Path, listener: Listener) -> tuple[Desk, Watch]:
    plant, desk = PLANTS[name], Desk(base / "desk", state, empty=True)
    plant.sow(ground(desk.root, desk.home, listener.port))
    desk.world.env.update(_environment(plant, desk.root))
    return desk, Watch((desk.root, desk.home), listener)


def _environment(plant: Plant, root: Path) -> dict[str, str]:
    return {name: value.replace("{root}", str(root)) for name, value in plant.env.items()}
