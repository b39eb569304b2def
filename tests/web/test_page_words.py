"""What pages say where it is easily wrong: nowhere, stopped runs, undos, sessions of plans."""

from tests.cli.harness import World
from tests.cli.scripts import PLANS
from tests.web.harness import Served, served
from tests.web.plan_calls import built, proposed
from tests.web.test_plan_pages import reader
from tests.web.test_runs import halting
from tests.web.test_sessions import idle, script, start


def test_who_reads_gets_a_page_where_there_is_none_and_a_program_json(server: Served) -> None:
    for path in ("/nothing", "/plans/x/y/z", "/login/x"):
        html = server.nobody.request("GET", path, headers={"accept": "text/html,*/*"})
        assert html.status == 404
        assert b"There is no page here." in html.body
        assert b'href="/"' in html.body
        assert server.nobody.request("GET", path).json["error"] == "not_found"
    api = server.nobody.request("GET", "/api/v1/nothing", headers={"accept": "text/html"})
    assert api.json["error"] == "not_found"


def test_a_run_that_stopped_says_so(server: Served) -> None:
    path, digest = halting(server.world, "test -e go")
    client = server.browser()
    run = built(client, path, digest)["run"]
    person = reader(server)
    html = person.open(f"/runs/{run}")
    assert "Stopped: choose how it goes on" in person.text
    assert 'data-outcome="">Stopped</span>' in html
    assert "Not finished" not in person.text


def test_an_undo_says_what_it_undoes_and_which_files_go(server: Served) -> None:
    path, digest = proposed(server.world)
    run = built(server.browser(), path, digest)["run"]
    person = reader(server)
    person.open(f"/runs/{run}/undo")
    assert "undo of write" in person.text
    assert "deleted file mode" in person.text


def test_a_plan_leads_to_its_session_and_offers_to_choose_only_another(world: World) -> None:
    script(world, *PLANS)
    with served(world) as server:
        client = server.browser()
        session = start(client, goal="Greet <b>people</b>")["session"]
        mine = idle(client, session)["plan_id"]
        person, watcher = reader(server), reader(server, "viewer")
        html = person.open(f"/plans/{mine}")
        assert f'<a href="/sessions/{session}"><bdi>Greet &lt;b&gt;people&lt;/b&gt;' in html
        assert "Make current" not in person.text
        other = world.plan("other")["plan_id"]
        person.open(f"/plans/{other}")
        assert "Make current" in person.text
        watcher.open(f"/sessions/{session}/rewind")
        assert "Rewind the conversation" not in watcher.text
        person.open(f"/sessions/{session}/rewind")
        assert "Rewind the conversation" in person.text
