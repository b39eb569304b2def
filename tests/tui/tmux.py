"""A real terminal: the program in a shell in tmux, with its keys and what is on its screen."""

import os
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from tempfile import TemporaryDirectory
from time import monotonic
from uuid import uuid4

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.scripts import ALONE, QUICK, Turn

PATIENCE_S = 60.0
BREATH_S = 0.1  # between the last letter and Enter, as people take it
AGAIN_S = 2.0  # after which a person would press a key again
SLOW_S = 8.0  # after which they would write something again
READ_S = 0.7  # that somebody looks at a panel before they write in it
LOOK_S = 0.3  # between two looks for a hint that is there for a moment only
UNVERIFIED = "\n[verify]\nafter_build = false\n"  # scripts end with the build
SIGNS = ("> ", "$ ")  # before what is typed on the screen
SIZE = (100, 30)
PROMPT = "ready>"  # of the shell, where no screen covers it
OPEN = "Describe a task. @ file"  # in the prompt of the screen, where nothing is typed

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """A server of its own, on a socket of its own; terminals open in it."""

    def __init__(self) -> None:
        self._name = f"assent-{uuid4().hex}"
        self._folder = TemporaryDirectory(prefix="tmux-")  # short: a socket's path has a limit
        self._opened: list[Terminal] = []

    @property
    def _env(self) -> dict[str, str]:
        return {**os.environ, "TMUX_TMPDIR": self._folder.name}

    def _line(self, *arguments: str) -> list[str]:
        return ["tmux", "-u", "-L", self._name, "-f", os.devnull, *arguments]

    def open(
        self,
        world: World,
        typed: str = "",
        size: tuple[int, int] = SIZE,
        env: Mapping[str, str] | None = None,
    ) -> "Terminal":
        """Opens a terminal with a shell in a world, and types a line there."""
        name = f"t{len(self._opened)}"
        env = {**world.env, **ALONE, "TERM": "xterm-256color", "PS1": PROMPT, **(env or {})}
        env["PATH"] = f"{_program(world)}:{env['PATH']}"
        known = [f"{key}={value}" for key, value in env.items()]
        shell = ["env", "-i", *known, "bash", "--norc", "--noprofile", "-i"]
        width, height = map(str, size)
        new = ["new-session", "-d", "-s", name, "-x", width, "-y", height, "-c", str(world.root)]
        subprocess.run(self._line(*new, *shell), check=True, env=self._env)
        terminal = Terminal(self._line("-C", "attach", "-t", name), self._env)
        self._opened.append(terminal)
        terminal.shows(PROMPT)
        if typed:
            terminal.enter(typed)
        return terminal

    def close(self) -> None:
        """Ends the server, and with it everything that runs in it."""
        line = self._line("kill-server")
        subprocess.run(line, check=False, capture_output=True, env=self._env)
        for terminal in self._opened:
            terminal.detach()
        self._folder.cleanup()


class Terminal:
    """One terminal. Nothing is waited for by the clock: tmux tells when something was painted."""

    def __init__(self, line: list[str], env: Mapping[str, str]) -> None:
        self._client = subprocess.Popen(
            line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._rest = b""
        self._painted = False
        self._answer([])  # of the attaching itself

    def enter(self, words: str) -> None:
        """Types words, and Enter."""
        self.type(words)
        lines = tuple([f"{sign}{words}" for sign in SIGNS])

        def typed(screen: str) -> bool:
            if PROMPT in screen:
                return words.split()[-1][-8:] in screen
            return any(line.rstrip().endswith(lines) for line in screen.split("\n"))

        self.until(typed, words)
        seen = monotonic()
        while monotonic() < seen + BREATH_S:  # an Enter right behind a letter would be a paste's
            self.until(typed, words)
        self.press("Enter")

    def type(self, words: str) -> None:
        """Types words as they are."""
        self._tell("send-keys", "-H", *[f"{byte:x}" for byte in words.encode()])

    def press(self, *keys: str) -> None:
        """Presses keys as tmux names them."""
        self._tell("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        self._tell("resize-window", "-x", str(width), "-y", str(height))

    def screen(self, *, styled: bool = False) -> str:
        """Returns what is on the screen, line by line."""
        return "\n".join(self._tell("capture-pane", "-p", *(["-e"] if styled else [])))

    def value(self, name: str) -> str:
        """Returns what tmux knows about the terminal, such as `cursor_flag`."""
        return self._tell("display-message", "-p", f"#{{{name}}}")[0]

    def answer(
        self, key: str, *words: str, anew: Sequence[str] = (), every: float = AGAIN_S
    ) -> str:
        """Presses a key that answers something, and waits for what comes of it.

        Where the key twice is not the key once, `anew` says what leads there from anywhere, or
        `every` that whoever waits is slow to press it again.
        """
        if every > AGAIN_S:
            self.breathe()
        self.press(key)
        return self.until(
            lambda screen: all(each in screen for each in words),
            repr(words),
            lambda: self.press(*(anew or (key,))),
            every,
        )

    def twice(self, key: str, hint: str, came: Callable[[str], object]) -> str:
        """Presses a key, and once more when its hint is seen; anew, where that was too late.

        The hint stays for a moment only, and a busy machine may take longer than that.
        """
        pressed = monotonic()
        self.press(key)

        def again() -> None:
            nonlocal pressed
            if hint in self.screen() or monotonic() > pressed + 2 * AGAIN_S:
                pressed = monotonic()
                self.press(key)

        return self.until(came, f"what {key} means twice", again, LOOK_S)

    def leave(self) -> str:
        """Leaves the screen by its keys, and waits for the shell."""
        return self.twice("C-c", "Ctrl+C again to exit", rested)

    def decide(self, ask: str, seen: str, key: str, *words: str) -> str:
        """Asks for something, and answers once the question was in sight for a moment."""
        self.answer(ask, seen)
        return self.until(
            lambda screen: all(each in screen for each in words),
            repr(words),
            lambda: self.press(key if seen in self.screen() else ask),
        )

    def send(self, seen: str, key: str, *words: str) -> str:
        """Presses a key while something is in sight; what follows takes as long as it takes.

        Nothing else is pressed: it would be typed into the prompt once the question is closed.
        """
        return self.until(
            lambda screen: all(each in screen for each in words),
            repr(words),
            lambda: self.press(key) if seen in self.screen() else None,
        )

    def write(self, words: str) -> str:
        """Types words into a panel that just opened, and waits until they are there."""
        acts: Iterator[Callable[[], None]] = cycle(
            [lambda: self.press("C-u"), lambda: self.type(words)]  # some of them may be there
        )
        self.breathe()
        self.type(words)
        return self.until(lambda screen: words in screen, words, lambda: next(acts)(), SLOW_S)

    def breathe(self) -> None:
        """Looks at the screen for a moment before something is pressed that must not come twice."""
        began = monotonic()
        while monotonic() < began + READ_S:
            self._read(began + READ_S - monotonic())

    def shows(self, *words: str) -> str:
        """Waits until all of these words are on the screen, and returns it."""
        return self.until(lambda screen: all(each in screen for each in words), repr(words))

    def hides(self, *words: str) -> str:
        """Waits until none of these words is on the screen, and returns it."""
        told = f"to go: {words!r}"
        return self.until(lambda screen: not any(each in screen for each in words), told)

    def until(
        self,
        holds: Callable[[str], object],
        told: str = "it",
        again: Callable[[], None] | None = None,
        every: float = AGAIN_S,
    ) -> str:
        """Waits until something holds for the screen, and returns it.

        A panel drops what is typed before it is seen. Nobody is as fast as a test, so where a key
        could have come too early, `again` presses it as a person would: after a while.
        """
        now = monotonic()
        end, due = now + PATIENCE_S, now + every
        while True:
            self._painted = False
            screen = self.screen()
            if holds(screen):
                return screen
            while not self._painted:
                now = monotonic()
                assert now < end, f"{told} never came; the screen is:\n{screen}"
                if again is not None and now > due:
                    again()
                    due = monotonic() + every
                left = (min(end, due) if again else end) - monotonic()
                self._read(left)

    def mode(self, word: str) -> str:
        """Waits until the status line begins with a mode."""
        last = f" {word} │"
        return self.until(lambda screen: f"\n{last}" in screen[screen.rstrip().rfind("\n") :], last)

    def rests(self) -> str:
        """Waits until the shell wants a line again."""
        return self.until(rested, "the shell")

    def detach(self) -> None:
        """Lets go of a terminal that is gone."""
        self._client.kill()
        for end in (self._client.stdin, self._client.stdout):
            assert end is not None
            end.close()
        self._client.wait(PATIENCE_S)

    def _tell(self, *words: str) -> list[str]:
        assert self._client.stdin is not None
        self._client.stdin.write(f"{shlex.join(words)}\n".encode())
        self._client.stdin.flush()
        return self._answer(list(words))

    def _answer(self, words: list[str]) -> list[str]:
        """Returns what tmux answers; what it tells besides is noted."""
        found: list[str] | None = None
        while True:
            line = self._line()
            if found is None and line.startswith("%begin"):
                found = []
            elif found is not None and line.startswith(("%end", "%error")):
                assert line.startswith("%end"), (words, found)
                return found
            elif found is not None:
                found.append(line)
            elif line.startswith("%output"):
                self._painted = True

    def _line(self) -> str:
        while b"\n" not in self._rest:
            self._more(PATIENCE_S)
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    def _read(self, seconds: float) -> None:
        """Waits for the next thing that tmux tells."""
        if b"\n" not in self._rest and not self._more(seconds):
            return
        while b"\n" in self._rest:
            if self._line().startswith("%output"):
                self._painted = True

    def _more(self, seconds: float) -> bool:
        assert self._client.stdout is not None
        number = self._client.stdout.fileno()
        if not select.select([number], [], [], max(seconds, 0.0))[0]:
            return False
        more = os.read(number, 1 << 16)
        assert more, "tmux ended"
        self._rest += more
        return True


def rested(screen: str) -> bool:
    """Tells whether the shell wants a line."""
    return screen.rstrip().endswith(f"\n{PROMPT}")


def scripted(world: World, *turns: Turn) -> None:
    """Has the settings of a world name a model that answers with these turns."""
    script = world.base / "script.json"
    script.write_bytes(msgspec.json.encode({"turns": turns}))
    world.config.write_text(f'model = "scripted:{script}"\n{QUICK}{UNVERIFIED}', encoding="utf-8")


def _program(world: World) -> str:
    """Makes the program there is to start in a world, and returns its folder."""
    folder = world.base / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "assent"
    if not program.exists():
        program.write_text(
            f"#!{sys.executable}\nfrom assent.cli import main\n\nmain()\n", encoding="utf-8"
        )
        program.chmod(0o755)
    return str(folder)


@contextmanager
def tmux() -> Iterator[Tmux]:
    """A server that is gone at the end."""
    server = Tmux()
    try:
        yield server
    finally:
        server.close()
