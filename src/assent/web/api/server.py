"""Endpoints about the server itself: its workspaces, what waits in them, and who is calling."""

from typing import TYPE_CHECKING

import msgspec

from assent.core.paths import display_path
from assent.core.text.hidden_chars import visible_path
from assent.render.pending_decisions import pending_decision_rows
from assent.render.rows import Row, path_fields
from assent.web.answers import AccessAnswer, WaitingAnswer, WorkspacesAnswer
from assent.web.endpoint import ApiCall, Endpoint, Nothing

if TYPE_CHECKING:
    from assent.app.engine import Engine


class OfWorkspace(msgspec.Struct, frozen=True):
    """Which workspace a list is of; by default, of all that are served."""

    workspace: str = ""


def access(call: ApiCall[Nothing, Nothing]) -> Row:
    """Who you are: a cookie or a token, its role and its name."""
    mine = call.access
    return {
        "csrf": call.csrf or None,  # for changes by cookie
        "kind": mine.kind,
        "name": mine.name,
        "role": mine.role,
        "granted_at": mine.granted_at,
        "expires_at": mine.expires_at or None,
        "decides": mine.may(
            "approver", decides=True, tokens_decide=call.server.options.tokens_decide
        ),
    }


def workspaces(call: ApiCall[Nothing, Nothing]) -> Row:
    """The workspaces that are served, with how much waits in each."""
    return {"workspaces": [_workspace(engine) for engine in call.server.engines()]}


def _workspace(engine: "Engine") -> Row:
    return {
        "workspace": engine.workspace or None,
        **path_fields("root", engine.root),
        "name": visible_path(engine.root.rpartition(b"/")[2]) or display_path(engine.root),
        "waiting": len(engine.waiting()),
    }


def waiting(call: ApiCall[OfWorkspace, Nothing]) -> Row:
    """Everything that waits for a person, oldest first, over all workspaces."""
    found: list[Row] = []
    for engine in call.server.engines(call.query.workspace):
        now = engine.pending_questions.clock.now()
        rows = pending_decision_rows(engine.waiting(), now)
        found += [{"workspace": engine.workspace, **row} for row in rows]
    return {"waiting": sorted(found, key=lambda row: str(row["at"]))}


ENDPOINTS = (
    Endpoint("GET", "/access", "Who you are", "viewer", access, answer=AccessAnswer),
    Endpoint("GET", "/workspaces", "The workspaces that are served", "viewer", workspaces,
             answer=WorkspacesAnswer),
    Endpoint(
        "GET", "/waiting", "Everything that waits for a person", "viewer", waiting, OfWorkspace,
        answer=WaitingAnswer,
    ),
)  # fmt: skip
