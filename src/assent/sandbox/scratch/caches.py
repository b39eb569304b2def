"""The caches of package managers that commands in a scratch copy may read.

Never their parents: next to them are credentials.
"""

import os
from collections.abc import Mapping
from typing import Final

from assent.core.paths import is_inside
from assent.sandbox.profile.exposure import credential_paths

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
    named = map(os.fsencode, cache_variables(home, environment).values())
    return [*_usual(home), *map(os.path.normpath, named)]


def cache_variables(home: bytes, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables by which programs in a copy find caches that are elsewhere.

    One that names a folder with credentials, in one, or above a usual cache or a home is not among
    them: a variable must not show more than a cache.
    """
    given = {name: environment.get(name, "") for name in CACHE_VARIABLES}
    named = {name: path for name, path in given.items() if path.startswith("/")}
    if not named:
        return {}
    return {name: path for name, path in named.items() if _is_only_a_cache(path, home)}


def refused_variables(home: bytes, environment: Mapping[str, str]) -> list[str]:
    """Returns the variables of caches that are set, but that programs in a copy do not get."""
    used = cache_variables(home, environment)
    return [name for name in CACHE_VARIABLES if environment.get(name) and name not in used]


def _is_only_a_cache(path: str, home: bytes) -> bool:
    """Tells whether a folder is no more than a cache, by its name and by what that leads to."""
    own = os.path.realpath(home)
    usual = {*_usual(home), *map(os.path.realpath, _usual(home))}
    secret = {*credential_paths(own), *map(os.path.realpath, credential_paths(own))}
    for one in (os.fsencode(os.path.normpath(path)), os.path.realpath(os.fsencode(path))):
        if any(is_inside(each, one) and each != one for each in usual):
            return False
        if any(is_inside(each, one) or is_inside(one, each) for each in secret):
            return False
    return True


def _usual(home: bytes) -> list[bytes]:
    return [home + b"/" + os.fsencode(path) for path in CACHES]
