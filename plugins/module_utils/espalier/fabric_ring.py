"""Rank order: the order in which a ring all-reduce passes data from Mac to Mac.

Best is a ring along the cables (a Hamiltonian cycle of the cabling): each rank then sends over a cable of its
own. Where there is none, the closed order with the fewest cables between consecutive ranks.

Nodes are numbers from 0 in the order of their ids, and every order starts at 0. The answer depends on nothing
but the cabling. Exact up to ``EXACT_RING`` nodes for the ring and up to ``EXACT_HOPS`` for the fewest cables.
Beyond that, a search with a bounded number of steps (fewest ways on first, which finds the ring of most
cablings, not of every one), and then the best of two simple orders, improved by reversing stretches.
"""

from __future__ import annotations

from collections.abc import Sequence

from .fabric_paths import UNREACHABLE, members

EXACT_RING = 16
EXACT_HOPS = 12
_SEARCH_STEPS = 4000
_IMPROVEMENT_ROUNDS = 8


def rank_order(neighbours: Sequence[int], hops: Sequence[Sequence[int]]) -> list[int]:
    """The rank order.

    Args:
        neighbours: for each ranked node, the set of ranked nodes that a cable joins it with.
        hops: cables from each ranked node to each other on the way through the whole fabric;
            ``UNREACHABLE`` where there is no way.
    """
    size = len(neighbours)
    if size < 3:
        return list(range(size))
    ring = _exact_ring(neighbours) if size <= EXACT_RING else _searched_ring(neighbours)
    if ring is not None:
        return ring
    # An unreachable node is an error elsewhere; here it only has to be dearer than any way.
    cost = [[size if cables == UNREACHABLE else cables for cables in row] for row in hops]
    return _exact_fewest_hops(cost) if size <= EXACT_HOPS else _near_fewest_hops(neighbours, cost)


def total_hops(order: Sequence[int], hops: Sequence[Sequence[int]]) -> int | None:
    """Cables between consecutive ranks, summed over the closed order; None where a way is missing."""
    if len(order) < 2:
        return 0
    steps = [hops[node][order[(rank + 1) % len(order)]] for rank, node in enumerate(order)]
    return None if UNREACHABLE in steps else sum(steps)


def _exact_ring(neighbours: Sequence[int]) -> list[int] | None:
    """The first Hamiltonian cycle in alphabetical order of ids, None where there is none.

    ``can_end[visited]`` is the set of nodes from which the cycle can be completed when the nodes in
    ``visited`` have been passed; 2**n sets, each with a handful of bit operations.
    """
    size = len(neighbours)
    everything = (1 << size) - 1
    can_end = [0] * (everything + 1)
    can_end[everything] = neighbours[0]
    for visited in range(everything - 2, 0, -2):  # node 0 is always visited, so only odd numbers
        ways = 0
        for following in members(everything & ~visited):
            if can_end[visited | 1 << following] >> following & 1:
                ways |= neighbours[following]
        can_end[visited] = ways & visited
    if not can_end[1] & 1:
        return None
    order, visited = [0], 1
    while visited != everything:
        here = order[-1]
        following = next(
            node for node in members(neighbours[here] & ~visited) if can_end[visited | 1 << node] >> node & 1
        )
        order.append(following)
        visited |= 1 << following
    return order


def _searched_ring(neighbours: Sequence[int]) -> list[int] | None:
    """A Hamiltonian cycle by depth-first search, None where none was found in ``_SEARCH_STEPS`` steps.

    From each node the neighbour with the fewest free neighbours is tried first (Warnsdorff's rule).
    """
    size = len(neighbours)
    if any(bin(around).count("1") < 2 for around in neighbours):
        return None
    everything = (1 << size) - 1
    order, visited, steps = [0], 1, 0
    choices = [_ways_on(0, visited, neighbours)]
    while choices:
        if visited == everything and neighbours[order[-1]] & 1:
            return order
        if choices[-1]:
            steps += 1
            if steps > _SEARCH_STEPS:
                return None
            node = choices[-1].pop(0)
            order.append(node)
            visited |= 1 << node
            choices.append(_ways_on(node, visited, neighbours))
        else:
            choices.pop()
            visited &= ~(1 << order.pop())
    return None


def _ways_on(here: int, visited: int, neighbours: Sequence[int]) -> list[int]:
    """Free neighbours, that with the fewest free neighbours of its own first.

    Empty where the cycle cannot be closed any more: no free neighbour of node 0 is left.
    """
    free = (1 << len(neighbours)) - 1 & ~visited
    if free and not neighbours[0] & free:
        return []
    return sorted(
        members(neighbours[here] & free),
        key=lambda node: (bin(neighbours[node] & free).count("1"), node),
    )


def _exact_fewest_hops(cost: Sequence[Sequence[int]]) -> list[int]:
    """The order with the fewest cables (Held and Karp 1962); of equal ones the first by ids."""
    size = len(cost)
    everything = (1 << size) - 1
    # best[visited, here]: cables still to go until everything was visited and node 0 is reached again
    best: dict[tuple[int, int], int] = {(everything, node): cost[node][0] for node in range(1, size)}
    for visited in range(everything - 2, 0, -2):
        free = list(members(everything & ~visited))
        for here in members(visited if visited == 1 else visited & ~1):
            best[visited, here] = min(cost[here][node] + best[visited | 1 << node, node] for node in free)
    order, visited = [0], 1
    while visited != everything:
        here = order[-1]
        _, following = min(
            (cost[here][node] + best[visited | 1 << node, node], node) for node in members(everything & ~visited)
        )
        order.append(following)
        visited |= 1 << following
    return order


def _near_fewest_hops(neighbours: Sequence[int], cost: Sequence[Sequence[int]]) -> list[int]:
    """The better of a walk along the cables (best in a tree) and of going to the nearest, improved."""
    orders = [_depth_first(neighbours, cost), _nearest_first(cost)]
    return min((_improved(order, cost) for order in orders), key=lambda order: (_closed_cost(order, cost), order))


def _depth_first(neighbours: Sequence[int], cost: Sequence[Sequence[int]]) -> list[int]:
    """Nodes in the order in which a depth-first walk first meets them; parts without a cable follow."""
    order: list[int] = []
    seen = 0
    for start in sorted(range(len(cost)), key=lambda node: (cost[0][node], node)):
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if not seen >> node & 1:
                seen |= 1 << node
                order.append(node)
                waiting.extend(reversed(list(members(neighbours[node] & ~seen))))
    return order


def _nearest_first(cost: Sequence[Sequence[int]]) -> list[int]:
    order, left = [0], set(range(1, len(cost)))
    while left:
        here = order[-1]
        following = min(left, key=lambda node: (cost[here][node], node))
        order.append(following)
        left.remove(following)
    return order


def _improved(order: list[int], cost: Sequence[Sequence[int]]) -> list[int]:
    """Reverse stretches while that saves cables (2-opt), a bounded number of rounds."""
    order = list(order)
    size = len(order)
    for _ in range(_IMPROVEMENT_ROUNDS):
        changed = False
        for first in range(1, size - 1):
            for last in range(first + 1, size):
                before, after = order[first - 1], order[(last + 1) % size]
                kept = cost[before][order[first]] + cost[order[last]][after]
                if cost[before][order[last]] + cost[order[first]][after] < kept:
                    order[first : last + 1] = reversed(order[first : last + 1])
                    changed = True
        if not changed:
            break
    return order


def _closed_cost(order: Sequence[int], cost: Sequence[Sequence[int]]) -> int:
    return sum(cost[node][order[(rank + 1) % len(order)]] for rank, node in enumerate(order))
