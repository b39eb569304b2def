"""What waits: read again it is the same, and follows what others decide meanwhile."""

from tests.support.engine import World

from assent.render.pending_decisions import PendingDecision


def test_f150_a_plan_waits_with_all_that_a_list_needs(world: World) -> None:
    record = world.propose({"a.py": b"a\n", ".github/workflows/x.yml": b"on: push\n"})
    [found] = world.engine().waiting()
    of = f"--plan {record.plan_id}"
    assert found == PendingDecision(
        "plan",
        record.plan_id,
        "Plan work is ready for review",
        world.clock.now(),
        (f"assent approve {of}", f"assent reject {of} --note 'WHY'"),
        session="tests",
        plan_id=record.plan_id,
        name="work",
        digest=record.digest,
        operations=2,
        risks=found.risks,
        preview=found.preview,
        look=f"assent review {of}",
    )
    assert found.risks == 1
    assert found.preview[-2:] == ("1. create a.py", "2. create .github/workflows/x.yml")


def test_f150_an_open_list_follows_what_others_decide(world: World) -> None:
    record, engine = world.propose({"a": b"1"}), world.engine()
    titles = [[one.title for one in engine.waiting()]]
    world.expires_s = 3600
    other = world.engine()
    other.approvals.approve(record, record.digest, "", "test")
    titles.append([one.title for one in engine.waiting()])
    world.clock.hour += 2
    titles.append([one.title for one in engine.waiting()])
    other.approvals.reject(other.plans.find(record.plan_id), "No.")
    titles.append([one.title for one in engine.waiting()])
    proposed, approved = ["Plan work is ready for review"], ["Plan work is approved, not built"]
    assert titles == [proposed, approved, proposed, []]


def test_f150_a_folder_that_is_no_workspace_has_nothing_that_waits(world: World) -> None:
    assert world.engine().waiting() == ()
