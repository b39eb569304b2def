"""What a change of a plan's file would show in, without opening it (F28)."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assent.app.engine import Engine
from assent.core.plan.record import PlanRecord
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    for name in ("project", "state"):
        (tmp_path / name).mkdir()
    opened = open_engine_fixture(EngineFixture(tmp_path / "project", tmp_path / "state"))
    yield opened
    opened.close()


def file_of(tmp_path: Path, plan: PlanRecord) -> Path:
    return tmp_path / "project" / os.fsdecode(plan.path)


def test_f28_a_stamp_differs_after_every_kind_of_change(engine: Engine, tmp_path: Path) -> None:
    plan = engine.plans.new("one")
    file = file_of(tmp_path, plan)
    seen = [engine.plans.stamp(plan)]
    assert seen == [engine.plans.stamp(plan)]
    file.write_bytes(file.read_bytes() + b"more\n")
    seen.append(engine.plans.stamp(plan))
    other = file.with_name("other")
    other.write_bytes(file.read_bytes())
    before = file.stat()
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    seen.append(engine.plans.stamp(plan))
    file.unlink()
    seen.append(engine.plans.stamp(plan))
    assert len(set(seen)) == len(seen)
    assert seen[-1] == ()


def test_f28_a_plan_from_elsewhere_has_no_file_that_could_change(engine: Engine) -> None:
    plan = engine.plans.new("one")
    assert engine.plans.stamp(msgspec.structs.replace(plan, imported="ab" * 32)) == ()
