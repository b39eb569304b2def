"""What a command advises about a plan that is not the current one names that plan."""

import shlex

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.scripts import PLANS, Talker, turn

from assent.render.status import of_plan


def step(world: World, *line: str) -> str:
    """Returns what a command that succeeds says to type next."""
    answer = world.run(*line)
    assert answer.code == 0, answer
    return answer.out.decode().splitlines()[-1].removeprefix("Next: ")


def typed(world: World, command: str, code: int = 0) -> None:
    """Types what was advised."""
    program, *words = shlex.split(command)
    answer = world.run(*words)
    assert (program, answer.code) == ("assent", code), answer


@pytest.fixture
def one(world: World) -> World:
    """Plan one is proposed, and plan two is the current one, approved."""
    world.plan("one")
    world.write("a", b"1\n")
    world.propose()
    world.plan("two")
    world.write("b", b"2\n")
    world.approve()
    return world


def digest(world: World, name: str = "one") -> str:
    return str(world.ok("status", "--plan", name)["plan"]["digest"])


def test_every_step_of_another_plan_names_it(one: World) -> None:
    wanted = digest(one)
    approve = f"assent approve --plan one --digest {wanted}"
    assert step(one, "review", "--plan", "one") == approve
    assert step(one, "status", "--plan", "one") == approve
    assert step(one, "review", "--changes", "--plan", "one") == "assent review --plan one"
    build = "assent build --plan one"
    assert step(one, "approve", "--plan", "one", "--digest", wanted) == build
    assert step(one, "review", "--plan", "one") == build
    typed(one, build)
    assert one.files().keys() == {b"a"}
    for line in ("review", "status"):
        assert step(one, line, "--plan", "one") == "assent undo --plan one"


def test_the_current_plan_needs_no_name_also_where_it_is_named(one: World) -> None:
    for line in (["status"], ["status", "--plan", "two"], ["review", "--plan", "two"]):
        assert step(one, *line) == "assent build"


def test_an_undo_that_was_advised_takes_back_that_plan_and_not_the_newest_run(one: World) -> None:
    one.ok("approve", "--plan", "one", "--digest", digest(one), "--build")
    one.ok("build")
    command = step(one, "status", "--plan", "one")
    assert command == "assent undo --plan one"
    found = one.ok(*shlex.split(command)[1:], "--dry-run")
    assert [row["path"] for row in found["operations"]] == ["a"]


def test_a_rejected_plan_is_named(one: World) -> None:
    command = step(one, "reject", "--plan", "one", "--note", "Not so")
    assert command == "assent propose --plan one"
    typed(one, command)


def test_a_plan_without_some_operations_is_named(one: World) -> None:
    one.write("c", b"3\n", "--plan", "one")
    one.ok("propose", "--plan", "one")
    one.ok("plan", "use", "two")
    line = ("approve", "--plan", "one", "--without", "2")
    smaller = one.ok(*line, "--dry-run")["digest"]
    assert step(one, *line, "--digest", smaller) == "assent build --plan one"


def test_rebase_names_the_plan(one: World) -> None:
    one.put("c", b"".join(b"%d\n" % n for n in range(20)))
    one.ok("stage", "edit", "c", "--find", "15\n", "--put", "fifteen\n", "--plan", "one")
    one.ok("propose", "--plan", "one")
    one.ok("plan", "use", "two")
    one.put("c", b"zero\n" + b"".join(b"%d\n" % n for n in range(1, 20)))
    assert step(one, "status", "--plan", "one") == "assent rebase --plan one"
    assert step(one, "rebase", "--dry-run", "--plan", "one") == "assent rebase --plan one"
    command = step(one, "rebase", "--plan", "one")
    if one.ok("status")["plan"]["name"] == "one":
        assert command == "assent review"
    else:
        assert command == "assent review --plan one"


def test_a_plan_whose_work_is_done_already_leads_to_a_deletion_that_names_it(one: World) -> None:
    one.put("a", b"1\n")
    one.put("b", b"2\n")
    for line in (["rebase", "--plan", "one"], ["rebase"]):
        command = step(one, *line)
        assert command.startswith("assent plan delete --plan ")
        typed(one, command)


def test_a_refusal_names_the_plan(one: World) -> None:
    assert one.no(5, "approve", "--plan", "one", "--digest", "0" * 64)["next"] == (
        "assent review --plan one"
    )
    assert one.no(5, "approve", "--digest", "0" * 64)["next"] == "assent review"


def test_a_comment_is_sent_with_the_plan_that_it_is_about(one: World) -> None:
    line = ("comment", "add", "plan:1", "Why?", "--plan", "one")
    assert step(one, *line) == "assent reject --plan one"


def test_plans_that_share_a_name_are_named_by_their_id(one: World) -> None:
    one.ok("plan", "new", "one", "--session", "others", "--goal", "Else")
    first = one.ok("status", "--plan", "tests/one")["plan"]
    command = step(one, "status", "--plan", "tests/one")
    assert command == f"assent approve --plan {first['plan_id']} --digest {first['digest']}"
    typed(one, command)


def test_a_session_whose_plan_is_not_current_names_it(one: World) -> None:
    talker = Talker(one)
    talker.script(*PLANS, turn("As I said."))
    assert talker.say("Greet").code == 3
    name = one.ok("status")["plan"]["name"]
    one.plan("other")
    found = talker.json("-c", "And now?")
    wanted = digest(one, name)
    assert found["next"].endswith(f" approve --plan {name} --digest {wanted} --build")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("assent build", "assent build --plan one"),
        ("assent stage run --cwd DIR -- X", "assent stage run --plan one --cwd DIR -- X"),
        ("assent stage remove 77d0", "assent stage remove --plan one 77d0"),
        ("assent plan write FILE", "assent plan write --plan one FILE"),
        ("assent undo --digest 3f", "assent undo --plan one --digest 3f"),
        ("assent undo 01k9", "assent undo 01k9"),
        ("assent approve FILE", "assent approve FILE"),
        ("assent approve --help", "assent approve --help"),
        ("assent build --plan two", "assent build --plan two"),
        ("assent plan new NAME", "assent plan new NAME"),
        ("assent recover", "assent recover"),
        ("ls -l .", "ls -l ."),
        ("", ""),
    ],
)
def test_what_can_mean_another_plan_is_made_to_name_it(command: str, named: str) -> None:
    assert of_plan(command, "one") == named
    assert of_plan(command, "") == command


def test_an_odd_name_is_quoted() -> None:
    assert of_plan("assent build", "a b") == "assent build --plan 'a b'"


# A draft that nobody wrote anything into.


def test_the_first_step_of_a_new_plan_is_one_that_works(world: World) -> None:
    stage, write_ = "assent stage write PATH --from FILE", "assent plan write FILE"
    assert step(world, "plan", "new", "greet", "--goal", "Say hello") == stage
    assert step(world, "status") == step(world, "review") == stage
    assert world.run("plan", "show").out.decode().count(f"Next: {stage}\n") == 1
    world.write("hello", b"hello\n")
    assert step(world, "status") == "assent propose"
    typed(world, "assent propose")
    assert step(world, "plan", "new", "bare") == write_
    assert step(world, "status") == write_
    assert step(world, "status", "--plan", "greet").startswith("assent approve --plan greet ")
    world.write("bare", b"bare\n")
    assert step(world, "status") == write_  # it does not say what that is for
    world.put("text.md", b"# Bare\n\nBecause.\n")
    assert step(world, "plan", "write", "text.md") == "assent propose"
    typed(world, "assent propose")


# An approval of what rules deny.


def test_an_approval_says_that_rules_keep_the_plan_from_being_built(one: World) -> None:
    wanted = digest(one)
    one.config.write_text(f'{TRUSTING}[permission.edit]\n"a" = "deny"\n', encoding="utf-8")
    reviewed = one.ok("review", "--plan", "one")
    (why,) = reviewed["cannot_be_built"]
    way = step(one, "review", "--plan", "one")
    assert way.startswith("assent stage remove --plan one ")
    answer = one.run("approve", "--plan", "one", "--digest", wanted, "--json")
    assert answer.code == 0
    found = answer.json
    assert (found["approved"], found["cannot_be_built"], found["next"]) == (True, [why], [way])
    assert answer.err.decode() == (
        f"assent: The plan is approved, but the current rules do not allow building it: {why}\n"
    )
    assert step(one, "approve", "--plan", "one", "--digest", wanted) == way
    assert step(one, "status", "--plan", "one") == way
    one.no(7, "build", "--plan", "one")
    typed(one, way)


def test_an_approval_of_a_part_says_it_too(one: World) -> None:
    one.write("c", b"3\n", "--plan", "one")
    one.ok("propose", "--plan", "one")
    one.config.write_text(f'{TRUSTING}[permission.edit]\n"a" = "deny"\n', encoding="utf-8")
    line = ("approve", "--plan", "one", "--without", "2")
    smaller = one.ok(*line, "--dry-run")["digest"]
    answer = one.run(*line, "--digest", smaller, "--json")
    assert "the current rules do not allow building it: a: " in answer.err.decode()
    assert len(answer.json["cannot_be_built"]) == 1


def test_an_approval_of_what_can_be_built_says_nothing_of_it(one: World) -> None:
    answer = one.run("approve", "--plan", "one", "--digest", digest(one), "--json")
    assert answer.err == b""
    assert not {"cannot_be_built", "next"} & answer.json.keys()
