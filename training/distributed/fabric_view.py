"""Who is at the other end: names, addresses and cables of the ranks, for messages that name the fault."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# gloo writes the peer as [10.77.0.2]:50412 or 10.77.0.2:50412.
_ADDRESS = re.compile(r"\[?(\d{1,3}(?:\.\d{1,3}){3})\]?:\d+")


@dataclass(frozen=True)
class FabricView:
    """The ranks of the world as this rank sees them.

    Attributes:
        address: The address that this rank binds; empty lets gloo choose.
        names: The node of each rank.
        addresses: The fabric address of each rank, empty strings where ranks share a machine.
        cables: For a neighbour's name, this node's cables to it in words.
    """

    address: str = ""
    names: Sequence[str] = ()
    addresses: Sequence[str] = ()
    cables: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def name(self, rank: int) -> str:
        """A rank as a person knows it, such as `rank 1 (mac2)`."""
        return f"rank {rank} ({self.names[rank]})" if rank < len(self.names) else f"rank {rank}"

    def cables_to(self, rank: int) -> str:
        """The cables to that rank's node, or an empty string where none is direct or known."""
        if rank >= len(self.names):
            return ""
        return "; ".join(self.cables.get(self.names[rank], ()))

    def rank_in(self, message: str) -> int | None:
        """The rank whose address a message of gloo mentions, when exactly one can be meant."""
        found = {
            self.addresses.index(address)
            for address in _ADDRESS.findall(message)
            if self.addresses.count(address) == 1 and address != self.address
        }
        return found.pop() if len(found) == 1 else None
