"""What widens a session over HTTP: agents, forks and rewinds; an approver's cookie alone may."""

from typing import Any

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.scripts import MODEL, turn
from tests.web.harness import Client, Served, served
from tests.web.test_questions import the_question
from tests.web.test_sessions import idle, script, start, texts

FREE = (
    "---\ndescription: Asks about nothing.\npermission:\n  bash: allow\n  edit: allow\n---\nWork.\n"
)
QUIET = "---\ndescription: Says little.\n---\nWork.\n"
SHELL = ("shell", {"command": "touch made"})


@pytest.fixture
def world(world: World) -> World:
    """A user with two agents, one of which need not ask, and sessions that begin in ask mode."""
    agents = world.config.parent / "agents"
    agents.mkdir()
    (agents / "free.md").write_text(FREE, "utf-8")
    (agents / "quiet.md").write_text(QUIET, "utf-8")
    world.config.write_text(f'mode = "ask"\n{TRUSTING}', "utf-8")
    return world


def say(client: Client, session: str, agent: str, status: int = 202) -> dict[str, Any]:
    return client.post(f"/sessions/{session}/messages", {"text": "Go", "agent": agent}, status)


def authors(server: Served) -> tuple[Client, ...]:
    return server.browser("author"), server.token("author"), server.token("approver", "other")


def test_an_agent_that_allows_more_is_an_approvers_choice(world: World) -> None:
    script(world, turn("One"), turn("I try.", SHELL), turn("Done"))
    with served(world) as server:
        approver = server.browser()
        session = start(approver)["session"]
        idle(approver, session)
        for who in authors(server):
            body = {"goal": "x", "model": MODEL, "agent": "free"}
            assert who.post("/sessions", body, 403)["error"] == "forbidden"
            assert say(who, session, "free", 403)["error"] == "forbidden"
        assert [each["session"] for each in approver.get("/sessions")["sessions"]] == [session]
        say(approver, session, "free")
        assert idle(approver, session)["agent"] == "free"
        assert texts(approver, session)[-1] == "Done"
        assert (world.root / "made").exists()


def test_an_author_chooses_agents_that_can_do_no_more(world: World) -> None:
    script(world, *(turn(f"Answer {n}") for n in range(4)))
    with served(world) as server:
        author, approver = server.browser("author"), server.browser()
        session = start(author, agent="quiet")["session"]
        idle(author, session)
        say(author, session, "build")
        say(author, session, "explore")
        assert say(author, session, "build", 403)["error"] == "forbidden"  # it comes after explore
        assert idle(author, session)["agent"] == "explore"
        assert say(author, session, "build", 403)["error"] == "forbidden"
        say(approver, session, "build")
        assert idle(author, session)["agent"] == "build"
        for body in (
            {"goal": "x", "agent": "none"},
            {"goal": "x", "agent": "none", "planMode": True},
        ):
            assert approver.post("/sessions", body, 400)["error"] == "usage"
        assert say(approver, session, "none", 400)["error"] == "usage"


def test_remembered_answers_of_another_agent_are_an_approvers_choice(world: World) -> None:
    script(world, turn("I try.", SHELL), turn("Done"))
    with served(world) as server:
        author, approver = server.browser("author"), server.browser()
        quiet = start(approver, agent="quiet")["session"]
        asked = the_question(approver)
        approver.post(f"/sessions/{quiet}/cancel")
        idle(approver, quiet)
        say(author, quiet, "build")
        asked = the_question(approver)
        always = [each["pattern"] for each in asked["questions"][0]["always"]]
        body = {"digest": asked["digest"], "answer": "project", "pattern": always}
        assert approver.post(f"/questions/{asked['id']}/answer", body)["yes"] is True
        idle(approver, quiet)
        other = start(author, agent="quiet")["session"]
        assert say(author, other, "build", 403)["error"] == "forbidden"


def test_a_fork_begins_in_no_higher_mode_than_the_configured_one(world: World) -> None:
    world.config.write_text(TRUSTING, "utf-8")
    script(world, turn("One"), turn("Two"))
    with served(world) as server:
        approver = server.browser()
        session = start(approver)["session"]
        idle(approver, session)
        approver.patch(f"/sessions/{session}", {"mode": "auto-edit"})
        for who in authors(server):
            assert who.post(f"/sessions/{session}/fork", status=403)["error"] == "forbidden"
        assert len(approver.get("/sessions")["sessions"]) == 1
        assert approver.post(f"/sessions/{session}/fork", status=201)["mode"] == "ask"
        approver.patch(f"/sessions/{session}", {"mode": "plan"})
        author = server.browser("author")
        assert author.post(f"/sessions/{session}/fork", status=201)["mode"] == "plan"


def test_a_rewind_brings_back_no_agent_that_allows_more(world: World) -> None:
    script(world, turn("One"), turn("Two"), turn("Three"))
    with served(world) as server:
        approver = server.browser()
        session = start(approver, agent="free")["session"]
        idle(approver, session)
        say(approver, session, "build")
        idle(approver, session)
        path = f"/sessions/{session}/rewind"
        first, second = approver.get(path)["messages"]
        for who in authors(server):
            assert who.post(path, {"to": second["id"]}, 403)["error"] == "forbidden"
        assert approver.get(f"/sessions/{session}")["messages"] == 2
        assert approver.post(path, {"to": second["id"]})["agent"] == "free"
        author = server.browser("author")
        assert author.post(path, {"to": first["id"]})["messages"] == 0
