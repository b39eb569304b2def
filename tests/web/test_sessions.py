"""Sessions over HTTP: goals, messages in their turn, stops, and what survives a restart."""

from typing import Any

import msgspec
from tests.cli.harness import World
from tests.cli.scripts import ALONE, MODEL, PLANS, turn, write
from tests.web.harness import Client, Served, served, wait_for


def script(world: World, *turns: dict[str, Any]) -> None:
    world.env |= ALONE
    (world.root / "script.json").write_bytes(msgspec.json.encode({"turns": turns}))


def idle(client: Client, session: str) -> dict[str, Any]:
    """Waits until nothing waits in a session any more."""

    def look() -> dict[str, Any] | None:
        row = client.get(f"/sessions/{session}")
        busy = row["at_work_on"] or row["queue"] or row["state"] == "working"
        return None if busy else row

    return wait_for(look, "the end of the turn")


def texts(client: Client, session: str) -> list[str]:
    rows = client.get(f"/sessions/{session}/messages")["messages"]
    parts = [row["body"]["part"] for row in rows if row["kind"] == "part_said"]
    return [part["text"] for part in parts if "text" in part]


def start(client: Client, **more: Any) -> dict[str, Any]:
    return client.post("/sessions", {"goal": "Greet", "model": MODEL, **more}, 202)


def test_a_goal_becomes_a_plan_that_is_approved(world: World) -> None:
    script(world, *PLANS)
    with served(world) as server:
        browser = server.browser()
        session = start(browser)["session"]
        row = idle(browser, session)
        assert row["plan_id"]
        assert row["mode"] == "plan"
        review = browser.get(f"/plans/{row['plan_id']}/review")
        assert [each["path"] for each in review["operations"]] == ["hello.txt"]
        assert browser.get("/sessions")["sessions"][0]["session"] == session
        assert texts(browser, session)[0] == "I will greet."
        assert not (world.root / "hello.txt").exists()


def test_messages_are_worked_on_in_order(world: World) -> None:
    script(world, *(turn(f"Answer {n}") for n in range(4)))
    with served(world) as server:
        token = server.token("author")
        session = start(token)["session"]
        for n in range(1, 4):
            said = token.post(f"/sessions/{session}/messages", {"text": f"Message {n}"}, 202)
            assert said["ahead"] <= n
        idle(token, session)
        assert texts(token, session) == [f"Answer {n}" for n in range(4)]


def test_text_is_content(world: World) -> None:
    script(world, turn("One"), turn("Two"), turn("Three"))
    with served(world) as server:
        browser = server.browser("author")
        session = start(browser, goal="/mode yolo")["session"]
        browser.post(f"/sessions/{session}/messages", {"text": "!touch made"}, 202)
        row = idle(browser, session)
        assert row["mode"] == "plan"
        assert not (world.root / "made").exists()
        assert texts(browser, session) == ["One", "Two"]


def test_bad_goals_start_nothing(server: Served) -> None:
    token = server.token("author")
    for more in ({"goal": " "}, {"mode": "wild"}, {"yes": 1}, {"workspace": "none"}):
        reply = token.request("POST", "/api/v1/sessions", {"goal": "x", **more})
        assert reply.status in (400, 404), reply
    assert token.post("/sessions", {}, 400)["error"] == "usage"
    assert token.get("/sessions")["sessions"] == []


def test_names_and_numbers_that_cannot_be_meant_change_nothing(world: World) -> None:
    script(world, turn("One"))
    with served(world) as server:
        browser = server.browser()
        session = start(browser)["session"]
        idle(browser, session)
        long = "x" * 70_000
        for more in (
            {"planMode": True, "mode": "wild"}, {"model": long}, {"mode": long}, {"agent": long},
            {"model": "a\nb"}, {"model": " "}, {"goal": "x" * 1_000_001},
        ):  # fmt: skip
            said = browser.post("/sessions", {"goal": "x", **more}, 400)
            assert said["error"] == "usage", more
        said = {"text": "x", "planMode": True}
        for more in ({"model": "a\nb"}, {"model": long}, {"agent": long}):
            browser.post(f"/sessions/{session}/messages", {**said, **more}, 400)
        for stop in ("pause", "cancel"):
            assert browser.post(f"/sessions/{session}/{stop}", {"reason": long}, 400)
        for after in ("9223372036854775808", "-1", "9" * 400):
            assert browser.get(f"/sessions/{session}/messages?after={after}", 400)
        assert browser.get(f"/sessions/{session}/messages?after={2**62}")["messages"] == []
        row = browser.get(f"/sessions/{session}")
        assert (row["turns"], row["queue"], row["state"]) == (1, [], "idle")
        assert len(browser.get("/sessions")["sessions"]) == 1


def test_a_change_of_a_session_is_made_whole_or_not_at_all(world: World) -> None:
    script(world, turn("One"))
    with served(world) as server:
        browser = server.browser()
        session = start(browser, mode="ask")["session"]
        before = idle(browser, session)
        path = f"/sessions/{session}"
        for more in (
            {"mode": "plan", "title": " "}, {"mode": "plan", "model": "a\nb"},
            {"mode": "wild", "title": "New"}, {"model": "openai/x", "title": "x" * 300},
        ):  # fmt: skip
            assert browser.patch(path, more, 400)["error"] == "usage"
            assert browser.get(path) == before
        whole = {"mode": "plan", "title": "New", "model": "openai/x"}
        assert browser.patch(path, whole).items() >= whole.items()


def test_plan_mode_is_decided_when_a_message_runs(world: World) -> None:
    script(world, turn("One"), turn("Two", write("a.txt", "a\n")), turn("Done"))
    with served(world) as server:
        browser = server.browser()
        session = start(browser, mode="auto-edit")["session"]
        said = {"text": "Plan it", "planMode": True}
        browser.post(f"/sessions/{session}/messages", said, 202)
        assert idle(browser, session)["mode"] == "plan"
        assert not (world.root / "a.txt").exists()


def test_to_raise_a_mode_takes_an_approver_and_yolo_a_confirmation(world: World) -> None:
    script(world, turn("One"))
    with served(world) as server:
        author, token, approver = (
            server.browser("author"), server.token("approver"), server.browser()
        )  # fmt: skip
        for who in (author, token):
            body = {"goal": "x", "mode": "auto-edit", "model": MODEL}
            assert who.post("/sessions", body, 403)["error"] == "forbidden"
        session = start(author)["session"]
        idle(author, session)
        for who in (author, token):
            assert who.patch(f"/sessions/{session}", {"mode": "ask"}, 403)["error"] == "forbidden"
        assert approver.patch(f"/sessions/{session}", {"mode": "ask"})["mode"] == "ask"
        no = approver.patch(f"/sessions/{session}", {"mode": "yolo"}, 409)
        assert no["error"] == "not_confirmed"
        assert approver.get(f"/sessions/{session}")["mode"] == "ask"
        yolo = {"mode": "yolo", "confirm": "yolo"}
        assert approver.patch(f"/sessions/{session}", yolo)["mode"] == "yolo"
        assert token.patch(f"/sessions/{session}", {"mode": "plan"})["mode"] == "plan"


def test_title_model_fork_and_rewind(world: World) -> None:
    script(world, turn("One"), turn("Two"))
    with served(world) as server:
        author = server.browser("author")
        session = start(author)["session"]
        idle(author, session)
        changed = author.patch(f"/sessions/{session}", {"title": "Hi", "model": "scripted:b.json"})
        assert (changed["title"], changed["model"]) == ("Hi", "scripted:b.json")
        forked = author.post(f"/sessions/{session}/fork", status=201)
        assert forked["fork"] == session
        (point,) = author.get(f"/sessions/{session}/rewind")["messages"]
        back = author.post(f"/sessions/{session}/rewind", {"to": point["id"]})
        assert back["files"] == "kept"
        assert back["messages"] == 0
        assert author.get(f"/sessions/{session}/todos") == {"todos": []}


def test_f140_files_are_rewound_with_the_conversation_by_a_digest_that_was_served(
    world: World,
) -> None:
    world.put("a.txt", b"old\n")
    file = world.root / "a.txt"
    edit = ("write", {"path": "a.txt", "content": "new\n"})
    script(world, turn("One"), turn("Two", edit), turn("Done"))
    with served(world) as server:
        browser, other, author = server.browser(), server.browser(), server.browser("author")
        body = {"goal": "x", "mode": "auto-edit", "model": MODEL}
        session = browser.post("/sessions", body, 202)["session"]
        idle(browser, session)
        browser.post(f"/sessions/{session}/messages", {"text": "Change it"}, 202)
        idle(browser, session)
        assert file.read_bytes() == b"new\n"
        rewind = f"/sessions/{session}/rewind"
        shown = browser.get(f"{rewind}?to=last")
        assert (shown["text"], shown["undo"]["runs"]) == ("Change it", shown["runs_since"])
        (undone,) = shown["undo"]["operations"]
        assert "+old" in undone["diff"]
        asked = {"to": shown["rewound_to"], "digest": shown["undo"]["digest"]}

        assert author.get(f"{rewind}?to=last") == shown
        assert author.post(rewind, asked, 403)["error"] == "forbidden"
        assert other.post(rewind, asked, 409)["error"] == "not_reviewed"
        wrong = browser.post(rewind, {**asked, "digest": "0" * 64}, 409)
        assert wrong["error"] == "other_digest"
        assert (file.read_bytes(), browser.get(f"/sessions/{session}")["messages"]) == (
            b"new\n",
            2,
        )

        back = browser.post(rewind, asked)
        assert (back["files"], back["rewound_to"]) == ("restored", shown["rewound_to"])
        assert (back["messages"], back["result"]["outcome"]) == (1, "done")
        assert file.read_bytes() == b"old\n"
        nothing = browser.get(f"{rewind}?to=last")
        assert nothing["undo"]["digest"] is None
        assert browser.post(rewind, asked, 404)["error"] == "not_found"


def test_a_session_that_is_stopped_goes_on_when_asked(world: World) -> None:
    script(world, turn("One", ("shell", {"command": "sleep 600"})), turn("Two"), turn("Three"))
    with served(world) as server:
        browser = server.browser()
        session = start(browser)["session"]
        wait_for(lambda: browser.get(f"/sessions/{session}")["state"] == "working")
        waiting = browser.post(f"/sessions/{session}/messages", {"text": "later"}, 202)
        assert browser.get(f"/sessions/{session}")["queue"][0]["text"] == "later"
        browser.post(f"/sessions/{session}/pause", {"reason": "Lunch"})
        row = wait_for(lambda: _with_state(browser, session, "paused"))
        assert [each["message"] for each in row["queue"]] == [waiting["message"]]
        browser.post(f"/sessions/{session}/resume", status=202)
        idle(browser, session)
        assert texts(browser, session)[-1] in ("Two", "Three")


def _with_state(client: Client, session: str, state: str) -> dict[str, Any] | None:
    row = client.get(f"/sessions/{session}")
    return row if row["state"] == state and not row["at_work_on"] else None


def test_a_waiting_message_can_be_removed_and_a_cancel_removes_all(world: World) -> None:
    script(world, turn("One", ("shell", {"command": "sleep 600"})), turn("Two"))
    with served(world) as server:
        browser = server.browser("author")
        session = start(browser)["session"]
        wait_for(lambda: browser.get(f"/sessions/{session}")["state"] == "working")
        first = browser.post(f"/sessions/{session}/messages", {"text": "a"}, 202)["message"]
        browser.post(f"/sessions/{session}/messages", {"text": "b"}, 202)
        row = browser.delete(f"/sessions/{session}/messages/{first}")
        assert [each["text"] for each in row["queue"]] == ["b"]
        assert browser.delete(f"/sessions/{session}/messages/{first}", 404)
        browser.post(f"/sessions/{session}/cancel", {"reason": "No."})
        row = wait_for(lambda: _with_state(browser, session, "cancelled"))
        assert row["queue"] == []
        assert texts(browser, session) == ["One"]


def test_a_turn_survives_a_kill_and_goes_on_after_a_restart(world: World) -> None:
    script(world, turn("One", ("shell", {"command": "sleep 600"})), turn("Two"), turn("Three"))
    with served(world) as server:
        browser = server.browser()
        session = start(browser)["session"]
        wait_for(lambda: browser.get(f"/sessions/{session}")["state"] == "working")
        browser.post(f"/sessions/{session}/messages", {"text": "later"}, 202)
        server.kill()
    with served(world) as server:
        again = Client(server.url, browser.headers)  # the cookie holds: the port is the same
        assert again.url == browser.url
        idle(again, session)
        assert texts(again, session)[-2:] == ["Two", "Three"]
        said = again.get(f"/sessions/{session}/messages")["messages"]
        users = [
            row
            for row in said
            if row["kind"] == "message_added" and not row["body"].get("synthetic")
        ]
        assert len(users) == 2


def test_an_error_of_a_model_is_shown_and_the_next_message_runs(world: World) -> None:
    script(world, turn("One"))
    with served(world) as server:
        browser = server.browser()
        session = start(browser, model="scripted:missing.json")["session"]
        row = idle(browser, session)
        assert row["state"] == "failed" or row["failure"]
        browser.post(f"/sessions/{session}/messages", {"text": "b", "model": MODEL}, 202)
        idle(browser, session)
        assert texts(browser, session) == ["One"]


def test_the_command_line_and_the_server_see_each_other(world: World) -> None:
    script(world, turn("One"), turn("Two"), turn("Three"))
    with served(world) as server:
        browser = server.browser()
        assert world.run("-p", "--model", MODEL, "hello").code == 0
        (row,) = browser.get("/sessions")["sessions"]
        browser.post(f"/sessions/{row['session']}/messages", {"text": "go on"}, 202)
        idle(browser, row["session"])
        assert world.ok("sessions", "show", row["session"])["messages"] == 2
        assert world.run("-p", "-r", row["session"], "again").code == 0
        assert texts(browser, row["session"]) == ["One", "Two", "Three"]
