"""Crashes a run at a chosen step, so that every crash point can be tested."""


class SimulatedCrash(BaseException):
    """The process is gone: nothing after this line happens. No handler may catch it."""


class CrashInjector:
    """Counts the steps of a run and crashes at number `at`; without one it only counts."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.count = 0

    @property
    def crashed(self) -> bool:
        return self.at is not None and self.count > self.at

    def step(self) -> None:
        """Marks one moment."""
        self.count += 1
        if self.at is not None and self.count == self.at + 1:
            raise SimulatedCrash
