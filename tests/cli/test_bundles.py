"""A plan made on one machine, approved on a second and applied on a third, as files carry it."""

import os
import shlex
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.cli.killed_build import kill_build
from tests.cli.machines import OLD, Machines, key_of, trust
from tests.cli.terminal import Terminal

from assent.app.composition import open_engine_at
from assent.config.paths import AppPaths

APPLIED = {
    b"a.txt": b"one\n2\n",
    b"new/b.txt": b"b\n",
    b"other.txt": b"moved\n",
}


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path)


def contents(world: World) -> dict[bytes, bytes]:
    return {path: found[2] for path, found in world.files().items() if found[0] == "file"}


def before() -> dict[bytes, bytes]:
    return {path.encode(): content for path, content in OLD.items()}


def test_g14_a_plan_travels_over_three_machines_and_back(machines: Machines) -> None:
    machines.ready()
    built = machines.runner.ok("build", str(machines.file))
    assert built["outcome"] == "done"
    assert [row["result"] for row in built["operations"]] == ["done"] * 4
    assert contents(machines.runner) == APPLIED
    assert machines.runner.undo().code == 0
    assert contents(machines.runner) == before()
    assert contents(machines.planner) == before()


def test_g14_a_review_elsewhere_shows_what_the_planner_sees(machines: Machines) -> None:
    digest = machines.plan()
    there = machines.planner.ok("review")
    here = machines.person.ok("review", str(machines.file))
    assert here["digest"] == digest
    for part in ("text", "operations", "scope", "relied_on", "content_hash", "operations_hash"):
        ours, theirs = here[part], there[part]
        if part == "operations":
            ours, theirs = ([{**row, "seen": None} for row in rows] for rows in (ours, theirs))
        assert ours == theirs, part
    assert here["bundle"]["approvals"] == []
    assert here["bundle"]["requester"]["key"] == key_of(machines.planner)
    text = machines.person.run("review", str(machines.file)).out.decode()
    for line in ("Plan from a bundle", "This plan is not approved.", "-two", "+2", "-bye"):
        assert line in text
    assert machines.person.files() == {}


def test_g14_without_an_approval_it_needs_one(machines: Machines) -> None:
    machines.plan()
    error = machines.runner.no(3, "build", str(machines.file))
    assert error["error"] == "not_approved"
    assert contents(machines.runner) == before()


def test_g14_nothing_to_do_writes_no_file(machines: Machines) -> None:
    machines.planner.plan()
    answer = machines.planner.ok("propose", "--portable", "--out", str(machines.file))
    assert (answer["outcome"], answer["state"]) == ("nothing", "DRAFTING")
    assert not machines.file.exists()


def test_g14_a_key_that_is_not_listed_does_not_count(machines: Machines) -> None:
    machines.plan()
    machines.approve()
    error = machines.runner.no(7, "build", str(machines.file))
    assert error["error"] == "untrusted"
    assert key_of(machines.person) in error["message"]
    assert error["next"] == "assent keys list"  # nobody is told to trust a key by a file
    assert contents(machines.runner) == before()


def test_g14_a_project_cannot_list_keys(machines: Machines) -> None:
    machines.plan()
    machines.approve()
    listed = f'[keys]\nada = "{key_of(machines.person)}"\n'
    machines.runner.put(".opencode/assent.toml", listed.encode())
    answer = machines.runner.run("build", str(machines.file))
    assert answer.code == 7
    assert b"is not trusted here" in answer.err
    assert contents(machines.runner) == before()


def test_g14_the_machine_that_approved_may_apply_it(machines: Machines) -> None:
    machines.plan()
    digest = machines.runner.ok("review", str(machines.file))["digest"]
    machines.runner.ok("approve", str(machines.file), "--digest", digest)
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"


def test_g14_files_that_changed_make_it_stale(machines: Machines) -> None:
    machines.ready()
    machines.runner.put("a.txt", b"somebody else\n")
    error = machines.runner.no(5, "build", str(machines.file))
    assert error["error"] == "drift"
    assert contents(machines.runner) == {**before(), b"a.txt": b"somebody else\n"}
    machines.runner.put("a.txt", OLD["a.txt"])
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"


def test_g14_an_unfinished_run_halts_it(machines: Machines) -> None:
    machines.ready()
    halted(machines.runner)
    error = machines.runner.no(6, "build", str(machines.file))
    assert error["error"] == "needs_you"


def halted(world: World) -> None:
    """Leaves a run behind that waits for a person."""
    world.plan("first")
    world.ok("stage", "run", "--", "false")
    world.approve()
    assert world.run("build", "--json").code == 6


def test_g14_an_approval_may_come_in_a_file_of_its_own(machines: Machines) -> None:
    machines.plan()
    untouched = machines.file.read_bytes()
    apart = machines.file.with_name("yes.json")
    machines.approve("--out", str(apart))
    assert machines.file.read_bytes() == untouched
    trust(machines.runner, key_of(machines.person))
    machines.runner.no(3, "build", str(machines.file))
    built = machines.runner.ok("build", str(machines.file), "--approval", str(apart))
    assert built["outcome"] == "done"
    assert machines.runner.no(4, "build", str(machines.file), "--approval", str(apart)) == {
        "error": "spent",
        "message": "The approval was already used on this machine.",
        "next": f"assent approve {machines.file}",
    }


def test_g14_what_is_typed_next_names_the_files(machines: Machines) -> None:
    machines.plan()
    person, file = machines.person, str(machines.file)
    digest = person.ok("review", file)["digest"]
    apart = machines.file.with_name("a yes.json")
    trust(machines.runner, key_of(person))
    nobody = machines.runner.no(3, "build", file)
    assert nobody["next"] == f"assent approve {file}"
    told = person.run("approve", file, "--digest", digest, "--out", str(apart)).out.decode()
    line = told.splitlines()[-1].partition(": ")[2]
    assert line == f"assent build {file} --approval '{apart}'"
    assert machines.runner.run(*shlex.split(line)[1:]).code == 0
    told = person.run("approve", file, "--digest", digest).out.decode()
    assert told.endswith(f": assent build {file}\n")


def test_g14_both_files_may_be_pipes(machines: Machines) -> None:
    machines.planner.plan()
    machines.planner.write("a.txt", b"piped\n")
    packed = machines.planner.run("propose", "--portable", "--out", "-")
    assert (packed.code, packed.err) == (0, b"")
    machines.file.write_bytes(packed.out)
    digest = machines.person.run("review", "-", "--json", stdin=packed.out).json["digest"]
    line = ("approve", str(machines.file), "--digest", digest, "--out", "-")
    machines.file.with_name("yes.json").write_bytes(machines.person.run(*line).out)
    trust(machines.runner, key_of(machines.person))
    apart = str(machines.file.with_name("yes.json"))
    built = machines.runner.run("build", "-", "--approval", apart, "--json", stdin=packed.out)
    assert (built.code, built.json["outcome"]) == (0, "done")


def test_g14_several_may_approve_and_one_that_counts_is_enough(machines: Machines) -> None:
    machines.plan()
    stranger = machines.planner
    digest = stranger.ok("review", str(machines.file))["digest"]
    stranger.ok("approve", str(machines.file), "--digest", digest, "--note", "Mine")
    machines.approve("--note", "Checked")
    trust(machines.runner, key_of(machines.person))
    rows = machines.runner.ok("review", str(machines.file))["bundle"]["approvals"]
    assert [(row["note"], row["counts"], row["why"]) for row in rows] == [
        ("Mine", False, "untrusted"),
        ("Checked", True, None),
    ]
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"


def test_g14_an_imported_plan_is_listed_and_cannot_be_changed(machines: Machines) -> None:
    machines.ready()
    machines.runner.ok("build", str(machines.file))
    (row,) = machines.runner.ok("plan", "list")["plans"]
    assert (row["name"], row["state"], row["path"]) == ("work", "COMPLETED", None)
    assert len(row["imported"]) == 64
    assert b"imported" in machines.runner.run("plan", "list").out
    error = machines.runner.no(1, "propose", "--plan", row["plan_id"])
    assert error["error"] == "illegal_step"
    shown = machines.runner.ok("plan", "show", "--plan", row["plan_id"])
    assert shown["imported"] == row["imported"]


def test_g14_a_file_that_is_something_else_is_never_replaced(machines: Machines) -> None:
    machines.planner.plan()
    machines.planner.write("x.txt", b"x\n")
    for name in ("a.txt", "link"):
        if name == "link":
            machines.planner.link(name, "a.txt")
        error = machines.planner.no(7, "propose", "--portable", "--out", name)
        assert error["error"] == "refused"
    assert contents(machines.planner)[b"a.txt"] == OLD["a.txt"]
    machines.planner.no(2, "propose", "--portable", "--out", "no/folder.json")


@pytest.mark.parametrize(
    "line",
    [
        ("propose", "--portable"),
        ("propose", "--out", "x.json"),
        ("approve", "--out", "x.json"),
        ("build", "--approval", "x.json"),
        ("approve", "x.json", "--build"),
        ("build", "x.json", "--model", "a/b"),
        ("review", "x.json", "--plan", "work"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(
    machines: Machines, line: tuple[str, ...]
) -> None:
    machines.planner.plan()
    assert machines.planner.no(2, *line)["error"] == "usage"


def test_g14_a_build_that_was_killed_goes_on_with_the_same_file(machines: Machines) -> None:
    digest = machines.plan()
    runner = machines.runner
    runner.ok("approve", str(machines.file), "--digest", digest)
    here = AppPaths(runner.state / "assent", runner.config.parent)
    engine, _ = open_engine_at(str(runner.root), here)
    bundle = engine.bundles().read(machines.file.read_bytes())
    record = engine.bundles().import_plan(bundle, machines.file.read_bytes())
    engine.close()
    runner.ok("plan", "use", record.plan_id)
    kill_build(runner, "rename", 1)
    built = runner.ok("build", str(machines.file))
    assert built["outcome"] == "done"
    assert contents(runner) == APPLIED
    assert runner.no(4, "build", str(machines.file))["error"] == "spent"


def test_g14_a_no_to_a_file_is_on_record_and_changes_nothing(machines: Machines) -> None:
    digest = machines.plan()
    before = machines.file.read_bytes()
    machines.person.config.write_text("", encoding="utf-8")
    no = Terminal(machines.person, "approve", str(machines.file), "--json").answer(b"no\n")
    assert (no.code, no.error["error"]) == (4, "declined")
    assert machines.file.read_bytes() == before
    (row,) = machines.person.ok("log", "--decisions")["decisions"]
    assert (row["kind"], row["digest"]) == ("plan_declined", digest)
    yes = Terminal(machines.person, "approve", str(machines.file))
    assert yes.answer(digest[:8].encode() + b"\n").code == 0
    assert b"requested by" in yes.screen
    assert machines.person.ok("review", str(machines.file))["approved"] is True


def test_g14_a_place_that_cannot_be_written_is_found_before_anybody_is_asked(
    machines: Machines,
) -> None:
    digest = machines.plan()
    link = machines.file.with_name("link.json")
    link.symlink_to(machines.file)
    machines.file.with_name("other.txt").write_bytes(b"mine\n")
    for line in (
        (str(link),),
        (str(machines.file), "--out", str(machines.file.with_name("other.txt"))),
    ):
        error = machines.person.no(7, "approve", *line, "--digest", digest)
        assert "is not replaced" in error["message"]
    assert machines.person.ok("log", "--decisions")["decisions"] == []


def test_g14_a_bundle_may_be_approved_in_a_pipe(machines: Machines) -> None:
    digest = machines.plan()
    content = machines.file.read_bytes()
    answer = machines.person.run("approve", "-", "--digest", digest, stdin=content)
    assert answer.code == 0
    trust(machines.runner, key_of(machines.person))
    built = machines.runner.run("build", "-", "--json", stdin=answer.out)
    assert (built.code, built.json["outcome"]) == (0, "done")
    assert machines.person.run("approve", "-", "--json", stdin=content).error["error"] == "usage"


def test_g14_links_modes_odd_names_and_bytes_travel(machines: Machines) -> None:
    name = b"caf\xe9.bin"
    for world in (machines.planner, machines.runner):
        world.put("tool", b"#!/bin/sh\n")
        world.put(name, bytes(range(256)))
        world.link("old", "a.txt")
    planner = machines.planner
    planner.plan()
    planner.ok("stage", "write", "tool", "--mode", "755")
    planner.ok("stage", "write", "new", "--link-to", "tool")
    planner.ok("stage", "move", "old", "moved")
    planner.ok("stage", "write", os.fsdecode(name), "--from", "-", stdin=b"\0\xff" * 1000)
    machines.pack()
    there, here = planner.ok("review"), machines.person.ok("review", str(machines.file))
    assert [row["diff"] for row in here["operations"]] == [
        row["diff"] for row in there["operations"]
    ]
    machines.approve()
    trust(machines.runner, key_of(machines.person))
    assert machines.runner.ok("build", str(machines.file))["outcome"] == "done"
    found = machines.runner.files()
    assert (found[b"tool"][1], found[b"new"], found[b"moved"]) == (
        0o755, ("link", 0o777, b"tool"), ("link", 0o777, b"a.txt"),
    )  # fmt: skip
    assert found[name][2] == b"\0\xff" * 1000
    assert machines.runner.undo().code == 0


def test_g14_a_file_that_the_plan_relies_on_must_be_the_same_elsewhere(machines: Machines) -> None:
    planner, runner = machines.planner, machines.runner
    for world in (planner, runner):
        world.put("rests.txt", b"on this\n")
    planner.plan()
    planner.ok("plan", "write", "-", stdin=b"---\nrelies_on: [rests.txt]\n---\n# P\n")
    planner.write("a.txt", b"changed\n")
    machines.pack()
    machines.approve()
    trust(runner, key_of(machines.person))
    runner.put("rests.txt", b"on that\n")
    assert runner.no(5, "build", str(machines.file))["error"] == "drift"
    runner.put("rests.txt", b"on this\n")
    assert runner.ok("build", str(machines.file))["outcome"] == "done"
