"""Edge colouring: the fewest access groups in which no two lanes want one bank.

Every element that moves is an edge between a bank slot of its source and one of its destination.
A set of elements without a conflict in either phase is a matching, so the fewest groups are the
edge colours of this bipartite multigraph: exactly its largest degree (Koenig, 1916).

The method: fill up to a regular graph, then halve it along Euler circuits while the degree is even,
and take out one perfect matching where it is odd. All halves of one level are cut at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Edges = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Elements split into access groups.

    Attributes:
        group: The group of every element, int64 ``[element]``, from 0.
        count: Number of groups.
        read_degree: Most elements that share one source slot: no fewer passes can read them.
        write_degree: The same for the destination.
    """

    group: Edges
    count: int
    read_degree: int
    write_degree: int

    @property
    def bound(self) -> int:
        """Passes that the busier phase needs in any order."""
        return max(self.read_degree, self.write_degree)


def group_elements(source: Edges, target: Edges, slots: int) -> Grouping:
    """Split elements into groups that reach the bound of the busier phase.

    Where both sides have the same largest degree, no group has a conflict. Where they differ, the
    lighter side has none, and the heavier side's passes add up to its own bound: that beats groups
    without any conflict, for which both phases would pay.

    Args:
        source: Source slot of every element, ``[element]``, 0 to ``slots - 1``.
        target: Destination slot, likewise.
        slots: Bank slots: 32 for elements up to 4 bytes, 16 for 8, 8 for 16.

    Example:
        >>> grouping = group_elements(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2)
        >>> grouping.count, grouping.group.tolist()
        (2, [0, 1, 1, 0])
    """
    read = int(np.bincount(source, minlength=slots).max())
    write = int(np.bincount(target, minlength=slots).max())
    light, heavy = min(read, write), max(read, write)
    # Of the numbers of groups that share the heavy side's passes out evenly, the smallest.
    count = next(n for n in range(light, heavy + 1) if heavy % n == 0)
    if count < read:
        source = _split_vertices(source, count)
    if count < write:
        target = _split_vertices(target, count)
    group = colour_edges(source, target, count)
    if light < count:
        group, count = _merged(group, target if read > write else source, count)
    return Grouping(group, count, read, write)


def _merged(group: Edges, ends: Edges, count: int) -> tuple[Edges, int]:
    """Join groups that share no slot on the lighter side, each to the first that fits.

    The heavier side's passes stay within the sum of what they were.
    """
    masks = [0] * count
    for number in range(count):
        for end in ends[group == number].tolist():
            masks[number] |= 1 << end
    joined: list[int] = []
    name = np.empty(count, dtype=np.int64)
    for number in sorted(range(count), key=lambda n: -masks[n].bit_count()):
        fits = next((at for at, mask in enumerate(joined) if not mask & masks[number]), None)
        if fits is None:
            fits = len(joined)
            joined.append(0)
        joined[fits] |= masks[number]
        name[number] = fits
    return np.asarray(name[group], dtype=np.int64), len(joined)


def _split_vertices(ends: Edges, degree: int) -> Edges:
    """Give each vertex as many copies as needed for no copy to have more than ``degree`` edges."""
    order = np.argsort(ends, kind="stable")
    ordered = ends[order]
    first = np.searchsorted(ordered, ordered)
    copy = (np.arange(len(ends)) - first) // degree
    _, ids = np.unique(np.stack([ordered, copy]), axis=1, return_inverse=True)
    split = np.empty_like(ends)
    split[order] = ids.reshape(-1)
    return split


def colour_edges(left: Edges, right: Edges, degree: int) -> Edges:
    """Colour the edges of a bipartite multigraph so that no two of a colour share an end.

    Args:
        left: Left end of every edge.
        right: Right end of every edge.
        degree: Number of colours; no vertex may have more edges.

    Returns:
        The colour of every edge, 0 to ``degree - 1``.

    Example:
        >>> colour_edges(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
        [0, 1, 0]
    """
    vertices = int(max(left.max(), right.max())) + 1
    full_left, full_right = _regular(left, right, vertices, degree)
    colours = np.zeros(len(full_left), dtype=np.int64)
    alive = np.arange(len(full_left))
    part = np.zeros(len(full_left), dtype=np.int64)
    parts, used = 1, 0
    while degree > 1:
        if degree % 2:
            taken = _matchings(full_left[alive], full_right[alive], part, parts, vertices)
            colours[alive[taken]] = used + part[taken]
            used += parts
            keep = np.ones(len(alive), dtype=bool)
            keep[taken] = False
            alive, part = alive[keep], part[keep]
            degree -= 1
        half = _halved(full_left[alive], full_right[alive], part, vertices)
        part = 2 * part + half
        parts, degree = 2 * parts, degree // 2
    colours[alive] = used + part
    return colours[: len(left)]


def _regular(left: Edges, right: Edges, vertices: int, degree: int) -> tuple[Edges, Edges]:
    """Add edges, behind the given ones, until every vertex has ``degree``."""
    missing_left = degree - np.bincount(left, minlength=vertices)
    missing_right = degree - np.bincount(right, minlength=vertices)
    if not missing_left.any():
        return left, right
    names = np.arange(vertices)
    return (
        np.concatenate([left, np.repeat(names, missing_left)]),
        np.concatenate([right, np.repeat(names, missing_right)]),
    )


def _halved(left: Edges, right: Edges, part: Edges, vertices: int) -> Edges:
    """Return 0 or 1 per edge: each vertex of each part has as many of one as of the other.

    Pair the edges at every left vertex, and those at every right vertex. The two pairings form
    circuits of even length; along each, edges alternate.
    """
    by_left = _partners(part * vertices + left)
    by_right = _partners(part * vertices + right)
    lowest = np.arange(len(left))
    step = by_right[by_left]
    # The lowest edge reached by double steps names which half of its circuit an edge is in.
    for _ in range(max(len(left) // 2 - 1, 1).bit_length()):
        lowest = np.minimum(lowest, lowest[step])
        step = step[step]
    half: Edges = (lowest > lowest[by_left]).astype(np.int64)
    return half


def _partners(ends: Edges) -> Edges:
    """Pair the edges of each vertex; every vertex has an even number."""
    kind = np.uint16 if len(ends) and int(ends.max()) < 1 << 16 else np.int64
    order = np.argsort(ends.astype(kind), kind="stable")
    partner = np.empty(len(ends), dtype=np.int64)
    partner[order[0::2]] = order[1::2]
    partner[order[1::2]] = order[0::2]
    return partner


def _matchings(left: Edges, right: Edges, part: Edges, parts: int, vertices: int) -> Edges:
    """Return the edges of one perfect matching of every part, all parts regular."""
    table = np.full((parts, vertices, vertices), -1, dtype=np.int64)
    table[part, left, right] = np.arange(len(left))
    bits = (np.int64(1) << np.arange(min(vertices, 62))) if vertices <= 62 else None
    taken = []
    for edges in table:
        present = edges >= 0
        if bits is None:
            rows = [int("".join(map(str, row[::-1])), 2) for row in present.astype(int).tolist()]
        else:
            rows = (present * bits).sum(axis=1).tolist()
        chosen = perfect_matching(rows)
        taken.append(edges[chosen, np.arange(vertices)])
    return np.concatenate(taken)


def perfect_matching(rows: list[int]) -> list[int]:
    """Return the left vertex matched to every right vertex.

    Args:
        rows: Per left vertex, its neighbours as bits; the graph is regular.

    Example:
        >>> perfect_matching([0b11, 0b01])
        [1, 0]
    """
    owner = [-1] * len(rows)
    free = (1 << len(rows)) - 1
    late = []
    for vertex, row in enumerate(rows):
        open_ends = row & free
        if open_ends:
            end = (open_ends & -open_ends).bit_length() - 1
            owner[end] = vertex
            free ^= 1 << end
        else:
            late.append(vertex)
    for vertex in late:
        end = _augment(rows, owner, vertex, free)
        free ^= 1 << end
    return owner


def _augment(rows: list[int], owner: list[int], root: int, free: int) -> int:
    """Match ``root`` along a shortest alternating path; return the right vertex newly used."""
    reached_from: dict[int, int] = {}
    seen = 0
    queue = [root]
    for vertex in queue:
        fresh = rows[vertex] & ~seen
        seen |= fresh
        done = fresh & free
        if done:
            end = last = (done & -done).bit_length() - 1
            while True:
                previous = owner.index(vertex) if vertex != root else -1
                owner[end] = vertex
                if previous < 0:
                    return last
                end = previous
                vertex = reached_from[vertex]
        while fresh:
            end = (fresh & -fresh).bit_length() - 1
            fresh &= fresh - 1
            reached_from[owner[end]] = vertex
            queue.append(owner[end])
    raise ValueError("the graph is not regular")
