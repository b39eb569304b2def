"""The doors: what the floors above core ask of the world, one page of protocols."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

import msgspec

from assent.core.agent import Agent
from assent.core.event import Event, Recorded
from assent.core.journal import Entry
from assent.core.message import Call, Message
from assent.core.model import Answer, Delta, Offer, Prompt
from assent.core.motion import Fill, Layout, Seen
from assent.core.operation import FileOperation
from assent.core.process import Chunk, Ended, Limits, Program, Standing
from assent.core.provider import Prices
from assent.core.session import SessionRecord
from assent.core.session_event import Question, SessionEvent
from assent.core.tool import Decision, Posture, Request

WHOLE = 1 << 20  # content up to this size may be read at once; more is streamed


class Batch(msgspec.Struct, frozen=True):
    """Events that must directly follow event number `after` of a stream, and the head they make."""

    stream: str
    after: int
    at: str
    events: tuple[Event, ...]
    head: bytes | None = None


class Store(Protocol):
    """The log. All batches of one `append` are one durable transaction, or nothing is."""

    def append(self, *batches: Batch) -> tuple[Recorded, ...]:
        """Raises Moved if any stream has gone past its batch's `after`."""

    def read(self, stream: str, after: int = 0) -> list[Recorded]: ...

    def read_all(self, prefixes: Sequence[str], after: int = 0) -> list[Recorded]:
        """Returns the events of all streams under the prefixes, in the order of the whole log."""

    def last(self) -> int:
        """Returns the position of the newest event of all; 0 if there is none."""

    def streams(self, prefix: str) -> list[str]: ...

    def head(self, stream: str) -> tuple[int, bytes] | None:
        """Returns the kept fold of a stream with the seq that it reaches; it may lag behind."""

    def close(self) -> None: ...


class Blobs(Protocol):
    """Contents by digest. What is kept is durable, and visible to others, after `flush`."""

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Stores content and returns its digest and size."""

    def flush(self) -> None: ...

    def has(self, digest: str) -> bool: ...

    def read(self, digest: str) -> bytes:
        """Returns the content, checked; raises StoreError if it is missing or damaged."""

    def chunks(self, digest: str) -> Iterator[bytes]:
        """Streams the content; raises StoreError at the end if it does not match its name."""


class Signer(Protocol):
    """The key that says which machine's person approved; it never leaves the state directory."""

    def key(self) -> str:
        """Returns the public key as hex; the first call makes the pair."""

    def sign(self, payload: bytes) -> str:
        """Returns the signature as hex."""

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        """Tells whether this machine's key made the signature."""


class Locks(Protocol):
    """One process at a time."""

    def hold(self, name: str, owner: str) -> AbstractContextManager[None]:
        """Raises Busy, naming the owner, if somebody else holds the lock."""


class Clock(Protocol):
    """Time for display and expiry, never for order."""

    def now(self) -> str:
        """Returns the time in UTC as ISO 8601 with milliseconds and a Z."""

    def later(self, seconds: int) -> str: ...

    def new_id(self) -> str:
        """Returns an id that sorts by time and that nobody can guess."""


class Facts(msgspec.Struct, frozen=True):
    """What replacing a file would cost besides its content."""

    links: int = 1
    lost: tuple[str, ...] = ()


class Looks(Protocol):
    """Anything that can tell what stands under a name."""

    def look(self, paths: Iterable[bytes]) -> dict[bytes, Seen]: ...


class Files(Looks, Protocol):
    """The person's files, for reading, by workspace path; no symlink is ever followed."""

    def locate(self, argument: bytes) -> bytes:
        """Turns what a person typed into a workspace path: its real parent and its name."""

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; of a symlink, its target."""

    def below(self, folder: bytes) -> list[bytes]:
        """Lists the files and symlinks below a folder; nothing if it is no folder."""

    def is_file(self, path: bytes) -> bool:
        """Tells whether a file or symlink stands there, without reading it."""

    def target(self, path: bytes) -> bytes | None:
        """Returns where a symlink points to; None if it is none, or nothing is there."""

    def names(self, folder: bytes) -> list[bytes]:
        """Lists the names in a folder; nothing if it is no folder."""

    def size(self, path: bytes) -> int:
        """Returns how many bytes a file has, without reading it; 0 if it is none."""

    def facts(self, path: bytes) -> Facts: ...


class Hands(Looks, Protocol):
    """The one pair of hands (law 1): what the executor does to the person's files.

    Every call raises OSError on failure. None follows a symlink in a parent folder.
    """

    def layout(self, run: str, operations: Sequence[FileOperation]) -> Layout:
        """Decides where the slots of a run lie and which kernel calls serve there."""

    def missing(self, folders: Iterable[bytes]) -> tuple[bytes, ...]:
        """Returns those folders that do not exist."""

    def create(self, fill: Fill, content: Iterable[bytes]) -> None:
        """Writes a slot that must not exist, with mode, owner and attributes."""

    def rename(self, source: bytes, target: bytes) -> None:
        """Renames without ever replacing: FileExistsError if the target is taken."""

    def exchange(self, one: bytes, other: bytes) -> None: ...

    def make_folder(self, path: bytes) -> bool:
        """Makes a folder and those above it; tells whether it was missing."""

    def remove_folder(self, path: bytes) -> bool:
        """Removes a folder, and empty folders in it, if it holds no file; tells whether it went."""

    def holds_files(self, folder: bytes) -> bool:
        """Tells whether anything but folders lies below."""

    def remove(self, path: bytes) -> None: ...

    def sync(self) -> None:
        """Returns when everything done so far is on disk."""


class Journal(Protocol):
    """Where a run writes what it is about to do and what it did."""

    def read(self, run: str) -> list[Entry]: ...

    def write(self, run: str, entry: Entry) -> None:
        """Durable when it returns."""


class PlanFile(msgspec.Struct, frozen=True):
    """A plan's Markdown as found in the workspace."""

    session: str
    name: str
    path: bytes
    changed: float


class Projection(Protocol):
    """Assent's own files in the workspace: plans, readable copies, one line of .gitignore."""

    def prepare(self) -> None:
        """Makes the tree and the .gitignore line if they are missing."""

    def plan_path(self, session: str, name: str) -> bytes: ...

    def find_plans(self) -> list[PlanFile]:
        """Lists the plan files, newest first."""

    def skipped(self) -> list[str]:
        """Says which plan files could not be used at the last look, and why."""

    def read_plan(self, path: bytes) -> bytes | None:
        """Returns a plan file's bytes, or None if it is gone."""

    def write_plan(self, path: bytes, text: bytes) -> None: ...

    def delete_plan(self, path: bytes) -> None:
        """Removes a plan file, and its session's folder if that is left empty."""

    def write_state(self, plan_id: str, files: Mapping[str, bytes]) -> None:
        """Writes readable copies under the state folder; they give nobody any power."""

    def read_agent(self) -> bytes | None:
        """Returns the plan agent's definition as it stands in the workspace, if it does."""

    def write_agent(self, text: bytes) -> None:
        """Writes the plan agent's definition."""

    def write_output(self, name: str, content: bytes) -> bytes:
        """Keeps the whole output of a call for later reading; returns its path. Old ones go."""

    def marker(self) -> str:
        """Returns the workspace id that the tree carries, or an empty string."""

    def write_marker(self, workspace: str) -> None: ...


class Process(Protocol):
    """Runs programs so that they cannot write, connect, signal or read secrets.

    Folders are absolute real paths. What is visible is what a program inside could open.
    """

    def standing(self) -> Standing:
        """Tells whether the sandbox holds; the first call of a boot tries to break out of it."""

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        """Returns the trusted path of the first of these programs that is installed.

        The system's come first; with `own`, the order of the person's PATH counts.
        """

    def visible(self, path: bytes) -> bool:
        """Tells whether a program may read this path: in sight, and not masked."""

    def hidden_below(self, folder: bytes) -> bytes | None:
        """Returns a masked path in a folder, if there is one."""

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        """Lists the names in a visible folder, and whether each is a folder; else nothing."""

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: Limits
    ) -> Iterator[Chunk | Ended]:
        """Runs a pipeline and streams its output; `Ended` comes last. Closing it ends them all."""


class Answers(Iterator[Answer], Protocol):
    """A model's answer as it comes; `Stopped` comes last."""

    def close(self) -> None:
        """Ends the request at once, from any thread; who waits for it then gets Interrupted."""


class Model(Protocol):
    """Something that turns a prompt into a stream of parts."""

    def stream(self, prompt: Prompt) -> Answers:
        """Answers. The same message object in a later prompt is not encoded again.

        Raises ModelError, which says whether another attempt, another key or less text would help.
        """


class Opened(msgspec.Struct, frozen=True):
    """A model that is ready to be asked, and what is known about it; 0: unknown."""

    model: Model
    name: str
    context: int = 0
    output: int = 0
    prices: Prices | None = None
    warm: Callable[[], None] | None = None  # opens the connection ahead of the first request


class Gate(Protocol):
    """Where every request is judged before anything happens (law 9)."""

    def decide(self, requests: Sequence[Request], posture: Posture) -> Decision:
        """Returns the strictest verdict that any of the requests gets."""


class Asker(Protocol):
    """A person who can be asked, or nobody."""

    def ask(self, questions: Sequence[Question]) -> tuple[tuple[str, ...], ...] | None:
        """Returns the labels or words for each question; None, if nobody answered, is a no."""


class Shell(Protocol):
    """Runs command lines that only read."""

    def run(
        self, text: str, folder: bytes, limits: Limits | None = None
    ) -> Iterator[Chunk | Ended]:
        """Runs a command line in a folder; raises Refused before anything has run."""


class Fetched(msgspec.Struct, frozen=True):
    """What a server sent."""

    url: str
    status: int
    media_type: str
    content: bytes
    cut: bool = False  # there was more than the limit


class Fetch(Protocol):
    """Gets pages over HTTP: GET only, no cookies, no credentials."""

    def get(self, url: str, limit: int, allowed: Callable[[str], bool]) -> Fetched:
        """Follows redirects only to hosts that are allowed; raises Refused or Unavailable."""


class Turn(Protocol):
    """A turn while it goes on: what a driver reads of the session, says in it, has settled."""

    @property
    def record(self) -> SessionRecord: ...

    @property
    def agent(self) -> Agent:
        """The agent of the newest message."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model gets to read; the same message is the same object in every step."""

    @property
    def over(self) -> bool:
        """Whether a call ended the turn."""

    def offers(self) -> tuple[Offer, ...]:
        """Returns the tools that the model may see in this mode, as this agent."""

    def note(self, *events: SessionEvent) -> tuple[Recorded, ...]:
        """Appends events to the session, durably, in one transaction."""

    def hold(self, *events: SessionEvent) -> None:
        """Counts events from now on, and appends them with what is noted next.

        For what directly precedes something that is noted, so that both are one wait for the disk.
        """

    def catch_up(self) -> tuple[Recorded, ...]:
        """Takes in what others said in the session meanwhile."""

    def settle(self, calls: Sequence[Call]) -> Iterator[Recorded]:
        """Settles the calls of one answer; each event comes out after it was stored."""

    def reminder(self) -> str:
        """Says what holds now, whatever was forgotten: mode, plan and digest, todos, approval."""


class Driver(Protocol):
    """Takes a turn forward until the session is at rest."""

    def drive(self, turn: Turn) -> Iterator[Recorded | Delta]:
        """Yields what was stored, and what is being said at the moment.

        Raises ModelError or Interrupted after the turn was ended in the session.
        """
