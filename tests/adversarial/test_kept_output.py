"""Output that was cut: a session reads on in it by a handle, nobody else does, and it goes."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage, events
from tests.support.stored_contents import stored_contents

from assent.tools.outcome import output_handle

FILES = 2_400
KEY = "AKIA" + "Q7F2M9XK4B8WZ1RT"
FOREIGN = "is not an output of this session, or is no longer kept."

Call = tuple[str, dict[str, Any]]
LOOK: Call = ("read", {"path": "many"})


class Reader(Stage):
    """A folder with more names than a model gets to read at once."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        for number in range(FILES):
            self.put(f"many/{number:04}", b"")
        self.put(f"many/0001-{KEY}", b"")
        self.put(f"many/2300-{KEY}", b"")
        self.ok("init")
        self.turns: list[dict[str, Any]] = []

    def makes(self, *calls: Call, options: tuple[str, ...] = (), **more: Any) -> list[Any]:
        """Has the model of the session make calls; returns the ends of those of the session."""
        made = [{"tool": tool, "args": args} for tool, args in calls]
        self.turns += [{"calls": made}, {"text": "That is all."}]
        answer = self.play(*self.turns, options=options, **more)
        assert answer.code == 0, answer
        return [one["body"] for one in events(answer) if one["kind"] == "call_ended"]

    def handle(self, options: tuple[str, ...] = ()) -> str:
        """Has the model look, and returns what the rest of its output is called."""
        (ended,) = self.makes(LOOK, options=options)
        found: str = ended["metadata"]["output"]
        return found

    def contents(self) -> dict[Path, bytes]:
        """Everything that the store keeps by its digest."""
        blobs = self.state / "assent" / "blobs"
        return {path: path.read_bytes() for path in blobs.rglob("*") if path.is_file()}

    def age(self) -> None:
        """Lets a day pass for all that is kept, as only what is old is collected."""
        past = time.time() - 24 * 3600
        for path in self.contents():
            os.utime(path, (past, past))

    def kept(self) -> list[bytes]:
        """The outputs that the store keeps."""
        blobs = self.state / "assent" / "blobs"
        return [content for content in stored_contents(blobs) if b"2399" in content]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def test_f122_a_session_reads_on_by_the_handle_that_it_was_told(reader: Reader) -> None:
    (ended,) = reader.makes(LOOK)
    handle, text = ended["metadata"]["output"], ended["result"]["text"]
    assert f"call `read` with path `{handle}` and lines `2001-` (last line: 2402)." in text
    assert "2000\n" not in text
    (page,) = reader.makes(("read", {"path": handle, "offset": 2001}), options=("-c",))
    lines = page["result"]["text"].splitlines()
    assert lines[0] == f"[{handle}, lines 2001-2402 of 2,402]"
    assert (lines[1], lines[-1], len(lines)) == ("1999", "2399", 403)
    assert (page["verdict"], page["result"]["failed"]) == ("run", False)
    first, past = reader.makes(
        ("read", {"path": handle, "limit": 2}),
        ("read", {"path": handle, "offset": 9_999}),
        options=("-c",),
    )
    assert first["result"]["text"] == f"[{handle}, lines 1-2 of 2,402]\n0000\n0001"
    assert "has 2,402 lines; line 9999 is past its end" in past["result"]["text"]
    assert not (reader.root / ".opencode/assent/output").exists()


def test_f122_secrets_are_masked_in_the_rest_as_in_what_was_shown(reader: Reader) -> None:
    (ended,) = reader.makes(LOOK)
    assert "0001-[masked: AWS access key]" in ended["result"]["text"]
    (page,) = reader.makes(
        ("read", {"path": ended["metadata"]["output"], "offset": 2001}), options=("-c",)
    )
    assert "2300-[masked: AWS access key]" in page["result"]["text"]
    assert KEY not in page["result"]["text"]
    assert [content for content in reader.contents().values() if KEY.encode() in content] == []


def test_f122_no_other_session_reads_it_and_a_fork_is_another(reader: Reader) -> None:
    handle = reader.handle()
    reader.ok("sessions", "fork")
    fork = reader.ok("sessions", "list")["sessions"][0]["slug"]
    (forked,) = reader.makes(("read", {"path": handle}), options=("-r", fork))
    reader.turns.clear()
    other, unknown = reader.makes(
        ("read", {"path": handle}), ("read", {"path": output_handle("0" * 26)})
    )
    for ended in (forked, other, unknown):
        assert ended["result"]["failed"]
        assert FOREIGN in ended["result"]["text"]


def test_f122_what_only_looks_like_a_handle_is_a_path(reader: Reader) -> None:
    handle = reader.handle()
    odd = (f"{handle}/../../a", "output:../secret", f"{handle}x", "output:", f"./{handle}")
    for path in odd:
        (ended,) = reader.makes(("read", {"path": path}), options=("-c",))
        assert ended["result"]["failed"]
        assert FOREIGN not in ended["result"]["text"]
    reader.put("output:note", b"a file\n")
    (ended,) = reader.makes(("read", {"path": "output:note"}), options=("-c",))
    assert ended["result"]["text"] == "a file"


def test_f122_a_child_reads_what_its_parent_kept_and_never_the_reverse(reader: Reader) -> None:
    handle = reader.handle()
    task: Call = ("task", {"agent": "explore", "title": "Look", "prompt": f"Read {handle}."})
    reads = {"tool": "read", "args": {"path": handle, "offset": 2402}}
    looks = {"tool": "read", "args": {"path": "many"}}
    reader.turns += [{"calls": [{"tool": task[0], "args": task[1]}]}, {"text": "That is all."}]
    answer = reader.play(
        *reader.turns,
        options=("-c",),
        children={"explore": [{"calls": [reads, looks]}, {"text": "Seen."}]},
    )
    ends = [one["body"] for one in events(answer) if one["kind"] == "call_ended"]
    page, looked = [each for each in ends if each["tool"] == "read"]
    assert page["result"]["text"] == f"[{handle}, line 2402 of 2,402]\n2399"
    (ended,) = reader.makes(("read", {"path": looked["metadata"]["output"]}), options=("-c",))
    assert FOREIGN in ended["result"]["text"]


def test_f122_rules_about_reading_count_for_it_too(reader: Reader) -> None:
    handle = reader.handle()
    config = reader.config.read_text("utf-8")
    reader.config.write_text(f'{config}[permission.read]\n"output:*" = "deny"\n', encoding="utf-8")
    (ended,) = reader.makes(("read", {"path": handle}), options=("-c",))
    assert (ended["verdict"], ended["result"]["failed"]) == ("deny", True)


def test_f122_it_stays_as_long_as_its_session_and_goes_with_it(reader: Reader) -> None:
    handle = reader.handle()
    reader.age()
    reader.ok("runs", "delete", "--unused")
    (ended,) = reader.makes(("read", {"path": handle, "offset": 2402}), options=("-c",))
    assert ended["result"]["text"] == f"[{handle}, line 2402 of 2,402]\n2399"
    reader.age()
    assert len(reader.kept()) == 1
    reader.ok("sessions", "delete", "do-it")
    assert reader.kept() == []


def test_f122_what_a_child_kept_goes_with_its_parent(reader: Reader) -> None:
    task = {"agent": "explore", "title": "Look", "prompt": "Look."}
    looks = {"tool": "read", "args": {"path": "many"}}
    reader.play(
        {"calls": [{"tool": "task", "args": task}]},
        {"text": "That is all."},
        children={"explore": [{"calls": [looks]}, {"text": "Seen."}]},
    )
    assert len(reader.kept()) == 1
    reader.ok("sessions", "delete", "do-it")
    assert len(reader.kept()) == 1  # what was kept within the last hour is removed later
    reader.age()
    reader.ok("runs", "delete", "--unused")
    assert reader.kept() == []


def test_f122_an_output_that_another_session_has_too_stays(reader: Reader) -> None:
    reader.handle()
    reader.turns.clear()
    second = reader.handle()
    slugs = [row["slug"] for row in reader.ok("sessions", "list")["sessions"]]
    reader.age()
    reader.ok("sessions", "delete", slugs[1])
    (ended,) = reader.makes(("read", {"path": second, "offset": 2402}), options=("-c",))
    assert ended["result"]["text"] == f"[{second}, line 2402 of 2,402]\n2399"
