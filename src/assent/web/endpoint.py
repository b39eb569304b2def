"""An endpoint of the API: its path, who may call it, what it takes, and what it answers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec

from assent.core.access import Access
from assent.core.decoding import convert, decode_json
from assent.core.errors import UsageError
from assent.core.event import Role
from assent.render.rows import Row
from assent.web.review_memory import ALL, Served

if TYPE_CHECKING:
    from assent.web.server import Server

Method: TypeAlias = Literal["GET", "POST", "PATCH", "DELETE"]
Query = TypeVar("Query")
Body = TypeVar("Body")

MAX_NUMBER: Final = 2**62  # of anything that is counted; what is larger can only be a mistake
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
API: Final = "/api/v1"
DOCS_COMMAND: Final = f"GET {API}/openapi.json"


class Nothing(msgspec.Struct, frozen=True):
    """No fields: what an endpoint takes that needs nothing."""


class ApiCall(msgspec.Struct, Generic[Query, Body], frozen=True):
    """One call: who calls, and what was sent, decoded and checked."""

    server: "Server"
    access: Access
    path: dict[str, str]
    query: Query
    body: Body
    csrf: str = ""  # what changes by this cookie must carry
    shows: bool = True  # the answer is what the caller sees, all of it

    def note_served(self, subject: str, digest: str, served: Served = ALL) -> None:
        """Notes that the caller was shown something that can be decided by its digest."""
        if self.shows:
            self.server.reviewed.note(self.access.access, subject, digest, served)

    @property
    def by(self) -> str:
        """Who calls, as records name them."""
        return f"web, {self.access.name}"

    def check(self, role: Role, *, decides: bool) -> None:
        """Raises Forbidden unless the caller may do what needs this role."""
        self.server.check_role(self.access, role, decides=decides)


class Answer(msgspec.Struct, frozen=True):
    """An answer with another status than 200."""

    row: Row
    status: int = 200


class Endpoint(msgspec.Struct, frozen=True):
    """One row of the API; `decides` marks what a token may not do unless the user allows it."""

    method: Method
    path: str
    summary: str
    role: Role
    run: Callable[[Any], Row | Answer]
    query: type = Nothing
    body: type = Nothing
    decides: bool = False
    status: int = 200  # of an answer without an error
    answer: type = Nothing  # what it answers then, as the document describes it

    @property
    def operation_id(self) -> str:
        return f"{self.method.lower()}{self.path.replace('/', '_').translate(_NO_BRACES)}"


_NO_BRACES = str.maketrans("", "", "{}")


def decoded_query(kind: type[Query], pairs: Sequence[tuple[str, str]]) -> Query:
    """Returns the query of a URL as a value; raises UsageError for what does not belong there."""
    given = dict(pairs)
    if len(given) != len(pairs):
        raise UsageError("A query parameter was given twice.", DOCS_COMMAND)
    unknown = sorted(given.keys() - {field.encode_name for field in msgspec.structs.fields(kind)})  # type: ignore[arg-type]
    if unknown:
        raise UsageError(f"Unknown query parameter {unknown[0]!a}.", DOCS_COMMAND)
    try:
        return convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"The query is not valid: {error}.", DOCS_COMMAND) from error


def decoded_body(kind: type[Body], sent: bytes) -> Body:
    """Returns the body of a request as a value; raises UsageError if it is not one."""
    try:
        return decode_json(sent.strip() or b"{}", kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"The body is not valid: {error}.", DOCS_COMMAND) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("The body is not JSON in UTF-8.", DOCS_COMMAND) from error
