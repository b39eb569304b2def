"""HTTP answers of the API: rows as JSON, and errors with their status."""

from starlette.responses import Response

from assent.core.errors import AssentError
from assent.render.rows import Row, encoded, error_row
from assent.web.errors import LoginSlowed, status_of


def json_response(row: Row, status: int = 200) -> Response:
    """Returns an answer of the API."""
    return Response(encoded(row), status, media_type="application/json")


def error_response(error: AssentError) -> Response:
    """Returns an error of the API: what happened, and what to do next."""
    response = json_response(error_row(error), status_of(error))
    if isinstance(error, LoginSlowed):
        response.headers["retry-after"] = str(error.wait)
    return response
