"""Line diff: which lines of two texts differ, in bounded time, and which lines a diff adds."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress, count
from math import isqrt
from operator import ne
from typing import Final, TypeAlias

LineChange: TypeAlias = tuple[
    int, int, int, int
]  # lines i:j of the old text become lines k:l of the new
LinePairs: TypeAlias = list[tuple[int, int]]
LineBlock: TypeAlias = tuple[int, int, int, int]

# Steps to spend on a finer answer. When they are used up, the remaining lines count as replaced.
WORK: Final = 2_000_000
DEPTH: Final = 128  # of one search; its cost grows with the square


def line_changes(old: Sequence[bytes], new: Sequence[bytes]) -> list[LineChange]:
    """Returns what to replace in `old`, in order, to get `new`."""
    head, old_end, new_end = _trimmed(old, new)
    if head in (old_end, new_end):
        return [(head, old_end, head, new_end)] if old_end != new_end else []
    if old_end - head == new_end - head == 1:
        return [(head, old_end, head, new_end)]
    found: list[LineChange] = []
    i, k = head, head
    for a, b in [*_kept(old[head:old_end], new[head:new_end]), (old_end - head, new_end - head)]:
        if (i, k) != (head + a, head + b):
            found.append((i, head + a, k, head + b))
        i, k = head + a + 1, head + b + 1
    return found


def _trimmed(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int, int]:
    """Returns where the texts begin to differ and where in each of them they are alike again."""
    most = min(len(old), len(new))
    head = _alike(old, new, most)
    tail = min(_alike(reversed(old), reversed(new), most), most - head)
    return head, len(old) - tail, len(new) - tail


def _alike(old: Iterable[bytes], new: Iterable[bytes], most: int) -> int:
    """Counts the equal lines up to the first pair that differs, as fast as Python can."""
    return next(compress(count(), map(ne, old, new)), most)


def _kept(old: Sequence[bytes], new: Sequence[bytes]) -> LinePairs:
    """Pairs the lines that stay. One that the other text lacks cannot, and costs no search."""
    shared = set(old) & set(new)
    if not shared:
        return []
    in_old = [n for n, line in enumerate(old) if line in shared]
    in_new = [n for n, line in enumerate(new) if line in shared]
    pairs = _pairs([old[n] for n in in_old], [new[n] for n in in_new])
    return [(in_old[a], in_new[b]) for a, b in pairs]


def _pairs(old: list[bytes], new: list[bytes]) -> LinePairs:
    """Pairs equal lines block by block: equal ends first, then unique lines, then a search."""
    pairs: LinePairs = []
    work = WORK + 4 * (len(old) + len(new))
    blocks: list[LineBlock] = [(0, len(old), 0, len(new))]
    while blocks:
        i, j, k, m = _matched_ends(old, new, blocks.pop(), pairs)
        work -= j - i + m - k
        if i == j or k == m or work < 0:
            continue
        anchors = _anchors(old, new, (i, j, k, m))
        if anchors:
            blocks += _between(anchors, (i, j, k, m))
            pairs += anchors
            continue
        depth = min(DEPTH, isqrt(work))
        found, a, b = _shortest(old[i:j], new[k:m], depth)
        work -= min(depth, a + b - 2 * len(found)) ** 2
        pairs += [(i + n, k + o) for n, o in found]
        blocks.append((i + a, j, k + b, m))
    return sorted(pairs)


def _matched_ends(
    old: list[bytes], new: list[bytes], block: LineBlock, pairs: LinePairs
) -> LineBlock:
    """Pairs the equal lines at both ends of a block and returns the rest of it."""
    i, j, k, m = block
    while i < j and k < m and old[i] == new[k]:
        pairs.append((i, k))
        i, k = i + 1, k + 1
    while i < j and k < m and old[j - 1] == new[m - 1]:
        j, m = j - 1, m - 1
        pairs.append((j, m))
    return i, j, k, m


def _anchors(old: list[bytes], new: list[bytes], block: LineBlock) -> LinePairs:
    """Pairs lines that stand once on each side, as many as keep their order."""
    i, j, k, m = block
    once_in_new = _once(new, k, m)
    both = [(a, once_in_new[line]) for line, a in _once(old, i, j).items() if line in once_in_new]
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for n, (_, b) in enumerate(both):
        pile = bisect_left(tops, b)
        before.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [b]
        piles[pile : pile + 1] = [n]
    chain: LinePairs = []
    at = piles[-1] if piles else -1
    while at >= 0:
        chain.append(both[at])
        at = before[at]
    return chain[::-1]


def _once(lines: list[bytes], low: int, high: int) -> dict[bytes, int]:
    seen: dict[bytes, int] = {}
    for n in range(low, high):
        seen[lines[n]] = -1 if lines[n] in seen else n
    return {line: n for line, n in seen.items() if n >= 0}


def _between(anchors: LinePairs, block: LineBlock) -> list[LineBlock]:
    i, j, k, m = block
    starts = [(i, k), *((a + 1, b + 1) for a, b in anchors)]
    return [
        (a, c, b, d)
        for (a, b), (c, d) in zip(starts, [*anchors, (j, m)], strict=True)
        if a < c and b < d
    ]


def _shortest(old: list[bytes], new: list[bytes], depth: int) -> tuple[LinePairs, int, int]:
    """Searches greedily, as Myers did, for the fewest edits; stops on its way after `depth`.

    Returns the lines kept and how far it came in each text.
    """
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(depth + 1):
        trail.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            a = _step(reach, diagonal, edits)
            b = a - diagonal
            while a < len(old) and b < len(new) and old[a] == new[b]:
                a, b = a + 1, b + 1
            reach[diagonal] = a
            if a >= len(old) and b >= len(new):
                return _walked_back(trail, len(old), len(new)), len(old), len(new)
    ends = [
        (reach[diagonal], reach[diagonal] - diagonal) for diagonal in range(-depth, depth + 1, 2)
    ]
    a, b = max([end for end in ends if end[0] <= len(old) and end[1] <= len(new)], key=sum)
    return _walked_back(trail, a, b), a, b


def _step(reach: dict[int, int], diagonal: int, edits: int) -> int:
    if diagonal == -edits:
        return reach[diagonal + 1]
    if diagonal == edits or reach[diagonal - 1] >= reach[diagonal + 1]:
        return reach[diagonal - 1] + 1
    return reach[diagonal + 1]


def _walked_back(trail: list[dict[int, int]], a: int, b: int) -> LinePairs:
    pairs: LinePairs = []
    for edits in range(len(trail) - 1, -1, -1):
        diagonal = a - b
        start = _step(trail[edits], diagonal, edits)
        while a > start and b > start - diagonal:
            a, b = a - 1, b - 1
            pairs.append((a, b))
        down = diagonal == -edits or start == trail[edits].get(diagonal + 1)
        a, b = (start, start - diagonal - 1) if down else (start - 1, start - diagonal)
    return pairs


# The lines that a diff adds to a file: their text and their numbers.


_FILE_HEADER = "\ndiff --git "
_NOT_ADDED = ("\n-", "\n ", "\n\\", "\n@")  # starts of lines that are not added
_HUNK = r"@@ -[\d,]+ \+(\d+)"


def added_text(diff: str) -> str:
    """Returns the added lines of an operation's diff."""
    body = _hunk_text(diff)
    lines = body.partition("\n")[2]
    if lines.startswith("+") and not any(sign in lines for sign in _NOT_ADDED):
        return lines[1:].replace("\n+", "\n")  # all of a new file
    _, *added = body.split("\n+")  # it begins with a header
    return "".join([line.partition("\n")[0] + "\n" for line in added])


def added_numbers(diff: str) -> list[int]:
    """Returns which lines of the new file were added, counted from 1."""
    numbers: list[int] = []
    number = 0
    for line in _hunk_text(diff).split("\n"):
        header = re.match(_HUNK, line)
        if header:
            number = int(header[1])
        elif line[:1] in ("+", " "):
            numbers += [number] if line[0] == "+" else []
            number += 1
    return numbers


def _hunk_text(diff: str) -> str:
    """Returns the hunks. A file that becomes a link, or the reverse, has two parts: the first only
    removes. Content has a sign before it and so can look like no header.
    """
    part = diff.rpartition(_FILE_HEADER)[2]
    start = part.find("\n@@ ")
    return part[start + 1 :] if start >= 0 else ""
