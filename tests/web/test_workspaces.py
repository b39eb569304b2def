"""Several workspaces of one server: new ones without an id, and those that are added meanwhile."""

from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.harness import World
from tests.cli.scripts import MODEL, turn
from tests.web.harness import Client, served, wait_for
from tests.web.page_forms import Reader
from tests.web.test_sessions import idle, script, texts


@pytest.fixture
def other(world: World) -> World:
    """Another workspace of the same user."""
    found = World(world.base / "other")
    found.env |= {name: world.env[name] for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return found


def options(one: World, other: World) -> tuple[str, ...]:
    return "--workspace", str(one.root), "--workspace", str(other.root)


def test_a_session_is_started_in_a_workspace_that_has_no_id_yet(world: World, other: World) -> None:
    for each in (world, other):
        script(each, turn(f"In {each.root.parent.name}"))
    with served(world, *options(world, other)) as server:
        author = server.token("author")
        rows = author.get("/workspaces")["workspaces"]
        assert [row["workspace"] for row in rows] == [None, None]
        body = {"goal": "Greet", "model": MODEL}
        for unclear in ({}, {"workspace": ""}):
            assert author.post("/sessions", {**body, **unclear}, 400)["error"] == "usage"
        root = str(other.root)
        started = author.post("/sessions", {**body, "workspace": root}, 202)
        session = started["session"]
        idle(author, session)
        assert texts(author, session) == ["In other"]
        now = {row["root"]: row["workspace"] for row in author.get("/workspaces")["workspaces"]}
        assert now == {str(world.root): None, root: started["workspace"]}
        for name in (root, started["workspace"]):
            found = author.get(f"/sessions?workspace={quote(name)}")["sessions"]
            assert [each["session"] for each in found] == [session]
        assert author.get(f"/sessions?workspace={quote(str(world.root))}") == {"sessions": []}
        for wrong in (f"{root}/", str(other.root.parent), f"{root}/x"):
            said = author.post("/sessions", {**body, "workspace": wrong}, 404)
            assert said["error"] == "not_found"


def test_the_form_of_a_page_names_a_workspace_that_has_no_id_yet(
    world: World, other: World
) -> None:
    for each in (world, other):
        script(each, turn("One"))
    with served(world, *options(world, other)) as server:
        client = server.browser()
        reader = Reader(client)
        reader.open("/sessions")
        assert f'<option value="{other.root}"' in reader.html
        root = str(other.root)
        reader.send("/sessions", goal="Greet", model=MODEL, workspace=root, mode="plan")
        (session,) = client.get(f"/sessions?workspace={quote(str(other.root))}")["sessions"]
        idle(client, session["session"])
        for workspace in (world.root, other.root):  # one has an id by now
            reader.open(f"/sessions?workspace={quote(str(workspace))}")
            assert ("workspace=" in _follow(reader)) is (workspace == other.root)
            assert 'aria-current="true">project' in reader.html


def kinds(client: Client, session: str) -> set[str]:
    return {row["kind"] for row in client.get(f"/sessions/{session}/messages")["messages"]}


def _follow(reader: Reader) -> str:
    return reader.html.partition('data-follow="')[2].partition('"')[0]


def test_what_waits_in_a_workspace_goes_on_when_it_is_added(
    world: World, other: World, tmp_path: Path
) -> None:
    script(other, turn("One", ("shell", {"command": "sleep 600"})), turn("Two"))
    with served(world, *options(world, other)) as server:
        browser = server.browser()
        body = {"goal": "Greet", "model": MODEL, "workspace": str(other.root)}
        session = browser.post("/sessions", body, 202)["session"]
        wait_for(lambda: "call_started" in kinds(browser, session), "the call")
        server.kill()
    with served(world) as server:
        again = Client(server.url, browser.headers)
        again.get(f"/sessions/{session}", 404)
        world.ok("serve", "add", str(other.root))
        wait_for(lambda: texts(again, session)[-1:] == ["Two"], "the turn that was cut off")
        world.ok("serve", "add", str(other.root), "--remove")
        again.get(f"/sessions/{session}", 404)
