"""The API's endpoints by noun; `endpoints` is the whole table."""

from assent.web.api import comments, decisions, operations, plans, questions, runs, server, sessions
from assent.web.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *server.ENDPOINTS,
    *plans.ENDPOINTS,
    *decisions.ENDPOINTS,
    *operations.ENDPOINTS,
    *comments.ENDPOINTS,
    *runs.ENDPOINTS,
    *sessions.ENDPOINTS,
    *questions.ENDPOINTS,
)
