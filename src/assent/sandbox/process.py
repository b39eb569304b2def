"""The Process port on this machine: confined where a sandbox holds, plain where there is none."""

import os
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock

from assent.core.errors import Refused
from assent.core.paths import inside
from assent.core.process import Chunk, Ended, Hold, Limits, Program, Standing
from assent.sandbox.running.bubblewrap import Bubblewrap
from assent.sandbox.running.environment import FOLDERS
from assent.sandbox.running.plain import Plain
from assent.sandbox.running.tool import find_tool
from assent.sandbox.trial.standing import Standings
from assent.sandbox.view.profile import Profile
from assent.sandbox.view.programs import Programs
from assent.sandbox.view.sight import Sight
from assent.sandbox.view.toolchains import path_folders

# Calls that only read run side by side; testing the sandbox and looking around is for one alone.
_ALONE = Lock()


class LocalProcess:
    """Implements ports.Process for one workspace. Keep it for later calls: it remembers scans."""

    def __init__(self, sight: Sight, standings: Standings, environment: Mapping[str, str]) -> None:
        self._sight = sight
        self._standings = standings
        self._environment = environment
        self._profile: Profile | None = None

    def standing(self) -> Standing:
        """Tells whether the sandbox holds, and has everything looked at anew for this call."""
        with _ALONE:
            self._profile = None
            return self._standings.standing()

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        return Programs(self._seen(), self._environment).find(names, own=own)

    def visible(self, path: bytes) -> bool:
        return self._seen().visible(path)

    def hidden_below(self, folder: bytes) -> bytes | None:
        return self._seen().hidden_below(folder)

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        if not self.visible(folder):
            return {}
        try:
            with os.scandir(folder) as found:
                return {entry.name: entry.is_dir() for entry in found}
        except OSError:
            return {}

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: Limits
    ) -> Iterator[Chunk | Ended]:
        with _ALONE:
            standing = self._standings.standing()
        if standing.hold is Hold.OFF:  # law 9: whoever forgot to ask gets no program either
            raise Refused(f"No program runs: {standing.reason}", standing.next)
        if standing.hold is Hold.NONE:
            return Plain().run(pipeline, folder, limits)
        return self._confined().run(pipeline, folder, limits)

    def _confined(self) -> Bubblewrap:
        tool = find_tool()
        if tool is None:
            raise Refused("No program runs: bubblewrap has gone.", "assent doctor")
        return Bubblewrap(self._seen, tool, self._folders())

    def _folders(self) -> list[bytes]:
        """Returns PATH as it is inside: the person's folders in sight, then the system's."""
        seen = self._seen()
        own = [
            path
            for path in path_folders(self._environment)
            if seen.visible(path) and not inside(os.path.realpath(path), seen.root)
        ]
        return list(dict.fromkeys((*own, *FOLDERS)))

    def _seen(self) -> Profile:
        with _ALONE:
            profile = self._profile or self._sight.profile()
            self._profile = profile
        return profile
