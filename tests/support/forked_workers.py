"""A pytest plugin that shares the tests among several processes: `pytest --workers 4`.

The tests are collected once, and then the workers are forked: none has to import or to collect
anything again. Each takes the next chunk from a pipe when it is done with the one before. What
happened to a test goes back to this process, which counts and prints it. If a worker dies, its test
has failed, and another one takes over the rest.
"""

import marshal
import mmap
import os
import selectors
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, TypeAlias

import pytest

# The longest first, one by one, so that no worker is left with one of them in the end.
LONG = (
    "tests/disks/",
    "tests/crash/test_kill",
    "tests/crash/test_large_file",
    "tests/tui/test_end_to_end",
    "tests/tui/test_accidental_keys",
    "tests/bench/",
    "tests/web/test_fuzz",
    "tests/web/test_connections",
    "tests/adversarial/test_adversarial",
    "tests/doctor/",
    "tests/demo/",
)
# What reads the syntax trees of the whole package; one worker does, so that they are made once.
READS_TREES = (
    "tests/house/",
    "tests/adversarial/test_known_vulnerabilities.py::test_only_the_gate",
    "tests/cli/test_next_steps.py",
    "tests/runs/test_user_commands.py::test_no_tool",
    "tests/tui/test_hints.py",
    "tests/tui/test_panel_table.py",
)
STARTS_PROCESSES = tuple(
    f"tests/{name}/"
    for name in ("crash", "shell", "adversarial", "sandbox", "cli", "tui", "web", "store")
)
SMALL, LARGE = 16, 256  # tests of one module that stay together: those that take long, and others
MOST = 1 << 16  # bytes read at once
HEAD = 4  # bytes of the number before a message, and of a number in the pipe of chunks
PRINTER = "terminalreporter"
# What a report of a phase that passed has; most have no more to tell than when that was.
PLAIN = vars(pytest.TestReport("", ("", 0, ""), {}, "passed", None, "call")).keys()

Send: TypeAlias = Callable[[tuple[Any, ...]], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="share the tests among N processes")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Runs the tests in workers; pytest itself runs them if there is one, or nothing to run."""
    count = session.config.getoption("--workers")
    if count < 2 or session.testsfailed or session.config.option.collectonly:
        return None
    crew = Crew(session)
    try:
        crew.run(min(count, len(session.items)))
    finally:
        crew.dismiss()
    return True


def chunks(names: Sequence[str]) -> list[list[int]]:
    """Returns the numbers of the tests that one worker runs in a row, in the order to begin."""
    long = [n for start in LONG for n, name in enumerate(names) if name.startswith(start)]
    trees = [n for n, name in enumerate(names) if name.startswith(READS_TREES)]
    alone = {*long, *trees}
    modules = [
        list(found)
        for _, found in groupby(
            (n for n in range(len(names)) if n not in alone),
            key=lambda n: names[n].partition("::")[0],
        )
    ]
    modules.sort(key=lambda module: not names[module[0]].startswith(STARTS_PROCESSES))
    parts = [part for module in modules for part in _parts(module, names)]
    return [[n] for n in long] + [trees] * bool(trees) + parts


def _parts(module: list[int], names: Sequence[str]) -> Iterator[list[int]]:
    most = SMALL if names[module[0]].startswith(STARTS_PROCESSES) else LARGE
    for start in range(0, len(module), most):
        yield module[start : start + most]


class Worker:
    """A process that runs tests, as the one that forked it sees it."""

    def __init__(self, pid: int, reports: int) -> None:
        self.pid = pid
        self.reports = reports
        self.is_done = False
        self.to_run: deque[int] = deque()  # what it took and has not ended; the first is running
        self._bytes = b""

    def receive(self) -> list[tuple[Any, ...]] | None:
        """Returns the messages that came; nothing once it has ended."""
        content = os.read(self.reports, MOST)
        if not content:
            return None
        self._bytes += content
        found = []
        while len(self._bytes) >= HEAD:
            end = HEAD + int.from_bytes(self._bytes[:HEAD])
            if len(self._bytes) < end:
                break
            found.append(marshal.loads(self._bytes[HEAD:end]))
            self._bytes = self._bytes[end:]
        return found


class Crew:
    """The workers, and the tests of a session that are left for them."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._chunks = chunks([item.nodeid for item in session.items])
        self._tasks, tasks = os.pipe()
        for number in range(len(self._chunks)):
            os.write(tasks, number.to_bytes(HEAD))
        os.close(tasks)
        self._stop = mmap.mmap(-1, 1)  # all processes see it
        self._workers: list[Worker] = []
        self._begun = 0
        self._ready = selectors.DefaultSelector()

    def run(self, count: int) -> None:
        for _ in range(count):
            self._begin(())
        while self._ready.get_map():
            for key, _ in self._ready.select():
                self._hear(key.data)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def dismiss(self) -> None:
        """Ends workers that are still there because this process was interrupted."""
        for worker in self._workers:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(worker.pid, signal.SIGTERM)
                os.waitpid(worker.pid, 0)
        os.close(self._tasks)
        self._ready.close()
        self._stop.close()

    def _begin(self, first: Sequence[int]) -> None:
        """Forks a worker, which begins with what another one left."""
        config = self._session.config
        folder = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        # Python ignores an interrupt that comes while it forks; nobody would end the new worker.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        pid = os.fork()
        if not pid:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(reading)
            for worker in self._workers:
                os.close(worker.reports)
            config._tmp_path_factory._basetemp = folder / f"worker-{self._begun}"  # type: ignore[attr-defined]
            _work(self._session, self._taken, self._stop, writing, first)
        os.close(writing)
        self._begun += 1
        worker = Worker(pid, reading)
        worker.to_run.extend(first)
        self._workers.append(worker)
        self._ready.register(reading, selectors.EVENT_READ, worker)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _taken(self) -> list[int]:
        """Takes the next chunk, in a worker."""
        number = os.read(self._tasks, HEAD)
        return self._chunks[int.from_bytes(number)] if number else []

    def _hear(self, worker: Worker) -> None:
        messages = worker.receive()
        if messages is None:
            self._ended(worker)
            return
        for kind, content in messages:
            if kind == "taken":
                worker.to_run.extend(content)
            elif kind == "ran":
                self._tell(worker.to_run.popleft(), content)
            elif kind == "done":
                worker.is_done = True

    def _tell(self, number: int, told: list[Any]) -> None:
        """Reports one test, as if it had just run here."""
        item, config = self._session.items[number], self._session.config
        keywords = dict.fromkeys(item.keywords, 1)
        config.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in told:
            if isinstance(data, tuple):
                when, *times = data
                report = pytest.TestReport(
                    item.nodeid, item.location, keywords, "passed", None, when, (), *times
                )
            else:
                report = config.hook.pytest_report_from_serializable(config=config, data=data)
            config.hook.pytest_runtest_logreport(report=report)
        config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if self._session.shouldfail or self._session.shouldstop:
            self._stop[0] = 1

    def _ended(self, worker: Worker) -> None:
        self._ready.unregister(worker.reports)
        os.close(worker.reports)
        self._workers.remove(worker)
        _, status = os.waitpid(worker.pid, 0)
        if worker.is_done:
            return
        if worker.to_run:
            number = worker.to_run.popleft()
            item, code = self._session.items[number], os.waitstatus_to_exitcode(status)
            why = f"The worker that ran this test ended with {code}."
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
            config = self._session.config
            data = config.hook.pytest_report_to_serializable(config=config, report=report)
            self._tell(number, [data])
        if not self._stop[0]:
            self._begin(worker.to_run)


class Reports:
    """Collects what happens to a test in a worker: one message tells it all when it is over."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and _is_plain(report):
            self._told.append((report.when, report.duration, report.start, report.stop))
            return
        hook = self._config.hook
        self._told.append(hook.pytest_report_to_serializable(config=self._config, report=report))

    def take(self) -> list[Any]:
        """Returns the reports of the test that has just run."""
        told, self._told = self._told, []
        return told


def _is_plain(report: pytest.TestReport) -> bool:
    more = report.longrepr or report.sections or report.user_properties
    return not more and vars(report).keys() == PLAIN


class Silence:
    """Stands for what prints reports; others ask it for the writer, to highlight their texts."""

    def __init__(self, writer: object) -> None:
        self._tw = writer


def _work(
    session: pytest.Session,
    taken: Callable[[], list[int]],
    stop: mmap.mmap,
    reports: int,
    first: Sequence[int],
) -> None:
    """Runs tests in a process that was just forked, and ends it."""
    code = 1

    def send(message: tuple[Any, ...]) -> None:
        content = marshal.dumps(message)
        content = len(content).to_bytes(HEAD) + content
        while content:
            content = content[os.write(reports, content) :]

    try:
        told = _become_worker(session.config)
        waiting = deque(first)
        while (waiting or _refill(waiting, taken, send)) and not stop[0]:
            number = waiting.popleft()
            following = waiting or _refill(waiting, taken, send)  # whose fixtures may stay
            item = session.items[number]
            after = session.items[waiting[0]] if following else None
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            send(("ran", told.take()))
        session._setupstate.teardown_exact(None)
        send(("done", None))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _refill(waiting: deque[int], taken: Callable[[], list[int]], send: Send) -> bool:
    chunk = taken()
    waiting.extend(chunk)
    send(("taken", chunk))
    return bool(chunk)


def _become_worker(config: pytest.Config) -> Reports:
    """Gives a worker a folder and a capture of its own, and has it print nothing."""
    config._tmp_path_factory._basetemp.mkdir(mode=0o700)  # type: ignore[attr-defined]
    plugins = config.pluginmanager
    printer = plugins.getplugin(PRINTER)
    plugins.unregister(printer)
    writer = printer._tw
    writer._file = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    plugins.register(Silence(writer), PRINTER)
    told = Reports(config)
    plugins.register(told)
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    return told
