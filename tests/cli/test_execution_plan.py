"""The execution plan of each answer, as every face shows it before anything runs."""

from tests.cli.scripts import WRITE_PLAN, Talker, turn, write

ODD = "odd_tool"
SWEEP = turn("I sweep.", ("delete", {"path": "old.txt"}))
BOTH = turn("Both.", ("read", {"path": "old.txt"}), write("new.txt", "new\n"))
BAD = turn("Bad.", ("edit", {"path": ".git/config", "old": "a", "new": "b"}), (ODD, {}))
MAKE = turn("Make.", ("shell", {"command": "echo hi > made.txt"}))
END = turn("Done.")
SWEPT = {
    "tool": "delete",
    "touches": ["edit old.txt"],
    "verdict": "run",
    "risk": "high",
    "reasons": ["It deletes old.txt."],
}


def without_call(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "call"}


def test_f90_text_tells_what_is_about_to_happen_without_a_terminal_too(talker: Talker) -> None:
    talker.world.put("old.txt", b"old\n")
    talker.script(SWEEP, END)
    answer = talker.say("Sweep", "--mode", "auto-edit")
    assert answer.out.splitlines()[:2] == [b"I sweep.", b"Done."]
    assert b"  delete (run, high risk): edit old.txt" in answer.err.splitlines()
    assert not (talker.world.root / "old.txt").exists()


def test_f90_a_look_is_not_announced(talker: Talker) -> None:
    talker.world.put("old.txt", b"old\n")
    talker.script(turn("I look.", ("read", {"path": "old.txt"})), END)
    assert b"risk" not in talker.say("Look").err


def test_f90_json_has_every_batch(talker: Talker) -> None:
    talker.world.put("old.txt", b"old\n")
    talker.script(SWEEP, MAKE, END)
    found = talker.json("Sweep", "--mode", "auto-edit")["batches"]
    assert [len(batch) for batch in found] == [1, 1]
    assert without_call(found[0][0]) == SWEPT
    assert found[1][0]["touches"] == ["bash echo hi > made.txt", "edit made.txt"]
    assert found[1][0]["verdict"] == "ask"


def test_f90_calls_that_are_refused_early_are_in_the_plan(talker: Talker) -> None:
    talker.script(BAD, END)
    [config, odd] = talker.json("Do it", "--mode", "auto-edit")["batches"][0]
    assert (config["touches"], config["verdict"]) == (["edit .git/config"], "deny")
    assert (odd["touches"], odd["verdict"], odd["risk"]) == ([f"tool {ODD}"], "fail", "high")
    assert all(call["reasons"] for call in (config, odd))


def test_f90_the_stream_and_the_session_have_it_before_the_calls(talker: Talker) -> None:
    talker.world.put("old.txt", b"old\n")
    talker.script(BOTH, END)
    rows = talker.stream("Both", "--mode", "auto-edit")
    kinds = [row["kind"] for row in rows]
    assert kinds.index("batch_planned") < kinds.index("call_started")
    [planned] = [row["body"]["calls"] for row in rows if row["kind"] == "batch_planned"]
    assert [call["touches"] for call in planned] == [["read old.txt"], ["edit new.txt"]]
    shown = talker.world.run("sessions", "show").out
    assert b"Planned calls" in shown
    assert b"  write (run, medium risk): edit new.txt" in shown
    exported = talker.world.run("sessions", "export", "--format", "markdown").out
    assert b"## Planned calls" in exported


READS = (("read", {"path": "a.txt"}),) * 300


def test_calls_that_repeat_are_counted_and_not_listed(talker: Talker) -> None:
    """In text, JSON, the plan of an answer, and the session that is read later."""
    talker.world.put("a.txt", b"hello\n")
    other = ("read", {"path": "b.txt"})
    talker.script(turn("Reading.", *READS, other), turn("Done."))
    told = talker.say("Read").err.decode().splitlines()
    assert told[:3] == [
        "· 301 calls:",
        "  read (run, low risk): read a.txt (300 times)",
        "  read (run, low risk): read b.txt",
    ]
    assert len(told) < 10

    [batch] = talker.json("Read")["batches"]
    assert [(row["touches"], row.get("count")) for row in batch] == [
        (["read a.txt"], 300),
        (["read b.txt"], None),
    ]

    rows = talker.stream("Read")
    [planned] = [row["body"]["calls"] for row in rows if row["kind"] == "batch_planned"]
    assert [call.get("count") for call in planned] == [300, None]
    ids = {
        kind: [row["body"]["call"] for row in rows if row["kind"] == kind]
        for kind in ("call_started", "call_ended")
    }  # whoever matches calls by their ids finds each of them
    assert len(set(ids["call_started"])) == len(ids["call_started"]) == len(READS) + 1
    assert ids["call_ended"] == ids["call_started"]

    lines = talker.world.run("sessions", "show").out.decode().splitlines()
    assert lines.count("Model calls read (300 times)") == 1
    assert lines.count("Model calls read") == 1


def test_each_call_is_judged_after_the_calls_before_it(talker: Talker) -> None:
    gone = ("delete", {"path": "new.txt"})
    missing = ("edit", {"path": "missing.txt", "old": "a", "new": "b"})
    talker.script(
        turn("Go.", WRITE_PLAN, write("new.txt", "x\n"), gone, missing, ("delete", {"path": "no"})),
        turn("Done."),
    )
    rows = talker.stream("Greet")
    said = [call for row in rows if row["kind"] == "batch_planned" for call in row["body"]["calls"]]
    planned = {row["call"]: row for row in said}
    ended = {row["body"]["call"]: row["body"] for row in rows if row["kind"] == "call_ended"}
    tools = [(body["tool"], body["verdict"], body["result"]["failed"]) for body in ended.values()]
    assert tools == [
        ("write_plan", "run", False),
        ("write", "stage", False),
        ("delete", "stage", False),
        ("edit", "fail", True),
        ("delete", "deny", True),
    ]
    deletes = [(id, body) for id, body in ended.items() if body["tool"] == "delete"]
    assert [planned[id]["verdict"] for id, _ in deletes] == [b["verdict"] for _, b in deletes]
    assert planned[deletes[1][0]]["reasons"] == [deletes[1][1]["result"]["text"]]


def test_json_has_one_batch_for_an_answer_with_what_its_calls_did(talker: Talker) -> None:
    gone = ("delete", {"path": "new.txt"})
    talker.script(turn("Go.", WRITE_PLAN, write("new.txt", "x\n"), gone), turn("Done."))
    [batch] = talker.json("Greet")["batches"]
    verdicts = [(row["tool"], row["verdict"]) for row in batch]
    assert verdicts == [("write_plan", "run"), ("write", "stage"), ("delete", "stage")]
