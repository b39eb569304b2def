"""The OpenAPI document: valid, complete, and with the errors that the product really has."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import msgspec
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR
from tests.web.harness import Served, check_answer

import assent
from assent.core.errors import AssentError
from assent.web.api import ENDPOINTS
from assent.web.errors import STATUSES
from assent.web.openapi import document, statuses

FACES = ("assent.testing", "assent.plugins")
DOCUMENT = document(ENDPOINTS)


def operations() -> Iterator[tuple[str, str, dict[str, object]]]:
    for path, methods in DOCUMENT["paths"].items():  # type: ignore[attr-defined]
        for method, operation in methods.items():
            yield path, method, operation


def errors(kind: type[AssentError] = AssentError) -> Iterator[type[AssentError]]:
    for each in kind.__subclasses__():
        yield each
        yield from errors(each)


def test_the_document_is_openapi_3_1() -> None:
    OPENAPI_31_VALIDATOR.validate(DOCUMENT)
    wrong = {**DOCUMENT, "paths": {"no-slash": {"get": {"responses": 1}}}}
    assert not OPENAPI_31_VALIDATOR.is_valid(wrong)


def test_a_server_serves_its_document(server: Served) -> None:
    served = server.token("viewer").get("/openapi.json")
    assert served == msgspec.json.decode(msgspec.json.encode(DOCUMENT))


def test_every_endpoint_is_described() -> None:
    found = {(path, method) for path, method, _ in operations()}
    assert {(f"/api/v1{each.path}", each.method.lower()) for each in ENDPOINTS} <= found
    assert {("/api/v1/events", "get"), ("/login", "post"), ("/logout", "post")} <= found
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(ids)) == len(ids)


def test_every_answer_has_its_fields() -> None:
    schemas = DOCUMENT["components"]["schemas"]  # type: ignore[index]
    for path, method, operation in operations():
        if path.startswith("/api/") and path != "/api/v1/events":
            [content] = [
                each["content"]["application/json"]["schema"]
                for status, each in operation["responses"].items()  # type: ignore[attr-defined]
                if status.startswith("2")
            ]
            name = content["$ref"].rpartition("/")[2]
            assert schemas[name]["properties"], (path, method)


@pytest.mark.parametrize("row", [{"n": 1}, {"n": "1", "text": ""}, {"n": 1, "text": "", "x": 1}])
def test_an_answer_that_is_not_as_described_is_noticed(row: dict[str, object]) -> None:
    check_answer("GET", "/plans/a/revisions/1", {"n": 1, "text": ""})
    with pytest.raises((AssertionError, msgspec.ValidationError)):
        check_answer("GET", "/plans/a/revisions/1", row)


def test_changes_name_the_csrf_header_and_the_role() -> None:
    for path, method, operation in operations():
        if path.startswith("/api/"):
            headers = [each["name"] for each in operation["parameters"] if each["in"] == "header"]  # type: ignore[attr-defined]
            assert ("x-assent-csrf" in headers) == (method != "get"), path
            assert "Role: " in str(operation["description"]), path


def test_every_error_word_of_the_product_has_a_status() -> None:
    for module in walk_packages(assent.__path__, "assent."):
        if not module.name.startswith(FACES) and not module.name.endswith("__main__"):
            import_module(module.name)
    words = {each.word for each in errors() if each.__module__.startswith("assent.")}
    assert words - {AssentError.word} == STATUSES.keys()
    used = {status for each in ENDPOINTS for status in statuses(each)}
    assert {*STATUSES.values()} - used == {429}, "only a login is slowed down"


@pytest.mark.parametrize("status", sorted({*STATUSES.values()}))
def test_statuses_are_those_of_the_contract(status: int) -> None:
    assert status in (400, 401, 403, 404, 409, 413, 422, 423, 429, 503)
