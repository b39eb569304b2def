"""`assent scratch` and `assent shell run --scratch` from outside."""

import os

from tests.cli.harness import PROGRAM, World, _environment, unsandboxed
from tests.sandbox.profiles import needs_bubblewrap

from assent.app.ports import folder_name
from assent.app.scratch import open_scratch
from assent.core.scratch import unread_text
from assent.render.scratch import NO_CHANGES
from assent.sandbox.selftest.checker import KERNEL_RESTRICTIONS
from assent.sandbox.status import install_command

pytestmark = needs_bubblewrap


# Nothing below can have a namespace of its own: as on a system that forbids them.
NO_NAMESPACES = (
    "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh", *PROGRAM,
)  # fmt: skip


def real_files(world: World) -> dict[str, bytes]:
    return {
        str(p.relative_to(world.root)): p.read_bytes() for p in world.root.rglob("*") if p.is_file()
    }


def test_a_line_runs_in_a_copy_and_changes_nothing(world: World) -> None:
    world.put("a.txt", b"a\n")
    before = real_files(world)
    answer = world.process("shell", "run", "--scratch", "echo b >> a.txt; echo new > n; cat a.txt")
    text = answer.out.decode()
    assert answer.code == 0
    assert text.startswith("a\nb\n")
    assert text.endswith("Nothing in the workspace was changed.\n")
    assert [" ".join(line.split()) for line in text.splitlines()[3:5]] == [
        "replaced a.txt",
        "created n",
    ]
    assert real_files(world) == before


def test_json_has_the_output_and_the_changes(world: World) -> None:
    world.put("a.txt", b"a\n")
    answer = world.process("shell", "run", "--scratch", "--json", "rm a.txt; echo said; exit 3")
    assert (answer.code, answer.json["exit_code"], answer.json["stdout"]) == (3, 3, "said\n")
    found = answer.json["scratch"]
    assert [(one["path"], one["kind"]) for one in found["changes"]] == [("a.txt", "deleted")]
    assert found["backend"] in ("overlay", "copy")
    assert (found["conflicts"], found["joined"], found["complete"]) == ([], False, True)


def test_the_draft_of_the_current_plan_is_in_the_copy(world: World) -> None:
    world.put("a.txt", b"a\n")
    world.ok("plan", "new", "one", "--goal", "Try")
    world.ok("stage", "write", "a.txt", "--from", "-", stdin=b"drafted\n")
    answer = world.process("shell", "run", "--scratch", "--json", "cat a.txt")
    assert (answer.json["stdout"], answer.json["scratch"]["changes"]) == ("drafted\n", [])
    assert (world.root / "a.txt").read_bytes() == b"a\n"


def test_copies_are_listed_shown_and_removed(world: World) -> None:
    assert world.run("scratch", "list", "--json").json == {"copies": [], "backend": None}
    world.process("shell", "run", "--scratch", "true")
    (copy,) = world.run("scratch", "list", "--json").json["copies"]
    assert (copy["name"], copy["workspace"], copy["in_use"]) == ("shell", str(world.root), False)
    shown = world.run("scratch", "show", "--json").json["backend"]
    assert shown["name"] == copy["backend"]
    assert world.run("scratch", "show", "shell", "--json").json["copy"]["name"] == "shell"
    assert world.run("status", "--json").json["scratch"]["backend"] == copy["backend"]
    assert f"Scratch copies: {copy['backend']}. ".encode() in world.run("status").out
    assert world.run("scratch", "show", "missing").code == 1
    assert world.run("scratch", "clear").code == 2
    assert world.run("scratch", "clear", "../x").code == 2
    for name in ("missing", "backend.json"):  # a file beside the copies is none of them
        refused = world.no(1, "scratch", "clear", name)
        assert (refused["error"], refused["next"]) == ("not_found", "assent scratch list")
    assert world.no(1, "scratch", "clear", "shell", "missing")["error"] == "not_found"
    assert world.run("scratch", "show", "shell").code == 0  # it removes all that are named, or none
    assert world.run("scratch", "clear", "--all", "--json").json == {"removed": ["shell"]}
    assert world.run("scratch", "list", "--json").json["copies"] == []
    place = world.state / "assent/scratch" / folder_name(os.fsencode(world.root))
    assert os.listdir(place) == ["backend.json"]


def test_limits_come_from_the_users_file_alone(world: World) -> None:
    world.config.write_text("[scratch]\nreserve_mb = 99999999\n", encoding="utf-8")
    refused = world.process("shell", "run", "--scratch", "true")
    assert refused.code == 7
    assert b"scratch.reserve_mb" in refused.err
    world.config.write_text("", encoding="utf-8")
    world.put(".opencode/assent.toml", b"[scratch]\nmax_mb = 1\n")
    assert world.process("shell", "run", "--scratch", "true").code == 0


def test_a_copy_that_gets_too_large_is_told_once(world: World) -> None:
    world.config.write_text("[scratch]\nmax_mb = 1\n", encoding="utf-8")
    write = ("shell", "run", "--scratch", "head -c 20000000 /dev/zero > big; sleep 60")
    answer = world.process(*write)
    assert answer.code != 0
    assert b"larger than scratch.max_mb allows, so the command was ended" in answer.err
    assert b"the command was stopped" not in answer.err


def test_a_variable_of_a_cache_that_is_not_passed_on_is_named(world: World) -> None:
    env = {"PIP_CACHE_DIR": "cache", "UV_CACHE_DIR": str(world.base / "uv")}
    answer = world.process("shell", "run", "--scratch", "true", env=env)
    told = "PIP_CACHE_DIR is not passed on to scratch copies: it must be an absolute path"
    assert answer.code == 0
    assert told in answer.err.decode()
    assert b"UV_CACHE_DIR" not in answer.err


def test_without_namespaces_there_is_no_copy_and_an_old_one_can_be_cleared(world: World) -> None:
    world.put("a.txt", b"a\n")
    assert world.process("shell", "run", "--scratch", "echo b > a.txt; echo > n").code == 0
    [name] = [one["name"] for one in world.ok("scratch", "list")["copies"]]
    shown = world.start([*NO_NAMESPACES, "scratch", "show", "--json"])
    assert (shown.code, shown.json["backend"]["name"]) == (0, "none"), shown.err
    assert "user namespaces" in shown.json["backend"]["reason"]
    refused = world.start([*NO_NAMESPACES, "shell", "run", "--scratch", "--json", "echo b > a.txt"])
    assert (refused.code, refused.error["error"]) == (7, "refused")
    world.plan()
    before = real_files(world)
    for words in (("stage", "result"), ("rehearse",)):
        assert world.start([*NO_NAMESPACES, *words, "--json", "--", "echo b > a.txt"]).code == 7
    assert world.start([*NO_NAMESPACES, "scratch", "clear", "--json", name]).code == 0
    assert world.ok("scratch", "list")["copies"] == []
    assert real_files(world) == before
    assert refused.error["next"] in {one.next for one in KERNEL_RESTRICTIONS if one.next}
    assert refused.error["message"].endswith(".")


def test_an_empty_command_is_a_mistake_and_nothing_runs(world: World) -> None:
    world.plan()
    for words in (("shell", "run", "--scratch"), ("stage", "result", "--"), ("rehearse", "--")):
        assert world.no(2, *words, " ")["error"] == "usage"
    assert world.ok("scratch", "list")["copies"] == []
    assert [row["kind"] for row in world.ok("log")["events"]].count("plan_rehearsed") == 0


def test_a_list_says_when_copies_were_used(world: World) -> None:
    world.process("shell", "run", "--scratch", "true")
    _, row = world.run("scratch", "list").out.decode().splitlines()
    assert row.endswith("(just now)") or " s ago)" in row


def test_copies_in_use_stay_and_the_others_are_removed(world: World) -> None:
    world.process("shell", "run", "--scratch", "true")
    with _environment(world.env):
        used = open_scratch(str(world.root)).open("busy")
    try:
        refused = world.no(1, "scratch", "clear", "busy")
        assert (refused["error"], refused["next"]) == ("busy", "assent scratch list")
        answer = world.run("scratch", "clear", "--all", "--json")
        assert (answer.code, answer.json) == (1, {"removed": ["shell"], "in_use": ["busy"]})
        assert b"In use by another process: busy." in world.run("scratch", "clear", "--all").err
        assert b"(just now)  in use" in world.run("scratch", "list").out
    finally:
        used.close()
    assert world.ok("scratch", "clear", "--all") == {"removed": ["busy"]}


def test_an_editor_that_a_command_starts_does_not_wait_for_a_terminal(repo: World) -> None:
    line = "git -c user.name=x -c user.email=x@y commit --allow-empty"
    answer = repo.process("shell", "run", "--scratch", "--json", "--seconds", "60", line)
    assert answer.json["exit_code"] == 1
    assert "empty commit message" in answer.json["stderr"]


def test_what_a_limit_keeps_from_being_read_is_not_called_no_change(world: World) -> None:
    answer = world.process("shell", "run", "--scratch", "truncate -s 1T huge")
    assert NO_CHANGES.encode() not in answer.out
    assert unread_text("size") in " ".join(answer.out.decode().split())
    world.plan()
    refused = world.no(7, "stage", "result", "--", "truncate -s 1T huge")
    assert refused["message"].startswith(unread_text("size"))
    assert world.run(*refused["next"].split()[1:]).code == 0
    failed = world.run("stage", "result", "--json", "--", "truncate -s 1T huge; false")
    assert (failed.code, failed.json["complete"], failed.json["staged"]) == (1, False, False)
    told = world.run("stage", "result", "--", "truncate -s 1T huge; false").out.decode()
    assert unread_text("size") in " ".join(told.split())
    assert "changed no files" not in told


def test_without_bubblewrap_every_command_names_what_installs_it(repo: World) -> None:
    repo.plan()
    repo.write("a.txt", b"a\n")
    for words in (
        ("shell", "run", "--json", "git log"),
        ("shell", "run", "--json", "--scratch", "true"),
        ("rehearse", "--json", "--", "true"),
        ("stage", "result", "--json", "--", "true"),
    ):
        refused = unsandboxed(repo, *words)
        assert (refused.code, refused.error["next"]) == (7, install_command("bubblewrap")), refused
