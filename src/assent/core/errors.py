"""Every error that Assent raises on purpose, with its code and exit code.

AssentError
├── UsageError          the request itself makes no sense
├── PlanError           the plan cannot do this now
│   ├── IllegalState        its state does not allow it
│   ├── NotFound            a plan, operation or run was not found
│   ├── InvalidPlan         text or front matter cannot be used
│   ├── NoMatch             an edit matches nothing, or several places
│   └── ImpossibleOperations operations that cannot hold together
├── ApprovalError       a valid approval is missing
│   ├── NotApproved         no approval for this digest
│   ├── Declined            the user declined, or could not be asked
│   ├── ApprovalUsed        the approval was used
│   └── Expired             the approval is too old
├── StaleError          what was seen is not what is there
│   ├── ConcurrentChange    changed by another process
│   ├── Drift               files changed since they were staged
│   ├── DigestMismatch      the digest is not the expected one
│   ├── WorkspaceMismatch   made for another workspace
│   └── PlanTextDiffers     the Markdown file is not the proposed text
├── RunUnfinished       an earlier run needs a decision
├── Refused             a path or a policy forbids it
│   ├── NotReadOnly         a command line does more than read
│   ├── CorruptFile         a file that came from elsewhere was damaged or altered
│   ├── UntrustedKey        signed with a key that is not trusted here
│   ├── NotIndependent      the author of a plan may not approve it
│   └── NotRehearsed        a plan must pass a rehearsal before it may be approved
├── Interrupted         the user stopped it
├── LimitReached        a limit or the loop guard ended the model's turn
├── SandboxRequired     a command of the model needs a sandbox, which is not available
├── Busy                another process works on this workspace
├── StoreError          the log or a blob could not be read or written
├── WorkspaceError      a file of the workspace could not be read or written
└── ModelError          a model did not answer
    ├── Unavailable         for now; asking again may help
    ├── ContextOverflow     the conversation is longer than it can read
    ├── AnswerTooLong       its answer is larger than the settings allow
    └── Unauthorized        the key is unknown, or not allowed to use it
"""

from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

STORED: Final = "Existing data is unchanged."  # true of the log, and of nothing else

SANDBOX = "sandbox"
SCRATCH_COPY = "scratch_copy"


class AssentError(Exception):
    """An error a person can do something about: what happened, and the literal next command."""

    word: ClassVar[str] = "error"
    exit: ClassVar[int] = 1

    def __init__(self, message: str, next: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next = next
        self.rows: dict[str, list[dict[str, str]]] = {}  # what else JSON has, such as a choice


class UsageError(AssentError):
    word, exit = "usage", 2


class PlanError(AssentError):
    word = "plan"


class IllegalState(PlanError):
    word = "illegal_step"


class NotFound(PlanError):
    word = "not_found"


class InvalidPlan(PlanError):
    word = "bad_plan"


class NoMatch(PlanError):
    word = "no_match"


class ImpossibleOperations(PlanError):
    word = "impossible"


class ApprovalError(AssentError):
    word, exit = "consent", 4


class NotApproved(ApprovalError):
    word, exit = "not_approved", 3


class Declined(ApprovalError):
    word = "declined"


class ApprovalUsed(ApprovalError):
    word = "spent"


class Expired(ApprovalError):
    word = "expired"


class StaleError(AssentError):
    word, exit = "stale", 5


class ConcurrentChange(StaleError):
    word = "moved"


class Drift(StaleError):
    word = "drift"


class DigestMismatch(StaleError):
    word = "other_digest"


class WorkspaceMismatch(StaleError):
    word = "other_workspace"


class PlanTextDiffers(StaleError):
    word = "live_differs"


class RunUnfinished(AssentError):
    word, exit = "needs_you", 6


RUN_WAITS = "A run stopped and is waiting for your decision."  # what a RunUnfinished says


class Refused(AssentError):
    word, exit = "refused", 7
    lacks = ""  # what is missing on this machine for it


def without_sandbox(message: str, next: str = "") -> Refused:
    """Returns the refusal of a command that only a sandbox could run."""
    refused = Refused(message, next)
    refused.lacks = SANDBOX
    return refused


def without_scratch_copy(message: str, next: str = "") -> Refused:
    """Returns the refusal of what needs a scratch copy, where none is possible."""
    refused = Refused(message, next)
    refused.lacks = SCRATCH_COPY
    return refused


class NotReadOnly(Refused):
    word = "may_write"


class CorruptFile(Refused):
    word = "damaged"


class UntrustedKey(Refused):
    word = "untrusted"


class NotIndependent(Refused):
    word = "not_independent"


class NotRehearsed(Refused):
    word = "not_rehearsed"


class Interrupted(AssentError):
    word, exit = "interrupted", 130


class LimitReached(AssentError):
    word = "limit"


class SandboxRequired(AssentError):
    word = "not_run"


class Busy(AssentError):
    word = "busy"


class StoreError(AssentError):
    word = "store"


class WorkspaceError(AssentError):
    word = "workspace"


class ModelError(AssentError):
    word = "model"


class Unavailable(ModelError):
    """`after` is the number of seconds that the server asked for; negative if it did not."""

    word = "unavailable"

    def __init__(self, message: str, next: str = "", after: float = -1) -> None:
        super().__init__(message, next)
        self.after = after


class ContextOverflow(ModelError):
    word = "overflow"


class AnswerTooLong(ModelError):
    word = "answer_too_long"


class Unauthorized(ModelError):
    word = "unauthorized"


# Which known word a person probably meant by one that is not known.


MAX_SUGGESTED: Final = 3  # words that are equally near
_LETTERS_PER_TYPO: Final = 3  # of the longer word; a word with more typos is another word


def nearest(word: str, known: "Iterable[str]") -> str:
    """Returns the known word that a person probably meant by another; empty if none is like it.

    One is like it that differs in few letters for its length, that it begins, or that ends with it
    as the last part of a dotted key.
    """
    return next(iter(_near(word, known)), "")


def _near(word: str, known: "Iterable[str]") -> list[str]:
    """Returns the nearest known word, and those that differ by as many typos, the shortest first.

    Of words that it begins or ends, only the shortest is returned.
    """
    typed = _compared(word)

    def rank(one: str) -> tuple[float, bool, int, str]:
        other = _compared(one)
        # Letters that changed places are likelier than one too many or too few.
        return _difference(typed, other), sorted(typed) != sorted(other), len(one), one

    ranked = sorted(map(rank, dict.fromkeys(known)))
    if not ranked or ranked[0][0] > 1:
        return []
    best = ranked[0]
    alike = [each[-1] for each in ranked if each[:2] == best[:2]]
    return alike if best[0] < 1 else alike[:1]


def _compared(word: str) -> str:
    """Returns what tells two words apart: not their case, nor the dashes of an option."""
    return word.casefold().strip().lstrip("-")


def _difference(word: str, other: str) -> float:
    """Returns how different two words are: 0 if not at all, more than 1 if too much."""
    allowed = max(len(word), len(other)) // _LETTERS_PER_TYPO
    if abs(len(word) - len(other)) <= allowed:
        typos = _typos(word, other)
        if typos <= allowed:
            return typos / (allowed + 1)
    part = other.startswith(word) or other.endswith(f".{word}")
    return 1 if part and len(word) >= _LETTERS_PER_TYPO else 2


def _typos(word: str, other: str) -> int:
    """Counts letters to add, to remove, to replace or to swap with the next: one becomes another.

    Of two letters that changed places, as fingers do most often, it counts one typo and not two.
    """
    earlier: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, wanted in enumerate(other, 1):
            best = min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
        earlier, above = above, row
    return above[-1]


def meant(word: str, known: "Iterable[str]") -> str:
    """Returns the end of a message that suggests the nearest word; empty if none is near.

    It names those that are equally near, too, as long as they are few.
    """
    *others, last = _near(word, known)[:MAX_SUGGESTED] or [""]
    near = f"{', '.join(others)} or {last}" if others else last
    return f" Did you mean {near}?" if near else ""
