"""Rehearsals: which commands verify a plan, what passed means, and for which plan it counts."""

import pytest
from msgspec.structs import replace

from assent.core.errors import InvalidPlan
from assent.core.plan.operation import FileState, WriteFile
from assent.core.plan.plan import (
    MAX_VERIFY,
    Plan,
    ReliedOnFile,
    declaration_problem,
    front_matter,
)
from assent.core.plan.rehearsal import (
    ChosenBy,
    Rehearsal,
    RehearsedCommand,
    VerifyCommand,
    counts_for,
    is_approvable,
    meets_requirement,
    relied_on_hash,
    shown_rehearsal,
)
from assent.core.plan.verification import suggested_commands, verify_commands

FILE = FileState("a" * 64, 1, 0o644)
PLAN = Plan(b"# Plan\n", (WriteFile(b"a", None, FILE),), relied_on=(ReliedOnFile(b"go.mod", "b"),))
VERIFIED = b"---\nverify: [make lint, make test]\n---\n# Plan\n"


def ran(line: str, exit: int | None = 0, source: ChosenBy = "user") -> RehearsedCommand:
    return RehearsedCommand(line, source, exit, 1.0)


def rehearsal(*commands: RehearsedCommand) -> Rehearsal:
    relied_on = relied_on_hash(PLAN.relied_on)
    return Rehearsal(
        PLAN.digest, PLAN.operations_hash, relied_on, commands, "overlay", "person", ""
    )


PASSED = {
    "nothing was to run": ((), None),
    "all succeeded": ((ran("a"), ran("b")), True),
    "one failed": ((ran("a"), ran("b", 1)), False),
    "one was not run": ((ran("a"), ran("b", None)), None),
    "one failed, so that another was not run": ((ran("a", 2), ran("b", None)), False),
    "ended by a signal": ((ran("a", -9),), False),
}


@pytest.mark.parametrize(("commands", "passed"), PASSED.values(), ids=PASSED)
def test_g12_only_what_ran_and_succeeded_has_passed(
    commands: tuple[RehearsedCommand, ...], passed: bool | None
) -> None:
    found = rehearsal(*commands)
    assert found.passed is passed
    assert found.is_partial == (passed is None and bool(commands))


def test_g12_the_first_source_that_names_commands_is_taken() -> None:
    every = (("u",), ("p",), ("c",))
    assert verify_commands(["x"], VERIFIED, *every) == (VerifyCommand("x", "argument"),)
    assert verify_commands(["x"], VERIFIED, *every, "model") == (VerifyCommand("x", "model"),)
    assert [one.line for one in verify_commands([], VERIFIED, *every)] == [
        "make lint",
        "make test",
    ]
    assert verify_commands([], b"# Plan\n", *every) == (VerifyCommand("u", "user"),)
    assert verify_commands([], b"", (), *every[1:]) == (VerifyCommand("p", "project"),)
    assert verify_commands([], b"", confirmed=("c",)) == (VerifyCommand("c", "confirmed"),)
    assert verify_commands([" "], b"", user=("",)) == ()


def test_g12_a_declaration_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidPlan):
        verify_commands([], b"---\nverify: make test\n---\n")


def test_g12_what_a_plan_names_does_not_replace_commands_that_an_approval_requires() -> None:
    own = ("make lint", "make docs")
    named = tuple(VerifyCommand(line, "plan") for line in front_matter(VERIFIED).verify)
    assert verify_commands([], VERIFIED, own) == named
    both = verify_commands([], VERIFIED, own, required=True)
    # The user's own come first, and no line twice.
    assert both == (
        *(VerifyCommand(line, "user") for line in own),
        VerifyCommand("make test", "plan"),
    )
    given = verify_commands(["x"], VERIFIED, own, required=True)
    assert given == (VerifyCommand("x", "argument"),)


def test_g12_no_command_is_dropped_and_a_text_with_too_many_is_refused() -> None:
    lines = [f"true {number}" for number in range(99)]
    for of_user, of_project, confirmed in ((lines, [], []), ([], lines, []), ([], [], lines)):
        found = verify_commands([], b"", of_user, of_project, confirmed)
        assert [one.line for one in found] == lines
    most, more = (
        b"---\nverify: [%s]\n---\n" % ", ".join(lines[:count]).encode()
        for count in (MAX_VERIFY, MAX_VERIFY + 1)
    )
    required = verify_commands([], most, ["make lint", *lines], required=True)
    assert [one.line for one in required] == ["make lint", *lines]
    assert [one.line for one in verify_commands([], most)] == lines[:MAX_VERIFY]
    assert declaration_problem(most) == ""
    with pytest.raises(InvalidPlan) as refused:
        verify_commands([], more, ["make lint"], required=True)
    assert declaration_problem(more) == refused.value.message
    assert f"names {MAX_VERIFY + 1} commands; {MAX_VERIFY} at most" in refused.value.message


def test_g12_it_counts_for_the_same_operations_files_and_commands_only() -> None:
    found = rehearsal(ran("make test"))
    same = [VerifyCommand("make test", "user")]
    assert counts_for(found, PLAN, same)
    assert counts_for(found, replace(PLAN, text=b"# Other words\n"), same)
    assert not counts_for(found, replace(PLAN, operations=()), same)
    assert not counts_for(found, replace(PLAN, relied_on=()), same)
    assert not counts_for(found, PLAN, [VerifyCommand("make lint", "user")])
    assert not counts_for(found, PLAN, [])
    assert counts_for(rehearsal(ran("x", source="argument")), PLAN, same)
    assert counts_for(rehearsal(ran("x", source="model")), PLAN, same)
    assert not counts_for(rehearsal(ran("make test", source="operation")), PLAN, same)
    assert counts_for(rehearsal(ran("make test", source="operation")), PLAN, [])


REQUIRED = {
    "all of the user's own": (rehearsal(ran("a"), ran("b")), True),
    "all of them, then one of the plan's text": (
        rehearsal(ran("a"), ran("b"), ran("true", source="plan")), True),
    "one of them after a command of the plan's text": (
        rehearsal(ran("a"), ran("true", source="plan"), ran("b")), False),
    "one of them in the words of the plan's text": (
        rehearsal(ran("a"), ran("b", source="plan")), False),
    "after a command of the plan, as in a build": (
        rehearsal(ran("make", source="operation"), ran("a"), ran("b")), True),
    "one of them is missing": (rehearsal(ran("a")), False),
    "given on a terminal": (
        replace(rehearsal(ran("x", source="argument")), terminal=True), True),
    "given without a terminal": (rehearsal(ran("x", source="argument")), False),
    "confirmed by hand": (rehearsal(ran("x", source="confirmed")), True),
    "chosen by the plan": (rehearsal(ran("true", source="plan")), False),
    "chosen by the project": (rehearsal(ran("true", source="project")), False),
    "an operation of the same words": (
        rehearsal(ran("a", source="operation"), ran("b", source="operation")), False),
    "by a model": (replace(rehearsal(ran("a"), ran("b")), by="model"), False),
    "by a model, given": (
        replace(rehearsal(ran("x", source="argument")), by="model", terminal=True), False),
    "by a model, chosen by it": (
        replace(rehearsal(ran("x", source="model")), by="model", terminal=True), False),
    "chosen by a model, in a person's hands": (
        replace(rehearsal(ran("x", source="model")), terminal=True), False),
    "failed": (rehearsal(ran("a"), ran("b", 1)), False),
    "not run": (rehearsal(ran("a"), ran("b", None)), False),
    "nothing": (rehearsal(), False),
}  # fmt: skip


@pytest.mark.parametrize(("found", "met"), REQUIRED.values(), ids=REQUIRED)
def test_g12_a_model_cannot_meet_the_requirement(found: Rehearsal, met: bool) -> None:
    assert meets_requirement(found, ["a", "b "]) == met


PASS, FAIL, PART = rehearsal(ran("a")), rehearsal(ran("a", 1)), rehearsal(ran("a", None))
MODEL_PASS, MODEL_FAIL = replace(PASS, by="model"), replace(FAIL, by="model")
MODEL_TRUE = replace(rehearsal(ran("true", source="model")), by="model")

# Rehearsals, oldest first: which of them a review shows, and whether they allow an approval that
# requires one with the command `a`.
SEVERAL: dict[str, tuple[list[Rehearsal], int | None, bool]] = {
    "none": ([], None, False),
    "of a person": ([FAIL, PASS], 1, True),
    "of a model": ([MODEL_FAIL, MODEL_PASS], 1, False),
    "a model covers up nothing": ([FAIL, MODEL_PASS], 0, False),
    "nor by commands of its own": ([FAIL, MODEL_TRUE], 0, False),
    "nor after an earlier success": ([PASS, FAIL, MODEL_PASS], 1, False),
    "nor does a part of it": ([PASS, FAIL, PART], 2, False),
    "a failure of a model is shown": ([PASS, MODEL_FAIL], 1, False),
    "what a model mended is no news": ([PASS, MODEL_FAIL, MODEL_PASS], 0, False),
    "a person tries it again": ([PASS, MODEL_FAIL, PASS], 2, True),
    "a model tries it again": ([PASS, MODEL_PASS], 0, True),
}


@pytest.mark.parametrize(("found", "shown", "approvable"), SEVERAL.values(), ids=SEVERAL)
def test_g12_no_model_takes_a_failure_away(
    found: list[Rehearsal], shown: int | None, approvable: bool
) -> None:
    assert shown_rehearsal(found) == (None if shown is None else found[shown])
    assert is_approvable(found, ["a"]) is approvable


def test_g12_without_commands_of_the_user_something_chosen_by_hand_is_required() -> None:
    assert not meets_requirement(rehearsal(ran("a", source="project")), [])


SUGGESTED: dict[str, tuple[dict[str, bytes], tuple[str, ...], tuple[str, ...]]] = {
    "nothing": ({}, (), ()),
    "make": ({"Makefile": b"all:\n\ntest: all\n\techo\n", "go.mod": b""}, (), ("make test",)),
    "a variable is no target": ({"Makefile": b"test := 1\ntest:= 2\n"}, (), ()),
    "a longer target": ({"Makefile": b"test-all:\n"}, (), ()),
    "pytest.ini": ({"pytest.ini": b""}, (), ("pytest",)),
    "pytest's table": ({"pyproject.toml": b"[tool.pytest.ini_options]\n"}, (), ("pytest",)),
    "pytest as a dependency": (
        {"pyproject.toml": b'[project]\ndependencies = ["pytest"]\n'}, ("tests",), ("pytest",)),
    "no tests": ({"pyproject.toml": b'[project]\ndependencies = ["pytest"]\n'}, (), ()),
    "unreadable": ({"pyproject.toml": b"[[[", "package.json": b"{" * 9999}, ("tests",), ()),
    "npm": ({"package.json": b'{"scripts": {"test": "node --test"}}'}, (), ("npm test",)),
    "npm's own text": (
        {"package.json": b'{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        (), ()),
    "odd scripts": ({"package.json": b'{"scripts": ["test"]}'}, (), ()),
    "cargo": ({"Cargo.toml": b""}, (), ("cargo test",)),
    "go": ({"go.mod": b""}, (), ("go test ./...",)),
}  # fmt: skip


@pytest.mark.parametrize(("files", "folders", "lines"), SUGGESTED.values(), ids=SUGGESTED)
def test_g12_the_projects_files_suggest_a_command(
    files: dict[str, bytes], folders: tuple[str, ...], lines: tuple[str, ...]
) -> None:
    assert suggested_commands(files, folders) == lines
