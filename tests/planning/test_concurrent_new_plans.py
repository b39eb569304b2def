"""Plans that are made at the same time by several processes are all made, and told as that."""

from pathlib import Path
from typing import Any

from assent.testing.engine_fixture import EngineFixture, open_engine_fixture


def test_a_plan_is_made_while_another_process_makes_its_own(tmp_path: Path) -> None:
    site = EngineFixture(tmp_path / "work", tmp_path / "state" / "assent")
    site.root.mkdir()
    other = open_engine_fixture(site)
    made: list[str] = []

    def listen(moment: str, arguments: tuple[Any, ...]) -> None:
        """Has the other one make its plan when this one is about to make its own the current."""
        if moment == "store.append" and arguments[0].stream.startswith("workspace/") and not made:
            made.append(other.plans.new("other", "s").name)

    other.plans.new("first", "s")
    engine = open_engine_fixture(site, listen)
    record = engine.plans.new("mine", "s")
    assert made
    assert {plan.name for plan in other.plans.all()} == {"first", "mine", *made}
    assert other.plans.find().plan_id == record.plan_id
    engine.close()
    other.close()
