"""Bad input of every kind: a refusal in words, never a traceback, and nothing changed."""

import os
import shutil

import pytest
from tests.cli.harness import PROGRAM, World
from tests.support import forked_python

HIGH = os.fsdecode(b"\xff\xfe")  # bytes that are no UTF-8, as the shell hands them over
HUGE = "x" * 100_000

# Every line is tried on a fresh plan with one staged file; the code is what it must exit with.
LINES: list[tuple[int, tuple[str, ...]]] = [
    (2, ("nonsense",)),
    (2, (HIGH,)),
    (2, (HUGE,)),
    (2, ("plan",)),
    (2, ("plan", "nonsense")),
    (2, ("--nonsense",)),
    (2, ("status", "--nonsense")),
    (2, ("status", "extra")),
    (2, ("status", "-C")),
    (2, ("status", "-C", "missing")),
    (2, ("status", "-C", HIGH)),
    (2, ("status", "-C", "/etc/passwd")),
    (2, ("log", "--after", "soon")),
    (2, ("log", "--after", "-1")),
    (2, ("log", "--after", "9" * 30)),
    (2, ("plan", "new")),
    (2, ("plan", "new", "")),
    (2, ("plan", "new", "Big")),
    (2, ("plan", "new", "../up")),
    (2, ("plan", "new", HIGH)),
    (2, ("plan", "new", HUGE)),
    (2, ("plan", "new", "x", "--session", "Not Kebab")),
    (2, ("plan", "new", "x", "--session", "../up")),
    (2, ("plan", "new", "x", "--session", HUGE)),
    (1, ("plan", "new", "work", "--session", "tests")),
    (1, ("plan", "write", "missing.md")),
    (1, ("plan", "write", ".")),
    (1, ("plan", "write", HIGH)),
    (1, ("plan", "use", "nobody")),
    (1, ("plan", "use", HIGH)),
    (2, ("plan", "use")),
    (1, ("plan", "show", "--plan", HIGH)),
    (1, ("plan", "show", "--plan", HUGE)),
    (2, ("plan", "history", "--diff", "1")),
    (2, ("plan", "history", "--diff", "1", "99")),
    (2, ("plan", "history", "--diff", "one", "two")),
    (2, ("plan", "delete")),
    (2, ("plan", "delete", "--plan", "work", "--session", "tests")),
    (1, ("plan", "delete", "--session", HIGH)),
    (2, ("stage",)),
    (2, ("stage", "write", "x")),
    (2, ("stage", "write", "", "--from", "-")),
    (7, ("stage", "write", ".", "--from", "-")),
    (1, ("stage", "write", "x", "--from", "missing")),
    (1, ("stage", "write", "x", "--from", ".")),
    (1, ("stage", "write", "x", "--from", HIGH)),
    (1, ("stage", "write", "x", "--from", "/proc/self/mem")),
    (1, ("stage", "write", HUGE, "--from", "-")),
    (2, ("stage", "write", "x", "--from", "-", "--link-to", "y")),
    (2, ("stage", "write", "x", "--link-to", "")),
    (2, ("stage", "write", "missing", "--mode", "755")),
    *[
        (2, ("stage", "write", "a.txt", "--mode", mode))
        for mode in ("", "9", "rwx", "-1", "77777", " 755", "7_5", "0x1", HIGH, "٧٥٥")
    ],
    (2, ("stage", "edit", "a.txt", "--find", "", "--put", "b")),
    (2, ("stage", "edit", "a.txt", "--find", "a")),
    (1, ("stage", "edit", "a.txt", "--find", "nowhere", "--put", "b")),
    (1, ("stage", "edit", "a.txt", "--find", HUGE, "--put", HUGE)),
    (1, ("stage", "edit", "missing", "--find", "a", "--put", "b")),
    (1, ("stage", "delete", "missing")),
    (1, ("stage", "move", "missing", "there")),
    (2, ("stage", "move", "a.txt")),
    (2, ("stage", "move", "a.txt", "")),
    (1, ("stage", "remove", "")),
    (1, ("stage", "remove", HIGH)),
    (1, ("stage", "remove", "zz")),
    (2, ("reject",)),
    (1, ("reject", "--note", HIGH)),
    (1, ("approve", "--digest", HIGH)),
    (3, ("build",)),
    (1, ("build", "--plan", "nobody")),
    (1, ("undo",)),
    (1, ("undo", "nobody")),
    (1, ("undo", HIGH)),
    (2, ("undo", "--dry-run", "--digest", "0" * 64)),
]


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("bad"))
    world.plan()
    world.write("a.txt", b"a\n")
    return world


@pytest.mark.parametrize(("code", "line"), LINES, ids=lambda value: ascii(value)[:40])
def test_refused_in_words(drafted: World, code: int, line: tuple[str, ...]) -> None:
    before = drafted.ok("stage", "list"), drafted.ok("plan", "list"), drafted.files()
    refused = drafted.no(code, *line)
    assert refused["message"]
    text = drafted.run(*line)
    assert (text.code, text.out) == (code, b"")
    assert text.err.startswith(b"assent: ")
    assert b"Traceback" not in text.err
    after = drafted.ok("stage", "list"), drafted.ok("plan", "list"), drafted.files()
    assert after == before


def test_words_that_are_no_utf8_are_kept_visible(world: World) -> None:
    world.ok("plan", "new", "work", "--goal", f"Say {HIGH}")
    assert "Say \\xff\\xfe" in world.text().read_text(encoding="utf-8")
    world.write("a", b"a\n")
    digest = world.propose()
    world.ok("approve", "--digest", digest, "--note", HIGH)
    world.ok("reject", "--note", HIGH)
    bodies = [event["body"] for event in world.ok("log")["events"]]
    notes = [body["note"] for body in bodies if "note" in body]
    assert notes == ["\\xff\\xfe"]


def test_a_huge_goal_becomes_text(world: World) -> None:
    world.ok("plan", "new", "work", "--goal", HUGE)
    assert HUGE in world.text().read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text", [b"\0\1\2\xff", b"\xff" * 1000, b"\x1b]0;x\x07", b"---\n\xff: [\n---\n"], ids=repr
)
def test_binary_on_stdin_as_plan_text(world: World, text: bytes) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=text)
    assert world.text().read_bytes() == text
    world.propose()
    for line in (["review"], ["diff"], ["diff", "--live"], ["plan", "show"], ["status"]):
        assert world.run(*line).code == 0
        world.ok(*line)


@pytest.mark.parametrize("text", [b"", b" \n\t\n"], ids=["empty", "blank"])
def test_an_empty_plan_cannot_be_proposed(world: World, text: bytes) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=text)
    assert world.no(1, "propose")["error"] == "bad_plan"


def test_a_plan_that_nobody_could_read_is_refused(world: World) -> None:
    world.plan()
    before = world.text().read_bytes()
    assert world.no(1, "plan", "write", "-", stdin=b"x" * (1 << 21))["error"] == "bad_plan"
    endless = world.process("plan", "write", "/dev/zero", "--json")
    assert (endless.code, endless.error["error"]) == (7, "refused")
    assert world.text().read_bytes() == before


@pytest.mark.parametrize(
    "matter",
    [
        "scope: [",
        "scope: nonsense",
        "scope: {other: [x]}",
        "relies_on: x",
        "relies_on:\n  x",
        "scope: {files: ['a}",
        "scope: {}\nscope: {}",
    ],
)
def test_front_matter_that_cannot_be_read_is_refused(world: World, matter: str) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=f"---\n{matter}\n---\n# X\n".encode())
    assert world.no(1, "propose")["error"] == "bad_plan"
    assert matter in str(world.ok("review")["text"])  # while drafting it can still be read
    assert world.ok("plan", "show")["state"] == "DRAFTING"


@pytest.mark.parametrize("config", ["[plan", "plan = 1", "[plan]\nother = 1", "[plan]\ndir = 7"])
def test_a_broken_configuration_is_a_usage_error(world: World, config: str) -> None:
    world.config.write_text(config, encoding="utf-8")
    refused = world.no(2, "status")
    assert str(world.config) in refused["message"]


def test_a_closed_stdin_is_said(world: World) -> None:
    world.plan()
    line = f"exec '{PROGRAM[0]}' -c '{PROGRAM[2]}' stage write x --from - --json <&-"
    answer = world.start(["sh", "-c", line])
    assert (answer.code, answer.error["error"]) == (2, "usage")


def test_a_terminal_that_knows_only_ascii(world: World) -> None:
    world.plan()
    world.write("ä.txt", "ä\n".encode())
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    answer = world.process("review", env=ascii_only)
    assert answer.code == 0
    assert b"1. create \\xe4.txt (reversible)" in answer.out
    assert world.process("review", "--json", env=ascii_only).json == world.ok("review")


def test_an_unreadable_file_is_said(world: World) -> None:
    world.plan()
    unreadable = "/proc/self/mem"  # opens for anybody, root too, and fails to read from its start
    assert world.no(1, "stage", "write", "x", "--from", unreadable)["message"]
    assert world.ok("stage", "list")["operations"] == []


@pytest.mark.parametrize("damage", [b"", b"garbage" * 1000], ids=["emptied", "overwritten"])
def test_a_damaged_log_is_said(world: World, damage: bytes) -> None:
    world.plan()
    for path in (world.state / "assent").glob("log.db*"):
        path.write_bytes(damage)
    for line in (["status"], ["plan", "list"], ["plan", "new", "other"], ["build"], ["log"]):
        answer = world.process(*line, "--json")
        assert b"Traceback" not in answer.err
        if answer.code:
            assert answer.error["error"] in ("store", "not_found"), answer
    assert world.files() == {}


def test_the_copies_in_the_workspace_can_be_damaged_or_gone(world: World) -> None:
    made = world.plan()
    state = world.root / ".opencode/assent"
    for path in [path for path in state.rglob("*") if path.is_file()]:
        path.write_bytes(b"\0garbage")
    assert world.ok("plan", "show") == made
    shutil.rmtree(state)
    assert world.ok("plan", "show") == made
    world.write("a.txt", b"a\n")
    assert world.build()["outcome"] == "done"


def test_a_home_that_is_no_folder_is_said(world: World) -> None:
    world.on_a_fresh_machine().state.write_bytes(b"")
    done = forked_python.run(
        [*PROGRAM, "plan", "new", "x"],
        cwd=world.root,
        env=world.env,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"assent: ")
    assert b"Traceback" not in done.stderr


def test_what_was_typed_is_not_echoed_without_end(world: World) -> None:
    for line in (
        ("plan", "show", "x" * 90_000),
        ("-r", "x" * 90_000, "-p", "Hello"),
        ("y" * 90_000,),
    ):
        answer = world.run(*line)
        assert answer.code in (1, 2)
        assert len(answer.err) < 10_000, line[0]
        assert b" more)" in answer.err
