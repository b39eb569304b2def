"""The API's endpoints by noun; `ENDPOINTS` is the whole table."""

from assent.web.api import configuration, files, plans, questions, server, sessions
from assent.web.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *server.ENDPOINTS,
    *configuration.ENDPOINTS,
    *files.ENDPOINTS,
    *plans.ENDPOINTS,
    *sessions.ENDPOINTS,
    *questions.ENDPOINTS,
)
