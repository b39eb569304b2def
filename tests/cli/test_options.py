"""Options from a model's drafts to the plan that a user chose, as the command line shows them."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bench.stories import story_server
from tests.cli.harness import World
from tests.cli.scripts import MODEL, PRESENT, Talker, turn, write
from tests.cli.terminal import QUESTION, Terminal

from assent.agent.draft_results import STAGED_COMMAND
from assent.core.plan.operation import RISK_CODES
from assent.llm.scripted import ScriptedCall, ScriptedTurn

Call = tuple[str, dict[str, Any]]
BOTH: Call = ("present_plan", {"options": ["Keep SQLite", "Postgres"]})


def plan(label: str, text: str = "") -> Call:
    return "write_plan", {"text": text or f"# {label}\n\nEdit db.txt.\n", "option": label}


def edit(label: str, new: str, old: str = "sqlite") -> Call:
    return "edit", {"path": "db.txt", "old": old, "new": new, "option": label}


DRAFTS = turn(
    "Two ways.",
    plan("Keep SQLite"),
    edit("Keep SQLite", "sqlite 3"),
    write("same.txt", "same\n"),
    plan("Postgres", "# Move to Postgres\n\n- [ ] 1.1 Edit db.txt\n"),
    edit("Postgres", "postgres"),
    write("same.txt", "same\n"),
    write("up.sh", "psql\n"),
)


@pytest.fixture
def options(talker: Talker) -> Talker:
    """A model that offers two plans, and a person who has not decided yet."""
    talker.world.put("db.txt", b"sqlite\n")
    talker.script(DRAFTS, turn("Choose.", BOTH), turn("I see."), turn("Again.", PRESENT))
    return talker


def offered(talker: Talker) -> list[dict[str, Any]]:
    row = talker.json("Pick a database", code=3)
    assert (row["state"], row["plan_id"], row["digest"]) == ("AWAITING_APPROVAL", None, None)
    found: list[dict[str, Any]] = row["options"]
    return found


def calls(talker: Talker) -> list[tuple[str, bool]]:
    """What the model was told by its calls, and whether they failed."""
    ended = [e["body"] for e in talker.world.ok("log")["events"] if e["kind"] == "call_ended"]
    return [(body["result"]["text"], body["result"]["failed"]) for body in ended]


def told(talker: Talker, about: str) -> list[str]:
    """Messages that the model got about what others did."""
    events = [e["body"] for e in talker.world.ok("log")["events"] if e["kind"] == "message_added"]
    return [body["parts"][0]["text"] for body in events if body["synthetic"] == about]


def listed(world: World) -> dict[str, str]:
    return {row["option"]: row["state"] for row in world.ok("plan", "list", "--all")["plans"]
            if "option" in row}  # fmt: skip


def test_g22_a_model_offers_two_plans_and_the_user_builds_one(options: Talker) -> None:
    first, second = offered(options)
    assert [first["label"], second["label"]] == ["Keep SQLite", "Postgres"]
    assert (first["operations"], second["operations"]) == (2, 3)
    world = options.world
    assert options.world.run("-C", str(world.root), "status").code == 0
    assert (world.root / "db.txt").read_bytes() == b"sqlite\n"
    answer = world.ok("approve", "--plan", second["name"], "--digest", second["digest"], "--build")
    assert answer["outcome"] == "done"
    assert (world.root / "db.txt").read_bytes() == b"postgres\n"
    assert (world.root / "up.sh").read_bytes() == b"psql\n"
    assert listed(world) == {"Keep SQLite": "DISCARDED", "Postgres": "COMPLETED"}
    world.ok("undo", "--digest", world.ok("undo", "--dry-run")["digest"])
    assert (world.root / "db.txt").read_bytes() == b"sqlite\n"


def test_g22_a_model_on_the_network_asks_for_options_and_offers_them(world: World) -> None:
    """Only then do its tools take a label: the first request is as small as before."""
    world.put("db.txt", b"sqlite\n")
    asks = ScriptedTurn("I ask.", calls=(ScriptedCall("more_tools", {"names": ["options"]}),))
    drafts = ScriptedTurn(
        "I draft.",
        calls=tuple(ScriptedCall(c["tool"], c["args"]) for c in DRAFTS["calls"]),
    )
    presents = ScriptedTurn("Choose.", calls=(ScriptedCall(*BOTH),))
    with story_server() as server:
        world.env |= {"OPENAI_BASE_URL": server.url}
        server.answers = [asks, drafts, presents]
        answer = world.run("-p", "Pick a database", "--model", "openai/m", "--json")
        assert (answer.code, server.excess) == (3, 0), answer
        bodies = [json.loads(body) for body in server.bodies]
    assert len(answer.json["options"]) == 2
    schemas = [
        {each["function"]["name"]: each["function"]["parameters"] for each in body["tools"]}
        for body in bodies
    ]
    takes = [
        {name for name, schema in one.items() if "option" in schema["properties"]}
        for one in schemas
    ]
    assert takes[0] == set()
    assert takes[1] == {"shell", "write", "edit", "write_plan", "options"}
    assert "options" in schemas[1]["present_plan"]["properties"]
    assert list(schemas[1])[:11] == list(schemas[0])


def test_g22_until_one_is_chosen_commands_without_a_plan_list_them(options: Talker) -> None:
    rows = offered(options)
    world = options.world
    for line in (["approve"], ["build"], ["reject", "--note", "No"], ["rebase"],
                 ["comment", "add", "plan:1", "Why?"], ["review", "--seen"],
                 ["approve", "--digest", rows[0]["digest"]], ["propose"], ["diff"],
                 ["diff", "--live"], ["plan", "show"], ["plan", "history"], ["plan", "write"],
                 ["comment", "keep", "--all"], ["comment", "dismiss", "--all"],
                 ["stage", "list"], ["stage", "delete", "db.txt"]):  # fmt: skip
        error = world.no(2, *line)
        assert error["next"] == "assent review"
        groups = ("comment", "plan", "stage")
        verb = " ".join(line[:2]) if line[0] in groups else line[0].replace("build", "approve")
        for row, option in zip(rows, error["options"], strict=True):
            assert option == {
                **{key: row[key] for key in ("plan", "label", "name", "digest")},
                "next": f"assent {verb} --plan {row['name']}",
            }
            assert f"`{option['next']}`" in error["message"]
            assert row["label"] in error["message"]
            assert row["digest"][:12] in error["message"]
        assert ("--all" in error["message"]) is (line[0] == "reject")
    assert set(listed(world).values()) == {"AWAITING_APPROVAL"}
    text = world.run("build").err.decode()
    assert f"assent approve --plan {rows[0]['name']}" in text
    assert "assent build --plan" not in text


@pytest.mark.parametrize("gone", [0, 1])
def test_g22_after_one_was_rejected_commands_mean_the_one_that_waits(
    options: Talker, gone: int
) -> None:
    rows = offered(options)
    world = options.world
    world.ok("reject", "--plan", rows[gone]["name"], "--note", "No")
    left = rows[1 - gone]
    for line in (["plan", "show"], ["review"]):
        assert world.ok(*line)["digest"] == left["digest"], line
    found = world.ok("status")["plan"]
    assert (found["plan_id"], found["state"]) == (left["plan"], "AWAITING_APPROVAL")
    assert world.run("status").out.decode().splitlines()[-1].startswith("Next: assent approve")
    new = "+postgres" if gone == 0 else "+sqlite 3"
    assert new in world.ok("diff")["diff"]
    assert world.no(3, "build")["error"] == "not_approved"
    row = options.json("-c", "And?")
    assert (row["plan_id"], row["digest"], row["state"], row["options"]) == (
        left["plan"], left["digest"], "AWAITING_APPROVAL", [],
    )  # fmt: skip
    world.ok("approve", "--digest", left["digest"], "--build")
    assert listed(world)[left["label"]] == "COMPLETED"


def test_g22_the_one_that_waits_is_meant_although_the_model_works_on_another(
    options: Talker,
) -> None:
    """Also where the draft is newer; a user who wants the draft says so."""
    options.script(
        DRAFTS,
        turn("", BOTH),
        turn("", ("options", {"drop": "Keep SQLite"}), plan("Third"), edit("Third", "third")),
        turn("Not yet."),
    )
    rows = offered(options)
    world = options.world
    world.ok("reject", "--plan", rows[0]["name"], "--note", "No")
    answer = options.say("-c", "Another one", "--json")
    row = answer.json
    assert (row["plan_id"], row["state"]) == (rows[1]["plan"], "AWAITING_APPROVAL")
    assert row["draft"].endswith("PLAN_pick_a_database_third.md")
    assert b"propose --plan pick_a_database_third" in answer.err
    assert world.ok("status")["plan"]["plan_id"] == rows[1]["plan"]
    world.ok("plan", "use", "pick_a_database_third")
    assert world.ok("status")["plan"]["name"] == "pick_a_database_third"
    world.ok("propose")
    assert len(world.ok("status")["options"]) == 2
    world.ok("reject", "--plan", "pick_a_database_third", "--note", "No")
    assert world.ok("status")["plan"]["plan_id"] == rows[1]["plan"]


def test_g22_of_three_options_two_are_listed_after_one_was_rejected(options: Talker) -> None:
    options.script(
        DRAFTS,
        turn("", plan("Third"), edit("Third", "third")),
        turn("", ("present_plan", {"options": ["Keep SQLite", "Postgres", "Third"]})),
    )
    rows = offered(options)
    options.world.ok("reject", "--plan", rows[0]["name"], "--note", "No")
    for line in (["approve"], ["build"], ["plan", "show"]):
        error = options.world.no(2, *line)
        assert [one["label"] for one in error["options"]] == ["Postgres", "Third"]
    assert [one["label"] for one in options.world.ok("review")["options"]] == ["Postgres", "Third"]
    assert [one["label"] for one in options.world.ok("status")["options"]] == ["Postgres", "Third"]


def test_g22_a_risk_names_the_operations_of_the_option_that_has_it(options: Talker) -> None:
    workflows = [write(f".github/workflows/{number}.yml", "on: push\n") for number in range(7)]
    options.script(
        turn(
            "Two ways.", plan("Keep SQLite"), edit("Keep SQLite", "sqlite 3"), workflows[0],
            plan("Postgres"), edit("Postgres", "postgres"), *workflows,
        ),
        turn("Choose.", BOTH),
    )  # fmt: skip
    offered(options)
    shown = " ".join(options.world.run("review").out.decode().split())
    first, second = shown.partition("Risks and hints")[2].split("Postgres:")[:2]
    assert "(operation 2)." in first
    assert "(operations 2, 3, 4, 5, 6 and 2 more)." in second


def test_g22_review_shows_them_side_by_side_what_differs_first(options: Talker) -> None:
    rows = offered(options)
    world = options.world
    text = world.run("review").out.decode()
    lines = text.splitlines()
    assert lines[0] == "2 options; approving one discards the others"
    assert lines[1].split("  ")[-1].strip() == "Postgres"
    assert text.index("create up.sh") < text.index("In all options") < text.index("create same.txt")
    assert text.index("title") < text.index("risks")
    assert f"assent review --plan {rows[1]['name']}" in text
    found = world.ok("review")
    assert [row["label"] for row in found["options"]] == ["Keep SQLite", "Postgres"]
    assert [(row["added"], row["removed"]) for row in found["options"]] == [(2, 1), (3, 1)]
    assert [row["steps"] for row in found["options"]] == [0, 1]
    assert [row["numbers"] for row in found["differs"]] == [
        {"Keep SQLite": 1}, {"Postgres": 1}, {"Postgres": 3},
    ]  # fmt: skip
    assert [row["path"] for row in found["common"]] == ["same.txt"]
    one = world.run("review", "--plan", rows[0]["name"]).out.decode()
    assert "Keep SQLite (approving it discards Postgres)" in one
    assert f"approve --plan {rows[0]['name']} --digest {rows[0]['digest']}" in one


def test_g22_the_comparison_has_hints_and_what_the_texts_say(options: Talker) -> None:
    long = "We keep the engine that is there and only pin its version, " * 3
    text = f"# Pick one\n\n{long}\n\n## Steps\n\n- [ ] 1 Edit db.txt\n\n## Tests\n\nRun it.\n"
    options.script(
        turn("", plan("Keep SQLite", text), edit("Keep SQLite", "sqlite 3"),
             plan("Postgres", "# Pick one\n\nWe move to a server.\n"),
             edit("Postgres", "postgres")),
        turn("", BOTH),
    )  # fmt: skip
    offered(options)
    found = options.world.ok("review")
    assert found["text_differs"] == ["overview"]
    assert [row["hints"] for row in found["options"]] == [[], ["no_verification", "no_steps"]]
    assert [row["title"] for row in found["options"]] == ["Pick one", "Pick one"]
    assert [row["overview"] for row in found["options"]] == [long.strip(), "We move to a server."]
    shown = options.world.run("review").out.decode()
    assert "What the texts say" in shown
    assert "  Postgres: We move to a server." in shown
    lacking = f"{RISK_CODES['no_verification']} {RISK_CODES['no_steps']}"
    assert "Keep SQLite: none" in shown
    assert f"Postgres: {lacking}" in " ".join(shown.split())
    assert "no_verification" not in shown
    assert "critic" not in shown
    assert [(row["findings"], row["critique"]) for row in found["options"]] == [(0, None)] * 2


def test_g22_status_and_lists_show_labels(options: Talker) -> None:
    rows = offered(options)
    world = options.world
    found = world.ok("status")
    assert [row["label"] for row in found["options"]] == ["Keep SQLite", "Postgres"]
    text = world.run("status").out.decode()
    assert "2 options are waiting for your decision:" in text
    assert text.splitlines()[-1] == "Next: assent review"
    assert "OPTION" in world.run("plan", "list").out.decode()
    shown = world.ok("plan", "show", "--plan", rows[1]["name"])
    assert (shown["option"], shown["options"]) == ("Postgres", rows[0]["plan"])
    titles = [row["title"] for row in world.ok("waiting")["waiting"]]
    assert all(title.startswith("Option ") for title in titles)
    said = options.say("-c", "And?").out.decode()
    assert f"approve --plan {rows[0]['name']} --digest {rows[0]['digest']}" in said


def test_g22_one_that_was_rejected_is_revised_while_the_other_waits(options: Talker) -> None:
    rows = offered(options)
    world = options.world
    world.ok("reject", "--plan", rows[0]["name"], "--note", "Use version 4")
    assert listed(world) == {"Keep SQLite": "DRAFTING", "Postgres": "AWAITING_APPROVAL"}
    assert "options" not in world.ok("status")
    options.script(
        DRAFTS,
        turn("Choose.", BOTH),
        turn("I revise.", ("edit", {"path": "db.txt", "old": "sqlite 3", "new": "sqlite 4"})),
        turn("Again.", PRESENT),
    )
    row = options.json("-c", code=3)
    assert [each["label"] for each in row["options"]] == ["Keep SQLite", "Postgres"]
    assert row["options"][1]["digest"] == rows[1]["digest"]
    (message,) = told(options, "rejected")
    assert message.startswith("The user rejected option Keep SQLite.")
    assert "Use version 4" in message
    diffs = [op["diff"] for op in world.ok("review", "--plan", rows[0]["name"])["operations"]]
    assert any("+sqlite 4" in diff for diff in diffs)


def test_g22_model_and_person_are_told_when_another_option_becomes_the_current_plan(
    options: Talker,
) -> None:
    rows = offered(options)
    world = options.world
    other = rows[0]  # the model worked on the second one last
    world.ok("reject", "--plan", other["name"], "--note", "Use the newest version")
    streamed = options.stream("-c")
    words = f"Option {other['label']} is now the current plan."
    assert told(options, "plan_used") == [words]
    added = [row["body"] for row in streamed if row["kind"] == "message_added"]
    assert [words] in [[part["text"] for part in body["parts"]] for body in added]
    assert words in world.run("sessions", "show").out.decode()
    options.stream("-c", "Present it", code=3)
    assert told(options, "plan_used") == [words]  # once


def test_g22_all_are_sent_back_to_the_model(options: Talker) -> None:
    offered(options)
    world = options.world
    world.ok("comment", "add", "plan:1", "Which version?", "--plan", "pick_a_database_postgres")
    assert world.no(2, "reject", "--all", "--plan", "x", "--note", "No")["error"] == "usage"
    answer = world.ok("reject", "--all", "--note", "Stay in memory")
    assert ([row["state"] for row in answer["plans"]], answer["comments"]) == (
        ["DRAFTING"] * 2, 1,
    )  # fmt: skip
    assert options.json("-c")["result"] == "I see."
    messages = told(options, "rejected")
    assert len(messages) == 2
    assert all("Stay in memory" in message for message in messages)
    assert sum("Which version?" in message for message in messages) == 1


def test_g22_the_chosen_one_is_the_current_plan(options: Talker) -> None:
    world = options.world
    for chosen in offered(options):
        if chosen["name"] != world.ok("status")["plan"]["name"]:
            break
    world.ok("approve", "--plan", chosen["name"], "--digest", chosen["digest"])
    assert world.ok("status")["plan"]["name"] == chosen["name"]
    assert world.ok("build")["outcome"] == "done"


def test_reject_all_without_a_word_names_the_whole_command(options: Talker) -> None:
    offered(options)
    refused = options.world.no(2, "reject", "--all")
    assert refused["next"] == "assent reject --all --note 'TEXT'"


def test_reject_all_of_a_plain_plan_rejects_it(talker: Talker) -> None:
    talker.script(turn("", ("write_plan", {"text": "# Greet\n\nSay it.\n"})), turn("", PRESENT))
    talker.json("Greet", code=3)
    assert talker.world.ok("reject", "--all", "--note", "No")["state"] == "DRAFTING"


def test_the_model_is_told_which_one_was_chosen_and_works_on_that(options: Talker) -> None:
    rows = offered(options)
    world = options.world
    approved = world.ok("approve", "--plan", rows[0]["name"], "--digest", rows[0]["digest"])
    assert approved["discarded"] == [rows[1]["plan"]]
    assert world.no(1, "approve", "--plan", rows[1]["plan"])["message"].startswith(
        "Option Keep SQLite was approved, so option Postgres was discarded"
    )
    assert world.no(3, "build", "--plan", rows[1]["plan"])["error"] == "not_approved"
    row = options.json("-c", "And?")
    assert (row["plan_id"], row["approved"], row["options"]) == (rows[0]["plan"], True, [])
    (message,) = told(options, "approved")
    assert "option Keep SQLite" in message
    assert "The other options were discarded." in message
    assert told(options, "deleted") == []
    assert world.ok("build")["outcome"] == "done"


def test_g22_two_processes_approve_different_options_and_one_wins(options: Talker) -> None:
    rows = offered(options)
    world = options.world

    def approve(row: dict[str, Any]) -> tuple[int, bytes]:
        line = ("approve", "--plan", row["plan"], "--digest", row["digest"], "--json")
        answer = world.process("-C", str(world.root), *line)
        return answer.code, answer.out + answer.err

    with ThreadPoolExecutor(2) as pool:
        found = [*pool.map(approve, rows)]
    codes = sorted(code for code, _ in found)
    assert codes[0] == 0
    assert codes[1] in (1, 5), found  # it was discarded before, or while, the other one began
    (lost,) = [text for code, text in found if code]
    assert b"was approved, so option" in lost
    assert sorted(listed(world).values()) == ["AWAITING_APPROVAL", "DISCARDED"]


def test_g22_how_many_are_presented_and_which(options: Talker) -> None:
    def presents(*labels: str) -> Call:
        return "present_plan", {"options": [*labels]}

    options.script(
        DRAFTS,
        turn("", presents("Postgres")),
        turn("", presents("Postgres", "postgres ")),
        turn("", presents("A", "B", "C", "D")),
        turn("", presents("Postgres", "Oracle")),
        turn("", PRESENT),
        turn("", ("options", {"option": "Empty"})),
        turn("", presents("Postgres", "Empty")),
        turn("", ("options", {"drop": "Empty"}), ("options", {"drop": "Keep SQLite"})),
        turn("", PRESENT),
    )
    row = options.json("Pick a database", code=3)
    assert row["options"] == []
    failed = [text for text, bad in calls(options) if bad]
    assert [text.split(". ")[0][:50] for text in failed] == [
        "options: name 2 or 3 different labels; for a singl",
        "options: name 2 or 3 different labels; for a singl",
        "options: name 2 or 3 different labels; for a singl",
        "There is no option Oracle; there are: Keep SQLite,",
        "There are more drafts: Keep SQLite, Postgres",
        "Option Empty: The plan is empty, so there is nothi",
    ]
    assert listed(options.world) == {
        "Postgres": "AWAITING_APPROVAL", "Keep SQLite": "DISCARDED", "Empty": "DISCARDED",
    }  # fmt: skip
    assert options.world.ok("review")["name"] == row["slug"].replace("-", "_") + "_postgres"


def test_g22_a_fourth_label_is_refused_and_one_that_looks_like_another_is_that_one(
    options: Talker,
) -> None:
    options.script(
        DRAFTS,
        turn("", plan("Third"), edit("Postgr\u0435s", "postgres 17", "postgres"), plan("Fourth")),
        turn("", ("present_plan", {"options": ["Postgres", "p\u043estgres", "Third"]})),
    )
    row = options.json("Pick a database", code=3)
    assert [one["label"] for one in row["options"]] == ["Postgres", "Third"]
    failed = [text for text, bad in calls(options) if bad]
    assert len(failed) == 1
    assert "There are 3 options already" in failed[0]
    assert "Work on one of these, or remove a draft first: `options` with `drop`." in failed[0]
    assert sorted(listed(options.world)) == ["Keep SQLite", "Postgres", "Third"]


def test_g22_what_is_presented_later_adds_to_the_choice(options: Talker) -> None:
    """One that waits stays as it is, one that is named is frozen anew, and three is the limit."""
    options.script(
        DRAFTS,
        turn("", BOTH),
        turn("", plan("Third"), edit("Third", "third"), plan("Postgres", "# Later\n\nEdit.\n")),
        turn("", ("present_plan", {"options": ["Third", "Postgres"]})),
    )
    first = offered(options)
    later = options.json("-c", "One more", code=3)["options"]
    assert [one["label"] for one in later] == ["Keep SQLite", "Postgres", "Third"]
    assert later[0]["digest"] == first[0]["digest"]
    assert later[1]["digest"] != first[1]["digest"]


def test_g22_calls_and_reads_are_about_the_option_that_was_named_last(options: Talker) -> None:
    read: Call = ("read", {"path": "db.txt"})
    options.script(
        turn("", read, edit("Keep SQLite", "sqlite 3"), read, edit("Postgres", "postgres"), read,
             edit("Keep SQLite", "sqlite 4", "sqlite 3"), read, ("options", {"option": "postgres"}),
             read,
             ("shell", {"command": "touch made", "option": "Keep SQLite", "stage": True}),
             ("options", {})),
        turn("Done."),
    )  # fmt: skip
    options.json("Pick a database")
    texts = [text for text, failed in calls(options) if not failed]
    assert len(texts) == 11, calls(options)
    reads = [text for text in texts if re.fullmatch("[a-z]+( [0-9])?", text.splitlines()[0])]
    firsts = [text.splitlines()[0] for text in reads]
    assert firsts == ["sqlite", "sqlite 3", "postgres", "sqlite 4", "postgres"]
    assert "Staged in option Keep SQLite: " in texts[1]
    told = STAGED_COMMAND.format(number=1, count=1, id="")
    assert texts[9].startswith(f"Option Keep SQLite: {told[:-1]}")
    assert texts[10].splitlines() == [
        "- Keep SQLite: draft, 2 operations, plan pick_a_database_keep_sqlite; calls without "
        "`option` are about it",
        "- Postgres: draft, 1 operation, plan pick_a_database_postgres",
    ]
    assert (options.world.root / "db.txt").read_bytes() == b"sqlite\n"


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("write", {"path": "a", "content": "a", "option": "x" * 41}), "1 to 40 characters"),
        (("write", {"path": "a", "content": "a", "option": " "}), "option: the label is blank"),
        (("write_plan", {"text": "# A\n", "option": ""}), "option: the label is blank"),
        (("options", {"option": "\n"}), "option: the label is blank"),
        (("write_plan", {"text": "# A\n", "name": "b", "option": "A"}), "not both"),
        (("options", {"drop": "Oracle"}), "There is no option Oracle"),
        (("read", {"path": "db.txt", "option": "A"}), "`option` is unknown"),
    ],
)
def test_what_an_option_cannot_mean_is_an_error_of_the_call(
    options: Talker, call: Call, why: str
) -> None:
    options.script(turn("", call), turn("Done."))
    options.json("Pick a database")
    [(text, failed)] = calls(options)
    assert failed
    assert why in text


def test_outside_plan_mode_there_are_no_options(options: Talker) -> None:
    options.script(turn("", edit("A", "b")), turn("Done."))
    options.json("Pick a database", "--mode", "yolo")
    [(text, failed)] = calls(options)
    assert (failed, "only in plan mode" in text) == (True, True)
    assert (options.world.root / "db.txt").read_bytes() == b"sqlite\n"


def test_a_draft_without_a_label_stays_as_it_is(options: Talker) -> None:
    options.script(
        turn("", ("write_plan", {"text": "# Plain\n\nText.\n"}), write("plain.txt", "x\n")),
        DRAFTS,
        turn("", BOTH),
    )
    options.json("Pick a database", code=3)
    names = {row["name"]: row["state"] for row in options.world.ok("plan", "list")["plans"]}
    assert names == {
        "pick_a_database": "DRAFTING",
        "pick_a_database_keep_sqlite": "AWAITING_APPROVAL",
        "pick_a_database_postgres": "AWAITING_APPROVAL",
    }


def test_g22_at_a_terminal_the_question_says_which_others_are_discarded(options: Talker) -> None:
    rows = offered(options)
    world = options.world
    world.config.unlink()  # now only the terminal approves
    assert world.no(4, "approve", "--plan", rows[0]["name"])["error"] == "declined"
    terminal = Terminal(world, "approve", "--plan", rows[0]["name"])
    answer = terminal.answer(rows[0]["digest"][:8].encode() + b"\n")
    assert answer.code == 0, answer
    before, _, _ = terminal.screen.partition(QUESTION)
    assert b"Keep SQLite (approving it discards Postgres)" in before
    assert b"Discarded the other options: Postgres." in answer.out
    assert listed(world) == {"Keep SQLite": "AWAITING_APPROVAL", "Postgres": "DISCARDED"}


def test_an_option_that_the_user_deletes_leaves_the_others(options: Talker) -> None:
    rows = offered(options)
    world = options.world
    world.ok("plan", "delete", "--plan", rows[1]["name"])
    row = options.json("-c", "And?")
    assert (row["plan_id"], row["digest"]) == (rows[0]["plan"], rows[0]["digest"])
    (message,) = told(options, "deleted")
    assert "pick_a_database_postgres" in message
    world.ok("approve", "--digest", rows[0]["digest"], "--build")
    assert (world.root / "db.txt").read_bytes() == b"sqlite 3\n"


def test_options_that_are_text_are_chosen_and_built_by_a_model(options: Talker) -> None:
    scope = "---\nscope: {files: ['*.txt']}\n---\n"
    options.script(
        turn("", plan("Keep SQLite", f"{scope}# Keep\n\n- [ ] Write it\n"),
             plan("Postgres", f"{scope}# Move\n\n- [ ] Move it\n")),
        turn("Choose.", BOTH),
        turn("I keep it.", write("kept.txt", "kept\n")),
        turn("Done."),
    )  # fmt: skip
    rows = offered(options)
    world = options.world
    assert all(row["operations"] == 0 for row in rows)
    assert all(row["estimate"] for row in world.ok("review")["options"])
    line = ("approve", "--plan", rows[0]["name"], "--digest", rows[0]["digest"])
    world.ok(*line)
    answer = world.run("build", "--model", MODEL, "--json")
    assert (world.root / "kept.txt").read_bytes() == b"kept\n", answer
    assert listed(world)["Postgres"] == "DISCARDED"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("Offer two plans for the database", True),
        ("Which alternatives are there?", True),
        ("Add two options to the command line parser", True),
        ("Add an option to the parser", False),
    ],
)
def test_a_message_that_asks_for_alternatives_offers_them(
    world: World, words: str, offered: bool
) -> None:
    with story_server() as server:
        world.env |= {"OPENAI_BASE_URL": server.url}
        server.answers = [ScriptedTurn("Hm.")]
        assert world.run("-p", words, "--model", "openai/m").code == 0
        tools = [each["function"]["name"] for each in json.loads(server.bodies[0])["tools"]]
    assert ("options" in tools) is offered
