"""From a base URL and a key to an applied change in a real repository, over each wire."""

import json

import pytest
from tests.adversarial.harness import Stage, final
from tests.cli.harness import TRUSTING
from tests.cli.scripts import ALONE
from tests.llm.server import Heard, Server, Turn, serving
from tests.llm.wire_responses import Reply

EDIT = {"path": "greet.py", "old": "Hi ", "new": "Hello, "}
TEXT = "# Greet politely\n\n## Goal\n\nSay hello.\n\n## Verification\n\n- [ ] run it\n"
PLAN = {"text": TEXT}
KEY = "sk-test-0123456789"
STORY = (
    Reply("I look.", "", (("c1", "read", '{"path": "greet.py"}'),)),
    Reply(
        "", "", (("c2", "edit", json.dumps(EDIT)), ("c3", "write_plan", json.dumps({"text": TEXT})))
    ),
    Reply("Here it is.", "", (("c4", "present_plan", "{}"),)),
    Reply("It is applied. Anything else?"),
)
PROVIDERS = {
    "chat": ("OPENAI", "/v1", ""),
    "responses": ("OPENAI", "/v1", '[providers.openai]\nwire = "responses"\n'),
    "anthropic": ("ANTHROPIC", "", ""),
}


def _at(stage: Stage, server: Server, wire: str) -> None:
    """Sets up what a newcomer has: a base URL, a key, a repository."""
    name, path, config = PROVIDERS[wire]
    stage.config.write_text(TRUSTING + config, encoding="utf-8")
    stage.env |= {**ALONE, f"{name}_BASE_URL": server.url + path, f"{name}_API_KEY": KEY}
    stage.git("init", "-q")
    stage.put("greet.py", b'name = "world"\nprint("Hi " + name)\n')
    stage.git("add", "-A")
    stage.git("commit", "-q", "-m", "one")


def _asked(server: Server) -> list[Heard]:
    return [heard for heard in server.heard if heard.line.startswith("POST")]


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_newcomer_gets_from_a_goal_to_an_applied_change(stage: Stage, wire: str) -> None:
    with serving(*map(Turn, STORY)) as server:
        _at(stage, server, wire)
        before = stage.files()
        planned = stage.process("-p", "Greet politely", "--json")
        assert (planned.code, stage.files()) == (3, before), planned
        turn = planned.json
        assert turn["state"] == "AWAITING_APPROVAL"
        assert f"--digest {turn['digest']}" in turn["next"]
        done = stage.process("approve", "--digest", turn["digest"], "--build", "--json")
        assert (done.code, done.json["outcome"]) == (0, "done")
        assert stage.files()[b"greet.py"][2] == b'name = "world"\nprint("Hello, " + name)\n'
        went_on = stage.process("-c", "-p", "Thanks", "--json")
        assert (went_on.code, went_on.json["result"]) == (0, STORY[-1].text)
        told = _asked(server)[-1].body.decode()
        assert "greet.py" in told
        assert "Thanks" in told
        assert KEY not in json.dumps([planned.out.decode(), went_on.err.decode()])
        stage.undo()
        assert stage.files() == before


def test_f37_the_plan_that_is_reviewed_is_the_plan_that_is_hashed(stage: Stage) -> None:
    long = "# Long\n\n" + "".join(f"{n}. step {n}\n" for n in range(3000))
    answer = stage.play(
        {"calls": [{"tool": "write_plan", "args": {"text": long}}]},
        {"calls": [{"tool": "present_plan", "args": {}}]},
    )
    assert answer.code == 3
    shown = stage.run("review").out.decode()
    assert [line.removeprefix("│ ") for line in shown.splitlines() if line.startswith("│")] == (
        long.splitlines()
    )
    row = stage.ok("plan", "show")
    assert (stage.root / row["path"]).read_text(encoding="utf-8") == long


def test_f29_plans_are_listed_by_session_and_one_is_chosen(stage: Stage) -> None:
    for said in ("Add a login", "Tidy the tests"):
        texts: list[dict[str, object]] = [{"text": "# It\n"}, {"name": "more", "text": "# More\n"}]
        turns = [{"calls": [{"tool": "write_plan", "args": args}]} for args in texts]
        stage.play(*turns, {"text": "Done."}, said=said)
    plans = stage.ok("plan", "list")["plans"]
    assert [(plan["session"], plan["name"]) for plan in plans] == [
        ("tidy-the-tests", "more"),
        ("tidy-the-tests", "tidy_the_tests"),
        ("add-a-login", "more"),
        ("add-a-login", "add_a_login"),
    ]
    assert all(plan["path"].startswith(f".opencode/plans/{plan['session']}/") for plan in plans)
    stage.ok("plan", "use", "add-a-login/add_a_login")
    assert stage.ok("status")["plan"]["name"] == "add_a_login"


def test_todos_stay_beside_the_tasks_whatever_is_done_to_the_plan(stage: Stage) -> None:
    todos = [{"content": "Look", "status": "completed"}, {"content": "Write", "status": "pending"}]
    answer = stage.play(
        {"calls": [{"tool": "todo", "args": {"todos": todos}}]},
        {"calls": [{"tool": "write_plan", "args": {"text": "# It\n\n- [ ] first\n"}}]},
        {"text": "Done."},
    )
    plan = stage.root / ".opencode/assent/plans" / final(answer)["plan_id"]
    kept = json.loads((plan / "taskmap.json").read_bytes())
    assert (kept["todos"], kept["tasks"]) == (todos, [{"text": "first", "done": False}])
    stage.ok("propose")
    assert json.loads((plan / "taskmap.json").read_bytes()) == kept


def test_the_log_has_the_session_too(stage: Stage) -> None:
    answer = stage.play({"text": "x" * 1000})
    session = final(answer)["session"]
    events = stage.ok("log")["events"]
    own = [event["kind"] for event in events if event["session"] == session]
    assert {
        "session_started",
        "message_added",
        "step_started",
        "part_said",
        "step_ended",
        "turn_ended",
    } <= set(own)
    assert "… (500 more)" in stage.run("log").out.decode()


def test_a_model_names_a_session(stage: Stage) -> None:
    session = final(stage.play({"text": "Hello."}))["session"]
    model = ("--model", f"scripted:{stage.script}")
    assert stage.ok("sessions", "rename", session, *model)["title"] != ""
    assert stage.ok("sessions", "rename", session, "By hand")["title"] == "By hand"


MOVES: dict[str, list[tuple[str, dict[str, str]]]] = {
    "and a new file under the old name": [
        ("move", {"path": "a.py", "to": "c.py"}),
        ("write", {"path": "a.py", "content": "shim\n"}),
    ],
    "two files that change places": [
        ("move", {"path": "a.py", "to": "t.py"}),
        ("move", {"path": "b.py", "to": "a.py"}),
        ("move", {"path": "t.py", "to": "b.py"}),
    ],
    "there and further": [
        ("move", {"path": "a.py", "to": "c.py"}),
        ("write", {"path": "a.py", "content": "shim\n"}),
        ("move", {"path": "a.py", "to": "d.py"}),
    ],
}


@pytest.mark.parametrize("moves", MOVES.values(), ids=MOVES)
def test_whatever_a_turn_moved_can_be_taken_back(
    stage: Stage, moves: list[tuple[str, dict[str, str]]]
) -> None:
    stage.config.write_text(TRUSTING, encoding="utf-8")
    stage.put("a.py", b"a = 1\n")
    stage.put("b.py", b"b = 2\n")
    before = stage.files()
    settled = stage.called(*moves, options=("--mode", "auto-edit"))
    assert not any(end["result"]["failed"] for end in settled)
    assert stage.files() != before
    assert stage.undo().json["outcome"] == "done"
    assert stage.files() == before


def test_a_project_does_not_choose_the_provider(stage: Stage) -> None:
    """Whom the conversation goes to is the user's choice, whatever the repository wants."""
    with serving(Turn(Reply("Hello from the user's."))) as server, serving() as other:
        stage.config.write_text(
            f'model = "work/m"\n[providers.work]\nbase_url = "{server.url}/v1"\nwire = "chat"\n'
            f'[providers.else]\nbase_url = "{other.url}/v1"\nwire = "chat"\n',
            encoding="utf-8",
        )
        stage.env |= ALONE
        stage.put(".opencode/assent.toml", b'model = "else/m"\n')
        stage.put(".opencode/agents/plan.md", b"---\nmodel: else/m\n---\n")
        answer = stage.process("-p", "Hello there", "--json")
        assert (answer.code, answer.json["model"]) == (0, "work/m")
        assert other.heard == []
        assert answer.err.decode().count("else/m") == 2  # both wishes are told, and ignored
