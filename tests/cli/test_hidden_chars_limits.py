"""What hides is bounded, counted, flagged, escaped or refused, on every way out of the program."""

import unicodedata
from pathlib import Path

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.machines import Machines, forged, key_of, put, signer_of, trust, written
from tests.cli.scripts import Talker, turn, write

STACK = "e" + "\u0301" * 40
EMPTY = "\n" * 45
LOOKALIKE = "https://gith\u0443b.com/x"
HIDING = "\x7f \x9b31m \u202eevil\u2066 zero\u200bwidth tag\U000e0041 \ufeff"
ESCAPES = ["\\u007f", "\\u009b", "\\u202e", "\\u2066", "\\u200b", "\\udb40\\udc41", "\\ufeff"]


def deepest(text: str) -> int:
    """Returns how many marks at most stand on one letter."""
    most = found = 0
    for char in text:
        found = found + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        most = max(most, found)
    return most


def emptiest(text: str) -> int:
    """Returns how many lines in a row at most have nothing to see in them."""
    most = found = 0
    for line in text.split("\n"):
        found = found + 1 if not line.strip("│|+- \t") else 0
        most = max(most, found)
    return most


@pytest.fixture
def hiding(world: World) -> World:
    """A plan in whose text, files and commands things hide."""
    world.plan()
    text = f"# Plan {STACK}\n{EMPTY}See {LOOKALIKE}\n"
    world.ok("plan", "write", "-", stdin=text.encode())
    world.write("a.txt", f"{STACK}\n{EMPTY}end\n".encode())
    world.write(f"{STACK}.txt", b"x\n")
    script = f"echo {STACK}\n{EMPTY}echo {LOOKALIKE}"
    world.ok("stage", "run", "--script", "-", stdin=script.encode())
    world.propose()
    return world


def test_g17_a_review_bounds_counts_and_flags_what_hides(hiding: World) -> None:
    out = hiding.run("review").out.decode()
    assert deepest(out) == 4
    assert emptiest(out) <= 20
    assert "│ ␤ 45 empty lines" in out
    assert "+␤ 45 empty lines" in out
    review = hiding.ok("review")
    assert review["risks"] == ["hidden_text", "lookalike", "no_verification", "no_steps"]
    risks = [set(row["risks"]) for row in review["operations"]]
    assert all("hidden_text" in each for each in risks)
    assert "lookalike" in risks[2]
    assert review["text"].count("\n") == 47  # JSON has every byte


@pytest.mark.parametrize("line", [["diff"], ["stage", "list"], ["plan", "show"], ["status"]])
def test_g17_every_way_to_look_does(hiding: World, line: list[str]) -> None:
    out = hiding.run(*line).out.decode()
    assert deepest(out) <= 4
    assert emptiest(out) <= 20


def test_g18_lines_below_those_that_are_counted_keep_their_numbers(hiding: World) -> None:
    hiding.ok("comment", "add", "plan:47", "Why?")
    out = hiding.run("review").out.decode()
    said = "│ ␤ 45 empty lines\n│ See https://gith\u0443b.com/x\n▸ comment 1: Why?"
    assert said in out
    hiding.ok("comment", "add", "plan:20", "And here?")
    assert "│ ␤ 45 empty lines\n▸ comment 2: And here?\n│ See" in hiding.run("review").out.decode()


def test_g17_folders_that_look_like_others_are_flagged(world: World) -> None:
    world.put("src/app.py", b"x\n")
    world.plan()
    world.write("Src/new/more.py", b"x\n")
    (row,) = world.ok("review")["operations"]
    assert row["risks"] == ["lookalike"]


def test_g17_a_folder_that_goes_is_no_sibling(world: World) -> None:
    world.put("Src/app.py", b"x\n")
    world.plan()
    world.ok("stage", "move", "Src", "lib")
    world.ok("stage", "move", "lib", "src")
    (row,) = world.ok("review")["operations"]
    assert (row["path"], row["to"], row["risks"]) == ("Src/app.py", "src/app.py", [])


def test_a_file_that_is_run_later_is_listed_after_the_heavier_risks(world: World) -> None:
    world.put("old.txt", b"x\n")
    world.plan()
    world.write("tests/conftest.py", b"x\n")
    world.write(".envrc", b"x\n")
    world.ok("stage", "delete", "old.txt")
    out = world.run("review").out.decode()
    codes = [line.split()[0] for line in out.split("\n\n")[1].splitlines()[1:]]
    assert codes == ["deletes", "protected", "executed_later"]


NFC, NFD = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("README.md", "readme.md"),
        ("Src/a", "src/b"),
        ("Src", "src/b"),
        (NFC, NFD),
        ("\u0416", "\u0436"),
    ],
)
def test_two_names_that_differ_only_in_case_or_form_are_refused(
    world: World, first: str, second: str
) -> None:
    world.plan()
    world.write(first, b"x\n")
    error = world.no(7, "stage", "write", "--from", "-", "--", second, stdin=b"y\n")
    assert (error["error"], error["next"]) == ("refused", "assent stage list")
    assert "differ only in case or Unicode form" in error["message"]
    assert len(world.ok("stage", "list")["operations"]) == 1


def test_names_in_two_forms_are_told_apart_in_the_refusal(world: World) -> None:
    world.plan()
    world.write(NFC, b"x\n")
    error = world.no(7, "stage", "write", "--from", "-", "--", NFD, stdin=b"y\n")
    assert error["message"].startswith("caf\\xe9 and cafe\\u0301 differ")


def test_two_such_names_are_refused_however_they_come(world: World, tmp_path: Path) -> None:
    world.put("other.txt", b"x\n")
    world.plan()
    world.write("a.txt", b"x\n")
    world.no(7, "stage", "move", "other.txt", "A.txt")
    world.no(7, "stage", "write", "--link-to", "other.txt", "--", "A.TXT")
    patch = b"--- /dev/null\n+++ b/A.txt\n@@ -0,0 +1 @@\n+x\n"
    world.no(7, "stage", "patch", "-", stdin=patch)
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "A.txt").write_bytes(b"z\n")
    world.no(7, "stage", "from", str(folder))
    assert len(world.ok("stage", "list")["operations"]) == 1


def test_a_move_may_change_the_case_alone(world: World) -> None:
    world.put("Src/a.txt", b"x\n")
    world.put("b.txt", b"x\n")
    world.plan()
    world.ok("stage", "move", "b.txt", "B.txt")
    world.ok("stage", "edit", "B.txt", "--find", "x", "--put", "y")
    world.ok("stage", "move", "Src", "src")
    world.build()
    assert {b"src/a.txt", b"B.txt"} <= world.files().keys()
    assert world.undo().code == 0
    assert {b"Src/a.txt", b"b.txt"} <= world.files().keys()


def test_a_name_beside_one_that_exists_is_flagged_and_not_refused(world: World) -> None:
    world.put("readme.md", b"x\n")
    world.plan()
    world.write("README.md", b"x\n")
    (row,) = world.ok("review")["operations"]
    assert row["risks"] == ["lookalike"]


def test_g14_a_bundle_with_two_such_names_is_refused(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    trust(machines.runner, key_of(machines.person))
    operations = (written(b"Src/a", b"x\n"), written(b"src/b", b"x\n"))
    bundle = forged(signer_of(machines.person), operations, b"x\n")
    error = machines.runner.no(7, "build", str(put(machines.file, bundle)))
    assert "Src and src differ only in case" in error["message"]


def test_json_escapes_what_hides_and_parses_to_the_same(world: World) -> None:
    world.plan()
    world.ok("plan", "write", "-", stdin=f"# {HIDING}\n".encode())
    answer = world.run("review", "--json")
    assert_escaped(answer.out)
    assert answer.json["text"] == f"# {HIDING}\n"
    refused = world.run("stage", "delete", "--json", "--", HIDING)
    assert refused.code == 1
    assert_escaped(refused.err)
    assert HIDING.strip() in refused.error["message"]


def test_stream_json_and_an_exported_session_escape_what_hides(talker: Talker) -> None:
    talker.script(turn(f"Said {HIDING}"))
    answer = talker.say(HIDING, "--output-format", "stream-json")
    assert_escaped(answer.out)
    rows = [msgspec.json.decode(line) for line in answer.out.splitlines()]
    parts = [row["body"]["part"]["text"] for row in rows if row["kind"] == "part_said"]
    assert parts == [f"Said {HIDING}"]
    world = talker.world
    assert_escaped(world.run("sessions", "export").out)
    world.ok("sessions", "export", "--out", "told.json")
    assert_escaped((world.root / "told.json").read_bytes())


def test_what_a_model_says_is_bounded_and_counted(talker: Talker) -> None:
    talker.script(turn(f"{STACK}\n{EMPTY}end"))
    out = talker.say("Hello").out.decode()
    assert deepest(out) == 4
    assert "␤ 25 more empty lines\nend" in out
    shown = talker.world.run("sessions", "show").out.decode()
    assert "│ ␤ 45 empty lines\n│ end" in shown
    assert deepest(shown) == 4


def test_names_of_a_model_that_differ_only_in_case_are_refused(talker: Talker) -> None:
    both = (write("Read.me", "x\n"), write("read.me", "y\n"))
    talker.script(turn("", *both), turn("Done."))
    talker.say("Write both.")
    world = talker.world
    paths = [row["path"] for row in world.ok("stage", "list")["operations"]]
    assert paths == ["Read.me"]
    told = world.run("sessions", "show").out.decode()
    assert "differ only in case or Unicode form" in told


KEYS = {
    "GROQ_API_KEY": "a-key-of-plain-words",
    "XAI_API_KEY": "another-key-of-words",
    "ANTHROPIC_API_KEY": "the-first-key-in-use",
    "ANTHROPIC_AUTH_TOKEN": "the-second-key-unused",
    "OWN_KEY": "my-own-key-in-words",
}


def test_f92_values_of_all_configured_keys_are_masked_in_errors_and_output(talker: Talker) -> None:
    world = talker.world
    world.env |= KEYS
    own = "[providers.own]\nbase_url = 'http://127.0.0.1:9/v1'\nkey_env = 'OWN_KEY'\n"
    own += "headers = {Authorization = 'Bearer header-of-words'}\n"
    world.config.write_text(world.config.read_text("utf-8") + own, encoding="utf-8")
    values = [*KEYS.values(), "header-of-words"]
    talker.script(turn(f"They are {' '.join(values)}."))
    outputs = [
        talker.say("Hello").out,
        talker.say("-c", "Hi", "--output-format", "stream-json").out,
    ]
    outputs += [world.run("sessions", "show").out]
    world.plan()
    outputs += [world.run("stage", "delete", f"x-{value}").err for value in values]
    told = b"\n".join(outputs).decode()
    assert [value for value in values if value in told] == []
    assert [output.count(b"[masked: configured API key]") for output in outputs[3:]] == [1] * len(
        values
    )
    assert outputs[0].count(b"[masked: configured API key]") == len(values)


def assert_escaped(content: bytes) -> None:
    text = content.decode()
    assert [escape for escape in ESCAPES if escape not in text] == []
    assert {char for char in HIDING if unicodedata.category(char) in ("Cc", "Cf")} & {
        *text
    } == set()
