"""The probe: knows every attempt, needs nothing but Python, and never claims what it did not do."""

import json
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from assent.sandbox.selftest.escape_tests import APPROVE, ESCAPE_TESTS
from assent.sandbox.selftest.host_paths import COMMAND, PACKAGE, PROBE
from assent.sandbox.selftest.probe import PROBES
from assent.sandbox.selftest.probes.request import NothingToTry, ProbeRequest, first_success


def probe(**asked: object) -> list[dict[str, Any]]:
    """Runs the probe, outside any sandbox, with harmless requests."""
    done = subprocess.run([*PROBE, json.dumps(asked)], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_attempt_is_both_described_and_made() -> None:
    assert sorted(PROBES) == sorted(trial.name for trial in (*ESCAPE_TESTS, APPROVE))


def test_it_needs_the_standard_library_alone() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); "
        "import assent.sandbox.selftest.probe; "
        "print(*{name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    )
    done = subprocess.run([*COMMAND, "-c", code], capture_output=True, check=True)
    assert set(done.stdout.decode().split()) - {"__main__"} == {"assent"}


def test_it_says_what_worked_and_what_did_not(tmp_path: Path) -> None:
    (tmp_path / "victims").mkdir()
    names = ["create", "delete"]
    assert probe(workspace=str(tmp_path), names=names) == [
        {"name": "create", "worked": True, "detail": "created a file"},
        {"name": "delete", "worked": False, "detail": "No such file or directory", "errno": 2},
        {"answers": 2},
    ]
    assert (tmp_path / "victims" / "made").read_bytes() == b"changed"


def test_an_attempt_that_cannot_be_made_is_broken_and_not_held(tmp_path: Path) -> None:
    assert probe(workspace=str(tmp_path), names=["tcp"]) == [
        {"name": "tcp", "broken": True, "detail": "KeyError: 'tcp'"},
        {"answers": 1},
    ]


def test_an_attempt_with_nothing_to_try_it_on_says_so(tmp_path: Path) -> None:
    asked = {"workspace": str(tmp_path), "names": ["daemons"], "places": {"daemons": []}}
    assert probe(**asked) == [
        {"name": "daemons", "absent": True, "detail": "nothing to test"},
        {"answers": 1},
    ]


def test_a_place_that_may_be_written_to_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"as it was")
    places = {"write_system": [str(tmp_path)], "write_etc": [str(file)]}
    before = tmp_path.stat().st_mtime_ns, file.stat().st_mtime_ns
    answers = probe(workspace=str(tmp_path), names=list(places), places=places)
    assert [answer.get("detail") for answer in answers] == [
        f"can write to {tmp_path}",
        f"can write to {file}",
        None,
    ]
    assert (tmp_path.stat().st_mtime_ns, file.stat().st_mtime_ns) == before


def test_only_the_very_folder_counts_as_seen(tmp_path: Path) -> None:
    state = tmp_path.stat()
    for inode, worked in ((state.st_ino, True), (state.st_ino + 1, False)):
        folders = {str(tmp_path): [state.st_dev, inode]}
        answer, _ = probe(workspace=str(tmp_path), names=["look_around"], folders=folders)
        assert answer["worked"] is worked


def test_an_attempt_in_a_process_of_its_own_leaves_the_others_alone(tmp_path: Path) -> None:
    (tmp_path / "victims").mkdir()
    answers = probe(workspace=str(tmp_path), names=["create", "chroot", "make_folder"])
    assert [answer.get("name") for answer in answers] == ["create", "make_folder", "chroot", None]
    assert answers[-1] == {"answers": 3}


def test_only_the_secret_itself_counts_as_found() -> None:
    ask = ProbeRequest("", [], digests={"read_key": sha256(b"secret").hexdigest()})
    assert ask.found("read_key", b"secret") == "read 6 bytes"
    for name, content in (("read_key", b""), ("read_key", b"other"), ("read_log", b"secret")):
        with pytest.raises(OSError, match="not the secret"):
            ask.found(name, content)


def test_the_first_way_that_works_is_named() -> None:
    def fails() -> None:
        raise PermissionError(1, "no")

    assert first_success([("one", fails), ("two", lambda: None), ("three", fails)]) == "two"
    with pytest.raises(PermissionError):
        first_success([("one", fails)])
    with pytest.raises(NothingToTry):
        first_success([])
