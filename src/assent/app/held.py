"""Opens the rules that hold for commands of plans; they are read with the first command."""

import os
from functools import cached_property
from typing import Protocol

from assent.app.settings import load_settings
from assent.config.places import Places
from assent.core.fence import Fence
from assent.core.held import Held
from assent.ports import Process, Rules


class Fenced(Rules, Protocol):
    """Rules that can be handed to a sandbox."""

    def fence(self) -> Fence | None:
        """Returns what they keep from every confined command; None if they keep nothing."""


class LateRules:
    """Implements ports.Rules; what cannot be read raises, so that nothing runs past it (law 9)."""

    def __init__(self, root: bytes, here: Places) -> None:
        self._root = root
        self._here = here

    def held(self, line: str) -> Held:
        return self._real.held(line)

    def process(self) -> Process:
        """Returns what starts programs that hold to these rules; it is opened when first used."""
        from assent.app.late import LateProcess

        return LateProcess(os.fsdecode(self._root), self._fenced)

    def _fenced(self) -> Process:
        from assent.app.shell import open_process_at

        process = open_process_at(os.fsdecode(self._root), self._here)
        fence = self._real.fence()
        return process.fenced(fence) if fence else process

    @cached_property
    def _real(self) -> Fenced:
        from assent.app.rules import held_rules, open_policy

        loaded = load_settings(self._root, self._here, lenient=False)
        policy, _ = open_policy(self._root, self._here, loaded)
        return held_rules(policy)
