"""Which declared nodes and cables can be built, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .fabric_finding import Finding, counted, error, named
from .fabric_inputs import MAX_NODE_ID, MAX_PORT, Cable, Node, cable_place
from .nearest import nearest

_End = tuple[str, int]


def check_nodes(nodes: Iterable[Node]) -> tuple[list[Node], list[Finding]]:
    """The nodes that have an id of their own, and a finding for each of the others."""
    good: list[Node] = []
    findings: list[Finding] = []
    by_id: dict[int, str] = {}
    for node in nodes:
        place = f"host {node.name}"
        fix = f"Give it one from 1 to {MAX_NODE_ID} that no other node has, and never change it again."
        if node.node_id is None:
            message = "it has no thunderbolt_node_id, and its name ends in no number to take one from."
            findings.append(error("node-id-missing", place, message, fix, node.name))
        elif not 1 <= node.node_id <= MAX_NODE_ID:
            message = f"thunderbolt_node_id {node.node_id} is not within 1 to {MAX_NODE_ID}."
            findings.append(error("node-id-bounds", place, message, fix, node.name, "thunderbolt_node_id"))
        elif node.node_id in by_id:
            message = f"thunderbolt_node_id {node.node_id} belongs to {by_id[node.node_id]} already."
            findings.append(error("node-id-taken", place, message, fix, node.name, "thunderbolt_node_id"))
        else:
            by_id[node.node_id] = node.name
            good.append(node)
    return good, findings


def check_cables(nodes: Sequence[Node], cables: Sequence[Cable]) -> tuple[list[Cable], list[Finding]]:
    """The cables that can be built, and findings about the others.

    Of two cables in one port the first counts.

    Args:
        nodes: every declared node, also one without a good id.
        cables: every declared cable.
    """
    by_name = {node.name: node for node in nodes}
    taken: dict[_End, Cable] = {}
    good: list[Cable] = []
    findings: list[Finding] = []
    for cable in cables:
        found = _own_findings(cable, by_name) or _port_findings(cable, taken)
        findings.extend(found)
        if not found:
            good.append(cable)
            taken[cable.a, cable.a_port] = taken[cable.b, cable.b_port] = cable
    return good, findings


def _own_findings(cable: Cable, by_name: dict[str, Node]) -> list[Finding]:
    """What is wrong with a cable for itself."""
    place = cable_place(cable)
    if cable.a == cable.b:
        message = f"it goes from {cable.a} to itself."
        fix = "A cable joins two different machines; name the other one, or remove the cable."
        return [error("cable-self", place, message, fix)]
    findings = []
    for name, port in ((cable.a, cable.a_port), (cable.b, cable.b_port)):
        node = by_name.get(name)
        if node is None:
            guess = nearest(name, by_name)
            message = f"there is no host {name} in the group rack."
            fix = f"Did you mean {guess}?" if guess else f"Known: {named(sorted(by_name)) or 'none'}."
            findings.append(error("cable-unknown-host", place, message, fix))
        elif node.ports is not None and not 1 <= port <= node.ports:
            message = f"{name} ({node.model}) has {counted(node.ports, 'Thunderbolt port')}, and no port {port}."
            fix = f"Count its ports from 1 to {node.ports}."
            findings.append(error("port-lacking", place, message, fix))
        elif not 1 <= port <= MAX_PORT:
            message = f"port {port} of {name} is not within 1 to {MAX_PORT}."
            findings.append(error("port-bounds", place, message, "Ports are counted from 1."))
    return findings


def _port_findings(cable: Cable, taken: dict[_End, Cable]) -> list[Finding]:
    """Whether its ports are taken by an earlier cable."""
    place = cable_place(cable)
    ends = ((cable.a, cable.a_port), (cable.b, cable.b_port))
    rivals = [taken.get(end) for end in ends]
    if rivals[0] is not None and rivals[0] == rivals[1]:
        message = f"it is declared twice{f', also as cable {rivals[0].number}' if rivals[0].number else ''}."
        return [error("cable-duplicate", place, message, "Remove one of the two.")]
    findings = []
    for number, (name, port) in enumerate(ends):
        rival = rivals[number]
        if rival is not None:
            message = f"port {port} of {name} has another cable in it already: {rival}."
            fix = f"Look which cable is in port {port} of {name}, and give the other its own port."
            findings.append(error("port-taken", place, message, fix))
    return findings
