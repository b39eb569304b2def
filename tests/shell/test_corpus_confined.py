"""The second layer alone: every refused line is really run by bash inside the sandbox, and neither
the repository nor the canary changes, and nobody knocks at the listener."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shell.bench import Bench, set_up
from tests.shell.desk import CANARY, Desk, bash, plain_environment
from tests.shell.lists import UNEXECUTED, chunks, filled
from tests.shell.watching import Leaks, Listener, Watch

from assent.core.shell.process import ProcessLimits

EXECUTED = {n: lines for n, lines in chunks("refused").items() if not n.startswith(UNEXECUTED)}
HARMFUL = (
    "touch pwned",
    "echo x >> README.md",
    "chmod 600 README.md",
    "git branch pwned",
    "sort -o pwned data/a.txt",
    "cp README.md @HOME@/canary.txt",
    "echo x > /dev/tcp/127.0.0.1/@PORT@",
    "echo x > /dev/udp/127.0.0.1/@PORT@",
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Bench]:
    yield from set_up(tmp_path_factory.mktemp("confined"), state)


def test_bash_itself_works_inside(bench: Bench) -> None:
    line = "head -1 README.md; git log -1 --format=%s; cat ~/canary.txt"
    ran = bench.desk.confined(line, ProcessLimits())
    assert ran.out == "# Lantern\nName it y\n"
    assert CANARY not in ran.err


@pytest.mark.parametrize("chunk", EXECUTED)
def test_f80_the_sandbox_alone_holds_what_the_text_would_refuse(chunk: str, bench: Bench) -> None:
    leaking = []
    for line in bench.filled(EXECUTED[chunk]):
        assert bench.desk.confined(line).cut != "start", line
        leaks = bench.watch.leaks()
        if leaks != Leaks():
            leaking.append((line, leaks))
    assert leaking == []
    assert bench.watch.deep_leaks() == Leaks()


@pytest.mark.parametrize("line", HARMFUL)
def test_without_the_sandbox_the_watchers_see_it(line: str, tmp_path: Path, state: Path) -> None:
    desk = Desk(tmp_path / "desk", state)
    with Listener() as listener:
        watch = Watch((desk.root, desk.home), listener)
        [full] = filled([line], listener.port, str(desk.home))
        bash(full, desk.root, plain_environment(tmp_path / "plain"))
        seen = watch.leaks()
        assert seen.changed or seen.heard
