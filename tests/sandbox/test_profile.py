"""What a program sees: nothing by default, never a secret, and whatever a variable may say."""

import os
from pathlib import Path

import pytest

from assent.core.errors import Refused
from assent.sandbox.profile.profile import ProfileBuilder, SandboxProfile


class Machine:
    """A home, a workspace and Assent's own folders, in a temporary folder."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home = top / "home"
        self.root = top / "home" / "work" / "project"
        self.state = top / "home" / ".local" / "state" / "assent"
        self.config = top / "home" / ".config" / "assent"
        self.fill("home/work/project/readme", "home/.local/state/assent/key")

    def fill(self, *names: str) -> None:
        for name in names:
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("content", encoding="utf-8")

    def sight(self, root: Path | None = None, /, **variables: str) -> ProfileBuilder:
        hidden = [os.fsencode(self.state), os.fsencode(self.config)]
        return ProfileBuilder(
            os.fsencode(root or self.root), os.fsencode(self.home), hidden, variables
        )

    def profile(self, root: Path | None = None, /, **variables: str) -> SandboxProfile:
        return self.sight(root, **variables).profile()

    def own(self, paths: tuple[bytes, ...]) -> list[str]:
        """Returns those of the paths that lie on this machine, and not on the real one."""
        inner = [Path(os.fsdecode(path)) for path in paths]
        return [str(path.relative_to(self.top)) for path in inner if self.top in path.parents]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("root", ["/", "/proc", "/proc/self/task", "/sys/kernel", "/dev/shm"])
def test_the_machine_is_no_workspace(machine: Machine, root: str) -> None:
    with pytest.raises(Refused, match="is a system folder, not a project"):
        machine.sight(Path(root))


def test_a_symlink_to_the_machine_is_no_workspace(machine: Machine) -> None:
    (machine.top / "link").symlink_to("/")
    with pytest.raises(Refused):
        machine.sight(machine.top / "link")


def test_our_own_folders_are_no_workspace(machine: Machine) -> None:
    machine.fill("home/.local/state/assent/blobs/x")
    for root in (machine.state, machine.state / "blobs"):
        with pytest.raises(Refused, match="Assent's own folders"):
            machine.sight(root)


def test_a_place_for_keys_is_no_workspace(machine: Machine) -> None:
    machine.fill("home/.ssh/id_rsa")
    with pytest.raises(Refused, match=r"keys"):
        machine.sight(machine.home / ".ssh")


@pytest.mark.parametrize(
    "path",
    ["/etc/shadow", "/etc/sudoers", "/etc/ssh", "/etc/ssl/private", "/etc/gitconfig", "/etc",
     "/var/log", "/run", "/proc/self/environ", "/root/.ssh", "/home", "/tmp"],
)  # fmt: skip
def test_the_private_parts_of_the_system_are_not_there(machine: Machine, path: str) -> None:
    assert not machine.profile().visible(os.fsencode(path))


def test_of_the_system_enough_is_there_to_start_a_program(machine: Machine) -> None:
    profile = machine.profile()
    wanted = [b"/bin/sh", b"/etc/passwd", b"/usr/bin/env"]
    assert [path for path in wanted if not profile.visible(path)] == []


def test_every_path_of_a_profile_is_there_under_its_real_parents(machine: Machine) -> None:
    machine.fill("home/.env", "home/bin/x", "home/.ssh/config")
    profile = machine.profile(machine.home, PATH=os.environ["PATH"])
    paths = (*profile.shown, *profile.masks)
    parents = {os.path.dirname(path) for path in paths}
    assert [path for path in paths if not os.path.lexists(path)] == []
    assert [path for path in parents if os.path.realpath(path) != path] == []
    assert [path for path in profile.masks if os.path.islink(path)] == []


@pytest.mark.parametrize(
    "entry",
    ["/", "{top}", "{home}", "{home}/", "{home}/work", "{root}/..", "{home}/.local",
     "{home}/.local/state", "{home}/.local/state/assent", "{home}/.local/state/assent/bin",
     "{home}/.config", "{home}/.ssh", "{home}/.ssh/bin", "{home}/.docker/bin", "{home}/file",
     "{home}/missing", "/proc/self/root{home}/tools", "{root}/link", "{home}/keys-by-symlink",
     "/opt", "/etc", "work", ".", ""],
)  # fmt: skip
@pytest.mark.parametrize("variable", ["PATH", "PYENV_ROOT", "JAVA_HOME", "VIRTUAL_ENV"])
def test_no_variable_shows_what_is_private(machine: Machine, variable: str, entry: str) -> None:
    machine.fill(
        "home/.ssh/bin/x", "home/.ssh/pyvenv.cfg", "home/.docker/bin/x", "home/file",
        "home/tools/x", "home/pyvenv.cfg", "home/.local/state/assent/bin/x", "home/.config/gh/x",
    )  # fmt: skip
    (machine.root / "link").symlink_to(machine.home / "tools")
    (machine.home / "keys-by-symlink").symlink_to(".ssh")
    named = entry.format(top=machine.top, home=machine.home, root=machine.root)
    profile = machine.profile(**{variable: named})
    assert machine.own(profile.shown) == []
    assert os.fsencode(named.rstrip("/")) not in profile.shown
    assert not profile.visible(os.fsencode(machine.home / ".ssh/bin/x"))


def test_a_folder_of_path_is_shown_and_not_its_parent(machine: Machine) -> None:
    machine.fill("home/tools/scripts/x", "home/tools/private")
    profile = machine.profile(PATH=f"/usr/bin:{machine.home}/tools/scripts")
    assert machine.own(profile.shown) == ["home/tools/scripts"]


def test_a_folder_behind_a_symlink_is_shown_with_the_symlink(machine: Machine) -> None:
    machine.fill("home/dotfiles/scripts/x", "home/dotfiles/private")
    (machine.home / "link").symlink_to("dotfiles")
    profile = machine.profile(PATH=f"{machine.home}/link/scripts")
    assert machine.own(profile.shown) == ["home/dotfiles/scripts", "home/link"]
    assert profile.visible(os.fsencode(machine.home / "link/scripts/x"))
    assert not profile.visible(os.fsencode(machine.home / "link/private"))


def test_secrets_in_a_folder_of_path_are_masked(machine: Machine) -> None:
    machine.fill("home/tools/.env", "home/tools/x")
    profile = machine.profile(PATH=f"{machine.home}/tools")
    assert machine.own(profile.masks) == ["home/tools/.env"]


def test_known_toolchains_are_shown_without_the_logins(machine: Machine) -> None:
    machine.fill("home/.cargo/bin/x", "home/.cargo/credentials.toml", "home/.pyenv/shims/python",
                 "home/.dotnet/dotnet", "home/.dotnet/corefx/key")  # fmt: skip
    profile = machine.profile()
    assert machine.own(profile.shown) == ["home/.cargo/bin", "home/.dotnet", "home/.pyenv"]
    assert machine.own(profile.masks) == ["home/.dotnet/corefx"]


def test_the_python_behind_a_virtual_environment_is_shown(machine: Machine) -> None:
    machine.fill("home/py/bin/python3", "home/py/lib/python3.12/os.py", "home/venv/bin/python")
    (machine.home / "venv/pyvenv.cfg").write_text(f"home = {machine.home}/py/bin", encoding="utf-8")
    venv, path = str(machine.home / "venv"), f"{machine.home}/py/bin"
    assert machine.own(machine.profile(VIRTUAL_ENV=venv).shown) == ["home/venv"]
    both = machine.profile(VIRTUAL_ENV=venv, PATH=path)
    assert machine.own(both.shown) == ["home/py", "home/venv"]


def test_a_projects_virtual_environment_cannot_name_any_folder(machine: Machine) -> None:
    machine.fill("home/docs/scripts/x", "home/docs/private", "home/work/project/.venv/bin/python")
    (machine.root / ".venv/pyvenv.cfg").write_text(
        f"home = {machine.home}/docs/scripts", encoding="utf-8"
    )
    profile = machine.profile(
        VIRTUAL_ENV=str(machine.root / ".venv"), PATH=f"{machine.home}/docs/scripts"
    )
    assert machine.own(profile.shown) == ["home/docs/scripts"]


def test_secrets_of_the_workspace_are_masked(machine: Machine) -> None:
    machine.fill("home/work/project/.env", "home/work/project/a/.ssh/x", "home/work/settings")
    os.mkfifo(machine.root / "pipe")
    (machine.root / "prod.env").symlink_to("../settings")  # leads out of sight
    assert machine.own(machine.profile().masks) == [
        "home/work/project/.env", "home/work/project/a/.ssh", "home/work/project/pipe",
    ]  # fmt: skip


def test_a_symlink_cannot_have_the_system_or_the_workspace_masked(machine: Machine) -> None:
    for name, target in ((".env", "/usr/bin/env"), (".ssh", "/usr/bin"), ("a.env", "readme")):
        (machine.root / name).symlink_to(target)
    machine.fill("home/work/project/sub/x")
    (machine.root / "sub" / ".ssh").symlink_to(machine.root)
    profile = machine.profile()
    assert machine.own(profile.masks) == ["home/work/project/readme"]
    assert profile.visible(b"/usr/bin/env")


def test_what_is_ours_is_masked_inside_the_workspace(machine: Machine) -> None:
    profile = machine.profile(machine.home)
    assert machine.own(profile.masks) == ["home/.local/state/assent"]
    assert not profile.visible(os.fsencode(machine.state / "key"))


def test_what_is_ours_is_masked_behind_a_symlink(machine: Machine) -> None:
    machine.fill("home/work/project/real/config.toml")
    machine.config.parent.mkdir()
    machine.config.symlink_to(machine.root / "real")
    profile = machine.profile()
    assert machine.own(profile.masks) == ["home/work/project/real"]
    assert not profile.visible(os.fsencode(machine.config / "config.toml"))


def test_what_is_ours_and_comes_later_is_masked_then(machine: Machine) -> None:
    sight = machine.sight(machine.home)
    assert machine.own(sight.profile().masks) == ["home/.local/state/assent"]
    machine.fill("home/.config/assent/config.toml")
    assert machine.own(sight.profile().masks) == [
        "home/.config/assent", "home/.local/state/assent",
    ]  # fmt: skip


def test_credential_places_of_a_home_in_sight_are_masked(machine: Machine) -> None:
    machine.fill(
        "home/.aws/config", "home/.claude.json", "home/.config/gh/hosts.yml",
        "home/.bash_history", "home/.config/nvim/init.lua", "home/dots/kube/config",
    )  # fmt: skip
    (machine.home / ".kube").symlink_to("dots/kube")
    assert machine.own(machine.profile(machine.home).masks) == [
        "home/.aws", "home/.bash_history", "home/.claude.json", "home/.config/gh",
        "home/.local/state/assent", "home/dots/kube",
    ]  # fmt: skip


def test_a_workspace_in_a_credential_place_is_not_masked_itself(machine: Machine) -> None:
    machine.fill("home/.codex/trees/one/readme", "home/.codex/auth.json")
    profile = machine.profile(machine.home / ".codex/trees/one")
    assert machine.own(profile.masks) == []
    assert profile.visible(os.fsencode(machine.home / ".codex/trees/one/readme"))
    assert not profile.visible(os.fsencode(machine.home / ".codex/auth.json"))


def test_a_repository_around_the_workspace_is_shown_without_its_sockets(machine: Machine) -> None:
    machine.fill("home/work/.git/HEAD", "home/work/.git/objects/x", "home/work/.git/refs/x")
    os.mkfifo(machine.home / "work/.git/daemon.ipc")
    profile = machine.profile()
    assert machine.own(profile.shown) == ["home/work/.git"]
    assert machine.own(profile.masks) == ["home/work/.git/daemon.ipc"]


def test_a_writable_workspace_keeps_what_could_be_made_later(machine: Machine) -> None:
    assert machine.profile().kept == ()
    kept = machine.sight(machine.home).profile(writable=True).kept
    assert machine.own(kept) == ["home/.config/assent", "home/.git", "home/.opencode"]


def test_hidden_below_names_the_first_mask(tmp_path: Path) -> None:
    base = os.fsencode(tmp_path.resolve())
    masks = (base + b"/a/.env", base + b"/ab/.env")
    profile = SandboxProfile(base, b"/home/ada", (), masks)
    folders = (b"", b"/a", b"/a/.env", b"/a/.env/x", b"/ab", b"/b")
    found = [profile.hidden_below(base + folder) for folder in folders]
    assert found == [masks[0], masks[0], masks[0], masks[0], masks[1], None]
