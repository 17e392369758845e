"""The shape of a cabling (ring, line, star, mesh) and the order in which its nodes are drawn. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from training.report.model import CableRow


def neighbours(cables: Sequence[CableRow]) -> dict[str, set[str]]:
    """For each node with a cable, the nodes at the other ends. A doubled cable counts once."""
    found: dict[str, set[str]] = {}
    for cable in cables:
        found.setdefault(cable["a"], set()).add(cable["b"])
        found.setdefault(cable["b"], set()).add(cable["a"])
    return found


def shape(cables: Sequence[CableRow]) -> str | None:
    """`line`, `ring`, `star`, `full mesh` or `mesh`; None without a cable.

    Three nodes in a ring are a full mesh too; people call it a ring. Two nodes are a line.
    """
    links = neighbours(cables)
    if not links:
        return None
    count = len(links)
    degrees = sorted(len(ends) for ends in links.values())
    if not _connected(links):
        return "mesh"
    if degrees == [2] * count:
        return "ring"
    if degrees == [1, 1] + [2] * (count - 2):
        return "line"
    if degrees == [1] * (count - 1) + [count - 1]:
        return "star"
    return "full mesh" if degrees == [count - 1] * count else "mesh"


def order(names: Sequence[str], cables: Sequence[CableRow]) -> list[str]:
    """The nodes with a cable, so that cable neighbours stand side by side.

    A line begins at an end, a star at its hub, anything else at the first node of `names`.
    """
    links = neighbours(cables)
    present = [name for name in names if name in links]
    if not present:
        return []
    kind = shape(cables)
    if kind == "star":
        hub = max(present, key=lambda name: len(links[name]))
        return [hub] + [name for name in present if name != hub]
    ends = [name for name in present if len(links[name]) == 1]
    walk = [ends[0] if kind == "line" else present[0]]
    while len(walk) < len(present):
        near = [name for name in present if name in links[walk[-1]] and name not in walk]
        rest = near or [name for name in present if name not in walk]
        walk.append(rest[0])
    return walk


def _connected(links: dict[str, set[str]]) -> bool:
    start = next(iter(links))
    seen, waiting = {start}, [start]
    while waiting:
        for name in links[waiting.pop()] - seen:
            seen.add(name)
            waiting.append(name)
    return len(seen) == len(links)
