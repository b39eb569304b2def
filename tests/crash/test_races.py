"""G4, law 3: of two processes that want the same, one gets it, and the other is told so."""

from collections import Counter
from pathlib import Path

from tests.crash.apart import PATIENT, apart
from tests.crash.races import Round
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME

pytestmark = PATIENT

ROUNDS = 40


def test_two_builds_at_once_run_once(quick_path: Path) -> None:
    assert raced("two_builds", quick_path) == {
        Round(("done", "spent 4"), runs=1, approvals=1, genuine=1, spent=1, tree_is="finish")
    }


def test_two_recoveries_at_once_recover_once(quick_path: Path) -> None:
    assert raced("two_recoveries", quick_path) == {
        Round(("done", "nothing"), runs=1, approvals=1, genuine=1, spent=1, tree_is="finish")
    }


def test_two_approvals_at_once_are_recorded_or_refused_as_moved(quick_path: Path) -> None:
    # One approval is there from the start, by a key that is gone. Each of the two adds one, by the
    # one new key that both agree on, or is told to look again.
    both = Round(("approved", "approved"), approvals=3, genuine=2, tree_is="start")
    one = Round(("approved", "moved 5"), approvals=2, genuine=1, tree_is="start")
    assert raced("two_approvals", quick_path) <= {one, both}


def test_two_plans_at_once_are_both_done(quick_path: Path) -> None:
    assert raced("two_plans", quick_path) == {
        Round(("done", "done"), runs=1, approvals=1, genuine=1, spent=1, tree_is="both")
    }


def test_of_two_plans_for_one_file_one_is_done_and_the_other_drifts(quick_path: Path) -> None:
    first = Round(("done", "drift 5"), runs=1, approvals=1, genuine=1, spent=1, tree_is="one")
    second = Round(("done", "drift 5"), runs=0, approvals=1, genuine=1, spent=0, tree_is="two")
    assert raced("two_plans_for_one_file", quick_path) <= {first, second}


def test_two_programs_at_once_build_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, BY_NAME["eight_operations"])
    for _ in range(3):
        rig.restore(rig.approved)
        both = [rig.start("build", "--json"), rig.start("build", "--json")]
        ends = Counter(program.wait() for program in both)
        assert ends == {0: 1, 4: 1}
        assert rig.tree() == rig.story.finish


def raced(name: str, folder: Path) -> set[Round]:
    """Runs a race many times in processes of its own, and returns the different ends."""
    rounds = apart(list[Round], "tests.crash.races", name, ROUNDS, folder)
    assert len(rounds) == ROUNDS
    return set(rounds)
