"""The draft in a model's hand: what it staged, took out, folded, and what it is shown of it."""

import json
from typing import Any

import msgspec
import pytest
from bench.stories import story_server
from tests.cli.harness import World

from assent.core.digest import operation_ids, sha256
from assent.core.plan.operation import FileState, Operation, RunCommand, WriteFile
from assent.llm.scripted import ScriptedCall, ScriptedTurn

Call = tuple[str, dict[str, Any]]
SECONDS = 120
PLAN: Call = ("write_plan", {"text": "# Count\n\nEdit a.py.\n"})
PRESENT: Call = ("present_plan", {})


class Transcript(msgspec.Struct):
    """What a model received: the results of its calls in order, and its tools in each request."""

    results: list[str]
    tools: list[list[str]]
    messages: list[str]  # of the user, and of Assent, in the last request


def played(
    world: World, *turns: list[Call] | str, goal: str = "Count", code: int = 0
) -> Transcript:
    """Plays a model over HTTP; returns what its last request shows."""
    answers = [
        ScriptedTurn(each) if isinstance(each, str)
        else ScriptedTurn("On it.", calls=tuple(ScriptedCall(*call) for call in each))
        for each in turns
    ]  # fmt: skip
    with story_server() as server:
        world.env |= {"OPENAI_BASE_URL": server.url}
        server.answers = answers
        answer = world.run("-p", goal, "--model", "openai/m", "--json")
        assert (answer.code, server.excess) == (code, 0), answer
        bodies = [json.loads(body) for body in server.bodies]
    ended = [e["body"] for e in world.ok("log")["events"] if e["kind"] == "call_ended"]
    return Transcript(
        [body["result"]["text"] for body in ended],
        [[each["function"]["name"] for each in body["tools"]] for body in bodies],
        [str(m["content"]) for m in bodies[-1]["messages"] if m["role"] == "user"],
    )


def content(text: str) -> FileState:
    return FileState(sha256(text.encode()), len(text), 0o644)


def named(*operations: Operation) -> list[str]:
    return [name[:7] for name in operation_ids(operations)]


def run(line: str) -> RunCommand:
    return RunCommand(script=line.encode(), timeout=SECONDS)


def edit(path: str, old: str, new: str) -> Call:
    return ("edit", {"path": path, "old": old, "new": new})


def write(path: str, text: str) -> Call:
    return ("write", {"path": path, "content": text})


def shell(line: str, **more: object) -> Call:
    return ("shell", {"command": line, **more})


def staged(world: World) -> list[tuple[str, str]]:
    rows = world.ok("stage", "list")["operations"]
    return [(row["kind"], row["path"] or row["script"]) for row in rows]


def test_f61_results_of_staging_are_short_and_list_the_draft_once(code: World) -> None:
    edits = [edit("a.py", "one", "1"), write("c.py", "c\n")]
    seen = played(
        code, [*edits, shell("make last", stage=True, at_end=True), shell("make", stage=True)],
        [("delete", {"path": "b.py"}), PLAN, PRESENT], code=3,
    )  # fmt: skip
    changed, made, last, first, deleted, plan, presented = seen.results
    ids = [row["id"][:7] for row in code.ok("stage", "list")["operations"]]
    assert changed.splitlines()[-1] == f"Staged: 1 {ids[0]}; unstage takes it out."
    assert made.splitlines()[-1] == f"Staged: 2 {ids[1]}; unstage takes it out."
    assert last == f"Staged as command 1 of 1, runs after approval. Id {ids[4]}."
    assert first == f"Staged as command 1 of 2, runs after approval. Id {ids[2]}."
    assert deleted.splitlines()[-1] == f"Staged: 4 {ids[3]}; unstage takes it out."
    assert "operations are staged" not in plan
    assert presented.count("operations are staged") == 1


def test_f61_a_plan_that_is_not_presented_after_all_lists_the_draft(code: World) -> None:
    seen = played(
        code, [edit("a.py", "one", "1"), edit("a.py", "nothing", "2"), PLAN, PRESENT],
        [PRESENT], code=3,
    )  # fmt: skip
    _, failed, plan, refused, presented = seen.results
    assert "not found" in failed
    assert "1 operation is staged" in plan
    assert "1 operation is staged" not in refused
    assert "1 operation is staged" in presented


@pytest.fixture
def code(world: World) -> World:
    world.put("a.py", b"one\ntwo\nthree\n")
    world.put("b.py", b"one\n")
    return world


def test_f61_a_probe_is_taken_out_again_by_the_id_that_its_result_names(code: World) -> None:
    edited_a = WriteFile(b"a.py", content("one\ntwo\nthree\n"), content("1\ntwo\nthree\n"))
    [probe, edit_of_a] = named(run("touch probe"), edited_a)
    seen = played(
        code, [shell("touch probe", stage=True), edit("a.py", "one", "1")],
        [("unstage", {"ids": [probe]})],
        [("draft", {})], [PLAN], [PRESENT], code=3,
    )  # fmt: skip
    touched, edited, unstaged, draft, plan, presented = seen.results
    assert touched == f"Staged as command 1 of 1, runs after approval. Id {probe}."
    assert edited.endswith(f"\nStaged: 2 {edit_of_a}; unstage takes it out.")
    assert unstaged.splitlines() == [
        f"Taken out: {probe} run touch probe.",
        "1 operation is staged:",
        f"1. {edit_of_a} write a.py",
    ]
    listed = f"1 operation is staged:\n1. {edit_of_a} write a.py"
    assert draft == listed
    assert plan.endswith(listed)
    assert presented.endswith(listed)
    assert staged(code) == [("write", "a.py")]


def test_f12_the_tools_of_the_draft_come_once_with_the_first_staged_operation(code: World) -> None:
    """One change of the list, at its end: more would cost the provider's cache more than once."""
    reads: Call = ("read", {"path": "a.py"})
    seen = played(code, [reads], [edit("a.py", "one", "1")], [write("c.py", "c\n")], "Done.")
    before, again, with_draft, last = seen.tools
    assert before == again
    assert with_draft == last == [*before, "unstage", "draft", "rehearse"]


def test_f61_what_others_build_on_stays_and_is_named_until_it_leaves_with_them(code: World) -> None:
    first = WriteFile(b"n.py", None, content("1\n"))
    made = run("make")
    second = WriteFile(b"n.py", content("1\n"), content("2\n"))
    ids = named(first, made, second)
    wrong = "0" * 12
    seen = played(
        code, [write("n.py", "1\n"), shell("make", stage=True), edit("n.py", "1", "2")],
        [("unstage", {"ids": [ids[0], wrong]})], [("unstage", {"ids": [ids[0], ids[2]]})], "Done.",
    )  # fmt: skip
    *_, edited, refused, gone = seen.results
    assert f"n.py is also changed by 1. {ids[0]}: a command in between may need" in edited
    lines = refused.splitlines()
    assert lines[0] == (
        f"Not taken out: {wrong}: nothing in the draft has this id; an operation that was changed "
        "has a new one."
    )
    assert lines[1] == (
        f"Not taken out: {ids[0]}: after a command, {ids[2]} write n.py builds on it; take that "
        "one out as well."
    )
    assert lines[2] == "3 operations are staged:"
    assert gone.splitlines()[:2] == [
        f"Taken out: {ids[0]} write n.py, {ids[2]} write n.py.",
        "The command staged after it stayed: unstage what cannot run without it.",
    ]
    assert staged(code) == [("run", "make")]


def test_without_the_command_between_them_two_edits_are_one_with_the_first_number(
    code: World,
) -> None:
    a = "one\ntwo\nthree\n"
    made = named(run("make"))[0]
    both = named(WriteFile(b"a.py", content(a), content("1\n2\nthree\n")))[0]
    first = named(WriteFile(b"a.py", content(a), content("1\ntwo\nthree\n")))[0]
    seen = played(
        code,
        [
            edit("a.py", "one", "1"),
            shell("make", stage=True),
            edit("b.py", "one", "1"),
            edit("a.py", "two", "2"),
        ],
        [("unstage", {"ids": [made]})],
        "Done.",
    )
    assert f"Folded together: {both} write a.py (was {first})." in seen.results[-1]
    assert staged(code) == [("write", "a.py"), ("write", "b.py")]


def test_f61_a_later_edit_folds_into_the_operation_that_has_the_file_and_checks_stay_last(
    code: World,
) -> None:
    a, was = "one\ntwo\nthree\n", content("1\ntwo\nthree\n")
    first = named(WriteFile(b"a.py", content(a), was))[0]
    both = named(WriteFile(b"a.py", content(a), content("1\n2\nthree\n")))[0]
    seen = played(
        code,
        [edit("a.py", "one", "1"), edit("b.py", "one", "1"), shell("make check", at_end=True),
         write("c.py", "c\n"), edit("a.py", "two", "2")],
        [("draft", {"diff": True})], [PLAN], [PRESENT], code=3,
    )  # fmt: skip
    assert f"\nStaged: 1 {both} (was {first}); unstage takes it out." in seen.results[4]
    assert staged(code) == [
        ("write", "a.py"), ("write", "b.py"), ("write", "c.py"), ("run", "make check"),
    ]  # fmt: skip
    draft = seen.results[5]
    assert "4. " in draft
    assert "run make check (stays at the end)" in draft
    assert draft.count("--- a/a.py") == 1
    assert "-one\n-two\n+1\n+2\n three" in draft


def test_a_rejection_says_to_take_out_what_is_not_wanted(code: World) -> None:
    played(
        code,
        [shell("touch probe", stage=True), edit("a.py", "one", "1")],
        [PLAN],
        [PRESENT],
        code=3,
    )
    code.ok("reject", "--note", "No probe.")
    probe = named(run("touch probe"))[0]
    seen = played(
        code, [("unstage", {"ids": [probe]})], [PRESENT], goal="--continue", code=3
    )  # fmt: skip
    assert any("take out with `unstage` what they do not want" in text for text in seen.messages)
    assert staged(code) == [("write", "a.py")]


def test_g9_what_is_changed_again_is_shown_as_changed_at_its_number_not_as_new(code: World) -> None:
    played(
        code, [edit("a.py", "one", "1"), write("c.py", "c\n")], [PLAN], [PRESENT], code=3
    )  # fmt: skip
    code.ok("review", "--seen")
    code.ok("reject", "--note", "Also two.")
    played(code, [edit("a.py", "two", "2")], [PRESENT], goal="--continue", code=3)
    shown = code.run("review").out.decode()
    assert "Operations reordered" not in shown
    [title] = [line for line in shown.splitlines() if line.startswith("1. ")]
    assert title.endswith("(reversible, changed)")
    assert ", new" not in shown


def test_a_file_that_may_not_be_read_is_listed_without_its_diff(code: World) -> None:
    code.put(".env", b"TOKEN=hush\n")
    played(code, [edit("a.py", "one", "1")], "Done.")
    code.ok("stage", "delete", ".env")
    draft = played(code, [("draft", {"diff": True})], "Done.", goal="--continue").results[-1]
    assert "delete .env: not shown, as reading it is not allowed without asking." in draft
    assert "hush" not in draft
    assert "+1" in draft


def test_a_file_that_is_created_and_deleted_cancels_out(code: World) -> None:
    made = named(WriteFile(b"tmp.py", None, content("x\n")))[0]
    seen = played(code, [write("tmp.py", "x\n"), ("delete", {"path": "tmp.py"})], "Done.")
    assert seen.results[1].endswith(
        f"It cancels out what was staged before: {made} write tmp.py. Nothing of it is left in the "
        "plan."
    )
    assert staged(code) == []


def test_the_footer_about_the_draft_is_there_only_once_something_is_staged(code: World) -> None:
    """A program reads the disk, which matters to a model that has a draft, and to no other."""
    seen = played(
        code, [shell("cat a.py")], [shell("make", stage=True)], [shell("cat a.py")],
        [edit("a.py", "one", "1")], [shell("cat a.py")], "Done.",
    )  # fmt: skip
    notes = ["without staged changes" in text for text in seen.results]
    assert notes == [False, False, False, False, True]


def test_f61_an_option_has_a_draft_of_its_own_to_take_out_of(code: World) -> None:
    [made] = named(WriteFile(b"n.py", None, content("n\n")))
    first, second = {"option": "A"}, {"option": "B"}
    seen = played(
        code,
        [("write", {"path": "n.py", "content": "n\n", **first}),
         ("write", {"path": "n.py", "content": "n\n", **second})],
        [("unstage", {"ids": [made], **first})], [("draft", second)], [("draft", {"option": "C"})],
        "Done.",
    )  # fmt: skip
    assert seen.results[2].splitlines()[0] == f"Taken out: {made} write n.py."
    assert seen.results[3] == f"Option B: 1 operation is staged:\n1. {made} write n.py"
    assert "There is no option 'C'" in seen.results[4]


def test_before_anything_is_staged_there_is_nothing_to_take_out(code: World) -> None:
    seen = played(
        code, [("unstage", {"ids": ["abc"]}), ("draft", {}), ("unstage", {"ids": []})], "Done."
    )
    assert seen.results[0] == "There is no draft yet. Nothing was taken out."
    assert seen.results[1] == "Nothing is staged."
    assert "ids: must not be empty" in seen.results[2]


def test_what_was_never_staged_cannot_be_taken_out(code: World) -> None:
    plan = ("write_plan", {"text": "# A plan\n\n## Goal\n\nNothing yet.\n"})
    seen = played(code, [plan], [("unstage", {"ids": ["abc"]})], "Done.")
    assert seen.results[1].splitlines() == [
        "Not taken out: abc: nothing in the draft has this id; an operation that was changed has a "
        "new one.",
        "Nothing is staged.",
    ]


def test_what_was_taken_out_can_be_edited_again_without_reading(code: World) -> None:
    seen = played(
        code,
        [("read", {"path": "a.py"}), edit("a.py", "one", "1")],
        [("unstage", {"ids": ["a.py"]})],
        [edit("a.py", "one", "uno")],
        "Done.",
    )
    assert "Staged: 1 " in seen.results[-1]
    assert staged(code) == [("write", "a.py")]


def test_a_session_whose_log_has_calls_of_multi_edit_opens_and_goes_on(code: World) -> None:
    both = {"path": "a.py", "edits": [{"old": "one", "new": "1"}, {"old": "two", "new": "2"}]}
    played(code, [("multi_edit", both)], [PLAN], [PRESENT], code=3)
    code.ok("reject", "--note", "Also b.py.")
    played(code, [edit("b.py", "one", "1")], [PRESENT], goal="--continue", code=3)
    assert "multi_edit" in str(code.ok("log")["events"])
    assert staged(code) == [("write", "a.py"), ("write", "b.py")]
