"""The shortest story over HTTP: a server starts, somebody logs in, and sees a plan."""

from tests.web.harness import Served


def test_a_browser_logs_in_and_sees_a_plan(server: Served) -> None:
    server.world.plan()
    server.world.write("a.txt", b"a\n")
    digest = server.world.propose()
    browser = server.browser()
    (plan,) = browser.get("/plans")["plans"]
    assert browser.get(f"/plans/{plan['plan_id']}/review")["digest"] == digest


def test_nobody_sees_anything(server: Served) -> None:
    assert server.nobody.get("/plans", 401)["error"] == "not_logged_in"


def test_a_token_reads_and_a_wrong_one_does_not(server: Served) -> None:
    token = server.token("viewer")
    assert token.get("/access")["kind"] == "token"
    token.headers["authorization"] += "x"
    assert token.get("/access", 401)["error"] == "not_logged_in"
