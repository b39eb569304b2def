"""Endpoints about files: the names that a message can mention with `@`."""

import os
from typing import Annotated, Final

import msgspec

from assent.core.errors import NotFound
from assent.core.text.file_match import matching_paths
from assent.render.rows import Row
from assent.web.answers import FilesAnswer
from assent.web.endpoint import ApiCall, Endpoint, Nothing

MAX_FOUND: Final = 50
MAX_QUERY: Final = 200  # characters
LIST_S: Final = 2.0  # in which a workspace is not walked again, while somebody types


class FilesQuery(msgspec.Struct, frozen=True):
    """Which files are wanted: those of a workspace whose paths have the letters in order."""

    workspace: str = ""
    q: Annotated[str, msgspec.Meta(max_length=MAX_QUERY)] = ""


def find_files(call: ApiCall[FilesQuery, Nothing]) -> Row:
    """Finds files of a workspace by a few letters, best match first.

    Ignored files, secrets and files that rules hide are not offered.
    """
    from assent.app.workspace_files import list_files

    engines = call.server.engines(call.query.workspace)
    if not engines:
        raise NotFound("No workspace is served here.", "assent serve add DIR")
    root = os.fsdecode(engines[0].root)
    names = call.server.answers.get(("files", root), LIST_S, lambda: list_files(root))
    found = matching_paths(call.query.q, names, MAX_FOUND + 1)
    rows = [{"path": name} for name in found[:MAX_FOUND]]
    return {"files": rows, "more": len(found) > MAX_FOUND}


ENDPOINTS = (
    Endpoint("GET", "/files", "Files by a few letters of their path", "viewer", find_files,
             FilesQuery, answer=FilesAnswer),
)  # fmt: skip
