"""`@path` in what a person types: the very request has the file, or says why it does not."""

import os
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.cli.scripts import PLANS, Talker, turn
from tests.cli.terminal import Terminal
from tests.llm.server import Server, serving

SECRET = b"KEY=hunter2\n"
MODEL = ("--model", "openai/any")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


class Asked:
    """A person with files, and a model on loopback that remembers what it was sent."""

    def __init__(self, talker: Talker, server: Server) -> None:
        self.world = talker.world
        self.server = server
        self.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        self.world.put("src/a.py", b"print('a')\nprint('b')\n")
        self.world.put("my notes.txt", b"buy milk\n")
        self.world.put(".env", SECRET)

    def say(self, *line: str, stdin: bytes = b"", code: int = 0) -> dict[str, Any]:
        answer = self.world.run("-p", *MODEL, *line, "--json", stdin=stdin)
        assert answer.code == code, answer
        self.err = answer.err.decode()
        return answer.json

    def rows(self, *line: str, stdin: bytes = b"") -> list[dict[str, Any]]:
        """Says something, and returns what became of each `@`."""
        rows = self.say(*line, stdin=stdin)["attachments"]
        assert isinstance(rows, list)
        return rows

    @property
    def request(self) -> str:
        """All that the newest request says to the model, apart from instructions and tools."""
        [*_, last] = [one for one in self.server.heard if one.body]
        body = last.json
        return msgspec.json.encode(body.get("messages") or body["input"]).decode()


@pytest.fixture
def asked(talker: Talker) -> Iterator[Asked]:
    with serving() as server:
        yield Asked(talker, server)


def test_f138_a_named_file_is_in_the_very_request_under_its_name(asked: Asked) -> None:
    rows = asked.rows("Explain @src/a.py.")
    text = "print('a')\nprint('b')"
    size = len((asked.world.root / "src/a.py").read_bytes())
    row = {"mention": "src/a.py", "kind": "file", "path": "src/a.py", "bytes": size}
    assert rows == [{**row, "why": None}]
    told = f"File src/a.py, attached by the user:\n{text}"
    assert msgspec.json.encode(told).decode().strip('"') in asked.request
    assert "Explain @src/a.py." in asked.request
    assert asked.err == ""


def test_f138_a_path_with_blanks_and_one_from_the_current_folder(asked: Asked) -> None:
    assert [row["path"] for row in asked.rows('Read @"my notes.txt"')] == ["my notes.txt"]
    assert "buy milk" in asked.request
    asked.world.ok("init")  # what else would tell that the folder above is the workspace?
    answer = asked.world.run("-p", *MODEL, "See @a.py", "--json", folder=asked.world.root / "src")
    assert answer.json["attachments"][0]["path"] == "src/a.py"


def test_f138_a_folder_is_a_listing(asked: Asked) -> None:
    [row] = asked.rows("What is in @src/ ?")
    assert (row["kind"], row["path"]) == ("folder", "src")
    assert "Folder src, attached by the user:\\na.py" in asked.request


def test_f138_an_image_goes_along(asked: Asked) -> None:
    asked.world.put("shot.png", PNG)
    [row] = asked.rows("Look at @shot.png")
    assert (row["kind"], row["bytes"]) == ("image", len(PNG))
    assert "data:image/png;base64," in asked.request


def test_f138_what_is_no_file_is_text_and_the_person_is_told(asked: Asked) -> None:
    rows = asked.rows("Use @property, ask @bob and me@example.org about `@src/a.py`")
    assert [(row["mention"], row["kind"]) for row in rows] == [
        ("property", "missing"),
        ("bob", "missing"),
    ]
    assert "Not a file here, sent as text: @property, @bob" in asked.err
    assert "attached" not in asked.request
    assert "print(" not in asked.request


HIDDEN = {
    "a secret": (".env", "may contain secrets"),
    "outside": ("/etc/passwd", "outside the workspace"),
    "above": ("../secret.txt", "outside the workspace"),
    "a key": ("~/.ssh/id_rsa", "folder of keys"),
    "Assent's configuration": ("{config}", "belongs to Assent"),
    "Assent's state": (".opencode/assent/x", "belongs to Assent"),
    "a symlink that leads out": ("out.txt", "outside the workspace"),
    "a symlink to a key": ("key.txt", "folder of keys"),
    "binary": ("data.bin", "is binary"),
    "a pipe": ("pipe", ""),
}


@pytest.mark.parametrize(("path", "why"), HIDDEN.values(), ids=HIDDEN)
def test_f138_without_a_person_to_ask_what_would_be_asked_is_a_no(
    asked: Asked, path: str, why: str
) -> None:
    world = asked.world
    (world.base / "secret.txt").write_bytes(SECRET)
    (world.base / "home" / ".ssh").mkdir()
    (world.base / "home" / ".ssh" / "id_rsa").write_bytes(SECRET)
    world.config.write_bytes(world.config.read_bytes() + b"# hunter2\n")
    world.link("out.txt", str(world.base / "secret.txt"))
    world.link("key.txt", str(world.base / "home" / ".ssh" / "id_rsa"))
    world.put("data.bin", b"\0hunter2")
    world.put(".opencode/assent/x", SECRET)
    os.mkfifo(world.at("pipe"))
    [row] = asked.rows(f"Read @{path.format(config=world.config)} now")
    assert row["kind"] == "refused"
    assert why in row["why"]
    assert "was not attached: " in asked.err
    assert "was not attached: " in asked.request
    assert "hunter2" not in asked.request
    assert "root:" not in asked.request


def test_f138_a_rule_that_denies_reading_denies_attaching(asked: Asked) -> None:
    [row] = asked.rows("See @src/a.py", "--deny", "read:src/*")
    assert row["kind"] == "refused"
    assert "print(" not in asked.request


def test_f138_a_huge_file_is_cut_where_read_cuts_it_and_many_files_are_bounded(
    asked: Asked,
) -> None:
    asked.world.put("huge.txt", b"".join(b"line %07d\n" % n for n in range(500_000)))
    [row] = asked.rows("See @huge.txt")
    assert row["bytes"] < 60_000
    assert "read on with lines" in asked.request
    for n in range(30):
        asked.world.put(f"many/f{n:02}", b"small\n")
    rows = asked.rows(" ".join(f"@many/f{n:02}" for n in range(30)))
    assert [row["kind"] for row in rows] == ["file"] * 20 + ["refused"] * 10
    for n in range(10):
        asked.world.put(f"wide/f{n}", b"".join(b"%079d\n" % k for k in range(550)))
    rows = asked.rows(" ".join(f"@wide/f{n}" for n in range(10)))
    assert sum(row["bytes"] for row in rows) < 300 << 10
    assert rows[-1]["kind"] == "refused"


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (b"a\nb\n", 4),
        (b"a\r\nb", 4),
        (b"\xef\xbb\xbfa\n", 5),
        (b"\xe9\n" * 3, 6),
        (b"", 0),
        (b"\n" * 100, 100),
        (b"x" * 5_000 + b"\n", 2_000),
        (b"".join(b"%07d\n" % n for n in range(5_000)), 2_000 * 8),
    ],
    ids=["lines", "crlf", "mark", "latin-1", "empty", "no words", "a long line", "many lines"],
)
def test_f138_the_size_is_that_of_the_file_as_far_as_it_is_attached(
    asked: Asked, content: bytes, size: int
) -> None:
    asked.world.put("it.txt", content)
    [row] = asked.rows("See @it.txt")
    assert row["bytes"] == size


def test_f138_what_is_piped_in_names_no_file(asked: Asked) -> None:
    assert asked.rows("Explain this", stdin=b"see @src/a.py and @.env\n") == []
    assert "see @src/a.py and @.env" in asked.request
    assert asked.rows(stdin=b"see @src/a.py\n") == []
    assert "print(" not in asked.request


def test_f138_a_comment_and_a_rejection_name_no_file(talker: Talker) -> None:
    talker.world.put("src/a.py", b"print('a')\n")
    talker.script(*PLANS, turn("Again."))
    slug = talker.json("Greet me", code=3)["slug"]
    talker.world.ok("comment", "add", "plan:1", "see @src/a.py")
    talker.world.ok("reject", "--note", "look at @src/a.py first")
    row = talker.json("-c")
    assert row["attachments"] == []
    session = talker.world.run("sessions", "export", slug, "--json").out
    assert b"look at @src/a.py first" in session
    assert b"see @src/a.py" in session
    assert b"print('a')" not in session


def test_f138_a_model_s_words_name_no_file(talker: Talker) -> None:
    talker.world.put("src/a.py", b"print('a')\n")
    task = ("task", {"prompt": "Look at @src/a.py", "agent": "explore"})
    talker.script(turn("See @src/a.py", task), turn("It is @src/a.py."), turn("Done."))
    row = talker.json("Begin")
    assert row["attachments"] == []
    session = talker.world.run("sessions", "export", row["slug"], "--json").out
    assert b"print('a')" not in session


def test_f138_a_resumed_session_has_the_same_bytes(asked: Asked) -> None:
    first = asked.say("Explain @src/a.py")
    asked.world.put("src/a.py", b"something else\n")
    asked.say("-r", first["session"], "Go on")
    assert "print('a')" in asked.request
    assert "something else" not in asked.request
    fork = asked.world.ok("sessions", "fork", first["session"])
    asked.say("-r", fork["session"], "Go on")
    assert "print('a')" in asked.request


def test_f138_a_rewind_takes_the_file_back(asked: Asked) -> None:
    first = asked.say("Hello")
    asked.say("-r", first["session"], "Explain @src/a.py")
    asked.world.ok("sessions", "rewind", first["session"])
    asked.say("-r", first["session"], "Forget it")
    assert "print(" not in asked.request


def test_f138_an_edit_notices_that_an_attached_file_changed_since(talker: Talker) -> None:
    talker.world.put("a.py", b"print('a')\n")
    edit = ("edit", {"path": "a.py", "old": "'a'", "new": "'b'"})
    talker.script(turn("Seen."), turn("Now.", edit), turn("Fine."))
    talker.json("Look at @a.py", "--mode", "auto-edit")
    talker.world.put("a.py", b"print('a')  # of somebody else\n")
    talker.json("-c", "Change it")
    assert (talker.world.root / "a.py").read_bytes() == b"print('a')  # of somebody else\n"


def test_f138_the_arguments_of_a_command_attach_and_its_own_files_are_named(asked: Asked) -> None:
    folder = asked.world.config.parent / "commands"
    folder.mkdir()
    (folder / "look.md").write_text('Look at @"my notes.txt" and @src: $ARGUMENTS', "utf-8")
    (folder / "look.md").chmod(0o644)
    rows = asked.rows("/look @src/a.py @.env")
    kinds = [(row["mention"], row["kind"]) for row in rows]
    own = [("my notes.txt", "file"), ("src", "folder")]
    assert kinds == [*own, ("src/a.py", "file"), (".env", "refused")]
    assert "buy milk" in asked.request
    assert "print('a')" in asked.request
    assert "hunter2" not in asked.request


def test_f138_a_stream_has_the_attachment_as_an_event(asked: Asked) -> None:
    answer = asked.world.run("-p", *MODEL, "See @src/a.py", "--output-format", "stream-json")
    rows = Talker.rows(answer)
    [body] = [row["body"] for row in rows if row["kind"] == "files_attached"]
    assert body["files"][0]["text"] == "print('a')\nprint('b')"
    [named] = [row["body"] for row in rows if row["kind"] == "files_mentioned"]
    assert named == {"message": body["message"], "mentions": ["src/a.py"]}


@pytest.mark.parametrize(
    ("keys", "kind"), [(b"y\n", "file"), (b"n\n", "refused"), (b"\n", "refused")]
)
def test_f138_on_a_terminal_a_secret_is_asked_about(talker: Talker, keys: bytes, kind: str) -> None:
    talker.world.put(".env", SECRET)
    talker.script(turn("I have read it."))
    screen = ("stdin", "stdout", "stderr")
    line = ("Read @.env now", "--model", "scripted:script.json")
    terminal = Terminal(talker.world, *line, shared=screen)
    terminal.wait_for(b"(Enter: no")
    assert b"Allow reading .env?" in terminal.screen
    terminal.type(keys)
    terminal.wait_for(b"I have read it.")
    assert terminal.end().code == 0
    export = talker.world.run("sessions", "export", "read-env-now", "--json").json
    [event] = [one["body"] for one in export["events"] if one["kind"] == "files_attached"]
    assert event["files"][0]["kind"] == kind
    assert (b"was not attached" in terminal.screen) == (kind == "refused")
