"""`assent -p` for programs: one object, or a line for each event, with everything in it."""

import os
import re

import pytest
from tests.cli.scripts import MODEL, PLANS, WRITE_PLAN, Talker, turn
from tests.house.source import ROOT
from tests.llm.server import Turn, refusal, serving
from tests.llm.wire_responses import Reply

PAGE = ROOT / "docs" / "agent.md"
ENVELOPE = ["seq", "at", "kind", "session", "body"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
LOOK = ("read", {"path": "script.json"})


def test_the_object_of_a_plan_that_waits(talker: Talker) -> None:
    talker.script(*PLANS)
    row = talker.json("Greet", code=3)
    plan = talker.world.ok("plan", "show")
    expected = {
        "result": "Here it is.",
        "plan_id": plan["plan_id"],
        "digest": plan["digest"],
        "state": "AWAITING_APPROVAL",
        "exit": 3,
        "cost": None,
        "slug": "greet",
        "mode": "plan",
        "agent": "plan",
        "model": "scripted:script.json",
        "turns": 1,
        "steps": 2,
        "why": "presented",
        "operations": 1,
        "approved": False,
        "questions": [],
        "error": None,
    }
    assert {key: row[key] for key in expected} == expected
    assert row["usage"].keys() == {"input", "output", "cache_read", "cache_write", "reasoning"}
    assert row["next"].endswith(f"approve --digest {row['digest']} --build")
    assert talker.world.ok(*row["next"].split()[3:])["outcome"] == "done"


def test_the_page_names_every_member(talker: Talker) -> None:
    talker.script(turn("Hello."))
    table = PAGE.read_text("utf-8").partition("test_print_json.py -->")[2].split("\n\n")[0]
    named = re.findall(r"`([a-z_]+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.M)))
    assert sorted(named) == sorted(talker.json("Greet"))


def test_the_object_of_words_alone(talker: Talker) -> None:
    talker.script(turn("Hello."))
    row = talker.json("Greet")
    told = {key: row[key] for key in ("plan_id", "digest", "state", "why", "result", "message")}
    assert told == {
        "plan_id": None,
        "digest": None,
        "state": "IDLE",
        "why": "end",
        "result": "Hello.",
        "message": "",
    }


def test_f32_questions_that_nobody_answered_are_in_the_object(talker: Talker) -> None:
    choice = {"label": "Red", "description": "warm"}
    wanted = {"header": "Colour", "question": "Which?", "options": [choice], "multiple": True}
    talker.script(turn("", ("question", {"questions": [wanted]})), turn("I wait."))
    assert talker.json("Paint", code=4)["questions"] == [
        {
            **wanted,
            "custom": True,
            "by": "model",
            "things": [],
            "detail": "",
            "command": "",
            "always": [],
            "risk": [],
        }
    ]


def test_a_model_that_fails_leaves_one_object_with_the_error(talker: Talker) -> None:
    talker.script(turn("Begun.", WRITE_PLAN))
    answer = talker.say("Greet", "--json")
    assert answer.code == 1
    row = answer.json
    assert (row["error"], row["why"], row["exit"], row["state"]) == (
        "model",
        "failed",
        1,
        "DRAFTING",
    )
    assert "kept" in row["message"]
    assert row["next"]


def test_a_folder_whose_name_is_not_utf_8_can_be_told(talker: Talker) -> None:
    folder = talker.world.at(b"caf\xe9")
    os.mkdir(folder)
    with open(os.path.join(folder, b"script.json"), "wb") as script:
        script.write(b'{"turns": [{"text": "Hello."}]}')
    answer = talker.world.process("-C", folder, "-p", b"Hi \xe9", "--model", MODEL, "--json")
    assert (answer.code, answer.json["result"], answer.json["slug"]) == (0, "Hello.", "hi-xe9")
    assert "caf\\xe9" in answer.json["next"]


def test_a_bad_key_is_told_with_its_variable(talker: Talker) -> None:
    with serving(Turn(raw=refusal(b"401 No", "authentication_error"))) as server:
        talker.world.env |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-secret"}
        answer = talker.world.run("-p", "Hi", "--model", "openai/m", "--json")
    assert (answer.code, answer.json["error"]) == (1, "unauthorized")
    assert "OPENAI_API_KEY" in answer.json["next"]
    assert b"sk-secret" not in answer.out + answer.err


@pytest.mark.parametrize("form", [["--json"], ["--output-format", "stream-json"]], ids=" ".join)
def test_a_refusal_leaves_stdout_empty(talker: Talker, form: list[str]) -> None:
    answer = talker.world.run("-p", "Hi", *form)
    assert answer.code == 2
    assert answer.error["error"] == "usage"
    assert talker.world.run("-p", "Hi", "more", *form).error["error"] == "usage"
    assert talker.world.run("-p", "-c", "Hi", *form, "--model", "scripted:x").code in (1, 2)


def test_f124_stored_events_have_their_place_and_pieces_have_none(talker: Talker) -> None:
    talker.script(turn("Let me look.", LOOK, reasoning="Hm, well."), turn("Seen."))
    rows = talker.stream("Look around")
    assert all(list(row) == ENVELOPE and TIME.fullmatch(row["at"]) for row in rows)
    assert len({row["session"] for row in rows}) == 1
    stored = [row["seq"] for row in rows if row["seq"] is not None]
    assert stored == sorted(set(stored))
    kinds = [row["kind"] for row in rows if row["kind"] != "delta"]
    steps = [
        "step_started", "part_said", "part_said", "part_said", "step_ended",
        "call_started", "call_ended", "step_started", "part_said", "step_ended",
    ]  # fmt: skip
    work = ["step_started", "part_said", "step_ended", "call_started", "call_ended"]
    assert kinds[0] == "session_started"
    assert kinds[-1] == "result"
    assert [kind for kind in kinds if kind in work] == steps
    assert [row["seq"] for row in rows if row["kind"] in ("delta", "result")].count(None) > 2


def test_f124_the_pieces_of_a_part_come_before_it_and_make_it_up(talker: Talker) -> None:
    talker.script(turn("One two three.", reasoning="Hm."))
    rows = talker.stream("Count")
    bodies = [row["body"] for row in rows if row["kind"] in ("delta", "part_said")]
    assert "".join(b["text"] for b in bodies if b.get("kind") == "text") == "One two three."
    said = [body["part"] for body in bodies if "part" in body]
    assert [(part["kind"], part["text"]) for part in said] == [
        ("reasoning", "Hm."),
        ("text", "One two three."),
    ]
    assert "part" in bodies[-1]


def test_f124_a_retry_voids_the_pieces_before_it(talker: Talker) -> None:
    talker.script(turn("All of it.", fault="cut"))
    rows = talker.stream("Say it")
    kinds = [row["kind"] for row in rows]
    assert "step_retried" in kinds
    said = [row["body"]["part"]["text"] for row in rows if row["kind"] == "part_said"]
    assert said == ["All of it."]
    assert rows[-1]["body"]["result"] == "All of it."


def test_f126_every_step_has_its_tokens_and_the_result_their_sum(talker: Talker) -> None:
    with serving(
        Turn(Reply("Look.", calls=(("c1", "read", '{"path": "script.json"}'),))), Turn()
    ) as server:
        talker.script(turn())
        prices = "prices = { input = 1.0, output = 2.0, cache_read = 0.5, cache_write = 1.5 }"
        talker.world.config.write_text(f'[models."anthropic/m"]\n{prices}\n', encoding="utf-8")
        talker.world.env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"}
        line = ("-p", "Hi", "--model", "anthropic/m", "--output-format", "stream-json")
        rows = Talker.rows(talker.world.run(*line))
    ends = [row["body"] for row in rows if row["kind"] == "step_ended"]
    usage = {"input": 60, "output": 9, "cache_read": 30, "cache_write": 20, "reasoning": 0}
    assert [end["usage"] for end in ends] == [usage, usage]
    result = rows[-1]["body"]
    assert result["usage"] == {key: 2 * count for key, count in usage.items()}
    assert result["cost"] == pytest.approx(sum(end["cost"] for end in ends))
    assert result["cost"] == pytest.approx(2 * (10 * 1 + 9 * 2 + 30 * 0.5 + 20 * 1.5) / 1e6)


def test_every_stream_carries_the_mode(talker: Talker) -> None:
    talker.script(turn("One."), turn("Two."))
    first = talker.stream("Greet")
    started = [row["body"]["mode"] for row in first if row["kind"] == "session_started"]
    assert started == ["plan"]
    second = talker.stream("-c", "--mode", "ask", "More")
    modes = [(row["kind"], row["body"]["mode"]) for row in second if "mode" in row["body"]]
    assert modes == [("mode_changed", "ask"), ("step_started", "ask"), ("result", "ask")]


def test_the_last_line_is_the_object_and_the_log_has_the_same_events(talker: Talker) -> None:
    talker.script(*PLANS)
    rows = talker.stream("Greet", code=3)
    assert rows[-1]["kind"] == "result"
    assert rows[-1]["body"]["digest"] == talker.world.ok("plan", "show")["digest"]
    assert rows[-1]["body"]["session"] == rows[0]["session"]
