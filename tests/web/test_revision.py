"""A rejection on a page: the model revises at once where its session rests, and only there."""

from typing import Any

from tests.cli.harness import World
from tests.cli.scripts import PRESENT, Talker, turn, write
from tests.web.harness import Client, Served, served, wait_for
from tests.web.test_plan_pages import reader
from tests.web.test_sessions import idle, script, start, texts

PLAN = (
    turn("I greet.", ("write_plan", {"text": "# Greet\n\n1. Greet\n"}), write("a.txt", "HELLO\n")),
    turn("Here it is.", PRESENT),
)
REVISED = (
    turn("Quieter.", write("a.txt", "hello\n")),
    turn("Here it is again.", PRESENT),
    turn("Nobody asked."),
)


def planned(client: Client) -> tuple[str, str]:
    """Has a plan written and presented; returns the session, and the path of the plan's page."""
    session = start(client)["session"]
    return session, f"/plans/{idle(client, session)['plan_id']}"


def rejected(server: Served, path: str) -> str:
    """Rejects a plan on its page, and returns what the page that follows says."""
    person = reader(server)
    person.open(f"{path}/review")
    person.send("/reject", notes="Quieter, please")
    return person.text


def turns(client: Client, session: str) -> int:
    found: int = idle(client, session)["turns"]
    return found


def presented_again(client: Client, session: str) -> Any:
    return wait_for(lambda: "Here it is again." in texts(client, session), "the revision")


def test_f38_f57_after_a_rejection_the_model_revises_without_another_message(world: World) -> None:
    script(world, *PLAN, *REVISED)
    with served(world) as server:
        client = server.browser()
        session, path = planned(client)
        rejected(server, path)
        presented_again(client, session)
        assert turns(client, session) == 2
        (said,) = [each for each in messages(client, session) if "Quieter, please" in each]
        assert client.get(path)["state"] == "AWAITING_APPROVAL"
        (row,) = client.get(f"{path}/review")["operations"]
        assert "+hello" in row["diff"]
        assert said


def messages(client: Client, session: str) -> list[str]:
    rows = client.get(f"/sessions/{session}/messages")["messages"]
    added = [row["body"] for row in rows if row["kind"] == "message_added"]
    return [part["text"] for body in added for part in body["parts"]]


def test_what_a_rejection_began_goes_on_once_after_a_crash(world: World) -> None:
    slow = {**REVISED[0], "delay_ms": 500}
    script(world, *PLAN, slow, *REVISED[1:])
    with served(world) as server:
        client = server.browser()
        session, path = planned(client)
        rejected(server, path)
        wait_for(lambda: client.get(f"/sessions/{session}")["turns"] == 2, "the second turn")
        server.kill()
    with served(world) as server:
        client = server.browser()
        presented_again(client, session)
        idle(client, session)
        assert "Nobody asked." not in texts(client, session)
        assert client.get(path)["state"] == "AWAITING_APPROVAL"


def test_a_session_that_a_person_stopped_stays_stopped(world: World) -> None:
    script(world, *PLAN, *REVISED)
    with served(world) as server:
        client = server.browser()
        session, path = planned(client)
        client.post(f"/sessions/{session}/pause", {})
        told = rejected(server, path)
        assert "The model reads your feedback when its session goes on." in told
        row = client.get(f"/sessions/{session}")
        assert (row["turns"], row["state"], row["queue"]) == (1, "paused", [])
        client.post(f"/sessions/{session}/resume", status=202)
        presented_again(client, session)


def test_a_session_of_the_command_line_is_left_to_it(world: World) -> None:
    talker = Talker(world)
    talker.script(*PLAN, *REVISED)
    found = talker.json("Greet", code=3)
    with served(world) as server:
        client = server.browser()
        path = f"/plans/{found['plan_id']}"
        told = rejected(server, path)
        assert "The model reads your feedback when its session goes on." in told
        (row,) = client.get("/sessions")["sessions"]
        assert (row["turns"], row["queue"], row["at_work_on"]) == (1, [], None)
        assert client.get(path)["state"] == "DRAFTING"


def test_a_program_that_rejects_says_itself_what_comes_next(world: World) -> None:
    script(world, *PLAN, *REVISED)
    with served(world) as server:
        client = server.browser()
        session, path = planned(client)
        digest = client.get(path)["digest"]
        server.token("author").post(f"{path}/reject", {"digest": digest, "note": "Quieter"})
        assert turns(client, session) == 1
