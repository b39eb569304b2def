"""Canaries: files, and a plan, that nothing inside the sandbox may touch or approve."""

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from assent.sandbox.temp_folder import TempFolder

# The decoy plan: it is not approved, and a probe tries to approve it by its digest alone.


class SelfTestPaths(msgspec.Struct, frozen=True):
    """The paths of a scratch workspace and the folders of its user."""

    root: Path
    home: Path
    state: Path
    config: Path


class DecoyPlan(msgspec.Struct, frozen=True):
    """The digest to approve, the variables that point to its state, and whether it is approved."""

    digest: str
    environment: Mapping[str, str]
    approved: Callable[[], bool]


DecoyPlanMaker: TypeAlias = Callable[[SelfTestPaths], DecoyPlan]


VICTIMS: Final = (
    "overwrite", "append", "truncate", "delete", "rename", "chmod", "chown", "utime", "setxattr",
    "reopen",
)  # fmt: skip
WORKSPACE: Final = "workspace"
# In the scratch home. Sockets that lie this deep in a toolchain are not looked for, so that only
# the filter of system calls keeps them shut.
PROGRAMS: Final = "home/programs"
TOOL: Final = "home/.pyenv"
DEEP: Final = f"{TOOL}/versions/1/2/3/4/5"
REPOSITORY: Final = "repository.git"


CONFIGURATION: Final = b"[approve]\nwithout_terminal = true\n"


class Canaries:
    """What is planted in one scratch folder. The state is in the workspace: the hard case."""

    def __init__(self, folder: TempFolder, token: str, baiting: DecoyPlanMaker | None) -> None:
        self.place, self.token = folder, token
        self.ground = SelfTestPaths(
            root=folder.folder(WORKSPACE),
            home=folder.folder("home"),
            state=folder.folder(f"{WORKSPACE}/private/state/assent"),
            config=folder.folder("home/.config/assent"),
        )
        folder.folder(f"{WORKSPACE}/.opencode/plans")  # whatever is above, this is the workspace
        folder.write("home/.config/assent/config.toml", b"# %b\n" % token.encode() + CONFIGURATION)
        self.bait = baiting(self.ground) if baiting else None
        self._plant()

    @property
    def secrets(self) -> dict[str, Path]:
        """The files that no program inside may read, by the attempt that tries."""
        ground = self.ground
        return {
            "read_key": ground.state / "key",
            "read_log": ground.state / "log.db",
            "read_configuration": ground.config / "config.toml",
            "read_env_file": ground.root / ".env",
            "read_ssh_key": ground.home / ".ssh" / "id_ed25519",
            "read_credential": ground.home / ".dotnet" / "corefx" / "store",
            "read_tool_secret": self.place.at(f"{TOOL}/.env"),
            "read_beside": self.place.at("beside/note"),
        }

    @property
    def outside(self) -> dict[str, Path]:
        """The files that no program inside may create, by the attempt that tries."""
        return {
            "write_home": self.ground.home / "made",
            "write_state": self.ground.state / "made",
            "write_temporary": self.place.at("made"),
            "write_programs": self.place.at(f"{PROGRAMS}/made"),
            "write_tool": self.place.at(f"{TOOL}/made"),
            "write_repository": self.place.at(f"{REPOSITORY}/made"),
        }

    @property
    def sockets(self) -> dict[str, Path]:
        return {
            "socket_in_workspace": self.ground.root / "service.sock",
            "socket_outside": self.place.at("service.sock"),
            "socket_in_tool": self.place.at(f"{DEEP}/service.sock"),
            "datagram_by_pair": self.place.at(f"{DEEP}/datagrams.sock"),
        }

    @property
    def pipes(self) -> dict[str, Path]:
        return {
            "pipe_in_workspace": self.ground.root / "service.pipe",
            "pipe_in_tool": self.place.at(f"{TOOL}/service.pipe"),
        }

    def digests(self) -> dict[str, str]:
        """Returns the digests by which the probe recognizes a secret."""
        token = self.token.encode()
        files = {name: path.read_bytes() for name, path in self.secrets.items()}
        found = {**files, "token": token, "word": token[:8]}
        return {name: sha256(content).hexdigest() for name, content in found.items()}

    def made(self) -> list[str]:
        """Returns the attempts that left a file where none is allowed."""
        return [name for name, path in self.outside.items() if _any_like(path)]

    def _plant(self) -> None:
        for folder in (PROGRAMS, DEEP, f"{REPOSITORY}/objects", f"{REPOSITORY}/refs", "beside"):
            self.place.folder(folder)
        # The workspace and this repository name each other, as a submodule's do.
        tree = f"[core]\n\tworktree = {self.ground.root}\n".encode()
        self.place.write(f"{REPOSITORY}/HEAD", b"ref: refs/heads/main\n", 0o644)
        self.place.write(f"{REPOSITORY}/config", tree, 0o644)
        self.place.write(f"{WORKSPACE}/.git", f"gitdir: ../{REPOSITORY}\n".encode(), 0o644)
        for name in VICTIMS:
            self.place.write(f"{WORKSPACE}/victims/{name}", b"as it was\n", 0o644)
        for path in self.secrets.values():
            if not path.exists():
                content = f"secret = '{self.token}'\n".encode()
                self.place.write(str(path.relative_to(self.place.top)), content)


def _any_like(path: Path) -> bool:
    """Tells whether the file exists, or one next to it whose name begins alike."""
    return any(name.startswith(path.name) for name in os.listdir(path.parent))
