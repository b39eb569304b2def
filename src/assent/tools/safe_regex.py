"""Safe regular expressions: only those of a model that Python can run in bounded time."""

import re
from math import factorial

from assent.core.errors import UsageError

STEPS = 20_000_000  # that one line may take, about a second
MIN_REACH = 100  # characters; an expression that reaches no further is of no use
MAX_SMALL_REPEAT = 8  # a repeat up to so often only multiplies the ways

_TOKEN = (
    r"(?s)\\(?P<escaped>.)"
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|\((?P<opens>\?(?:[:=!]|<[=!]|P?<\w+>))?"
    r"|\{(?P<least>\d*)(?P<range>,?)(?P<most>\d*)\}"
    r"|."
)


def compile_regex(pattern: str, *, literal: bool = False) -> tuple[re.Pattern[str], int]:
    """Returns the expression, and how far it may look into a line; refuses what might not end."""
    if literal:
        return re.compile(re.escape(pattern)), STEPS
    far = regex_reach(pattern)
    if not far:
        raise UsageError(
            "This expression could take very long where ripgrep cannot run. "
            "Use `literal`, or one with fewer repeats."
        )
    try:
        return re.compile(pattern), far
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{pattern!a} is no regular expression: {error}.") from None


def regex_reach(pattern: str) -> int:
    """Returns how many characters of a line an expression can be let loose on; 0 if on none.

    What explodes has a repeat or a choice inside a repeat. All else takes as many steps as the line
    has characters, once more for each repeat, in each of the ways that its choices leave.
    """
    scan = _RegexScan()
    tokens = re.finditer(_TOKEN, pattern.removeprefix("(?i)"))
    if not all(scan.take(token) for token in tokens) or scan.depth:
        return 0
    power = scan.repeats + 1
    far = int((STEPS * factorial(power) / scan.ways) ** (1 / power))
    return far if far >= MIN_REACH else 0


class _RegexScan:
    """Goes over an expression once and remembers what each open group holds."""

    def __init__(self) -> None:
        self._manifold = [False]  # whether a group holds a repeat or a choice
        self._closed = False  # whether the last atom is a group that does
        self.repeats = 0
        self.ways = 1  # in which the rest can match

    @property
    def depth(self) -> int:
        return len(self._manifold) - 1

    def take(self, token: re.Match[str]) -> bool:
        """Takes one token; False if the expression may explode."""
        sign = token[0]
        if sign in ("*", "+", "?") or (token["range"] is not None and sign != "{}"):
            return self._repeat(token)
        self._closed = False
        if sign[0] == "(":
            self._manifold.append(False)
            return sign != "(" or not token.string.startswith("?", token.end())
        if sign == ")":
            return self._close()
        if sign == "|":
            return self._choose(2)
        return not (token["escaped"] or "").isdecimal()  # a reference back

    def _close(self) -> bool:
        if not self.depth:
            return False
        self._closed = self._manifold.pop()
        self._manifold[-1] |= self._closed
        return True

    def _repeat(self, token: re.Match[str]) -> bool:
        most = _most(token)
        if most == 1:
            return self._choose(2)
        if self._closed:
            return False
        self.repeats += most > MAX_SMALL_REPEAT
        return self._choose(1 if most > MAX_SMALL_REPEAT else most)

    def _choose(self, ways: int) -> bool:
        self._manifold[-1] = True
        self.ways = min(self.ways * ways, STEPS)
        return True


def _most(token: re.Match[str]) -> int:
    """Returns how often the atom before may come; all that is more than a few is as good as one."""
    if token[0] == "?":
        return 1
    if token["range"] is None or (token["range"] and not token["most"]):
        return MAX_SMALL_REPEAT + 1
    return max(2, int((token["most"] or token["least"])[:6]))
