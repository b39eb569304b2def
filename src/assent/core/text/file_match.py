"""File matching: which paths a few typed letters mean, best match first."""

import re
from collections.abc import Iterable
from heapq import nsmallest
from typing import Final

from assent.core.paths import TREE

_OWN: Final = f"{TREE.decode()}/"
_EDGES: Final = "/._- "
SCATTERED_RANK: Final = 4  # the rank from which on letters do not stand together
CLOSER: Final = 2_000  # names with letters apart that are looked at closer, the shortest


def matching_paths(query: str, names: Iterable[str], most: int) -> list[str]:
    """Returns the paths that match a query, best match first; Assent's own files come last.

    A path matches if it has the letters of the query in order.
    """
    if not query:
        return nsmallest(most, names, key=lambda name: (is_own(name), _depth(name)))
    wanted = query.casefold()
    # What lies between two letters is never given back, so that a look takes one pass.
    pattern = re.compile("".join([f"[^{letter}]*+{letter}" for letter in map(re.escape, wanted)]))
    meant = [(name, folded) for name in names if pattern.match(folded := name.casefold())]
    ranked = [
        (is_own(name), _rank(wanted, folded), len(name), name)
        for name, folded in meant
        if wanted in folded
    ]
    if len(ranked) < most:
        apart = [pair for pair in meant if wanted not in pair[1]]
        few = nsmallest(CLOSER, apart, key=lambda pair: len(pair[0]))
        ranked += [
            (is_own(name), SCATTERED_RANK + _gaps(wanted, folded), len(name), name)
            for name, folded in few
        ]
    return [name for *_, name in nsmallest(most, ranked)]


def is_own(name: str) -> bool:
    """Tells whether a path is in the folder where Assent keeps plans and settings of a project."""
    return name.startswith(_OWN)


def is_subsequence(word: str, text: str) -> bool:
    """Tells whether a text contains the letters of a word in order."""
    letters = iter(text)
    return all(letter in letters for letter in word)


def _rank(wanted: str, name: str) -> int:
    """Returns the distance of a name from the query; 0: the file's name begins with it."""
    last = name.rpartition("/")[2]
    if last.startswith(wanted):
        return 0
    if name.startswith(wanted):
        return 1
    return 2 if wanted in last else SCATTERED_RANK - 1


def _gaps(wanted: str, name: str) -> int:
    """Counts the gaps between the letters of a query, except at the start of a word."""
    last = name.rpartition("/")[2]
    name = last if is_subsequence(wanted, last) else name
    gaps, at = 0, -1
    for letter in wanted:
        found = name.find(letter, at + 1)
        starts = found > 0 and name[found - 1] in _EDGES
        gaps += found != at + 1 and not starts
        at = found
    return gaps


def _depth(name: str) -> tuple[int, str]:
    return name.count("/"), name
