"""The caches of package managers that commands in a scratch copy may read.

Never their parents: next to them are credentials.
"""

import os
from collections.abc import Mapping
from typing import Final

CACHES: Final = (
    ".cargo/registry",
    ".npm/_cacache",
    ".cache/pip",
    ".cache/uv",
    "go/pkg/mod",
    ".m2/repository",
    ".gradle/caches/modules-2",
)
# A variable that names another folder, and is then passed on.
CACHE_VARIABLES: Final = ("PIP_CACHE_DIR", "UV_CACHE_DIR", "GOMODCACHE")


def cache_folders(home: bytes, environment: Mapping[str, str]) -> list[bytes]:
    """Returns the folders of caches, existing or not."""
    named = [environment[name] for name in CACHE_VARIABLES if name in environment]
    absolute = [os.fsencode(os.path.normpath(path)) for path in named if path.startswith("/")]
    return [*(home + b"/" + os.fsencode(path) for path in CACHES), *absolute]


def cache_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables by which programs in a copy find caches that are elsewhere."""
    return {
        name: environment[name]
        for name in CACHE_VARIABLES
        if environment.get(name, "").startswith("/")
    }
