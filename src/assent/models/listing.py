"""Listing: which models a server says it has."""

from contextlib import closing

import msgspec

from assent.models.accounts import Account
from assent.models.cut import Cut
from assent.models.net.client import HttpClient, Request, Response
from assent.models.net.reply import Broken
from assent.models.sorting import Who, broken, refused
from assent.models.wires.anthropic import VERSION

LIMIT = 16 << 20
OK = 200


class _Named(msgspec.Struct):
    id: str


class _Page(msgspec.Struct):
    data: list[_Named] | None = None


def names_at(account: Account, client: HttpClient) -> list[str]:
    """Asks a server for the names of its models, in its own order."""
    who = Who(account.name, "", account.base.origin, account.key_env, account.key)
    path = "/v1/models" if account.wire == "anthropic" else "/models"
    request = Request(account.base.below(path), _headers(account))
    try:
        with closing(client.send(request, Cut())) as response:
            head, body = response.head, _whole(response)
    except Broken as error:
        raise broken(who, str(error), fatal=error.fatal) from None
    if head.status != OK:
        raise refused(who, head.status, head.headers, body, 0)
    return _names(body, who)


def _whole(response: Response) -> bytes:
    body = bytearray()
    for piece in response.pieces():
        body += piece
        if len(body) > LIMIT or response.link.reply.received > 2 * LIMIT:
            raise Broken("the list of its models has no end", fatal=True)
    return bytes(body)


def _names(body: bytes, who: Who) -> list[str]:
    try:
        page = msgspec.json.decode(body, type=_Page)
    except (msgspec.MsgspecError, RecursionError):
        raise broken(who, "what it sent is no list of models") from None
    return [named.id for named in page.data or ()]


def _headers(account: Account) -> dict[str, str]:
    headers = {"accept": "application/json", "user-agent": "assent"}
    if account.wire == "anthropic":
        headers["anthropic-version"] = VERSION
    if account.key and account.bearer:
        headers["authorization"] = f"Bearer {account.key}"
    elif account.key:
        headers["x-api-key"] = account.key
    return headers | account.headers
