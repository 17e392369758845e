"""Who takes part in a run, in which order."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def choose_ring(ring: Sequence[str], wanted: str, reachable: Sequence[str]) -> list[str]:
    """The chosen nodes in rank order.

    Args:
        ring: all nodes in rank order, as the node's configuration has them.
        wanted: `all`, or names with commas.
        reachable: hosts that this run of Ansible covers (--limit may leave some out).

    Raises:
        ValueError: a name is not in the ring, none is chosen, or a chosen node is not covered.
    """
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise ValueError("training_nodes is empty: say all, or names with commas, such as mac1,mac2.")
    chosen = list(ring) if names == ["all"] else [name for name in ring if name in names]
    for name in names:
        if name not in ring and names != ["all"]:
            near = difflib.get_close_matches(name, ring, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f"training_nodes: {name} is not in the ring ({', '.join(ring)}).{hint}")
    missing = [name for name in chosen if name not in reachable]
    if missing:
        raise ValueError(
            f"{', '.join(missing)} would take part, but this run leaves it out (--limit, or another "
            "inventory than "
            "site.yml was run with): name the others in training_nodes, or run site.yml again."
        )
    return chosen
