"""Questions over HTTP: what a model and the gate ask, who may answer, and that work goes on."""

from typing import Any

from tests.cli.harness import World
from tests.cli.scripts import MODEL, turn
from tests.web.harness import Client, served, wait_for
from tests.web.test_sessions import idle, script, start, texts

ASK = ("ask_user", {"questions": [{"header": "Color", "question": "Which color?",
                                   "options": [{"label": "Red"}, {"label": "Blue"}]}]})  # fmt: skip


def the_question(client: Client) -> dict[str, Any]:
    (found,) = wait_for(lambda: client.get("/questions")["questions"], "a question")
    assert isinstance(found, dict)
    return found


def test_a_models_question_is_answered_and_the_session_goes_on(world: World) -> None:
    script(world, turn("Let me ask.", ASK), turn("Blue it is."))
    with served(world) as server:
        viewer, author = server.browser("viewer"), server.browser("author")
        session = start(author)["session"]
        asked = the_question(viewer)
        path = f"/questions/{asked['id']}/answer"
        assert viewer.post(path, {"digest": asked["digest"], "answer": "Blue"}, 403)
        assert (
            author.post(path, {"digest": "0" * 64, "answer": "Blue"}, 409)["error"]
            == "other_digest"
        )
        given = author.post(path, {"digest": asked["digest"], "answer": "Blue"})
        assert given["answers"] == [["Blue"]]
        assert "web" in given["by"]
        assert author.post(path, {"digest": asked["digest"], "answer": "Red"}, 409)
        idle(author, session)
        assert texts(author, session)[-1] == "Blue it is."


def test_a_permission_is_given_by_an_approver_and_never_by_a_token(world: World) -> None:
    script(world, turn("I write.", ("shell", {"command": "touch made"})), turn("Done."))
    with served(world) as server:
        author, token, approver = (
            server.browser("author"), server.token("approver"), server.browser()
        )  # fmt: skip
        session = start(approver, mode="ask")["session"]
        asked = the_question(author)
        path, body = (
            f"/questions/{asked['id']}/answer",
            {"digest": asked["digest"], "answer": "yes"},
        )
        for who in (author, token):
            assert who.post(path, body, 403)["error"] == "forbidden"
        assert not (world.root / "made").exists()
        assert approver.post(path, body)["yes"] is True
        idle(approver, session)
        assert (world.root / "made").exists()


def test_f86_a_message_beside_a_question_reaches_the_model(world: World) -> None:
    script(world, turn("I write.", ("shell", {"command": "touch made"})), turn("Another name."))
    with served(world) as server:
        browser = server.browser()
        session = start(browser, mode="ask")["session"]
        asked = the_question(browser)
        browser.post(f"/sessions/{session}/messages", {"text": "Use another name"}, 202)
        idle(browser, session)
        body = {"digest": asked["digest"], "answer": "no"}
        assert browser.post(f"/questions/{asked['id']}/answer", body)["yes"] is False
        wait_for(lambda: texts(browser, session)[-1] == "Another name.", "an answer to the message")
        assert idle(browser, session)["state"] == "idle"
        assert not (world.root / "made").exists()


def test_a_no_with_words_reaches_the_model_after_a_restart(world: World) -> None:
    script(world, turn("I write.", ("shell", {"command": "touch made"})), turn("Understood."))
    with served(world) as server:
        browser = server.browser()
        session = start(browser, mode="ask")["session"]
        asked = the_question(browser)
        server.kill()
    with served(world) as server:
        again = Client(server.url, browser.headers)
        body = {"digest": asked["digest"], "text": "Use another name"}
        assert again.post(f"/questions/{asked['id']}/answer", body)["yes"] is False
        wait_for(lambda: texts(again, session)[-1] == "Understood.", "an answer to the no")
        idle(again, session)
        assert not (world.root / "made").exists()


def test_what_the_command_line_answers_goes_on_there(world: World) -> None:
    script(world, turn("Let me ask.", ASK), turn("Red it is."))
    with served(world) as server:
        author = server.browser("author")
        session = start(author)["session"]
        asked = the_question(author)
        world.ok("questions", "answer", asked["id"], "Red")
        assert author.get("/questions")["questions"] == []
        author.post(f"/sessions/{session}/resume", status=202)
        idle(author, session)
        assert texts(author, session)[-1] == "Red it is."


def test_unknown_questions_and_bad_answers(world: World) -> None:
    script(world, turn("I write.", ("shell", {"command": "touch made"})), turn("Done."))
    with served(world) as server:
        approver = server.browser()
        assert approver.post("/questions/none/answer", {"digest": "x"}, 404)["error"] == "not_found"
        start(approver, mode="ask", model=MODEL)
        asked = the_question(approver)
        path = f"/questions/{asked['id']}/answer"
        for more in ({"answer": ["yes", "yes"]}, {"answer": "session", "pattern": "nothing *"}):
            assert approver.post(path, {"digest": asked["digest"], **more}, 400)["error"] == "usage"
        assert approver.get(f"/questions/{asked['id']}")["standing"] == "open"
