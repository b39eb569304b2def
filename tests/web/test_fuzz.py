"""The API fuzzed from its own OpenAPI document, as everybody who can call it: never a 500.

Every endpoint of the table is fuzzed, with data that fits its description and data that does not,
and with ids and digests that exist as well as made-up ones.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.cli.harness import World
from tests.cli.scripts import ALONE, MODEL, turn
from tests.web.harness import Client, Served, served, wait_for

EXAMPLES = int(os.environ.get("ASSENT_FUZZ", "2"))  # for each endpoint and mode
WAIT_S = 60
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
EVENTS = "/api/v1/events"
LOGIN = ("/login", "/logout")
Known = dict[str, list[str]]  # ids and digests by the name of the parameter or field


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Known]]:
    """A server in which a plan, a run, a session and a question exist."""
    world = World(Path(tmp_path_factory.mktemp("fuzz")))
    world.env |= ALONE
    ask = ("ask_user", {"questions": [{"question": "Which?", "options": [{"label": "One"}]}]})
    script = {"turns": [turn("Which one?", ask), turn("Thanks.")]}
    (world.root / "script.json").write_bytes(msgspec.json.encode(script))
    world.plan("done")
    world.write("done.txt", b"done\n")
    digest = world.propose()
    world.ok("approve", "--digest", digest)
    world.ok("build")
    world.plan("open")
    world.write("open.txt", b"open\n")
    world.propose()
    with served(world) as server:
        author = server.token("author", "seed")
        body = {"goal": "Ask me", "model": MODEL}
        session = author.post("/sessions", body, 202)["session"]
        wait_for(lambda: author.get(f"/sessions/{session}")["at_work_on"] is None, "its turn")
        yield server, _known(server, author)


def _known(server: Served, client: Client) -> Known:
    """Returns ids and digests that exist, as the API itself lists them."""
    document = client.get("/openapi.json")
    found: Known = {"n": ["1"]}
    for noun in ("plan", "session", "question", "run"):
        if f"/api/v1/{noun}s" in document["paths"]:
            rows = client.get(f"/{noun}s")[f"{noun}s"]
            found[noun] = [str(row[key]) for row in rows for key in (noun, "id") if row.get(key)]
    found["workspace"] = [str(client.get("/workspaces")["workspaces"][0]["workspace"])]
    found["digest"] = [str(row["digest"]) for row in client.get("/plans")["plans"]]
    return found


@pytest.mark.slow
def test_nothing_that_is_sent_causes_a_fault(fuzzed: tuple[Served, Known]) -> None:
    server, known = fuzzed
    callers = [server.token("viewer"), server.token("author", "author"), server.browser()]
    operations = [found.ok() for found in _schema(callers[0]).get_all_operations()]
    with requests.Session() as session:
        for operation in operations:
            if operation.path not in LOGIN:
                _fuzz(operation, callers, session, known)
    assert server.process.poll() is None
    assert [who.get("/access")["role"] for who in callers] == ["viewer", "author", "approver"]


def test_nothing_that_nobody_sends_causes_a_fault(fuzzed: tuple[Served, Known]) -> None:
    server, known = fuzzed
    schema = _schema(server.token("viewer", "reader"))
    with requests.Session() as session:
        for path in ("/logout", "/api/v1/plans"):
            for method in schema[path]:
                _fuzz(schema[path][method], [server.nobody], session, known)


def _schema(client: Client) -> Any:
    return schemathesis.openapi.from_dict(
        client.get("/openapi.json"), config=SchemathesisConfig.discover()
    )


def _fuzz(
    operation: Any, callers: Sequence[Client], session: requests.Session, known: Known
) -> None:
    """Sends cases of an operation, each of them as every caller: to make them takes longest."""
    for mode in MODES:

        @seed(0)
        @settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(operation.as_strategy(mode), st.data())
        def fuzz(case: Any, data: st.DataObject) -> None:
            _mix(case, data, known)
            for client in callers:
                _send(case, client, session)

        try:
            fuzz()
        except Exception as error:
            error.add_note(f"{operation.method} {operation.path} ({mode.value})")
            raise


def _mix(case: Any, data: st.DataObject, known: Known) -> None:
    """Puts ids and digests that exist into most cases: behind made-up ones there is little."""
    for part in (case.path_parameters, case.query, case.body):
        if isinstance(part, dict):
            for name in part.keys() & known.keys():
                if known[name] and data.draw(st.integers(0, 3)):
                    part[name] = data.draw(st.sampled_from(known[name]))


def _send(case: Any, client: Client, session: requests.Session) -> None:
    case.cookies = {}
    case.headers = {
        name: value
        for name, value in (case.headers or {}).items()
        if name.lower() not in ("authorization", "cookie", *client.headers)
    }
    session.cookies.clear()
    if case.operation.path != EVENTS:
        response = case.call(client.url, session, headers=client.headers, timeout=WAIT_S)
        case.validate_response(response, checks=CHECKS)
        return
    sent = case.as_transport_kwargs(base_url=client.url, headers=client.headers)
    with session.request(**sent, timeout=WAIT_S, stream=True) as response:
        assert str(response.status_code) in case.operation.definition.raw["responses"]
