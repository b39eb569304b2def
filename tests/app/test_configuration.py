"""What turns are configured by is as the files say now, however many turns a process drives."""

import os
import time
from pathlib import Path

import pytest

from assent.app.rules import Configuration, ConfigurationCache, configuration_stamps
from assent.app.session import RuntimeCache
from assent.config.paths import AppPaths
from assent.core.errors import UsageError

AGENT = "---\ndescription: Mine\nmode: subagent\n---\n"
DENY = '[permission]\nedit = {{ "{}.txt" = "deny" }}\n'
JSON = '{{"permission": {{"edit": "{}"}}}}'


class Setup:
    def __init__(self, base: Path) -> None:
        self.root = base / "ws"
        self.here = AppPaths(base / "state", base / "config" / "assent")
        for folder in (self.root, self.here.state, self.here.config):
            folder.mkdir(parents=True)
        self.places = {
            "ROOT": self.root, "STATE": self.here.state, "CONFIG": self.here.config,
            "OPENCODE": base / "config" / "opencode", "HOME": base / "home",
        }  # fmt: skip
        self.cache = ConfigurationCache()

    def read(self) -> Configuration:
        return self.cache.read(os.fsencode(self.root), self.here)

    def file(self, name: str) -> Path:
        place, _, rest = name.partition("/")
        return self.places[place] / rest

    def write(self, name: str, text: str) -> None:
        self.file(name).parent.mkdir(parents=True, exist_ok=True)
        self.file(name).write_text(text, encoding="utf-8")

    def settle(self) -> None:
        """Waits until what is read may be kept."""
        while configuration_stamps(os.fsencode(self.root), self.here) is None:
            time.sleep(0.02)


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Setup(tmp_path)


def said(found: Configuration) -> str:
    """Everything that a configuration says."""
    return repr((found.loaded, found.agents, found.policy, found.accounts is None))


def test_what_did_not_change_is_read_once(setup: Setup) -> None:
    setup.write("CONFIG/config.toml", 'mode = "ask"\n')
    setup.write("ROOT/.opencode/agents/mine.md", AGENT)
    setup.settle()
    first = setup.read()
    assert "mine" in first.agents[0]
    assert setup.read() is first
    assert setup.read().agents is first.agents
    assert setup.read().policy is first.policy
    assert setup.read().offers is first.offers
    setup.write("CONFIG/config.toml", 'mode = "plan"\n')
    assert setup.read().offers is not first.offers


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("CONFIG/config.toml", 'mode = "ask"\n', 'mode = "yolo"\n'),
        ("CONFIG/config.toml", DENY.format("a"), DENY.format("b")),
        ("ROOT/.opencode/assent.toml", DENY.format("a"), DENY.format("b")),
        ("OPENCODE/opencode.json", JSON.format("ask"), JSON.format("deny")),
        ("ROOT/opencode.json", JSON.format("ask"), JSON.format("deny")),
        ("CONFIG/agents/mine.md", f"{AGENT}One.\n", f"{AGENT}Two.\n"),
        ("ROOT/.opencode/agents/mine.md", f"{AGENT}One.\n", f"{AGENT}Two.\n"),
        ("HOME/.config/opencode/agent/mine.md", f"{AGENT}One.\n", f"{AGENT}Two.\n"),
    ],
)
def test_a_file_that_comes_changes_or_goes_counts_at_once(
    setup: Setup, file: str, before: str, after: str
) -> None:
    setup.settle()
    nothing = said(setup.read())
    setup.write(file, before)
    first = said(setup.read())
    setup.settle()
    assert said(setup.read()) == said(setup.read()) == first != nothing
    times = setup.file(file).stat()
    setup.write(file, after)
    os.utime(setup.file(file), ns=(times.st_atime_ns, times.st_mtime_ns))
    second = said(setup.read())
    assert second not in (nothing, first)
    setup.settle()
    assert said(setup.read()) == second
    setup.file(file).unlink()
    assert said(setup.read()) == nothing


def test_a_changed_record_of_trust_counts_at_once(setup: Setup) -> None:
    setup.write("ROOT/.opencode/assent.toml", DENY.format("a"))
    setup.settle()
    first = setup.read()
    assert not first.loaded.trusted
    setup.write("STATE/trust.json", "damaged")
    assert setup.read().loaded.warnings != first.loaded.warnings


def test_keys_that_are_stored_meanwhile_are_looked_up(setup: Setup) -> None:
    setup.settle()
    assert setup.read().accounts is not None
    setup.write("CONFIG/credentials", "")
    assert setup.read().accounts is None


def test_a_broken_file_is_an_error_each_time_and_none_once_it_is_mended(setup: Setup) -> None:
    setup.write("CONFIG/config.toml", 'mode = "ask"\n')
    setup.settle()
    assert setup.read().loaded.settings.mode == "ask"
    setup.write("CONFIG/config.toml", "mode = [\n")
    for _ in range(2):
        with pytest.raises(UsageError):
            setup.read()
    setup.write("CONFIG/config.toml", 'mode = "plan"\n')
    assert setup.read().loaded.settings.mode == "plan"


def test_workspaces_have_configurations_of_their_own(setup: Setup, tmp_path: Path) -> None:
    other = Setup(tmp_path / "other")
    setup.write("ROOT/.opencode/agents/mine.md", AGENT)
    setup.settle()
    own = setup.read()
    theirs = setup.cache.read(os.fsencode(other.root), setup.here)
    assert ("mine" in own.agents[0], "mine" in theirs.agents[0]) == (True, False)
    assert setup.read() is own


def test_turns_with_the_same_patience_share_a_client() -> None:
    kept = RuntimeCache()
    assert kept.client(300.0) is kept.client(300.0)
    assert kept.client(300.0) is not kept.client(30.0)
    kept.close()
