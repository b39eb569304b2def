"""The steps of a plan: how they are read, linked and ordered, and what became of them."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.states import file

from assent.core.digest import operation_ids
from assent.core.plan.operation import DeleteFile, Operation, RunCommand, WriteFile
from assent.core.plan.plan import plan_template
from assent.core.plan.steps import (
    OperationIndex,
    StepState,
    StepStatus,
    TodoIndex,
    next_steps,
    operations_state,
    other_todos,
    plan_steps,
    step_operations,
    step_problems,
)
from assent.core.run.journal import OperationResult, RunProgress
from assent.core.session.event import Todo, TodoStatus

TEXT = """\
# Add login

## Backend

- [ ] 1.1 Add the table in `db/schema.sql`
  and its index
- [x] 1.2 Read it (after 1.1) (op 3)

### Frontend

* [ ] **2.1** Show it (depends on 1.1, 1.2 and s9)
1. [ ] Tell people (after lunch)

## Verification

- [ ] 9.9 `make test` passes
"""
OPERATIONS: tuple[Operation, ...] = (
    WriteFile(b"src/a.py", None, file("a")),
    WriteFile(b"src/b/c.py", None, file("c")),
    DeleteFile(b"old.txt", file("o")),
    RunCommand((b"make", b"test")),
)
INDEX = OperationIndex(operation_ids(OPERATIONS), OPERATIONS)


def text(*items: str, heading: str = "## Steps") -> bytes:
    return "\n".join(["# T", heading, *[f"- [ ] {item}" for item in items]]).encode()


def linked(item: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    return step_operations(plan_steps(text(item)), INDEX)[0]


def problems(*items: str) -> list[tuple[str, ...]]:
    return step_problems(plan_steps(text(*items)))


def test_f25_steps_have_ids_groups_and_order() -> None:
    steps = plan_steps(TEXT.encode())
    assert [(s.id, s.title, s.group, s.after, s.marked) for s in steps] == [
        ("1.1", "Add the table in `db/schema.sql`", "Backend", (), False),
        ("1.2", "Read it", "Backend", ("1.1",), True),
        ("2.1", "Show it", "Frontend", ("1.1", "1.2", "s9"), False),
        ("1", "Tell people (after lunch)", "Frontend", (), False),
    ]
    assert [s.operations for s in steps] == [(), ("3",), (), ()]
    assert steps[0].below == "  and its index"
    assert [s.line for s in steps] == [5, 7, 11, 12]


@pytest.mark.parametrize(
    ("plan", "ids"),
    [
        (b"## Steps\n1. one\n2. two\n   - nested\n", ["1", "2"]),
        (b"## Steps\n- one\n- two\n", ["s1", "s2"]),
        (b"## Steps\n1. one\n### More\n1. two\n", ["s1", "s2"]),
        (b"## Steps\n- one\n- [ ] 7 two\n", ["7"]),  # only task items, where there are any
        (b"## Step 1: read\n- [ ] Step 1: a\n- [ ] b\n", ["1", "s2"]),
        (b"- [ ] before any heading\n", ["s1"]),
        (b"## Backend\n- no task, and no section of steps\n", []),
        (b"## Steps\n```\n- [ ] code\n```\n- [ ] \n- [ ]\n", []),
        (b"## Risks\n- [ ] it breaks\n## Tests\n- [ ] run\n## Files\n- [ ] a.py\n", []),
        (plan_template("one", "A goal"), []),
        (b"", []),
    ],
)
def test_f25_what_is_a_step(plan: bytes, ids: list[str]) -> None:
    assert [step.id for step in plan_steps(plan)] == ids


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("1 Do it (op 3)", ((2,), ())),
        ("1 Do it (ops 1-2, 4)", ((0, 1, 3), ())),
        ("1 Do it (op 9)", ((), ("9",))),
        ("1 Do it (op 3-9)", ((), ("3-9",))),
        ("1 Edit src/a.py (op 3)", ((2,), ())),  # what is said counts alone
        ("1 Edit `src/a.py`, then ./old.txt.", ((0, 2), ())),
        ("1 Move everything in src/", ((0, 1), ())),
        ("1 Run `make  test`", ((3,), ())),
        ("1 Edit a.py and src/a.pyc", ((), ())),
        ("1 Edit **src/a.py**.", ((0,), ())),
        ("1 Edit _src/a.py_.", ((0,), ())),
        ("1 Edit [it](src/a.py), or [src/a.py](it)", ((0,), ())),
        ("1 Change src/a.py:12-14", ((0,), ())),
        ("1 Change `src/a.py:12`", ((0,), ())),
        ("1 Change src/a.py's end", ((0,), ())),
        ("1 Do it (op amp)", ((), ())),
    ],
)
def test_f25_a_step_stands_for_the_operations_that_it_names(
    item: str, found: tuple[tuple[int, ...], tuple[str, ...]]
) -> None:
    assert linked(item) == found


def test_an_operation_can_be_named_by_the_start_of_its_id() -> None:
    name = operation_ids(OPERATIONS)[1]
    assert linked(f"1 Do it (op {name[:12]})") == ((1,), ())
    assert linked("1 Do it (op 0000000)") == ((), ("0000000",))


def test_f25_a_cycle_an_unknown_step_and_an_id_used_twice_are_flagged() -> None:
    stuck = "can never start: the steps it waits for wait for each other"
    assert problems("1 a", "2 b (after 1)") == [(), ()]
    assert problems("1 a (after 1)") == [(stuck,)]
    assert problems("1 a (after 3)", "2 b", "3 c (after 1)", "4 d (after 3)") == [
        (stuck,), (), (stuck,), (stuck,),
    ]  # fmt: skip
    assert problems("1 a (after 8)") == [("after 8: unknown step",)]
    assert problems("1 a", "1 b") == [(), ("id 1 is used twice",)]
    later = plan_steps(b"## A\n- [ ] 1 a (after 2)\n## B\n- [ ] 2 b\n")
    assert step_problems(later) == [("after 2: a step of a later group",), ()]


def test_f25_ids_with_leading_zeros_are_the_same() -> None:
    assert problems("1 a", "02 b (after 01)", "3.04 c (after 2)", "4 d (after 03.4)") == [()] * 4
    assert problems("1 a", "01 b") == [(), ("id 01 is used twice, also as 1",)]
    assert problems("0 a", "00 b (after 0)") == [(), ("id 00 is used twice, also as 0",)]
    steps = plan_steps(text("01 a", "2 b (after 1)"))
    assert [step.id for step in steps] == ["01", "2"], "they are shown as they are written"
    assert next_steps([StepStatus(one, "pending") for one in steps]) == ("01",)
    done = [StepStatus(steps[0], "completed"), StepStatus(steps[1], "pending")]
    assert next_steps(done) == ("2",)
    assert TodoIndex([Todo("1: do a", "completed")]).state(steps[0]) == "completed"
    assert problems(f"{'0' * 9_000}1 a", "1 b")[1] != ()


def test_f25_an_id_that_is_used_twice_is_next_once() -> None:
    steps = [StepStatus(one, "pending") for one in plan_steps(text("1 a", "1 b", "01 c", "2 d"))]
    assert next_steps(steps) == ("1", "2")


def test_f25_a_box_without_a_blank_is_an_open_box() -> None:
    steps = plan_steps(b"## Steps\n- [ ] 1 a\n- [] 2 b\n- [x] 3 c\n- []\n- [](d)\n")
    assert [(one.id, one.title, one.marked) for one in steps] == [
        ("1", "a", False), ("2", "b", False), ("3", "c", True),
    ]  # fmt: skip


def test_f25_what_is_over_never_waits_and_holds_nothing_up() -> None:
    steps = plan_steps(text("1 a (after 2)", "2 b (after 1)", "3 c (after 3)"))
    assert [bool(told) for told in step_problems(steps)] == [True, True, True]
    assert [bool(told) for told in step_problems(steps, {0})] == [False, False, True]
    assert [bool(told) for told in step_problems(steps, {0, 2})] == [False, False, False]


def test_f25_groups_run_in_order_and_steps_of_a_group_in_parallel() -> None:
    plan = b"## A\n- [ ] 1 a\n- [ ] 2 b\n- [ ] 3 c (after 1)\n## B\n- [ ] 4 d\n- [ ] 5 e\n"
    steps = plan_steps(plan)

    def startable(*states: StepState) -> tuple[str, ...]:
        pairs = zip(steps, states, strict=True)
        return next_steps([StepStatus(step, state) for step, state in pairs])

    assert startable(*["pending"] * 5) == ("1", "2")  # type: ignore[arg-type]
    assert startable("completed", "in_progress", "pending", "pending", "pending") == ("3",)
    assert startable("completed", "completed", "in_progress", "pending", "pending") == ()
    assert startable("completed", "skipped", "completed", "pending", "pending") == ("4", "5")
    assert startable("failed", "completed", "pending", "pending", "pending") == ()
    assert startable(*["completed"] * 5) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("results", "run", "state"),
    [
        (["done", "done"], "over", "completed"),
        (["done", "not_started"], "running", "in_progress"),
        (["done", "not_started"], "halted", "in_progress"),
        (["done", "not_started"], "over", "failed"),  # accepted halfway
        (["not_started"], "running", "pending"),
        (["not_started"], "rolled_back", "pending"),
        (["not_started"], "over", "skipped"),
        (["undone", "undone"], "rolled_back", "pending"),
        (["undone", "done"], "over", "pending"),
        (["unknown"], "running", "in_progress"),
        (["unknown"], "halted", "failed"),
        (["done", "failed"], "running", "failed"),
        (["failed", "unknown"], "running", "failed"),
        (["conflict"], "rolled_back", "failed"),
    ],
)
def test_f25_the_state_follows_the_operations(
    results: list[OperationResult], run: RunProgress, state: StepState
) -> None:
    assert operations_state(results, run) == state


@pytest.mark.parametrize(
    ("content", "status", "state"),
    [
        ("1.2 Read it (after 1.1) (op 3)", "in_progress", "in_progress"),
        ("1.2  Read  it (after 1.1) (op 3)", "completed", "completed"),
        ("Read it", "cancelled", "skipped"),
        ("1.2: reads the table", "completed", "completed"),
        ("1.21 Other", "completed", None),
        ("Something else", "completed", None),
    ],
)
def test_f25_the_state_follows_the_todo(
    content: str, status: TodoStatus, state: StepState | None
) -> None:
    step = plan_steps(TEXT.encode())[1]
    todos = (Todo(content, status), Todo("Look around"))
    assert TodoIndex(todos).state(step) == state
    others = other_todos(todos, [StepStatus(step, "pending")])
    assert others == [*([] if state else [todos[0]]), todos[1]]


WORDS = st.sampled_from(
    ["1", "1.1", "2", "s1", "(after ", "(op ", ")", ", ", "and ", "- [ ] ", "- [x] ", "## Steps\n",
     "## Tests\n", "\n", "  ", "\t", "```\n", "a.py ", "src/ ", "**", "Step ", "1-99999 "]
)  # fmt: skip


@given(st.lists(WORDS, max_size=80).map("".join))
def test_any_text_has_steps_with_links_and_problems(plan: str) -> None:
    steps = plan_steps(plan.encode())
    for (places, _), found in zip(step_operations(steps, INDEX), step_problems(steps), strict=True):
        assert all(0 <= at < len(OPERATIONS) for at in places)
        assert len(set(found)) == len(found)
    lines = plan.split("\n")
    assert all(step.text.strip() in lines[step.line - 1] for step in steps)


@given(st.lists(st.lists(st.integers(1, 8), max_size=3), min_size=1, max_size=8))
def test_a_step_can_never_start_exactly_if_it_waits_for_a_cycle(after: list[list[int]]) -> None:
    count = len(after)
    waits = [[one for one in each if one <= count] for each in after]
    items = [
        f"{n} x" + (f" (after {', '.join(map(str, each))})" if each else "")
        for n, each in enumerate(waits, 1)
    ]
    can: set[int] = set()
    while more := {n for n in range(1, count + 1) if n not in can and can >= {*waits[n - 1]}}:
        can |= more
    stuck = {n for n, told in enumerate(problems(*items), 1) if told}
    assert stuck == {*range(1, count + 1)} - can


@pytest.mark.parametrize(
    "piece",
    [
        "- [ ] a\n", "- [ ] 1 a (after 1)\n", "(after 1) ", "(after ", "(op 1-4) ", "(op ", "src/ ",
        "`src/` ", "- [ ] (op 1-4) src/\n", "1.", "1" * 50, "  x\n", "\t", "**",
        "- [ ] 1\n  src/\n", "(op 0000000) ", "(after 1, 2 and 3) ",
    ],
)  # fmt: skip
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        plan = ("## Steps\n- [ ] " + piece * (size // len(piece))).encode()
        began = process_time()
        steps = plan_steps(plan)
        step_operations(steps, INDEX)
        step_problems(steps)
        return process_time() - began

    seconds(20_000)
    assert seconds(240_000) < 24 * min(seconds(30_000) for _ in range(3)) + 0.1


def test_many_steps_that_name_many_operations_are_cut_off() -> None:
    many = tuple(WriteFile(b"src/%d.py" % n, None, file(str(n))) for n in range(3_000))
    index = OperationIndex(operation_ids(many), many)
    steps = plan_steps(text(*[f"{n} all of src/" for n in range(3_000)]))
    began = process_time()
    found = step_operations(steps, index)
    assert process_time() - began < 5
    assert len(found[0][0]) == 3_000
    assert sum(len(places) for places, _ in found) == 100_000
