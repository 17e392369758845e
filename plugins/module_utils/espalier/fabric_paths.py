"""Distances in a cabling. Nodes are numbers from 0, a set of nodes is an integer with one bit a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

UNREACHABLE = -1


def members(nodes: int) -> Iterator[int]:
    """The numbers of the nodes in a set, lowest first."""
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


def neighbours_of(size: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """For each of ``size`` nodes the set of its neighbours; doubled cables count once."""
    neighbours = [0] * size
    for first, second in edges:
        neighbours[first] |= 1 << second
        neighbours[second] |= 1 << first
    return neighbours


def hop_counts(neighbours: Sequence[int]) -> list[list[int]]:
    """For each node the number of cables to each other one; ``UNREACHABLE`` where there is no way."""
    return [_hops_from(start, neighbours) for start in range(len(neighbours))]


def _hops_from(start: int, neighbours: Sequence[int]) -> list[int]:
    """Breadth-first search, a whole ring of nodes at a time."""
    hops = [UNREACHABLE] * len(neighbours)
    seen = border = 1 << start
    distance = 0
    while border:
        further = 0
        for node in members(border):
            hops[node] = distance
            further |= neighbours[node]
        border = further & ~seen
        seen |= border
        distance += 1
    return hops


def parts(neighbours: Sequence[int]) -> list[list[int]]:
    """The nodes in groups that reach each other, each group and the list of groups by lowest number."""
    found = []
    left = (1 << len(neighbours)) - 1
    while left:
        hops = _hops_from((left & -left).bit_length() - 1, neighbours)
        part = [node for node, distance in enumerate(hops) if distance != UNREACHABLE]
        found.append(part)
        for node in part:
            left &= ~(1 << node)
    return found
