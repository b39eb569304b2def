"""F99: a viewer reads, an author works, an approver alone decides; a token decides nothing."""

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from tests.cli.harness import World
from tests.web.harness import Client, served
from tests.web.small_server import SmallServer, small_server

from assent.core.access import ROLES
from assent.core.event import Role
from assent.render.rows import Row
from assent.web.api import ENDPOINTS
from assent.web.endpoint import ApiCall, Endpoint, Nothing

DONE: Row = {"done": True}
# What needs more than to read, and by whom it is decided. Everything else only reads.
AUTHOR = (
    "POST /plans/{}/propose", "POST /plans/{}/select", "POST /plans/{}/without",
    "POST /plans/{}/reject", "POST /plans/{}/rehearse",
    "POST /plans/{}/operations", "DELETE /plans/{}/operations/{}",
    "POST /plans/{}/comments", "PATCH /plans/{}/comments/{}",
    "DELETE /plans/{}/comments/{}",
    "POST /sessions", "POST /sessions/{}/messages", "POST /sessions/{}/cancel",
    "POST /sessions/{}/pause", "POST /sessions/{}/resume",
    "POST /sessions/{}/fork", "POST /sessions/{}/rewind",
    "PATCH /sessions/{}", "POST /questions/{}/answer",
    "DELETE /sessions/{}/messages/{}",
)  # fmt: skip
DECIDED = (
    "POST /plans/{}/approve", "POST /plans/{}/build", "POST /runs/{}/undo", "POST /runs/{}/redo",
    "POST /runs/{}/recover",
)  # fmt: skip
APPROVER = ("POST /plans/{}/rebase", "POST /plans/{}/discard")  # which change no file by themselves


def _answer(call: ApiCall[Nothing, Nothing]) -> Row:
    """Does it."""
    return DONE


TABLE = tuple(
    Endpoint("POST", f"/{role}/{'decides' if decides else 'works'}", "Test", role, _answer,
             decides=decides)
    for role in ROLES
    for decides in (False, True)
)  # fmt: skip


@pytest.fixture(scope="module")
def small() -> Iterator[SmallServer]:
    with small_server(TABLE) as found:
        yield found


@pytest.mark.parametrize("needed", ROLES)
@pytest.mark.parametrize("role", ROLES)
def test_f99_a_role_may_do_what_it_is_for(small: SmallServer, role: Role, needed: Role) -> None:
    allowed = ROLES.index(role) >= ROLES.index(needed)
    browser = small.browser(role)
    for path in (f"/{needed}/works", f"/{needed}/decides"):
        row = browser.post(path, {}, 200 if allowed else 403)
        assert row == DONE if allowed else row["error"] == "forbidden"


@pytest.mark.parametrize("may_decide", [False, True])
def test_f99_a_token_decides_only_if_the_user_says_so(may_decide: bool) -> None:
    with small_server(TABLE, tokens_decide=may_decide) as small:
        token = small.token("approver")
        assert token.post("/approver/works", {}) == DONE
        row = token.post("/approver/decides", {}, 200 if may_decide else 403)
        assert row == DONE if may_decide else row["error"] == "forbidden"
        author = small.token("author")
        author.post("/approver/decides", {}, 403)  # the role counts in any case


def test_f99_the_users_own_configuration_lets_tokens_decide(world: World) -> None:
    with served(world) as server:
        assert server.token("approver", "before").get("/access")["decides"] is False
    config = world.config.read_text("utf-8")
    world.config.write_text(f"{config}[serve]\ntoken_may_decide = true\n", "utf-8")
    with served(world) as server:
        assert server.token("approver", "after").get("/access")["decides"] is True
        assert server.token("author", "author").get("/access")["decides"] is False
        assert server.browser("author").get("/access")["decides"] is False


def test_f99_a_role_holds_until_it_is_revoked_and_is_never_raised(small: SmallServer) -> None:
    browser = small.browser("viewer")
    browser.headers["x-role"] = "approver"
    browser.request("POST", "/api/v1/author/works?role=approver", {"role": "approver"})
    assert browser.post("/author/works", {}, 403)["error"] == "forbidden"


def _named(endpoint: Endpoint) -> str:
    return re.sub(r"\{\w+\}", "{}", f"{endpoint.method} {endpoint.path}")


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=_named)
def test_f99_every_endpoint_needs_the_role_that_it_should(endpoint: Endpoint) -> None:
    name = _named(endpoint)
    if name in DECIDED:
        assert (endpoint.role, endpoint.decides) == ("approver", True)
    elif name in APPROVER:
        assert (endpoint.role, endpoint.decides) == ("approver", False)
    elif endpoint.method == "GET":
        assert (endpoint.role, endpoint.decides) == ("viewer", False)
    else:
        assert name in AUTHOR, f"{name} is new: who may do it?"
        assert (endpoint.role, endpoint.decides) == ("author", False)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=_named)
def test_f99_every_endpoint_refuses_who_may_not(endpoint: Endpoint) -> None:
    """Before it looks at anything that was sent, so that nothing is learned from the answer."""
    with small_server((endpoint,)) as server:
        path = endpoint.path.translate(str.maketrans("", "", "{}"))
        refused = Client(server.url).request(endpoint.method, f"/api/v1{path}", raw=b"{")
        assert (refused.status, refused.json["error"]) == (401, "not_logged_in")
        for role in get_args(Role):
            allowed = ROLES.index(role) >= ROLES.index(endpoint.role)
            for client in (server.browser(role), server.token(role)):
                if allowed and not (endpoint.decides and "authorization" in client.headers):
                    continue
                reply = client.request(endpoint.method, f"/api/v1{path}", raw=b"{")
                assert (reply.status, reply.json["error"]) == (403, "forbidden"), role
