"""What a crash at each step of some work in memory would leave, found by doing the work once."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Protocol, Self, TypeVar

from assent.testing.memory_workspace import CrashInjector


class Twinned(Protocol):
    """A world in memory of which there can be another."""

    def twin(self, fuse: CrashInjector | None = None) -> Self: ...

    def lose_power(self) -> None: ...

    def cut(self, work: Callable[[], object], moment: int, *, power: bool) -> bool: ...

    def left(self) -> object: ...


World = TypeVar("World", bound=Twinned)


class StepRecorder(CrashInjector):
    """Crashes nowhere; calls back before every step, which is where a crash would be."""

    def __init__(self, before_step: Callable[[], object]) -> None:
        super().__init__()
        self._before_step = before_step

    def step(self) -> None:
        self._before_step()
        super().step()


def crash_states(world: World, work: Callable[[World], object]) -> tuple[list[World], World]:
    """Does some work in a twin of a world; returns what a crash leaves at each step, and the end.

    What really crashes there leaves the same: tests hold `crashed` against it. To begin anew for
    each moment would do the same work, up to there, again and again.
    """
    found: list[World] = []
    working = world.twin(StepRecorder(lambda: found.append(working.twin())))
    work(working)
    return found, working.twin()


def after_power_cut(world: World) -> World:
    """Returns a twin of a world that was left by a crash, as a power cut leaves it."""
    twin = world.twin()
    twin.lose_power()
    return twin


def crashed(fresh: World, work: Callable[[World], object], *, power: bool) -> list[World]:
    """Crashes at every moment; returns what that leaves, which must be what was seen there."""
    states, end = crash_states(fresh, work)
    worlds = []
    for moment in count():
        world = fresh.twin()
        if not world.cut(partial(work, world), moment, power=power):
            assert world.left() == end.left()
            break
        worlds.append(world)
    seen = [after_power_cut(state) if power else state for state in states]
    assert [world.left() for world in seen] == [world.left() for world in worlds]
    return worlds
