"""The API's endpoints by noun; `ENDPOINTS` is the whole table."""

from assent.web.api import (
    comments,
    configuration,
    decisions,
    files,
    operations,
    plans,
    questions,
    rewind,
    runs,
    server,
    sessions,
)
from assent.web.endpoint import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (
    *server.ENDPOINTS,
    *configuration.ENDPOINTS,
    *files.ENDPOINTS,
    *plans.ENDPOINTS,
    *decisions.ENDPOINTS,
    *operations.ENDPOINTS,
    *comments.ENDPOINTS,
    *runs.ENDPOINTS,
    *sessions.ENDPOINTS,
    *rewind.ENDPOINTS,
    *questions.ENDPOINTS,
)
