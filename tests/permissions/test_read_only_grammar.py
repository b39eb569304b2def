"""Stdin, subshells, variables and letters of read-only lines, at gate and shell (F79)."""

import os
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.shell.lists import every

from assent.core.permission.rule import PermissionPolicy
from assent.core.tool import Action, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import classify_read_only, files_read_by
from assent.permissions.gate import RuleGate

ROOT, HOME = "/srv/app", "/home/ada"
GATE = RuleGate(
    PermissionPolicy((), ROOT, HOME),
    lambda line: classify_command_line(line, root=ROOT, home=HOME),
    files_read_by,
)

READS = {
    "wc -l < a": ("a",),
    "sort b < a": ("b", "a"),
    "cd src && wc -l < a": ("src/a",),
    "cd src && wc -l < ../../a": ("../a",),
    "(cd src; cat a); cat a": ("src/a", "a"),
    "(cd src; (cd app; cat < a)) | cat b; cat c": ("src/app/a", "b", "c"),
    "cat $PWD/a": ("a",),
    'cd src && cat "$PWD"/a': ("src/a",),
    'cat "$PWD/../a"': ("../a",),
    "cat $HOME/a": ("~/a",),
    "cd src && cat < $HOME/a": ("~/a",),
    'cd $HOME && cat a; cat "$HOME"': ("~", "~/a", "~"),
    "cd src && cat '~/a'": ("src/~/a",),
    "git -C sub log < a": ("a", "."),
    "cat über": ("über",),
    "cat u\u0308ber": ("u\u0308ber",),
    "echo $HOME $PWD": (),
    "grep -r x < a": ("a", "."),
}


@pytest.mark.parametrize("line", READS)
def test_f79_what_is_read_is_named_as_for_cat(line: str) -> None:
    assert files_read_by(line) == READS[line]


# Each with the plain line that means the same.
ALIKE = {
    "cat < /etc/hosts.allow": "cat /etc/hosts.allow",
    "cat < ../x": "cat ../x",
    "cat $HOME/x": "cat /home/ada/x",
    "cat < $HOME/x": "cat /home/ada/x",
    'ls "$HOME"': "ls /home/ada",
    "cd $HOME && ls": "cd /home/ada && ls",
    '(cd "$HOME"; ls)': "cd /home/ada; ls",
    '(cat "$PWD/../x")': "cat ../x",
    "(cat < ../x) | wc -l": "cat ../x | wc -l",
    "cat < .env": "cat .env",
    "(cat .env)": "cat .env",
    "cat $PWD/.env": "cat .env",
    "cd a && cat < .env": "cd a && cat .env",
    "sort < .ssh/id_rsa": "sort .ssh/id_rsa",
    'sort < "$HOME/.ssh/id_rsa"': "sort /home/ada/.ssh/id_rsa",
    "(cat < a) | wc -l": "cat a | wc -l",
    "cat < $PWD/a": "cat a",
}


@pytest.mark.parametrize("line", ALIKE)
def test_f79_a_look_outside_or_at_a_secret_is_judged_as_for_cat(line: str) -> None:
    assert classify_read_only(line).read_only
    for mode in ("plan", "auto-edit", "yolo"):
        verdicts = [
            GATE.decide([ResourceAccess(Action.SHELL, each)], PermissionContext(mode)).verdict
            for each in (line, ALIKE[line])
        ]
        assert verdicts[0] is verdicts[1], mode
    harmless = line in ("(cat < a) | wc -l", "cat < $PWD/a")
    assert (verdicts[0] is Verdict.RUN) == harmless or "id_rsa" in line or ".env" in line


def test_f79_one_parse_for_gate_and_shell() -> None:
    """What the gate takes for reading is what the shell runs, and the other way round."""
    for line in (*every("runs"), *every("refused")):
        reads = classify_command_line(line, root=ROOT, home=HOME).reads
        assert (reads is not None) == classify_read_only(line).read_only, line


def test_f79_deep_and_long_lines_are_refused_at_once() -> None:
    for line in ("( " * 5000, "( " * 11 + "ls" + " )" * 11, "(ls);" * 60, "<" * 9000, "(" * 9000):
        assert not classify_read_only(line).read_only, line[:20]
    assert classify_read_only("( " * 10 + "ls" + " )" * 10).read_only


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def shell(world: World, line: str) -> tuple[int, str, str]:
    answer = world.run("shell", "run", "--json", "--", line)
    if not answer.out:
        return answer.code, "", answer.error["message"]
    return answer.code, answer.json["stdout"], answer.json["stderr"]


def test_f14_special_files_are_no_stdin(world: World) -> None:
    os.mkfifo(world.root / "pipe")
    (world.root / "null").symlink_to("/dev/null")
    (world.root / "zero").symlink_to("/dev/zero")
    (world.root / "mem").symlink_to("/proc/self/environ")
    for name in ("pipe", "zero"):
        code, out, told = shell(world, f"head -c 1 < {name}")
        assert (code, out) == (7, ""), name
        assert "not a file" in told
    assert shell(world, "cat < null")[:2] == (0, "")
    assert shell(world, "(cd . && cat < pipe)")[:2] == (7, "")
    assert "PATH" not in shell(world, "cat < mem")[1]


@pytest.mark.parametrize("name", ["-x", "a b", "$(id)", "'", "a;b", "<", "&1", "0", "\u202ex"])
def test_f14_the_name_of_a_file_is_never_code(name: str, world: World) -> None:
    (world.root / name).write_text("content\n", "utf-8")
    quoted = "'" + name.replace("'", "'\"'\"'") + "'"
    seen = shell(world, f"cat < {quoted}")
    assert seen[:2] == ((7, "") if "\u202e" in name else (0, "content\n"))


def test_f79_the_value_of_pwd_is_one_word_or_none(tmp_path: Path) -> None:
    world = World(tmp_path)
    odd = world.root / "a b*"
    odd.mkdir()
    (odd / "c").write_text("c\n", "utf-8")
    assert shell(world, "cd 'a b*' && cat \"$PWD/c\"")[:2] == (0, "c\n")
    code, out, told = shell(world, "cd 'a b*' && cat $PWD/c")
    assert (code != 0, out) == (True, "")
    assert "double quotes" in told


def test_f79_cd_follows_the_path_as_it_was_entered(world: World) -> None:
    (world.root / "deep/er").mkdir(parents=True)
    (world.root / "link").symlink_to("deep/er")
    (world.root / "here").write_text("here\n", "utf-8")
    assert shell(world, "cd link && cd .. && cat here")[:2] == (0, "here\n")
    assert shell(world, "cd link && echo $PWD")[1].endswith("/link\n")


def test_f79_home_is_the_user_s_path_with_nothing_of_theirs(world: World) -> None:
    home = Path(world.env["HOME"])
    (home / "canary.txt").write_text("x\n", "utf-8")
    assert shell(world, "echo $HOME")[1] == f"{home}\n"
    code, out, _ = shell(world, "cat < $HOME/canary.txt")
    assert (code, out) == (1, "")
