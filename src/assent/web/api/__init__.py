"""The API's endpoints by noun; `endpoints` is the whole table."""

from assent.web.api import plans, questions, server, sessions
from assent.web.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *server.ENDPOINTS,
    *plans.ENDPOINTS,
    *sessions.ENDPOINTS,
    *questions.ENDPOINTS,
)
