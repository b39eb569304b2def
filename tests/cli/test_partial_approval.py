"""Partial approval: some operations are declined, and the smaller plan has its own digest."""

from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.terminal import QUESTION, Terminal


@pytest.fixture
def proposed(world: World) -> World:
    """A plan of three files, of which one takes the place of another."""
    world.put("d", b"old\n")
    world.plan(goal="Three things")
    world.write("a.txt", b"a\n")
    world.ok("stage", "delete", "d")
    world.write("d/f", b"new\n")
    world.propose()
    return world


def ids(world: World) -> dict[str, str]:
    return {row["path"]: row["id"] for row in world.ok("review")["operations"]}


def kinds(world: World) -> list[str]:
    return [event["kind"] for event in world.ok("log")["events"]]


def rest(world: World, *without: str) -> dict[str, Any]:
    """What would be left, as a dry run tells it."""
    return world.ok("approve", *(word for op in without for word in ("--without", op)), "--dry-run")


def test_g10_a_smaller_plan_with_its_own_digest_is_built(proposed: World) -> None:
    whole = proposed.ok("review")["digest"]
    op = ids(proposed)["a.txt"]
    left = rest(proposed, op)
    assert [row["path"] for row in left["operations"]] == ["d", "d/f"]
    assert (left["digest"] != whole, left["approved"]) == (True, False)
    before = kinds(proposed)
    answer = proposed.ok(
        "approve", "--without", op[:10], "--digest", left["digest"], "--note", "Later"
    )
    assert answer["digest"] == left["digest"]
    assert (answer["approved"], answer["state"]) == (True, "AWAITING_APPROVAL")
    assert [row["path"] for row in answer["declined"]] == ["a.txt"]
    assert answer["followed"] == []
    assert kinds(proposed)[len(before) :] == [
        "plan_revised", "draft_changed", "operations_declined", "plan_proposed", "plan_approved"
    ]  # fmt: skip
    (event,) = [e for e in proposed.ok("log")["events"] if e["kind"] == "operations_declined"]
    user = event["body"].pop("user")
    assert event["body"] == {"digest": whole, "declined": [op], "followed": [], "note": "Later"}
    assert user
    shown = proposed.ok("review")
    assert [row["id"] for row in shown["declined"]] == [op]
    assert [note["note"] for note in shown["notes"]] == ["Later"]
    assert proposed.ok("status")["declined"] == [op]
    assert b"1 operation was excluded; `assent review` shows which" in proposed.run("status").out
    assert proposed.ok("build")["outcome"] == "done"
    assert proposed.files() == {b"d": ("folder", 0, b""), b"d/f": ("file", 0o644, b"new\n")}


def test_g10_an_operation_is_declined_by_the_number_that_a_review_shows(proposed: World) -> None:
    shown = proposed.run("review").out.decode()
    rows = proposed.ok("review")["operations"]
    assert [row["kind"] for row in rows] == ["write", "delete", "write"]
    for number, (row, verb) in enumerate(zip(rows, ("create", "delete", "create"), strict=True), 1):
        assert f"\n{number}. {verb} {row['path']} (" in shown
        assert rest(proposed, str(number)) == rest(proposed, row["id"]), row
    refused = proposed.no(1, "approve", "--without", "4", "--dry-run")
    assert (refused["error"], refused["next"]) == ("not_found", "assent review")
    digest = rest(proposed, "1")["digest"]
    answer = proposed.ok("approve", "--without", "1", "--digest", digest)
    assert [row["path"] for row in answer["declined"]] == ["a.txt"]


def test_g10_what_cannot_stay_goes_with_it(proposed: World) -> None:
    op = ids(proposed)["d"]
    left = rest(proposed, op)
    assert [row["path"] for row in left["operations"]] == ["a.txt"]
    answer = proposed.ok("approve", "--without", op, "--digest", left["digest"])
    (followed,) = answer["followed"]
    assert (followed["path"], followed["reason"]) == (
        "d/f",
        "d/f needs a folder, but d remains a file.",
    )
    text = proposed.run("review").out.decode()
    section = text.partition("Excluded\n")[2].splitlines()[:2]
    assert section == [
        "excluded  delete d",
        "excluded too  create d/f: d/f needs a folder, but d remains a file.",
    ]
    assert proposed.ok("build")["outcome"] == "done"
    assert proposed.files() == {
        b"a.txt": ("file", 0o644, b"a\n"),
        b"d": ("file", 0o644, b"old\n"),
    }


def test_g10_the_draft_is_smaller_too_and_staging_goes_on_from_it(proposed: World) -> None:
    op = ids(proposed)["a.txt"]
    proposed.ok("approve", "--without", op, "--digest", rest(proposed, op)["digest"])
    assert [row["path"] for row in proposed.ok("stage", "list")["operations"]] == ["d", "d/f"]
    proposed.write("a.txt", b"a\n")
    proposed.propose()
    assert proposed.no(3, "build")["error"] == "not_approved"
    assert b"excluded, and in the plan again  create a.txt" in proposed.run("review").out


def test_g10_a_no_to_a_part_voids_an_earlier_yes_to_the_whole(proposed: World) -> None:
    whole = proposed.ok("review")["digest"]
    proposed.ok("approve", "--digest", whole)
    op = ids(proposed)["a.txt"]
    proposed.ok("approve", "--without", op, "--digest", rest(proposed, op)["digest"])
    proposed.ok("stage", "clear")
    proposed.write("a.txt", b"a\n")
    proposed.ok("stage", "delete", "d")
    proposed.write("d/f", b"new\n")
    assert proposed.propose() == whole
    assert proposed.no(3, "build")["error"] == "not_approved"


def test_g10_without_a_terminal_the_refusal_tells_the_digest(proposed: World) -> None:
    op = ids(proposed)["a.txt"]
    digest = rest(proposed, op)["digest"]
    before = kinds(proposed)
    refused = proposed.no(4, "approve", "--without", op, "--no-input")
    assert refused["error"] == "declined"
    assert refused["next"] == f"assent approve --without {op} --digest {digest}"
    wrong = proposed.no(5, "approve", "--without", op, "--digest", "0" * 64)
    assert (wrong["error"], wrong["next"]) == (
        "other_digest",
        f"assent approve --without {op} --dry-run",
    )
    whole = proposed.ok("review")["digest"]
    assert proposed.no(5, "approve", "--without", op, "--digest", whole)["error"] == "other_digest"
    assert kinds(proposed) == before
    proposed.config.unlink()
    refused = proposed.no(4, "approve", "--without", op, "--digest", digest, "--no-input")
    assert refused["error"] == "declined"
    assert kinds(proposed) == before


def test_g10_the_smaller_plan_is_shown_and_asked_about(proposed: World) -> None:
    op = ids(proposed)["d"]
    digest = rest(proposed, op)["digest"]
    before = kinds(proposed)
    no = Terminal(proposed, "approve", "--without", op, "--json")
    assert no.answer(b"no\n").error["error"] == "declined"
    assert kinds(proposed) == before
    assert len(proposed.ok("review")["operations"]) == 3
    yes = Terminal(proposed, "approve", "--without", op, "--build", "--json")
    answer = yes.answer(digest[:8].encode() + b"\n")
    assert (answer.code, answer.json["outcome"]) == (0, "done"), answer
    screen, _, _ = yes.screen.partition(QUESTION)
    for part in (b"Excluded", b"excluded  delete d", b"+a", digest.encode()):
        assert part in screen
    assert b"+new" not in screen


def test_g10_what_makes_no_plan_is_refused(proposed: World) -> None:
    whole = ids(proposed)
    before = kinds(proposed)
    every = [word for op in whole.values() for word in ("--without", op)]
    refused = proposed.no(1, "approve", *every, "--dry-run")
    assert (refused["error"], refused["next"]) == ("impossible", "assent reject --note 'TEXT'")
    both = ("--without", whole["a.txt"], "--without", whole["d"])
    assert proposed.no(1, "approve", *both, "--dry-run")["error"] == "impossible"
    assert proposed.no(1, "approve", "--without", "zz", "--dry-run")["error"] == "not_found"
    assert proposed.no(1, "approve", "--without", "", "--dry-run")["error"] == "not_found"
    for line in (
        ("--dry-run",),
        ("--without", whole["d"], "--dry-run", "--build"),
        ("--without", whole["d"], "--model", "x/y"),
    ):
        assert proposed.no(2, "approve", *line)["error"] == "usage"
    assert kinds(proposed) == before
    proposed.ok("reject", "--note", "No")
    refused = proposed.no(1, "approve", "--without", whole["d"], "--dry-run")
    assert refused["error"] == "illegal_step"


def test_g10_only_the_export_left_is_no_plan(world: World) -> None:
    config = world.config.read_text(encoding="utf-8")
    world.config.write_text(config + '[plan]\nexport = "PLAN.md"\n', encoding="utf-8")
    world.plan()
    world.write("a.txt", b"a\n")
    world.propose()
    refused = world.no(1, "approve", "--without", ids(world)["a.txt"], "--dry-run")
    assert refused["error"] == "impossible"
    left = rest(world, ids(world)["PLAN.md"])
    world.ok("approve", "--without", ids(world)["PLAN.md"], "--digest", left["digest"])
    assert [row["path"] for row in world.ok("stage", "list")["operations"]] == ["a.txt"]
    assert world.ok("build")["outcome"] == "done"
    assert world.files() == {b"a.txt": ("file", 0o644, b"a\n")}


def test_g10_several_go_into_one_option_with_commas(proposed: World) -> None:
    op = ids(proposed)["a.txt"]
    left = rest(proposed, "2", "3")
    assert rest(proposed, "2,3") == rest(proposed, " 3, 2 ") == left
    assert [row["path"] for row in left["operations"]] == ["a.txt"]
    assert rest(proposed, f"{op[:10]},3") == rest(proposed, "1", "3")
    for wrong in ("2,", ",", "2,,3", "2,9"):
        assert proposed.no(1, "approve", "--without", wrong, "--dry-run")["error"] == "not_found"
    refused = proposed.no(4, "approve", "--without", "2,3", "--no-input")
    assert refused["next"] == f"assent approve --without 2,3 --digest {left['digest']}"
    proposed.ok(*refused["next"].split()[1:])
    assert [row["path"] for row in proposed.ok("review")["operations"]] == ["a.txt"]


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        (("--without", "2", "3"), "--without 2,3"),
        (("--without", "1", "2", "3"), "--without 1,2,3"),
        (("3", "--without", "2", "--dry-run"), "--without 2,3 --dry-run"),
        (("--without", "1", "--without", "2", "3"), "--without 1,2,3"),
        (("--without", "1,2", "77d0", "--plan", "work"), "--plan work --without 1,2,77d0"),
    ],
)
def test_g10_several_words_are_told_how_to_be_typed(
    proposed: World, line: tuple[str, ...], typed: str
) -> None:
    before = kinds(proposed)
    refused = proposed.no(2, "approve", *line)
    assert "separated by commas" in refused["message"]
    assert refused["next"] == f"assent approve {typed}"
    assert kinds(proposed) == before


@pytest.mark.parametrize("name", ["plan.json", "2", "none.json"])
def test_g10_a_plan_from_elsewhere_is_approved_whole_or_not_at_all(
    proposed: World, name: str
) -> None:
    if name != "none.json":
        proposed.ok("propose", "--portable", "--out", str(proposed.root / name))
    refused = proposed.no(2, "approve", name, "--without", "1")
    assert "a bundle is approved as a whole" in refused["message"]
    assert refused["next"] == f"assent review {name}"


def test_one_file_at_a_time(proposed: World) -> None:
    for command in ("approve", "review", "build"):
        refused = proposed.no(2, command, "a.json", "b.json")
        assert refused["next"] == f"assent {command} --help"
        assert proposed.no(2, command, " ")["message"] == "FILE must not be empty."


def test_g10_files_that_changed_and_text_that_changed_stop_it(proposed: World) -> None:
    op = ids(proposed)["a.txt"]
    digest = rest(proposed, op)["digest"]
    proposed.put("d", b"other\n")
    assert proposed.no(5, "approve", "--without", op, "--digest", digest)["error"] == "drift"
    proposed.put("d", b"old\n")
    proposed.text().write_bytes(b"# Other\n")
    refused = proposed.no(5, "approve", "--without", op, "--digest", digest)
    assert refused["error"] == "live_differs"


@pytest.fixture
def commanding(world: World) -> World:
    """A plan that writes a file, runs a command, and writes the file again with another one."""
    world.put("p", b"0\n")
    world.plan()
    world.write("p", b"1\n")
    world.ok("stage", "run", "--", "touch", "made")
    world.write("p", b"2\n")
    world.write("q", b"q\n")
    world.propose()
    return world


def test_g10_without_a_command_its_segments_are_one_and_what_may_rest_on_it_is_said(
    commanding: World,
) -> None:
    _, command, _, last = commanding.ok("review")["operations"]
    line = ("approve", "--without", command["id"])
    left = commanding.ok(*line, "--dry-run")
    assert [(row["path"], row["id"] == last["id"]) for row in left["operations"]] == [
        ("p", False),
        ("q", True),
    ]
    assert "-0\n+2\n" in left["operations"][0]["diff"]
    shown = commanding.run(*line, "--dry-run").out.decode()
    assert "\nLater operations may depend on an excluded command." in shown
    commanding.ok(*line, "--digest", left["digest"])
    after = commanding.run("review").out.decode()
    assert "\nexcluded  run touch made\nLater operations may depend" in after
    assert commanding.ok("build")["outcome"] == "done"
    assert commanding.files() == {
        b"p": ("file", 0o644, b"2\n"),
        b"q": ("file", 0o644, b"q\n"),
    }


def test_g10_what_was_made_on_declined_content_goes_too(commanding: World) -> None:
    first = commanding.ok("review")["operations"][0]["id"]
    left = rest(commanding, first)
    assert [row["kind"] for row in left["operations"]] == ["run", "write"]
    assert [row["reason"] for row in left["followed"]] == [
        "It depends on an excluded operation that changes p."
    ]


def test_g10_a_commit_alone_is_no_plan(repo: World) -> None:
    config = repo.config.read_text(encoding="utf-8")
    repo.config.write_text(config + "[plan]\ncommit = true\n", encoding="utf-8")
    repo.plan()
    repo.write("a.txt", b"a\n")
    repo.propose()
    written, commit = (row["id"] for row in repo.ok("review")["operations"])
    refused = repo.no(1, "approve", "--without", written, "--dry-run")
    assert (refused["error"], refused["next"]) == ("impossible", "assent reject --note 'TEXT'")
    left = rest(repo, commit)
    repo.ok("approve", "--without", commit, "--digest", left["digest"])
    assert [row["path"] for row in repo.ok("stage", "list")["operations"]] == ["a.txt"]
    before = repo.git("rev-parse", "HEAD")
    assert repo.ok("build")["outcome"] == "done"
    assert repo.git("rev-parse", "HEAD") == before
