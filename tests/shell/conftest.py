"""A state folder for all desks of a test run, so that the sandbox tests itself only once."""

from pathlib import Path

import pytest
from tests.support.sandbox_status import remember_sandbox

from assent.sandbox.runner.bubblewrap import sandbox_unavailable


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    folder = tmp_path_factory.mktemp("state")
    remember_sandbox(folder)
    return folder
