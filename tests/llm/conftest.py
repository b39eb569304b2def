"""Whatever a test asked with is closed after it."""

from collections.abc import Iterator

import pytest
from tests.llm.http_models import CLIENTS


@pytest.fixture(autouse=True)
def _closed_clients() -> Iterator[None]:
    yield
    while CLIENTS:
        CLIENTS.pop().close()
