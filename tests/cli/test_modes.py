"""`assent modes`, `/mode` and `--mode`: modes of one's own from files, listed, chosen, carried."""

import tomllib

import pytest
from tests.cli.harness import World
from tests.cli.scripts import PRESENT, Talker, turn
from tests.cli.terminal import Terminal

from assent.agent.prompt import mode_rules
from assent.cli.goal.options import mode_of
from assent.config.config_file import IN_WORKSPACE
from assent.config.loader import stricter_base_remark
from assent.core.errors import UsageError
from assent.core.permission.mode import CustomMode

PROJECT = ".opencode/assent.toml"
REVIEW = (
    '[modes.review]\nbase = "ask"\nlabel = "Review \\"docs\\""\ntools = ["read", "edit"]\n'
    'edit = ["docs/**"]\nprompt = "Be kind.\\nÄ \\\\ path"\n'
)
BAD = "[modes.Bad]\nbase = 'ask'\n[modes.fine]\nbase = 'plan'\n"


def rows(world: World) -> dict[str, tuple[str, str]]:
    found = world.ok("modes", "list")["modes"]
    return {row["id"]: (row["base"], row["source"]) for row in found}


def configured(world: World, text: str) -> World:
    world.config.write_text(text, encoding="utf-8")
    return world


BUILTIN = {mode: (mode, "builtin") for mode in ("plan", "ask", "auto-edit", "yolo")}


def test_f8_modes_of_user_and_project_are_listed_and_a_bad_one_is_left_out(world: World) -> None:
    configured(world, REVIEW + "[modes.fast]\nbase = 'yolo'\n")
    world.put(PROJECT, (BAD + "[modes.fast]\nbase = 'ask'\n").encode())
    assert rows(world) == BUILTIN | {
        "review": ("ask", "user"),
        "fast": ("ask", "project"),
        "fine": ("plan", "project"),
    }
    answer = world.run("modes", "list")
    assert answer.code == 0
    assert b"has a mode 'Bad' that cannot be used: an id must be kebab-case" in answer.err
    assert b'review     ask        user     Review "docs" (limits tools and edit)\n' in answer.out


def test_f8_a_mode_is_shown_in_full_with_what_it_narrows(world: World) -> None:
    configured(world, REVIEW)
    world.put(PROJECT, b"[modes.review]\nbase = 'yolo'\nlabel = 'Free'\nedit = ['docs/a/**']\n")
    shown = world.ok("modes", "show", "review")
    inner = shown.pop("within")
    assert (shown["base"], shown["label"], shown["edit"]) == ("ask", 'Review "docs"', ["docs/a/**"])
    assert (inner["source"], inner["edit"], inner["tools"]) == (
        "user",
        ["docs/**"],
        ["read", "edit"],
    )
    text = world.run("modes", "show", "review").out.decode()
    assert "Further restricts this mode; both must allow an action:" in text
    assert "│ Be kind." in text


def test_f8_unknown_tools_are_told(world: World) -> None:
    configured(world, "[modes.x]\nbase = 'ask'\ntools = ['read', 'reed']\n")
    told = f"Mode x lists unknown tools: 'reed'. The mode is defined in {world.config}."
    assert f"{told} Did you mean read?" in world.run("modes", "list").err.decode()
    assert f"{told} Did you mean read?" in world.run("debug", "tools").err.decode()


def test_f8_what_is_exported_can_be_imported_elsewhere(world: World) -> None:
    configured(world, "# mine\nmode = 'ask'\n" + REVIEW)
    snippet = world.ok("modes", "export", "review")["toml"]
    assert world.run("modes", "export", "review").out.decode() == snippet
    configured(world, "# mine\nmode = 'ask'")
    added = world.ok("modes", "import", "-", "--yes", stdin=snippet.encode())
    assert (added["file"], [mode["id"] for mode in added["modes"]]) == (
        str(world.config),
        ["review"],
    )
    text = world.config.read_text("utf-8")
    assert text.startswith("# mine\nmode = 'ask'\n")
    assert tomllib.loads(text) == {"mode": "ask", **tomllib.loads(REVIEW)}
    assert rows(world)["review"] == ("ask", "user")


def test_f8_an_import_makes_a_private_file_where_there_is_none(world: World) -> None:
    world.config.unlink()
    world.put("review.toml", REVIEW.encode())
    world.ok("modes", "import", "review.toml", "--yes")
    assert world.config.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(world.config.read_text("utf-8")) == tomllib.loads(REVIEW)


REFUSED = {
    "a bad id": "[modes.Bad]\nbase = 'ask'\n",
    "a bad base": "[modes.x]\nbase = 'wild'\n",
    "a wider plan": "[modes.plan]\nbase = 'yolo'\n",
    "more than modes": "mode = 'yolo'\n[modes.x]\nbase = 'ask'\n",
    "no modes": "mode = 'yolo'\n",
    "no TOML": "[modes\n",
    "one that is there": "[modes.mine]\nbase = 'ask'\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_f8_what_cannot_be_used_is_not_imported(world: World, text: str) -> None:
    configured(world, "[modes.mine]\nbase = 'plan'\n")
    before = world.config.read_bytes()
    assert world.no(2, "modes", "import", "-", "--yes", stdin=text.encode())["error"] == "usage"
    assert world.config.read_bytes() == before


def test_f8_a_file_that_cannot_take_it_in_stays_as_it_is(world: World) -> None:
    configured(world, "modes = {mine = {base = 'plan'}}\n")
    error = world.no(2, "modes", "import", "-", "--yes", stdin=REVIEW.encode())
    assert "The mode cannot be appended to " in error["message"]
    assert world.config.read_text("utf-8") == "modes = {mine = {base = 'plan'}}\n"


def test_f8_a_configuration_that_lies_in_the_workspace_is_left_alone(world: World) -> None:
    world.env["XDG_CONFIG_HOME"] = str(world.root / "planted")
    error = world.no(7, "modes", "import", "-", "--yes", stdin=REVIEW.encode())
    assert IN_WORKSPACE in error["message"]
    assert not (world.root / "planted").exists()


def test_f8_an_import_needs_a_persons_word(world: World) -> None:
    before = world.config.read_bytes()
    world.put("review.toml", REVIEW.encode())
    line = ("modes", "import", "review.toml", "--json")
    assert world.process(*line).code == 4
    assert world.run(*line, "--no-input").code == 4
    terminal = Terminal(world, *line)
    terminal.wait_for(b"? [y/N] ")
    terminal.type(b"no\n")
    assert terminal.end().code == 4
    assert world.config.read_bytes() == before
    terminal = Terminal(world, *line)
    terminal.wait_for(b"? [y/N] ")
    terminal.type(b"yes\n")
    assert terminal.end().code == 0
    assert b'tools = ["read", "edit"]' in terminal.screen
    assert rows(world)["review"] == ("ask", "user")


def test_f11_a_mode_that_is_not_there_is_told_with_those_that_are(world: World) -> None:
    configured(world, REVIEW)
    for line in (("modes", "show", "wild"), ("modes", "export", "wild")):
        error = world.no(2, *line)
        assert error["message"] == (
            "Mode 'wild' not found. Available modes: plan, ask, auto-edit, yolo, review."
        )


def test_a_mode_that_is_not_there_is_told_before_that_there_is_no_model(world: World) -> None:
    error = world.no(2, "-p", "--mode", "plam", "Hello", "--json")
    assert error["message"].startswith("Mode 'plam' not found. Did you mean plan?")
    assert error["next"] == "assent modes list"


def test_f8_a_slash_command_names_one_of_the_modes_that_there_are() -> None:
    assert mode_of("/mode review", ("plan", "review")) == "review"
    assert (mode_of("/plan", ("plan", "review")), mode_of("/plan off")) == ("plan", "ask")
    with pytest.raises(UsageError) as caught:
        mode_of("/mode review")
    assert caught.value.message.endswith("/mode plan|ask|auto-edit|yolo.")


def test_f8_a_slash_command_chooses_a_mode_of_ones_own(talker: Talker) -> None:
    configured(talker.world, REVIEW)
    answer = talker.world.ok("-p", "/mode review")
    shown = talker.world.ok("sessions", "show", answer["session"])
    assert (shown["mode"], shown["custom_mode"]) == ("ask", "review")
    listed = talker.world.run("sessions", "list").out
    assert b" review " in listed.splitlines()[1]
    unknown = talker.world.no(2, "-c", "-p", "/mode wild")
    assert "plan|ask|auto-edit|yolo|review" in unknown["message"]


def test_f8_the_model_has_only_the_tools_and_files_of_the_mode(talker: Talker) -> None:
    world = configured(talker.world, REVIEW.replace('"ask"', '"auto-edit"', 1))
    world.put("docs/a.md", b"old\n")
    world.put("src/a.py", b"old\n")
    edits = [
        ("edit", {"path": path, "find": "old", "replace": "new"})
        for path in ("docs/a.md", "src/a.py")
    ]
    talker.script(
        turn("", ("read", {"path": "docs/a.md"}), ("read", {"path": "src/a.py"})),
        turn("", *edits, ("write", {"path": "docs/b.md", "content": "x"})),
        turn("Done."),
    )
    rows = talker.stream("Do it", "--mode", "review")
    ended = [row["body"] for row in rows if row["kind"] == "call_ended"]
    assert [body["result"]["failed"] for body in ended] == [False, False, False, True, True]
    assert world.files()[b"docs/a.md"][2] == b"new\n"
    assert world.files()[b"src/a.py"][2] == b"old\n"
    assert b"docs/b.md" not in world.files()
    told = next(row["body"] for row in rows if row["kind"] == "message_added")
    text = told["parts"][0]["text"]
    assert 'Mode: review (Review "docs").' in text
    limits = CustomMode("review", "auto-edit", tools=("read", "edit"), edit=("docs/**",))
    assert mode_rules("auto-edit", [limits]) in text


def test_f9_a_project_that_widens_plan_mode_changes_nothing_on_disk(talker: Talker) -> None:
    world = configured(talker.world, "")
    world.put(PROJECT, b"[modes.plan]\nbase = 'yolo'\nlabel = 'plan'\nedit = ['**']\n")
    talker.script(
        turn(
            "",
            ("write", {"path": "a.txt", "content": "x"}),
            ("shell", {"command": "touch b", "stage": True}),
        ),
        turn("Done."),
    )
    answer = talker.say("Do it", "--mode", "plan")
    assert answer.code in (0, 3, 4)
    assert {b"a.txt", b"b"} & world.files().keys() == set()
    assert stricter_base_remark("plan", "yolo", "plan").encode() in answer.err


def test_f9_a_projects_narrower_plan_mode_holds(talker: Talker) -> None:
    world = configured(talker.world, "")
    world.put(PROJECT, b"[modes.plan]\nedit = ['docs/**']\n")
    paths = ("docs/a.md", "src/a.py")
    writes = [("write", {"path": path, "content": "x"}) for path in paths]
    talker.script(turn("", *writes), turn("Done."))
    talker.say("Do it")
    staged = [row["path"] for row in world.ok("stage", "list")["operations"]]
    assert staged == ["docs/a.md"]


def test_f11_a_session_whose_mode_is_gone_is_in_plan_mode_and_says_so(talker: Talker) -> None:
    world = configured(talker.world, "[modes.fast]\nbase = 'yolo'\n")
    world.ok("-p", "/mode fast")
    configured(world, "")
    talker.script(turn("", ("write", {"path": "a.txt", "content": "x"})), turn("Done."))
    answer = talker.say("-c", "Do it")
    assert b"a.txt" not in world.files()
    assert (
        b"The session's mode 'fast' no longer exists, so the session is in plan mode." in answer.err
    )


def test_f11_a_mode_that_is_gone_is_named_wherever_the_mode_is_told(talker: Talker) -> None:
    world = configured(talker.world, "[modes.fast]\nbase = 'yolo'\n")
    slug = world.ok("-p", "/mode fast")["slug"]
    configured(world, "")
    now = {"mode": "plan", "custom_mode": None, "missing_mode": "fast"}
    for row in (
        world.ok("sessions", "list")["sessions"][0],
        world.ok("sessions", "show"),
        world.ok("status")["session"],
    ):
        assert {name: row[name] for name in now} == now
    status = world.run("status")
    assert f"assent: {slug}: The session's mode 'fast' no longer exists" in status.err.decode()
    assert b"missing mode  fast" in world.run("sessions", "show").out
    talker.script(turn("", ("write", {"path": "a.txt", "content": "x"}), PRESENT), turn("Done."))
    rows = talker.stream("-c", "Do it")
    told = rows[-1]["body"]
    assert {name: told[name] for name in now} == now
    assert {row["body"]["mode"] for row in rows if row["kind"] == "step_started"} == {"plan"}
    [ended] = [
        row["body"]["result"]["text"] for row in rows
        if row["kind"] == "call_ended" and row["body"]["tool"] == "present_plan"
    ]  # fmt: skip
    assert "the mode is" not in ended
    reminders = [row for row in rows if row["body"].get("synthetic") == "reminder"]
    assert "plan, because fast no longer exists" in str(reminders)


def test_f11_a_model_that_worked_in_a_mode_is_told_when_that_is_gone(talker: Talker) -> None:
    world = configured(talker.world, "[modes.fast]\nbase = 'yolo'\n")
    talker.script(turn("Done."), turn("Again."))
    talker.stream("Do it", "--mode", "fast")
    configured(world, "")
    rows = talker.stream("-c", "Go on")
    told = [row["body"] for row in rows if row["kind"] == "message_added"]
    assert [one.get("synthetic", "") for one in told] == ["reminder", "", "agent"]
    assert "plan, because fast no longer exists" in str(told[0]["parts"])
    assert {one["agent"] for one in told} == {"plan"}


def test_f11_an_unknown_mode_on_the_command_line_starts_nothing(talker: Talker) -> None:
    talker.script(turn("Done."))
    answer = talker.say("Do it", "--mode", "wild")
    assert answer.code == 2
    assert b"Mode 'wild' not found." in answer.err
    assert talker.world.ok("sessions", "list")["sessions"] == []


def test_f8_a_base_that_there_is_none_of_is_named_in_words(world: World) -> None:
    error = world.no(2, "modes", "import", "-", "--yes", stdin=b"[modes.x]\nbase = 'wild'\n")
    assert error["message"] == (
        "The input has a mode 'x' that cannot be used: base must be one of plan, ask, auto-edit, "
        "yolo. Nothing was changed."
    )


def test_f8_what_is_no_text_is_refused_with_a_next_step_that_exists(world: World) -> None:
    error = world.no(2, "modes", "import", "-", "--yes", stdin=b"\x00\xff\xfe")
    assert error["next"] == "assent modes import --help"
