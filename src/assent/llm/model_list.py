"""Asks a server for the list of its models."""

from contextlib import closing

import msgspec

from assent.core.decoding import decode_json
from assent.llm.catalog import ProviderAccount
from assent.llm.errors import ErrorContext, connection_error, http_status_error
from assent.llm.http_client import HttpClient, HttpRequest, HttpResponse
from assent.llm.http_response import HttpError
from assent.llm.limits import MAX_MODEL_LIST_BYTES, MAX_MODEL_LIST_RECEIVED_BYTES
from assent.llm.wires.anthropic import VERSION
from assent.ports.cancellation import CancelToken

OK = 200


class _ListedModel(msgspec.Struct):
    id: str


class _ModelListPage(msgspec.Struct):
    data: list[_ListedModel] | None = None


def list_model_names(account: ProviderAccount, client: HttpClient) -> list[str]:
    """Asks a server for the names of its models, in its own order."""
    who = ErrorContext(account.name, "", account.base.origin, account.key_env, account.key)
    path = "/v1/models" if account.wire == "anthropic" else "/models"
    request = HttpRequest(account.base.below(path), _headers(account))
    try:
        with closing(client.send(request, CancelToken())) as response:
            head, body = response.head, _whole(response)
    except HttpError as error:
        raise connection_error(who, str(error), fatal=error.fatal) from None
    if head.status != OK:
        raise http_status_error(who, head.status, head.headers, body, 0)
    return _names(body, who)


def _whole(response: HttpResponse) -> bytes:
    body = bytearray()
    for piece in response.pieces():
        body += piece
        received = response.link.reply.received
        if len(body) > MAX_MODEL_LIST_BYTES or received > MAX_MODEL_LIST_RECEIVED_BYTES:
            raise HttpError("its model list is too long", fatal=True)
    return bytes(body)


def _names(body: bytes, who: ErrorContext) -> list[str]:
    try:
        page = decode_json(body, _ModelListPage)
    except (msgspec.MsgspecError, RecursionError):
        raise connection_error(who, "it did not send a model list") from None
    return [named.id for named in page.data or ()]


def _headers(account: ProviderAccount) -> dict[str, str]:
    headers = {"accept": "application/json", "user-agent": "assent"}
    if account.wire == "anthropic":
        headers["anthropic-version"] = VERSION
    if account.key and account.bearer:
        headers["authorization"] = f"Bearer {account.key}"
    elif account.key:
        headers["x-api-key"] = account.key
    return headers | account.headers
