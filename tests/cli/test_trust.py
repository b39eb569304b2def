"""`assent trust`: a project's files do nothing of their own until a person read exactly them."""

import os
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.scripts import ALONE, Talker, turn
from tests.cli.terminal import Terminal
from tests.llm.server import Server, Turn, serving
from tests.llm.wire_responses import Reply

from assent.config.config_file import IN_WORKSPACE
from assent.config.loader import UNTRUSTED
from assent.config.trust_list import CHANGED_SINCE
from assent.core.digest import sha256

PROJECT = ".opencode/assent.toml"
HOOK = b"[[hooks]]\non = 'before_tool'\nrun = ['./check.sh']\n"
ALLOW = b'{"permission": {"bash": {"git push *": "allow"}}}'
COMMAND = b"Deploy it: !`make deploy`\n"
RUNS = (
    "runs ./check.sh before every tool call; ./check.sh can change later without asking you again"
)


def row(path: str, content: bytes, *does: str, trusted: bool = False) -> dict[str, object]:
    return {
        "path": path,
        "digest": sha256(content),
        "trusted": trusted,
        "changed": False,
        "does": list(does),
        "risks": len(does),
        "waits": bool(does) and not trusted,
        "broken": None,
    }


@pytest.fixture
def hooked(world: World) -> World:
    """A project that wants a program to run, and a user who is to be asked at the terminal."""
    world.config.write_text("", encoding="utf-8")
    world.put(PROJECT, HOOK)
    return world


def give(world: World, path: str = PROJECT) -> None:
    """Trusts a file as a user may who said that a full digest is enough."""
    config = world.config.read_text("utf-8")
    world.config.write_text(config + "[approve]\nwithout_terminal = true\n", encoding="utf-8")
    digest = sha256((world.root / path).read_bytes())
    world.ok("trust", "give", path, "--digest", digest)
    world.config.write_text(config, encoding="utf-8")


def logged(world: World) -> list[dict[str, object]]:
    kinds = ("trust_given", "trust_revoked")
    return [event for event in world.ok("log")["events"] if event["kind"] in kinds]


def test_everything_that_files_would_do_is_shown(hooked: World) -> None:
    hooked.put("opencode.json", ALLOW)
    hooked.put(".opencode/commands/deploy.md", COMMAND)
    says = "adds the command /deploy, which sends its text to a model"
    runs = "adds the command /deploy, which runs: make deploy"
    command = row(".opencode/commands/deploy.md", COMMAND, runs, says) | {"risks": 1}
    assert hooked.ok("trust", "show") == {
        "files": [
            row(PROJECT, HOOK, RUNS),
            row("opencode.json", ALLOW, "allows `bash: git push *` without asking"),
            command,
        ]
    }
    text = hooked.run("trust", "show").out.decode()
    assert f"{PROJECT}  not trusted, no effect\n  ! {RUNS}\n" in text
    assert f"  - {says}\n" in text
    assert text.endswith("Next: assent trust give\n")


def test_where_nothing_asks_for_trust(world: World) -> None:
    assert world.run("trust", "show").out == b"No project file needs trust.\n"
    assert world.run("trust", "give").out == b"No file is waiting for trust.\n"
    assert world.run("trust", "list").out == b"No trusted files.\n"
    assert world.run("trust", "revoke").out == b"No trusted files here.\n"
    world.put(PROJECT, b"mode = 'plan'\n[approve]\nwithout_terminal = true\n")
    assert b"needs no trust" in world.run("trust", "show").out
    assert world.run("trust", "give").out == b"No file is waiting for trust.\n"


def test_a_person_trusts_at_the_terminal_after_seeing_every_byte(hooked: World) -> None:
    hooked.put(PROJECT, HOOK + "# gpj.\u202eexe\n".encode())
    digest = sha256((hooked.root / PROJECT).read_bytes())
    terminal = Terminal(hooked, "trust", "give", "--json")
    answer = terminal.answer(digest[:8].encode() + b"\n")
    assert (answer.code, answer.json["files"][0]["trusted"]) == (0, True)
    for part in (
        b"Once trusted, it does this",
        RUNS[:40].encode(),
        b"run = ['./check.sh']",
        b"<U+202E>",
    ):
        assert part in terminal.screen
    assert digest.encode() in terminal.screen
    (event,) = logged(hooked)
    body = event["body"]
    assert isinstance(body, dict)
    assert (body["path"], body["content_hash"], body["does"]) == (PROJECT, digest, [RUNS])
    assert hooked.ok("trust", "show")["files"][0]["trusted"] is True
    (kept,) = hooked.ok("trust", "list")["trusted"]
    assert (kept["root"], kept["path"], kept["digest"]) == (str(hooked.root), PROJECT, digest)


WRONG = {"nothing": b"\n", "yes": b"yes\n", "another digest": b"00000000\n", "the end": b"\x04"}


@pytest.mark.parametrize("keys", WRONG.values(), ids=WRONG)
def test_anything_else_is_no(hooked: World, keys: bytes) -> None:
    answer = Terminal(hooked, "trust", "give", "--json").answer(keys)
    assert (answer.code, answer.error["error"]) == (4, "declined")
    assert (logged(hooked), hooked.ok("trust", "list")) == ([], {"trusted": []})


@pytest.mark.parametrize("option", [(), ("--no-input",), ("--digest", sha256(HOOK))])
def test_without_a_terminal_it_is_no(hooked: World, option: tuple[str, ...]) -> None:
    answer = hooked.process("trust", "give", PROJECT, *option, "--json")
    assert (answer.code, answer.error["error"]) == (4, "declined")
    assert answer.error["next"] == f"assent trust give {PROJECT} --digest {sha256(HOOK)}"
    assert hooked.ok("trust", "list") == {"trusted": []}


def test_a_full_digest_is_enough_where_the_user_said_so(world: World) -> None:
    world.put(PROJECT, HOOK)
    digest = sha256(HOOK)
    short = world.process("trust", "give", PROJECT, "--digest", digest[:63], "--json")
    assert short.code == 4
    other = world.no(5, "trust", "give", PROJECT, "--digest", "0" * 64)
    assert other["error"] == "other_digest"
    assert world.ok("trust", "give", PROJECT, "--digest", digest)["files"][0]["trusted"]


def test_a_project_cannot_say_that_a_digest_is_enough(hooked: World) -> None:
    hooked.put(PROJECT, HOOK + b"[approve]\nwithout_terminal = true\n")
    digest = sha256((hooked.root / PROJECT).read_bytes())
    assert hooked.process("trust", "give", PROJECT, "--digest", digest).code == 4
    give(hooked)
    hooked.plan()
    hooked.write("a.txt", b"a\n")
    assert hooked.process("approve", "--digest", hooked.propose()).code == 4


def test_a_changed_byte_is_untrusted_again_and_said(hooked: World) -> None:
    give(hooked)
    hooked.put(PROJECT, HOOK + b"\n")
    answer = hooked.run("trust", "show", "--json")
    [file] = answer.json["files"]
    assert (file["trusted"], file["changed"]) == (False, True)
    shown = hooked.run("trust", "show").out.decode()
    assert f"{PROJECT}  {CHANGED_SINCE}, no effect" in shown
    assert f"{PROJECT} {CHANGED_SINCE}".encode() in answer.err
    status = hooked.run("status")
    assert f"sets [hooks], {UNTRUSTED}".encode() in status.err
    assert CHANGED_SINCE.encode() in status.err
    hooked.put(PROJECT, HOOK)
    assert hooked.ok("trust", "show")["files"][0]["trusted"] is True


def test_what_changed_during_the_question_is_not_trusted(hooked: World) -> None:
    terminal = Terminal(hooked, "trust", "give", "--json")
    terminal.wait_for(b"to approve: ")
    hooked.put(PROJECT, HOOK.replace(b"check", b"other"))
    answer = terminal.answer(sha256(HOOK)[:8].encode() + b"\n")
    assert (answer.code, answer.json["files"][0]["digest"]) == (0, sha256(HOOK))
    assert hooked.ok("trust", "show")["files"][0]["trusted"] is False


def test_revoking_takes_it_back_and_is_recorded(hooked: World) -> None:
    give(hooked)
    assert hooked.ok("trust", "revoke") == {"files": [PROJECT]}
    assert hooked.ok("trust", "show")["files"][0]["trusted"] is False
    assert [event["kind"] for event in logged(hooked)] == ["trust_given", "trust_revoked"]
    error = hooked.no(1, "trust", "revoke", PROJECT)
    assert (error["error"], error["next"]) == ("not_found", "assent trust list")


def test_a_file_that_is_gone_can_still_be_revoked(hooked: World) -> None:
    give(hooked)
    os.unlink(hooked.at(PROJECT))
    assert hooked.ok("trust", "revoke", PROJECT) == {"files": [PROJECT]}
    assert hooked.ok("trust", "list") == {"trusted": []}


def test_files_are_named_from_where_the_person_is(hooked: World) -> None:
    error = hooked.no(1, "trust", "give", "assent.toml")
    assert error["message"] == "'assent.toml' is not a project file that can be trusted."
    hooked.ok("init")
    folder = hooked.root / ".opencode"
    answer = hooked.run("trust", "give", "assent.toml", "--json", folder=folder)
    again = f"assent trust give assent.toml --digest {sha256(HOOK)}"
    assert (answer.code, answer.error["next"]) == (4, again)


def test_a_digest_goes_with_one_file(hooked: World) -> None:
    hooked.put("opencode.json", ALLOW)
    for names in ((), (PROJECT, "opencode.json")):
        error = hooked.no(2, "trust", "give", *names, "--digest", sha256(HOOK))
        assert error["message"] == "--digest works with one file only; name the file."


def test_trust_in_one_workspace_does_not_count_in_another(hooked: World, tmp_path: Path) -> None:
    give(hooked)
    other = tmp_path / "other"
    (other / ".opencode").mkdir(parents=True)
    (other / PROJECT).write_bytes(HOOK)
    answer = hooked.run("trust", "show", "--json", folder=other)
    assert answer.json["files"] == [row(PROJECT, HOOK, RUNS)]


def test_a_book_in_the_workspace_makes_nothing_trusted(hooked: World) -> None:
    give(hooked)
    book = (hooked.state / "assent" / "trust.json").read_bytes()
    hooked.put("planted/assent/trust.json", book, 0o600)
    hooked.put("trust.json", book, 0o600)
    hooked.ok("trust", "revoke")
    hooked.env["XDG_STATE_HOME"] = str(hooked.root / "planted")
    answer = hooked.run("trust", "show", "--json")
    assert answer.json["files"][0]["trusted"] is False
    assert f"trust.json is ignored: {IN_WORKSPACE}".encode() in answer.err
    refused = hooked.no(7, "trust", "give")
    assert IN_WORKSPACE in refused["message"]


def test_a_damaged_book_trusts_nothing_and_the_work_goes_on(hooked: World) -> None:
    give(hooked)
    (hooked.state / "assent" / "trust.json").write_bytes(b"{")
    answer = hooked.run("status")
    assert answer.code == 0
    assert b"trust.json is ignored: it is damaged" in answer.err
    assert hooked.ok("trust", "show")["files"][0]["trusted"] is False


def test_a_broken_file_is_shown_as_such_and_cannot_be_trusted(hooked: World) -> None:
    hooked.put(PROJECT, b"[hooks\n")
    (shown,) = hooked.ok("trust", "show")["files"]
    assert shown["broken"].startswith(f"{PROJECT} cannot be used: ")
    assert hooked.no(2, "trust", "give", PROJECT)["error"] == "usage"
    assert hooked.run("trust", "give").out == b"No file is waiting for trust.\n"


def test_a_symlink_is_neither_shown_nor_trusted(hooked: World) -> None:
    os.unlink(hooked.at(PROJECT))
    hooked.put("real.toml", HOOK)
    hooked.link(PROJECT, b"../real.toml")
    answer = hooked.run("trust", "show", "--json")
    assert (answer.code, answer.json) == (0, {"files": []})
    assert b"it is a symlink" in answer.err


def provider(server: Server) -> bytes:
    return f"[providers.acme]\nwire = 'chat'\nbase_url = '{server.url}/v1'\n".encode()


def test_a_trusted_provider_works_until_a_byte_changes(world: World) -> None:
    world.config.write_text("[retry]\nfirst_s = 0.001\n", encoding="utf-8")
    world.env |= ALONE
    with serving(Turn(Reply("Hello.")), Turn(Reply("Again."))) as server:
        world.put(PROJECT, provider(server))
        before = world.run("models", "ask", "acme/x", "Hi")
        assert (before.code != 0, server.heard) == (True, [])
        give(world)
        after = world.run("models", "ask", "acme/x", "Hi")
        assert (after.code, after.out) == (0, b"Hello.\n")
        world.put(PROJECT, provider(server) + b"#")
        swapped = world.run("models", "ask", "acme/x", "Hi")
        assert swapped.code != 0
        assert CHANGED_SINCE.encode() in swapped.err
        assert len(server.heard) == 1


def test_a_trusted_provider_changes_none_of_the_users(world: World) -> None:
    world.env |= ALONE
    with serving(Turn(Reply("Mine."))) as mine, serving(Turn(Reply("Theirs."))) as theirs:
        base = f"[providers.acme]\nwire = 'chat'\nbase_url = '{mine.url}/v1'\n"
        world.config.write_text(base, encoding="utf-8")
        text = f"[providers.acme]\nbase_url = '{theirs.url}/v1'\nheaders = {{x = 'y'}}\n"
        world.put(PROJECT, text.encode())
        give(world)
        answer = world.run("models", "ask", "acme/x", "Hi")
        assert (answer.code, answer.out, theirs.heard) == (0, b"Mine.\n", [])
        assert "x" not in mine.heard[0].headers


def test_a_hook_runs_only_while_its_file_is_trusted(world: World) -> None:
    world.config.write_text("", encoding="utf-8")
    text = b"[[hooks]]\non = 'before_tool'\nrun = ['sh', '-c', 'exit 2']\n"
    talker = Talker(world)
    world.put("a.txt", b"a\n")

    def refused() -> bool:
        talker.script(turn("", ("read", {"path": "a.txt"})), turn("Done."))
        (ended,) = [row for row in talker.stream("Look") if row["kind"] == "call_ended"]
        return bool(ended["body"]["result"]["failed"])

    world.put(PROJECT, text)
    assert not refused()
    give(world)
    assert refused()
    world.put(PROJECT, text + b"#")
    assert not refused()


def test_a_model_cannot_reach_the_book(world: World) -> None:
    world.config.write_text("[modes.fast]\nbase = 'yolo'\n", encoding="utf-8")
    world.put(PROJECT, HOOK)
    give(world)
    book = world.state / "assent" / "trust.json"
    before = book.read_bytes()
    talker = Talker(world)
    talker.script(
        turn("", ("write", {"path": str(book), "content": "{}"}), ("read", {"path": str(book)})),
        turn("", ("shell", {"command": f"rm {book}; cat {book}"})),
        turn("Done."),
    )
    rows = talker.rows(talker.say("Do it", "--mode", "yolo", "--output-format", "stream-json"))
    said = [row["body"]["result"]["text"] for row in rows if row["kind"] == "call_ended"]
    assert book.read_bytes() == before
    assert not any(sha256(HOOK) in text for text in said)
