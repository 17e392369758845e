"""Which rank this process is, and where the others are. Imports no torch, so that plans are made at once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training.errors import InputError
from training.node_config import NodeConfig, cable_hints

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Placement:
    """One rank's place in the run.

    Attributes:
        rank: From 0, in ring order.
        local_rank: From 0, among the ranks of this machine.
        names: The node of each rank.
        addresses: The fabric address of each rank.
        master_port: TCP port of the store, on the first rank's address.
        threads: CPU threads of this rank; 0 leaves the number to torch.
        cables: For a neighbour's name, this node's cables to it in words.
    """

    rank: int
    local_rank: int
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    master_port: int
    threads: int = 0
    cables: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def world_size(self) -> int:
        """Ranks of the run."""
        return len(self.names)

    @property
    def address(self) -> str:
        """The address that this rank binds."""
        return self.addresses[self.rank]

    @property
    def name(self) -> str:
        """This rank's node."""
        return self.names[self.rank]


def on_the_ring(node: NodeConfig, nodes: str, fabric_plan: Path | None = None) -> Placement:
    """One rank on this node, as its configuration says.

    Args:
        node: The configuration.
        nodes: `all`, or the names of those that take part, with commas.
        fabric_plan: Where the cables are described; the usual place when None.

    Raises:
        InputError: A name is unknown, or this node is not among them.
    """
    members = node.select(nodes)
    names = tuple(member.node for member in members)
    return Placement(
        rank=names.index(node.node),
        local_rank=0,
        names=names,
        addresses=tuple(member.address for member in members),
        master_port=node.master_port,
        threads=node.threads,
        cables=cable_hints(fabric_plan) if fabric_plan else cable_hints(),
    )


def on_this_machine(count: int, master_port: int) -> list[Placement]:
    """Ranks over the loopback, with the machine's cores shared out.

    Raises:
        InputError: The count is less than 1.
    """
    if count < 1:
        raise InputError(f"--local-ranks {count}: must be at least 1.")
    threads = max(1, (os.cpu_count() or 1) // count)
    names = tuple(f"local{rank}" for rank in range(count))
    return [
        Placement(
            rank=rank,
            local_rank=rank,
            names=names,
            addresses=(LOOPBACK,) * count,
            master_port=master_port,
            threads=threads,
        )
        for rank in range(count)
    ]
