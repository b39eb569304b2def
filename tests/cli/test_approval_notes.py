"""Notes of approvals: they travel with the yes, and become items of the next plan, each once."""

import pytest
from tests.cli.harness import World

HEADING = "\n## Notes from earlier approvals\n\n"


def approved(world: World, name: str, note: str) -> str:
    """A plan that is approved with a note and built; returns its digest."""
    world.plan(name)
    world.write(f"{name}.txt", b"x\n")
    digest = world.propose()
    world.ok("approve", "--digest", digest, "--note", note, "--build")
    return digest


def items(world: World) -> str:
    return world.text().read_text(encoding="utf-8").partition(HEADING)[2]


def carried(world: World) -> list[dict[str, object]]:
    return [e["body"] for e in world.ok("log")["events"] if e["kind"] == "notes_carried"]


def test_g11_a_note_becomes_an_item_of_the_next_plan(world: World) -> None:
    digest = approved(world, "one", "Rename it later")
    (waiting,) = world.ok("status")["notes"]
    assert (waiting["note"], waiting["name"], waiting["digest"]) == (
        "Rename it later",
        "one",
        digest,
    )
    assert (
        f"Note on one ({digest[:12]}), to be added to the next plan:\n│ Rename it later\n"
        in world.run("status").out.decode()
    )
    made = world.plan("two", "Next")
    assert items(world) == f"- [ ] From the approval of one ({digest[:12]}): Rename it later\n"
    assert carried(world) == [{"plan_id": made["plan_id"], "approvals": [waiting["approval"]]}]
    assert world.ok("status")["notes"] == []
    tasks = world.root / f".opencode/assent/plans/{made['plan_id']}/taskmap.json"
    assert "Rename it later" in tasks.read_text(encoding="utf-8")


def test_g11_every_note_once_and_none_is_lost(world: World) -> None:
    first = approved(world, "one", "First")
    second = approved(world, "two", "Second")
    assert items(world).count("First") == 1
    world.plan("three")
    assert items(world) == f"- [ ] From the approval of two ({second[:12]}): Second\n"
    assert first != second
    world.plan("four")
    assert items(world) == ""
    assert len(carried(world)) == 2


def test_g11_two_notes_of_one_plan_are_two_items(world: World) -> None:
    world.plan("one")
    world.write("a.txt", b"a\n")
    digest = world.propose()
    for note in ("Once", "Twice", "  "):
        world.ok("approve", "--digest", digest, "--note", note)
    source = f"- [ ] From the approval of one ({digest[:12]}): "
    world.plan("two")
    assert items(world) == f"{source}Once\n{source}Twice\n"
    shown = world.ok("review", "--plan", "one")["notes"]
    assert [note["note"] for note in shown] == ["Once", "Twice"]
    text = world.run("review", "--plan", "one").out.decode()
    assert "│ Once\n" in text


ODD = {
    "lines": ("One\n\n  two\nthree", "One\n\n  two\n  three\n"),
    "heading": ("A\n# B\n## C", "A\n  \\# B\n  \\## C\n"),
    "items": (
        "A\n- [x] done\n* b\n1. c\n12) d",
        "A\n  \\- [x] done\n  \\* b\n  1\\. c\n  12\\) d\n",
    ),
    "fence": ("A\n```\nB\n---\n> C", "A\n  \\```\n  B\n  \\---\n  \\> C\n"),
    "comment": ("<!-- hidden\nx -->", "\\<!-- hidden\n  x -->\n"),
    "hidden": ("a\u202eb\u200bc", "a\\<U+202E>b\\<U+200B>c\n"),
    "front matter": ("---\nscope: {}\n---", "---\n  scope: {}\n  \\---\n"),
}


@pytest.mark.parametrize(("note", "wanted"), ODD.values(), ids=ODD)
def test_g11_a_note_is_one_item_whatever_is_in_it(world: World, note: str, wanted: str) -> None:
    digest = approved(world, "one", note)
    made = world.plan("two")
    assert items(world) == f"- [ ] From the approval of one ({digest[:12]}): {wanted}"
    tasks = world.root / f".opencode/assent/plans/{made['plan_id']}/taskmap.json"
    assert tasks.read_text(encoding="utf-8").count('"done"') == 1
    assert world.ok("status")["notes"] == []


def test_g11_a_secret_in_a_note_does_not_get_into_the_file(world: World) -> None:
    secret = "ghp_" + "a1B2" * 9
    approved(world, "one", f"Use {secret}")
    world.plan("two")
    assert "Use " in items(world)
    assert secret not in items(world)


def test_g11_a_very_long_note_comes_whole_or_is_refused_before(world: World) -> None:
    world.plan("one")
    world.write("a.txt", b"a\n")
    digest = world.propose()
    assert world.no(2, "approve", "--digest", digest, "--note", "x" * 70_000)["error"] == "usage"
    assert world.ok("plan", "show")["approved"] is False
    note = "word " * 10_000
    world.ok("approve", "--digest", digest, "--note", note)
    world.plan("two")
    assert note.strip() in items(world)


def test_g11_notes_for_which_there_is_no_room_keep_waiting(world: World) -> None:
    world.plan("one")
    world.write("a.txt", b"a\n")
    digest = world.propose()
    for number in range(20):
        world.ok("approve", "--digest", digest, "--note", f"{number} " + "x" * 60_000)
    world.plan("two")
    waiting = [note["note"].split()[0] for note in world.ok("status")["notes"]]
    assert 0 < len(waiting) < 20
    world.plan("three")
    assert world.ok("status")["notes"] == []
    assert len(carried(world)) == 2


def test_g11_a_plan_that_was_given_up_gives_its_notes_back(world: World) -> None:
    approved(world, "one", "Keep me")
    world.plan("two")
    world.ok("plan", "delete", "--plan", "two")
    assert [note["note"] for note in world.ok("status")["notes"]] == ["Keep me"]
    world.plan("three")
    assert "Keep me" in items(world)


def test_g11_a_file_whose_record_was_lost_in_a_crash_is_taken_in_with_its_notes(
    world: World,
) -> None:
    digest = approved(world, "one", "Once")
    item = f"- [ ] From the approval of one ({digest[:12]}): Once\n"
    world.put(".opencode/plans/tests/PLAN_two.md", f"# Two\n{HEADING}{item}".encode())
    plans = {row["name"]: row["plan_id"] for row in world.ok("plan", "list")["plans"]}
    assert [body["plan_id"] for body in carried(world)] == [plans["two"]]
    world.plan("three")
    assert items(world) == ""


def test_g11_an_item_that_a_person_takes_out_is_shown_to_whoever_decides(world: World) -> None:
    digest = approved(world, "one", "Rename it later")
    world.plan("two")
    assert world.ok("review")["missing_notes"] == []
    world.ok("plan", "write", "-", stdin=b"# Without\n")
    world.write("b.txt", b"b\n")
    world.propose()
    assert [note["note"] for note in world.ok("review")["missing_notes"]] == ["Rename it later"]
    shown = (
        f"The plan text no longer contains the note on one ({digest[:12]}):\n│ Rename it later\n"
    )
    assert shown in world.run("review").out.decode()


def test_g11_a_plan_file_of_somebody_elses_is_left_as_it_is(world: World) -> None:
    approved(world, "one", "Once")
    world.put(".opencode/plans/tests/PLAN_two.md", b"# Mine\n")
    world.ok("plan", "list")
    assert world.at(".opencode/plans/tests/PLAN_two.md")
    assert (world.root / ".opencode/plans/tests/PLAN_two.md").read_bytes() == b"# Mine\n"
    assert [note["note"] for note in world.ok("status")["notes"]] == ["Once"]
