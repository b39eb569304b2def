"""Score and risk of a step: known inputs, known results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.states import file

from assent.core.plan.operation import (
    RISK_CODES,
    RISK_LEVELS,
    DeleteFile,
    MoveFile,
    RunCommand,
    WriteFile,
)
from assent.core.plan.plan import plan_template
from assent.core.plan.step_score import (
    OperationFacts,
    StepFacts,
    step_facts,
    step_risk,
    step_score,
    structure_risks,
)
from assent.core.plan.steps import PlanStep, StepStatus, complexity, plan_steps
from assent.core.plan.structure import plan_structure

WRITE = WriteFile(b"src/a.py", None, file("a"))
RUN = RunCommand((b"make",))


@pytest.mark.parametrize(
    ("facts", "score"),
    [
        (StepFacts(), 0),
        (StepFacts(files=1, lines=1), 7),
        (StepFacts(files=1, lines=10), 7),
        (StepFacts(files=1, lines=11), 8),
        (StepFacts(files=5), 30),
        (StepFacts(files=50), 30),
        (StepFacts(lines=10_000), 25),
        (StepFacts(commands=1), 10),
        (StepFacts(commands=9), 20),
        (StepFacts(deletions=1), 10),
        (StepFacts(deletions=9), 20),
        (StepFacts(protected=True), 25),
        (StepFacts(dependencies=3), 15),
        (StepFacts(9, 999, 9, True, 9, 9), 100),
    ],
)
def test_f26_known_facts_have_known_scores(facts: StepFacts, score: int) -> None:
    assert step_score(facts) == score


@pytest.mark.parametrize(
    ("score", "word"),
    [(0, "simple"), (33, "simple"), (34, "medium"), (66, "medium"), (67, "complex")],
)
def test_f26_scores_have_three_words(score: int, word: str) -> None:
    assert complexity(score) == word


def step(words: str) -> PlanStep:
    return plan_steps(f"## Steps\n- [ ] {words}\n".encode())[0]


@pytest.mark.parametrize(
    ("operations", "facts"),
    [
        ((OperationFacts(WRITE, (), 3, 1),), StepFacts(1, 4)),
        ((OperationFacts(WRITE), OperationFacts(WRITE)), StepFacts(1)),
        ((OperationFacts(MoveFile(b"a", b"b", file("a"))),), StepFacts(2)),
        ((OperationFacts(DeleteFile(b"a", file("a")), ("deletes",), 0, 1),),
         StepFacts(1, 1, deletions=1)),
        ((OperationFacts(RUN, ("installs", "network")),), StepFacts(commands=1, dependencies=1)),
        ((OperationFacts(RUN, ("deletes", "protected")),),
         StepFacts(commands=1, protected=True, deletions=1)),
        ((OperationFacts(WRITE, ("unshown",), shown=False),), StepFacts(1, 250)),
        ((OperationFacts(WriteFile(b"x/package.json", None, file("a")), (), 1),),
         StepFacts(1, 1, dependencies=1)),
        ((OperationFacts(WriteFile(b"requirements-dev.txt", None, file("a")), (), 0, 3),),
         StepFacts(1, 3)),  # it only removes some
    ],
)  # fmt: skip
def test_f26_what_a_score_is_made_of(
    operations: tuple[OperationFacts, ...], facts: StepFacts
) -> None:
    assert step_facts(step("1 Do it in other.py"), operations) == facts


def test_f26_without_operations_the_files_that_a_step_names_count() -> None:
    assert step_facts(step("1 Edit `src/a.py` and b.py"), ()) == StepFacts(2)
    secret = step_facts(step("1 Edit `.github/workflows/ci.yml`"), ())
    assert secret == StepFacts(1, protected=True)
    assert step_risk((), secret) == "high"
    assert step_risk((), step_facts(step("1 Think"), ())) == "low"


@pytest.mark.parametrize(
    ("operations", "risk"),
    [
        ((OperationFacts(WRITE),), "low"),
        ((OperationFacts(WRITE, risk="medium"),), "medium"),
        ((OperationFacts(WRITE, risk="medium"), OperationFacts(WRITE, risk="high")), "high"),
        ((OperationFacts(RUN, risk="medium"),), "medium"),
        ((OperationFacts(RUN),), "low"),
        ((OperationFacts(WRITE, ("protected",)),), "high"),
    ],
)
def test_f26_the_risk_is_the_highest_of_the_operations(
    operations: tuple[OperationFacts, ...], risk: str
) -> None:
    assert step_risk(operations, step_facts(step("1 x"), operations)) == risk


@given(st.builds(StepFacts, *[st.integers(0, 999)] * 3, st.booleans(), *[st.integers(0, 9)] * 2))
def test_a_score_is_in_its_bounds(facts: StepFacts) -> None:
    assert 0 <= step_score(facts) <= 100


def test_every_code_has_a_level_and_hints_have_the_lowest() -> None:
    assert RISK_LEVELS.keys() == RISK_CODES.keys()
    low = [code for code, level in RISK_LEVELS.items() if level == "low"]
    assert low == ["step_order", "no_verification", "no_steps"]


@pytest.mark.parametrize(
    ("text", "operations", "codes"),
    [
        (b"# T\n", False, ("no_verification", "no_steps")),
        (b"# T\n", True, ("no_verification", "no_steps")),
        (b"# T\n## Steps\n- [ ] a\n", True, ("no_verification",)),
        (b"# T\n## Tests\nRun it.\n", True, ("no_steps",)),
        (b"# T\n## Done when\nIt runs.\n## Steps\n1. a\n", False, ()),
        (plan_template("x", "A goal"), True, ()),
        (plan_template("x", "A goal"), False, ("no_verification", "no_steps")),
        (plan_template("x", "A goal") + b"\n## More\n- [ ] b\n", True, ()),
    ],
)
def test_f24_f27_what_is_missing_is_flagged(
    text: bytes, operations: bool, codes: tuple[str, ...]
) -> None:
    steps = [StepStatus(one, "pending") for one in plan_steps(text)]
    assert structure_risks(plan_structure(text), steps, operations=operations) == codes


def test_f25_steps_in_disorder_are_flagged() -> None:
    (one,) = plan_steps(b"## Steps\n- [ ] 1 a\n")
    found = plan_structure(b"# T\n## Tests\nRun it.\n")
    wrong = [StepStatus(one, "pending", problems=("after 9: unknown step",))]
    assert structure_risks(found, wrong, operations=False) == ("step_order",)
