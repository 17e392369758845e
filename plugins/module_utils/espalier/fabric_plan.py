"""The fabric plan: from declared nodes and cables to every address, distance and the rank order.

Pure and total: no input makes it raise. What cannot be built is left out of the plan and named in its
findings. The plan knows ports, not devices: which ``en`` device a port is, each machine says for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .fabric_cabling import check_cables, check_nodes
from .fabric_finding import Finding, error, named
from .fabric_inputs import BabelOptions, Cable, Node, Settings
from .fabric_paths import UNREACHABLE, hop_counts, neighbours_of, parts
from .fabric_range import LINK_NETMASK, FabricRange, management_findings, parse_range
from .fabric_ring import rank_order, total_hops


@dataclass(frozen=True)
class Link:
    """One end of a cable, as the node at that end sees it."""

    port: int
    address: str
    netmask: str
    network: str
    peer: str
    peer_port: int
    peer_address: str


@dataclass(frozen=True)
class NodePlan:
    """One node: its fabric address (a /32 on the loopback) and its cables, by port."""

    name: str
    node_id: int
    address: str
    trains: bool
    links: tuple[Link, ...]


@dataclass(frozen=True)
class CablePlan:
    """One cable with its addresses, its ends as they were declared."""

    a: str
    a_port: int
    a_address: str
    b: str
    b_port: int
    b_address: str
    network: str


@dataclass(frozen=True)
class FabricPlan:
    """The whole fabric.

    Attributes:
        range: the /16, as it was declared.
        babel: timing of the routing daemon.
        nodes: every node that can be built, by node id.
        cables: every cable that can be built, as they were declared.
        hops: for each node, cables to every node that it reaches (0 to itself).
        ring: names of the nodes that train, in rank order.
        ring_is_cabled: whether each rank has a cable to the next one, and the last to the first.
        ring_hops: cables between consecutive ranks, summed; None where a way is missing.
        findings: what is wrong.
    """

    range: str
    babel: BabelOptions
    nodes: tuple[NodePlan, ...]
    cables: tuple[CablePlan, ...]
    hops: dict[str, dict[str, int]]
    ring: tuple[str, ...]
    ring_is_cabled: bool
    ring_hops: int | None
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values; ``nodes`` becomes a dictionary by name, each with its ``node_part``."""
        plain = asdict(self)
        plain["findings"] = [finding.to_dict() for finding in self.findings]
        plain["cables"] = [asdict(cable) for cable in self.cables]
        plain["ring"] = list(self.ring)
        plain["nodes"] = {node.name: node_part(self, node.name) for node in self.nodes}
        return plain


def plan_fabric(nodes: Sequence[Node], cables: Sequence[Cable], settings: Settings | None = None) -> FabricPlan:
    """Plan a fabric.

    Args:
        nodes: the nodes, each name once; the order does not matter but for which of two nodes keeps an id.
        cables: the cables.
        settings: range and routing options; without it, the defaults.
    """
    settings = settings or Settings()
    fabric, findings = parse_range(settings.range)
    if fabric is not None:
        findings += management_findings(fabric, nodes)
    with_id, found = check_nodes(nodes)
    findings += found
    good_cables, found = check_cables(nodes, cables)
    findings += found
    findings += _joint_findings(nodes, cables)
    if fabric is None:
        with_id = []
    built = sorted(with_id, key=lambda node: node.node_id or 0)
    ids = {node.name: node.node_id or 0 for node in built}
    good_cables = [cable for cable in good_cables if cable.a in ids and cable.b in ids]
    cable_plans = [_plan_cable(fabric, ids, cable) for cable in good_cables] if fabric else []
    node_plans = [_plan_node(fabric, node, cable_plans) for node in built] if fabric else []
    return _plan_ways(settings, node_plans, cable_plans, findings)


def node_part(plan: FabricPlan, name: str) -> dict[str, Any]:
    """One node's part of the plan as plain values: what it needs to set itself up, and no more.

    Raises:
        KeyError: the plan has no such node.
    """
    node = next((node for node in plan.nodes if node.name == name), None)
    if node is None:
        raise KeyError(f"{name} is not in the fabric plan; it has {named(node.name for node in plan.nodes)}.")
    addresses = {other.name: other.address for other in plan.nodes}
    return {
        "node": name,
        "node_id": node.node_id,
        "address": node.address,
        "range": plan.range,
        "trains": node.trains,
        "links": [asdict(link) for link in node.links],
        "peers": [
            {"node": other, "address": addresses[other], "hops": hops}
            for other, hops in plan.hops[name].items()
            if other != name
        ],
        "ring": [{"node": other, "address": addresses[other]} for other in plan.ring],
        "babel": asdict(plan.babel),
    }


def _joint_findings(nodes: Sequence[Node], cables: Sequence[Cable]) -> list[Finding]:
    """Nodes without a cable, and a fabric in parts.

    A cable counts here as soon as both ends are known: a wrong port is named once, and not also as the two
    parts that the fabric would have without that cable. While an end is unknown, or the same as the other,
    nothing is said: it may be the very one that is missing.
    """
    numbers = {node.name: number for number, node in enumerate(nodes)}
    if any(cable.a not in numbers or cable.b not in numbers or cable.a == cable.b for cable in cables):
        return []
    findings = []
    neighbours = neighbours_of(len(nodes), [(numbers[cable.a], numbers[cable.b]) for cable in cables])
    if sum(node.trains for node in nodes) > 1:
        for number, node in enumerate(nodes):
            if node.trains and not neighbours[number]:
                message = "no cable of thunderbolt_cables goes to it, so it cannot train with the others."
                fix = f"Declare its cable, or take {node.name} out of the group macs."
                findings.append(error("node-without-cable", f"host {node.name}", message, fix))
    groups = [[nodes[number].name for number in part] for part in parts(neighbours) if len(part) > 1]
    if len(groups) > 1:
        listed = "; ".join(named(sorted(group)) for group in groups)
        message = f"the cables make {len(groups)} parts that do not reach each other: {listed}."
        findings.append(error("fabric-parts", "thunderbolt_cables", message, "Declare the cable that joins them."))
    return findings


def _plan_cable(fabric: FabricRange, ids: dict[str, int], cable: Cable) -> CablePlan:
    a_is_low = ids[cable.a] < ids[cable.b]
    low_id, low_port = (ids[cable.a], cable.a_port) if a_is_low else (ids[cable.b], cable.b_port)
    network, low, high = fabric.link(low_id, low_port)
    a_address, b_address = (low, high) if a_is_low else (high, low)
    return CablePlan(cable.a, cable.a_port, a_address, cable.b, cable.b_port, b_address, network)


def _plan_node(fabric: FabricRange, node: Node, cables: Sequence[CablePlan]) -> NodePlan:
    links = []
    for cable in cables:
        a_end, b_end = (cable.a, cable.a_port, cable.a_address), (cable.b, cable.b_port, cable.b_address)
        for (name, port, address), (peer, peer_port, peer_address) in ((a_end, b_end), (b_end, a_end)):
            if name == node.name:
                links.append(Link(port, address, LINK_NETMASK, cable.network, peer, peer_port, peer_address))
    node_id = node.node_id or 0
    links.sort(key=lambda link: link.port)
    return NodePlan(node.name, node_id, fabric.node_address(node_id), node.trains, tuple(links))


def _plan_ways(
    settings: Settings, nodes: Sequence[NodePlan], cables: Sequence[CablePlan], findings: Sequence[Finding]
) -> FabricPlan:
    """Distances and rank order, and the plan as a whole."""
    names = [node.name for node in nodes]
    numbers = {name: number for number, name in enumerate(names)}
    neighbours = neighbours_of(len(names), [(numbers[cable.a], numbers[cable.b]) for cable in cables])
    hops = hop_counts(neighbours)
    ranked = [number for number, node in enumerate(nodes) if node.trains]
    ranked_hops = [[hops[row][column] for column in ranked] for row in ranked]
    ranked_neighbours = [
        sum(1 << column for column, other in enumerate(ranked) if neighbours[row] >> other & 1) for row in ranked
    ]
    order = rank_order(ranked_neighbours, ranked_hops)
    ring_hops = total_hops(order, ranked_hops)
    return FabricPlan(
        range=settings.range,
        babel=settings.babel,
        nodes=tuple(nodes),
        cables=tuple(cables),
        hops={
            name: {
                names[other]: cables_between
                for other, cables_between in enumerate(hops[number])
                if cables_between != UNREACHABLE
            }
            for number, name in enumerate(names)
        },
        ring=tuple(names[ranked[number]] for number in order),
        ring_is_cabled=len(order) > 1 and ring_hops == len(order),
        ring_hops=ring_hops,
        findings=tuple(findings),
    )
