"""What a fabric is planned from: nodes, cables and settings, as the inventory declares them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Both limits follow from the addresses: a cable's /30 begins at 4 * port in a block of 256, and the same
# bound for nodes leaves the blocks .64.0 to .255.0 of the range free. docs/architecture.md, "Addresses".
MAX_NODE_ID = 63
MAX_PORT = 63

DEFAULT_RANGE = "10.77.0.0/16"


@dataclass(frozen=True)
class Node:
    """A machine that may have a cable.

    Attributes:
        name: its name in the inventory.
        node_id: 1 to ``MAX_NODE_ID``, fixed for the life of the node; None where nothing gives one.
        ports: number of Thunderbolt ports, None where it is not known and not checked.
        model: model identifier such as ``Mac16,11``, only for messages; None where it is not known.
        trains: whether it has a rank (a Mac); the rank order is over these nodes alone.
        management_address: the address it is set up through, None where that is a name to be resolved.
    """

    name: str
    node_id: int | None
    ports: int | None = None
    model: str | None = None
    trains: bool = True
    management_address: str | None = None


@dataclass(frozen=True)
class Cable:
    """A Thunderbolt cable: port ``a_port`` of node ``a`` to port ``b_port`` of node ``b``.

    ``number`` is its place in the declared list, counted from 1, for messages; 0 where it stands in none.
    """

    a: str
    a_port: int
    b: str
    b_port: int
    number: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """As people say it."""
        return f"{self.a} port {self.a_port} to {self.b} port {self.b_port}"


@dataclass(frozen=True)
class BabelOptions:
    """Timing of the routing daemon, in seconds.

    With these values traffic flows again about 2.4 s after a cable of a ring is cut.
    """

    hello_interval_s: float = 0.5
    update_interval_s: float = 2.0


@dataclass(frozen=True)
class Settings:
    """What holds for the whole fabric. ``range`` is a private /16 in CIDR notation."""

    range: str = DEFAULT_RANGE
    babel: BabelOptions = field(default_factory=BabelOptions)


def default_node_id(name: str) -> int | None:
    """The digits at the end of a node's name as a number (mac3: 3), None where there are none."""
    digits = re.search(r"[0-9]{1,9}$", name)
    return int(digits.group()) if digits else None


def cable_place(cable: Cable) -> str:
    """Where a cable stands, for a finding."""
    number = f"cable {cable.number} " if cable.number else ""
    return f"thunderbolt_cables, {number}({cable})"
