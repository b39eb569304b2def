"""What the program tells about a recorded state: data, and no sentence that may be worded anew."""

from hashlib import sha256
from typing import Any

import msgspec
from tests.record.recorded import WORKSPACES, Recorder

Row = dict[str, Any]

REVIEWED = ("text", "content_hash", "operations_hash", "scope", "relied_on", "expires_at")
OPERATION = ("id", "kind", "path", "to", "result")
QUESTION = (
    "id", "digest", "standing", "session", "root", "slug", "depth", "agent", "mode", "call", "tool",
    "args", "asked_at", "expires_at", "answers", "answered_by", "grant",
)  # fmt: skip
DERIVED = {"structure", "steps", "progress"}  # of a plan: read from its text, which is told too
SENTENCES = {"failure", "age_s", "given_up", "about"}  # in rows, beside data


def account(recorder: Recorder) -> Row:
    """Tells everything about all workspaces, through commands that only read.

    The log is told first, because a review is an event of its own.
    """
    told = {"verified": _verified(recorder), "workspaces": {}}
    for name in WORKSPACES:
        recorder.enter(name)
        told["workspaces"][name] = {"log": log(recorder), "contents": contents(recorder)}
    for name in WORKSPACES:
        recorder.enter(name)
        told["workspaces"][name] |= _told(recorder)
    return told


def _verified(recorder: Recorder) -> Row:
    row = recorder.ok("log", "--verify")
    return {key: row[key] for key in ("holds", "events", "broken", "anchored", "leftovers")}


def log(recorder: Recorder) -> Row:
    """How many events the log of a workspace has, and a digest of all that it tells of them."""
    events = recorder.ok("log")["events"]
    return {"events": len(events), "sha256": digest(events)}


def digest(told: object) -> str:
    """Names a value by what it is as JSON, whatever the order of its keys."""
    return sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()


def contents(recorder: Recorder) -> dict[str, str]:
    """The files of a workspace with their modes and the digests of their contents."""
    found = recorder.files().items()
    return {
        path.decode(errors="backslashreplace"): f"{mode:o} {sha256(content).hexdigest()}"
        for path, (kind, mode, content) in sorted(found)
        if kind == "file"
    }


def _told(recorder: Recorder) -> Row:
    runs = recorder.ok("runs", "list")["runs"]
    sessions = recorder.ok("sessions", "list")["sessions"]
    return {
        "plans": [plan(recorder, row) for row in recorder.plans().values()],
        "runs": [{**_data(row), "of": _operations(recorder, row)} for row in runs],
        "sessions": [{**_data(row), "events": exported(recorder, row)} for row in sessions],
        "questions": [
            {key: row[key] for key in QUESTION}
            for row in recorder.ok("questions", "list", "--all")["questions"]
        ],
        "grants": [_data(row) for row in recorder.ok("rules", "list")["grants"]],
        "facts": recorder.ok("memory", "list")["facts"],
        "keys": recorder.ok("keys", "list")["keys"],
        "trusted": recorder.ok("trust", "list")["trusted"],
    }


def plan(recorder: Recorder, row: Row) -> Row:
    """One plan, as it is listed and as it is reviewed."""
    reference = ("--plan", row["plan_id"])
    shown = recorder.ok("review", *reference)
    return {
        **{key: value for key, value in row.items() if key not in DERIVED},
        **{key: shown[key] for key in REVIEWED if key in shown},
        "operations": [_chosen(one) for one in shown["operations"]],
        "comments": recorder.ok("comment", "list", *reference)["comments"],
        "notes": [note["note"] for note in shown.get("notes", ())],
    }


def exported(recorder: Recorder, row: Row) -> Row:
    """What the export of a session has: how many events, and a digest of them."""
    events = recorder.ok("sessions", "export", row["session"])["events"]
    return {"events": len(events), "sha256": digest(events)}


def _operations(recorder: Recorder, row: Row) -> list[Row]:
    return [_chosen(one) for one in recorder.ok("runs", "show", row["run"])["operations"]]


def _chosen(operation: Row) -> Row:
    return {key: operation[key] for key in OPERATION if key in operation}


def _data(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in SENTENCES}
